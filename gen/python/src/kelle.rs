//! Kelle: a cache of keys and values that evicts the least important tokens.

use std::sync::Mutex;

use golden::kelle::aerp::{AllProtected, Budget, Head};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::arrays::{elements, refused};

/// Kelle: a cache of keys and values that evicts the least important tokens (Kelle, section 4.1).
#[pymodule]
pub mod kelle {
    #[pymodule_export]
    use super::Cache;
}

/// The cache of a head: the importance of a token is the sum of the attention that later queries gave it.
///
/// >>> cache = kelle.Cache(tokens=2, sink=0, window=1)
/// >>> cache.insert(), cache.insert()
/// (None, None)
/// >>> cache.attend(np.array([0.1, 0.9]))
/// >>> cache.insert()
/// 0
///
/// Arguments:
///     tokens: places in the cache (N')
///     sink: first tokens of the sequence, which stay
///     window: most recent tokens, which stay; sink and window leave at least one place
///     prompt: scores of the tokens of a prompt to start from, float64 [n]
#[pyclass(frozen, module = "senbazuru.kelle")]
#[derive(Debug)]
pub struct Cache(Mutex<Head<f64>>);

fn protected(_: AllProtected) -> PyErr {
    refused("all tokens in the cache are protected: a smaller sink or window leaves places")
}

impl Cache {
    fn head(&self) -> std::sync::MutexGuard<'_, Head<f64>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn finite(name: &str, scores: &[f64]) -> PyResult<()> {
    match scores.iter().find(|score| !score.is_finite()) {
        Some(score) => Err(refused(format!("{name} has {score}, wanted are finite numbers"))),
        None => Ok(()),
    }
}

#[pymethods]
impl Cache {
    #[new]
    #[pyo3(signature = (tokens, sink = 0, window = 0, prompt = None))]
    fn new(tokens: usize, sink: usize, window: usize, prompt: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        if sink.saturating_add(window) >= tokens {
            return Err(refused(format!("sink {sink} and window {window} fill a cache of {tokens} tokens")));
        }
        let budget = Budget { tokens, sink, window };
        let Some(prompt) = prompt else { return Ok(Self(Mutex::new(Head::new(budget)))) };
        let scores: Vec<f64> = elements("prompt", &prompt)?;
        finite("prompt", &scores)?;
        Ok(Self(Mutex::new(Head::prefill(budget, &scores).map_err(protected)?)))
    }

    /// A query gives these scores to the cached tokens, in their order: float64 [len(self)].
    fn attend(&self, scores: &Bound<'_, PyAny>) -> PyResult<()> {
        let scores: Vec<f64> = elements("scores", scores)?;
        finite("scores", &scores)?;
        let mut head = self.head();
        let count = head.kept().len();
        if scores.len() != count {
            return Err(refused(format!("scores has {} elements, wanted are {count}, one a token", scores.len())));
        }
        head.attend(&scores);
        Ok(())
    }

    /// The next token enters. Returns the position of the token that left for it, or None.
    fn insert(&self) -> PyResult<Option<usize>> {
        self.head().insert().map_err(protected)
    }

    /// Positions of the cached tokens, the oldest first, int64 [len(self)].
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.head().kept().iter().map(|kept| kept.token as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Their importance, float64 [len(self)].
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.head().kept().iter().map(|kept| kept.score).collect::<Vec<_>>().into_pyarray(py)
    }

    fn __len__(&self) -> usize {
        self.head().kept().len()
    }

    fn __repr__(&self) -> String {
        format!("Cache({} tokens)", self.__len__())
    }
}
