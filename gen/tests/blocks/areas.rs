//! The areas that docs/headlines.md computes with are the areas of the blocks.
//!
//! `SNAPSHOTS=overwrite cargo test -p senbazuru --test blocks areas:: -- --ignored` renews them.

use std::path::Path;
use test_tag::tag;

use senbazuru::Catalogue;
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Options, synthesise};
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/models/src/headlines/areas.json");

fn entries() -> Vec<Value> {
    serde_json::from_str(&std::fs::read_to_string(FILE).unwrap()).unwrap()
}

/// Area in osu018, in its unit, without wires.
fn area(entry: &Value) -> u64 {
    let block = Catalogue::standard().find(entry["block"].as_str().unwrap()).unwrap().clone();
    let mut params = block.defaults();
    params.extend(entry["set"].as_object().cloned().unwrap());
    let design = block.elaborate(&params).unwrap();
    let options = Options { liberty: vec!["osu018".into()], ..Options::default() };
    let report = synthesise(&Sources::from(&design), &design.manifest(), &options).unwrap();
    report.mapped.unwrap().area.round() as u64
}

fn compare(entry: &Value) {
    assert_eq!(json!(area(entry)), entry["area"], "{}", entry["name"]);
}

#[test]
fn areas_of_small_elements() {
    entries().iter().filter(|entry| ["Tender", "OliVe"].contains(&entry["name"].as_str().unwrap())).for_each(compare);
}

#[tag(full)]
#[test]
#[ignore = "a minute of synthesis"]
fn areas_of_all_elements() {
    let mut all = entries();
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        for entry in &mut all {
            entry["area"] = area(entry).into();
        }
        let lines: Vec<String> = all.iter().map(|entry| format!("  {entry}")).collect();
        std::fs::write(Path::new(FILE), format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
    all.iter().for_each(compare);
}
