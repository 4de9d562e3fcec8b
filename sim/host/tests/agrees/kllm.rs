//! Jobs of `kllm_top`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use golden::accelerators::job::{Accelerator, Executed, Fields};
use golden::accelerators::kllm::{Beats, Device as Model, KllmTop, Shape, Work};
use golden::accelerators::memory::{Memory, SparseMemory};
use golden::accelerators::vector::STEP_BITS;
use golden::common::shell::job_controller::Limits;
use golden::kllm::codebook::Codebook as GoldenCodebook;
use golden::kllm::pe_lane::FixedCodebook;
use half::f16;
use host::kllm::{Bits, Caps, Codebook, MatMulJob, Product, Quantize, QuantizeJob, Token, Tokens, check, registers};
use host::vector::{self, Operand, VectorJob};
use host::{Descriptor, Refusal};
use proptest::prelude::*;
use proptest::sample::select;

use super::cases::{Raw, address, code, every, golden, operand, place};
use super::support::{CAPS as VECTOR_CAPS, SHAPE as VECTOR_SHAPE, WINDOW};

const CAPS: Caps = Caps {
    lanes: 6,
    columns: 5,
    groups: 2,
    inputs: 6,
    centroid_bits: 12,
    buffer: 4,
    inner: 240,
    segment: 16,
    outliers: 7,
    vector: vector::Caps { opcode: 3, ..VECTOR_CAPS },
};

/// The golden model's checks, and no work: tokens and codebooks in memory have no say here.
pub struct Checks(pub KllmTop);

static CHECKS: LazyLock<Checks> = LazyLock::new(|| {
    let shape = Shape {
        lanes: CAPS.lanes,
        columns: CAPS.columns,
        groups: CAPS.groups,
        inputs: CAPS.inputs,
        centroid_bits: CAPS.centroid_bits,
        buffer: CAPS.buffer,
        depth: CAPS.inner / CAPS.inputs,
        orizuru: CAPS.segment,
        kmax: CAPS.outliers,
        vector: VECTOR_SHAPE,
    };
    Checks(KllmTop::new(shape).unwrap())
});

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
        Ok(Work { operation: self.0.check(opcode, fields, limits)?, beats: Beats::default() })
    }

    fn execute(&self, operation: Work, _memory: &mut dyn Memory) -> Executed<Work> {
        Executed { operation, codes: Vec::new(), defined: true, certain: true, overflows: 0, sum_overflows: 0 }
    }
}

#[derive(Debug, Clone)]
enum Job {
    MatMul { product: Product, out: Operand, addends: Option<Operand>, exact: bool, integers: bool },
    Quantize { rows: Quantize, exact: bool },
}

fn lines() -> impl Strategy<Value = u32> {
    prop_oneof![20 => 1..40u32, 1 => 1..2000u32, 1 => select(vec![0, 65_535, 65_536, u32::MAX])]
}

fn inner() -> impl Strategy<Value = u32> {
    prop_oneof![20 => 1..241u32, 1 => select(vec![0, 241, u32::MAX])]
}

/// Tokens lie further apart than other rows.
fn tokens() -> impl Strategy<Value = Operand> {
    let stride = prop_oneof![20 => select(vec![0, 192, 256]), 1 => select(vec![32, 0xffff_ffc0]), 1 => any::<u32>()];
    (address(), stride).prop_map(|(address, stride)| Operand { address, stride })
}

fn job() -> impl Strategy<Value = Job> {
    let outliers = prop_oneof![20 => 0..15u32, 1 => select(vec![15, 16, u32::MAX])];
    let places = (tokens(), operand(), address(), address());
    let product = (lines(), lines(), inner(), outliers, places);
    let product = product.prop_map(|(rows, channels, inner, outliers, (token_rows, panels, constants, codebook))| {
        Product { tokens: rows, channels, inner, outliers, token_rows, panels, constants, codebook }
    });
    // With outliers, integers are refused.
    let integers = prop_oneof![5 => Just((false, false)), 1 => Just((true, false)), 3 => Just((true, true))];
    let matmul = (product, operand(), prop::option::of(operand()), any::<bool>(), integers);
    let matmul = matmul.prop_map(|(product, out, addends, exact, (integers, none))| {
        let product = Product { outliers: if none { 0 } else { product.outliers }, ..product };
        Job::MatMul { product, out, addends, exact, integers }
    });
    let k = || prop_oneof![20 => 0..8u16, 1 => select(vec![8, 241, u16::MAX])];
    let bits = select(vec![Bits::Three, Bits::Four]);
    let quantize = ((lines(), inner()), bits, (k(), k()), operand(), address(), tokens(), any::<bool>());
    let quantize = quantize.prop_map(|((rows, columns), bits, (largest, smallest), x, codebook, out, exact)| {
        Job::Quantize { rows: Quantize { rows, columns, bits, largest, smallest, x, codebook, out }, exact }
    });
    prop_oneof![2 => matmul, 1 => quantize]
}

/// The descriptor as the contract's table says.
fn raw(job: &Job) -> Raw {
    match *job {
        Job::MatMul { product, out, addends, exact, integers } => {
            let mut raw = Raw::of(if integers { 2 } else { 1 });
            let Product { tokens, channels, inner, outliers, token_rows, panels, constants, codebook } = product;
            let (flags, add) = (u32::from(exact) << 12, u32::from(addends.is_some()));
            let words = [(32, tokens), (36, channels), (40, inner), (44, flags), (48, add), (116, outliers)];
            words.into_iter().for_each(|(at, word)| raw.put(at, &word.to_le_bytes()));
            raw.operand(64, 52, token_rows);
            raw.operand(72, 56, panels);
            raw.put(80, &constants.to_le_bytes());
            raw.put(88, &codebook.to_le_bytes());
            raw.operand(96, 60, out);
            addends.into_iter().for_each(|addends| raw.operand(104, 112, addends));
            raw
        }
        Job::Quantize { rows, exact } => {
            let Quantize { rows, columns, bits, largest, smallest, x, codebook, out } = rows;
            let mut raw = Raw::of(4);
            let flags = u32::from(bits == Bits::Three) | u32::from(exact) << 12;
            let k = u32::from(largest) | u32::from(smallest) << 16;
            let words = [(32, rows), (36, columns), (40, flags), (44, k)];
            words.into_iter().for_each(|(at, word)| raw.put(at, &word.to_le_bytes()));
            raw.operand(64, 48, x);
            raw.put(72, &codebook.to_le_bytes());
            raw.operand(80, 52, out);
            raw
        }
    }
}

fn built(job: &Job) -> Result<Descriptor, Refusal> {
    match *job {
        Job::MatMul { product, out, addends, exact, integers } => {
            let job = MatMulJob::new(product, out);
            let job = if integers { job.of_integers() } else { job };
            let job = if let Some(addends) = addends { job.add_rows(addends) } else { job };
            if exact { job.exact() } else { job }.build(&CAPS, &WINDOW)
        }
        Job::Quantize { rows, exact } => {
            let job = QuantizeJob::new(rows);
            if exact { job.exact() } else { job }.build(&CAPS, &WINDOW)
        }
    }
}

#[test]
fn builder_and_hardware() {
    // The types exclude FIELD (15).
    every(job(), &[0, 5, 8, 9, 10], |job| {
        let (built, raw) = (built(&job), raw(&job));
        let expected = golden(&*CHECKS, 0x1000, &raw.0);
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
    let places = prop_oneof![0..128usize, select(vec![0, 4, 5, 5, 6, 40, 44, 46, 48])];
    let bytes = prop::collection::vec((places, select(vec![0, 1, 2, 3, 4, 5, 0xff])), 0..3);
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
    // Steps on rows, all kinds of them, also steps that do not exist.
    let steps = any::<u32>().prop_map(|steps| {
        let mut raw = Raw::of(3);
        [(32, 3), (36, 5), (40, steps & STEP_BITS)].into_iter().for_each(|(at, word)| raw.put(at, &word.to_le_bytes()));
        raw
    });
    let codes = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 15];
    every((prop_oneof![20 => mutated(), 1 => random, 1 => steps], places), &codes, |(raw, at)| {
        let descriptor = Descriptor::from_bytes(raw.0.clone().try_into().unwrap());
        let verdict = Descriptor::check_place(at, &WINDOW)
            .and_then(|()| descriptor.check_header(&WINDOW, 5))
            .and_then(|()| check(&descriptor, &CAPS, &WINDOW));
        let expected = golden(&*CHECKS, at, &raw.0);
        prop_assert_eq!(code(&verdict), expected, "{:?}", verdict);
        Ok(expected)
    });
}

fn at(address: u64) -> Operand {
    Operand { address, stride: 256 }
}

/// All of a product that is right.
fn product() -> Product {
    let (token_rows, panels) = (at(0x2000), at(0x3000));
    let (constants, codebook) = (0x4000, 0x5000);
    Product { tokens: 5, channels: 17, inner: 7, outliers: 3, token_rows, panels, constants, codebook }
}

fn quantize((largest, smallest): (u16, u16), columns: u32) -> QuantizeJob {
    let (x, codebook, out) = (at(0x2000), 0x5000, at(0x6000));
    QuantizeJob::new(Quantize { rows: 3, columns, bits: Bits::Four, largest, smallest, x, codebook, out })
}

/// Every bit of good descriptors, alone: all borders between what must be 0 and what need not.
#[test]
fn every_bit() {
    let vector = VectorJob::new(3, 5, at(0x2000), at(0x6000)).build(&CAPS.vector, &WINDOW).unwrap();
    let product = MatMulJob::new(product(), at(0x6000)).add_rows(at(0x7000)).build(&CAPS, &WINDOW).unwrap();
    for (good, reserved) in [
        // Options but for one bit, what is added but for one, the end.
        (product, 31 + 31 + 64),
        (quantize((1, 2), 9).build(&CAPS, &WINDOW).unwrap(), 30 + 64 + 320),
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
            let verdict = descriptor.check_header(&WINDOW, 5).and_then(|()| check(&descriptor, &CAPS, &WINDOW));
            assert_eq!(code(&verdict), golden(&*CHECKS, 0x1000, &bytes), "bit {bit}: {verdict:?}");
            *codes.entry(code(&verdict)).or_insert(0) += usize::from(!opcode);
        }
        // 12 flags and the reserved word are the header's.
        assert_eq!(codes[&5], 9 + 32 + reserved, "{codes:?}");
    }
}

#[test]
fn refusals_name_field_value_and_what_is_right() {
    let said = |product| MatMulJob::new(product, at(0x6000)).build(&CAPS, &WINDOW).unwrap_err().to_string();
    let end = "; the hardware would end the job with";
    assert_eq!(said(Product { inner: 241, ..product() }), format!("inner is 241, must be 1 to 240{end} SIZE (9)"));
    let many = Product { outliers: 15, ..product() };
    assert_eq!(said(many), format!("outliers is 15, must be 0 to 14{end} SIZE (9)"));
    let codebook = Product { codebook: 0x5020, ..product() };
    let message = "codebook_address is 0x5020, must be a multiple of 0x40";
    assert_eq!(said(codebook), format!("{message}{end} ALIGNMENT (8)"));
    // 17 channels of 8 bytes.
    let far = Product { constants: 0xff80, ..product() };
    let message = "constants_address is 0xff80, its last byte at 0x10007, must be such that all of it is in the window";
    assert_eq!(said(far), format!("{message}, 0x1000 to 0xffff{end} WINDOW (10)"));
    let said = |outliers, columns| quantize(outliers, columns).build(&CAPS, &WINDOW).unwrap_err().to_string();
    assert_eq!(said((8, 0), 9), format!("largest is 8, must be 0 to 7{end} SIZE (9)"));
    assert_eq!(said((7, 3), 9), format!("smallest is 3, must be 0 to 2{end} SIZE (9)"));
    assert_eq!(said((3, 0), 2), format!("largest is 3, must be 0 to 2{end} SIZE (9)"));
    let scores = MatMulJob::new(product(), Operand { address: 0x1000, stride: 0 }).of_integers();
    let message = scores.build(&CAPS, &WINDOW).unwrap_err().to_string();
    assert_eq!(message, format!("outliers is 0x3, must be 0, or with opcode = 1{end} RESERVED (5)"));
    let without = Caps { segment: 0, ..CAPS };
    let said = |opcode| check(&Descriptor::new(opcode), &without, &WINDOW).unwrap_err().to_string();
    let message = "opcode is 0x4, must be 0x1, 0x2 or 0x3: the device has nothing that makes tokens";
    assert_eq!(said(4), format!("{message}{end} FIELD (15)"));
    let message = "opcode is 0x5, must be 0x1 to 0x4: the device has nothing that puts tokens into panels";
    assert_eq!(said(5), format!("{message}{end} FIELD (15)"));
}

/// The constants of the registers' module find the values of the model's registers.
#[test]
fn registers_of_the_model() {
    let mut model = Model::new(CHECKS.0.clone(), 3, 16, SparseMemory::new());
    let mut field = |word, mask: u32| (model.read(word).unwrap() & mask) >> mask.trailing_zeros();
    for (word, mask, value) in [
        (registers::CAPS, registers::CAPS_PE_LANES, CAPS.lanes),
        (registers::CAPS, registers::CAPS_COLUMNS, CAPS.columns),
        (registers::CAPS, registers::CAPS_INPUTS, CAPS.inputs),
        (registers::CENTROID, registers::CENTROID_BITS, CAPS.centroid_bits),
        (registers::CENTROID, registers::CENTROID_GROUPS, CAPS.groups),
        (registers::CENTROID, registers::CENTROID_BUFFER, CAPS.buffer),
        (registers::KMAX, u32::MAX, CAPS.inner),
        (registers::ORIZURU, registers::ORIZURU_VALUES, CAPS.segment),
        (registers::ORIZURU, registers::ORIZURU_OUTLIERS, CAPS.outliers),
        (registers::VECTOR_CAPS, registers::VECTOR_CAPS_LANES, CAPS.vector.lanes),
        (registers::VECTOR_CAPS, registers::VECTOR_CAPS_MAX_BEATS, CAPS.vector.max_beats),
        (registers::FUNCTION, registers::FUNCTION_FUNCTION, CAPS.vector.function),
    ] {
        assert_eq!(field(word, mask), value, "{word:#x} {mask:#x}");
    }
    for count in [registers::OVERFLOWS, registers::COMPUTE, registers::REPEATS] {
        assert_eq!((field(count, u32::MAX), field(count + 4, u32::MAX)), (0, 0));
    }
}

fn ascending() -> impl Strategy<Value = Vec<f16>> {
    let value = prop_oneof![3 => (-1.0..1.0f32).prop_map(f16::from_f32), 1 => any::<u16>().prop_map(f16::from_bits)];
    let finite = value.prop_filter("finite", |value: &f16| value.is_finite());
    (prop::collection::vec(finite, 16), any::<bool>()).prop_map(|(mut values, three)| {
        values.sort_by(f16::total_cmp);
        values.truncate(if three { 8 } else { 16 });
        values
    })
}

proptest! {
    #![proptest_config(seeds::proptest(500))]

    /// Integers and their powers equal the golden library's. Midpoints separate numbers as its thresholds do.
    #[test]
    fn codebooks(activations in ascending(), weights in ascending(), bits in 2..17u32, scale in any::<u16>()) {
        let weights: Vec<f16> = weights.iter().cycle().take(16).copied().collect();
        let codebook = Codebook::new(&activations, &weights, bits).unwrap();
        let bytes = codebook.bytes();
        let fixed = |values: &[f16]| {
            let bits_of_index = values.len().ilog2();
            let values = values.iter().map(|value| u64::from(value.to_bits())).collect();
            let golden = GoldenCodebook::new(bits_of_index, values).unwrap();
            (FixedCodebook::new(&golden, bits).unwrap(), golden)
        };
        let ((a, golden), (w, _)) = (fixed(&activations), fixed(&weights));
        for (at, fixed) in [(64, &a), (96, &w)] {
            let integer = |k: usize| i64::from(i16::from_le_bytes([bytes[at + 2 * k], bytes[at + 2 * k + 1]]));
            let found: Vec<i64> = (0..fixed.values.len()).map(integer).collect();
            prop_assert_eq!(&found, &fixed.values);
        }
        let constants = codebook.constants(&[f16::ONE]).unwrap();
        let single = |at: usize| f32::from_le_bytes(constants[at..at + 4].try_into().unwrap());
        prop_assert_eq!((single(0), single(4)), (2f32.powi(-a.shift - w.shift), 2f32.powi(-w.shift - 24)));
        let scale = scale & 0x7bff;
        let midpoints: Vec<u32> =
            (0..activations.len() - 1).map(|k| u32::from_le_bytes(bytes[4 * k..4 * k + 4].try_into().unwrap())).collect();
        let exact = activations.windows(2).zip(&midpoints).all(|(pair, &midpoint)| {
            f64::midpoint(pair[0].to_f64(), pair[1].to_f64()) == f64::from(f32::from_bits(midpoint))
        });
        if exact {
            let value = |bits: u64| f16::from_bits(bits as u16).to_f64();
            let found = golden::accelerators::kllm::thresholds(&midpoints, scale);
            let expected = golden.thresholds(scale.into()).unwrap();
            prop_assert!(found.iter().zip(&expected).all(|(a, b)| value(*a) == value(*b)), "{:x?} {:x?}", found, expected);
        }
    }

    /// What the model's quantizer writes, the host reads; and packs to the same bytes.
    #[test]
    fn tokens_of_the_model(
        values in prop::collection::vec(-8.0..8.0f32, 1..240),
        k in (0..8u16, 0..8u16),
        three in any::<bool>(),
    ) {
        let n = values.len();
        let k = (k.0.min(n as u16), k.1.min(n as u16 - k.0.min(n as u16)));
        let bits = if three { Bits::Three } else { Bits::Four };
        let places = if three { 8 } else { 16 };
        let centroids: Vec<f16> =
            (0..places).map(|c| f16::from_f32((2 * c + 1 - places) as f32 / places as f32)).collect();
        let codebook = Codebook::new(&centroids, &[f16::ONE; 16], CAPS.centroid_bits).unwrap();
        let mut memory = SparseMemory::new();
        let numbers: Vec<f16> = values.iter().map(|&value| f16::from_f32(value)).collect();
        let x: Vec<u8> = numbers.iter().flat_map(|value| value.to_le_bytes()).collect();
        memory.store(0x2000, &x);
        memory.store(0x5000, &codebook.bytes());
        let out = Operand { address: 0x6000, stride: 0 };
        let x = Operand { address: 0x2000, stride: 0 };
        let (largest, smallest) = k;
        let (columns, codebook) = (n as u32, 0x5000);
        let job = QuantizeJob::new(Quantize { rows: 1, columns, bits, largest, smallest, x, codebook, out });
        memory.store(0x1000, job.build(&CAPS, &WINDOW).unwrap().bytes());
        let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 1 };
        prop_assert_eq!(CHECKS.0.run(limits, 0x1000, &mut memory).end.code, 0);
        let tokens = Tokens::new(1, n, usize::from(k.0 + k.1)).unwrap();
        let bytes = memory.bytes(0x6000, tokens.bytes());
        let all: Vec<Token> = tokens.unpack(&bytes).unwrap();
        prop_assert_eq!(tokens.pack(&all).unwrap(), bytes);
        let token = &all[0];
        prop_assert_eq!(token.bits, bits);
        // Outliers are themselves; the rest is as near as centroids are, a step apart.
        let step = 2.0 / places as f32 * token.scale.to_f32();
        for (position, value) in numbers.iter().enumerate() {
            match token.outliers.iter().find(|(at, _)| usize::from(*at) == position) {
                Some((_, outlier)) => prop_assert_eq!(outlier, value),
                None => {
                    let near = token.scale.to_f32() * centroids[usize::from(token.indices[position])].to_f32();
                    prop_assert!((near - value.to_f32()).abs() <= step / 2.0, "{} {}", near, value);
                }
            }
        }
    }
}
