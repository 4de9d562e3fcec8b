//! Products of the real model as jobs: calibrated by the golden model, laid out by the host crate.

use golden::accelerators::memory::SparseMemory;
use golden::accelerators::tender::TenderTop;
use golden::common::shell::job_controller::Limits;
use golden::tender::calibration::{Calibration, Scheme, Sign as GoldenSign, Weights};
use golden::tender::granularity::product;
use hdl::accelerators::tender::TenderTop as Block;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::MultiScaleArray;
use host::tender::{Caps, Constants, MatMulJob, Panels, Product, Sign, Table};
use host::vector::{Integer, Operand};
use host::{Allocator, Chain, Format, Image, Rows, Window};
use sim::stimulus::real_numbers;

pub use super::builder::GROUPS;
use super::builder::bits;

/// An array of 16 x 16 PEs on a bus of 16 bytes. It is deep enough for the down projection of the model, and its vector
/// unit is wide enough for the norms.
#[must_use]
pub fn layer_size() -> Block {
    Block {
        bus: TopParameters {
            axi: AxiSpec { address_width: 40, data_width: 128, id_width: 1 },
            dma: DmaSpec { burst_beats: 16, ..DmaSpec::default() },
            ..TopParameters::default()
        },
        vector: VectorParameters { max_beats: 72, ..VectorParameters::all() },
        array: MultiScaleArray { rows: 16, columns: 16, ..MultiScaleArray::default() },
        depth: 1536,
        steps: 1600,
        ..Block::default()
    }
}

/// A job, and the approximate values of its results.
#[derive(Clone, Debug)]
pub struct Real {
    /// The descriptor, the operands, the table and the constants.
    pub images: Vec<Image>,
    /// Address of the descriptor.
    pub job: u64,
    /// Where the results go, fp16.
    pub out: (u64, Rows),
    /// The product of the numbers that were quantized.
    pub exact: Vec<Vec<f64>>,
}

impl Real {
    /// Bytes of the results as the model computes them.
    ///
    /// # Panics
    /// The model ends with an error.
    #[must_use]
    pub fn expected(&self, golden: &TenderTop, window: &Window) -> Vec<u8> {
        let mut memory = SparseMemory::new();
        self.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
        let limits = Limits { base: window.base, limit: window.limit, max_descriptors: 1 };
        let report = golden.run(limits, self.job, &mut memory);
        assert_eq!((report.end.code, report.sum_overflows(), report.overflows()), (0, 0, 0));
        memory.bytes(self.out.0, self.out.1.bytes())
    }
}

/// Matrices as integers, and the scale of their sums.
struct Quantized {
    calibration: Calibration,
    a: Vec<Vec<i64>>,
    /// [channel, column].
    b: Vec<Vec<i64>>,
    constants: Vec<Constants>,
    exact: Vec<Vec<f64>>,
}

/// The first tokens and outputs of the query projection of layer 14, its channels in so many groups at most.
///
/// # Errors
/// A missing or damaged file; an error of the host crate.
pub fn q_projection(
    caps: &Caps,
    window: &Window,
    (integer, groups): (Integer, usize),
    (tokens, outputs): (usize, usize),
) -> anyhow::Result<Real> {
    projection(caps, window, (integer, groups), (tokens, outputs), false)
}

/// The same with explicit requantization.
///
/// # Errors
/// As [`q_projection`].
pub fn explicit_q_projection(
    caps: &Caps,
    window: &Window,
    kind: (Integer, usize),
    size: (usize, usize),
) -> anyhow::Result<Real> {
    projection(caps, window, kind, size, true)
}

fn projection(
    caps: &Caps,
    window: &Window,
    (integer, groups): (Integer, usize),
    (tokens, outputs): (usize, usize),
    explicit: bool,
) -> anyhow::Result<Real> {
    let x: Vec<Vec<f64>> = real_numbers("l14_attn_in")?.into_iter().take(tokens).collect();
    let w: Vec<Vec<f64>> = real_numbers("l14_w_q")?.into_iter().map(|row| row[..outputs].to_vec()).collect();
    let calibration = Calibration::of(&x, scheme(integer, groups)?).map_err(anyhow::Error::msg)?;
    let weights = Weights::quantize(&w, bits(integer)).map_err(anyhow::Error::msg)?;
    // The bias of the channels comes back at the output, with the weights that took part.
    let offset = product(std::slice::from_ref(&calibration.bias), &weights.dequantize());
    let last = calibration.scales[calibration.scales.len() - 1];
    let constant = |(scale, bias): (&f64, &f64)| constants(last * scale, *bias);
    let constants = weights.scales.iter().zip(&offset[0]).map(constant).collect();
    let a = x.iter().map(|row| calibration.quantize(row)).collect();
    let exact = product(&x, &w);
    real(caps, window, integer, &Quantized { calibration, a, b: weights.values, constants, exact }, explicit)
}

/// Scores of the first tokens of one head of layer 14 with each other, not masked: q k^T / 8. Queries have no bias, so that none
/// must come back with the keys; keys have one scale.
///
/// # Errors
/// A missing or damaged file; an error of the host crate.
pub fn scores(caps: &Caps, window: &Window, integer: Integer, tokens: usize) -> anyhow::Result<Real> {
    let read = |name| -> sim::Result<Vec<Vec<f64>>> { Ok(real_numbers(name)?.into_iter().take(tokens).collect()) };
    let (q, k) = (read("l14_q_trace")?, read("l14_k_trace")?);
    let mirrored: Vec<Vec<f64>> =
        q.iter().cloned().chain(q.iter().map(|row| row.iter().map(|x| -x).collect())).collect();
    let calibration = Calibration::of(&mirrored, scheme(integer, GROUPS)?).map_err(anyhow::Error::msg)?;
    // As one column: one scale for all.
    let channels = q.first().map_or(0, Vec::len);
    let column: Vec<Vec<f64>> = (0..channels).flat_map(|c| k.iter().map(move |row| vec![row[c]])).collect();
    let keys = Weights::quantize(&column, bits(integer)).map_err(anyhow::Error::msg)?;
    let b: Vec<Vec<i64>> = keys.values.chunks(k.len().max(1)).map(|row| row.concat()).collect();
    let last = calibration.scales[calibration.scales.len() - 1];
    let constants = vec![constants(last * keys.scales[0] / 8.0, 0.0); k.len()];
    let transposed: Vec<Vec<f64>> = (0..channels).map(|c| k.iter().map(|row| row[c] / 8.0).collect()).collect();
    let a = q.iter().map(|row| calibration.quantize(row)).collect();
    let exact = product(&q, &transposed);
    real(caps, window, integer, &Quantized { calibration, a, b, constants, exact }, false)
}

fn scheme(integer: Integer, groups: usize) -> anyhow::Result<Scheme> {
    Scheme::new(bits(integer), groups, GoldenSign::Signed).map_err(anyhow::Error::msg)
}

fn constants(scale: f64, bias: f64) -> Constants {
    Constants { scale: scale as f32, bias: bias as f32, quantizer: 1.0 }
}

fn flat(matrix: &[Vec<i64>]) -> Vec<i16> {
    matrix.iter().flatten().map(|&x| x as i16).collect()
}

fn real(caps: &Caps, window: &Window, integer: Integer, of: &Quantized, explicit: bool) -> anyhow::Result<Real> {
    let (rows, columns, channels) = (of.a.len(), of.constants.len(), of.b.len());
    let kind = (integer, Sign::Signed);
    let (a, b) = (Panels::rows(caps, kind, rows, channels)?, Panels::columns(caps, kind, columns, channels)?);
    let table = Table::of_groups(&of.calibration.group, of.calibration.scales.len())?;
    let results = Rows::dense(Format::Fp16, rows, columns)?;
    let mut memory = Allocator::new(window);
    let job = memory.take(128)?;
    let mut images = Vec::new();
    let mut store = |bytes: Vec<u8>| -> anyhow::Result<u64> {
        let address = memory.take(bytes.len() as u64)?;
        images.push(Image { address, bytes });
        Ok(address)
    };
    let at = |address, stride: u64| Operand { address, stride: stride as u32 };
    let steps = table.steps();
    let product = Product {
        rows: rows as u32,
        columns: columns as u32,
        channels: channels as u32,
        integer,
        a: (at(store(a.pack(&flat(&of.a))?)?, a.stride()), Sign::Signed),
        b: (at(store(b.pack_transposed(&flat(&of.b))?)?, b.stride()), Sign::Signed),
        table: (store(table.bytes())?, steps),
        constants: store(Constants::bytes(&of.constants))?,
    };
    let out = memory.take(results.bytes() as u64)?;
    let job_of = MatMulJob::new(product, at(out, results.stride())).exact();
    let job_of = if explicit { job_of.explicit() } else { job_of };
    let descriptor = job_of.build(caps, window)?;
    images.push(Chain::new().then(descriptor).place(job, window, 1)?);
    Ok(Real { images, job, out: (out, results), exact: of.exact.clone() })
}

#[cfg(test)]
mod tests {
    use golden::tender::granularity::relative_error;

    use super::super::builder::testing::{CAPS, WINDOW, golden};
    use super::*;

    /// The relative error of the results, exactly as the model computes them.
    fn error(real: &Real) -> f64 {
        let bytes = real.expected(&golden(), &WINDOW);
        let results = real.out.1.unpack_floats(&bytes).unwrap();
        let results: Vec<Vec<f64>> =
            results.chunks(real.exact[0].len()).map(|row| row.iter().map(|x| x.to_f64()).collect()).collect();
        relative_error(&real.exact, &results)
    }

    #[test]
    fn products_are_near_the_real_ones() {
        for (integer, projection, attention) in [(Integer::Int8, 1e-3, 1e-3), (Integer::Int4, 0.25, 0.25)] {
            let q = error(&q_projection(&CAPS, &WINDOW, (integer, GROUPS), (37, 21)).unwrap());
            let s = error(&scores(&CAPS, &WINDOW, integer, 37).unwrap());
            println!("{integer:?}: q {q:.2e}, scores {s:.2e}");
            assert!(q > 0.0 && q < projection && s > 0.0 && s < attention, "{integer:?}: {q} {s}");
        }
    }
}
