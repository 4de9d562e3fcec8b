//! Errors while an operation runs: the bus, overflows, results that overwrite operands; and the state of heads after
//! them.

use super::*;

#[test]
fn errors_of_the_bus() {
    for place in [0x2000, 0x2045, 0x3000, 0x3017, 0x4000, 0x402f, 0x6000, 0x604b] {
        for (error, expected) in [(BusError::Subordinate, code::SLVERR), (BusError::Decode, code::DECERR)] {
            let mut memory = linear_memory(&Descriptor::linear().tagged(1, 0x8000));
            memory.fail(place..=place, error);
            let report = run(&top(), &mut memory);
            assert_eq!((report.end.code, report.end.place), (expected, 0x1000), "{place:#x}");
            assert_eq!((report.executed[0].codes.clone(), report.executed[0].defined), (vec![expected], false));
            assert_eq!(memory.bytes(0x8000, 1), [0], "no tag");
        }
    }
    for place in [0x2000, 0x204f, 0x3000, 0x3047, 0x4007, 0x4040, 0x600f, 0x6040] {
        let top = top();
        let mut memory = attention_memory(&Descriptor::attention());
        run(&top, &mut memory);
        memory.store(0x1000, &Descriptor::attention().word(32, 2).0);
        run(&top, &mut memory);
        memory.fail(place..=place, BusError::Decode);
        let report = run(&top, &mut memory);
        assert_eq!((report.end.code, report.executed[0].defined), (code::DECERR, false), "{place:#x}");
        // Only its head is empty.
        assert_eq!([1, 2].map(|head| top.head(head).tokens.len()), [2, 0]);
        memory.mend();
        assert_eq!((run(&top, &mut memory).end.code, top.head(2)), (0, top.head(1)));
    }
    // Only bytes of the operands are read or written.
    let mut memory = attention_memory(&Descriptor::attention());
    for area in [0x1080..=0x1fff, 0x2010..=0x203f, 0x2050..=0x2fff, 0x3048..=0x3fff, 0x4048..=0x5fff, 0x6050..=0xffff] {
        memory.fail(area, BusError::Decode);
    }
    assert_eq!(run(&top(), &mut memory).end.code, 0);
    let mut memory = linear_memory(&Descriptor::linear());
    for area in [0x1080..=0x1fff, 0x2006..=0x203f, 0x2046..=0x2fff, 0x3060..=0x3fff, 0x4030..=0x5fff, 0x604c..=0xffff] {
        memory.fail(area, BusError::Decode);
    }
    assert_eq!(run(&top(), &mut memory).end.code, 0);
    let mut memory = attention_memory(&Descriptor::attention().next(0x1080));
    memory.store(0x1080, &Descriptor::save(0, 2).0);
    memory.fail(0x70cf..=0x70cf, BusError::Decode);
    let top = top();
    assert_eq!((run(&top, &mut memory).end.code, top.head(1).tokens.len()), (code::DECERR, 2), "a head that was saved");
}

/// The overflows of a product, its saturations, and its end.
fn product_with(at: u64, bytes: &[u8], options: u32) -> (u64, u64, u8) {
    let mut memory = linear_memory(&Descriptor::linear().word(44, options));
    memory.store(at, bytes);
    let report = run(&top(), &mut memory);
    (report.overflows(), report.counts().saturations, report.end.code)
}

#[test]
fn overflows_of_products() {
    for (special, overflows) in [(f64::INFINITY, 3), (f64::NEG_INFINITY, 1), (f64::NAN, 0)] {
        assert_eq!(product_with(0x2042, &halves(&[special]), 0), (overflows, 1, 0), "{special}");
        assert_eq!(product_with(0x2042, &halves(&[special]), EXACT).2, code::OVERFLOW);
    }
    // The constants of a column affect both rows.
    assert_eq!(product_with(0x4008, &singles(&[f32::NAN]), 0), (2, 0, 0));
    assert_eq!(product_with(0x400c, &singles(&[f32::INFINITY]), 0), (2, 0, 0));
    assert_eq!(product_with(0x400c, &singles(&[f32::INFINITY]), EXACT).2, code::OVERFLOW);
    // Sums of -304 / 2 are -152 for column 1, and the bias takes the result beyond the range.
    assert_eq!(product_with(0x400c, &singles(&[-65_400.0]), 0), (1, 0, 0));
    // A saturated activation is 32767.
    let mut memory = linear_memory(&Descriptor::linear().word(48, 1000f32.to_bits()));
    let report = run(&top(), &mut memory);
    assert_eq!((report.overflows(), report.counts().saturations), (3, 1));
    assert_eq!(
        floats(&memory, 0x6040, 6)[3],
        crate::kllm::fp16::half((-500.0 + 3000.0 + 3.0 * 32767.0) / 2.0 + 3.0).to_f64()
    );
}

/// The overflows of attention, its saturations, and its end.
fn attention_with(change: impl Fn(&mut SparseMemory), descriptor: Descriptor) -> (u64, u64, u8) {
    let mut memory = attention_memory(&descriptor);
    change(&mut memory);
    let top = top();
    let report = run(&top, &mut memory);
    let kept = if report.end.code == 0 { 2 } else { 0 };
    assert_eq!(top.head(1).tokens.len(), kept);
    (report.overflows(), report.counts().saturations, report.end.code)
}

#[test]
fn overflows_of_attention() {
    let infinite = halves(&[f64::INFINITY]);
    for at in [0x204e, 0x3042, 0x4000] {
        let with =
            |options| attention_with(|memory| memory.store(at, &infinite), Descriptor::attention().word(48, options));
        assert_eq!((with(0).1, with(0).2, with(EXACT).2), (1, 0, code::OVERFLOW), "{at:#x}");
    }
    // A scale that is no number affects scores of 1 and of 2 tokens, twice. Their weights are 0, so the results are
    // numbers.
    let with = |options| attention_with(|_| (), Descriptor::attention().words(&[(48, options), (72, 0x7fc0_0000)]));
    assert_eq!((with(0), with(EXACT).2), ((6, 0, 0), code::OVERFLOW));
    // A score of minus infinity gives its token no weight.
    let with =
        |options| attention_with(|_| (), Descriptor::attention().words(&[(48, options), (72, (-4000f32).to_bits())]));
    assert_eq!((with(0), with(EXACT).2), ((3, 0, 0), code::OVERFLOW));
    let results = attention_with(|_| (), Descriptor::attention().word(76, 0x7f80_0000));
    assert_eq!(results, (16, 0, 0));
}

#[test]
fn what_is_read_counts_behind_an_error() {
    let mut memory = attention_memory(&Descriptor::attention().word(48, EXACT));
    memory.fail(0x2000..=0x2000, BusError::Decode);
    memory.store(0x3040, &halves(&[f64::NAN]));
    assert_eq!(run(&top(), &mut memory).executed[0].codes, [code::DECERR, code::OVERFLOW]);
    let mut memory = linear_memory(&Descriptor::linear().word(44, EXACT));
    memory.fail(0x3000..=0x3000, BusError::Subordinate);
    memory.store(0x2040, &halves(&[f64::NAN]));
    assert_eq!(run(&top(), &mut memory).executed[0].codes, [code::SLVERR, code::OVERFLOW]);
}

#[test]
fn results_on_operands() {
    let attention = |d: Descriptor| {
        let top = top();
        let defined = run(&top, &mut attention_memory(&d)).executed[0].defined;
        assert_eq!(top.head(1).unknown, !defined);
        defined
    };
    let out = |at| attention(Descriptor::attention().long(120, at));
    assert!(out(0x6000) && out(0x2000), "the place of the queries");
    assert!(!out(0x2040) && !out(0x3000) && !out(0x4040) && !out(0x1fc0));
    assert!(!attention(Descriptor::attention().word(92, 0)), "rows on top of each other");
    assert!(!attention(Descriptor::attention().words(&[(80, 0), (92, 0)]).long(120, 0x2000)));
    let linear = |d: Descriptor| run(&top(), &mut linear_memory(&d)).executed[0].defined;
    assert!(linear(Descriptor::linear()) && !linear(Descriptor::linear().long(88, 0x2000)));
    assert!(!linear(Descriptor::linear().long(88, 0x3040)) && !linear(Descriptor::linear().long(88, 0x4000)));
    // Results in place equal results at another address.
    let mut memory = attention_memory(&Descriptor::attention().long(120, 0x2000));
    run(&top(), &mut memory);
    assert_eq!(floats(&memory, 0x2040, 8), [1.0, -2.0, 3.0, 1000.0, 5.0, 6.0, -7.0, -1000.0]);
}

/// Unknown content of a head makes the results of operations on the head unknown, until the head is emptied.
#[test]
fn doubts_stay_until_a_head_is_empty() {
    let top = top();
    run(&top, &mut attention_memory(&Descriptor::attention().long(120, 0x3000)));
    let again = |descriptor: Descriptor| {
        let report = run(&top, &mut attention_memory(&descriptor));
        (report.executed[0].defined, report.is_certain())
    };
    assert_eq!(again(Descriptor::attention()), (false, true));
    assert_eq!(top.head(1).tokens.len(), 3);
    assert_eq!(again(Descriptor::attention().word(48, EXACT)), (false, false));
    assert_eq!(again(Descriptor::save(0, 3)), (false, true));
    assert_eq!(again(Descriptor::attention().word(32, 0)), (true, true), "another head");
    again(Descriptor::clear(1, 1));
    assert_eq!(again(Descriptor::attention()), (true, true));
    // Keys that are undefined results of an operation.
    let mut memory = attention_memory(&Descriptor::attention().long(120, 0x4000).next(0x1080));
    memory.store(0x1080, &Descriptor::attention().words(&[(32, 0), (36, 1)]).long(104, 0x4000).0);
    let report = run(&top, &mut memory);
    assert!(!report.is_certain() && top.head(0).unknown);
}

/// Where it is unknown which tokens have a slot, an operation may be refused before it reads what cannot be read.
#[test]
fn doubts_of_slots_outlive_an_error() {
    let top = top_of(Shape { recompute: 2, ..SHAPE });
    run(&top, &mut attention_memory(&Descriptor::attention()));
    run(&top, &mut attention_memory(&Descriptor::of(8).words(&[(32, 1), (36, 0), (40, 1)])));
    let again = Descriptor::attention().byte(59, 2).longs(&[(104, 0x5000), (112, 0x6000)]);
    run(&top, &mut attention_memory(&again.long(120, 0x5000)));
    assert!(top.head(1).slots_unknown);
    let mut memory = attention_memory(&Descriptor::attention());
    memory.fail(0x2000..=0x2000, BusError::Subordinate);
    let report = run(&top, &mut memory);
    assert_eq!((report.end.code, report.is_certain()), (code::SLVERR, false));
}
