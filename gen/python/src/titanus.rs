//! Titanus: keys and values that are pruned and quantized on the fly.

use golden::titanus::cpq::{Config, Sequence};
use golden::titanus::pruning_unit;
use golden::titanus::traffic::Traffic;
use numpy::PyArray2;
use pyo3::prelude::*;

use crate::arrays::{matrix, refused, rows};

/// Titanus: keys and values that are pruned and quantized on the fly (Titanus, section 3).
#[pymodule]
pub mod titanus {
    #[pymodule_export]
    use super::Compressed;
    #[pymodule_export]
    use super::prune;
}

/// Numbers whose magnitude is below a threshold become 0.
///
/// >>> titanus.prune(np.array([[3, -1, 2]], np.int8), 2)
/// array([[3, 0, 2]], dtype=int8)
///
/// Arguments:
///     x: tokens, int8 [tokens, channels]
///     threshold: 0 to 128
#[pyfunction]
pub fn prune<'py>(py: Python<'py>, x: &Bound<'_, PyAny>, threshold: u32) -> PyResult<Bound<'py, PyArray2<i8>>> {
    if threshold > 128 {
        return Err(refused(format!("threshold is {threshold}, allowed: 0 to 128")));
    }
    let x: Vec<Vec<i8>> = rows("x", x)?;
    let pruned: Vec<Vec<i8>> =
        x.iter().map(|row| row.iter().map(|&x| pruning_unit::prune(x, threshold)).collect()).collect();
    matrix(py, &pruned, x[0].len())
}

/// Tokens after cascade pruning-quantization with levels that grow (CPQ and HQE).
///
/// >>> c = titanus.Compressed(np.array([[3, 0], [7, 5]], np.int8), bits=4, prefill=1)
/// >>> c.decoded().shape, c.overflowed
/// ((2, 2), False)
///
/// Arguments:
///     x: pruned tokens, int8 [tokens, channels]
///     bits: bits of a quantized number, 2 to 8
///     levels: levels that a channel may have, 1 to 256
///     prefill: first tokens that give each channel its first level
#[pyclass(frozen, module = "senbazuru.titanus")]
#[derive(Debug)]
pub struct Compressed {
    sequence: Sequence,
    channels: usize,
}

#[pymethods]
impl Compressed {
    #[new]
    #[pyo3(signature = (x, bits = 4, levels = 16, prefill = 0))]
    fn new(x: &Bound<'_, PyAny>, bits: u32, levels: usize, prefill: usize) -> PyResult<Self> {
        for (name, value, [least, most]) in [("bits", bits as usize, [2, 8]), ("levels", levels, [1, 256])] {
            if !(least..=most).contains(&value) {
                return Err(refused(format!("{name} is {value}, allowed: {least} to {most}")));
            }
        }
        let x: Vec<Vec<i8>> = rows("x", x)?;
        if prefill > x.len() {
            return Err(refused(format!("prefill is {prefill}, allowed: 0 to {}, the tokens", x.len())));
        }
        let channels = x[0].len();
        Ok(Self { sequence: Sequence::encode(Config { bits, max_levels: levels }, &x, prefill), channels })
    }

    /// The tokens as the accelerator restores them, int8 [tokens, channels].
    fn decoded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i8>>> {
        matrix(py, &self.sequence.decode(), self.channels)
    }

    /// The quantized numbers, 0 where the index has a 0: uint8 [tokens, channels].
    fn quantized<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let rows: Vec<Vec<u8>> =
            self.sequence.tokens.iter().map(|token| token.iter().map(|element| element.q).collect()).collect();
        matrix(py, &rows, self.channels)
    }

    /// Levels of all channels together.
    #[getter]
    fn levels(&self) -> usize {
        self.sequence.levels()
    }

    /// Whether a number was out of tolerance and its channel had no level left.
    #[getter]
    fn overflowed(&self) -> bool {
        self.sequence.overflowed()
    }

    /// Bits that move between accelerator and memory: `index`, `label`, `values`, `records` and their sum `total`.
    #[getter]
    fn bits(&self) -> std::collections::BTreeMap<&'static str, u64> {
        let Traffic { index, label, values, records } = Traffic::cpq(&self.sequence);
        let total = index + label + values + records;
        [("index", index), ("label", label), ("values", values), ("records", records), ("total", total)].into()
    }

    fn __repr__(&self) -> String {
        let (tokens, bits) = (self.sequence.tokens.len(), self.sequence.config.bits);
        format!("Compressed(tokens={tokens}, channels={}, bits={bits})", self.channels)
    }
}
