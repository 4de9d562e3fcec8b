//! Which of the papers' headline figures follow from known inputs. The inputs are numbers printed in the papers, in
//! their artefacts and in data sheets; areas of blocks under one script; and formulas of cycles that equal the RTL's.
//!
//! Each figure is a formula of such inputs. If a figure does not follow, its row has the arithmetic that shows why.

mod combination;
mod decoder;
pub mod energy;
mod equal_area;
pub mod kelle;
mod kllm;
pub mod outliers;
mod requantization;
mod row;
mod tender;
pub mod titanus;

pub use row::Row;
use std::fmt::Write;

/// The rows of each paper. Rows that follow from printed numbers come first.
#[must_use]
pub fn rows() -> [(&'static str, Vec<Row>); 8] {
    [
        ("Tender at equal area", [tender::rows(), equal_area::tender()].concat()),
        ("Tender, cycles of whole models", requantization::rows()),
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

#[cfg(test)]
mod tests {
    use super::decoder::Decoder;
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
