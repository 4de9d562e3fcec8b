//! Tender: power-of-two groups of channels.

use golden::tender::calibration::{self, Scheme, Sign, Weights};
use golden::tender::matmul;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::arrays::{has_columns, matrix, refused, rows};

/// Tender: power-of-two groups of channels (Tender, section III).
#[pymodule]
pub mod tender {
    #[pymodule_export]
    use super::Calibration;
    #[pymodule_export]
    use super::product;
}

fn scheme(bits: u32, groups: usize, signed: bool) -> PyResult<Scheme> {
    Scheme::new(bits, groups, if signed { Sign::Signed } else { Sign::Unsigned }).map_err(refused)
}

/// Biases, groups and scales of the channels of some rows.
///
/// >>> x = np.array([[1.0, -8.0], [3.0, 8.0]])
/// >>> tender.Calibration(x, bits=4, groups=2).group
/// array([1, 0])
///
/// Arguments:
///     x: rows to calibrate with, float64 [rows, channels]; at most 256 rows, all finite
///     bits: bits of an integer, 2 to 8
///     groups: groups of channels, 1 to 32; each has half of the scale of the group before
///     signed: two's complement around the bias of a channel; otherwise from 0 on, without a bias
#[pyclass(frozen, module = "senbazuru.tender")]
#[derive(Debug)]
pub struct Calibration(calibration::Calibration);

#[pymethods]
impl Calibration {
    #[new]
    #[pyo3(signature = (x, bits = 8, groups = 8, signed = true))]
    fn new(x: &Bound<'_, PyAny>, bits: u32, groups: usize, signed: bool) -> PyResult<Self> {
        let scheme = scheme(bits, groups, signed)?;
        Ok(Self(calibration::Calibration::of(&rows("x", x)?, scheme).map_err(refused)?))
    }

    /// For each channel the middle of its range, float64 [channels].
    #[getter]
    fn bias<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.bias.clone().into_pyarray(py)
    }

    /// For each channel its group, from 0 with the largest scale on, int64 [channels].
    #[getter]
    fn group<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.group.iter().map(|&group| group as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// For each group the value of one step of an integer, float64 [groups]; up to the last group with a channel.
    #[getter]
    fn scales<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.scales.clone().into_pyarray(py)
    }

    /// Channels in the order in which they are multiplied, int64 [channels].
    #[getter]
    fn order<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.order().iter().map(|&channel| channel as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Rows as integers, ties to even: float64 [rows, channels] to int64 [rows, channels].
    fn quantize<'py>(&self, py: Python<'py>, x: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let (x, channels) = (rows::<f64>("x", x)?, self.0.group.len());
        has_columns("x", x[0].len(), channels)?;
        let integers: Vec<Vec<i64>> = x.iter().map(|row| self.0.quantize(row)).collect();
        matrix(py, &integers, channels)
    }

    /// The numbers that integers stand for: int64 [rows, channels] to float64 [rows, channels].
    fn dequantize<'py>(&self, py: Python<'py>, q: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (q, channels) = (rows::<i64>("q", q)?, self.0.group.len());
        has_columns("q", q[0].len(), channels)?;
        let numbers: Vec<Vec<f64>> = q.iter().map(|row| self.0.dequantize(row)).collect();
        matrix(py, &numbers, channels)
    }

    fn __repr__(&self) -> String {
        let scheme = self.0.scheme();
        let (bits, groups, channels) = (scheme.bits(), scheme.groups(), self.0.group.len());
        format!("Calibration(channels={channels}, bits={bits}, groups={groups})")
    }
}

/// A product as Tender computes it: x in groups, w with a scale for each column, sums in integers.
///
/// >>> x, w = np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]])
/// >>> bool(np.abs(tender.product(x, w) - w).max() < 0.05)
/// True
///
/// Arguments:
///     x: activations, float64 [rows, channels]
///     w: weights, float64 [channels, columns]
///     bits, groups, signed: as of Calibration
///     chunk: rows that are calibrated together, 1 to 256
///
/// Returns float64 [rows, columns].
#[pyfunction]
#[pyo3(signature = (x, w, bits = 8, groups = 8, chunk = 256, signed = true))]
pub fn product<'py>(
    py: Python<'py>,
    x: &Bound<'_, PyAny>,
    w: &Bound<'_, PyAny>,
    bits: u32,
    groups: usize,
    chunk: usize,
    signed: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (x, w, scheme) = (rows::<f64>("x", x)?, rows::<f64>("w", w)?, scheme(bits, groups, signed)?);
    has_columns("x", x[0].len(), w.len())?;
    if !(1..=calibration::CHUNK_ROWS).contains(&chunk) {
        return Err(refused(format!("chunk is {chunk}, allowed: 1 to {}", calibration::CHUNK_ROWS)));
    }
    let columns = w[0].len();
    let product = py.detach(|| {
        let weights = Weights::quantize(&w, bits)?;
        matmul::tender_product(&x, chunk, scheme, &weights)
    });
    matrix(py, &product.map_err(refused)?, columns)
}
