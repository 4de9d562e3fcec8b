use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use half::f16;

use super::testing::{CAPS, WINDOW, golden};
use super::*;

fn builder() -> Builder {
    Builder::new(&CAPS, &WINDOW, golden(), Integer::Int8).unwrap()
}

fn said<T>(result: anyhow::Result<T>) -> String {
    result.err().map(|e| e.to_string()).unwrap_or_default()
}

fn numbers(rows: usize, columns: usize) -> Vec<Vec<f64>> {
    (0..rows).map(|r| (0..columns).map(|c| ((7 * r + 5 * c) % 11) as f64 - 3.0).collect()).collect()
}

/// Small integers times small integers: exact up to the quantization of one side, which is known.
#[test]
fn products_of_both_kinds_are_near() {
    let mut b = builder();
    let (x, w) = (numbers(5, 40), numbers(40, 33));
    let exact = product(&x, &w);
    let x = b.given(&x).unwrap();
    let x = b.pack("x", &x).unwrap();
    let w = b.weights(&w).unwrap();
    let out = b.floats("out", 5, 33).unwrap();
    b.multiply(&x, &w, 0.5, &out).unwrap();
    let identity: Vec<Vec<f64>> = (0..5).map(|r| (0..5).map(|c| f64::from(u8::from(r == c))).collect()).collect();
    let rows = b.given(&identity).unwrap();
    let one = b.pack_probabilities("one", &rows).unwrap();
    let transposed = b.multiply_transposed("transposed", &w, &x).unwrap();
    let again = b.floats("again", 5, 33).unwrap();
    b.multiply(&one, &transposed, 1.0, &again).unwrap();
    let half: Vec<Vec<f64>> = exact.iter().map(|row| row.iter().map(|x| x / 2.0).collect()).collect();
    for (exact, rows) in [(half, out), (exact, again)] {
        let error = golden::tender::granularity::relative_error(&exact, &b.values(&rows));
        assert!(error < 1e-4, "{error:.2e}");
    }
    let job = b.finish().unwrap();
    let names: Vec<&str> = job.results.iter().map(|r| r.name).collect();
    assert_eq!((job.descriptors, names), (5, vec!["x", "out", "one", "transposed", "again"]));
}

/// The whole chain, started once, does the same as its descriptors one by one.
#[test]
fn the_chain_leaves_the_results() {
    let mut b = builder();
    let rows = b.given(&numbers(3, 64)).unwrap();
    let doubled = b.floats("doubled", 3, 32).unwrap();
    b.rows(&rows.slice(32, 32).unwrap(), &doubled, |job| job.scale(f16::from_f32(2.0))).unwrap();
    let left = rows.slice(0, 32).unwrap();
    b.rows(&left, &left, |job| job.add_rows(doubled.at)).unwrap();
    b.writes("sums", &rows);
    let job = b.finish().unwrap();
    let mut memory = SparseMemory::new();
    job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
    let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 2 };
    assert_eq!(golden().run(limits, job.address, &mut memory).end.code, 0);
    for Results { name, address, bytes } in &job.results {
        assert_eq!(&memory.bytes(*address, bytes.len()), bytes, "{name}");
    }
    let sum = |r: usize, c: usize| numbers(3, 64)[r][c] + 2.0 * numbers(3, 64)[r][c + 32];
    let first = f16::from_le_bytes([job.results[1].bytes[2 * 64 * 2 + 2], job.results[1].bytes[2 * 64 * 2 + 3]]);
    assert_eq!(first.to_f64(), sum(2, 1));
}

/// Some lines of an operand multiply as all of them do.
#[test]
fn lines_are_those_of_the_whole() {
    let mut b = builder();
    let (x, w) = (b.given(&numbers(5, 40)).unwrap(), b.weights(&numbers(40, 33)).unwrap());
    let x = b.pack("x", &x).unwrap();
    let (all, some) = (b.floats("all", 5, 33).unwrap(), b.floats("some", 5, 13).unwrap());
    b.multiply(&x, &w, 1.0, &all).unwrap();
    let part = b.lines(&w, 16, 13).unwrap();
    b.multiply(&x, &part, 1.0, &some).unwrap();
    let expected: Vec<Vec<f64>> = b.values(&all).iter().map(|row| row[16..29].to_vec()).collect();
    assert_eq!(b.values(&some), expected);
}

#[test]
fn refusals_say_what_is_right() {
    let oblong = Caps { rows: 8, ..CAPS };
    let expected = "the array is 8 x 16, must be square: packed rows become columns";
    assert_eq!(said(Builder::new(&oblong, &WINDOW, golden(), Integer::Int8)), expected);
    let mut b = builder();
    let rows = b.given(&numbers(4, 40)).unwrap();
    assert_eq!(said(rows.slice(16, 8)), "column 16 is the first one of a slice, must be a multiple of 32");
    assert_eq!(said(rows.slice(32, 9)), "9 columns from 32 on: there are 40");
    let x = b.pack("x", &rows).unwrap();
    let w = b.weights(&numbers(40, 4)).unwrap();
    let narrow = b.floats("narrow", 4, 3).unwrap();
    assert_eq!(said(b.multiply(&x, &w, 1.0, &narrow)), "results are (4, 3), must be 4 x 4");
    let w = b.weights(&numbers(39, 3)).unwrap();
    assert_eq!(said(b.multiply(&x, &w, 1.0, &narrow)), "the left matrix has 40 channels, the right one 39");
    assert_eq!(said(b.rows(&rows, &narrow, |job| job)), "operands are (4, 40), results (4, 3)");
    let keys = b.pack_keys("keys", &rows).unwrap();
    let square = b.floats("square", 4, 4).unwrap();
    let expected = "channels with a bias meet numbers that the job computes itself";
    assert_eq!(said(b.multiply(&x, &keys.columns, 1.0, &square)), expected);
    let expected = "queries have 3 channels, keys 40";
    assert_eq!(said(b.pack_queries("queries", &narrow, &keys)), expected);
    assert_eq!(said(b.lines(&w, 0, 4)), "4 lines from 0 on: there are 3");
    assert_eq!(said(b.lines(&w, 1, 2)), "line 1 is the first one, must be a multiple of 8");
    // An infinite product: the model says where the chain would end.
    let large = b.given(&vec![vec![6e4; 8]; 2]).unwrap();
    let expected = format!("descriptor {} ends with error 14", b.descriptors());
    assert_eq!(said(b.rows(&large, &large, |job| job.scale(f16::from_f32(2.0)))), expected);
}
