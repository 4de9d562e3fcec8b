//! KLLM: sums of its Table I, the roofline of a token, and the inputs that its ratios need.

use super::decoder::LLAMA_2_7B;
use super::row::{Row, within};

/// Table I: area in mm² and power in W of all lanes.
pub(super) const ALL_LANES: [f64; 2] = [8.25, 5.73];
/// Power of a lane's concat units, counters, MACs.
const CONCAT: f64 = 8.36e-2;
const COUNTERS: f64 = 6.14e-2;
const MACS: f64 = 1.96e-1;
const LANES: f64 = 16.0;
/// Output buffer, index buffer, codebook buffer, clustering unit, Orizuru; the power of the functional unit is
/// illegible.
const CHIP: [[f64; 2]; 5] =
    [[4.61, 5.70e-1], [2.16, 5.40e-1], [8.44e-3, 2.11e-3], [2.11e-1, 7.10e-1], [7.39e-1, 2.73e-1]];
const FUNCTIONAL_AREA: f64 = 8.89e-1;
/// The exponent is missing in print; with this one the sum is right.
const FUNCTIONAL_POWER: f64 = 0.563;
const OUTPUT_BUFFER: [f64; 2] = CHIP[0];
const POWER: f64 = 8.96;

/// Bytes a second: 24 channels of 64 GB/s.
const HBM: f64 = 24.0 * 64e9;
/// An A100 of 80 GB (data sheet).
const A100: f64 = 2.039e12;
const A100_POWER: f64 = 400.0;
/// Pairs a cycle: 16 lanes of 32 counters of 16 inputs.
pub(super) const PAIRS: f64 = LANES * 32.0 * 16.0;
/// Pairs a second at 500 MHz.
const COUNTED: f64 = PAIRS * 500e6;
/// Speed and energy efficiency of KLLM-A4 and -A3 over an A100 (section V).
const SPEED: [f64; 2] = [8.66, 9.67];
const EFFICIENCY: f64 = 229.5;

/// Share of energy by power (Figure 10b, Table I): how long each part is busy, relative to the concat units.
fn duty(share: f64, power: f64) -> f64 {
    (share / power) / (33.46 / (LANES * CONCAT))
}

/// Weights of a token's products, including the product with the vocabulary.
fn weights() -> f64 {
    LLAMA_2_7B.weights() + 32_000.0 * LLAMA_2_7B.width
}

fn roofline() -> f64 {
    (weights() * 0.5 / HBM).max(weights() / COUNTED)
}

/// Watts that the paper's energy efficiency over an A100 leaves for chip and memory.
fn power_left() -> f64 {
    A100_POWER * SPEED[1] / EFFICIENCY
}

/// Picojoules a bit that are left for memory at its full bandwidth.
pub(super) fn implied_picojoules() -> f64 {
    (power_left() - POWER) / (HBM * 8.0) * 1e12
}

/// Energy efficiency over an A100 if a bit of memory takes so many picojoules.
pub(super) fn efficiency(picojoules: f64) -> f64 {
    A100_POWER * SPEED[1] / (POWER + HBM * 8.0 * picojoules * 1e-12)
}

pub(super) fn rows() -> Vec<Row> {
    let row = |figure, paper, (value, decimals, unit), basis| Row {
        figure,
        paper,
        value,
        decimals,
        unit,
        accept: None,
        basis,
    };
    let sum = |k: usize| ALL_LANES[k] + CHIP.iter().map(|of| of[k]).sum::<f64>();
    let speed = weights() * 2.0 / A100 / roofline();
    vec![
        Row {
            accept: within(16.87, 0.0005),
            ..row("sum of Table I, area", "16.87 mm²", (sum(0) + FUNCTIONAL_AREA, 2, "mm²"), "as printed")
        },
        Row {
            accept: within(POWER, 0.0005),
            ..row(
                "sum of Table I, power",
                "8.96 W",
                (sum(1) + FUNCTIONAL_POWER + OUTPUT_BUFFER[1], 2, "W"),
                "only with the output buffer counted twice, and 0.563 W of the functional unit, which is illegible",
            )
        },
        row(
            "weights of a token, LLaMA-2-7B",
            "-",
            (weights() * 0.5 / HBM * 1e3, 2, "ms"),
            "6.61 G weights of 4 bits at 24 x 64 GB/s",
        ),
        row("counting of a token", "-", (weights() / COUNTED * 1e3, 2, "ms"), "16 x 32 x 16 pairs a cycle at 500 MHz"),
        Row {
            accept: within(SPEED[0], 0.1),
            ..row(
                "speed over an A100, LLaMA-2-7B",
                "8.66 (A4)",
                (speed, 1, ""),
                "both saturate their memory: fp16 weights at 2.039 TB/s, weights of 4 bits at 24 x 64 GB/s",
            )
        },
        row(
            "use of the A100's bandwidth that 8.66 needs",
            "not given",
            (100.0 * speed / SPEED[0], 0, "%"),
            "the quotient of the two",
        ),
        Row {
            accept: within(SPEED[1] / SPEED[0], 0.02),
            ..row(
                "A3 : A4, throughput",
                "1.117",
                (1.0, 3, ""),
                "weights have 4 bits in both, and counting takes as long",
            )
        },
        row(
            "power that 229.5 times the energy efficiency leaves",
            "-",
            (power_left(), 1, "W"),
            "400 W of an A100 x 9.67 : 229.5; the chip alone has 8.96 W",
        ),
        row("and HBM with it", "-", (implied_picojoules(), 2, "pJ/bit"), "at its full 1.54 TB/s; HBM2 takes about 4"),
        row(
            "duty of counters beside concat units",
            "-",
            (duty(27.65, LANES * COUNTERS), 2, ""),
            "share of energy (Figure 10b) : power (Table I)",
        ),
        row("of MACs", "-", (duty(21.02, LANES * MACS), 2, ""), "the same"),
        row("of Orizuru", "-", (duty(6.59, CHIP[4][1]), 2, ""), "the same"),
        row("of the clustering unit", "-", (duty(1.73, CHIP[3][1]), 2, ""), "the same"),
    ]
}
