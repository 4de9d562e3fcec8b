//! Documents show the contents of the tree: the cell in Rust and in Verilog, the catalogue, curves of tables. They have
//! one spelling, no broken link, an index with all pages, and few long sentences.

use std::path::PathBuf;

use crate::support::pages::in_repository;
use crate::support::senbazuru;

#[expect(dead_code, reason = "the program around it")]
#[path = "../../examples/page_curves.rs"]
mod page_curves;

fn read(path: &str) -> String {
    std::fs::read_to_string(in_repository(path)).unwrap()
}

/// The blocks of `language` between fences.
fn fenced<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    text.split(begin.as_str()).skip(1).map(|rest| rest.split_once("\n```").unwrap().0).collect()
}

#[test]
fn the_cell_is_the_one_of_the_sources() {
    let readme = read("README.md");
    let [cell, test] = fenced(&readme, "rust")[..] else { panic!("one cell in Rust and its test") };
    let indented: Vec<String> =
        cell.lines().map(|l| if l.is_empty() { String::new() } else { format!("    {l}") }).collect();
    assert!(read("hdl/src/blocks/common/mac_mesh.rs").contains(&indented.join("\n")), "{cell}");
    assert!(read("testbenches/tests/common/mac_mesh.rs").contains(test), "{test}");
    let [verilog] = fenced(&readme, "verilog")[..] else { panic!("the end of one cell in Verilog") };
    assert!(read("verilog-out/modules/mac_pe_w8_a32.v").trim_end().ends_with(verilog), "{verilog}");
}

#[test]
fn the_catalogue_has_all_blocks() {
    let page = read("docs/catalogue.md");
    let (_, table) = page.split_once("<!-- catalogue -->\n").unwrap();
    let list = senbazuru(&["list", "--markdown"]).output().unwrap();
    let (table, _) = table.split_once("<!-- /catalogue -->").unwrap();
    assert!(table == String::from_utf8(list.stdout).unwrap(), "docs/catalogue.md: take `senbazuru list --markdown`");
}

/// Charts show the numbers of the tables next to them, and are on their pages.
#[test]
fn curves_are_those_of_their_tables() {
    for page in page_curves::PAGES {
        for (name, drawing) in page_curves::drawings(page, &read(page)).unwrap() {
            let command = format!("cargo run -p senbazuru --example page_curves -- {page} docs/images");
            assert!(read(&format!("docs/images/{name}")) == drawing, "{name}: {command}");
            assert!(read(page).contains(&format!("images/{name})")), "{page} does not show {name}");
        }
    }
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

/// Names of formats and libraries, which have their own spelling.
const NAMES: [[&str; 2]; 8] = [
    ["\"normal", "izer\""],
    ["\"normal", "izers\""],
    ["\"normal", "ized\""],
    ["\"initial", "izer_range\""],
    ["normal", "izedstring"],
    [" normal", "izer}"],
    ["get_normal", "izer"],
    [".normal", "ize("],
];

/// All files with one of these extensions, except files in folders of these names.
fn files(extensions: &[&str], skipped: &[&str]) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![in_repository("")]);
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
        let text = NAMES.iter().fold(text, |text, halves| text.replace(&halves.concat(), ""));
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

/// The targets of links: of `[text](target)` and `![text](target)`.
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

/// All pages under `docs`.
fn pages() -> Vec<PathBuf> {
    let (root, pages) =
        (PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs"), files(&["md"], &["target", ".git"]));
    pages.into_iter().filter(|page| page.starts_with(&root)).collect()
}

#[test]
fn the_index_has_all_pages() {
    let index = read("docs/README.md");
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let known: Vec<PathBuf> = targets(&index).iter().map(|link| docs.join(link.split('#').next().unwrap())).collect();
    let missing: Vec<_> = pages().into_iter().filter(|p| *p != docs.join("README.md") && !known.contains(p)).collect();
    assert!(missing.is_empty(), "docs/README.md does not name {missing:?}");
}

/// What readers want, by the headings of the index, and the three pages that they need for it.
const PURPOSES: [(&str, [&str; 3]); 8] = [
    ("Generate a block", ["guide/01-first-verilog.md", "catalogue.md", "packages.md"]),
    ("Simulate and trust it", ["guide/02-simulate-and-look.md", "cosim.md", "trust.md"]),
    ("Write a block", ["guide/03-your-own-block.md", "adding-a-block.md", "language.md"]),
    ("Build an accelerator", ["guide/08-your-own-accelerator.md", "blocks/reduce-top.md", "blocks/bus.md"]),
    ("Put an accelerator into a system on chip", ["guide/05-in-your-soc.md", "integration.md", "dram.md"]),
    ("Run your own model", ["guide/06-your-own-model.md", "your-own-model.md", "evaluation.md"]),
    ("Compare", ["guide/07-compare.md", "comparison.md", "papers.md"]),
    ("Towards silicon", ["guide/04-sweep-and-report.md", "synthesis.md", "layout.md"]),
];

/// A click leads from where a reader begins to the index, and the next one to the pages of a purpose, which stand first.
#[test]
fn pages_of_a_purpose_are_two_clicks_away() {
    for (start, index) in [("README.md", "docs/README.md"), ("docs/site/front.in", "docs/index.md")] {
        assert!(targets(&read(start)).contains(&index), "{start} does not lead to {index}");
    }
    let index = read("docs/README.md");
    for (purpose, pages) in PURPOSES {
        let (_, section) = index.split_once(&format!("\n## {purpose}\n")).unwrap_or_else(|| panic!("no `{purpose}`"));
        let section = section.split("\n## ").next().unwrap();
        assert_eq!(targets(section)[..3], pages, "{purpose}");
    }
}

/// Headings, drawings and code are not what a page opens with.
fn opening(page: &str) -> String {
    let mut lines = prose(page).skip_while(|line| line.is_empty() || line.starts_with(['#', '!']));
    lines.by_ref().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[test]
fn pages_open_with_a_question() {
    assert_eq!(opening("# Why?\n\n![Why?](a.svg)\n\n```sh\nb\n```\n\nOne\ntwo.\n\nWhy?\n"), "One two.");
    let all = pages();
    let silent: Vec<_> = all.iter().filter(|p| !opening(&std::fs::read_to_string(p).unwrap()).contains('?')).collect();
    assert!(silent.is_empty(), "pages that open without the question that they answer: {silent:?}");
}

/// How many sentences a page has, and which of them have more than 25 words. Code, tables and headings are none, nor is anything
/// of one or two words. A colon and a semicolon end a sentence, too.
fn sentences(page: &str) -> (usize, Vec<String>) {
    let mut text = String::new();
    for line in prose(page).map(str::trim) {
        match line.chars().next() {
            Some('|') => (),
            None | Some('#') => text += "\n\n",
            Some('-' | '*') if line[1..].starts_with(' ') => text += &format!("\n\n{}\n", &line[2..]),
            Some(_) if line.starts_with("<!--") => (),
            Some(_) => text += &format!("{line}\n"),
        }
    }
    // A code span counts as one word.
    let text: String = text.split('`').enumerate().map(|(i, part)| if i % 2 == 0 { part } else { "x" }).collect();
    let (mut all, mut long) = (0, Vec::new());
    for paragraph in text.split("\n\n") {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        for sentence in words.split_inclusive(|word| word.ends_with(['.', '!', '?', ':', ';'])) {
            all += usize::from(sentence.len() > 2);
            if sentence.len() > 25 {
                long.push(sentence.join(" "));
            }
        }
    }
    (all, long)
}

#[test]
fn few_sentences_are_long() {
    let front = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let front = front.map(|page| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(page));
    let (mut all, mut long, mut wrong) = (0, 0, String::new());
    for page in pages().into_iter().chain(front) {
        let (of_page, long_ones) = sentences(&std::fs::read_to_string(&page).unwrap());
        (all, long) = (all + of_page, long + long_ones.len());
        // A short page may have one.
        if long_ones.len() > 1 && long_ones.len() * 100 > 6 * of_page {
            let long_ones: String = long_ones.iter().map(|one| format!("  {one}\n")).collect();
            wrong += &format!("{}: {of_page} sentences, too long are\n{long_ones}", page.display());
        }
    }
    assert!(wrong.is_empty(), "more than 6 % of the sentences have more than 25 words:\n{wrong}");
    assert!(long * 100 <= 3 * all, "{long} of {all} sentences of all pages have more than 25 words");
}

#[test]
fn sentences_are_counted() {
    let page = format!(
        "# No sentence in a heading\nOne `a b c` two\nthree. Two.\n\n| no | sentence | here |\n- four five six: {}end.\n",
        "word ".repeat(25)
    );
    let (all, long) = sentences(&page);
    assert_eq!((all, long.len()), (3, 1), "{long:?}");
    assert!(long[0].ends_with("word end."));
}

/// Words of all pages at most, with tables and without code: nobody reads more.
const WORDS: usize = 60_000;

#[test]
fn the_pages_can_be_read() {
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    let words = |text: &str| prose(text).flat_map(str::split_whitespace).filter(is_word).count();
    assert_eq!(words("| a | 1.5 | - |\n```sh\nno words\n```\ntwo more\n"), 4);
    let all: usize = pages().iter().map(|page| words(&std::fs::read_to_string(page).unwrap())).sum();
    assert!(all <= WORDS, "{all} words under docs, at most {WORDS}: shorten pages");
}
