//! Draws the curves of a page from its tables: of docs/perplexity.md, or of docs/blocks/titanus-core.md.
//!
//! ```sh
//! cargo run -p senbazuru --example page_curves -- docs/perplexity.md docs/images
//! ```

use senbazuru::error::{Failure, Result};
use senbazuru::present::page::lines;

/// Points of a curve.
type Points = Vec<[f64; 2]>;

/// A table of the page: the heads of its columns, and rows of a name and numbers.
struct Table<'a> {
    heads: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
}

impl<'a> Table<'a> {
    /// The first table after the mark `<!-- name -->`.
    fn of(page: &'a str, name: &str) -> Result<Self> {
        let cells = |line: &'a str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
        let (_, behind) = page
            .split_once(&format!("<!-- {name} -->\n"))
            .ok_or_else(|| Failure::Check(format!("the page has no table `{name}`")))?;
        let mut lines = behind.lines().take_while(|line| line.starts_with('|')).map(cells);
        let heads = lines.next().unwrap_or_default();
        Ok(Self { heads, rows: lines.skip(1).collect() })
    }

    /// The numbers of the row that begins with these cells, over the x values that `x` finds in the heads of their
    /// columns.
    fn row(&self, begin: &[&str], x: impl Fn(&str) -> Option<f64>) -> Result<Points> {
        let row = self.rows.iter().find(|row| row.starts_with(begin));
        let row = row.ok_or_else(|| Failure::Check(format!("no row `{}`", begin.join(" | "))))?;
        let points = self.heads.iter().zip(row).skip(begin.len());
        Ok(points.filter_map(|(head, cell)| Some([x(head)?, number(cell)?])).collect())
    }

    /// The numbers below this head, over the x values that `x` finds in the first cells of their rows.
    fn column(&self, head: &str, x: impl Fn(&str) -> Option<f64>) -> Result<Points> {
        let at = self.heads.iter().position(|&cell| cell == head);
        let at = at.ok_or_else(|| Failure::Check(format!("no column `{head}`")))?;
        Ok(self.rows.iter().filter_map(|row| Some([x(row[0])?, number(row.get(at)?)?])).collect())
    }
}

/// The first number of a text.
fn number(text: &str) -> Option<f64> {
    text.split_whitespace().find_map(|word| word.trim_end_matches(['%', ',']).replace(',', "").parse().ok())
}

/// The drawings of the page in `file`, by the names of their own files.
///
/// # Errors
/// No drawing is made from this file; a table of the page, or a row of it, is not there.
pub fn drawings(file: &str, page: &str) -> Result<Vec<(&'static str, String)>> {
    match file.rsplit('/').next() {
        Some("perplexity.md") => perplexities(page),
        Some("titanus-core.md") => engines(page),
        _ => Err(Failure::Usage(format!("{file}: wanted is perplexity.md or titanus-core.md"))),
    }
}

/// How much faster layers become by engines of `titanus_core`, and by operations side by side.
fn engines(page: &str) -> Result<Vec<(&'static str, String)>> {
    let table = Table::of(page, "engines")?;
    let mut series = Vec::new();
    for of in ["a prompt of 64 tokens", "a token after it"] {
        let row = |how| table.row(&[of, how], number);
        let slowest = row("one by one")?.first().map_or(0.0, |[_, cycles]| *cycles);
        for how in ["one by one", "side by side"] {
            let faster = row(how)?.into_iter().map(|[engines, cycles]| [engines, slowest / cycles]).collect();
            series.push((format!("{of}, {how}"), faster));
        }
    }
    let series: Vec<(&str, Points)> =
        series.iter().map(|(name, points): &(String, Points)| (name.as_str(), points.clone())).collect();
    let drawing = lines("titanus_core: layer 14 of SmolLM2-135M", ["engines", "times as fast"], &series)?;
    Ok(vec![("titanus-engines.svg", drawing)])
}

fn perplexities(page: &str) -> Result<Vec<(&'static str, String)>> {
    let outliers = Table::of(page, "outliers")?;
    let kept = Table::of(page, "kelle")?;
    let intervals = Table::of(page, "intervals")?;
    let bits = Table::of(page, "titanus")?;
    let float = Table::of(page, "kllm")?.rows.iter().find(|row| row[0] == "float").and_then(|row| number(row[1]));
    let level = |from: f64, to: f64| float.map(|y| vec![[from, y], [to, y]]).unwrap_or_default();
    let width = |cell: &str| cell.strip_prefix("int").or(cell.strip_suffix(" bits"))?.parse().ok();
    let of_bits = |head| bits.column(head, width);
    let refreshed = |kept, how| intervals.row(&[kept, how], |head| number(head.strip_suffix(" ms")?));
    let draw = |title, axis, series: &[(&str, Points)]| lines(title, [axis, "perplexity"], series);
    Ok(vec![
        (
            "perplexity-kllm.svg",
            draw(
                "KLLM: outliers apart",
                "% of a token's elements",
                &[
                    ("W4A4", outliers.row(&["W4A4"], number)?),
                    ("W4A3", outliers.row(&["W4A3"], number)?),
                    ("float", level(0.5, 10.0)),
                ],
            )?,
        ),
        (
            "perplexity-kelle.svg",
            draw(
                "Kelle: tokens kept",
                "N'",
                &[
                    ("first and recent", kept.row(&["first and recent (StreamingLLM)"], number)?),
                    ("AERP", kept.row(&["AERP, sums after softmax"], number)?),
                    ("float", level(16.0, 128.0)),
                ],
            )?,
        ),
        (
            "perplexity-refresh.svg",
            draw(
                "Kelle: refresh",
                "mean interval, ms",
                &[
                    ("N' = 128, uniform", refreshed("128", "uniform")?),
                    ("N' = 128, 2DRP", refreshed("128", "2DRP")?),
                    ("all, uniform", refreshed("all", "uniform")?),
                    ("all, 2DRP", refreshed("all", "2DRP")?),
                    ("float", level(0.54, 2.06)),
                ],
            )?,
        ),
        (
            "perplexity-titanus.svg",
            draw(
                "Titanus: bits of keys and values",
                "bits",
                &[
                    ("integers, a scale a token", of_bits("integers, a scale a token")?),
                    ("not pruned", of_bits("not pruned")?),
                    ("34 % pruned", of_bits("34 % pruned")?),
                    ("50 % pruned", of_bits("50 % pruned")?),
                    ("float", level(2.0, 8.0)),
                ],
            )?,
        ),
    ])
}

fn main() -> Result<()> {
    let mut files = std::env::args().skip(1);
    let (Some(page), Some(folder)) = (files.next(), files.next()) else {
        return Err(Failure::Usage("give the page, and the folder to draw into".into()));
    };
    let failed = |file: &str, e: &dyn std::fmt::Display| Failure::Check(format!("{file}: {e}"));
    let text = std::fs::read_to_string(&page).map_err(|e| failed(&page, &e))?;
    for (name, drawing) in drawings(&page, &text)? {
        let file = format!("{folder}/{name}");
        std::fs::write(&file, drawing).map_err(|e| failed(&file, &e))?;
    }
    Ok(())
}
