//! The error that arithmetic on indices adds: none in exact arithmetic, a little in fp16.

use anyhow::{Result, ensure};
use golden::kllm::fp16;
use golden::kllm::index_matmul::{Accumulator, Arithmetic, exact};

use super::{ActivationBook, Detection, Projection, Sensitivity, quantized_weights};

/// Deviation of the fp16 results from the exact results on the same indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// Checked outputs. In each of them counting gave exactly the product of the dequantized operands, and the fp16
    /// results were within their bounds.
    pub outputs: usize,
    /// Relative Frobenius norm of the deviation with each accumulator.
    pub deviations: Vec<(Accumulator, f64)>,
}

/// Quantizes every `step`-th token of the second half of each projection and multiplies it with every `step`-th output
/// channel.
///
/// # Errors
/// Counting and multiplying differ in an output, an fp16 result is out of its bound, or the golden model refuses
/// operands.
pub fn rounding(projections: &[Projection], bits: u32, share: u32, step: usize) -> Result<Rounding> {
    let accumulators = [Accumulator::Fp16Fused, Accumulator::Fp16, Accumulator::Fp32];
    let (mut outputs, mut size, mut errors) = (0, 0.0, [0.0; 3]);
    for projection in projections {
        let [(calibration, evaluation), _] = projection.folds();
        let calibration = &projection.tokens[calibration];
        let sensitivity = Sensitivity::Both;
        let book = ActivationBook::train(projection, calibration, sensitivity, Detection::Online, bits, share)?;
        let weights = quantized_weights(projection, calibration, sensitivity)?;
        let paths = accumulators.map(|a| Arithmetic::new(&book.codebook, &weights.codebook, a));
        for token in projection.tokens[evaluation].iter().step_by(step) {
            let token = book.quantize(token)?;
            for n in (0..weights.columns.len()).step_by(step) {
                let units = exact::by_elements(&token, &weights, n)?;
                let counted = exact::by_counts(&token, &weights, n)?;
                ensure!(counted == units, "{}: counting gives {counted}, multiplying {units}", projection.name);
                let y = units as f64 / 2f64.powi(96);
                outputs += 1;
                size += y * y;
                for (path, error) in paths.iter().zip(&mut errors) {
                    let path = path.as_ref().map_err(Clone::clone)?;
                    let off = fp16::value(path.output(&token, &weights, n)?.y) - y;
                    let bound = path.rounding_bound(&token, &weights, n)?;
                    ensure!(off.abs() <= bound, "{}: fp16 is off by {off}, bound {bound}", projection.name);
                    *error += off.powi(2);
                }
            }
        }
    }
    let deviations = accumulators.into_iter().zip(errors.map(|e| (e / size).sqrt())).collect();
    Ok(Rounding { outputs, deviations })
}
