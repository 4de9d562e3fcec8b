//! Jobs of `kelle_top`.

use std::collections::BTreeMap;
use std::convert::Infallible;

use golden::accelerators::job::{Accelerator, Executed, Fields};
use golden::accelerators::kelle::{
    Counts, Device as Model, KelleTop, Operation, Recompute, Restore, Save, Shape, Work,
};
use golden::accelerators::memory::{Memory, SparseMemory};
use golden::common::shell::job_controller::Limits;
use host::kelle::{
    Attention, AttentionJob, Caps, ClearJob, Counts as Counters, Intervals, Linear, LinearJob, Policy, Quantizers,
    RecomputeJob, RefreshJob, RestoreJob, Rows, SaveJob, check,
};
use host::vector::{self, Operand, VectorJob};
use host::{Bus, Chain, Descriptor, Device, Refusal, Settings};
use proptest::prelude::*;
use proptest::sample::select;

use super::cases::{Raw, address, code, every, golden, operand, place};
use super::support::{CAPS as VECTOR_CAPS, SHAPE as VECTOR_SHAPE, WINDOW};

pub(super) const CAPS: Caps = Caps {
    rows: 3,
    columns: 4,
    tokens: 30,
    inner: 50,
    heads: 6,
    slots: 40,
    width: 24,
    group: 3,
    score_lanes: 5,
    score_bits: 7,
    amount_bits: 6,
    interval_bits: 20,
    cache_rows: 240,
    save: true,
    recompute: 5,
    vector: vector::Caps { opcode: 3, ..VECTOR_CAPS },
};

/// The golden model's checks, and no work: heads are full, whatever there was before; to a restore they have the tokens
/// that it asks for.
struct Checks(KelleTop);

pub(super) fn model() -> KelleTop {
    let shape = Shape {
        rows: CAPS.rows,
        columns: CAPS.columns,
        tokens: CAPS.tokens,
        inner: CAPS.inner,
        heads: CAPS.heads,
        slots: CAPS.slots,
        width: CAPS.width,
        group: CAPS.group,
        score_lanes: CAPS.score_lanes,
        score_bits: CAPS.score_bits,
        amount_bits: CAPS.amount_bits,
        interval_bits: CAPS.interval_bits,
        cache_rows: CAPS.cache_rows,
        save: CAPS.save,
        recompute: CAPS.recompute,
        vector: VECTOR_SHAPE,
    };
    KelleTop::new(shape).unwrap()
}

impl Accelerator for Checks {
    type Operation = Work;
    type Checked = Work;

    fn address_width(&self) -> u32 {
        self.0.address_width()
    }

    fn opcodes(&self) -> u8 {
        self.0.opcodes()
    }

    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Work, u8> {
        let operation = match opcode {
            6 => Save::check(self.0.shape(), limits, fields, |_| CAPS.slots.into()).map(Operation::Save),
            7 => {
                let has = fields.word(36).into();
                Restore::check(self.0.shape(), limits, fields, |_| has).map(Operation::Restore)
            }
            8 => Recompute::check(self.0.shape(), fields, |_| CAPS.slots.into()).map(Operation::Recompute),
            _ => self.0.check(opcode, fields, limits),
        };
        Ok(Work { operation: operation?, counts: Counts::default() })
    }

    fn execute(&self, operation: Work, _memory: &mut dyn Memory) -> Executed<Work> {
        Executed { operation, codes: Vec::new(), defined: true, certain: true, overflows: 0, sum_overflows: 0 }
    }
}

#[derive(Debug, Clone)]
enum Job {
    Linear { product: Linear, exact: bool },
    Attention { entering: Attention, exact: bool, late: bool, again: u8 },
    Clear(ClearJob),
    Refresh(RefreshJob),
    Save(SaveJob),
    Restore(RestoreJob),
    Recompute(RecomputeJob),
}

/// 1 to `most`, and seldom anything about it.
fn size(most: u32) -> impl Strategy<Value = u32> {
    prop_oneof![20 => 1..=most, 1 => select(vec![0, most + 1, u32::MAX])]
}

/// 0 to `most` - 1.
fn number(most: u32) -> impl Strategy<Value = u32> {
    prop_oneof![20 => 0..most, 1 => select(vec![most, u32::MAX])]
}

fn elements() -> impl Strategy<Value = u32> {
    prop_oneof![20 => (1..7u32).prop_map(|k| 4 * k), 1 => select(vec![0, 5, 6, 28, u32::MAX])]
}

/// Rows lie further apart than others.
fn wide() -> impl Strategy<Value = Operand> {
    let stride = prop_oneof![20 => select(vec![0, 192, 256]), 1 => select(vec![32, 0xffff_ffc0]), 1 => any::<u32>()];
    (address(), stride).prop_map(|(address, stride)| Operand { address, stride })
}

fn policy() -> impl Strategy<Value = Policy> {
    let any = (0..42u16, 0..42u16, 0..42u16, any::<u8>());
    let any = any.prop_map(|(budget, sink, window, shift)| Policy { budget, sink, window, shift });
    let good = (1..41u16, 0..48u8).prop_map(|(budget, shift)| Policy::of_budget(budget, shift));
    prop_oneof![8 => good, 1 => any]
}

fn job() -> impl Strategy<Value = Job> {
    let linear = ([size(30), size(80), size(50)], any::<f32>(), operand(), wide(), address(), operand(), any::<bool>());
    let linear = linear.prop_map(|([rows, columns, channels], quantizer, x, panels, constants, out, exact)| {
        Job::Linear { product: Linear { rows, columns, channels, x, quantizer, panels, constants, out }, exact }
    });
    let quantizers = (any::<f32>(), any::<f32>(), any::<f32>());
    let quantizers = quantizers.prop_map(|(queries, keys, values)| Quantizers { queries, keys, values });
    let rows = (wide(), operand(), operand(), wide());
    let rows = rows.prop_map(|(queries, keys, values, out)| Rows { queries, keys, values, out });
    let head = (number(6), prop_oneof![20 => 1..20u32, 1 => select(vec![0, 65_535, 65_536])]);
    // Some tokens come again, or values are late; seldom both.
    let order =
        prop_oneof![8 => (any::<bool>(), Just(0)), 8 => (Just(false), 0..6u8), 1 => (any::<bool>(), any::<u8>())];
    let attention = (head, (size(3), elements()), policy(), quantizers, rows, any::<bool>(), order);
    let attention =
        attention.prop_map(|((head, tokens), (group, elements), policy, quantizers, rows, exact, (late, again))| {
            let entering = Attention { head, tokens, group, elements, policy, quantizers, scale: 0.125, rows };
            Job::Attention { entering, exact, late, again }
        });
    let clear = (number(6), size(6)).prop_map(|(first, heads)| Job::Clear(ClearJob { first, heads }));
    let interval = prop_oneof![40 => 480..0x10_0000u32, 1 => select(vec![0, 479, 480, 0xf_ffff, 0x10_0000, u32::MAX])];
    let intervals = (interval.clone(), interval).prop_map(|(msb, lsb)| Intervals { msb, lsb });
    let refresh = (number(128), intervals.clone(), intervals);
    let refresh = refresh.prop_map(|(threshold, high, low)| Job::Refresh(RefreshJob { threshold, high, low }));
    let save = (number(6), number(40), size(40), elements(), wide());
    let save =
        save.prop_map(|(head, first, tokens, elements, out)| Job::Save(SaveJob { head, first, tokens, elements, out }));
    let restore = (number(6), number(40), size(40), elements(), wide());
    let restore = restore.prop_map(|(head, first, tokens, elements, saved)| {
        Job::Restore(RestoreJob { head, first, tokens, elements, saved })
    });
    let recompute = (number(6), number(40), number(5));
    let recompute = recompute.prop_map(|(head, position, slot)| Job::Recompute(RecomputeJob { head, position, slot }));
    prop_oneof![4 => linear, 6 => attention, 1 => clear, 1 => refresh, 2 => save, 2 => restore, 1 => recompute]
}

/// The descriptor as the contract's table says.
fn raw(job: &Job) -> Raw {
    fn words(opcode: u8, words: &[(usize, u32)]) -> Raw {
        let mut raw = Raw::of(opcode);
        words.iter().for_each(|(at, word)| raw.put(*at, &word.to_le_bytes()));
        raw
    }
    match *job {
        Job::Linear { product, exact } => {
            let Linear { rows, columns, channels, x, quantizer, panels, constants, out } = product;
            let options = u32::from(exact) << 12;
            let sizes = [(32, rows), (36, columns), (40, channels), (44, options), (48, quantizer.to_bits())];
            let mut raw = words(1, &sizes);
            raw.operand(64, 52, x);
            raw.operand(72, 56, panels);
            raw.put(80, &constants.to_le_bytes());
            raw.operand(88, 60, out);
            raw
        }
        Job::Attention { entering, exact, late, again } => {
            let Attention { head, tokens, group, elements, policy, quantizers, scale, rows } = entering;
            let Policy { budget, sink, window, shift } = policy;
            let options = u32::from(exact) << 12 | u32::from(late) << 1;
            let sizes = [(32, head), (36, tokens), (40, group), (44, elements), (48, options)];
            let mut raw = words(2, &sizes);
            for (at, value) in [(52, budget), (54, sink), (56, window)] {
                raw.put(at, &value.to_le_bytes());
            }
            raw.put(58, &[shift, again]);
            let Quantizers { queries, keys, values } = quantizers;
            let scores = (f64::from(scale) / (f64::from(queries) * f64::from(keys))) as f32;
            let results = (1.0 / (32768.0 * f64::from(values))) as f32;
            for (at, value) in [(60, queries), (64, keys), (68, values), (72, scores), (76, results)] {
                raw.put(at, &value.to_bits().to_le_bytes());
            }
            raw.operand(96, 80, rows.queries);
            raw.operand(104, 84, rows.keys);
            raw.operand(112, 88, rows.values);
            raw.operand(120, 92, rows.out);
            raw
        }
        Job::Clear(ClearJob { first, heads }) => words(4, &[(32, first), (36, heads)]),
        Job::Refresh(RefreshJob { threshold, high, low }) => {
            words(5, &[(32, threshold), (36, high.msb), (40, high.lsb), (44, low.msb), (48, low.lsb)])
        }
        Job::Save(SaveJob { head, first, tokens, elements, out }) => {
            let mut raw = words(6, &[(32, head), (36, first), (40, tokens), (44, elements)]);
            raw.operand(56, 48, out);
            raw
        }
        Job::Restore(RestoreJob { head, first, tokens, elements, saved }) => {
            let mut raw = words(7, &[(32, head), (36, first), (40, tokens), (44, elements)]);
            raw.operand(56, 48, saved);
            raw
        }
        Job::Recompute(RecomputeJob { head, position, slot }) => words(8, &[(32, head), (36, position), (40, slot)]),
    }
}

fn built(job: &Job) -> Result<Descriptor, Refusal> {
    match *job {
        Job::Linear { product, exact } => {
            let job = LinearJob::new(product);
            if exact { job.exact() } else { job }.build(&CAPS, &WINDOW)
        }
        Job::Attention { entering, exact, late, again } => {
            let job = AttentionJob::new(entering).again(again);
            let job = if exact { job.exact() } else { job };
            if late { job.late() } else { job }.build(&CAPS, &WINDOW)
        }
        Job::Clear(job) => job.build(&CAPS, &WINDOW),
        Job::Refresh(job) => job.build(&CAPS, &WINDOW),
        Job::Save(job) => job.build(&CAPS, &WINDOW),
        Job::Restore(job) => job.build(&CAPS, &WINDOW),
        Job::Recompute(job) => job.build(&CAPS, &WINDOW),
    }
}

#[test]
fn builder_and_hardware() {
    let checks = Checks(model());
    every(job(), &[0, 5, 8, 9, 10], |job| {
        let (built, raw) = (built(&job), raw(&job));
        let expected = golden(&checks, 0x1000, &raw.0);
        prop_assert_eq!(code(&built), expected, "{:?}", built);
        if let Ok(descriptor) = built {
            prop_assert_eq!(descriptor.bytes().to_vec(), raw.0);
        }
        Ok(expected)
    });
}

/// Right but for a few words and bytes, also as one of the other operations.
fn mutated() -> impl Strategy<Value = Raw> {
    let value = prop_oneof![select(vec![0, 1, 3, 4, 32, 64, 128, 0x1000, 0xff80, u32::MAX]), any::<u32>()];
    let mutations = prop::collection::vec((0..32usize, value), 0..2);
    let places = prop_oneof![0..128usize, select(vec![0, 4, 5, 5, 6, 44, 48, 52, 58, 59])];
    let bytes = prop::collection::vec((places, select(vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xff])), 0..3);
    (job(), mutations, bytes).prop_map(|(job, mutations, bytes)| {
        let mut raw = raw(&job);
        mutations.into_iter().for_each(|(word, value)| raw.put(4 * word, &value.to_le_bytes()));
        bytes.into_iter().for_each(|(at, value)| raw.put(at, &[value]));
        // A chain of one.
        raw.put(8, &[0; 8]);
        raw
    })
}

#[test]
fn any_bytes() {
    let random = prop::collection::vec(any::<u8>(), 128).prop_map(|mut bytes| {
        bytes[8..16].fill(0);
        Raw(bytes)
    });
    let places = prop_oneof![4 => Just(0x1000), 1 => place()];
    let checks = Checks(model());
    let codes = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10];
    every((prop_oneof![20 => mutated(), 1 => random], places), &codes, |(raw, at)| {
        let descriptor = Descriptor::from_bytes(raw.0.clone().try_into().unwrap());
        let verdict = Descriptor::check_place(at, &WINDOW)
            .and_then(|()| descriptor.check_header(&WINDOW, 8))
            .and_then(|()| check(&descriptor, &CAPS, &WINDOW));
        let expected = golden(&checks, at, &raw.0);
        prop_assert_eq!(code(&verdict), expected, "{:?}", verdict);
        Ok(expected)
    });
}

const fn at(address: u64) -> Operand {
    Operand { address, stride: 256 }
}

const LINEAR: Linear = Linear {
    rows: 5,
    columns: 6,
    channels: 7,
    x: at(0x2000),
    quantizer: 100.0,
    panels: at(0x3000),
    constants: 0x4000,
    out: at(0x6000),
};

const ROWS: Rows = Rows { queries: at(0x2000), keys: at(0x3000), values: at(0x4000), out: at(0x5000) };

fn attention(policy: Policy) -> AttentionJob {
    let quantizers = Quantizers { queries: 4.0, keys: 8.0, values: 16.0 };
    let (head, tokens, group, elements) = (1, 5, 3, 8);
    AttentionJob::new(Attention { head, tokens, group, elements, policy, quantizers, scale: 0.125, rows: ROWS })
}

/// Every bit of good descriptors, alone: all borders between what must be 0 and what need not.
#[test]
fn every_bit() {
    let checks = Checks(model());
    let vector = VectorJob::new(3, 5, at(0x2000), at(0x6000)).build(&CAPS.vector, &WINDOW).unwrap();
    let refresh =
        RefreshJob { threshold: 5, high: Intervals { msb: 500, lsb: 600 }, low: Intervals { msb: 700, lsb: 800 } };
    let save = SaveJob { head: 1, first: 2, tokens: 3, elements: 4, out: at(0x2000) };
    let restore = RestoreJob { head: 1, first: 2, tokens: 3, elements: 4, saved: at(0x2000) };
    let recompute = RecomputeJob { head: 1, position: 2, slot: 3 };
    for (good, reserved) in [
        (LinearJob::new(LINEAR).build(&CAPS, &WINDOW).unwrap(), 31 + 256),
        (attention(Policy::of_budget(20, 9)).build(&CAPS, &WINDOW).unwrap(), 30),
        (recompute.build(&CAPS, &WINDOW).unwrap(), 8 * 84),
        // Steps but for thirteen; gain, kinds and causal without a norm; epsilon, the end.
        (vector, 32 - 13 + 4 + 24 + 128),
        (ClearJob { first: 1, heads: 2 }.build(&CAPS, &WINDOW).unwrap(), 8 * 88),
        (refresh.build(&CAPS, &WINDOW).unwrap(), 8 * 76),
        (save.build(&CAPS, &WINDOW).unwrap(), 32 + 8 * 64),
        (restore.build(&CAPS, &WINDOW).unwrap(), 32 + 8 * 64),
    ] {
        let mut codes = BTreeMap::new();
        for bit in (0..8 * Descriptor::BYTES).filter(|bit| !(8 * 8..8 * 16).contains(bit)) {
            let mut bytes = *good.bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // The opcode makes it another operation.
            let opcode = (8 * 5..8 * 6).contains(&bit);
            let descriptor = Descriptor::from_bytes(bytes);
            let verdict = descriptor.check_header(&WINDOW, 8).and_then(|()| check(&descriptor, &CAPS, &WINDOW));
            assert_eq!(code(&verdict), golden(&checks, 0x1000, &bytes), "bit {bit}: {verdict:?}");
            *codes.entry(code(&verdict)).or_insert(0) += usize::from(!opcode);
        }
        // 12 flags and the reserved word are the header's.
        assert_eq!(codes[&5], 9 + 32 + reserved, "{codes:?}");
    }
}

#[test]
fn refusals_name_field_value_and_what_is_right() {
    let end = "; the hardware would end the job with";
    let said = |product| LinearJob::new(product).build(&CAPS, &WINDOW).unwrap_err().to_string();
    assert_eq!(said(Linear { rows: 31, ..LINEAR }), format!("rows is 31, must be 1 to 30{end} SIZE (9)"));
    assert_eq!(said(Linear { channels: 51, ..LINEAR }), format!("channels is 51, must be 1 to 50{end} SIZE (9)"));
    let said = |policy| attention(policy).build(&CAPS, &WINDOW).unwrap_err().to_string();
    assert_eq!(said(Policy::keep(41, 0)), format!("budget is 41, must be 1 to 40{end} SIZE (9)"));
    let tight = Policy { budget: 10, sink: 4, window: 6, shift: 0 };
    assert_eq!(said(tight), format!("window is 6, must be 0 to 5{end} SIZE (9)"));
    assert_eq!(said(Policy { sink: 10, ..tight }), format!("sink is 10, must be 0 to 9{end} SIZE (9)"));
    assert_eq!(said(Policy::keep(9, 48)), format!("shift is 48, must be 0 to 47{end} SIZE (9)"));
    let said = |first, heads| ClearJob { first, heads }.build(&CAPS, &WINDOW).unwrap_err().to_string();
    assert_eq!(said(6, 1), format!("first is 6, must be 0 to 5{end} SIZE (9)"));
    assert_eq!(said(4, 3), format!("heads is 3, must be 1 to 2{end} SIZE (9)"));
    let save = SaveJob { head: 1, first: 2, tokens: 3, elements: 6, out: at(0x2000) };
    let message = save.build(&CAPS, &WINDOW).unwrap_err().to_string();
    assert_eq!(message, format!("elements is 6, must be a multiple of 4 up to 24{end} SIZE (9)"));
    let message = RefreshJob::of_paper(9, 1).build(&CAPS, &WINDOW).unwrap_err().to_string();
    assert_eq!(message, format!("high_msb is 360, must be 480 to 1048575{end} SIZE (9)"));
    let restore = RestoreJob { head: 1, first: 38, tokens: 3, elements: 8, saved: at(0x2000) };
    let message = restore.build(&CAPS, &WINDOW).unwrap_err().to_string();
    assert_eq!(message, format!("tokens is 3, must be 1 to 2{end} SIZE (9)"));
    let without = Caps { save: false, ..CAPS };
    for opcode in [6, 7] {
        let message = check(&Descriptor::new(opcode), &without, &WINDOW).unwrap_err().to_string();
        let right = "0x1 to 0x5: the device does not write cached tokens to memory, and reads none back";
        assert_eq!(message, format!("opcode is {opcode:#x}, must be {right}{end} FIELD (15)"));
    }
}

/// Tokens that come again: what is wrong, and what would be right.
#[test]
fn refusals_of_recomputation() {
    let end = "; the hardware would end the job with";
    let job = attention(Policy::of_budget(20, 9));
    let said = |job: AttentionJob, caps: &Caps| job.build(caps, &WINDOW).unwrap_err().to_string();
    assert_eq!(said(job.clone().again(6), &CAPS), format!("again is 6, must be 0 to 5{end} SIZE (9)"));
    let late = said(job.clone().again(1).late(), &CAPS);
    let expected = format!("again is 0x1, must be 0, or with recompute is built and not late{end} RESERVED (5)");
    assert_eq!(late, expected);
    let without = Caps { recompute: 0, ..CAPS };
    assert_eq!(said(job.clone().again(1), &without), expected);
    assert!(job.clone().build(&without, &WINDOW).is_ok());
    let prompt = job.again(1).build_prompt(&CAPS, &WINDOW).unwrap_err().to_string();
    assert_eq!(
        prompt,
        format!("again is 1, must be 0: an empty head has no token that could come again{end} FIELD (15)")
    );
    let recompute = RecomputeJob { head: 0, position: 0, slot: 5 };
    let message = recompute.build(&CAPS, &WINDOW).unwrap_err().to_string();
    assert_eq!(message, format!("slot is 5, must be 0 to 4{end} SIZE (9)"));
    let message = RecomputeJob { slot: 0, ..recompute }.build(&without, &WINDOW).unwrap_err().to_string();
    assert!(message.starts_with("opcode is 0x8, must be 0x1 to 0x7"), "{message}");
}

/// A prompt is as many descriptors as it needs: the last token brings the policy.
#[test]
fn prompts() {
    let policy = Policy::of_budget(4, 3);
    let [first, last] = attention(policy).build_prompt(&CAPS, &WINDOW).unwrap().try_into().unwrap();
    let words = |d: &Descriptor| {
        [36, 52, 56, 96, 104, 112, 120].map(|at| u32::from_le_bytes(d.bytes()[at..at + 4].try_into().unwrap()))
    };
    assert_eq!(words(&first), [4, 4, 3 << 16, 0x2000, 0x3000, 0x4000, 0x5000]);
    assert_eq!(words(&last), [1, 4 | 1 << 16, 2 | 3 << 16, 0x2400, 0x3400, 0x4400, 0x5400]);
    let prompt = |tokens: u32| {
        let quantizers = Quantizers { queries: 1.0, keys: 1.0, values: 1.0 };
        let (head, group, elements) = (1, 1, 4);
        AttentionJob::new(Attention { head, tokens, group, elements, policy, quantizers, scale: 1.0, rows: ROWS })
    };
    let one = prompt(1);
    assert_eq!(one.build_prompt(&CAPS, &WINDOW).unwrap(), [one.build(&CAPS, &WINDOW).unwrap()]);
    let message = prompt(42).build_prompt(&CAPS, &WINDOW).unwrap_err().to_string();
    assert!(message.starts_with("budget is 41, must be 1 to 40"), "{message}");
}

/// The model as the bus of a driver.
struct Software(Model<SparseMemory>);

impl Bus for Software {
    type Error = Infallible;

    fn read32(&mut self, offset: u32) -> Result<u32, Infallible> {
        Ok(self.0.read(offset).unwrap())
    }

    fn write32(&mut self, offset: u32, value: u32) -> Result<(), Infallible> {
        self.0.write(offset, value).unwrap();
        Ok(())
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.memory.read(address, bytes).unwrap();
        Ok(())
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), Infallible> {
        self.0.memory.write(address, bytes).unwrap();
        Ok(())
    }
}

/// What a driver reads is what the model was built with, and what it counts.
#[test]
fn a_driver_and_the_model() {
    let mut device = Device::new(Software(Model::new(model(), 5, 16, SparseMemory::new())));
    assert_eq!(Caps::read(&mut device).unwrap(), CAPS);
    let settings = Settings { window: WINDOW, timeout: 0, max_descriptors: 4 };
    device.identify().unwrap();
    device.configure(&settings).unwrap();
    // Five tokens; two remain after the last one.
    let prompt = attention(Policy::keep(2, 0)).build_prompt(&CAPS, &WINDOW).unwrap();
    let chain = prompt.into_iter().fold(Chain::new(), Chain::then).place(0x8000, &WINDOW, 4).unwrap();
    device.run(&chain, 4).unwrap();
    let counts = Counters { evictions: 3, ..Counters::default() };
    assert_eq!(Counters::read(&mut device).unwrap(), counts);
}
