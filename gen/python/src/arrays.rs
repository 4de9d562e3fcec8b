//! Arrays as the golden models take them, and back.

use std::fmt::Display;

use half::f16;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A `ValueError` with the text of a golden model.
pub fn refused(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A `TypeError` that says what an argument is, and what it should be.
fn other_type<T: Element>(name: &str, found: &Bound<'_, PyAny>, dimensions: usize) -> PyErr {
    let what = match found.cast::<PyUntypedArray>() {
        Ok(array) => format!("an array of {} with {} dimensions", array.dtype(), array.ndim()),
        Err(_) => found.get_type().name().map_or("no array".into(), |name| format!("a {name}")),
    };
    let wanted = T::get_dtype(found.py());
    PyTypeError::new_err(format!("{name} is {what}, wanted is an array of {wanted} with {dimensions}"))
}

/// The rows of an array that has some.
pub fn rows<T: Element + Copy>(name: &str, array: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<T>>> {
    let array: PyReadonlyArray2<'_, T> = array.extract().map_err(|_| other_type::<T>(name, array, 2))?;
    let [rows, columns] = [array.shape()[0], array.shape()[1]];
    if rows == 0 || columns == 0 {
        return Err(refused(format!("{name} has the shape [{rows}, {columns}], wanted is at least [1, 1]")));
    }
    Ok(array.as_array().rows().into_iter().map(|row| row.iter().copied().collect()).collect())
}

/// The elements of an array that has some.
pub fn elements<T: Element + Copy>(name: &str, array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let array: PyReadonlyArray1<'_, T> = array.extract().map_err(|_| other_type::<T>(name, array, 1))?;
    match array.as_array().iter().copied().collect::<Vec<T>>() {
        none if none.is_empty() => Err(refused(format!("{name} has no elements, wanted is at least one"))),
        some => Ok(some),
    }
}

/// Refuses an array with other columns.
pub fn has_columns(name: &str, found: usize, wanted: usize) -> PyResult<()> {
    if found == wanted {
        return Ok(());
    }
    Err(refused(format!("{name} has {found} columns, wanted are {wanted}")))
}

/// Bits of fp16 numbers.
pub fn bits(values: &[f16]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits().into()).collect()
}

/// The fp16 numbers of these bits.
pub fn halves(bits: &[u64]) -> Vec<f16> {
    bits.iter().map(|&bits| f16::from_bits(bits as u16)).collect()
}

/// An array of rows that have this many columns.
pub fn matrix<'py, T: Element + Copy>(
    py: Python<'py>,
    rows: &[Vec<T>],
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let all: Vec<T> = rows.iter().flatten().copied().collect();
    PyArray1::from_vec(py, all).reshape([rows.len(), columns])
}
