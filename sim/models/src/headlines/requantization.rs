//! Figure 13 of Tender: explicit and implicit requantization of whole models. The formula of the array equals its RTL
//! (`golden::tender::cycles`).

use golden::tender::cycles::ArrayCycles;
use golden::tender::tender_pe::Drain;

use super::row::Row;
use crate::cycles::shapes::{Model, model};

/// A product of all tokens: rows, reduction, columns, and how often a layer has the product.
type Product = (u64, u64, u64, u64);

/// Tokens of the prompt.
const TOKENS: u64 = 2048;
/// Rows and columns of PEs.
const ARRAY: u64 = 64;
/// Groups in the figure.
const GROUPS: [u64; 3] = [4, 8, 16];

/// The figure's models.
fn models() -> impl Iterator<Item = (&'static str, Model)> {
    let names = ["OPT-6.7B", "OPT-13B", "OPT-66B", "Llama-2-7B", "Llama-2-13B", "Llama-2-70B"];
    names.into_iter().filter_map(|name| Some((name, model(name)?)))
}

fn products(model: &Model) -> impl Iterator<Item = Product> {
    let (head, heads) = (model.head, model.heads[0]);
    let weights = model.projections().map(|[inputs, outputs, count]| (TOKENS, inputs, outputs, count));
    weights.into_iter().chain([(TOKENS, head, TOKENS, heads), (TOKENS, TOKENS, head, heads)])
}

/// Cycles of a layer, given the cycles of a tile for each reduction.
fn cycles(model: &Model, tile: impl Fn(u64) -> u64) -> u64 {
    let tiles = |rows: u64, columns: u64| rows.div_ceil(ARRAY) * columns.div_ceil(ARRAY);
    products(model).map(|(rows, inner, columns, count)| count * tiles(rows, columns) * tile(inner)).sum()
}

/// How a tile begins after the tile before.
#[derive(Clone, Copy)]
enum Overlap {
    /// Sums leave from registers beside the accumulators.
    Double,
    /// Sums leave from the accumulators.
    Single,
    /// The array is empty before the next pass enters.
    None,
}

/// Cycles from tile to tile if each tile takes passes of so many steps.
fn period(overlap: Overlap, passes: &[u64]) -> u64 {
    let drain = if matches!(overlap, Overlap::Double) { Drain::Double } else { Drain::Single };
    let array = ArrayCycles { rows: ARRAY, columns: ARRAY, int8: false, drain, ranks: 0 };
    if matches!(overlap, Overlap::None) {
        return passes.iter().map(|&steps| steps + array.drain()).sum();
    }
    let lasts = array.lasts(&[passes, passes].concat());
    lasts[2 * passes.len() - 1] - lasts[passes.len() - 1]
}

/// Passes of a tile whose channels are cut into groups of equal length.
fn groups(inner: u64, count: u64) -> Vec<u64> {
    (0..count).map(|k| (inner * (k + 1) / count - inner * k / count).max(1)).collect()
}

/// The largest ratio over models and numbers of groups, and its model and number.
fn most(ratio: impl Fn(&Model, u64) -> f64) -> (f64, &'static str, u64) {
    let all = models().flat_map(|model| GROUPS.map(|count| (model, count)));
    let all = all.map(|((name, model), count)| (ratio(&model, count), name, count));
    all.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, "", 0))
}

fn explicit(overlap: Overlap) -> (f64, &'static str, u64) {
    most(|model, count| {
        let base = cycles(model, |inner| period(overlap, &[inner]));
        cycles(model, |inner| period(overlap, &groups(inner, count))) as f64 / base as f64
    })
}

fn implicit(overlap: Overlap) -> (f64, &'static str, u64) {
    most(|model, count| {
        let base = cycles(model, |inner| period(overlap, &[inner]));
        cycles(model, |inner| period(overlap, &[inner + count - 1])) as f64 / base as f64
    })
}

pub(super) fn rows() -> Vec<Row> {
    let row = |figure, paper, value, accept, basis| Row { figure, paper, value, decimals: 3, unit: "", accept, basis };
    vec![
        row(
            "implicit requantization : one scale",
            "about 1 (Figure 13)",
            implicit(Overlap::Double).0,
            Some([1.0, 1.02]),
            "cycles of a layer's products, 2,048 tokens, 64 x 64 PEs; the largest of six models and three numbers of groups",
        ),
        row(
            "explicit : one scale, sums leave from the accumulators",
            "up to 1.74 (Figure 13)",
            explicit(Overlap::Single).0,
            Some([1.4, 1.8]),
            "the same; groups of equal length, a pass each: Llama-2-7B with 16",
        ),
        row(
            "the same, from registers beside them",
            "-",
            explicit(Overlap::Double).0,
            None,
            "only passes shorter than 64 steps cost time: the passes over a head's 128 channels",
        ),
        row(
            "the same, from an array that empties between passes",
            "-",
            explicit(Overlap::None).0,
            None,
            "a drain and a refill for each group; the paper's figure is between this and the one above",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_by_hand() {
        assert_eq!(period(Overlap::Double, &[100, 10]), 164);
        assert_eq!(period(Overlap::Single, &[100, 10]), 100 + 10 + 2 * 65);
        // The sums of the last step come 63 + 63 + 64 + 1 cycles after it.
        assert_eq!(period(Overlap::None, &[100]), 100 + 191);
        assert_eq!((groups(128, 16), groups(10, 4)), (vec![8; 16], vec![2, 3, 2, 3]));
    }

    #[test]
    fn where_it_is_largest() {
        assert_eq!((explicit(Overlap::Single).1, explicit(Overlap::Single).2), ("Llama-2-7B", 16));
        assert_eq!(models().count(), 6);
    }
}
