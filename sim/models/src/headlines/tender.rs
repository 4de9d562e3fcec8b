//! Tender: work of its models, and the power of the baselines that its ratios imply.

use super::decoder::Decoder;
use super::row::Row;

/// Speed and energy efficiency over ANT, OLAccel and OliVe (sections VI-C and VI-D).
const OVER: [(&str, f64, f64); 3] = [
    ("power of ANT : Tender", 2.63, 1.84),
    ("power of OLAccel : Tender", 1.84, 1.53),
    ("power of OliVe : Tender", 1.48, 1.24),
];

fn row(figure: &'static str, value: f64, decimals: usize, unit: &'static str, basis: &'static str) -> Row {
    Row { figure, paper: "-", value, decimals, unit, accept: None, basis }
}

pub(super) fn rows() -> Vec<Row> {
    let prompt = 2048.0;
    let mut rows = vec![
        row(
            "work of OPT-6.7B",
            Decoder::opt(32.0, 4096.0).work(prompt) / 1e12,
            1,
            "T multiply-accumulates",
            "2,048 tokens; 32 layers of 12 x 4096², and both products of attention",
        ),
        row("work of OPT-66B", Decoder::opt(64.0, 9216.0).work(prompt) / 1e12, 1, "T", "64 layers of 12 x 9216²"),
        row(
            "time of OPT-6.7B on 64 x 64 PEs at 1 GHz, INT4, if none ever waits",
            Decoder::opt(32.0, 4096.0).work(prompt) / (64.0 * 64.0 * 1e9),
            2,
            "s",
            "a product a cycle and PE; INT8 four times as long",
        ),
    ];
    let implied = |&(figure, speed, energy): &(&'static str, f64, f64)| {
        row(figure, energy / speed, 2, "", "energy efficiency : speed-up, as the paper has them")
    };
    rows.extend(OVER.iter().map(implied));
    rows
}
