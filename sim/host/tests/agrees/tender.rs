//! Jobs of `tender_top`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use golden::accelerators::job::{Accelerator, Executed, Fields};
use golden::accelerators::memory::Memory;
use golden::accelerators::tender::{Operation, Shape, TenderTop};
use golden::common::shell::job_controller::Limits;
use host::tender::{Caps, MatMulJob, Pack, PackJob, Product, Sign, check};
use host::vector::{self, Integer, Operand, VectorJob};
use host::{Descriptor, Refusal};
use proptest::prelude::*;
use proptest::sample::select;

use super::cases::{Raw, address, code, every, golden, operand, place};
use super::support::{CAPS as VECTOR_CAPS, SHAPE as VECTOR_SHAPE, WINDOW};

const CAPS: Caps = Caps {
    rows: 4,
    columns: 8,
    int8: true,
    explicit: true,
    depth: 40,
    steps: 64,
    vector: vector::Caps { opcode: 3, ..VECTOR_CAPS },
};
/// Without bytes.
const NARROW: Caps = Caps { int8: false, explicit: false, ..CAPS };

/// The golden model's checks, and no work: tables and data in memory have no say here.
struct Checks(TenderTop);

impl Checks {
    fn new(int8: bool, explicit: bool) -> Self {
        let shape = Shape {
            rows: CAPS.rows,
            columns: CAPS.columns,
            int8,
            accumulator_width: 32,
            depth: CAPS.depth,
            steps: CAPS.steps,
            explicit,
            weight_readers: 1,
            pack_columns: 1,
            vector: VECTOR_SHAPE,
        };
        Self(TenderTop::new(shape).unwrap())
    }
}

impl Accelerator for Checks {
    type Operation = Operation;
    type Checked = Operation;

    fn address_width(&self) -> u32 {
        self.0.address_width()
    }

    fn opcodes(&self) -> u8 {
        self.0.opcodes()
    }

    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        self.0.check(opcode, fields, limits)
    }

    fn execute(&self, operation: Operation, _memory: &mut dyn Memory) -> Executed<Operation> {
        Executed { operation, codes: Vec::new(), defined: true, certain: true, overflows: 0, sum_overflows: 0 }
    }
}

static WIDE_CHECKS: LazyLock<Checks> = LazyLock::new(|| Checks::new(true, true));
static NARROW_CHECKS: LazyLock<Checks> = LazyLock::new(|| Checks::new(false, false));

/// What the device is, for the host and for the golden model.
fn device(narrow: bool) -> (&'static Caps, &'static Checks) {
    if narrow { (&NARROW, &NARROW_CHECKS) } else { (&CAPS, &WIDE_CHECKS) }
}

#[derive(Debug, Clone)]
enum Job {
    MatMul {
        product: Product,
        out: Operand,
        integers: Option<Sign>,
        relu: bool,
        per_row: bool,
        explicit: bool,
        exact: bool,
    },
    Pack {
        rows: u32,
        columns: u32,
        to: (Integer, Sign),
        x: Operand,
        constants: u64,
        out: Operand,
        relu: bool,
        exact: bool,
    },
}

fn sign() -> impl Strategy<Value = Sign> {
    select(vec![Sign::Signed, Sign::Unsigned])
}

fn integer() -> impl Strategy<Value = Integer> {
    select(vec![Integer::Int4, Integer::Int8])
}

fn lines() -> impl Strategy<Value = u32> {
    prop_oneof![20 => 1..40u32, 1 => 1..2000u32, 1 => select(vec![0, 65_535, 65_536, u32::MAX])]
}

fn job() -> impl Strategy<Value = Job> {
    let channels = prop_oneof![20 => 1..41u32, 1 => select(vec![0, 41, u32::MAX])];
    let steps = prop_oneof![20 => 1..65u32, 1 => select(vec![0, 65, u32::MAX])];
    let product = (
        (lines(), lines(), channels, integer()),
        ((operand(), sign()), (operand(), sign()), (address(), steps), address()),
    );
    let product = product.prop_map(|((rows, columns, channels, integer), (a, b, table, constants))| Product {
        rows,
        columns,
        channels,
        integer,
        a,
        b,
        table,
        constants,
    });
    let flags = (prop::option::of(sign()), any::<bool>(), any::<bool>(), prop::bool::weighted(0.1), any::<bool>());
    let matmul = (product, operand(), flags).prop_map(|(product, out, (integers, relu, per_row, explicit, exact))| {
        Job::MatMul { product, out, integers, relu, per_row, explicit, exact }
    });
    let pack = ((lines(), lines(), (integer(), sign())), operand(), address(), operand(), any::<bool>(), any::<bool>());
    let pack = pack.prop_map(|((rows, columns, to), x, constants, out, relu, exact)| Job::Pack {
        rows,
        columns,
        to,
        x,
        constants,
        out,
        relu,
        exact,
    });
    prop_oneof![2 => matmul, 1 => pack]
}

/// The descriptor as the contract's table says.
fn raw(job: &Job) -> Raw {
    let eight = |integer: Integer| u32::from(integer == Integer::Int8);
    let unsigned = |sign: Sign| u32::from(sign == Sign::Unsigned);
    match *job {
        Job::MatMul { product, out, integers, relu, per_row, explicit, exact } => {
            let mut raw = Raw::of(1);
            let Product { rows, columns, channels, integer, a, b, table, constants } = product;
            let results = integers.map_or(0, |sign| 1 << 4 | unsigned(sign) << 5);
            let others =
                u32::from(relu) << 6 | u32::from(per_row) << 7 | u32::from(explicit) << 8 | u32::from(exact) << 12;
            let flags = eight(integer) | unsigned(a.1) << 1 | unsigned(b.1) << 2 | results | others;
            for (at, word) in [(32, rows), (36, columns), (40, channels), (44, table.1), (48, flags)] {
                raw.put(at, &word.to_le_bytes());
            }
            raw.operand(64, 56, a.0);
            raw.operand(72, 60, b.0);
            raw.put(80, &table.0.to_le_bytes());
            raw.put(88, &constants.to_le_bytes());
            raw.operand(104, 96, out);
            raw
        }
        Job::Pack { rows, columns, to, x, constants, out, relu, exact } => {
            let mut raw = Raw::of(2);
            let flags = eight(to.0) | unsigned(to.1) << 5 | u32::from(relu) << 6 | u32::from(exact) << 12;
            for (at, word) in [(32, rows), (36, columns), (48, flags)] {
                raw.put(at, &word.to_le_bytes());
            }
            raw.operand(64, 56, x);
            raw.put(88, &constants.to_le_bytes());
            raw.operand(104, 96, out);
            raw
        }
    }
}

fn built(job: &Job, caps: &Caps) -> Result<Descriptor, Refusal> {
    match *job {
        Job::MatMul { product, out, integers, relu, per_row, explicit, exact } => {
            let mut job = MatMulJob::new(product, out);
            job = if let Some(sign) = integers { job.quantize(sign) } else { job };
            job = if relu { job.relu() } else { job };
            job = if per_row { job.constants_per_row() } else { job };
            job = if explicit { job.explicit() } else { job };
            job = if exact { job.exact() } else { job };
            job.build(caps, &WINDOW)
        }
        Job::Pack { rows, columns, to: (integer, sign), x, constants, out, relu, exact } => {
            let mut job = PackJob::new(Pack { rows, columns, integer, sign, x, constants, out });
            job = if relu { job.relu() } else { job };
            job = if exact { job.exact() } else { job };
            job.build(caps, &WINDOW)
        }
    }
}

#[test]
fn builder_and_hardware() {
    // The types exclude RESERVED (5).
    every((job(), prop::bool::weighted(0.2)), &[0, 5, 8, 9, 10, 15], |(job, narrow)| {
        let (caps, checks) = device(narrow);
        let (built, raw) = (built(&job, caps), raw(&job));
        let expected = golden(checks, 0x1000, &raw.0);
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
    let bytes = prop::collection::vec(
        (prop_oneof![0..128usize, select(vec![0, 4, 5, 5, 6, 48])], select(vec![0, 1, 2, 3, 4, 0xff])),
        0..3,
    );
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
    let codes = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 15];
    every((prop_oneof![20 => mutated(), 1 => random], places, any::<bool>()), &codes, |(raw, at, narrow)| {
        let (caps, checks) = device(narrow);
        let descriptor = Descriptor::from_bytes(raw.0.clone().try_into().unwrap());
        let verdict = Descriptor::check_place(at, &WINDOW)
            .and_then(|()| descriptor.check_header(&WINDOW, 3))
            .and_then(|()| check(&descriptor, caps, &WINDOW));
        let expected = golden(checks, at, &raw.0);
        prop_assert_eq!(code(&verdict), expected, "{:?}", verdict);
        Ok(expected)
    });
}

fn at(address: u64) -> Operand {
    Operand { address, stride: 64 }
}

/// All of a product that is right.
fn product() -> Product {
    let (a, b) = ((at(0x2000), Sign::Signed), (at(0x3000), Sign::Signed));
    let (table, constants) = ((0x4000, 9), 0x5000);
    Product { rows: 5, columns: 9, channels: 7, integer: Integer::Int4, a, b, table, constants }
}

/// Every bit of good descriptors, alone: all borders between what must be 0 and what need not.
#[test]
fn every_bit() {
    let (x, constants, out) = (at(0x2000), 0x5000, at(0x6000));
    let pack = Pack { rows: 5, columns: 9, integer: Integer::Int4, sign: Sign::Signed, x, constants, out };
    let pack = PackJob::new(pack);
    let vector = VectorJob::new(3, 5, at(0x2000), at(0x6000)).build(&CAPS.vector, &WINDOW).unwrap();
    for (good, reserved) in [
        (MatMulJob::new(product(), at(0x6000)).build(&CAPS, &WINDOW).unwrap(), 23 + 32 + 32 + 128),
        (pack.build(&CAPS, &WINDOW).unwrap(), 28 + 64 + 32 + 32 + 64 + 64 + 32 + 128),
        // Steps but for thirteen; gain, kinds and causal without a norm; epsilon, the end.
        (vector, 32 - 13 + 4 + 24 + 128),
    ] {
        let mut codes = BTreeMap::new();
        for bit in (0..8 * Descriptor::BYTES).filter(|bit| !(8 * 8..8 * 16).contains(bit)) {
            let mut bytes = *good.bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // The opcode makes it another operation.
            let opcode = (8 * 5..8 * 6).contains(&bit);
            let descriptor = Descriptor::from_bytes(bytes);
            let verdict = descriptor.check_header(&WINDOW, 3).and_then(|()| check(&descriptor, &CAPS, &WINDOW));
            assert_eq!(code(&verdict), golden(&*WIDE_CHECKS, 0x1000, &bytes), "bit {bit}: {verdict:?}");
            *codes.entry(code(&verdict)).or_insert(0) += usize::from(!opcode);
        }
        // 12 flags and the reserved word are the header's.
        assert_eq!(codes[&5], 9 + 32 + reserved, "{codes:?}");
    }
}

#[test]
fn refusals_name_field_value_and_what_is_right() {
    let said = |product, caps: &Caps| MatMulJob::new(product, at(0x6000)).build(caps, &WINDOW).unwrap_err().to_string();
    let end = "; the hardware would end the job with";
    let bytes = Product { integer: Integer::Int8, ..product() };
    let message = "int8 is 0x1, must be 0: the device multiplies 4 bits only";
    assert_eq!(said(bytes, &NARROW), format!("{message}{end} FIELD (15)"));
    let explicit = MatMulJob::new(product(), at(0x6000)).explicit().build(&NARROW, &WINDOW).unwrap_err().to_string();
    assert_eq!(explicit, format!("explicit is 0x1, must be 0, or with explicit is built{end} RESERVED (5)"));
    let deep = Product { channels: 41, ..product() };
    assert_eq!(said(deep, &CAPS), format!("channels is 41, must be 1 to 40{end} SIZE (9)"));
    let table = Product { table: (0x4002, 9), ..product() };
    assert_eq!(said(table, &CAPS), format!("table_address is 0x4002, must be a multiple of 0x40{end} ALIGNMENT (8)"));
    let far = Product { constants: 0xffc0, ..product() };
    let message = "constants_address is 0xffc0, its last byte at 0x1004f, must be such that all of it is in the window";
    assert_eq!(said(far, &CAPS), format!("{message}, 0x1000 to 0xffff{end} WINDOW (10)"));
    let vector = VectorJob::new(1, 33, at(0x2000), at(0x3000)).build(&CAPS.vector, &WINDOW).unwrap_err();
    assert_eq!(vector.to_string(), format!("columns is 33, must be 1 to 32{end} SIZE (9)"));
}
