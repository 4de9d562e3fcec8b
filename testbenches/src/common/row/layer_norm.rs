//! [`LayerNorm`]: rows as for the other norm, and rows far from zero, where a mean cancels.

use golden::common::row::NAN;
use golden::common::row::layer_norm::{factor, layer_norm, unrounded};
use golden::common::row::rms_norm::Factor;
use hdl::blocks::common::LayerNorm;
use jobs::draw::numbers;
use rand::RngExt;
use sim::kit::tensors::FromTensors;
use sim::stimulus::StimulusRng;

use super::rms_norm::{EPSILON, epsilon, gains, short_or};
use super::{Elements, Normalised, RowUnit, rows, sharp, wanted};

/// The bench of a norm; a vector is a row.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &LayerNorm) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// Rows of a user, with an epsilon of 10^-5.
pub const TENSORS: FromTensors<LayerNorm> = FromTensors {
    wanted: |p| {
        let further = [("gains", "gains"), ("biases", "biases")];
        Ok(wanted(p.lanes, p.max_beats, if p.affine { &further } else { &[] }))
    },
    bench: |p, tensors| {
        let further = if p.affine { &["gains", "biases"][..] } else { &[] };
        let given = rows(tensors, p.lanes as usize * p.max_beats as usize, further, &[EPSILON])?;
        let count = given.len() as u64;
        Ok((bench_of(p, given)?, count))
    },
};

/// The bench of the rows `given`; without any, of made ones.
fn bench_of(p: &LayerNorm, given: Vec<Elements>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let affine = p.affine;
    let mut ports = vec!["input_values_i"];
    if affine {
        ports.extend(["input_gains_i", "input_biases_i"]);
    }
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
            let x = short_or(rng, elements, elements_of);
            let (epsilon, gains, biases) = match factor(&x).filter(|_| sharp::is_wanted(rng)) {
                Some(factor) => sharp_row(rng, &x, &factor),
                None => (epsilon(rng), gains(rng, elements), gains(rng, elements)),
            };
            let ports = [x, gains, biases].into_iter().take(if affine { 3 } else { 1 }).collect();
            Elements { ports, beside: vec![epsilon] }
        }),
        golden: Box::new(move |row| {
            let x = &row.ports[0];
            let affine = affine.then(|| (row.ports[1].as_slice(), row.ports[2].as_slice()));
            let result = layer_norm(x, affine, row.beside[0]);
            let flags = vec![result.is_none()];
            Normalised { values: result.unwrap_or_else(|| vec![NAN; x.len()]), flags }
        }),
    };
    unit.bench(p)
}

/// An epsilon, gains and biases that show the last digits of the factor of a row, or low bits of its products.
pub(super) fn sharp_row(rng: &mut StimulusRng, x: &[u16], factor: &Factor) -> (u64, Vec<u16>, Vec<u16>) {
    if rng.random()
        && let Some((epsilon, gains)) = sharp::exact(rng, factor, |epsilon| unrounded(x, epsilon))
    {
        return (epsilon, gains, vec![0; x.len()]);
    }
    let epsilon = sharp::epsilon(rng, factor, |epsilon| unrounded(x, epsilon));
    let gains = match unrounded(x, epsilon) {
        Some(row) => sharp::gains(rng, &row),
        None => gains(rng, x.len()),
    };
    // A sum with a larger bias rounds again.
    (epsilon, gains, vec![0; x.len()])
}

/// Any numbers, or a few neighbours far from zero.
fn elements_of(rng: &mut StimulusRng, count: usize) -> Vec<u16> {
    if rng.random_range(0..3u8) > 0 {
        return numbers(rng, count);
    }
    let base = rng.random_range(0..0x7bf0u16) | rng.random_range(0..2u16) << 15;
    (0..count).map(|_| base + rng.random_range(0..3)).collect()
}
