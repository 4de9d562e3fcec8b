//! The table of ladders in docs/headlines.md is what its command prints.

use std::collections::BTreeMap;

use serde_json::Value;
use test_tag::tag;

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

/// Bytes and cycles of products with caches are what the command of the page prints.
#[test]
fn combinations_are_fresh() {
    const PAGE: &str = include_str!("../../../docs/perplexity.md");
    const FILE: &str = "sweeps/compare/combinations.toml";
    let store = tempfile::tempdir().unwrap();
    let command = ["compare", FILE, "--json", "--store", store.path().to_str().unwrap()];
    let output = senbazuru(&command).current_dir(in_repository("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let costs: BTreeMap<&str, (f64, f64)> = found["cells"].as_array().unwrap().iter().map(cost).collect();
    assert!(PAGE.contains(&format!("senbazuru compare {FILE}")));
    let (_, page) = PAGE.split_once("<!-- caches -->\n").unwrap();
    let (rows, _) = page.split_once("<!-- /caches -->").unwrap();
    let rows: Vec<&str> = rows.lines().filter(|row| row.contains('+') && !row.contains("perplexity")).collect();
    assert_eq!(rows.len(), 12, "{rows:?}");
    for row in rows {
        let (name, figures) = row.split_once(": ").unwrap();
        let [_, megabytes, cycles] = figures.split(", ").collect::<Vec<_>>()[..] else { panic!("{row}") };
        let (bytes, time) = costs[name];
        assert_eq!(format!("{:.1}", bytes / 1e6), megabytes, "{name}: MB");
        assert_eq!(cycles.replace(',', ""), time.to_string(), "{name}: cycles");
    }
}

/// Name, bytes and cycles of a cell.
fn cost(cell: &Value) -> (&str, (f64, f64)) {
    let times = &cell["times"][0];
    (cell["machine"].as_str().unwrap(), (cell["bytes"].as_f64().unwrap(), times["time_cycles"].as_f64().unwrap()))
}

/// Bits of caches in the file are those of the page's schemes.
#[tag(full)]
#[test]
#[ignore = "minutes: a language model reads a text with three caches"]
fn bits_of_combinations() {
    let model = models::smollm2::path();
    let caches = ["titanus", "kivi", "titanus+kelle:tokens=64"];
    let text = ["--text", "sim/models/texts/pride.txt", "--tokens", "384", "--scheme", "float", "--json"];
    let mut command = vec!["eval", "--model", model.to_str().unwrap()];
    command.extend(text.into_iter().chain(caches.iter().flat_map(|cache| ["--cache", cache])));
    let output = senbazuru(&command).current_dir(in_repository("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let file = std::fs::read_to_string(in_repository("sweeps/compare/combinations.toml")).unwrap();
    let file: toml::Table = file.parse().unwrap();
    for (scheme, cache) in found["schemes"].as_array().unwrap().iter().zip(caches) {
        let bits = 8.0 * scheme["figures"]["bytes an element"].as_f64().unwrap();
        let name = format!("+{}", cache.split(':').next().unwrap());
        let machines = file["machine"].as_array().unwrap().iter();
        let with: Vec<_> = machines.filter(|of| of["name"].as_str().unwrap().ends_with(&name)).collect();
        assert_eq!(with.len(), 3, "{name}");
        for machine in with {
            let said = machine["numbers"]["cache_bits"].as_float().unwrap();
            assert_eq!(format!("{bits:.2}"), format!("{said:.2}"), "{name}");
        }
    }
}
