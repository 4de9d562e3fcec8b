//! Damaged files of real sweeps: whatever happened to one, it is refused in time with the name of the file, or all of its values are sound.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::test_runner::{TestCaseError, TestRunner};
use serde_json::Value;

use super::Spec;
use crate::Catalogue;
use crate::damage::{damaged, damages};

/// Words that a damaged sweep may hold anywhere.
const ODD: &[&str] = &[
    "nan",
    "inf",
    "-1",
    "0",
    "99999999999999999999",
    "1e308 * 10",
    "\"\"",
    "\"x\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    "\n",
    "[]",
    "true",
    "powers_of_two = [16, \"x\", 4096]",
    "[axes]",
    "[derived]",
    "n = \"n['n']\"",
    "1979-05-27",
    "1 // 0",
];

/// The first flaw of a file that was read.
fn flaw(spec: &Spec) -> Option<String> {
    let sound = |value: &Value| !value.is_null() && value.as_f64().is_none_or(f64::is_finite);
    let axes = spec.axes.iter().flat_map(|axis| &axis.values);
    if let Some(value) = axes.chain(spec.fixed.values()).find(|value| !sound(value)) {
        return Some(format!("a value is {value}"));
    }
    let params = spec.block.defaults();
    let values = spec.derived.iter().filter_map(|(name, expression)| Some((name, expression.compute(&params).ok()?)));
    values.filter(|(_, value)| !sound(value)).map(|(name, value)| format!("{name} is {value}")).next()
}

#[test]
fn damaged_files() {
    let (folder, catalogue) = (tempfile::tempdir().unwrap(), Catalogue::standard());
    let path = folder.path().join("s.toml");
    let sweeps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sweeps");
    let files = fs::read_dir(sweeps).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    assert!(files.len() > 5, "{files:?}");
    let (refused, read) = (Cell::new(0), Cell::new(0));
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let outcome = TestRunner::new(seeds::proptest(40)).run(&damages(ODD), |damages| {
            fs::write(&path, damaged(&text, &damages)).unwrap();
            let start = Instant::now();
            let result = Spec::read(&path, false, &catalogue);
            let fail = |what: String| Err(TestCaseError::fail(what));
            // A hundred times the usual time.
            if start.elapsed() > Duration::from_secs(20) {
                return fail(format!("{:?}", start.elapsed()));
            }
            match result {
                Ok(spec) => {
                    read.set(read.get() + 1);
                    flaw(&spec).map_or(Ok(()), fail)
                }
                Err(error) => {
                    refused.set(refused.get() + 1);
                    let text = error.to_string();
                    let named = text.contains(&path.display().to_string()) && error.exit_code() == 2;
                    if named { Ok(()) } else { fail(text) }
                }
            }
        });
        outcome.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    }
    // Both happen, or the damages say little.
    assert!(refused.get() > 50 && read.get() > 50, "{} refused, {} read", refused.get(), read.get());
}
