//! Speed at equal area: processing elements of the baselines and ours, mapped by one script.
//!
//! The areas are in `areas.json`: square micrometres in osu018 without wires. A test of `gen` maps the blocks again and
//! compares. At equal area and clock the speed of a machine is its number of products an area.

use std::sync::LazyLock;

use super::kllm;
use super::row::{Row, within};

static AREAS: LazyLock<Vec<(String, f64)>> = LazyLock::new(|| {
    let all: Vec<serde_json::Value> = serde_json::from_str(include_str!("areas.json")).unwrap_or_default();
    let entry = |of: &serde_json::Value| Some((of["name"].as_str()?.to_owned(), of["area"].as_f64()?));
    all.iter().filter_map(entry).collect()
});

/// Area of a part.
pub(super) fn area(name: &str) -> f64 {
    AREAS.iter().find(|(of, _)| of == name).map_or(f64::NAN, |(_, area)| *area)
}

/// Lanes of a PE group of OLAccel.
const LANES: f64 = 16.0;
/// Share of weights, and of activations, that are outliers (OLAccel, abstract: about 3 % of all data).
const OUTLIERS: f64 = 0.03;
/// How much longer a product of operands of 8 bits takes than one of 4.
const BYTES: f64 = 4.0;
/// The speed over ANT and OLAccel that the paper prints.
const ANT: f64 = 2.63;
const OLACCEL: f64 = 1.84;

/// OliVe's and ANT's PE : Tender's.
pub(super) fn olive() -> f64 {
    area("OliVe") / area("Tender")
}

/// Share of steps in which more than one of a group's weights is an outlier. Such a step takes two cycles.
fn second_steps() -> f64 {
    let none = (1.0 - OUTLIERS).powf(LANES);
    let one = LANES * OUTLIERS * (1.0 - OUTLIERS).powf(LANES - 1.0);
    1.0 - none - one
}

/// Area of a lane, with its part of the groups for outlier activations.
fn olaccel_lane() -> f64 {
    (area("OLAccel") + OUTLIERS / (1.0 - OUTLIERS) * area("OLAccel, outlier activations")) / LANES
}

/// Time of OLAccel : Tender at equal area, all operands of 4 bits but for outliers.
pub(super) fn olaccel() -> f64 {
    olaccel_lane() / area("Tender, registers beside") * (1.0 + second_steps())
}

/// Time with this share of products of 8 bits, from the time without such products.
pub(super) fn with_bytes(time: f64, share: f64) -> f64 {
    time * (1.0 + (BYTES - 1.0) * share)
}

/// The share with which the time is the paper's.
pub(super) fn share_of_bytes(time: f64, printed: f64) -> f64 {
    (printed / time - 1.0) / (BYTES - 1.0)
}

/// The share that ANT needs for the paper's figure.
pub(super) fn share_of_ant() -> f64 {
    share_of_bytes(olive(), ANT)
}

/// The share that OLAccel needs for the paper's figure.
pub(super) fn share_of_olaccel() -> f64 {
    share_of_bytes(olaccel(), OLACCEL)
}

fn row(
    figure: &'static str,
    paper: &'static str,
    (value, decimals, unit): (f64, usize, &'static str),
    basis: &'static str,
) -> Row {
    Row { figure, paper, value, decimals, unit, accept: None, basis }
}

pub(super) fn tender() -> Vec<Row> {
    let accept = |accept, row: Row| Row { accept: Some(accept), ..row };
    let mut rows = vec![
        accept(
            [1.3, 1.7],
            row(
                "speed over OliVe",
                "1.48",
                (olive(), 2, ""),
                "`exponent_pe` : `tender_pe`, exponents of 4 bits, one set of sums; 4 bits throughout",
            ),
        ),
        row(
            "the same, with registers beside the accumulators",
            "-",
            (area("OliVe, registers beside") / area("Tender, registers beside"), 2, ""),
            "parts that both have make the ratio smaller",
        ),
        row(
            "the same, exponents of 3 bits",
            "-",
            (area("OliVe, exponents of 3 bits") / area("Tender"), 2, ""),
            "enough for types of 4 bits, not for types of 8 bits",
        ),
        row(
            "a lane of OLAccel : PE of Tender, area",
            "-",
            (area("OLAccel") / LANES / area("Tender, registers beside"), 2, ""),
            "a sixteenth of `outlier_pe_group`; registers beside the sums in both, none that pass operands on in OLAccel's",
        ),
        row(
            "the same with groups for outlier activations",
            "-",
            (olaccel_lane() / area("Tender, registers beside"), 2, ""),
            "one of 16-bit activations for each 32, as 3 % of outliers need (OLAccel, abstract)",
        ),
        row(
            "steps of two cycles",
            "-",
            (100.0 * second_steps(), 1, "%"),
            "more than one outlier among 16 weights, at 3 %",
        ),
        accept(
            [1.5, 2.2],
            row(
                "speed over OLAccel, 4 bits throughout",
                "1.84",
                (olaccel(), 2, ""),
                "area of its lanes, and steps of two cycles; 1.84 does not follow without layers of 8 bits",
            ),
        ),
        row(
            "share of products of 8 bits that 1.84 needs",
            "not given",
            (100.0 * share_of_olaccel(), 0, "%"),
            "each takes four times as long",
        ),
    ];
    for (figure, share) in [
        ("speed over ANT, no products of 8 bits", 0.0),
        ("a quarter of them", 0.25),
        ("half", 0.5),
        ("three quarters", 0.75),
        ("all", 1.0),
    ] {
        let value = with_bytes(olive(), share);
        rows.push(row(
            figure,
            if share == 0.0 { "2.63" } else { "-" },
            (value, 2, ""),
            "PE of OliVe; a product of 8 bits takes four times as long",
        ));
    }
    let needed = 100.0 * share_of_ant();
    rows.push(row(
        "share of products of 8 bits that 2.63 needs",
        "\"most of the layers\" (VI-C)",
        (needed, 0, "%"),
        "not given; with most of the products in 8 bits it would be 3.5 times or more",
    ));
    rows
}

/// Areas of PEs in square micrometres at 28 nm, from BitMoD's public simulator (`bitmod_sim`).
const PUBLIC_OLIVE: f64 = 1318.6;
const PUBLIC_BITMOD: f64 = 1507.7;
const PUBLIC_FP16: f64 = 1968.7;
/// Products of a PE of BitMoD: four in as many cycles as a weight has terms.
const BITMOD_LANES: f64 = 4.0;
/// Logic of the lanes of `kllm_top` in the paper's structure, square micrometres (docs/blocks/kllm-top.md, Cost): 0.727
/// of 453 mm².
const OUR_LANES: f64 = 0.727 * 453e6;

pub(super) fn kllm() -> Vec<Row> {
    let pairs = kllm::PAIRS;
    let printed = kllm::ALL_LANES[0] * 1e6 / pairs;
    let ours = OUR_LANES / pairs;
    // A floating-point PE in both libraries gives the ratio of the libraries.
    let scaled = ours * PUBLIC_FP16 / area("fp16");
    let olive = |row: Row| Row { paper: "1.37", accept: within(1.37, 0.3), ..row };
    let bitmod = |row: Row| Row { paper: "1.45", accept: within(1.45, 0.3), ..row };
    vec![
        row(
            "area of a pair a cycle, KLLM",
            "-",
            (printed, 0, "µm²"),
            "lanes of Table I, 8.25 mm² for 16 x 32 x 16 pairs",
        ),
        olive(row(
            "speed over OliVe",
            "",
            (PUBLIC_OLIVE / printed, 2, ""),
            "PE of BitMoD's public simulator, 1318.6 µm², a product a cycle; counting alone, equal clocks",
        )),
        bitmod(row(
            "speed over BitMoD, weights of 4 bits",
            "",
            (PUBLIC_BITMOD / (BITMOD_LANES / 2.0) / printed, 2, ""),
            "1507.7 µm², four products in two cycles",
        )),
        bitmod(row(
            "the same, weights of 6 bits",
            "",
            (PUBLIC_BITMOD / (BITMOD_LANES / 3.0) / printed, 2, ""),
            "in three cycles",
        )),
        bitmod(row(
            "the same, weights of 8 bits",
            "",
            (PUBLIC_BITMOD / (BITMOD_LANES / 4.0) / printed, 2, ""),
            "in four cycles; which the paper ran is not given",
        )),
        row(
            "area of a pair a cycle, our lanes",
            "-",
            (ours, 0, "µm²"),
            "logic of the lanes of `kllm_top` in the paper's structure, osu018",
        ),
        row(
            "the same at 28 nm",
            "-",
            (scaled, 0, "µm²"),
            "by the ratio of a floating-point PE: 1968.7 µm² of the simulator to `fp16_mac`",
        ),
        olive(row(
            "speed over OliVe, our lanes and public PEs",
            "",
            (PUBLIC_OLIVE / scaled, 2, ""),
            "the same PE; logic of the lanes of `kllm_top`, scaled to 28 nm",
        )),
        bitmod(row(
            "speed over BitMoD, the same",
            "",
            (PUBLIC_BITMOD / (BITMOD_LANES / 2.0) / scaled, 2, ""),
            "weights of 4 bits",
        )),
        olive(row(
            "speed over OliVe, our lanes and PEs",
            "",
            (area("OliVe, registers beside") / ours, 2, ""),
            "`exponent_pe`, one script",
        )),
        bitmod(row(
            "speed over BitMoD, the same",
            "",
            (area("BitMoD") / (BITMOD_LANES / 2.0) / ours, 2, ""),
            "`bit_serial_pe`, weights of 4 bits",
        )),
        row(
            "either, if both saturate 1.54 TB/s",
            "1.37, 1.45",
            (1.0, 2, ""),
            "decoding one token waits for weights, 4 bits in each of the three: whatever the area of PEs",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_area() {
        for name in [
            "Tender",
            "Tender, registers beside",
            "OliVe",
            "OliVe, registers beside",
            "OliVe, exponents of 3 bits",
            "OLAccel",
            "OLAccel, outlier activations",
            "BitMoD",
            "fp16",
        ] {
            assert!(area(name) > 1000.0, "{name}");
        }
    }

    /// 16 lanes at 3 %: none 0.614, one 0.304.
    #[test]
    fn steps_by_hand() {
        assert!((second_steps() - 0.0818).abs() < 5e-5, "{}", second_steps());
        assert_eq!(share_of_bytes(1.0, 4.0), 1.0);
        assert_eq!(with_bytes(1.5, 1.0), 6.0);
    }
}
