//! The layer that whole accelerators are tested with.

use lower::layer::Layer;
use models::decoder::residual::ahead_of_layers;
use models::decoder::{Model, Precision, Tokenizer};
use models::smollm2::{self, texts};

/// Elements of a head in rows are a multiple of this on each accelerator.
const UNIT: usize = 32;

/// Layer 14 of the model.
pub fn layer_14() -> Layer {
    let file = smollm2::open().unwrap_or_else(|e| panic!("{e}"));
    Layer::of_model(&Model::read(&file, Precision::File).unwrap(), 14, UNIT).unwrap()
}

/// The residual stream before layer 14 for the first tokens of the committed text.
pub fn residual(tokens: usize) -> Vec<Vec<f64>> {
    let file = smollm2::open().unwrap();
    let tokenizer = Tokenizer::read(&file).unwrap();
    let model = Model::read(&file, Precision::Half).unwrap();
    let text = texts::committed(&tokenizer).unwrap();
    ahead_of_layers(&model, &text.windows[0][..tokens]).unwrap().swap_remove(14)
}
