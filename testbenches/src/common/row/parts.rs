//! Parts of the row units: pipelines without a handshake, whose outputs follow from the inputs of some cycles ago.
//!
//! What a whole row shows once in a million of its results, such as a late digit of a root, its part shows with every
//! operand.

use golden::common::float::binary16;
use golden::common::row::rms_norm::{inverse_root, root as digits_of_root};
use golden::common::row::softmax::{self, reciprocal};
use golden::common::row::{NAN, Unrounded, is_nan, is_special, nearest, units};
use hdl::blocks::common::row::{
    CentreLane, InverseRoot, PowerLane, RoundHalf, RowAdder, RowProduct, RowReciprocal, ScaleLane, ShareLane,
    SquareLane, round_latency,
};
use num_bigint::{BigInt, BigUint};
use rand::RngExt;
use sim::Bits;
use sim::stimulus::StimulusRng;

use super::pipeline::Pipeline;
use super::{root_edge, sharp};

/// A number of any length: its leading bits are 0, the next ones are anything, all ones, or few ones, its last bits may
/// be 0.
fn number(rng: &mut StimulusRng, width: u32) -> Bits {
    let mut bits = match rng.random_range(0..4u8) {
        0 => Bits::ones(width),
        1 => (0..rng.random_range(0..4u8)).fold(Bits::zero(width), |mut bits, _| {
            bits.set_bit(rng.random_range(0..width), true);
            bits
        }),
        _ => Bits::random(width, rng),
    };
    let ends = |rng: &mut StimulusRng| if rng.random() { 0 } else { rng.random_range(0..=width) };
    let (low, high) = (ends(rng), width - ends(rng));
    (0..width).filter(|bit| *bit < low || *bit >= high).for_each(|bit| bits.set_bit(bit, false));
    bits
}

/// The same, but not 0.
fn some_number(rng: &mut StimulusRng, width: u32) -> Bits {
    let mut bits = number(rng, width);
    if bits.words().iter().all(|word| *word == 0) {
        bits.set_bit(rng.random_range(0..width), true);
    }
    bits
}

fn bit(rng: &mut StimulusRng, of: u32) -> Bits {
    Bits::truncated(1, rng.random_range(0..of).eq(&0).into())
}

/// fp16: short fractions, subnormal numbers, and anything.
fn half(rng: &mut StimulusRng) -> Bits {
    let any: u16 = rng.random();
    let kept = u16::MAX << rng.random_range(0..=10u8);
    Bits::truncated(16, (any & if rng.random() { kept } else { u16::MAX }).into())
}

/// The same without infinities and NaNs.
fn finite(rng: &mut StimulusRng) -> Bits {
    let bits = half(rng);
    if is_special(fp16(&bits)) { Bits::truncated(16, u64::from(fp16(&bits)) & 0xbfff) } else { bits }
}

fn fp16(bits: &Bits) -> u16 {
    bits.field(0, 16) as u16
}

/// Exponents near 0, where results are numbers, and all others.
fn exponent(rng: &mut StimulusRng, width: u32, middle: i64) -> Bits {
    let least = -(1i64 << (width - 1));
    let value = match rng.random_range(0..4u8) {
        0 => rng.random_range(least..-least),
        _ => (middle + rng.random_range(-40..=40i64)).clamp(least, -least - 1),
    };
    signed(width, value)
}

fn signed(width: u32, value: i64) -> Bits {
    Bits::truncated(width, value as u64)
}

fn wide(bits: &Bits) -> u128 {
    u128::from(bits.field(0, bits.width().min(64)))
        | if bits.width() > 64 { u128::from(bits.field(64, bits.width() - 64)) << 64 } else { 0 }
}

/// The low bits of an integer.
fn modulo(width: u32, value: BigInt) -> Bits {
    let modulus = BigInt::from(1) << width;
    let rest: BigUint = (((value % &modulus) + &modulus) % &modulus).magnitude().clone();
    Bits::from_biguint(width, &rest).expect("a rest is below its modulus")
}

/// The bench of [`RowAdder`]; a vector is a sum.
///
/// # Errors
/// Parameters that the block refuses.
pub fn adder(p: &RowAdder) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (width, subtract) = (p.width, p.subtract);
    Pipeline {
        inputs: vec!["a_i", "b_i"],
        outputs: vec![("sum_o", 0)],
        enable: None,
        late: None,
        draw: Box::new(move |rng| vec![number(rng, width), number(rng, width)]),
        golden: Box::new(move |operands| {
            let [a, b] = [0, 1].map(|k: usize| BigInt::from(operands[k].to_biguint()));
            vec![Some(modulo(width, if subtract { a - b } else { a + b }))]
        }),
    }
    .bench(p)
}

/// The bench of [`RowProduct`]; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn product(p: &RowProduct) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    let (has_a, has_b) = (p.constant == 0, !p.square);
    let ports = [(has_a, "a_i"), (has_b, "b_i")];
    let draws = block.clone();
    Pipeline {
        inputs: ports.into_iter().filter(|port| port.0).map(|port| port.1).collect(),
        outputs: vec![("product_o", p.latency())],
        enable: p.held.then_some("enable_i"),
        late: None,
        draw: Box::new(move |rng| {
            let widths = [(has_a, draws.a_width), (has_b, draws.b_width)];
            widths.into_iter().filter(|port| port.0).map(|port| number(rng, port.1)).collect()
        }),
        golden: Box::new(move |operands| {
            let first = operands[0].to_biguint();
            let other = match (has_a, has_b) {
                (false, _) => block.constant.into(),
                (true, false) => first.clone(),
                (true, true) => operands[1].to_biguint(),
            };
            vec![Some(modulo(block.a_width + block.b_width, (first * other).into()))]
        }),
    }
    .bench(p)
}

/// Numerator and denominator, the best of some, whose root has many equal digits in a row: there a digit was decided by
/// little, so late bits of the rest show.
fn sharp_root(rng: &mut StimulusRng, widths: [u32; 2]) -> Vec<Bits> {
    const TRIES: usize = 16;
    let draw = |rng: &mut StimulusRng| vec![some_number(rng, widths[0]), Bits::random(widths[1], rng)];
    let run = |operands: &Vec<Bits>| {
        let root = digits_of_root(operands[0].field(0, widths[0]), wide(&operands[1]), 28);
        let digits = root.map_or(0, |root| root.0);
        // A digit that differs from the one before ends a run.
        let ends = digits ^ (digits >> 1);
        (0..27).fold((0u32, 0u32), |(most, now), bit| {
            let now = if ends >> bit & 1 == 0 { now + 1 } else { 0 };
            (most.max(now), now)
        })
    };
    let drawn: Vec<Vec<Bits>> = (0..TRIES).map(|_| draw(rng)).collect();
    drawn.into_iter().max_by_key(|operands| run(operands).0).unwrap_or_default()
}

/// The bench of [`InverseRoot`]; a vector is a root. The golden model takes denominators of up to 128 bits.
///
/// # Errors
/// Parameters that the block refuses, wider denominators.
pub fn root(p: &InverseRoot) -> anyhow::Result<Box<dyn sim::Bench>> {
    anyhow::ensure!(p.denominator_width <= 128, "denominator_width is {}, at most 128", p.denominator_width);
    let (widths, places, latency) = ([p.numerator_width, p.denominator_width], i64::from(p.places), p.latency());
    Pipeline {
        inputs: vec!["numerator_i", "denominator_i"],
        outputs: ["digits_o", "exponent_o", "zero_o"].map(|port| (port, latency)).to_vec(),
        enable: None,
        late: None,
        draw: Box::new(move |rng| match rng.random_range(0..8u8) {
            0 | 1 => vec![some_number(rng, widths[0]), number(rng, widths[1])],
            2 | 3 => sharp_root(rng, widths),
            _ => root_edge::draw(rng, widths),
        }),
        golden: Box::new(move |operands| {
            let root = inverse_root(operands[0].field(0, operands[0].width()), wide(&operands[1]));
            let zero = Some(Bits::truncated(1, root.is_none().into()));
            let (digits, exponent) = root.unzip();
            let exponent = exponent.map(|exponent| signed(9, exponent + places));
            vec![digits.map(|digits| Bits::truncated(18, digits)), exponent, zero]
        }),
    }
    .bench(p)
}

/// The bench of [`RowReciprocal`]; a vector is a reciprocal. The golden model takes integers of up to 64 bits.
///
/// # Errors
/// Parameters that the block refuses, wider integers.
pub fn reciprocals(p: &RowReciprocal) -> anyhow::Result<Box<dyn sim::Bench>> {
    anyhow::ensure!(p.width <= 64, "width is {}, at most 64", p.width);
    let (width, latency) = (p.width, p.latency());
    Pipeline {
        inputs: vec!["a_i"],
        outputs: ["digits_o", "count_o", "zero_o"].map(|port| (port, latency)).to_vec(),
        enable: None,
        late: None,
        draw: Box::new(move |rng| vec![number(rng, width)]),
        golden: Box::new(move |operands| {
            let a = operands[0].field(0, width);
            let zero = Some(Bits::truncated(1, (a == 0).into()));
            if a == 0 {
                return vec![None, None, zero];
            }
            let count = u64::from(width - 1 - a.ilog2());
            vec![
                Some(Bits::truncated(19, reciprocal(a).0)),
                Some(Bits::truncated((width - 1).ilog2() + 1, count)),
                zero,
            ]
        }),
    }
    .bench(p)
}

/// The bench of [`PowerLane`]; a vector is a power.
///
/// # Errors
/// None: it has no parameters.
pub fn power(p: &PowerLane) -> anyhow::Result<Box<dyn sim::Bench>> {
    let golden = softmax::Softmax::new();
    let whole = PowerLane::whole_latency();
    Pipeline {
        inputs: vec!["counts_i", "x_i"],
        outputs: vec![
            ("whole_o", whole),
            ("nothing_o", whole),
            ("undefined_o", whole),
            ("mantissa_o", PowerLane::latency()),
        ],
        enable: None,
        late: None,
        draw: Box::new(|rng| vec![bit(rng, 2), half(rng)]),
        golden: Box::new(move |operands| {
            let (counts, x) = (operands[0].bit(0), fp16(&operands[1]));
            let flag = |value: bool| Some(Bits::truncated(1, value.into()));
            let nothing = !counts || is_special(x);
            let undefined = counts && is_special(x) && x != 0xfc00;
            let power = (!is_special(x)).then(|| golden.power(x));
            let whole = if nothing { Some(-(1 << 17)) } else { power.map(|power| power.0) };
            let mantissa = power.map(|power| Bits::truncated(16, power.1));
            vec![whole.map(|whole| signed(18, whole)), flag(nothing), flag(undefined), mantissa]
        }),
    }
    .bench(p)
}

/// The bench of [`RoundHalf`]; a vector is a number.
///
/// # Errors
/// Parameters that the block refuses.
pub fn round(p: &RoundHalf) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (width, exponents) = (p.width, p.exponent_width);
    Pipeline {
        inputs: vec!["sign_i", "magnitude_i", "exponent_i", "infinite_i", "nan_i"],
        outputs: vec![("y_o", round_latency(width))],
        enable: None,
        late: None,
        draw: Box::new(move |rng| {
            let magnitude = number(rng, width);
            // Its length and the exponent together make a number of fp16.
            let length = (0..width).rev().find(|bit| magnitude.bit(*bit)).unwrap_or(0);
            let exponent = exponent(rng, exponents, -i64::from(length));
            vec![bit(rng, 2), magnitude, exponent, bit(rng, 16), bit(rng, 16)]
        }),
        golden: Box::new(|operands| {
            let [negative, infinite, nan] = [0, 3, 4].map(|k: usize| operands[k].bit(0));
            let exponent = operands[2].to_i64().unwrap_or(0);
            let y = match (nan, infinite) {
                (true, _) => NAN,
                (false, true) => 0x7c00 | u16::from(negative) << 15,
                (false, false) => nearest(negative, wide(&operands[1]), exponent),
            };
            vec![Some(Bits::truncated(16, y.into()))]
        }),
    }
    .bench(p)
}

/// The bench of [`SquareLane`]; a vector is a number.
///
/// # Errors
/// None: it has no parameters.
pub fn squares(p: &SquareLane) -> anyhow::Result<Box<dyn sim::Bench>> {
    Pipeline {
        inputs: vec!["used_i", "x_i"],
        outputs: ["square_o", "special_o"].map(|port| (port, SquareLane::latency())).to_vec(),
        enable: None,
        late: None,
        draw: Box::new(|rng| vec![Bits::truncated(1, (rng.random_range(0..8u8) > 0).into()), half(rng)]),
        golden: Box::new(|operands| {
            let (used, x) = (operands[0].bit(0), fp16(&operands[1]));
            let units = if used && !is_special(x) { u128::from(units(x).1) } else { 0 };
            vec![
                Some(modulo(80, BigInt::from(units * units))),
                Some(Bits::truncated(1, (used && is_special(x)).into())),
            ]
        }),
    }
    .bench(p)
}

/// The bench of [`ScaleLane`]; a vector is a product.
///
/// # Errors
/// Parameters that the block refuses.
pub fn scale(p: &ScaleLane) -> anyhow::Result<Box<dyn sim::Bench>> {
    let gain = p.gain;
    let ports = ["x_i", "factor_i", "exponent_i", "nan_i", "gain_i"];
    Pipeline {
        inputs: ports[..if gain { 5 } else { 4 }].to_vec(),
        outputs: vec![("y_o", p.latency())],
        enable: None,
        late: None,
        draw: Box::new(move |rng| {
            let (x, factor) = (finite(rng), some_number(rng, 18));
            let exponent = exponent(rng, 9, -17);
            let mut operands = vec![x, factor, exponent, bit(rng, 16)];
            operands.extend(gain.then(|| half(rng)));
            operands
        }),
        golden: Box::new(move |operands| {
            let (negative, magnitude) = units(fp16(&operands[0]));
            let exponent = operands[2].to_i64().unwrap_or(0) - 24;
            let exact = Unrounded {
                negative,
                magnitude: u128::from(magnitude) * u128::from(operands[1].field(0, 18)),
                exponent,
            };
            let gain = operands.get(4).map(fp16);
            let y = match gain {
                _ if operands[3].bit(0) || gain.is_some_and(is_nan) => NAN,
                Some(gain) => exact.gained(gain),
                None => exact.rounded(),
            };
            vec![Some(Bits::truncated(16, y.into()))]
        }),
    }
    .bench(p)
}

/// The bench of [`ShareLane`]; a vector is a share.
///
/// # Errors
/// None: it has no parameters.
pub fn share(p: &ShareLane) -> anyhow::Result<Box<dyn sim::Bench>> {
    Pipeline {
        inputs: vec!["mantissa_i", "below_i", "digits_i", "exponent_i", "nan_i"],
        outputs: vec![("y_o", ShareLane::latency())],
        enable: None,
        late: Some("exponent_i"),
        draw: Box::new(|rng| {
            let mut mantissa = number(rng, 16);
            let mut digits = number(rng, 19);
            if rng.random() {
                // A product that is a tie, or a single bit away from one: it shows its low bits.
                mantissa = Bits::random(16, rng);
                let exact = sharp::exact_factor(rng, u128::from(mantissa.field(0, 16) | 1 << 16), 19);
                digits = exact.map_or(digits, |exact| Bits::truncated(19, exact));
            }
            // Most shares are numbers of fp16: products have 35 or 36 bits.
            let below = if rng.random() { number(rng, 6) } else { Bits::zero(6) };
            let exponent = exponent(rng, 9, -40);
            vec![mantissa, below, digits, exponent, bit(rng, 16)]
        }),
        golden: Box::new(|operands| {
            let magnitude = u128::from(operands[0].field(0, 16) | 1 << 16) * u128::from(operands[2].field(0, 19));
            let exponent = operands[3].to_i64().unwrap_or(0) - operands[1].field(0, 6) as i64;
            let y = if operands[4].bit(0) { NAN } else { nearest(false, magnitude, exponent) };
            vec![Some(Bits::truncated(16, y.into()))]
        }),
    }
    .bench(p)
}

/// The bench of [`CentreLane`]; a vector is an element.
///
/// # Errors
/// Parameters that the block refuses.
pub fn centre(p: &CentreLane) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (affine, count_width, sum_width) = (p.affine, p.count_width, p.sum_width());
    let ports = ["x_i", "count_i", "sum_i", "factor_i", "exponent_i", "nan_i", "gain_i", "bias_i"];
    // Leading bits of the difference, and the power of two that they are times.
    let difference = |operands: &[Bits]| {
        let (negative, x) = units(fp16(&operands[0]));
        let (x, count) = (i128::from(x), i128::from(operands[1].field(0, operands[1].width())));
        let all = if negative { -x } else { x } * count - i128::from(operands[2].to_i64().unwrap_or(0));
        let drop = (u128::BITS - all.unsigned_abs().leading_zeros()).saturating_sub(22);
        (all < 0, all.unsigned_abs() >> drop, i64::from(drop))
    };
    Pipeline {
        inputs: ports[..if affine { 8 } else { 6 }].to_vec(),
        outputs: vec![("y_o", p.latency())],
        enable: None,
        late: None,
        draw: Box::new(move |rng| {
            let (x, count) = (finite(rng), number(rng, count_width));
            let mut operands = vec![x, count, Bits::zero(sum_width)];
            if rng.random() {
                operands[2] = number(rng, sum_width);
            } else {
                // The sum is all but the element times their number.
                let (negative, most, places) = difference(&operands);
                let less = (number(rng, 40).field(0, 40) >> rng.random_range(0..40)) as i64;
                let most = (most << places) as i64;
                operands[2] = signed(sum_width, if negative { less - most } else { most - less });
            }
            let (_, centred, places) = difference(&operands);
            let mut factor = some_number(rng, 18);
            if let Some(exact) = sharp::exact_factor(rng, centred, 18).filter(|_| !affine && rng.random()) {
                factor = Bits::truncated(18, exact);
            }
            let scaled = centred * u128::from(factor.field(0, 18));
            let length = i64::from(u128::BITS - scaled.leading_zeros()) + places;
            operands.extend([factor, exponent(rng, 9, -length), bit(rng, 16)]);
            if affine {
                let exact = sharp::exact_factor(rng, scaled, 11).filter(|_| rng.random());
                let gain = exact.map(|exact| Bits::truncated(16, (exact & 0x3ff) | rng.random_range(1..31) << 10));
                // A sum with a larger bias is rounded again.
                let bias = if gain.is_some() || rng.random() { Bits::zero(16) } else { half(rng) };
                operands.extend([gain.unwrap_or_else(|| half(rng)), bias]);
            }
            operands
        }),
        golden: Box::new(move |operands| {
            let (negative, centred, places) = difference(operands);
            let magnitude = centred * u128::from(operands[3].field(0, 18));
            let exponent = operands[4].to_i64().unwrap_or(0) + places;
            let exact = Unrounded { negative, magnitude, exponent };
            let y = match operands.get(6).map(fp16) {
                _ if operands[5].bit(0) => NAN,
                Some(gain) => binary16::add(exact.gained(gain), fp16(&operands[7])),
                None => exact.rounded(),
            };
            vec![Some(Bits::truncated(16, y.into()))]
        }),
    }
    .bench(p)
}
