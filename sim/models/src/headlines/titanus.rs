//! Titanus: latency of its two pipelines. Cycles are those of the authors' simulator until our core measures its own.

use super::{Row, within};

/// Prompts and answers of the runs of figure 12, in tokens.
const PAIRS: [[f64; 2]; 6] = [[32., 32.], [32., 64.], [32., 128.], [64., 64.], [64., 128.], [128., 128.]];
/// Layers of OPT-125M; one on each core.
const LAYERS: f64 = 12.0;
const HERTZ: f64 = 200e6;

/// What a layer takes.
struct Core {
    /// Cycles of a token.
    token: f64,
    /// Cycles of the slowest stage.
    stage: f64,
}

/// Both follow from the latencies that the authors' simulator prints for 32 + 32 tokens.
const AUTHORS: Core = Core { token: 1607.0, stage: 554.0 };

impl Core {
    /// A token after the other through a layer after the other.
    fn plain(&self, [prompt, answer]: [f64; 2]) -> f64 {
        (prompt + answer) * self.token * LAYERS
    }

    /// Tokens of the prompt follow each other through the seven stages of a core.
    fn intra_core(&self, [prompt, answer]: [f64; 2]) -> f64 {
        ((prompt + 6.0) * self.stage + answer * self.token) * LAYERS
    }

    /// And from core to core.
    fn core_to_core(&self, [prompt, answer]: [f64; 2]) -> f64 {
        (7.0 * LAYERS + prompt - 1.0) * self.stage + answer * self.token * LAYERS
    }
}

pub(super) fn rows() -> Vec<Row> {
    let mean = |ratio: fn([f64; 2]) -> f64| PAIRS.map(ratio).iter().sum::<f64>() / PAIRS.len() as f64;
    vec![
        Row {
            figure: "intra-core pipeline, speed, mean of six runs",
            paper: "1.33 (Figure 13)",
            value: mean(|run| AUTHORS.plain(run) / AUTHORS.intra_core(run)),
            decimals: 3,
            unit: "",
            accept: within(1.33, 0.05),
            basis: "(P + D) c L : ((P + 6) m + D c) L; c = 1607 cycles of a token and m = 554 of the slowest stage, from the latencies of the authors' simulator at P = D = 32; L = 12",
        },
        Row {
            figure: "core-to-core pipeline on top",
            paper: "1.22 (Figure 13)",
            value: mean(|run| AUTHORS.intra_core(run) / AUTHORS.core_to_core(run)),
            decimals: 3,
            unit: "",
            accept: within(1.22, 0.05),
            basis: "the same : (7 L + P - 1) m + D c L",
        },
        Row {
            figure: "tokens a second, P = D = 32",
            paper: "18,801",
            value: 64.0 * HERTZ / AUTHORS.core_to_core([32.0, 32.0]),
            decimals: 0,
            unit: "",
            accept: within(18_801.0, 0.001),
            basis: "64 tokens at 200 MHz; fitted, since c and m come from this run",
        },
    ]
}
