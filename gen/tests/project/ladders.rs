//! The table of ladders in docs/headlines.md is what its command prints.

use crate::support::pages::in_repository;
use crate::support::senbazuru;

const PAGE: &str = include_str!("../../../docs/headlines.md");

/// The files of the command on the page.
const FILES: [&str; 5] = ["kllm", "tender", "kelle", "kelle_top", "titanus"];

fn steps(file: &str, store: &str) -> String {
    let file = format!("sweeps/compare/ladders/{file}.toml");
    let command = ["compare", &file, "--steps", "--markdown", "--store", store];
    let output = senbazuru(&command).current_dir(in_repository("")).output().unwrap();
    let [fresh, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{file}: {errors}");
    fresh
}

#[test]
fn page_is_fresh() {
    let store = tempfile::tempdir().unwrap();
    let mut fresh = String::new();
    for file in FILES {
        let table = steps(file, store.path().to_str().unwrap());
        let head = table.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
        if fresh.is_empty() {
            fresh += &head;
        }
        fresh += table.strip_prefix(&head).unwrap();
    }
    let (_, page) = PAGE.split_once("<!-- ladders -->\n").unwrap();
    let (table, _) = page.split_once("<!-- /ladders -->").unwrap();
    assert!(table == fresh, "the command of docs/headlines.md prints:\n{fresh}");
    let command = format!("for paper in {}; do", FILES.join(" "));
    assert!(PAGE.contains(&command), "the page has no `{command}`");
}
