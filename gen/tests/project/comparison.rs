//! docs/comparison.md shows what `senbazuru compare` finds, and figures that it quotes are on the other pages.

use std::path::Path;

use crate::support::pages::in_repository;
use crate::support::senbazuru;

const PAGE: &str = include_str!("../../../docs/comparison.md");

/// The tables of the page.
fn tables() -> &'static str {
    let (_, rest) = PAGE.split_once("<!-- comparison -->\n").unwrap();
    rest.split_once("<!-- /comparison -->").unwrap().0
}

/// The column of the table of machines with this head.
fn column(head: &str) -> Vec<&'static str> {
    let lines = tables().lines().take_while(|line| line.starts_with('|'));
    let mut rows = lines.map(|line| line.split('|').map(str::trim));
    let at = rows.next().unwrap().position(|cell| cell == head).unwrap();
    rows.skip(1).map(|mut cells| cells.nth(at).unwrap()).collect()
}

#[test]
fn page_is_fresh() {
    let dir = tempfile::tempdir().unwrap();
    let (store, svg) = (dir.path().join("store"), dir.path().join("comparison.svg"));
    let [store, svg] = [&store, &svg].map(|path| path.to_str().unwrap());
    let command = ["compare", "sweeps/compare/papers.toml", "--markdown", "--svg", svg, "--store", store];
    let output = senbazuru(&command).current_dir(in_repository("")).output().unwrap();
    let [fresh, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{errors}");
    assert!(tables() == fresh, "the command of docs/comparison.md prints:\n{fresh}");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert!(
        read(Path::new(svg)) == read(&in_repository("docs/images/comparison.svg")),
        "the command draws another one"
    );
}

#[test]
fn perplexities_are_those_of_their_page() {
    let page = include_str!("../../../docs/perplexity.md");
    let quoted = column("perplexity of SmolLM2-135M");
    assert_eq!(quoted.len(), 5);
    for value in quoted {
        assert!(page.contains(&format!("| {value} |")), "{value} is not on docs/perplexity.md");
    }
}

/// Areas as they are told where the blocks were synthesised; Tender's has 64 lanes of the vector unit there, here 32. The
/// others are told in the file of the comparison.
#[test]
fn areas_are_those_of_their_pages() {
    let tender = include_str!("../../../docs/blocks/tender-top.md");
    let kllm = include_str!("../../../docs/blocks/kllm-top.md");
    let told = [("202", tender, "(260 mm²"), ("202", tender, "(260 mm²"), ("453", kllm, "453 mm², ")];
    assert_eq!(column("logic, mm²")[..3], told.map(|(area, ..)| area));
    for (area, page, text) in told {
        assert!(page.contains(text), "{area}: no `{text}`");
    }
}
