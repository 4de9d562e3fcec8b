//! Kelle: refreshes, and figures of the paper that its other figures contradict.

use super::{LLAMA_2_7B, Row, within};
use crate::kelle::refresh::PAPER;

/// Refreshing all of the 4 MB once takes 1.14 mJ (Table 1).
const REFRESH: f64 = 1.14e-3;
/// Bytes a second of LPDDR4 (section 7.1).
const DRAM: f64 = 64e9;
const HERTZ: f64 = 1e9;
/// Processing elements of the array, each a multiply-accumulate a cycle.
const ELEMENTS: f64 = 32.0 * 32.0;

/// Half of the rows are high, half of a row is its upper bytes: the mean of the four rates.
fn mean_interval() -> f64 {
    let rates =
        PAPER.iter().flat_map(|(_, intervals)| [intervals.high, intervals.low]).map(|cycles| 1.0 / cycles as f64);
    4.0 / rates.sum::<f64>() / HERTZ
}

/// A model whose decoding is limited by memory.
struct Streamed {
    /// Weights, a byte each.
    weights: f64,
    /// Bytes of a token's keys and values in all layers.
    cached: f64,
}

/// 28 layers, 8 heads of 128 with keys and values of 16 bits.
const LLAMA_3_2_3B: Streamed = Streamed { weights: 3.21e9, cached: 2.0 * 28.0 * 1024.0 * 2.0 };
/// 40 layers, width 5120.
const LLAMA_2_13B: Streamed = Streamed { weights: 13.02e9, cached: 2.0 * 40.0 * 5120.0 * 2.0 };

impl Streamed {
    /// Bytes of a step at batch 16 in the mean over PG19, 8,192 tokens behind 512, if so many tokens are kept.
    fn step(&self, kept: u32) -> f64 {
        let steps = 512 + 1..=512 + 8192;
        let tokens: f64 = steps.clone().map(|there| f64::from(kept.min(there))).sum();
        self.weights + 16.0 * self.cached * tokens / steps.count() as f64
    }

    /// How many times the bytes of the largest budget of table 7 are those of this one.
    fn gain(&self, kept: u32) -> f64 {
        self.step(8750) / self.step(kept)
    }
}

/// Table 7, each beside its last column.
fn budgets() -> impl Iterator<Item = Row> {
    const BASIS: &str = "bytes of a step, batch 16: all weights of 8 bits (3.21 G, 13.02 G) and min(N', tokens) keys and values of 16, mean over 512 + 8,192 tokens";
    let rows = [
        (
            "energy efficiency, LLaMA-3.2-3B, N' 2048 : 8750",
            "1.77 (Table 7)",
            8.07 / 4.55,
            LLAMA_3_2_3B.gain(2048),
            BASIS,
        ),
        ("N' 3500", "1.51", 6.89 / 4.55, LLAMA_3_2_3B.gain(3500), "the same"),
        ("N' 5250", "1.27", 5.77 / 4.55, LLAMA_3_2_3B.gain(5250), "the same"),
        ("N' 7000", "1.13", 5.13 / 4.55, LLAMA_3_2_3B.gain(7000), "the same"),
        ("LLaMA-2-13B, N' 2048 : 8750", "1.63 (Table 7)", 5.06 / 3.11, LLAMA_2_13B.gain(2048), "the same"),
        ("N' 3500", "1.49", 4.62 / 3.11, LLAMA_2_13B.gain(3500), "the same"),
        ("N' 5250", "1.29", 4.02 / 3.11, LLAMA_2_13B.gain(5250), "the same"),
        ("N' 7000", "1.11", 3.46 / 3.11, LLAMA_2_13B.gain(7000), "the same"),
    ];
    rows.into_iter().map(|(figure, paper, printed, value, basis)| Row {
        figure,
        paper,
        value,
        decimals: 2,
        unit: "",
        accept: within(printed, 0.2),
        basis,
    })
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = chip();
    rows.extend(budgets());
    rows
}

fn chip() -> Vec<Row> {
    let width = LLAMA_2_7B.width;
    let cached = 2.0 * LLAMA_2_7B.layers * width * 2.0;
    vec![
        Row {
            figure: "mean refresh interval under 2DRP",
            paper: "1.05 ms (7.1)",
            value: mean_interval() * 1e3,
            decimals: 3,
            unit: "ms",
            accept: within(1.05, 0.005),
            basis: "4 / (1/0.36 + 1/5.4 + 1/1.44 + 1/7.2)",
        },
        Row {
            figure: "refresh power, all at 45 us",
            paper: "-",
            value: REFRESH / 45e-6,
            decimals: 1,
            unit: "W",
            accept: None,
            basis: "1.14 mJ for all of 4 MB (Table 1) : 45 us; the whole chip has 6.52 W",
        },
        Row {
            figure: "refresh power under 2DRP",
            paper: "-",
            value: REFRESH / mean_interval(),
            decimals: 2,
            unit: "W",
            accept: None,
            basis: "the same by the mean interval",
        },
        Row {
            figure: "peak of the array",
            paper: "4.13 TOPS (7.1)",
            value: 2.0 * ELEMENTS * HERTZ / 1e12,
            decimals: 2,
            unit: "TOPS",
            accept: within(4.13, 0.01),
            basis: "2 x 32 x 32 x 1 GHz",
        },
        Row {
            figure: "keys and values of a token computed again",
            paper: "3.2 us (8.3.2)",
            value: 2.0 * width * width / ELEMENTS / HERTZ * 1e6,
            decimals: 1,
            unit: "us",
            accept: within(3.2, 0.05),
            basis: "two products with 4096 x 4096 weights of LLaMA-2-7B on 1,024 PEs, one pass; two passes of 8 bits take twice that",
        },
        Row {
            figure: "the same from memory",
            paper: "1.1 us (8.3.2)",
            value: 4.0 * width / DRAM * 1e6,
            decimals: 2,
            unit: "us",
            accept: within(1.1, 0.05),
            basis: "16 KB at 64 GB/s",
        },
        Row {
            figure: "memory in use, PG19 at batch 16, N' = 2048",
            paper: "at most 16 GB (7.1)",
            value: (cached * 2048.0 * 16.0 + LLAMA_2_7B.weights()) / 1e9,
            decimals: 1,
            unit: "GB",
            accept: Some([0.0, 16.0]),
            basis: "LLaMA-2-7B: keys and values of 16 bits, 17.2 GB; weights of 8 bits, 6.5 GB",
        },
    ]
}
