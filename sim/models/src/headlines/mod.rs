//! Which of the papers' headline figures follow from known inputs. The inputs are numbers printed in the papers, in
//! their artefacts and in data sheets; areas of blocks under one script; and formulas of cycles that equal the RTL's.
//!
//! Each figure is a formula of such inputs. If a figure does not follow, its row has the arithmetic that shows why.

mod combination;
pub mod energy;
mod equal_area;
pub mod kelle;
mod kllm;
pub mod outliers;
mod requantization;
mod tender;
pub mod titanus;

use std::fmt::Write;

/// A figure of a paper, and the value that follows from printed numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of the figure.
    pub figure: &'static str,
    /// The paper's value as it prints it, and where.
    pub paper: &'static str,
    /// The result of the formula; [`NO_CLAIM`] if the printed numbers do not suffice for a formula.
    pub value: f64,
    /// Decimals to print.
    pub decimals: usize,
    /// Unit.
    pub unit: &'static str,
    /// Smallest and largest value that agree with the paper; none if the paper has no such figure.
    pub accept: Option<[f64; 2]>,
    /// The formula with its inputs and their sources.
    pub basis: &'static str,
}

impl Row {
    /// Whether the formula agrees with the paper, if the paper has the figure.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        self.accept.map(|[least, most]| (least..=most).contains(&self.value))
    }

    /// What the table says of it; `sign`: the direction alone is compared.
    fn verdict(&self) -> &'static str {
        match self.agrees() {
            Some(true) if self.accept.is_some_and(|[_, most]| most.is_infinite()) => "sign",
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        }
    }
}

/// The value of a figure whose conditions are not given.
const NO_CLAIM: f64 = f64::NAN;

/// Accepts values up to this relative distance from the paper's value.
const fn within(paper: f64, share: f64) -> Option<[f64; 2]> {
    Some([paper * (1.0 - share), paper * (1.0 + share)])
}

/// The rows of each paper. Rows that follow from printed numbers come first.
#[must_use]
pub fn rows() -> [(&'static str, Vec<Row>); 9] {
    [
        ("Tender at equal area", [tender::rows(), equal_area::tender()].concat()),
        ("Tender, cycles of whole models", requantization::rows()),
        ("Tender, energy", energy::rows()),
        ("KLLM", kllm::rows()),
        ("KLLM at equal area", equal_area::kllm()),
        ("KLLM, cycles of outliers", outliers::rows()),
        ("Kelle", kelle::rows()),
        ("Titanus", titanus::rows()),
        ("Orizuru's outliers beside Tender's groups", combination::rows()),
    ]
}

/// The rows as Markdown: `all`, or the rows of the page. The page has figures that follow or do not, and figures without
/// a claim.
#[must_use]
pub fn markdown(all: bool) -> String {
    let mut text = String::new();
    for (name, mut rows) in rows() {
        rows.retain(|row| all || matches!(row.verdict(), "yes" | "no") || row.value.is_nan());
        if rows.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "\n## {name}\n\n| figure | paper | follows | agrees | from |\n| --- | --- | ---: | --- | --- |\n"
        );
        for row in rows {
            let agrees = row.verdict();
            let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
            let Row { figure, paper, value, decimals, basis, .. } = row;
            let follows = if value.is_nan() { "no claim".into() } else { format!("{value:.decimals$}{unit}") };
            let _ = writeln!(text, "| {figure} | {paper} | {follows} | {agrees} | {basis} |");
        }
    }
    if all { text + &energy::markdown() } else { text }
}

/// A stack of decoder layers.
struct Decoder {
    layers: f64,
    width: f64,
    /// Weights of a layer in squares of the width.
    squares: f64,
}

impl Decoder {
    /// Attention of four squares, a feed-forward network of two matrices of 4 x width.
    const fn opt(layers: f64, width: f64) -> Self {
        Self { layers, width, squares: 12.0 }
    }

    /// Weights of the layers.
    fn weights(&self) -> f64 {
        self.layers * self.squares * self.width * self.width
    }

    /// Multiply-accumulates of so many tokens from the beginning: weights, and scores and values of all pairs of
    /// tokens.
    fn work(&self, tokens: f64) -> f64 {
        self.weights() * tokens + 2.0 * self.layers * tokens * tokens * self.width
    }
}

/// LLaMA-2-7B: four squares of 4096 in attention, three matrices of 4096 x 11008.
const LLAMA_2_7B: Decoder = Decoder { layers: 32.0, width: 4096.0, squares: 4.0 + 3.0 * 11008.0 / 4096.0 };

#[cfg(test)]
mod tests {
    use super::*;

    /// Exactly the figures that are known not to follow are rejected.
    #[test]
    fn verdicts() {
        let rejected: Vec<&str> = rows()
            .iter()
            .flat_map(|(_, rows)| rows.iter().filter(|row| row.agrees() == Some(false)).map(|row| row.figure))
            .collect();
        assert_eq!(
            rejected,
            [
                "speed over OLAccel, 4 bits throughout",
                "over ANT",
                "speed over an A100, LLaMA-2-7B",
                "A3 : A4, throughput",
                "speed over BitMoD, weights of 4 bits",
                "speed over BitMoD, the same",
                "speed over OliVe, our lanes and PEs",
                "peak of the array",
                "keys and values of a token computed again",
                "the same from memory",
                "memory in use, PG19 at batch 16, N' = 2048",
                "speed with 8 MB : 4 MB of SRAM",
                "fewer memory accesses, everything once",
            ]
        );
    }

    #[test]
    fn work_of_opt() {
        // tender.txt, section VI: a prompt of 2048 tokens.
        assert_eq!((Decoder::opt(32.0, 4096.0).work(2048.0) / 1e11).round(), 143.0);
        assert_eq!((Decoder::opt(64.0, 9216.0).work(2048.0) / 1e11).round(), 1385.0);
    }

    /// The numbers for Table 4 are also in docs/perplexity.md.
    #[test]
    fn perplexities_are_those_of_the_page() {
        let page = include_str!("../../../../docs/perplexity.md");
        let row = |refresh: usize| {
            let cells: Vec<String> = kelle::TABLE_4.iter().map(|both| format!("{:.2}", both[refresh])).collect();
            cells.join(" | ")
        };
        for (name, refresh) in [("uniform", 0), ("2DRP", 1)] {
            assert!(page.contains(&format!("| 128 | {name} | {}", row(refresh))), "{name}: {}", row(refresh));
        }
    }

    #[test]
    fn page_is_fresh() {
        let page = include_str!("../../../../docs/headlines.md");
        let (_, tables) = page.split_once("<!-- headlines -->\n").unwrap();
        let (tables, _) = tables.split_once("<!-- /headlines -->").unwrap();
        let fresh = markdown(false);
        assert!(
            tables == fresh,
            "`cargo run -p senbazuru-models --example headlines` prints what belongs there:\n{fresh}"
        );
    }
}
