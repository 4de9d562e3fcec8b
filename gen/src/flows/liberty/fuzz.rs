//! Damaged files of real libraries: whatever happened to one, it is refused in time, with the line, or all of its numbers are sound.

use std::cell::Cell;
use std::fs;
use std::time::{Duration, Instant};

use proptest::test_runner::{TestCaseError, TestRunner};

use super::read::plain;
use super::{NAMED, check, models, parse, place, scan};
use crate::damage::{damaged, damages};
use crate::flows::energy::Cells;

/// Words that a damaged library may hold anywhere.
const ODD: &[&str] = &[
    "nan",
    "-inf",
    "-1",
    "0",
    "1e999",
    "1e-400",
    "\"\"",
    "{",
    "}",
    "(",
    ")",
    ";",
    ":",
    ",",
    "\\",
    "\r",
    "/*",
    "*/",
    "//",
    "x",
    "include_file (\"x\");",
    "default_input_pin_cap : 2;",
    "area : 1;",
    "index_1 (\"2, 1\");",
    "values (\"\");",
    "1 2",
];

/// The libraries that are installed.
fn libraries() -> Vec<String> {
    let texts: Vec<String> = NAMED.iter().filter_map(|name| fs::read_to_string(place(name)).ok()).collect();
    assert!(!texts.is_empty(), "no library is installed; wanted is one of {}", NAMED.join(", "));
    texts
}

/// The head of a library with an inverter, a gate, a flip-flop and a latch.
fn excerpt(text: &str) -> String {
    let library = parse(text).unwrap();
    let first = library.all("cell").next().unwrap();
    let head = &text[..first.text.as_ptr() as usize - text.as_ptr() as usize];
    let wanted = ["INVX1", "NAND2X1", "DFFPOSX1", "LATCH"];
    let cells: Vec<&str> =
        library.all("cell").filter(|cell| wanted.contains(&cell.name())).map(|cell| cell.text).collect();
    assert_eq!(cells.len(), wanted.len());
    format!("{head}{}\n}}\n", cells.join("\n"))
}

/// All that is done with a library's text.
fn read(bytes: &[u8]) -> Result<Cells, String> {
    let text = plain(bytes);
    check::check(&text)?;
    scan(&text)?;
    let library = parse(&text)?;
    drop(models(&library));
    Cells::read(&library)
}

/// Damages a text in `cases` ways; how many of them are refused, and how many are not.
fn run(text: &str, cases: u32) -> [u32; 2] {
    let (refused, read_on) = (Cell::new(0), Cell::new(0));
    let fail = |what: String| Err(TestCaseError::fail(what));
    let outcome = TestRunner::new(seeds::proptest(cases)).run(&damages(ODD), |damages| {
        let bytes = damaged(text, &damages);
        let start = Instant::now();
        let result = read(&bytes);
        // A hundred times the usual time.
        let most = Duration::from_secs(10) + Duration::from_micros(100) * u32::try_from(bytes.len()).unwrap();
        if start.elapsed() > most {
            return fail(format!("{:?} for {} bytes", start.elapsed(), bytes.len()));
        }
        let told = |error: &str| {
            let line =
                error.strip_prefix("line ").and_then(|rest| rest.split([':', ',']).next()?.parse::<usize>().ok());
            let lines = plain(&bytes).matches('\n').count() + 1;
            line.is_some_and(|line| (1..=lines).contains(&line)) || error.starts_with("the library names no ")
        };
        match result {
            Ok(cells) => {
                read_on.set(read_on.get() + 1);
                cells.flaw().map_or(Ok(()), fail)
            }
            Err(error) if told(&error) => {
                refused.set(refused.get() + 1);
                Ok(())
            }
            Err(error) => fail(format!("no line: {error}")),
        }
    });
    outcome.unwrap_or_else(|e| panic!("{e}"));
    [refused.get(), read_on.get()]
}

#[test]
fn damaged_cells() {
    for text in libraries() {
        let text = excerpt(&text);
        assert_eq!(read(text.as_bytes()).unwrap().flaw(), None);
        let counts = run(&text, 400);
        // Both happen, or the damages say little.
        assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
    }
}

#[test]
fn damaged_files() {
    for text in libraries() {
        assert_eq!(read(text.as_bytes()).unwrap().flaw(), None);
        run(&text, 8);
    }
}
