//! A combination that no paper has: Orizuru's outliers with Tender's groups, from parts that are built.
//! docs/perplexity.md has its perplexity.

use super::equal_area;
use super::outliers::{COSTS, INNER};
use super::row::Row;

/// Rows and columns of PEs, and lanes of the vector unit next to the array.
const ARRAY: f64 = 64.0;
/// Orizuru of 4096 values in the paper's structure (docs/blocks/kllm-top.md, Cost): 0.087 of 453 mm².
const ORIZURU: f64 = 0.087 * 453e6;
/// Outputs of the product.
const OUTPUTS: f64 = 4096.0;
/// Groups of channels.
const GROUPS: f64 = 8.0;

/// Cycles of 64 tokens in the array: a tile for each 64 outputs.
fn tiles() -> f64 {
    OUTPUTS / ARRAY * (f64::from(INNER) + GROUPS - 1.0)
}

pub(super) fn rows() -> Vec<Row> {
    let percent = |figure, value: f64, basis| Row {
        figure,
        paper: "-",
        value: 100.0 * value,
        decimals: 1,
        unit: "%",
        accept: None,
        basis,
    };
    let array = ARRAY * ARRAY * equal_area::area("Tender, registers beside");
    let cost = COSTS[1];
    let outliers = 2.0 * f64::from(cost.a_side);
    vec![
        percent(
            "Orizuru of 4096 values : 64 x 64 PEs, area",
            ORIZURU / array,
            "0.087 of `kllm_top`'s 453 mm²; 4,096 `tender_pe` with registers beside the accumulators",
        ),
        percent("64 multiply-adds for outliers : the same", ARRAY * equal_area::area("fp16") / array, "`fp16_mac`"),
        percent(
            "time of finding outliers : time of the array",
            ARRAY * f64::from(cost.row) / tiles(),
            "64 rows of 4096 values, 20 outliers a side, 262 cycles each; 64 tiles of 4,103 cycles for 4096 outputs",
        ),
        percent(
            "time of multiplying outliers : the same",
            ARRAY * outliers * OUTPUTS / ARRAY / tiles(),
            "40 products for each of 64 x 4096 results, 64 a cycle; this can only overlap with the array's work, and takes most of the array's time",
        ),
        percent(
            "the rescales of a tile, the most that fewer groups can save : the same",
            OUTPUTS / ARRAY * (GROUPS - 1.0) / tiles(),
            "7 of 4,103 cycles",
        ),
    ]
}
