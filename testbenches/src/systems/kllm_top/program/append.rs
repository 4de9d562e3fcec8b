//! A token that is put into panels.

use golden::systems::kllm_top::{HEAD_BYTES, Shape};
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::{Made, Program, half, often, size};

/// A token that is put into panels, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Append {
    /// As of a product.
    pub header_flags: u16,
    /// The tag.
    pub tag: u32,
    /// Where it is written.
    pub tag_address: u64,
    /// Number of the channel or position, elements.
    pub sizes: [u32; 2],
    /// Bit 0: a position.
    pub options: u32,
    /// Bytes from panel to panel.
    pub stride: u32,
    /// Of the scale, fp32.
    pub factors: [u32; 2],
    /// Addresses of token, panels, constants or scales.
    pub addresses: [u64; 3],
    /// Words that must be 0: 44, 52, and all from 88 on.
    pub zeros: [u32; 12],
}

impl Append {
    /// Its bytes; there is no next one.
    #[must_use]
    pub fn bytes(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        let mut put = |at: usize, value: u64, count: usize| {
            bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
        };
        put(0, 0x5a42_4e53, 4);
        put(4, 1, 1);
        put(5, 5, 1);
        put(6, self.header_flags.into(), 2);
        put(16, self.tag.into(), 4);
        put(24, self.tag_address, 8);
        for (at, value) in [
            (32, self.sizes[0]),
            (36, self.sizes[1]),
            (40, self.options),
            (48, self.stride),
            (56, self.factors[0]),
            (60, self.factors[1]),
        ] {
            put(at, value.into(), 4);
        }
        for (k, address) in self.addresses.into_iter().enumerate() {
            put(64 + 8 * k, address, 8);
        }
        for (at, zero) in [44, 52].into_iter().chain((88..128).step_by(4)).zip(self.zeros) {
            put(at, zero.into(), 4);
        }
        bytes
    }

    /// Makes a field wrong that a check of its own is for.
    pub fn spoil(&mut self, rng: &mut StimulusRng, shape: &Shape) {
        let position = self.options & 1 != 0;
        let inner = shape.depth * shape.inputs;
        match rng.random_range(0..7u8) {
            0 => self.options |= 1 << [1, 7, 12, 31][rng.random_range(0..4usize)],
            1 => self.zeros[rng.random_range(0..12usize)] = 1 << rng.random_range(0..32u8),
            2 => self.sizes[1] = [0, inner + 1, u32::MAX][rng.random_range(0..3usize)],
            3 => {
                let most = if position { inner } else { shape.channels() as u32 };
                self.sizes[0] = [most, u32::MAX][rng.random_range(0..2usize)];
            }
            4 if position => self.factors[rng.random_range(0..2usize)] = 1 << rng.random_range(0..32u8),
            4 => self.stride = 64 << rng.random_range(0..8u8),
            5 => self.addresses[rng.random_range(0..3usize)] |= 1 << rng.random_range(0..6u8),
            _ => self.addresses[rng.random_range(0..3usize)] ^= 1 << rng.random_range(12..64u8),
        }
    }
}

/// Whether the device can do it: see the contract.
pub fn is_built(shape: &Shape) -> bool {
    (shape.channels() * u64::from(shape.inputs)).is_multiple_of(128) && shape.vector.data_width() <= 512
}

/// A token of its own, or one that the chain has made.
pub fn append(rng: &mut StimulusRng, program: &mut Program, shape: &Shape, given: Option<Made>) -> Append {
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
    Append {
        header_flags: rng.random_range(0..4),
        tag: rng.random(),
        tag_address: program.take(rng, 64),
        sizes: [number, elements],
        options: position.into(),
        stride,
        factors: if position { [0; 2] } else { [factor(rng), factor(rng)] },
        addresses,
        zeros: [0; 12],
    }
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
