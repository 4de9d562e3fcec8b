//! Figure 13 of Tender: explicit and implicit requantization of whole models, by the formula of the array that equals its RTL
//! (`golden::tender::cycles`).

use golden::tender::cycles::ArrayCycles;
use golden::tender::tender_pe::Drain;

use super::Row;

/// A product of all tokens: rows, reduction, columns, and how many there are of it in a layer.
type Product = (u64, u64, u64, u64);

/// Tokens of the prompt.
const TOKENS: u64 = 2048;
/// Rows and columns of PEs.
const ARRAY: u64 = 64;
/// Groups in the figure.
const GROUPS: [u64; 3] = [4, 8, 16];

/// A model's layers.
struct Model {
    name: &'static str,
    width: u64,
    /// Width between the matrices of the feed-forward network, and how many of these come in.
    between: (u64, u64),
    /// Heads of queries, and of keys and values.
    heads: (u64, u64),
}

const MODELS: [Model; 6] = [
    Model { name: "OPT-6.7B", width: 4096, between: (16384, 1), heads: (32, 32) },
    Model { name: "OPT-13B", width: 5120, between: (20480, 1), heads: (40, 40) },
    Model { name: "OPT-66B", width: 9216, between: (36864, 1), heads: (72, 72) },
    Model { name: "Llama-2-7B", width: 4096, between: (11008, 2), heads: (32, 32) },
    Model { name: "Llama-2-13B", width: 5120, between: (13824, 2), heads: (40, 40) },
    Model { name: "Llama-2-70B", width: 8192, between: (28672, 2), heads: (64, 8) },
];

impl Model {
    fn products(&self) -> [Product; 6] {
        let (width, (between, inner)) = (self.width, self.between);
        let head = width / self.heads.0;
        [
            (TOKENS, width, width, 2),
            (TOKENS, width, head * self.heads.1, 2),
            (TOKENS, width, between, inner),
            (TOKENS, between, width, 1),
            (TOKENS, head, TOKENS, self.heads.0),
            (TOKENS, TOKENS, head, self.heads.0),
        ]
    }

    /// Cycles of a layer whose tiles take so long, by their reduction.
    fn cycles(&self, tile: impl Fn(u64) -> u64) -> u64 {
        let tiles = |rows: u64, columns: u64| rows.div_ceil(ARRAY) * columns.div_ceil(ARRAY);
        self.products().iter().map(|&(rows, inner, columns, count)| count * tiles(rows, columns) * tile(inner)).sum()
    }
}

/// How a tile begins behind the one before.
#[derive(Clone, Copy)]
enum Overlap {
    /// Sums leave from registers beside the accumulators.
    Double,
    /// From the accumulators.
    Single,
    /// The array is empty before the next pass enters.
    None,
}

/// Cycles from tile to tile when each is passes of so many steps.
fn period(overlap: Overlap, passes: &[u64]) -> u64 {
    let drain = if matches!(overlap, Overlap::Double) { Drain::Double } else { Drain::Single };
    let array = ArrayCycles { rows: ARRAY, columns: ARRAY, int8: false, drain, pipelined: false };
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

/// The largest ratio over models and numbers of groups, and where it is.
fn most(ratio: impl Fn(&Model, u64) -> f64) -> (f64, &'static str, u64) {
    let all = MODELS.iter().flat_map(|model| GROUPS.iter().map(move |&count| (model, count)));
    let all = all.map(|(model, count)| (ratio(model, count), model.name, count));
    all.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, "", 0))
}

fn explicit(overlap: Overlap) -> (f64, &'static str, u64) {
    most(|model, count| {
        let base = model.cycles(|inner| period(overlap, &[inner]));
        model.cycles(|inner| period(overlap, &groups(inner, count))) as f64 / base as f64
    })
}

fn implicit(overlap: Overlap) -> (f64, &'static str, u64) {
    most(|model, count| {
        let base = model.cycles(|inner| period(overlap, &[inner]));
        model.cycles(|inner| period(overlap, &[inner + count - 1])) as f64 / base as f64
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
            "cycles of a layer's products, attention's among them, of 2,048 tokens; six models, 4, 8, 16 groups: the largest; 64 x 64 PEs",
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
            "only passes shorter than 64 steps cost anything: those of a head's 128 channels",
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
        // The last step's sums: 63 + 63 + 64 + 1 cycles behind it.
        assert_eq!(period(Overlap::None, &[100]), 100 + 191);
        assert_eq!((groups(128, 16), groups(10, 4)), (vec![8; 16], vec![2, 3, 2, 3]));
    }

    #[test]
    fn where_it_is_largest() {
        assert_eq!((explicit(Overlap::Single).1, explicit(Overlap::Single).2), ("Llama-2-7B", 16));
        assert!(MODELS.iter().all(|model| model.width % model.heads.0 == 0));
    }
}
