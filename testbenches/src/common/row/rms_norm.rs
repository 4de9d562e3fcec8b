//! [`RmsNorm`]: rows of like and of wildly different sizes, outliers, zeros, infinities and NaNs.

use golden::common::row::rms_norm::{Factor, rms_norm, unrounded};
use golden::common::row::{NAN, is_special};
use hdl::blocks::common::RmsNorm;
use jobs::draw::numbers;
use rand::RngExt;
use sim::kit::tensors::FromTensors;
use sim::stimulus::StimulusRng;

use super::{Elements, Normalised, RowUnit, rows, sharp, wanted};

/// The bench of a norm; a vector is a row.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &RmsNorm) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// Rows of a user, with an epsilon of 10^-5.
pub const TENSORS: FromTensors<RmsNorm> = FromTensors {
    wanted: |p| {
        let further = [("gains", "gains")];
        Ok(wanted(p.lanes, p.max_beats, if p.gain { &further } else { &[] }))
    },
    bench: |p, tensors| {
        let further = if p.gain { &["gains"][..] } else { &[] };
        let given = rows(tensors, p.lanes as usize * p.max_beats as usize, further, &[EPSILON])?;
        let count = given.len() as u64;
        Ok((bench_of(p, given)?, count))
    },
};

/// 10^-5 as the port has it, in units of 2^-48.
pub(super) const EPSILON: u64 = 2_814_749_767;

/// The bench of the rows `given`; without any, of made ones.
fn bench_of(p: &RmsNorm, given: Vec<Elements>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let gain = p.gain;
    let mut ports = vec!["input_values_i"];
    ports.extend(gain.then_some("input_gains_i"));
    let unit = RowUnit {
        lanes: p.lanes as usize,
        max_beats: p.max_beats as usize,
        buffer: p.buffer as usize,
        latency: p.frame().latency().into(),
        ports,
        beside: vec![("epsilon_i", 40)],
        flags: vec!["output_undefined_o"],
        given,
        stimulus: Box::new(move |rng, elements| {
            let x = short_or(rng, elements, numbers);
            let (epsilon, gains) = match Factor::rms(&x).filter(|_| sharp::is_wanted(rng)) {
                Some(factor) => sharp_row(rng, &x, &factor),
                None => (epsilon(rng), gains(rng, elements)),
            };
            Elements { ports: [x, gains].into_iter().take(if gain { 2 } else { 1 }).collect(), beside: vec![epsilon] }
        }),
        golden: Box::new(move |row| {
            let x = &row.ports[0];
            let gains = gain.then(|| row.ports[1].as_slice());
            let result = rms_norm(x, gains, row.beside[0]);
            let flags = vec![result.is_none()];
            Normalised { values: result.unwrap_or_else(|| vec![NAN; x.len()]), flags }
        }),
    };
    unit.bench(p)
}

/// Numbers of a few significant bits in one row of eight, else what `other` gives. Products of such numbers are often
/// exact ties.
pub(super) fn short_or(
    rng: &mut StimulusRng,
    count: usize,
    other: impl Fn(&mut StimulusRng, usize) -> Vec<u16>,
) -> Vec<u16> {
    if rng.random_range(0..8u8) > 0 {
        return other(rng, count);
    }
    let (low, bits) = (rng.random_range(0..28u16), rng.random_range(0..=7));
    let one = |_| {
        let number = (rng.random_range(low..low + 3) << 10) | rng.random_range(0..1u16 << bits) << (10 - bits);
        number | rng.random_range(0..2u16) << 15
    };
    (0..count).map(one).collect()
}

/// An epsilon and gains that show the last digits of the factor of a row, or low bits of its products.
pub(super) fn sharp_row(rng: &mut StimulusRng, x: &[u16], factor: &Factor) -> (u64, Vec<u16>) {
    if rng.random()
        && let Some(exact) = sharp::exact(rng, factor, |epsilon| unrounded(x, epsilon))
    {
        return exact;
    }
    let epsilon = sharp::epsilon(rng, factor, |epsilon| unrounded(x, epsilon));
    let gains = match unrounded(x, epsilon) {
        Some(row) => sharp::gains(rng, &row),
        None => gains(rng, x.len()),
    };
    (epsilon, gains)
}

/// Zero, small, 10^-5, as large as can be.
pub(crate) fn epsilon(rng: &mut StimulusRng) -> u64 {
    match rng.random_range(0..6u8) {
        0 => 0,
        1 => rng.random_range(1..16),
        2 => (1 << 40) - 1,
        3 => rng.random_range(0..1 << 40),
        _ => EPSILON,
    }
}

/// Mostly about 1; sometimes anything.
pub(super) fn gains(rng: &mut StimulusRng, count: usize) -> Vec<u16> {
    let wild = rng.random_range(0..4u8) == 0;
    let one = |_| {
        let gain = if wild { rng.random() } else { rng.random_range(0x3000..0x4400) };
        if is_special(gain) && rng.random_range(0..8u8) > 0 { 0x3c00 } else { gain }
    };
    (0..count).map(one).collect()
}
