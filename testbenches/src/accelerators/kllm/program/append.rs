//! A token that is put into panels.

use golden::accelerators::kllm::{HEAD_BYTES, Shape};
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::quantize::Made;
use super::target::Target;
use jobs::draft::Draft;
use jobs::draw::{half, often, size};
use jobs::program::Program;

/// A number beyond the last channel of a panel, or beyond the last position of a channel.
pub fn beyond(one: &mut Draft, rng: &mut StimulusRng, shape: &Shape) {
    let most = if one.is("position") { shape.depth * shape.inputs } else { shape.channels() as u32 };
    one.set("number", [most, u32::MAX][rng.random_range(0..2usize)]);
}

/// Whether the device can do it: see the contract.
pub fn is_built(shape: &Shape) -> bool {
    (shape.channels() * u64::from(shape.inputs)).is_multiple_of(128) && shape.vector.data_width() <= 512
}

/// A token of its own, or one that the chain has made.
pub fn append(
    rng: &mut StimulusRng,
    program: &mut Program,
    (operations, shape): Target<'_>,
    given: Option<Made>,
) -> Draft {
    let position = rng.random::<bool>();
    let (inner, in_panel) = (shape.depth * shape.inputs, shape.channels() as u32);
    let beat = in_panel * shape.inputs / 2;
    let number = rng.random_range(0..if position { inner } else { in_panel });
    let mut elements = given.map_or_else(|| size(rng, inner), |made| made.inner);
    // Rows of panels, and their bytes, up to what changes.
    let panels = |elements: u32| match position {
        true => (elements.div_ceil(in_panel), (number / shape.inputs + 1) * beat),
        false => (1, elements.div_ceil(shape.inputs) * beat),
    };
    let room = program.left() as u32 / 3;
    let fits = |elements: u32| panels(elements).0 * (panels(elements).1 + 64) + 2 * inner + 8 * in_panel + 1024 < room;
    while elements > 1 && !fits(elements) {
        elements = elements.div_ceil(2);
    }
    let token = if let Some(made) = given {
        made.place.0 + u64::from(rng.random_range(0..made.tokens) * made.place.1)
    } else {
        let bytes = token_of(rng, elements);
        let address = program.take(rng, bytes.len() as u64);
        program.put(address, &bytes);
        address
    };
    let (rows, row_bytes) = panels(elements);
    let stride = if position { row_bytes.next_multiple_of(64) + 64 * rng.random_range(0..2) } else { 0 };
    let at = program.take(rng, u64::from((rows - 1) * stride + row_bytes));
    let scale_bytes = if position { 2 * (number + 1) } else { 8 * (number + 1) };
    let scales = program.take(rng, u64::from(scale_bytes.next_multiple_of(64)));
    let mut addresses = [token, at, scales];
    // Seldom in the place of other data: the result is not defined, but the job ends.
    if often(rng, 24) {
        program.plain = false;
        addresses[rng.random_range(1..3usize)] = addresses[rng.random_range(0..2usize)];
    }
    let factor = |rng: &mut StimulusRng| match rng.random_range(0..8u8) {
        0 => rng.random(),
        _ => rng.random_range(-2.0..2.0f32).to_bits(),
    };
    let mut one = operations.drawn(rng, program, "append");
    one.set("number", number).set("elements", elements).set("position", position);
    if position {
        one.set("panel_stride", stride);
    } else {
        one.set("dense_factor", factor(rng)).set("outlier_factor", factor(rng));
    }
    for (field, address) in ["token_address", "panel_address", "scales_address"].into_iter().zip(addresses) {
        one.set(field, address);
    }
    one
}

/// A token; bytes without a meaning are anything. Seldom one whose head means nothing, or that has outliers.
fn token_of(rng: &mut StimulusRng, elements: u32) -> Vec<u8> {
    let bytes = HEAD_BYTES + u64::from(elements.div_ceil(2).next_multiple_of(64));
    let mut bytes: Vec<u8> = (0..bytes).map(|_| rng.random()).collect();
    let scale = if often(rng, 6) { rng.random() } else { half(rng) };
    bytes[0..2].copy_from_slice(&scale.to_le_bytes());
    bytes[2..4].copy_from_slice(&[0; 2]);
    bytes[4] = rng.random_range(3..=4);
    match rng.random_range(0..40u8) {
        0 => bytes[2..4].copy_from_slice(&(1u16 << rng.random_range(0..16u8)).to_le_bytes()),
        1 => bytes[4] = [0, 2, 5, 0x84][rng.random_range(0..4usize)],
        _ => {}
    }
    bytes
}
