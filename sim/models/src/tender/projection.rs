//! Projections of the real model: its tensors as matrices.

use sim::stimulus::real_numbers;

/// A projection: activations [token, channel] and weights [channel, output].
#[derive(Clone, Debug)]
pub struct Projection {
    /// Layer and matrix.
    pub name: &'static str,
    /// Activations.
    pub x: Vec<Vec<f64>>,
    /// Weights.
    pub w: Vec<Vec<f64>>,
}

/// All projections whose activations and weights are both stored: (name, activations, weights).
const PROJECTIONS: [(&str, &str, &str); 12] = [
    ("2 q", "l02_attn_in", "l02_w_q"),
    ("2 gate", "l02_ffn_in", "l02_w_gate"),
    ("2 down", "l02_down_in", "l02_w_down"),
    ("14 q", "l14_attn_in", "l14_w_q"),
    ("14 k", "l14_attn_in", "l14_w_k"),
    ("14 v", "l14_attn_in", "l14_w_v"),
    ("14 o", "l14_attn_out", "l14_w_o"),
    ("14 gate", "l14_ffn_in", "l14_w_gate"),
    ("14 down", "l14_down_in", "l14_w_down"),
    ("28 q", "l28_attn_in", "l28_w_q"),
    ("28 gate", "l28_ffn_in", "l28_w_gate"),
    ("28 down", "l28_down_in", "l28_w_down"),
];

/// The projections of the real model, 64 tokens and 64 outputs each; the name is layer and matrix.
///
/// # Errors
/// A missing or damaged file.
pub fn projections() -> sim::Result<Vec<Projection>> {
    let load = |&(name, x, w)| Ok(Projection { name, x: real_numbers(x)?, w: real_numbers(w)? });
    PROJECTIONS.iter().map(load).collect()
}

/// One of [`projections`].
///
/// # Errors
/// A file is missing or damaged, or no projection has this name.
pub fn projection(name: &str) -> sim::Result<Projection> {
    let found = PROJECTIONS.iter().find(|p| p.0 == name);
    let (name, x, w) = found.ok_or_else(|| sim::Error::Unsupported(format!("no projection is called {name}")))?;
    Ok(Projection { name, x: real_numbers(x)?, w: real_numbers(w)? })
}
