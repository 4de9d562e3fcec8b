//! Damaged files of comparisons: each is refused with the name of the file, or all of its numbers are sound.

use std::fs;
use std::path::Path;

use proptest::test_runner::{TestCaseError, TestRunner};

use super::{Asked, Comparison};
use crate::Catalogue;
use crate::damage::{damaged, damages};

/// Words that a damaged file may hold anywhere.
const ODD: &[&str] = &[
    "nan",
    "inf",
    "-1",
    "0",
    "99999999999999999999",
    "\"\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    "\n",
    "[]",
    "1.5",
    "true",
    "[[work]]",
];

/// Machines in numbers, besides those of the file.
const MORE: &str = "\n[[machine]]\nname = \"numbers\"\narea = 3\nsource = \"a\"\n[machine.numbers]\nproducts = 4096\n\
    elements = 64\nweight_bits = 4\nactivation_bits = 16\ncache_bits = 8\nrows = 16\nfixed = 500\ntokens = 8192\n";

#[test]
fn damaged_files() {
    let (folder, catalogue) = (tempfile::tempdir().unwrap(), Catalogue::standard());
    let path = folder.path().join("c.toml");
    let place = path.display().to_string();
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sweeps/compare/papers.toml");
    let text = fs::read_to_string(real).unwrap() + MORE;
    let outcome = TestRunner::new(seeds::proptest(100)).run(&damages(ODD), |damages| {
        fs::write(&path, damaged(&text, &damages)).unwrap();
        let fail = |what: String| Err(TestCaseError::fail(what));
        match Comparison::new(std::slice::from_ref(&place), &Asked::default(), &catalogue) {
            Ok(found) => {
                let sound = |number: &f64| *number > 0.0 && number.is_finite();
                let all = found.copies().into_iter().chain(found.bandwidths.clone()).chain(found.curve);
                let jobs = found.jobs.iter().all(|job| job.check().is_ok());
                if jobs && all.clone().all(|number| sound(&number)) { Ok(()) } else { fail(format!("{found:?}")) }
            }
            Err(failure) if failure.exit_code() == 2 => {
                // A name that is there twice is told without a place.
                let told = failure.to_string();
                if told.contains("c.toml") || told.contains("two machines") || told.contains("cells to compare") {
                    Ok(())
                } else {
                    fail(told)
                }
            }
            Err(other) => fail(other.to_string()),
        }
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
