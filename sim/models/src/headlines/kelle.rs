//! Kelle: refreshes, and figures that contradict other figures of the paper.

use golden::kelle::lifetime::{self, Lifetime};

use super::decoder::LLAMA_2_7B;
use super::row::{Row, within};
use crate::kelle::refresh::PAPER;

/// Refreshing all of the 4 MB once takes 1.14 mJ (Table 1).
const REFRESH: f64 = 1.14e-3;
/// Bytes a second of LPDDR4 (section 8).
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

/// A task of section 7.1: tokens of its prompt and of its answer, and tokens that are kept.
#[derive(Clone, Copy)]
struct Task {
    prompt: u32,
    answer: u32,
    kept: u32,
}

const LAMBADA: Task = Task { prompt: 128, answer: 512, kept: 128 };
const TRIVIA_QA: Task = Task { prompt: 512, answer: 2048, kept: 1024 };
const QASPER: Task = Task { prompt: 1024, answer: 5120, kept: 1024 };
const PG19: Task = Task { prompt: 512, answer: 8192, kept: 2048 };

/// Watts of the chip and of its DRAM (section 8).
const CHIP: f64 = 6.52;
const DRAM_POWER: f64 = 11.74;

/// Picojoules a bit: the paper's watts of DRAM at its full bandwidth.
pub(super) fn implied_picojoules() -> f64 {
    DRAM_POWER / (DRAM * 8.0) * 1e12
}

/// Power with refreshes at this mean interval. Memory takes so many picojoules a bit, and is never idle.
fn power(interval: f64, picojoules: f64) -> f64 {
    CHIP + REFRESH / interval - REFRESH / mean_interval() + DRAM * 8.0 * picojoules * 1e-12
}

/// Energy with refreshes of all rows each 45 us : energy under 2DRP.
pub(super) fn refreshed(picojoules: f64) -> f64 {
    power(45e-6, picojoules) / power(mean_interval(), picojoules)
}

/// The same with a uniform interval of 0.36 ms.
pub(super) fn refreshed_alike(picojoules: f64) -> f64 {
    power(0.36e-3, picojoules) / power(mean_interval(), picojoules)
}

/// A model whose decoding is limited by memory.
struct Streamed {
    /// Weights, a byte each.
    weights: f64,
    /// Bytes of a token's keys and values in all layers.
    cached: f64,
}

/// 32 layers, width 4096.
const LLAMA_2_7B_STREAMED: Streamed = Streamed { weights: 6.48e9, cached: 2.0 * 32.0 * 4096.0 * 2.0 };
impl Streamed {
    /// Bytes of a step in the mean over a task's answer. So many tokens of each sequence are kept, in this share of
    /// their bytes.
    fn step_of(&self, task: Task, batch: f64, (kept, share): (u32, f64)) -> f64 {
        let steps = task.prompt + 1..=task.prompt + task.answer;
        let tokens: f64 = steps.clone().map(|there| f64::from(kept.min(there))).sum();
        self.weights + batch * share * self.cached * tokens / steps.count() as f64
    }

    /// Bytes of all tokens : bytes of the tokens that a task keeps.
    fn saved(&self, task: Task, batch: f64, share: f64) -> f64 {
        self.step_of(task, batch, (u32::MAX, 1.0)) / self.step_of(task, batch, (task.kept, share))
    }

    /// Bytes of a task's steps : the same without so many bytes that stay on the chip. One sequence.
    fn larger(&self, task: Task, bytes: f64) -> f64 {
        let step = self.step_of(task, 1.0, (u32::MAX, 1.0));
        step / (step - bytes)
    }

    /// Time of a prompt and of an answer at batch 16: all tokens : 2,048 of them. The array limits the prompt, which
    /// takes two passes. Memory limits the steps.
    fn behind(&self, prompt: u32, answer: u32) -> f64 {
        let task = Task { prompt, answer, kept: 2048 };
        let first = 16.0 * 2.0 * f64::from(prompt) * self.weights / ELEMENTS / HERTZ;
        let time = |kept| first + f64::from(answer) * self.step_of(task, 16.0, (kept, 1.0)) / DRAM;
        time(u32::MAX) / time(task.kept)
    }
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = chip();
    rows.extend(bounds());
    rows.extend(directions());
    rows.extend(figures());
    rows
}

/// The content of figures 3, 13, 15a and 16, by arithmetic.
fn figures() -> Vec<Row> {
    let row =
        |figure, paper, value, decimals, accept, basis| Row { figure, paper, value, decimals, unit: "", accept, basis };
    let saved = |task| LLAMA_2_7B_STREAMED.saved(task, 16.0, 1.0);
    // Twice the memory of Table 1.
    let (rest, refresh) = (CHIP - REFRESH / mean_interval() + DRAM_POWER, 2.0 * REFRESH / 45e-6);
    let again = |array: f64, memory: f64| memory / (array + memory);
    let width = LLAMA_2_7B.width;
    vec![
        row(
            "speed with 8 MB : 4 MB of SRAM",
            "1.27 (Figure 3a)",
            LLAMA_2_7B_STREAMED.larger(PG19, 4.0 * f64::from(1 << 20)),
            4,
            within(1.27, 0.2),
            "bytes of a step of PG19, one sequence: 4 MB are 8 of its tokens; the figure does not follow from traffic",
        ),
        row(
            "energy with 8 MB of eDRAM, refreshed each 45 us : never",
            "above 1 (1.7 in Figure 3c)",
            (rest + refresh) / rest,
            2,
            ABOVE_ONE,
            "1.14 mJ for 4 MB (Table 1), other watts as in 8",
        ),
        row(
            "saving by eviction, PG19 : LAMBADA",
            "above 1 (Figure 13: more with longer answers)",
            saved(PG19) / saved(LAMBADA),
            2,
            ABOVE_ONE,
            "bytes of a step, batch 16",
        ),
        row(
            "bytes of a cached token, keys and values : x",
            "above 1 (Figure 15a)",
            LLAMA_2_7B_STREAMED.cached / (LLAMA_2_7B.layers * width * 2.0),
            1,
            ABOVE_ONE,
            "LLaMA-2-7B: as many heads of keys as of queries",
        ),
        row(
            "share of tokens computed again above which the array limits the speed",
            "one of four (8.3.2, Figure 16a)",
            again(3.2, 1.1),
            3,
            within(0.25, 0.05),
            "1.1 : (3.2 + 1.1), as printed",
        ),
        row(
            "the same by the two times above",
            "-",
            again(2.0 * width * width / ELEMENTS / HERTZ, 4.0 * width / DRAM),
            3,
            None,
            "0.26 : (32.8 + 0.26)",
        ),
        row(
            "speed that eviction allows after 16,384 tokens, 8,192 : 128 more",
            "above 1 (Figure 16b)",
            LLAMA_2_7B_STREAMED.behind(16_384, 8192) / LLAMA_2_7B_STREAMED.behind(16_384, 128),
            2,
            ABOVE_ONE,
            "two passes of the prompt through 1,024 PEs, then bytes of steps",
        ),
    ]
}

/// The speed-ups that traffic allows.
fn bounds() -> Vec<Row> {
    let row = |figure, paper, value, basis| Row { figure, paper, value, decimals: 2, unit: "", accept: None, basis };
    let all = [LAMBADA, TRIVIA_QA, QASPER, PG19];
    let mean = |batch: f64, share: f64| {
        all.iter().map(|&task| LLAMA_2_7B_STREAMED.saved(task, batch, share)).sum::<f64>() / 4.0
    };
    let of = |batch: f64| LLAMA_2_7B_STREAMED.saved(PG19, batch, 1.0);
    vec![
        row(
            "speed over SRAM that eviction allows, mean of four tasks",
            "3.94 with all steps (8.1)",
            mean(16.0, 1.0),
            "bytes of a step of LLaMA-2-7B, batch 16: weights of 8 bits, keys and values of 16 of all tokens : of N' (7.1); both wait for 64 GB/s",
        ),
        row(
            "if all of them are computed again",
            "3.94",
            mean(16.0, 0.5),
            "half of the bytes, x instead of keys and values: more than traffic allows does not follow from the paper's numbers",
        ),
        row("PG19, batch 16", "energy 6.67, eviction alone 3.16 (Table 9)", of(16.0), "as in the first row"),
        row("batch 4", "2.23, 1.71", of(4.0), "the same"),
        row("batch 1", "1.71, 1.24", of(1.0), "the same"),
    ]
}

/// Perplexity of SmolLM2-135M with N' = 128 (docs/perplexity.md) at the same number of refreshes: all rows alike, and
/// by class.
pub const TABLE_4: [[f64; 2]; 3] = [[21.23, 17.05], [28.61, 18.45], [75.71, 26.62]];

/// A direction that the paper shows.
const ABOVE_ONE: Option<[f64; 2]> = Some([1.0, f64::INFINITY]);

/// Directions that the paper shows: above 1.
fn directions() -> Vec<Row> {
    let row = |figure, paper, value, accept, basis| Row { figure, paper, value, decimals: 2, unit: "", accept, basis };
    let [short, middle, long] = TABLE_4.map(|[uniform, class]| uniform / class);
    let refreshes = |interval: f64| power(interval, implied_picojoules()) / power(1.05e-3, implied_picojoules());
    vec![
        row(
            "perplexity, refreshed alike : 2DRP, mean interval 0.54 ms",
            "above 1 (Table 4)",
            short,
            ABOVE_ONE,
            "[SmolLM2-135M](perplexity.md#kelle), N' = 128, bits lost as in the golden retention model",
        ),
        row("1.05 ms", "above 1", middle, ABOVE_ONE, "the same"),
        row("2.06 ms", "above 1", long, ABOVE_ONE, "the same"),
        row(
            "perplexity under 2DRP, 2.06 : 0.54 ms",
            "above 1 (Table 4)",
            TABLE_4[2][1] / TABLE_4[0][1],
            ABOVE_ONE,
            "the same",
        ),
        row(
            "energy, refresh each 45 us : 0.36 ms",
            "above 1 (Figure 15b)",
            refreshes(45e-6) / refreshes(0.36e-3),
            ABOVE_ONE,
            "watts: 6.52 without 1.08, 1.14 mJ by the interval, DRAM 11.74",
        ),
        row("0.36 ms : 2DRP", "above 1 (Figure 15b)", refreshes(0.36e-3), ABOVE_ONE, "the same"),
        row(
            "waiting of activations, baseline : scheduler",
            "above 1 (equations 7 and 8)",
            waiting(),
            ABOVE_ONE,
            "LLaMA-2-7B: 6 x 131,072 + 4 x 65,536 cycles : 4 x 131,072 + 65,536",
        ),
    ]
}

/// Lifetimes of the two schedules.
fn waiting() -> f64 {
    let cycles = |of: Lifetime| of.sram as f64 * 131_072.0 + of.edram as f64 * 65_536.0;
    cycles(lifetime::baseline()) / cycles(lifetime::kelle())
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
            paper: "4.13 TOPS (8)",
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
            basis: "two products with 4096 x 4096 weights on 1,024 PEs, one pass",
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
            paper: "at most 16 GB (8)",
            value: (cached * 2048.0 * 16.0 + LLAMA_2_7B.weights()) / 1e9,
            decimals: 1,
            unit: "GB",
            accept: Some([0.0, 16.0]),
            basis: "LLaMA-2-7B: keys and values of 16 bits, 17.2 GB; weights of 8 bits, 6.5 GB",
        },
    ]
}
