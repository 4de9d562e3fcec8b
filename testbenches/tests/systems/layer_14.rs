//! The layer that whole accelerators are tested with.

use models::decoder::residual::ahead_of_layers;
use models::decoder::{Model, Precision, Tokenizer};
use models::smollm2::{self, texts};
use testbenches::systems::float_layer::Layer;

/// Layer 14 of the model.
pub fn layer_14() -> Layer {
    let file = smollm2::open().unwrap_or_else(|e| panic!("{e}"));
    let tensor = |name: &str, shape: &[usize]| {
        file.tensor_of(&format!("blk.14.{name}.weight"), shape).unwrap_or_else(|e| panic!("{e}")).values
    };
    let gains = ["attn_norm", "ffn_norm"].map(|name| tensor(name, &[576]).into_iter().map(f64::from).collect());
    let weights = |name, outputs, inputs| Layer::transposed(&tensor(name, &[outputs, inputs]), inputs);
    Layer {
        gains,
        q: weights("attn_q", 576, 576),
        k: weights("attn_k", 192, 576),
        v: weights("attn_v", 192, 576),
        o: weights("attn_output", 576, 576),
        gate: weights("ffn_gate", 1536, 576),
        up: weights("ffn_up", 1536, 576),
        down: weights("ffn_down", 576, 1536),
    }
}

/// The residual stream before layer 14 for the first tokens of the committed text.
pub fn residual(tokens: usize) -> Vec<Vec<f64>> {
    let file = smollm2::open().unwrap();
    let tokenizer = Tokenizer::read(&file).unwrap();
    let model = Model::read(&file, Precision::Half).unwrap();
    let text = texts::committed(&tokenizer).unwrap();
    ahead_of_layers(&model, &text.windows[0][..tokens]).unwrap().swap_remove(14)
}
