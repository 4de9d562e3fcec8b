//! The native half of the Python package `senbazuru`: golden models on NumPy arrays, and the command line.

use pyo3::prelude::*;

mod arrays;
mod command;
mod kelle;
mod kllm;
mod tender;
mod titanus;

/// Golden models on NumPy arrays, and the command line.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::command::main;
    #[pymodule_export]
    use super::kelle::kelle;
    #[pymodule_export]
    use super::kllm::kllm;
    #[pymodule_export]
    use super::tender::tender;
    #[pymodule_export]
    use super::titanus::titanus;
}
