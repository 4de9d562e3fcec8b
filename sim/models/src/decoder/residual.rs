//! The inputs of the layers of the model: rows of its residual stream.

use anyhow::Result;

use super::arithmetic::{Arithmetic, Norm, rms_norm};
use super::matrix::Matrix;
use super::model::Model;

/// By layer, the rows of a text.
struct Ahead(Vec<Vec<Vec<f64>>>);

impl Arithmetic for Ahead {
    fn norm(&mut self, layer: usize, norm: Norm, x: &Matrix, gain: &[f32], eps: f64) -> Result<Matrix> {
        if norm == Norm::Attention {
            debug_assert_eq!(layer, self.0.len(), "layers in order");
            self.0.push(x.iter().map(<[f64]>::to_vec).collect());
        }
        Ok(rms_norm(x, gain, eps))
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
