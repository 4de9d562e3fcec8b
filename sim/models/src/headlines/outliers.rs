//! Figure 10a of KLLM: throughput lost to the search for outliers, and to the outliers themselves. One token is
//! multiplied with 4096 x 4096 weights, on `kllm_top` in the paper's structure.
//!
//! The cycles come from the golden recurrence, which equals the RTL. A test of `testbenches` computes them again.

use super::row::Row;

/// The cost of outliers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Outliers of a token on each side.
    pub a_side: u32,
    /// Cycles of a token's product with a panel of 512 channels, weights in a bank; a mean of random positions.
    pub product: f64,
    /// Cycles until a row has become a token.
    pub row: u32,
}

/// Positions of a token.
pub const INNER: u32 = 4096;
/// Panels of as many channels.
const PANELS: f64 = 4096.0 / 512.0;

/// 16 lanes of 32 columns with 16 inputs, Orizuru of 4096 values, on a bus of 512 bits: none, 1, 3 and 10 % of
/// outliers.
pub const COSTS: [Cost; 4] = [
    Cost { a_side: 0, product: 257.0, row: 142 },
    Cost { a_side: 20, product: 260.8125, row: 262 },
    Cost { a_side: 61, product: 281.6875, row: 508 },
    Cost { a_side: 204, product: 457.75, row: 1366 },
];

/// Share of throughput that is lost to the search. KLLM-S finds the same outliers by thresholds, so its rows take as
/// long as rows without outliers.
fn lost_to_search(cost: &Cost) -> f64 {
    let product = PANELS * cost.product;
    100.0 * (1.0 - (product + f64::from(COSTS[0].row)) / (product + f64::from(cost.row)))
}

/// Share of throughput that is lost relative to no outliers. The search runs during the product before, or it does not.
fn lost(cost: &Cost, hidden: bool) -> f64 {
    let time = |cost: &Cost| PANELS * cost.product + if hidden { 0.0 } else { f64::from(cost.row) };
    100.0 * (1.0 - time(&COSTS[0]) / time(cost))
}

pub(super) fn rows() -> Vec<Row> {
    let row = |figure, paper, value, accept, basis| Row { figure, paper, value, decimals: 1, unit: "%", accept, basis };
    vec![
        row(
            "throughput below KLLM-S, 1 % of outliers",
            "6 to 8 % (Figure 10a)",
            lost_to_search(&COSTS[1]),
            Some([4.8, 9.6]),
            "one token times 4096 x 4096, cycles of `kllm_top` in the paper's structure, weights in time",
        ),
        row("with 3 %", "-", lost_to_search(&COSTS[2]), None, "the same"),
        row("with 10 %", "-", lost_to_search(&COSTS[3]), None, "the same"),
        row(
            "lost to 1 % of outliers, beside none",
            "-",
            lost(&COSTS[1], false),
            None,
            "search, and beats that come again",
        ),
        row(
            "the same if the search runs during the product before",
            "-",
            lost(&COSTS[1], true),
            None,
            "only beats that come again for outliers of the same beat, and a cycle more between tokens",
        ),
        row("to 3 %, beside none", "-", lost(&COSTS[2], false), None, "search, and beats that come again"),
        row(
            "to 10 %, beside none",
            "-",
            lost(&COSTS[3], false),
            None,
            "the same: beats with several outliers come as often",
        ),
    ]
}
