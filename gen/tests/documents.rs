//! What documents show is what the tree holds: the cell in Rust and in Verilog, answers of the command. One spelling, and
//! no link that leads nowhere.

mod support;

use std::path::{Path, PathBuf};

use support::senbazuru;

#[expect(dead_code, reason = "the program around it")]
#[path = "../examples/perplexity_curves.rs"]
mod perplexity_curves;

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

/// The curves of perplexities are those of the tables beside them.
#[test]
fn curves_are_those_of_their_tables() {
    for (name, drawing) in perplexity_curves::drawings(&read("docs/perplexity.md")).unwrap() {
        let command = "cargo run -p senbazuru --example perplexity_curves -- docs/perplexity.md docs/images";
        assert!(read(&format!("docs/images/{name}")) == drawing, "{name}: {command}");
    }
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

/// All files with one of these extensions, but for those in folders of these names.
fn files(extensions: &[&str], skipped: &[&str]) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                if !skipped.iter().any(|skipped| name == *skipped) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| extensions.iter().any(|known| e == *known)) {
                files.push(path);
            }
        }
    }
    files
}

#[test]
fn one_spelling() {
    let (mut wrong, files) = (String::new(), files(&["md", "rs", "v", "toml"], &["target", ".git", "data"]));
    for path in &files {
        let text = std::fs::read_to_string(path).unwrap().to_lowercase();
        for word in FOREIGN.map(|halves| halves.concat()) {
            if let Some(line) = text.lines().position(|line| line.contains(&word)) {
                wrong += &format!("{}:{}: {word}\n", path.display(), line + 1);
            }
        }
    }
    assert!(files.len() > 400, "{}", files.len());
    assert!(wrong.is_empty(), "{wrong}");
}

/// The lines outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// What links lead to: the targets of `[text](target)` and `![text](target)`.
fn targets(text: &str) -> Vec<&str> {
    let links = prose(text).flat_map(|line| line.split("](").skip(1));
    links.filter_map(|rest| Some(rest.split_once(')')?.0)).collect()
}

/// The names that GitHub gives to the headings of a page: `Where things are` is `where-things-are`.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for line in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().to_lowercase().replace(' ', "-");
        let anchor: String = kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
        let same = anchors.iter().filter(|known| **known == anchor).count();
        anchors.push(if same == 0 { anchor } else { format!("{anchor}-{same}") });
    }
    anchors
}

#[test]
fn links_lead_somewhere() {
    let (mut wrong, mut checked) = (String::new(), 0);
    for path in files(&["md"], &["target", ".git"]) {
        let text = std::fs::read_to_string(&path).unwrap();
        for link in targets(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            let headings = || anchors(&std::fs::read_to_string(&target).unwrap_or_default());
            if !target.exists() || anchor.is_some_and(|a| !headings().iter().any(|known| known == a)) {
                wrong += &format!("{}: {link}\n", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 80, "{checked}");
    assert!(wrong.is_empty(), "links that lead nowhere:\n{wrong}");
}

#[test]
fn links_and_headings_are_recognised() {
    let page = "# One `two`, three\n[a](b.md#c) and ![d](e.svg)\n\n```sh\n# no heading\n[no](f.md)\n```\n\
        ## One two three\n#none\n[g](#one-two-three-1)\n";
    assert_eq!(targets(page), ["b.md#c", "e.svg", "#one-two-three-1"]);
    assert_eq!(anchors(page), ["one-two-three", "one-two-three-1"]);
}
