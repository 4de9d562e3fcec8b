//! Tensors of a real language model. Benches of all papers and the studies read them. Their README describes them.

use std::path::Path;

use half::f16;

use super::Tensor;
use crate::Result;

/// The folder with the tensors.
#[must_use]
pub fn data_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data"))
}

/// A float16 tensor, by the name of its file without `.npy`: `l14_down_in`.
///
/// # Errors
/// A missing or damaged file.
pub fn real_tensor(name: &str) -> Result<Tensor<f16>> {
    Tensor::read(&data_folder().join(format!("{name}.npy")))
}

/// The rows of a tensor, as bit patterns.
///
/// # Errors
/// A missing or damaged file.
pub fn real_rows(name: &str) -> Result<Vec<Vec<u64>>> {
    rows(name, |x| u64::from(x.to_bits()))
}

/// The rows of a tensor, as numbers: every float16 is one.
///
/// # Errors
/// A missing or damaged file.
pub fn real_numbers(name: &str) -> Result<Vec<Vec<f64>>> {
    rows(name, f16::to_f64)
}

fn rows<T>(name: &str, of: impl Fn(f16) -> T) -> Result<Vec<Vec<T>>> {
    let tensor = real_tensor(name)?;
    let width = tensor.shape.last().copied().unwrap_or(1).max(1);
    Ok(tensor.data.chunks(width).map(|row| row.iter().map(|&x| of(x)).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_numbers_are_the_same_values() {
        let (bits, numbers) = (real_rows("l14_w_q").unwrap(), real_numbers("l14_w_q").unwrap());
        assert_eq!(real_tensor("l14_w_q").unwrap().shape, [bits.len(), bits[0].len()]);
        assert!(bits.len() > 500 && bits.iter().all(|row| row.len() == bits[0].len()));
        let again = bits.iter().map(|row| row.iter().map(|&x| f16::from_bits(x as u16).to_f64()).collect());
        assert_eq!(again.collect::<Vec<Vec<f64>>>(), numbers);
    }

    #[test]
    fn a_missing_tensor_is_named() {
        assert!(real_rows("l99_w_q").unwrap_err().to_string().contains("l99_w_q.npy"));
    }
}
