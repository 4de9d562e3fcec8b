//! What documents show is what the tree holds: the cell in Rust and in Verilog, answers of the command. One spelling.

mod support;

use std::path::{Path, PathBuf};

use support::senbazuru;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The blocks of `language` between fences.
fn fenced<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    text.split(begin.as_str()).skip(1).map(|rest| rest.split_once("\n```").unwrap().0).collect()
}

#[test]
fn the_cell_is_the_one_of_the_sources() {
    let readme = read("README.md");
    let [rust] = fenced(&readme, "rust")[..] else { panic!("one cell in Rust") };
    let indented: Vec<String> =
        rust.lines().map(|l| if l.is_empty() { String::new() } else { format!("    {l}") }).collect();
    assert!(read("hdl/src/blocks/common/mac_mesh.rs").contains(&indented.join("\n")), "{rust}");
    let [verilog] = fenced(&readme, "verilog")[..] else { panic!("one cell in Verilog") };
    assert_eq!(verilog, read("verilog-out/modules/mac_pe_w8_a32.v").trim_end());
}

#[test]
fn commands_answer_as_shown() {
    let (mut checked, pages) = (0, ["README.md", "docs/adding-a-block.md", "docs/cosim.md", "docs/sweeps.md"]);
    for page in pages {
        let page = read(page);
        for console in fenced(&page, "console") {
            for shown in console.split("$ senbazuru ").skip(1) {
                let (command, answer) = shown.split_once('\n').unwrap_or((shown, ""));
                let args: Vec<&str> = command.split(' ').collect();
                let run = senbazuru(&args).output().unwrap();
                let text = [run.stdout, run.stderr].concat();
                assert_eq!(String::from_utf8(text).unwrap().trim_end(), answer.trim_end(), "{command}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 2, "{checked}");
}

/// British, but `quantize` as the papers have it. In two halves, so that this file does not hold them.
const FOREIGN: [[&str; 2]; 11] = [
    ["quant", "is"],
    ["fav", "or"],
    ["label", "ed"],
    ["model", "ing"],
    ["normal", "iz"],
    ["synthes", "iz"],
    ["initial", "iz"],
    ["optim", "iz"],
    ["organ", "iz"],
    ["minim", "iz"],
    ["maxim", "iz"],
];

#[test]
fn one_spelling() {
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")];
    let (mut wrong, mut files) = (String::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                if !["target", ".git", "data"].iter().any(|skipped| name == *skipped) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| ["md", "rs", "v", "toml"].iter().any(|known| e == *known)) {
                files += 1;
                let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
                for word in FOREIGN.map(|halves| halves.concat()) {
                    if let Some(line) = text.lines().position(|line| line.contains(&word)) {
                        wrong += &format!("{}:{}: {word}\n", path.display(), line + 1);
                    }
                }
            }
        }
    }
    assert!(files > 400, "{files}");
    assert!(wrong.is_empty(), "{wrong}");
}
