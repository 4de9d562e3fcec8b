//! Jobs of `vector_top`.

use std::collections::BTreeMap;

use golden::accelerators::job::independence;
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use half::f16;
use host::vector::{Caps, Epsilon, Integer, Operand, Units, VectorJob, check};
use host::{Chain, Descriptor, Link, Refusal};
use proptest::prelude::*;
use proptest::sample::select;

use super::cases::{Raw, address, code, every, operand, place};
use super::support::{CAPS, TOP, WINDOW};

/// How a job of this one descriptor ends in the golden model; overflows, which only data can cause, count as well.
fn golden(at: u64, descriptor: &[u8]) -> u32 {
    super::cases::golden(&*TOP, at, descriptor)
}

#[derive(Debug, Clone, Copy)]
enum Norm {
    Rms(u64, Option<u64>),
    Softmax(u32, bool),
    Layer(u64, Option<u64>),
}

#[derive(Debug, Clone)]
struct Drawn {
    rows: u32,
    columns: u32,
    x: Operand,
    out: Operand,
    scale: Option<u16>,
    addends: Option<Operand>,
    activate: bool,
    factors: Option<Operand>,
    angles: Option<Operand>,
    norm: Option<Norm>,
    quantize: Option<(bool, u16)>,
    exact: bool,
}

fn norm() -> impl Strategy<Value = Norm> {
    let affine = || (0..1u64 << 40, prop::option::of(address()));
    let length = prop_oneof![20 => 1..5u32, 5 => 0..34u32, 1 => any::<u32>()];
    prop_oneof![
        affine().prop_map(|(epsilon, gains)| Norm::Rms(epsilon, gains)),
        (length, any::<bool>()).prop_map(|(length, causal)| Norm::Softmax(length, causal)),
        affine().prop_map(|(epsilon, pairs)| Norm::Layer(epsilon, pairs)),
    ]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let size = prop_oneof![20 => 1..5u32, 1 => select(vec![0, 65_536, u32::MAX])];
    let columns = prop_oneof![20 => 1..33u32, 1 => select(vec![0, 33, u32::MAX])];
    let some = prop::option::of::<BoxedStrategy<Operand>>;
    (
        (size, columns, operand(), operand(), any::<bool>(), any::<bool>()),
        (prop::option::of(any::<u16>()), some(operand().boxed())),
        // Seldom both.
        prop_oneof![
            8 => some(operand().boxed()).prop_map(|factors| (factors, None)),
            8 => some(operand().boxed()).prop_map(|angles| (None, angles)),
            1 => (operand(), operand()).prop_map(|(factors, angles)| (Some(factors), Some(angles))),
        ],
        prop::option::of(norm()),
        prop::option::of((any::<bool>(), any::<u16>())),
    )
        .prop_map(
            |((rows, columns, x, out, activate, exact), (scale, addends), (factors, angles), norm, quantize)| Drawn {
                rows,
                columns,
                x,
                out,
                scale,
                addends,
                activate,
                factors,
                angles,
                norm,
                quantize,
                exact,
            },
        )
}

fn raw(d: &Drawn) -> Raw {
    let mut raw = Raw::of(1);
    let mut steps = u32::from(d.activate) << 2 | u32::from(d.exact) << 12;
    raw.put(32, &d.rows.to_le_bytes());
    raw.put(36, &d.columns.to_le_bytes());
    raw.operand(64, 56, d.x);
    raw.operand(104, 92, d.out);
    if let Some(scale) = d.scale {
        steps |= 1;
        raw.put(44, &scale.to_le_bytes());
    }
    if let Some(addends) = d.addends {
        steps |= 2;
        raw.operand(72, 60, addends);
    }
    if let Some(factors) = d.factors {
        steps |= 8;
        raw.operand(80, 88, factors);
    }
    if let Some(angles) = d.angles {
        steps |= 1 << 10;
        raw.operand(80, 88, angles);
    }
    match d.norm {
        None => {}
        Some(Norm::Softmax(length, causal)) => {
            steps |= 0x50 | u32::from(causal) << 11;
            raw.put(112, &length.to_le_bytes());
        }
        Some(Norm::Rms(epsilon, gains) | Norm::Layer(epsilon, gains)) => {
            let kind = if matches!(d.norm, Some(Norm::Layer(..))) { 0x80 } else { 0 };
            steps |= 16 | kind | u32::from(gains.is_some()) << 5;
            raw.put(48, &epsilon.to_le_bytes());
            raw.put(96, &gains.unwrap_or(0).to_le_bytes());
        }
    }
    if let Some((four, quantizer)) = d.quantize {
        steps |= if four { 0x200 } else { 0x100 };
        raw.put(46, &quantizer.to_le_bytes());
    }
    raw.put(40, &steps.to_le_bytes());
    raw
}

fn built(d: &Drawn) -> Result<Descriptor, Refusal> {
    let mut job = VectorJob::new(d.rows, d.columns, d.x, d.out);
    if let Some(scale) = d.scale {
        job = job.scale(f16::from_bits(scale));
    }
    if let Some(addends) = d.addends {
        job = job.add_rows(addends);
    }
    if d.activate {
        job = job.activate();
    }
    if let Some(factors) = d.factors {
        job = job.multiply_rows(factors);
    }
    if let Some(angles) = d.angles {
        job = job.rotate(angles);
    }
    job = match d.norm {
        None => job,
        Some(Norm::Rms(epsilon, None)) => job.norm(Epsilon::units(epsilon)?),
        Some(Norm::Rms(epsilon, Some(gains))) => job.norm_with_gains(Epsilon::units(epsilon)?, gains),
        Some(Norm::Softmax(length, false)) => job.softmax(length),
        Some(Norm::Softmax(length, true)) => job.causal_softmax(length),
        Some(Norm::Layer(epsilon, None)) => job.layer_norm(Epsilon::units(epsilon)?),
        Some(Norm::Layer(epsilon, Some(pairs))) => job.layer_norm_with_gains(Epsilon::units(epsilon)?, pairs),
    };
    if let Some((four, quantizer)) = d.quantize {
        job = job.quantize(if four { Integer::Int4 } else { Integer::Int8 }, f16::from_bits(quantizer));
    }
    if d.exact {
        job = job.exact();
    }
    job.build(&CAPS, &WINDOW)
}

/// Right but for a few words and bytes.
fn mutated() -> impl Strategy<Value = Raw> {
    let value = prop_oneof![select(vec![0, 1, 3, 4, 32, 64, 128, 0x1000, 0xff80, u32::MAX]), any::<u32>()];
    let mutations = prop::collection::vec((0..32usize, value), 0..2);
    let bytes = prop::collection::vec(
        (prop_oneof![0..128usize, select(vec![0, 4, 5, 6, 40, 41, 112])], select(vec![0, 1, 2, 3, 0xff])),
        0..3,
    );
    (drawn(), mutations, bytes).prop_map(|(drawn, mutations, bytes)| {
        let mut raw = raw(&drawn);
        mutations.into_iter().for_each(|(word, value)| raw.put(4 * word, &value.to_le_bytes()));
        bytes.into_iter().for_each(|(at, value)| raw.put(at, &[value]));
        raw
    })
}

/// A chain of one, with few rows: work in a test that is about checks.
fn alone_and_short(mut raw: Raw) -> Raw {
    raw.put(8, &[0; 8]);
    if raw.0[34..36] == [0; 2] && raw.0[33] > 0 {
        raw.put(33, &[0]);
    }
    raw
}

#[test]
fn builder_and_hardware() {
    // The types exclude FIELD (15), and RESERVED (5) except for two steps with factors.
    every(drawn(), &[0, 5, 8, 9, 10], |drawn| {
        let (built, raw) = (built(&drawn), raw(&drawn));
        let expected = golden(0x1000, &raw.0);
        prop_assert_eq!(code(&built), expected, "{:?}", built);
        if let Ok(descriptor) = built {
            prop_assert_eq!(descriptor.bytes().to_vec(), raw.0);
        }
        Ok(expected)
    });
}

#[test]
fn any_bytes() {
    let random = prop::collection::vec(any::<u8>(), 128).prop_map(Raw);
    let places = prop_oneof![4 => Just(0x1000), 1 => place()];
    every((prop_oneof![20 => mutated(), 1 => random], places), &[0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 15], |(raw, at)| {
        let raw = alone_and_short(raw);
        let descriptor = Descriptor::from_bytes(raw.0.clone().try_into().unwrap());
        let verdict = Descriptor::check_place(at, &WINDOW)
            .and_then(|()| descriptor.check_header(&WINDOW, 1))
            .and_then(|()| check(&descriptor, &CAPS, &WINDOW));
        let expected = golden(at, &raw.0);
        prop_assert_eq!(code(&verdict), expected, "{:?}", verdict);
        Ok(expected)
    });
}

proptest! {
    #![proptest_config(seeds::proptest(1000))]

    /// What a chain says of its operations is what the golden model finds in the bytes that they use. Here rows are dense, or
    /// slices of the same rows.
    #[test]
    fn chains_that_overlap(jobs in prop::collection::vec(([0..6u64, 0..6], 0..3u64, 0..3u64, 1..4u32), 1..9)) {
        // Six matrices of four rows of three slices, a slice of 64 bytes each.
        let place = |matrix, slice| Operand { address: 0x2000 + 0x400 * matrix + 64 * slice, stride: 192 };
        let chain = jobs.iter().fold(Chain::new(), |chain, &([from, to], x, out, rows)| {
            let job = VectorJob::new(rows, 32, place(from, x), place(to, out));
            chain.then(job.build(&CAPS, &WINDOW).unwrap())
        });
        let image = chain.overlapping().place(0x1000, &WINDOW, 8).unwrap();
        let mut memory = SparseMemory::new();
        memory.store(image.address, &image.bytes);
        let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 8 };
        let expected: Vec<u8> = independence(&*TOP, limits, image.address, &mut memory).into_iter().map(|(_, [n, early])| n | early << 3).collect();
        let said: Vec<u8> = image.bytes.chunks(128).map(|descriptor| descriptor[6] >> 1).collect();
        prop_assert_eq!(said, expected);
    }

    #[test]
    fn chains(count in 0..5usize, at in address(), most in 0..5u32, tags in prop::collection::vec(prop::option::of(address()), 5)) {
        // Where no chain and no tag lies.
        let one = VectorJob::new(1, 1, Operand { address: 0xfe00, stride: 0 }, Operand { address: 0xfe40, stride: 0 });
        let one = one.build(&CAPS, &WINDOW).unwrap();
        let link = |k: usize| {
            let link = Link::from(one.clone()).independent(k);
            tags[k].map_or_else(|| link.clone().tag(k as u32 + 5), |address| link.clone().tag_at(k as u32 + 5, address))
        };
        let chain = (0..count).fold(Chain::new(), |chain, k| chain.then(link(k)));
        let placed = chain.place(at, &WINDOW, most);
        // The same as the hardware would see it.
        let mut memory = SparseMemory::new();
        for k in 0..count as u64 {
            let mut raw = Raw(one.bytes().to_vec());
            let here = at.wrapping_add(128 * k);
            let next = if k + 1 < count as u64 { here.wrapping_add(128) } else { 0 };
            raw.put(6, &[2 * k as u8 + u8::from(tags[k as usize].is_some()), 0]);
            raw.put(8, &next.to_le_bytes());
            raw.put(16, &(k as u32 + 5).to_le_bytes());
            raw.put(24, &tags[k as usize].unwrap_or(0).to_le_bytes());
            memory.store(here, &raw.0);
        }
        if let Ok(image) = &placed {
            prop_assert_eq!((image.address, &image.bytes), (at, &memory.bytes(at, 128 * count)));
            prop_assert_eq!(chain.bytes(), 128 * count as u64);
        }
        // A tag may lie on a descriptor that is still to come; the host does not look at that, as little as the
        // hardware.
        let spoils = |tag: &Option<u64>| tag.is_some_and(|tag| (at..at.saturating_add(640)).contains(&tag));
        prop_assume!(!tags.iter().any(spoils));
        let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: most };
        let end = TOP.run(limits, at, &mut memory).end;
        if count > 0 {
            prop_assert_eq!(placed.is_ok(), end.code == 0, "{:?} {:?}", placed, end);
        }
        if count == 1 {
            prop_assert_eq!(code(&placed), u32::from(end.code));
        }
        if placed.is_ok() {
            prop_assert_eq!((end.tag, end.descriptors), (count as u32 + 4, count as u32));
        }
    }
}

/// Every bit of a descriptor that uses everything, alone: all borders between what must be 0 and what need not.
#[test]
fn every_bit() {
    let operand = |address| Operand { address, stride: 64 };
    let job =
        VectorJob::new(3, 6, operand(0x2000), operand(0x3000)).scale(f16::ONE).add_rows(operand(0x4000)).activate();
    let epsilon = Epsilon::new(1e-5).unwrap();
    let multiplied = job.clone().multiply_rows(operand(0x5000));
    let turned = job.rotate(operand(0x5000));
    // Unknown steps; and known steps that are wrong on their own, present or missing.
    let unknown = 32 - 13;
    for (job, end, steps) in [
        // The norm; softmax, rotate, causal.
        (multiplied.clone().norm_with_gains(epsilon, 0x6000), 128, 1 + 3),
        // The norm; rotate, causal. Kind 3 is another error.
        (multiplied.clone().layer_norm_with_gains(epsilon, 0x6000), 128, 1 + 2),
        // The norm, its kind; another kind, the gain, rotate.
        (multiplied.causal_softmax(2), 96, 2 + 3),
        // Multiply, softmax, causal.
        (turned.norm(epsilon), 128, 3),
    ] {
        let good = job.quantize(Integer::Int8, f16::ONE).build(&CAPS, &WINDOW).unwrap();
        let mut codes = BTreeMap::new();
        for bit in 0..8 * Descriptor::BYTES {
            // A chain of one.
            if (8 * 8..8 * 16).contains(&bit) {
                continue;
            }
            let mut bytes = *good.bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let descriptor = Descriptor::from_bytes(bytes);
            let verdict = descriptor.check_header(&WINDOW, 1).and_then(|()| check(&descriptor, &CAPS, &WINDOW));
            assert_eq!(code(&verdict), golden(0x1000, &bytes), "bit {bit}: {verdict:?}");
            *codes.entry(code(&verdict)).or_insert(0) += 1;
        }
        assert_eq!(codes.keys().copied().collect::<Vec<_>>(), [0, 2, 3, 4, 5, 6, 8, 9, 10, 15]);
        // Flags and the reserved word are the header's; epsilon.
        assert_eq!(codes[&5], 9 + 32 + end + 24 + unknown + steps, "{good:?}");
    }
}

/// The first and the last byte of the window, for each operand.
#[test]
fn every_edge() {
    for (rows, columns, stride) in [(1, 1, 0), (1, 32, 64), (3, 32, 64), (2, 31, 128)] {
        for row in (0xfc0..0x1040u64).step_by(64).chain((0xfe00..0x1_0040).step_by(64)) {
            let edge = Operand { address: row, stride };
            let inside = Operand { address: 0x2000, stride: 64 };
            let job = |x, out| VectorJob::new(rows, columns, x, out).scale(f16::ONE);
            let one = Epsilon::units(1).unwrap();
            for job in [
                job(edge, inside),
                job(inside, edge),
                job(inside, edge).quantize(Integer::Int4, f16::ONE),
                job(inside, inside).multiply_rows(edge),
                job(inside, inside).norm_with_gains(one, row),
                job(inside, inside).layer_norm_with_gains(one, row),
            ]
            .into_iter()
            .chain((columns % 2 == 0).then(|| job(inside, inside).rotate(edge)))
            {
                let window = host::Window { limit: 0xff3f, ..WINDOW };
                let built = job.build(&CAPS, &window);
                let wide = job.build(&CAPS, &host::Window { base: 0, limit: u64::MAX, ..WINDOW }).unwrap();
                let mut memory = SparseMemory::new();
                memory.store(0x1000, wide.bytes());
                let limits = Limits { base: window.base, limit: window.limit, max_descriptors: 1 };
                assert_eq!(code(&built), u32::from(TOP.run(limits, 0x1000, &mut memory).end.code), "{job:?}");
            }
        }
    }
}

#[test]
fn refusals_name_field_value_and_what_is_right() {
    let (x, out) = (Operand { address: 0x2000, stride: 64 }, Operand { address: 0x3000, stride: 64 });
    let said = |job: VectorJob| job.build(&CAPS, &WINDOW).unwrap_err().to_string();
    let end = "; the hardware would end the job with";
    assert_eq!(said(VectorJob::new(1, 33, x, out)), format!("columns is 33, must be 1 to 32{end} SIZE (9)"));
    let odd = Operand { address: 0x2010, stride: 64 };
    let message = format!("addend_address is 0x2010, must be a multiple of 0x40{end} ALIGNMENT (8)");
    assert_eq!(said(VectorJob::new(1, 1, x, out).add_rows(odd)), message);
    let message = "out_address is 0xffc0, its last byte at 0x10001, must be such that all of it is in the window, 0x1000 to 0xffff";
    let far = Operand { address: 0xffc0, ..out };
    assert_eq!(said(VectorJob::new(2, 1, x, far)), format!("{message}{end} WINDOW (10)"));
    let both = VectorJob::new(1, 2, x, out).multiply_rows(x).rotate(x);
    let message = "rotate is 0x1, must be 0, or with not (norm and kind = 1) and not multiply";
    assert_eq!(said(both), format!("{message}{end} RESERVED (5)"));
    let message = format!("columns is 5, must be a multiple of 2, as rotate turns pairs{end} SIZE (9)");
    assert_eq!(said(VectorJob::new(1, 5, x, out).rotate(x)), message);
    for length in [0, 6] {
        let message = format!("length is {length}, must be 1 to 5{end} SIZE (9)");
        assert_eq!(said(VectorJob::new(1, 5, x, out).softmax(length)), message);
    }
    let epsilon = Epsilon::units(0).unwrap();
    let plain = Caps { units: Units::default(), ..CAPS };
    for (job, message) in [
        (VectorJob::new(1, 2, x, out).causal_softmax(1), "kind is 0x1, must be no softmax (1), which the device lacks"),
        (
            VectorJob::new(1, 2, x, out).layer_norm(epsilon),
            "kind is 0x2, must be no layer norm (2), which the device lacks",
        ),
        (VectorJob::new(1, 2, x, out).rotate(x), "rotate is 0x1, must be 0, as the device does not rotate"),
    ] {
        let said = job.build(&plain, &WINDOW).unwrap_err().to_string();
        assert_eq!(said, format!("{message}{end} FIELD (15)"));
    }
    for (value, right) in
        [(1e-5, Ok(2_814_749_767)), (0.0, Ok(0)), (-1e-5, Err(())), (f64::NAN, Err(())), (0.5, Err(()))]
    {
        let units = Epsilon::new(value);
        assert_eq!(units.is_ok(), right.is_ok(), "{value}");
        assert_eq!(units.ok(), right.ok().map(|units| Epsilon::units(units).unwrap()));
    }
    assert!(Epsilon::units(1 << 40).is_err());
}
