//! Errors while an operation runs: tokens, codebooks, the bus, overflows; and results that overwrite operands.

use super::*;

fn run(memory: &mut SparseMemory) -> Report {
    top().run(LIMITS, 0x1000, memory)
}

/// The report of a product with these bytes in memory.
fn product_with(at: u64, bytes: &[u8]) -> Report {
    let mut memory = memory(&Descriptor::product());
    memory.store(at, bytes);
    run(&mut memory)
}

#[test]
fn tokens_with_errors() {
    let second = 0x20c0;
    let cases: [(u64, &[u8], u8); 14] = [
        (4, &[4], 0),
        (4, &[2], code::FIELD),
        (4, &[5], code::FIELD),
        (4, &[0], code::FIELD),
        (4, &[0x83], code::FIELD),
        // Three outliers; 258 of them; one, which is no even number.
        (2, &[3, 0], code::FIELD),
        (2, &[2, 1], code::FIELD),
        (2, &[1, 0], 0),
        // Positions: the same twice, not ascending, the last one, none.
        (128, &[1, 0], code::FIELD),
        (128, &[2, 0], code::FIELD),
        (132, &[4, 0], 0),
        (132, &[5, 0], code::FIELD),
        (133, &[1], code::FIELD),
        // Nobody reads the rest of the head.
        (5, &[0xff; 59], 0),
    ];
    for (offset, bytes, expected) in cases {
        let report = product_with(second + offset, bytes);
        assert_eq!((report.end.code, report.executed[0].defined), (expected, expected == 0), "{offset} {bytes:x?}");
        let undefined = if expected == 0 { vec![] } else { vec![0x6000..=0x6009, 0x6040..=0x6049] };
        assert_eq!(report.undefined(), undefined);
    }
}

#[test]
fn codebooks_with_errors() {
    for at in (64..128).step_by(2) {
        for (centroid, expected) in [(127i16, 0), (-127, 0), (128, 15), (-128, 15), (i16::MIN, 15), (i16::MAX, 15)] {
            let report = product_with(0x5000 + at, &centroid.to_le_bytes());
            assert_eq!(report.end.code, expected, "{centroid} at {at}");
        }
    }
    // A product does not use midpoints and values. A quantizer does not use centroids.
    for at in (0..64).chain(128..192) {
        assert_eq!(product_with(0x5000 + at, &[0xff]).end.code, 0);
    }
    let mut bad = memory(&Descriptor::quantize());
    bad.store(0x5040, &[0x80; 64]);
    assert_eq!(run(&mut bad).end.code, 0);
}

#[test]
fn errors_of_the_bus() {
    // Token: head, indices, outliers; panels, constants, all of the codebook, results, addends.
    for place in [0x20c2, 0x2100, 0x2144, 0x300f, 0x3040, 0x4027, 0x5000, 0x5041, 0x50bf, 0x6049, 0x7001] {
        for (error, expected) in [(BusError::Subordinate, code::SLVERR), (BusError::Decode, code::DECERR)] {
            let mut memory = memory(&Descriptor::product().word(48, 1).tagged(1, 0x8000));
            memory.fail(place..=place, error);
            let report = run(&mut memory);
            assert_eq!(
                (report.end.code, report.end.place, report.end.descriptors),
                (expected, 0x1000, 0),
                "{place:#x}"
            );
            assert_eq!((report.executed[0].codes.clone(), report.executed[0].defined), (vec![expected], false));
            assert_eq!(memory.bytes(0x8000, 1), [0], "no tag");
        }
    }
    for place in [0x7041, 0x5003, 0x2180 - 1] {
        let mut memory = memory(&Descriptor::quantize());
        memory.fail(place..=place, BusError::Decode);
        assert_eq!(run(&mut memory).executed[0].codes, [code::DECERR], "{place:#x} of quantize");
    }
    // Only bytes of the operands are read or written.
    let mut memory = memory(&Descriptor::product());
    for area in [0x1080..=0x1fff, 0x2180..=0x2fff, 0x3010..=0x303f, 0x3050..=0x3fff, 0x4028..=0x4fff, 0x50c0..=0x5fff] {
        memory.fail(area, BusError::Decode);
    }
    memory.fail(0x600a..=0x603f, BusError::Decode);
    memory.fail(0x604a..=0xffff, BusError::Decode);
    assert_eq!(run(&mut memory).end.code, 0);
}

#[test]
fn several_errors_at_once() {
    let mut all = memory(&Descriptor::product().word(44, EXACT));
    all.store(0x20c0, &halves(&[f64::INFINITY]));
    assert_eq!(run(&mut all).executed[0].codes, [code::OVERFLOW]);
    all.fail(0x6000..=0x6000, BusError::Decode);
    assert_eq!(run(&mut all).executed[0].codes, [code::DECERR, code::OVERFLOW]);
    all.store(0x2004, &[9]);
    assert_eq!(run(&mut all).executed[0].codes, [code::FIELD, code::OVERFLOW], "nothing is known of the first row");
    all.fail(0x5000..=0x5000, BusError::Subordinate);
    assert_eq!(run(&mut all).executed[0].codes, [code::SLVERR, code::FIELD], "there are no results without centroids");
}

/// Scales, outliers, constants and addends that are infinite or no numbers; results that are too large.
#[test]
fn overflows() {
    let with = |at: u64, bytes: &[u8], flags: u32| {
        let mut memory = memory(&Descriptor::product().words(&[(44, flags), (48, 1)]));
        memory.store(at, bytes);
        let report = run(&mut memory);
        (report.overflows(), report.end.code, floats(&memory, 0x6000, 5))
    };
    for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for (at, count) in [(0x2000, 5), (0x2082, 5), (0x7004, 1)] {
            let (overflows, code, results) = with(at, &halves(&[special]), 0);
            assert_eq!((overflows, code), (count, 0), "{special} at {at:#x}");
            if at == 0x7004 {
                assert_eq!(results[2].is_nan(), special.is_nan());
            } else {
                assert!(results.iter().all(|y| y.is_nan()), "{special} at {at:#x}: {results:?}");
            }
            assert_eq!(with(at, &halves(&[special]), EXACT).1, code::OVERFLOW);
        }
    }
    // After the last outlier nothing is read.
    assert_eq!(with(0x2086, &halves(&[f64::NAN]), EXACT).0, 0);
    // A constant of the first channel affects both tokens. A scale makes two channels of the first token too large.
    assert_eq!(with(0x4000, &f32::NAN.to_le_bytes(), 0).0, 2);
    assert_eq!(with(0x4004, &f32::INFINITY.to_le_bytes(), 0).0, 2);
    let (overflows, code, results) = with(0x2000, &halves(&[200.0]), 0);
    assert_eq!((overflows, code, results[0], results[3]), (2, 0, f64::INFINITY, f64::NEG_INFINITY));
    // A quantizer checks inliers only.
    let quantized = |values: &[f64], flags: u32| {
        let mut memory = memory(&Descriptor::quantize().word(40, flags));
        memory.store(0x7000, &halves(values));
        let report = run(&mut memory);
        (report.overflows(), report.end.code, memory.bytes(0x2000, 2), memory.bytes(0x2040, 3))
    };
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    assert_eq!(quantized(&[nan, 1.0, 0.5, -inf, 0.0, 0.25], EXACT).0, 0);
    // The largest inlier is a NaN. Then the scale is infinite: 7 thresholds are below all values, and one is no number.
    assert_eq!(quantized(&[nan, 1.0, inf, 0.0, inf, -1.0], 0), (2, 0, vec![0, 0x7c], vec![0x70, 0x77, 0x07]));
    assert_eq!(quantized(&[nan, nan, 1.0, 2.0, 0.0, 1.0], EXACT).1, code::OVERFLOW);
    assert_eq!(quantized(&[nan, nan, 1.0, 2.0, 0.0, 1.0], 0), (1, 0, vec![0, 0x7e], vec![0, 0, 0]));
}

#[test]
fn results_on_operands() {
    let defined = |descriptor: Descriptor| run(&mut memory(&descriptor)).executed[0].defined;
    let with_out = |at| defined(Descriptor::product().word(48, 1).long(96, at));
    assert!(with_out(0x6000) && with_out(0x7000), "the addends' own place");
    assert!(!with_out(0x7040) && !with_out(0x2140) && !with_out(0x3000) && !with_out(0x4000) && !with_out(0x5080));
    assert!(!defined(Descriptor::product().word(60, 0)), "rows on top of each other");
    assert!(!defined(Descriptor::product().word(48, 1).words(&[(60, 0), (112, 0)]).long(96, 0x7000)));
    assert!(defined(Descriptor::product().long(96, 0x7040)), "where nothing is added");
    assert!(defined(Descriptor::quantize()) && !defined(Descriptor::quantize().long(80, 0x7040)));
    assert!(!defined(Descriptor::quantize().word(52, 128)), "tokens of 192 bytes");
    // Results in place equal results at another address.
    let mut memory = memory(&Descriptor::product().word(48, 1).long(96, 0x7000));
    run(&mut memory);
    assert_eq!(floats(&memory, 0x7000, 6), [790.0, -221.0, 0.25, -1768.0, 140.5, 0.0]);
}

/// Results may overwrite operands whose values are all valid. The end is then certain, unless an overflow is an error.
#[test]
fn ends_that_are_not_certain() {
    let certain = |descriptor: Descriptor| run(&mut memory(&descriptor)).is_certain();
    let product = |at, flags| certain(Descriptor::product().words(&[(44, flags), (48, 1)]).long(96, at));
    assert!(product(0x6000, EXACT) && product(0x7000, EXACT), "nothing is overwritten, or in place");
    // Addends and constants have only valid values. Tokens and codebooks can be invalid.
    assert!(product(0x7040, 0) && product(0x4000, 0) && !product(0x2140, 0) && !product(0x5080, 0));
    assert!(!product(0x7040, EXACT) && !product(0x4000, EXACT));
    let quantize = |flags| certain(Descriptor::quantize().word(40, flags).long(80, 0x7040));
    assert!(quantize(0) && !quantize(EXACT));
}
