//! Keys and values of the real model as int8.
//!
//! The conversion: one scale for a tensor of 384 tokens by 64 channels, 127 / largest magnitude; products are rounded to
//! the nearest integer, half away from zero. Symmetric, per tensor, as W8A8 models store their caches.

use half::f16;
use sim::stimulus::{Tensor, real_tensor};

/// Layers with traces.
pub const LAYERS: [u32; 3] = [2, 14, 28];

/// Keys and values of one head, a row per token.
pub struct KeyValues {
    /// Layer of the model.
    pub layer: u32,
    /// Keys.
    pub k: Vec<Vec<i8>>,
    /// Values.
    pub v: Vec<Vec<i8>>,
}

/// The traces of `layer`.
///
/// # Errors
/// A missing or damaged file.
pub fn key_values(layer: u32) -> sim::Result<KeyValues> {
    let read = |what: &str| to_int8(&real_tensor(&format!("l{layer:02}_{what}_trace"))?);
    Ok(KeyValues { layer, k: read("k")?, v: read("v")? })
}

/// Rows of a tensor as int8.
fn to_int8(tensor: &Tensor<f16>) -> sim::Result<Vec<Vec<i8>>> {
    // Products of a float16 and a float64 ratio of small error: only a value within 2^-40 of a half could round otherwise.
    let largest = tensor.data.iter().map(|x| x.to_f64().abs()).fold(0.0, f64::max);
    let width = tensor.shape.last().copied().unwrap_or(1).max(1);
    let values: Vec<i8> = tensor.data.iter().map(|x| (x.to_f64() * 127.0 / largest).round() as i8).collect();
    Ok(values.chunks(width).map(<[i8]>::to_vec).collect())
}

/// The smallest threshold at which at least `share` of the elements are zero.
pub fn threshold_for(tokens: &[Vec<i8>], share: f64) -> u32 {
    (0..=129)
        .find(|&th| {
            let all = tokens.iter().flatten();
            let zeros = all.clone().filter(|&&x| golden::titanus::pruning_unit::prune(x, th) == 0).count();
            zeros as f64 >= share * all.count() as f64
        })
        .unwrap_or(129)
}

/// All elements pruned.
pub fn prune(tokens: &[Vec<i8>], threshold: u32) -> Vec<Vec<i8>> {
    tokens.iter().map(|t| t.iter().map(|&x| golden::titanus::pruning_unit::prune(x, threshold)).collect()).collect()
}
