//! Titanus: latency of its two pipelines, bytes and energy of its cache. Cycles and energies come from the authors'
//! simulator. Cycles of our core come from its recurrence.

use super::row::{NO_CLAIM, Row, within};
use crate::cycles::titanus::{Run, Units};

/// Prompts and answers of the runs of figure 12, in tokens.
const PAIRS: [[f64; 2]; 6] = [[32., 32.], [32., 64.], [32., 128.], [64., 64.], [64., 128.], [128., 128.]];
/// Layers of OPT-125M; one on each core.
const LAYERS: f64 = 12.0;
const HERTZ: f64 = 200e6;

/// The cycles of a layer.
struct Core {
    /// Cycles of a token.
    token: f64,
    /// Cycles of the slowest stage.
    stage: f64,
}

/// Both follow from the latencies that the authors' simulator prints for 32 + 32 tokens.
const AUTHORS: Core = Core { token: 1607.0, stage: 554.0 };

/// Cycles of a token after 63 others in a layer of OPT-125M on our core, by stage (`models::cycles::titanus::STAGES`).
/// A test of `testbenches` (`a_token_of_opt`) computes them by the recurrence that equals the RTL.
pub const OURS: [u64; 7] = [942, 3637, 3396, 2412, 3432, 782, 760];

/// Cycles of 32 + 32 tokens on our core, token by token. The recurrence gives the cycles of each operation
/// (`a_run_of_opt` of `testbenches`).
pub const RUN: Run = Run {
    at_once: 79_024,
    plain: 321_245,
    intra_core: [204_218, 161_836, 91_776],
    core_to_core: [366_566, 330_777, 241_387],
    on_cores: [323_805, 300_325, 246_961],
    chained: [474_296, 451_696, 399_212],
    link: 80,
    tokens: 32,
    answer: 456_092,
    layers: 12,
};

/// Our core, stage after stage.
fn ours() -> Core {
    Core { token: OURS.iter().sum::<u64>() as f64, stage: OURS.iter().copied().max().unwrap_or(0) as f64 }
}

impl Core {
    /// Token after token, each through layer after layer.
    fn plain(&self, [prompt, answer]: [f64; 2]) -> f64 {
        (prompt + answer) * self.token * LAYERS
    }

    /// Tokens of the prompt follow each other through the seven stages of a core.
    fn intra_core(&self, [prompt, answer]: [f64; 2]) -> f64 {
        ((prompt + 6.0) * self.stage + answer * self.token) * LAYERS
    }

    /// Tokens follow each other from core to core as well.
    fn core_to_core(&self, [prompt, answer]: [f64; 2]) -> f64 {
        (7.0 * LAYERS + prompt - 1.0) * self.stage + answer * self.token * LAYERS
    }
}

/// Bytes of OPT-125M's weights: twelve squares of 768 a layer.
const WEIGHTS: f64 = LAYERS * 12.0 * 768.0 * 768.0;
/// Keys and values of a token in all layers, a byte each.
const CACHED: f64 = LAYERS * 2.0 * 768.0;

/// How keys and values move.
#[derive(Clone, Copy)]
enum Moved {
    Int8,
    Pruned,
    Cpq,
}

impl Moved {
    /// Bits of an element. Shares of zeros and bit widths come from the authors' configuration for OPT-125M. 0.338 of
    /// the elements are zeros before quantization, and 0.510 after it. Keys have 3 bits, values 2.17.
    fn bits(self) -> f64 {
        let (zeros, codes_of_zero, bits) = (0.338, 0.510, f64::midpoint(3.0, 2.17));
        match self {
            Self::Int8 => 8.0,
            Self::Pruned => 1.0 + (1.0 - zeros) * 8.0,
            Self::Cpq => 1.0 + (1.0 - zeros) + (1.0 - codes_of_zero) * bits,
        }
    }
}

/// Tokens whose keys and values move: each is written once, and a step of decoding reads all cached tokens.
fn moved([prompt, answer]: [f64; 2]) -> f64 {
    prompt + answer + answer * prompt + answer * (answer - 1.0) / 2.0
}

/// Energies that the authors' simulator prints for 32 + 32 tokens, in millijoules.
struct Energy {
    compute: f64,
    cache: f64,
    other: f64,
    weights: f64,
}

const PRINTED: Energy = Energy { compute: 0.815_761, cache: 4.449_862, other: 0.122_412, weights: 35.254_616 };

/// Picojoules a bit of loading weights in the authors' simulator.
pub(super) fn picojoules() -> f64 {
    PRINTED.weights * 1e9 / (WEIGHTS * 8.0)
}

/// Tokens a joule of 32 + 32 tokens if a bit of memory takes so many picojoules, with the weights loaded or without.
pub(super) fn tokens_a_joule(picojoules: f64, weights: bool) -> f64 {
    let cache = moved([32.0, 32.0]) * CACHED * Moved::Cpq.bits();
    let bits = if weights { cache + WEIGHTS * 8.0 } else { cache };
    64.0 / (PRINTED.compute + PRINTED.other + bits * picojoules * 1e-9) * 1e3
}

/// Millijoules of a run. Energy of the cache is proportional to the tokens moved and their bits, all other energy to
/// the number of tokens.
fn energy(run: [f64; 2], how: Moved) -> f64 {
    let reference = [32.0, 32.0];
    (PRINTED.compute + PRINTED.other) * run.iter().sum::<f64>() / 64.0
        + PRINTED.cache * moved(run) / moved(reference) * how.bits() / Moved::Cpq.bits()
}

/// Bytes of a machine that loads weights for every token of the answer, and the cache of so many tokens.
fn reloading([_, answer]: [f64; 2], tokens: f64) -> f64 {
    answer * WEIGHTS + CACHED * tokens
}

fn mean(ratio: impl Fn([f64; 2]) -> f64) -> f64 {
    PAIRS.iter().map(|&run| ratio(run)).sum::<f64>() / PAIRS.len() as f64
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = latency();
    rows.extend(side_by_side());
    rows.extend(cache());
    rows.extend(others());
    rows
}

/// Ratios to other machines.
fn others() -> Vec<Row> {
    let beside =
        |figure, paper, basis| Row { figure, paper, value: NO_CLAIM, decimals: 0, unit: "", accept: None, basis };
    vec![
        beside(
            "energy efficiency and throughput over an A100, OPT-6.7B",
            "159.9, 49.6 (figure 14)",
            "the GPU's tokens a second, watts and lengths of runs are not given",
        ),
        beside("the same over FlightLLM", "34.8, 29.2 (figure 14)", "FlightLLM's lengths of runs are not given"),
    ]
}

fn cache() -> Vec<Row> {
    let of_printed = |with: f64| 64.0 / (PRINTED.compute + PRINTED.cache + PRINTED.other + with) * 1e3;
    vec![
        Row {
            figure: "bits of a cached element under CPQ",
            paper: "-",
            value: Moved::Cpq.bits(),
            decimals: 2,
            unit: "of 8",
            accept: None,
            basis: "1 + 0.662 + 0.490 x 2.585: index, labels and codes; zeros and widths of the authors' configuration for OPT-125M (3 bits, 2.17)",
        },
        Row {
            figure: "energy efficiency of pruning, mean of six runs",
            paper: "1.26 (Figure 13)",
            value: mean(|run| energy(run, Moved::Int8) / energy(run, Moved::Pruned)),
            decimals: 3,
            unit: "",
            accept: within(1.26, 0.05),
            basis: "energies that the authors' simulator prints at P = D = 32, the cache's by its bits and by the tokens moved",
        },
        Row {
            figure: "of CPQ on top",
            paper: "2.04 (Figure 13)",
            value: mean(|run| energy(run, Moved::Pruned) / energy(run, Moved::Cpq)),
            decimals: 3,
            unit: "",
            accept: within(2.04, 0.05),
            basis: "the same",
        },
        Row {
            figure: "tokens a joule, P = D = 32",
            paper: "11,878",
            value: of_printed(0.0),
            decimals: 0,
            unit: "",
            accept: within(11_878.0, 0.001),
            basis: "64 tokens : 5.39 mJ, the printed energies without the energy of loading weights",
        },
        Row {
            figure: "the same with the weights loaded once",
            paper: "-",
            value: of_printed(PRINTED.weights),
            decimals: 0,
            unit: "",
            accept: None,
            basis: "35.25 mJ more, which the simulator prints too",
        },
        Row {
            figure: "fewer memory accesses, everything once",
            paper: "39.4 (Figure 12)",
            value: mean(|run| (WEIGHTS + reloading(run, moved(run))) / (WEIGHTS + CACHED * moved(run))),
            decimals: 1,
            unit: "",
            accept: within(39.4, 0.05),
            basis: "a step reads the tokens that there are, both load weights for the prompt once",
        },
        Row {
            figure: "macros of a core for OPT-6.7B",
            paper: "-",
            value: 80.577 * (4096.0 * 4096.0) / (768.0 * 768.0),
            decimals: 0,
            unit: "mm²",
            accept: None,
            basis: "80.577 mm² of OPT-125M (Table 2) x (4096 : 768)²; 32 such cores",
        },
    ]
}

fn latency() -> Vec<Row> {
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
        Row {
            figure: "c of our core, OPT-125M after 63 tokens",
            paper: "1,607, 24 engines",
            value: ours().token,
            decimals: 0,
            unit: "cycles",
            accept: None,
            basis: "the recurrence of `titanus_core`, which equals the RTL: one engine of 32 multiplications a cycle, a bus of 64 bytes, memory after 20 cycles, weights in macros of 256 x 32; norm, queries, keys and values 942, append and restore 3637, scores 3396, softmax 2412, values 3432, output projection 782, feed-forward network 760",
        },
        Row {
            figure: "of these for products with weights",
            paper: "-",
            value: (OURS[0] + OURS[5] + OURS[6]) as f64,
            decimals: 0,
            unit: "cycles",
            accept: None,
            basis: "the first and the last two of these stages, with their norms and residual sums",
        },
        Row {
            figure: "m of our core, the slowest of its stages",
            paper: "554",
            value: ours().stage,
            decimals: 0,
            unit: "cycles",
            accept: None,
            basis: "append and restore of 64 tokens; of scores, softmax and values, 36 descriptors, a third are products",
        },
        Row {
            figure: "intra-core pipeline with our c and m, mean of six runs",
            paper: "1.33 (Figure 13)",
            value: mean(|run| ours().plain(run) / ours().intra_core(run)),
            decimals: 3,
            unit: "",
            accept: within(1.33, 0.1),
            basis: "the formula above with the recurrence of `titanus_core`; such a pipeline is not built",
        },
        Row {
            figure: "core-to-core pipeline on top",
            paper: "1.22 (Figure 13)",
            value: mean(|run| ours().intra_core(run) / ours().core_to_core(run)),
            decimals: 3,
            unit: "",
            accept: within(1.22, 0.1),
            basis: "the same",
        },
        Row {
            figure: "tokens a second with our c and m, P = D = 32",
            paper: "18,801",
            value: 64.0 * HERTZ / ours().core_to_core([32.0, 32.0]),
            decimals: 0,
            unit: "",
            accept: None,
            basis: "64 tokens at the paper's 200 MHz",
        },
    ]
}

/// Tokens of a prompt side by side on our core.
fn side_by_side() -> Vec<Row> {
    let row = |figure, value, basis| Row { figure, paper: "-", value, decimals: 3, unit: "", accept: None, basis };
    let mut rows = vec![row(
        "prompt as one chain, speed over token by token, P = D = 32",
        RUN.speed_at_once(),
        "`titanus_core` as it is; cycles of each descriptor of 32 + 32 tokens of OPT-125M by the recurrence that equals the RTL, prompts kept token by token or at once",
    )];
    for (split, [on_cores, chained]) in [
        ["a layer on one core of `titanus_chain`", "and tokens from core to core, on top"],
        ["a layer on two: attention, feed-forward network", "the same from core to core, on top"],
        ["a layer on three: queries, keys and values; attention; all else", "the same three from core to core, on top"],
    ]
    .into_iter()
    .enumerate()
    {
        let basis = "the same cycles and the cycles of the links; tokens follow each other through the cores; `titanus_chain` with ideal memory takes the cycles of its recurrence";
        rows.push(row(on_cores, RUN.speed_on_cores(split), basis));
        rows.push(row(chained, RUN.speed_chained(split), "the same"));
    }
    for (units, [intra_core, core_to_core], basis) in [
        (
            Units::Engines,
            ["its three engines side by side", "and tokens from core to core, on top"],
            "the same cycles, each engine on an operation of another token, the bus left out; not built",
        ),
        (
            Units::Apart,
            ["products of weights and of the context side by side too", "the same from core to core, on top"],
            "the same; not built",
        ),
        (
            Units::Stages,
            ["a unit for each of seven stages", "stages of all cores, on top"],
            "the same with the paper's pipeline; 1.419 and 1.277 are the authors' c and m for this run; not built",
        ),
    ] {
        rows.push(row(intra_core, RUN.speed_intra_core(units), basis));
        rows.push(row(core_to_core, RUN.speed_core_to_core(units), "the same"));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of this run by the authors' numbers.
    #[test]
    fn authors_in_one_run() {
        let run = [32.0, 32.0];
        let speeds =
            [AUTHORS.plain(run) / AUTHORS.intra_core(run), AUTHORS.intra_core(run) / AUTHORS.core_to_core(run)];
        let basis = side_by_side().into_iter().rev().nth(1).unwrap().basis;
        for speed in speeds {
            assert!(basis.contains(&format!("{speed:.3}")), "{speed:.3}: {basis}");
        }
    }

    /// The text about our stages has their numbers.
    #[test]
    fn stages_are_named() {
        let row = latency().into_iter().find(|row| row.figure.starts_with("c of our core")).unwrap();
        for cycles in OURS {
            assert!(row.basis.contains(&cycles.to_string()), "{cycles}: {}", row.basis);
        }
    }
}
