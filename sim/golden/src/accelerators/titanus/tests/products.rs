//! Products by hand.

use super::*;
use crate::accelerators::job::Accelerator as _;

/// Weight of input i and output j: small, and different for all pairs.
fn weight(i: usize, j: usize) -> i64 {
    (i as i64 + 1) * if j.is_multiple_of(2) { j as i64 + 1 } else { -(j as i64) }
}

/// Weights, constants and two rows. Scales are 1/2, and the last is -4. Biases are 0, 10, 20 and so on.
fn memory() -> SparseMemory {
    let mut memory = SparseMemory::new();
    let rows: Vec<Vec<i8>> = (0..5).map(|i| (0..6).map(|j| weight(i, j) as i8).collect()).collect();
    put_rows(&mut memory, 0x2000, &rows);
    let constants: Vec<(f32, i32)> = (0..6).map(|j| (if j == 5 { -4.0 } else { 0.5 }, 10 * j)).collect();
    memory.store(0x2800, &records(&constants));
    put_rows(&mut memory, 0x3000, &[vec![1, 2, 3, 4, 5], vec![-128, 127, 0, -1, 100]]);
    memory
}

fn sums() -> [Vec<i64>; 2] {
    let x = [[1i64, 2, 3, 4, 5], [-128, 127, 0, -1, 100]];
    x.map(|x| (0..6).map(|j| (0..5).map(|i| x[i] * weight(i, j)).sum()).collect())
}

#[test]
fn from_the_store() {
    let core = core();
    let mut memory = memory();
    let report = run(&core, &mut memory, &[load(), constants(), product()]);
    assert_eq!((report.end.code, report.overflows(), report.counts()), (0, 0, Counts::default()));
    for (row, sums) in (0..).zip(sums()) {
        let expected: Vec<f64> = (0..).zip(&sums).map(|(j, sum)| (sum + 10 * j) as f64).collect();
        let scaled: Vec<f64> = expected.iter().enumerate().map(|(j, y)| y * if j == 5 { -4.0 } else { 0.5 }).collect();
        assert_eq!(floats(&memory, 0x6000 + 64 * row, 6), scaled, "row {row}");
    }
    // The first sums are 55 times 1, -1, 3, -3, 5, -5.
    assert_eq!(floats(&memory, 0x6000, 6), [27.5, -22.5, 92.5, -67.5, 157.5, 900.0]);
    // As int8: ties to even, saturated.
    let integers = product().word(44, 1);
    assert_eq!(run(&core, &mut memory, std::slice::from_ref(&integers)).overflows(), 8);
    assert_eq!(rows_of(&memory, 0x6000, 1, 6), [vec![28, -22, 92, -68, 127, 127]]);
    assert_eq!(run(&core, &mut memory, &[integers.clone().word(44, 1 | EXACT)]).end.code, code::OVERFLOW);
    // ReLU; one constant for all results: the third, 1/2 and 20.
    let relu = product().words(&[(44, 2 | 4), (60, 2)]);
    assert_eq!(run(&core, &mut memory, &[relu]).end.code, 0);
    assert_eq!(floats(&memory, 0x6000, 6), [37.5, 0.0, 92.5, 0.0, 147.5, 0.0]);
    // Shorter rows, fewer results.
    let part = product().words(&[(32, 1), (36, 2), (40, 2)]);
    assert_eq!(run(&core, &mut memory, &[part]).end.code, 0);
    assert_eq!(floats(&memory, 0x6000, 2), [2.5, 2.5]);
}

#[test]
fn elsewhere_in_the_store() {
    // From row 1 and column 1 of macros on there are 4 inputs and 4 outputs. After output 2 of its matrix come zeros.
    let core = core();
    let mut memory = memory();
    let load = load().words(&[(32, 4), (36, 2), (48, 1 | 1 << 16)]);
    let product = product().words(&[(32, 1), (36, 4), (40, 4), (48, 1 | 1 << 16), (44, 4)]);
    let report = run(&core, &mut memory, &[load, constants(), product.clone()]);
    assert_eq!((report.end.code, report.executed[2].defined), (0, true));
    assert_eq!(floats(&memory, 0x6000, 4), [15.0, -15.0, 0.0, 0.0]);
    // Weights that were not loaded are unknown, and so are results and overflows.
    let unknown = run(&core, &mut memory, &[product.words(&[(36, 4), (48, 1)])]);
    assert_eq!((unknown.end.code, unknown.executed[0].defined, unknown.is_certain()), (0, false, false));
}

#[test]
fn numbers_that_are_none() {
    let core = core();
    let mut memory = memory();
    memory.store(0x2800, &records(&[(f32::NAN, 0), (f32::INFINITY, 55), (f32::INFINITY, 0), (1e-30, 0), (-0.0, 0)]));
    let product = product().word(32, 1);
    let report = run(&core, &mut memory, &[load(), constants(), product.clone()]);
    // NaN; 0 times infinity; infinity; rounded to -0; a zero is +0.
    assert_eq!(report.overflows(), 3);
    let bits: Vec<u16> = memory.bytes(0x6000, 10).chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
    assert_eq!(bits, [0x7e00, 0x7e00, 0x7c00, 0x8000, 0]);
    let report = run(&core, &mut memory, &[product.clone().word(44, 1)]);
    // The sixth result too: 900.
    assert_eq!(report.overflows(), 4);
    assert_eq!(rows_of(&memory, 0x6000, 1, 6), [vec![0, 0, 127, 0, 0, 127]]);
    // ReLU does not change a NaN.
    run(&core, &mut memory, &[product.word(44, 2)]);
    assert_eq!(memory.bytes(0x6000, 2), [0, 0x7e]);
}

/// The largest sums and biases fit.
#[test]
fn the_ends_of_all_ranges() {
    let core = core();
    let fields: Vec<u32> = product().0[32..].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let Ok(Operation::Product(product)) = core.check(2, Fields(&fields), &LIMITS) else { panic!("refused") };
    let one = 1f32.to_bits();
    for (sum, bias, expected) in [
        (i64::from(i32::MAX), i32::MAX, f16(4_294_967_294.0)),
        (i64::from(i32::MIN), i32::MIN, f16(-4_294_967_296.0)),
        (-5, 5, 0),
    ] {
        assert_eq!(product.element(sum, (one, bias)).0, expected);
    }
    // 2^24 + 1 is rounded to 2^24 before it is scaled.
    assert_eq!(product.element(1 << 24 | 1, ((2f32).powi(-24).to_bits(), 0)).0, f16(1.0));
}

fn f16(value: f64) -> u16 {
    crate::kllm::fp16::half(value).to_bits()
}

#[test]
fn from_the_context() {
    let core = core();
    let mut memory = with_tokens();
    memory.store(0x2800, &records(&[(1.0, 0), (0.25, 3)]));
    let constants = constants().word(36, 2);
    let keep = append(6, 0).words(&[(44, 1), (48, 4 | LINES << 16)]);
    memory.store(0x7000, &[1, 0, 0xff, 2]);
    let scores = product().words(&[(32, 1), (36, 4), (40, 6), (44, 4), (80, 1)]).long(64, 0x7000);
    let report = run(&core, &mut memory, &[constants, keep, scores.clone()]);
    assert_eq!((report.end.code, core.context_tokens()), (0, 6));
    // Pruned below 2; query 1, 0, -1, 2.
    let expected = [9 - 5 - 14, 9 + 5 + 14, 40 - 5, -90 - 5, 9 - 256, -3 + 8];
    assert_eq!(floats(&memory, 0x6000, 6), expected.map(f64::from));
    // All elements of the query but one, and zeros of keys: by token 1, 2, 0 + ..., counted by hand.
    let counts = report.counts();
    assert_eq!((counts.multiplications, counts.skipped), (24, 6 + 1 + 1 + 1 + 1));
    // Three elements, the second constant.
    let part = scores.clone().words(&[(36, 3), (40, 2), (60, 1)]);
    run(&core, &mut memory, &[part]);
    assert_eq!(floats(&memory, 0x6000, 2), [(9.0 - 5.0 + 3.0) / 4.0, (9.0 + 5.0 + 3.0) / 4.0]);
    // The second tile: channels 2 and 3.
    let second = scores.clone().words(&[(36, 2), (40, 2), (48, 1), (60, 0)]);
    run(&core, &mut memory, &[second]);
    assert_eq!(floats(&memory, 0x6000, 2), [5.0, -5.0]);
    // Probabilities: 1, 0.5 (127.5 is 128), 0, a NaN, more than 1, less than 0.
    memory.store(0x7040, &halves(&[1.0, 0.5, 0.0, f64::NAN, 1.5, -1.0]));
    let values = product().words(&[(32, 1), (36, 6), (40, 4), (44, 4), (80, 2)]).long(64, 0x7040);
    let report = run(&core, &mut memory, std::slice::from_ref(&values));
    assert_eq!((report.overflows(), report.counts().multiplications), (3, 24));
    // Values pruned below 3: 0 3 -3 0; 10 20 30 40; ...; 0 0 3 -3.
    let expected = [128 * 10, 255 * 3 + 128 * 20, -255 * 3 + 128 * 30 + 255 * 3, 128 * 40 - 255 * 3];
    assert_eq!(floats(&memory, 0x6000, 4), expected.map(|y| crate::kllm::fp16::half(f64::from(y)).to_f64()));
    assert_eq!(report.counts().skipped, 4 * 3 + 2 + 2);
    let second = values.clone().words(&[(40, 1), (48, 1)]);
    assert_eq!(run(&core, &mut memory, &[second]).overflows(), 3);
    assert_eq!(floats(&memory, 0x6000, 1), [f64::from(expected[2])]);
    assert_eq!(run(&core, &mut memory, &[values.word(44, 4 | EXACT)]).end.code, code::OVERFLOW);
}
