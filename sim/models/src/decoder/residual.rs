//! The inputs of the layers of the model: rows of its residual stream.

use anyhow::Result;

use super::arithmetic::{Arithmetic, Norm, layer_norm, rms_norm};
use super::matrix::Matrix;
use super::model::Model;

/// By layer, the rows of a text.
struct Ahead(Vec<Vec<Vec<f64>>>);

impl Ahead {
    fn note(&mut self, layer: usize, norm: Norm, x: &Matrix) {
        if norm == Norm::Attention {
            debug_assert_eq!(layer, self.0.len(), "layers in order");
            self.0.push(x.iter().map(<[f64]>::to_vec).collect());
        }
    }
}

impl Arithmetic for Ahead {
    fn norm(&mut self, layer: usize, norm: Norm, x: &Matrix, gain: &[f32], eps: f64) -> Result<Matrix> {
        self.note(layer, norm, x);
        Ok(rms_norm(x, gain, eps))
    }

    fn layer_norm(&mut self, layer: usize, norm: Norm, x: &Matrix, affine: [&[f32]; 2], eps: f64) -> Result<Matrix> {
        self.note(layer, norm, x);
        Ok(layer_norm(x, affine, eps))
    }
}

/// Rows of the residual stream of the float model before each layer, by layer: a row for each token.
///
/// # Errors
/// The errors of [`Model::forward`].
pub fn ahead_of_layers(model: &Model, tokens: &[u32]) -> Result<Vec<Vec<Vec<f64>>>> {
    let mut ahead = Ahead(Vec::new());
    model.forward(tokens, &mut model.cache(), &mut ahead)?;
    Ok(ahead.0)
}
