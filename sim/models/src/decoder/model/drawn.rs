//! Models that nobody has trained, for tests.

use std::iter::once;

use anyhow::Result;
use rand::{Rng, RngExt};

use super::{Model, Parts};
use crate::decoder::arithmetic::{Norm, Projection};
use crate::decoder::{Config, Family, Positions, Weight};

impl Model {
    /// A model with drawn weights, about as large as in a trained model. Its gains are constants; biases of norms are 0.
    ///
    /// # Errors
    /// The shape contradicts itself.
    pub fn drawn(config: Config, rng: &mut impl Rng) -> Result<Self> {
        let mut weight = |shape: [usize; 2]| {
            let most = 2.0 / (shape[1] as f32).sqrt();
            let values: Vec<f32> = (0..shape[0] * shape[1]).map(|_| rng.random_range(-most..most)).collect();
            Weight::new(shape, &values)
        };
        let mut parts = Parts::default();
        let of_layer = |layer| config.projections().iter().map(move |&projection| (layer, projection));
        for key in once((config.layers, Projection::Logits)).chain((0..config.layers).flat_map(of_layer)) {
            parts.weights.insert(key, weight(config.shape(key.1)));
        }
        if let Positions::Learned { offset } = config.positions {
            parts.positions = Some(weight([config.context + offset, config.width]));
        }
        let norms = |layer| [Norm::Attention, Norm::FeedForward].map(|norm| ((layer, norm), 0.75));
        let norms = (0..config.layers).flat_map(norms).chain(once(((config.layers, Norm::Output), 1.5)));
        parts.gains = norms.map(|(key, gain)| (key, vec![gain; config.width])).collect();
        if config.family == Family::Gpt {
            parts.shifts = parts.gains.keys().map(|&key| (key, vec![0.0; config.width])).collect();
        }
        Self::from_parts(config, parts)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::decoder::{Activation, Float, Rotary, Scaling};

    #[test]
    fn both_families() {
        let rotary = Positions::Rotary(Rotary { base: 100.0, scaling: Scaling::None });
        let config = Config {
            family: Family::Llama,
            layers: 2,
            width: 16,
            ffn_width: 24,
            heads: 4,
            kv_heads: 2,
            head_width: 4,
            positions: rotary,
            activation: Activation::Silu,
            norm_eps: 1e-5,
            vocabulary: 20,
            context: 8,
        };
        let gpt = Config {
            family: Family::Gpt,
            kv_heads: 4,
            positions: Positions::Learned { offset: 2 },
            activation: Activation::Gelu,
            ..config
        };
        for config in [config, gpt] {
            let model = Model::drawn(config, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
            let x = model.forward(&[3, 7], &mut model.cache(), &mut Float).unwrap();
            let logits = model.logits(&x, &mut Float).unwrap();
            assert!(logits.values.iter().all(|x| x.is_finite() && x.abs() < 100.0), "{:?}", config.family);
        }
    }
}
