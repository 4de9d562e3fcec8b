//! Shared by the benches of KLLM's arithmetic blocks: operands, and the golden multiply-add of a block's parameters.

use golden::common::float::FloatFormat;
use golden::kllm::fp16_mac::Fp16Mac;
use hdl::blocks::kllm;
use rand::RngExt;
use sim::stimulus::{StimulusRng, fp16_corners};

use crate::common::float::Operands;
use crate::common::formats;

/// An fp16 value: corners (zeros, subnormals, infinities, NaNs), any bits, or mostly a number of ordinary size.
pub fn fp16(rng: &mut StimulusRng) -> u64 {
    match rng.random_range(0..8u8) {
        0 => {
            let corners = fp16_corners();
            u64::from(corners[rng.random_range(0..corners.len())])
        }
        1 => rng.random::<u64>() & 0xffff,
        _ => finite(rng),
    }
}

/// A finite fp16 value of ordinary size, 2^-8 to 2^4.
pub fn finite(rng: &mut StimulusRng) -> u64 {
    u64::from(rng.random::<bool>()) << 15 | rng.random_range(7..20u64) << 10 | rng.random_range(0..1024u64)
}

/// A finite or special fp16 value that cancels `sum`, a value of the multiply-add's accumulator, or overlaps, or touches it.
pub fn addend(mac: Fp16Mac, sum: u64, rng: &mut StimulusRng) -> u64 {
    Operands::new(FloatFormat::Fp16).addend(mac.narrow(sum), rng)
}

/// Factors of a product that is added to `sum`: ordinary ones, special ones, and a power of two with the factor that
/// cancels the sum.
pub fn factors(mac: Fp16Mac, sum: u64, rng: &mut StimulusRng) -> [u64; 2] {
    match rng.random_range(0..4u8) {
        0 | 1 => [fp16(rng), fp16(rng)],
        2 => Operands::new(FloatFormat::Fp16).factors(rng),
        _ => {
            let (near, shift) = (addend(mac, sum, rng), rng.random_range(-4..=4i64));
            let exponent = (near >> 10 & 31) as i64;
            let shifted = (1..31).contains(&exponent) && (1..31).contains(&(exponent - shift));
            let shift = if shifted { shift } else { 0 };
            let power = ((15 + shift) as u64) << 10;
            let factor = (near & 0x83ff) | ((exponent - shift) as u64) << 10;
            if rng.random() { [power, factor] } else { [factor, power] }
        }
    }
}

/// The golden multiply-add of these parameters.
pub fn mac(p: &kllm::Fp16Mac) -> Fp16Mac {
    Fp16Mac {
        accumulate: formats::float_format(p.accumulate),
        fused: p.fused,
        subnormals: formats::subnormals(p.subnormals),
    }
}
