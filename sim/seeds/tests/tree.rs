//! An ordinary run of the tests is a fixed function of the tree: no source draws random numbers from elsewhere.

use std::path::{Path, PathBuf};

/// Names of what is random in each run. Written in two halves, so that this file does not name them.
const FORBIDDEN: [[&str; 2]; 7] = [
    ["thread", "_rng"],
    ["from_os", "_rng"],
    ["from_", "entropy"],
    ["rand::", "rng()"],
    ["rand::", "random"],
    ["get", "random"],
    ["Random", "State"],
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().unwrap().is_dir() && name != "target" && name != ".git" {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn all_random_numbers_have_seeds() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), &mut files);
    assert!(files.len() > 200, "{}", files.len());
    let (mut wrong, mut properties) = (Vec::new(), 0);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (number, line) in lines.iter().enumerate() {
            let at = || format!("{}:{}", file.display(), number + 1);
            if let Some(name) = FORBIDDEN.map(|halves| halves.concat()).into_iter().find(|name| line.contains(name)) {
                wrong.push(format!("{}: {name}: take a seed from `seeds`", at()));
            }
            if *line == ["proptest", "! {"].concat() {
                properties += 1;
                if !lines[number + 1].starts_with("#![proptest_config(seeds::proptest(") {
                    wrong.push(format!("{}: begin with #![proptest_config(seeds::proptest(256))]", at()));
                }
            }
        }
    }
    assert!(properties > 15, "{properties}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
