//! Rows of a user in place of made ones.

use super::elements::Elements;
use sim::kit::tensors::{Extent, Numbers, Tensors, Wanted};

/// The fp16 tensors of a row unit, one row each: the values, and one tensor for each further port.
#[must_use]
pub(super) fn wanted(lanes: u32, max_beats: u32, further: &[(&'static str, &'static str)]) -> Vec<Wanted> {
    // One row of gains serves all rows of values.
    let (columns, most) = (Extent::Named("elements"), Extent::UpTo(lanes as usize * max_beats as usize));
    let of = |name, meaning, shape| Wanted { name, meaning, numbers: Numbers::Float16, shape };
    let more = further.iter().map(|&(name, meaning)| of(name, meaning, vec![columns]));
    let columns = if further.is_empty() { most } else { columns };
    std::iter::once(of("values", "rows", vec![Extent::Any, columns])).chain(more).collect()
}

/// The rows that [`wanted`] tensors hold, with the same values next to each.
///
/// # Errors
/// Rows are longer than `most`.
pub(super) fn rows(tensors: &Tensors, most: usize, further: &[&str], beside: &[u64]) -> anyhow::Result<Vec<Elements>> {
    let fp16 = |all: &[u64]| all.iter().map(|&x| x as u16).collect::<Vec<u16>>();
    let row = |row: &[u64]| {
        let more = further.iter().map(|name| fp16(tensors.all(name)));
        let ports: Vec<_> = std::iter::once(fp16(row)).chain(more).collect();
        anyhow::ensure!(ports[0].len() <= most, "values.npy has rows of {}; wanted: 1 to {most} elements", row.len());
        Ok(Elements { ports, beside: beside.to_vec() })
    };
    tensors.rows("values").map(row).collect()
}
