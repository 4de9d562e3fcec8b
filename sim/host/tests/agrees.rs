//! What the host accepts, the golden model of the hardware accepts, and the other way round: with the same code.

mod support;

use std::cell::RefCell;
use std::collections::BTreeMap;

use golden::common::shell::job_controller::Limits;
use golden::systems::memory::SparseMemory;
use half::f16;
use host::vector::{Epsilon, Integer, Operand, VectorJob, check};
use host::{Chain, Descriptor, ErrorCode, Link, Refusal};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use support::{CAPS, TOP, WINDOW};

/// How a job of this one descriptor ends in the golden model; overflows, which only data can cause, count as well.
fn golden(at: u64, descriptor: &[u8]) -> u32 {
    let mut memory = SparseMemory::new();
    memory.store(at, descriptor);
    let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 1 };
    let code = TOP.run(limits, at, &mut memory).end.code.into();
    if code == ErrorCode::Overflow.number() { 0 } else { code }
}

fn code<T>(result: &Result<T, Refusal>) -> u32 {
    result.as_ref().err().map_or(0, |refusal| refusal.code.number())
}

/// Addresses about the edges of the window, and any.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        30 => (0x1000..0xf000u64).prop_map(|at| at & !63),
        1 => select(vec![0, 0xfc0, 0x1000, 0x1020, 0xff40, 0xff80, 0xffc0, 0xffff, 0x1_0000, 1 << 40, u64::MAX - 63]),
        1 => any::<u64>(),
    ]
}

/// As often outside of the window as not.
fn place() -> impl Strategy<Value = u64> {
    prop_oneof![address(), any::<u64>(), select(vec![0, 0xf80, 0xff80, 0xffc0, 0x1010])]
}

fn stride() -> impl Strategy<Value = u32> {
    prop_oneof![30 => select(vec![0, 64, 128]), 1 => select(vec![1, 32, 0x4000, 0xffff_ffc0]), 1 => any::<u32>()]
}

fn operand() -> impl Strategy<Value = Operand> {
    (address(), stride()).prop_map(|(address, stride)| Operand { address, stride })
}

/// A descriptor as the table says, written here a second time.
#[derive(Debug, Default, Clone)]
struct Raw(Vec<u8>);

impl Raw {
    fn new() -> Self {
        let mut bytes = vec![0; 128];
        bytes[..6].copy_from_slice(b"SNBZ\x01\x01");
        Self(bytes)
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn operand(&mut self, address: usize, stride: usize, operand: Operand) {
        self.put(address, &operand.address.to_le_bytes());
        self.put(stride, &operand.stride.to_le_bytes());
    }
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
    norm: Option<(u64, Option<u64>)>,
    quantize: Option<(bool, u16)>,
    exact: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let size = prop_oneof![20 => 1..5u32, 1 => select(vec![0, 65_536, u32::MAX])];
    let columns = prop_oneof![20 => 1..33u32, 1 => select(vec![0, 33, u32::MAX])];
    let some = prop::option::of::<BoxedStrategy<Operand>>;
    (
        (size, columns, operand(), operand(), any::<bool>(), any::<bool>()),
        (prop::option::of(any::<u16>()), some(operand().boxed()), some(operand().boxed())),
        prop::option::of((0..1u64 << 40, prop::option::of(address()))),
        prop::option::of((any::<bool>(), any::<u16>())),
    )
        .prop_map(|((rows, columns, x, out, activate, exact), (scale, addends, factors), norm, quantize)| Drawn {
            rows,
            columns,
            x,
            out,
            scale,
            addends,
            activate,
            factors,
            norm,
            quantize,
            exact,
        })
}

fn raw(d: &Drawn) -> Raw {
    let mut raw = Raw::new();
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
    if let Some((epsilon, gains)) = d.norm {
        steps |= 16 | u32::from(gains.is_some()) << 5;
        raw.put(48, &epsilon.to_le_bytes());
        raw.put(96, &gains.unwrap_or(0).to_le_bytes());
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
    if let Some((epsilon, gains)) = d.norm {
        let epsilon = Epsilon::units(epsilon)?;
        job = gains.map_or_else(|| job.clone().norm(epsilon), |gains| job.clone().norm_with_gains(epsilon, gains));
    }
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
        (prop_oneof![0..128usize, select(vec![0, 4, 5, 6, 41])], select(vec![0, 1, 2, 3, 0xff])),
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

/// Runs a property that returns a code on many cases; each of `codes`, and no other one, must come up.
fn every<T: std::fmt::Debug>(
    strategy: impl Strategy<Value = T>,
    codes: &[u32],
    property: impl Fn(T) -> Result<u32, TestCaseError>,
) {
    let seen = RefCell::new(BTreeMap::new());
    let outcome = TestRunner::new(seeds::proptest(2000)).run(&strategy, |case| {
        *seen.borrow_mut().entry(property(case)?).or_insert(0) += 1;
        Ok(())
    });
    outcome.unwrap();
    let seen = seen.into_inner();
    println!("{seen:?}");
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), codes, "{seen:?}");
    assert!(seen[&0] > 200, "too few that are right: {seen:?}");
}

#[test]
fn builder_and_hardware() {
    // What the types do not let anybody write down: 5 and 15.
    every(drawn(), &[0, 8, 9, 10], |drawn| {
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

    #[test]
    fn chains(count in 0..5usize, at in address(), most in 0..5u32, tags in prop::collection::vec(prop::option::of(address()), 5)) {
        // Where no chain and no tag lies.
        let one = VectorJob::new(1, 1, Operand { address: 0xfe00, stride: 0 }, Operand { address: 0xfe40, stride: 0 });
        let one = one.build(&CAPS, &WINDOW).unwrap();
        let link = |k: usize| {
            let link = Link::from(one.clone()).independent();
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
            raw.put(6, &[2 + u8::from(tags[k as usize].is_some()), 0]);
            raw.put(8, &next.to_le_bytes());
            raw.put(16, &(k as u32 + 5).to_le_bytes());
            raw.put(24, &tags[k as usize].unwrap_or(0).to_le_bytes());
            memory.store(here, &raw.0);
        }
        if let Ok(image) = &placed {
            prop_assert_eq!((image.address, &image.bytes), (at, &memory.bytes(at, 128 * count)));
            prop_assert_eq!(chain.bytes(), 128 * count as u64);
        }
        // A tag may lie on a descriptor that is still to come; the host does not look at that, as little as the hardware.
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
        VectorJob::new(3, 5, operand(0x2000), operand(0x3000)).scale(f16::ONE).add_rows(operand(0x4000)).activate();
    let job = job.multiply_rows(operand(0x5000)).norm_with_gains(Epsilon::new(1e-5).unwrap(), 0x6000);
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
    // Flags, the reserved word, the end, epsilon, steps but for seven and the format; the gain's norm.
    assert_eq!(codes[&5], 14 + 32 + 128 + 24 + (32 - 9) + 1);
}

/// The first and the last byte of the window, for each operand.
#[test]
fn every_edge() {
    for (rows, columns, stride) in [(1, 1, 0), (1, 32, 64), (3, 32, 64), (2, 31, 128)] {
        for row in (0xfc0..0x1040u64).step_by(64).chain((0xfe00..0x1_0040).step_by(64)) {
            let edge = Operand { address: row, stride };
            let inside = Operand { address: 0x2000, stride: 64 };
            let job = |x, out| VectorJob::new(rows, columns, x, out).scale(f16::ONE);
            for (x, out, quantized) in [(edge, inside, false), (inside, edge, false), (inside, edge, true)] {
                let job = if quantized { job(x, out).quantize(Integer::Int4, f16::ONE) } else { job(x, out) };
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
    for (value, right) in
        [(1e-5, Ok(2_814_749_767)), (0.0, Ok(0)), (-1e-5, Err(())), (f64::NAN, Err(())), (0.5, Err(()))]
    {
        let units = Epsilon::new(value);
        assert_eq!(units.is_ok(), right.is_ok(), "{value}");
        assert_eq!(units.ok(), right.ok().map(|units| Epsilon::units(units).unwrap()));
    }
    assert!(Epsilon::units(1 << 40).is_err());
}
