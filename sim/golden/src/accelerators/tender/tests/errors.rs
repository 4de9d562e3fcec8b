//! Errors while an operation runs: tables, the bus, overflows; and results that overwrite operands.

use super::*;

fn run(top: &TenderTop, memory: &mut SparseMemory) -> Report {
    top.run(LIMITS, 0x1000, memory)
}

#[test]
fn tables_with_errors() {
    for (table, expected) in [
        ([0, 1, 2], 0),
        ([0, 1, 3], code::FIELD),
        ([40, 1, 2], code::FIELD),
        ([0, 0x7fff, 2], code::FIELD),
        ([0, 0x8000, 2], 0),
        ([0, 0x8001, 2], code::FIELD),
        ([0xffff, 0, 2], code::FIELD),
        ([0, 0xc000, 2], code::FIELD),
    ] {
        let mut memory = memory(&Descriptor::matmul());
        memory.store(0x4000, &entries(&table));
        let report = run(top(), &mut memory);
        assert_eq!((report.end.code, report.executed[0].defined), (expected, expected == 0), "{table:x?}");
        let undefined = if expected == 0 { vec![] } else { vec![0x6000..=0x6003, 0x6040..=0x6043, 0x6080..=0x6083] };
        assert_eq!(report.undefined(), undefined);
    }
    // Bytes after the last step are no entry.
    let mut memory = memory(&Descriptor::matmul());
    memory.store(0x4006, &[0xff; 2]);
    assert_eq!(run(top(), &mut memory).end.code, 0);
}

#[test]
fn errors_of_the_bus() {
    for place in [0x2001, 0x3005, 0x4004, 0x5011, 0x6043] {
        for (error, expected) in [(BusError::Subordinate, code::SLVERR), (BusError::Decode, code::DECERR)] {
            let mut memory = memory(&Descriptor::matmul().tagged(1, 0x7000));
            memory.fail(place..=place, error);
            let report = run(top(), &mut memory);
            assert_eq!(
                (report.end.code, report.end.place, report.end.descriptors),
                (expected, 0x1000, 0),
                "{place:#x}"
            );
            assert_eq!((report.executed[0].codes.clone(), report.executed[0].defined), (vec![expected], false));
            assert_eq!(memory.bytes(0x7000, 1), [0], "no tag");
        }
    }
    for place in [0x2043, 0x5011, 0x6003] {
        let mut memory = memory(&Descriptor::pack());
        memory.fail(place..=place, BusError::Decode);
        assert_eq!(run(top(), &mut memory).executed[0].codes, [code::DECERR], "{place:#x} of pack");
    }
    // Only bytes of the operands are read or written.
    let mut memory = memory(&Descriptor::matmul());
    for area in [0x1080..=0x1fff, 0x2006..=0x2fff, 0x300c..=0x3fff, 0x4006..=0x4fff, 0x5020..=0x5fff, 0x6004..=0x603f] {
        memory.fail(area, BusError::Decode);
    }
    memory.fail(0x6084..=0xffff, BusError::Decode);
    assert_eq!(run(top(), &mut memory).end.code, 0);
}

#[test]
fn several_errors_at_once() {
    let narrow = top_of(Shape { accumulator_width: 4, ..SHAPE });
    // Sums of 4 bits overflow, and that is an error. The place of the results has another.
    let mut broken = memory(&Descriptor::matmul().flags(1 << 12));
    broken.fail(0x6080..=0x6080, BusError::Decode);
    assert_eq!(run(&narrow, &mut broken).executed[0].codes, [code::OVERFLOW, code::DECERR]);
    // The same sums, without constants.
    broken.fail(0x5000..=0x5000, BusError::Subordinate);
    assert_eq!(run(&narrow, &mut broken).executed[0].codes, [code::SLVERR, code::OVERFLOW], "no results");
    // Without a table there are no sums, and nothing is written. Errors of other reads are reported all the same.
    broken.store(0x4000, &entries(&[9]));
    broken.store(0x6000, &[0; 192]);
    assert_eq!(run(&narrow, &mut broken).executed[0].codes, [code::FIELD, code::SLVERR]);
    assert_eq!(broken.bytes(0x6000, 64), [0; 64]);
    broken.fail(0x2000..=0x2000, BusError::Decode);
    assert_eq!(run(&narrow, &mut broken).executed[0].codes, [code::FIELD, code::SLVERR, code::DECERR]);
}

/// Words of a column in a panel, with as many overflows as it can have.
#[test]
fn words_with_overflows_are_counted() {
    // Magnitudes up to 7: rows 5 | -3; 13 | -17; -5 | -32, in this order. -1 + 14 is 13, so one step is too large.
    let narrow = top_of(Shape { accumulator_width: 4, ..SHAPE });
    let report = run(&narrow, &mut memory(&Descriptor::matmul()));
    assert_eq!((report.sum_overflows(), report.overflows()), (2, 0));
    // Sums of the first column only: row 1 reaches 13. The second column is 0.
    let mut one = memory(&Descriptor::matmul());
    one.store(0x3000, &[0x01, 0, 0, 0, 0x0f, 0, 0, 0, 0x02, 0, 0, 0]);
    assert_eq!(run(&narrow, &mut one).sum_overflows(), 1);
    // Lines after the last row overflow as well. They do not count.
    one.store(0x2000, &[0x01, 0x70, 0x02, 0x70, 0x00, 0x70]);
    assert_eq!(run(&narrow, &mut one).sum_overflows(), 0);
    // Panels of two rows: bytes -1, 100, 5 in the rows of two panels.
    let mut bytes = memory(&Descriptor::matmul().flags(1).words(&[(36, 1), (40, 1), (44, 1)]));
    bytes.store(0x2000, &[0xff, 100]);
    bytes.store(0x2040, &[5, 0]);
    bytes.store(0x3000, &[0x33]);
    bytes.store(0x4000, &entries(&[0]));
    let six = top_of(Shape { accumulator_width: 6, ..SHAPE });
    // 6 x 3, 6 x 3, 4 x 3, 4 x 3 fit in 6 bits; 15 x 3 does not; 0, 0, 15, 15.
    assert_eq!(run(&six, &mut bytes).sum_overflows(), 1);
    bytes.store(0x2000, &[100, 100]);
    assert_eq!(run(&six, &mut bytes).sum_overflows(), 0);
    bytes.store(0x2040, &[0xff, 0]);
    assert_eq!(run(&six, &mut bytes).sum_overflows(), 1);
}

#[test]
fn results_with_overflows_are_counted() {
    let with = |constants: &[[f32; 3]], flags| {
        let mut memory = memory(&Descriptor::matmul().flags(flags));
        memory.store(0x5000, &records(constants));
        let report = run(top(), &mut memory);
        assert_eq!(report.sum_overflows(), 0);
        (report.overflows(), report.end.code)
    };
    let huge = [[5e3, 0.0, 1.0], [1e3, 0.0, 1.0]];
    // -17 x 1000 is a number of fp16, 13 x 5000 too. 65520 would not be.
    assert_eq!(with(&huge, 0), (0, 0));
    assert_eq!(with(&[[5.1e3, 0.0, 1.0], [1e3, 0.0, 1.0]], 0), (1, 0));
    assert_eq!(with(&[[f32::NAN, 0.0, 1.0], [f32::INFINITY, 0.0, 1.0]], 0), (2, 0));
    assert_eq!(with(&[[1.0, f32::NEG_INFINITY, 1.0], [1.0, 0.0, 1.0]], 64), (0, 0), "below 0");
    assert_eq!(with(&[[1.0, f32::NAN, 1.0], [1.0, 0.0, 1.0]], 64), (1, 0), "NaN stays");
    assert_eq!(with(&[[1.0, 0.0, 0.25], [1.0, 0.0, f32::NAN]], 16), (1, 0));
    assert_eq!(with(&[[1.0, 0.0, 0.5], [1.0, 0.0, 0.25]], 16), (0, 0), "6.5 is 6");
    assert_eq!(with(&[[1.0, 0.0, 0.6], [1.0, 0.0, 0.26]], 16), (1, 0), "-8.32 is -8, 7.8 is 8");
    for flags in [0, 16] {
        let (scale, overflows) = (f32::INFINITY, 2);
        assert_eq!(with(&[[scale, 0.0, 1.0]; 2], flags), (overflows, 0));
        assert_eq!(with(&[[scale, 0.0, 1.0]; 2], flags | 1 << 12), (overflows, code::OVERFLOW));
    }
    assert_eq!(with(&huge, 1 << 12), (0, 0));
    // An exact job also ends with an error if a sum overflows, though its results would be numbers.
    let narrow = top_of(Shape { accumulator_width: 5, ..SHAPE });
    let report = run(&narrow, &mut memory(&Descriptor::matmul().flags(1 << 12)));
    assert_eq!((report.end.code, report.overflows(), report.executed[0].defined), (code::OVERFLOW, 0, false));
    let mut pack = memory(&Descriptor::pack().flags(1 << 12));
    pack.store(0x2000, &halves(&[1.0, -2.0, 0.0]));
    assert_eq!(run(top(), &mut pack).end.code, 0);
    pack.store(0x2000, &halves(&[40.0]));
    assert_eq!(run(top(), &mut pack).end.code, code::OVERFLOW);
}

#[test]
fn results_on_top_of_operands() {
    let defined = |descriptor: Descriptor| {
        let mut memory = memory(&descriptor);
        let report = run(top(), &mut memory);
        assert_eq!(report.end.code, 0);
        (report.executed[0].defined, report.undefined().is_empty())
    };
    assert_eq!(defined(Descriptor::matmul()), (true, true));
    for at in [0x2000, 0x3000, 0x5000] {
        assert_eq!(defined(Descriptor::matmul().long(104, at)), (false, false), "{at:#x}");
        assert_eq!(defined(Descriptor::matmul().long(104, at - 0x80)), (false, false), "{at:#x}, the last row");
        assert_eq!(defined(Descriptor::matmul().long(104, at + 0x40)), (true, true), "after {at:#x}");
    }
    assert_eq!(defined(Descriptor::matmul().long(104, 0x4000)), (false, false));
    assert_eq!(defined(Descriptor::matmul().word(96, 0)), (false, false), "rows on top of each other");
    assert_eq!(defined(Descriptor::matmul().word(96, 0).word(32, 1)), (true, true));
    assert_eq!(defined(Descriptor::matmul().word(96, 0).flags(16)), (true, true), "there is one panel only");
    assert_eq!(defined(Descriptor::pack().long(104, 0x2000)), (false, false), "never in place");
    assert_eq!(defined(Descriptor::pack().long(104, 0x5000)), (false, false));
    assert_eq!(defined(Descriptor::pack()), (true, true));
}
