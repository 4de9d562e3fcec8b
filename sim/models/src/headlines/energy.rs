//! Energy efficiencies as curves over the energy of a bit of DRAM, on which the papers differ by a factor of 80.

use std::fmt::Write;

use super::decoder::Decoder;
use super::{equal_area, kelle, kllm, titanus};

/// A figure as a function of picojoules a bit.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    /// The name of the figure.
    pub name: &'static str,
    /// The paper's value, and its picojoules a bit.
    pub paper: (f64, f64),
    /// Decimals to print.
    decimals: usize,
    /// The inputs of the formula.
    basis: &'static str,
    /// The figure.
    at: fn(f64) -> f64,
}

impl Curve {
    /// The figure at so many picojoules a bit.
    #[must_use]
    pub fn at(&self, picojoules: f64) -> f64 {
        (self.at)(picojoules)
    }
}

/// Columns of the table.
const COLUMNS: [f64; 5] = [0.0, 1.2, 3.9, 12.0, 52.0];
/// HBM2 as in FG-DRAM, whose energy model Tender uses (VI-A): "with the average of 1.21 pJ/bit of activation energy,
/// each HBM2 access incurs 3.92 pJ/bit" (O'Connor et al., Fine-Grained DRAM, MICRO '17, section 2). Elsewhere that
/// paper has 3.97.
const HBM2: f64 = 3.9;

/// Watts of Tender (Table V).
const TENDER_POWER: f64 = 1.60;
/// Seconds of OPT-6.7B's prompt on Tender, if no PE ever waits.
fn seconds() -> f64 {
    Decoder::opt(32.0, 4096.0).work(2048.0) / (64.0 * 64.0 * 1e9)
}

/// Bits from DRAM: all weights, 4 bits each, for every 128 of 2,048 tokens. The activations of 128 tokens with 4096
/// channels fill half of the scratchpad.
fn bits() -> f64 {
    Decoder::opt(32.0, 4096.0).weights() * 4.0 * 2048.0 / 128.0
}

/// Energy of a machine with the same area and watts that is slower by this factor. A share of its products has 8 bits:
/// their operands have twice the bits, and come twice as often.
fn over(speed: f64, share: f64, picojoules: f64) -> f64 {
    let logic = TENDER_POWER * seconds();
    let memory = bits() * picojoules * 1e-12;
    (speed * logic + (1.0 + 3.0 * share) * memory) / (logic + memory)
}

/// All curves.
#[must_use]
pub fn curves() -> Vec<Curve> {
    let tender = "1.60 W for 3.49 s, and 412 Gbit: weights of OPT-6.7B once for each 128 tokens; the other machine takes the same watts for longer, by the factor in the paper";
    vec![
        Curve {
            name: "Tender over OliVe",
            paper: (1.24, HBM2),
            decimals: 2,
            basis: tender,
            at: |x| over(1.48, 0.0, x),
        },
        Curve {
            name: "Tender over OLAccel",
            paper: (1.53, HBM2),
            decimals: 2,
            basis: "the same; products of 8 bits as its speed needs by our areas",
            at: |x| over(1.84, equal_area::share_of_olaccel(), x),
        },
        Curve {
            name: "Tender over ANT",
            paper: (1.84, HBM2),
            decimals: 2,
            basis: "the same",
            at: |x| over(2.63, equal_area::share_of_ant(), x),
        },
        Curve {
            name: "KLLM-A3 over an A100",
            paper: (229.5, kllm::implied_picojoules()),
            decimals: 0,
            basis: "400 W x 9.67 : 8.96 W and a bus of 12.3 Tbit/s that is never idle",
            at: kllm::efficiency,
        },
        Curve {
            name: "Kelle, 2DRP over refreshing each 45 us",
            paper: (1.45, kelle::implied_picojoules()),
            decimals: 2,
            basis: "6.52 W, of them 1.08 of refresh, or 25.3 instead, and 64 GB/s that are never idle; the paper's value is energy of 2DRP and scheduler over SRAM, which never refreshes",
            at: kelle::refreshed,
        },
        Curve {
            name: "the same with a rate of 0.36 ms",
            paper: (1.45, kelle::implied_picojoules()),
            decimals: 2,
            basis: "3.17 W of refresh instead: the uniform interval of the same accuracy (8.3.3)",
            at: kelle::refreshed_alike,
        },
        Curve {
            name: "Titanus, tokens a joule, P = D = 32",
            paper: (11_878.0, titanus::picojoules()),
            decimals: 0,
            basis: "0.94 mJ, and 85 Mbit of keys and values",
            at: |x| titanus::tokens_a_joule(x, false),
        },
        Curve {
            name: "the same, weights loaded once",
            paper: (1_576.0, titanus::picojoules()),
            decimals: 0,
            basis: "and 679 Mbit; the printed value is from the authors' simulator",
            at: |x| titanus::tokens_a_joule(x, true),
        },
    ]
}

/// The curves as a table.
pub(super) fn markdown() -> String {
    let mut text = "\n## Energy efficiency by the energy of a bit of DRAM\n\n| figure | paper, at pJ/bit |".to_owned();
    for column in COLUMNS {
        let _ = write!(text, " {column} |");
    }
    text += " from |\n| --- | --- |";
    text += &" ---: |".repeat(COLUMNS.len());
    text += " --- |\n";
    for curve in curves() {
        let Curve { name, paper: (printed, at), decimals, basis, .. } = curve;
        let _ = write!(text, "| {name} | {printed:.decimals$} at {at:.1} |");
        for column in COLUMNS {
            let _ = write!(text, " {:.decimals$} |", curve.at(column));
        }
        let _ = writeln!(text, " {basis} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without energy of memory the ratio is the speed; with memory alone it is the ratio of bits.
    #[test]
    fn ends_of_the_curves() {
        assert!((over(1.5, 0.5, 0.0) - 1.5).abs() < 1e-12);
        assert!((over(1.5, 0.5, 1e9) - 2.5).abs() < 1e-3);
        assert!((bits() / 1e9 - 412.3).abs() < 0.1, "{}", bits());
    }

    /// `cargo run -p senbazuru --example headline_curves` draws it again.
    #[test]
    fn all_curves_are_drawn() {
        let drawing = include_str!("../../../../docs/images/energy-over-dram.svg");
        for curve in curves() {
            assert!(drawing.contains(&format!(">{}</text>", curve.name)), "{}", curve.name);
        }
    }

    /// A curve from a paper's own numbers alone goes through the paper's value.
    #[test]
    fn curves_meet_the_papers() {
        for curve in curves()
            .iter()
            .filter(|c| c.name.contains("KLLM") || c.name.contains("Titanus") || c.name.contains("loaded"))
        {
            let (printed, at) = curve.paper;
            assert!((curve.at(at) / printed - 1.0).abs() < 0.01, "{} {}", curve.name, curve.at(at));
        }
    }
}
