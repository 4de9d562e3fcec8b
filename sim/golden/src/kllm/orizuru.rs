//! Orizuru: the k largest and the k smallest values of a vector, streamed one by one.
//!
//! KLLM section IV-C and Figure 7. Three independent layers:
//! - [`top_k`] defines the selection, by plain sorting;
//! - [`Tree`] follows the paper's algorithm and counts its comparisons;
//! - [`comparison_bound`] is the paper's closed form, 1.5 N + 2 k log2 N.
//!
//! [`Trace`] combines the first two into the beats that a testbench expects; [`Timing`] gives their cycles.
//!
//! Values are raw bit patterns in a [`Format`]. Order is [`Format::total_cmp`]; a tie goes to the
//! lower index on both sides. The two sides are independent: with a large k an element is in both.

mod input;
mod timing;
mod tree;

use std::cmp::Ordering;

use crate::format::Format;

use input::check_input;
pub use input::{NanPolicy, OrizuruError, Pop, Side};
pub use timing::Timing;
pub use tree::{InitCount, Tree};

/// The selection of both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK {
    /// Largest first; at most `k_max` elements.
    pub max: Vec<Pop>,
    /// Smallest first; at most `k_min` elements.
    pub min: Vec<Pop>,
    /// One per input element: whether either side selected it.
    pub mask: Vec<bool>,
}

/// Selects the `k_max` largest and the `k_min` smallest of `values` by sorting.
///
/// A side is shorter than its k if fewer elements are available.
///
/// # Errors
/// There are no values, the format has a wrong width, or a value does not fit the format.
pub fn top_k(values: &[u64], k_max: usize, k_min: usize, format: Format, nan: NanPolicy) -> Result<TopK, OrizuruError> {
    let available: Vec<bool> = values.iter().map(|&raw| nan.admits(format, raw)).collect();
    top_k_of(values, &available, (k_max, k_min), format)
}

/// The same among the `available` values. Values after the end of `available` are not available.
///
/// # Errors
/// As [`top_k`].
pub fn top_k_of(
    values: &[u64],
    available: &[bool],
    (k_max, k_min): (usize, usize),
    format: Format,
) -> Result<TopK, OrizuruError> {
    check_input(values, format)?;
    let first = |k: usize, order: &dyn Fn(&usize, &usize) -> Ordering| -> Vec<Pop> {
        let mut all: Vec<usize> = (0..values.len()).filter(|&i| available.get(i) == Some(&true)).collect();
        if k < all.len() {
            // No two are equal, so the first k are the same ones in any order.
            all.select_nth_unstable_by(k, order);
            all.truncate(k);
        }
        all.sort_by(order);
        all.into_iter().map(|index| Pop { index, value: values[index] }).collect()
    };
    let ascending = |a: &usize, b: &usize| format.total_cmp(values[*a], values[*b]);
    let max = first(k_max, &|a, b| ascending(b, a).then(a.cmp(b)));
    let min = first(k_min, &|a, b| ascending(a, b).then(a.cmp(b)));
    let mut mask = vec![false; values.len()];
    for pop in max.iter().chain(&min) {
        mask[pop.index] = true;
    }
    Ok(TopK { max, min, mask })
}

/// One expected beat of a side's output stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The selected element.
    pub pop: Pop,
    /// Whether the stream ends here: the k-th beat, or no leaf is left.
    pub last: bool,
    /// Comparisons of the maintenance that this pop causes.
    pub comparisons: u64,
    /// Maintenance comparisons of this side so far, this pop's included, initialisation excluded.
    pub cumulative: u64,
}

/// The expected results of one vector.
///
/// The sides do not touch each other's counts, so any interleaving of max and min pops is covered:
/// see [`Trace::comparisons_after`]. A side with k = 0 or without an available leaf has no beat, and
/// so no `last` either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Comparisons to initialise both trees.
    pub init: InitCount,
    /// Beats of the max side.
    pub max: Vec<Beat>,
    /// Beats of the min side.
    pub min: Vec<Beat>,
    /// One per input element: whether either side selects it.
    pub mask: Vec<bool>,
}

impl Trace {
    /// Expected beats of `values`: index and value from [`top_k`], comparison counts from [`Tree`].
    ///
    /// # Errors
    /// As [`top_k`].
    pub fn new(
        values: &[u64],
        k_max: usize,
        k_min: usize,
        format: Format,
        nan: NanPolicy,
    ) -> Result<Self, OrizuruError> {
        let available: Vec<bool> = values.iter().map(|&raw| nan.admits(format, raw)).collect();
        Self::of(values, &available, (k_max, k_min), format)
    }

    /// The same among the `available` values. Values after the end of `available` are not available.
    ///
    /// # Errors
    /// As [`top_k`].
    pub fn of(
        values: &[u64],
        available: &[bool],
        (k_max, k_min): (usize, usize),
        format: Format,
    ) -> Result<Self, OrizuruError> {
        let selected = top_k_of(values, available, (k_max, k_min), format)?;
        let mut tree = Tree::of(values, available, format)?;
        let init = tree.init_count();
        let mut beats = |side, pops: &[Pop]| -> Vec<Beat> {
            let beat = |(i, &pop)| {
                let before = tree.pop_count(side);
                let popped = tree.pop(side);
                debug_assert_eq!(popped, Some(pop), "sorting and tree disagree on {side:?}");
                let cumulative = tree.pop_count(side);
                let last = i + 1 == pops.len();
                Beat { pop, last, comparisons: cumulative - before, cumulative }
            };
            pops.iter().enumerate().map(beat).collect()
        };
        let (max, min) = (beats(Side::Max, &selected.max), beats(Side::Min, &selected.min));
        Ok(Self { init, max, min, mask: selected.mask })
    }

    /// All comparisons after initialisation, `max_pops` pops of the max side and `min_pops` of the
    /// min side, in any order. `None` if a side has fewer beats than that.
    pub fn comparisons_after(&self, max_pops: usize, min_pops: usize) -> Option<u64> {
        let side = |beats: &[Beat], pops: usize| match pops.checked_sub(1) {
            None => Some(0),
            Some(i) => beats.get(i).map(|beat| beat.cumulative),
        };
        Some(self.init.total() + side(&self.max, max_pops)? + side(&self.min, min_pops)?)
    }
}

/// The paper's bound on comparisons, 1.5 N + (k_max + k_min) log2 N, rounded down.
///
/// KLLM section IV-C with k pops per side: 1.5 N + 2 k log2 N. For an `n` that is not a power of two
/// log2 N is the depth of the padded tree, log2 of the next power of two. Saturates at `u64::MAX`.
pub fn comparison_bound(n: usize, k_max: usize, k_min: usize) -> u64 {
    let n = n as u64;
    let depth = u64::from(n.checked_next_power_of_two().map_or(64, u64::trailing_zeros));
    let pops = (k_max as u64).saturating_add(k_min as u64);
    n.saturating_add(n / 2).saturating_add(pops.saturating_mul(depth))
}

/// Number of outliers to keep on each side: `permille` thousandths of `n`, rounded to the nearest, a half up. If any
/// are requested, it is at least 1, so that a short vector has some.
///
/// The paper keeps 0.5 % a side (section III-A), `permille` = 5: 20 of 4,096.
///
/// # Errors
/// [`OrizuruError::Permille`] above 1000.
pub fn outliers_per_side(n: usize, permille: u32) -> Result<usize, OrizuruError> {
    match permille {
        0 => Ok(0),
        1..=1000 => {
            let rounded = (n as u128 * u128::from(permille) + 500) / 1000;
            // At most n, so it fits.
            Ok((rounded as usize).max(n.min(1)))
        }
        _ => Err(OrizuruError::Permille { permille }),
    }
}

#[cfg(test)]
mod tests;
