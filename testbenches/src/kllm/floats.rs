//! What the benches of KLLM's arithmetic blocks share: operands, and the golden multiply-add of a block's parameters.

use golden::kllm::fp16_mac::Fp16Mac;
use hdl::blocks::kllm;
use rand::RngExt;
use sim::stimulus::{StimulusRng, fp16_corners};

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

/// The golden multiply-add of these parameters.
pub fn mac(p: &kllm::Fp16Mac) -> Fp16Mac {
    Fp16Mac {
        accumulate: formats::float_format(p.accumulate),
        fused: p.fused,
        subnormals: formats::subnormals(p.subnormals),
    }
}
