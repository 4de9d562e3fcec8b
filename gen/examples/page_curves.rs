//! Draws the charts of a page from its tables. `PAGES` has all such pages.
//!
//! ```sh
//! cargo run -p senbazuru --example page_curves -- docs/perplexity.md docs/images
//! ```

use senbazuru::error::{Failure, Result};
use senbazuru::present::page::{Bar, bars, lines};

/// The pages that have charts of their tables.
pub const PAGES: [&str; 5] =
    ["docs/perplexity.md", "docs/comparison.md", "docs/headlines.md", "docs/layout.md", "docs/blocks/titanus-core.md"];

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
        Self::after(page, &format!("<!-- {name} -->\n"))
    }

    /// The table whose first head this is.
    fn headed(page: &'a str, head: &str) -> Result<Self> {
        let at = page.find(&format!("| {head} |")).map_or("", |at| &page[at..]);
        Self::after(at, "")
    }

    fn after(page: &'a str, mark: &str) -> Result<Self> {
        let cells = |line: &'a str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
        let missing = || Failure::Check(format!("the page has no table at `{mark}`"));
        let (_, behind) = page.split_once(mark).filter(|_| !page.is_empty()).ok_or_else(missing)?;
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
        Some("comparison.md") => energies(page),
        Some("headlines.md") => Ok(vec![figures(page)?, ladders(page)?, overlaps(page)?]),
        Some("layout.md") => clocks(page),
        _ => Err(Failure::Usage(format!("{file}: wanted is one of {}", PAGES.join(", ")))),
    }
}

/// Where the energy of each machine goes.
fn energies(page: &str) -> Result<Vec<(&'static str, String)>> {
    let head = "µJ at 64 B a cycle";
    let table = Table::headed(page, head)?;
    let (mut drawn, mut work) = (Vec::new(), "");
    for row in &table.rows {
        work = if row[0].is_empty() { work } else { row[0] };
        let parts: Vec<f64> = row[2..7].iter().filter_map(|cell| number(cell)).collect();
        let all = parts.iter().sum::<f64>();
        drawn.push(Bar {
            group: work.into(),
            name: row[1].into(),
            parts: parts.iter().map(|part| 100.0 * part / all).collect(),
            note: format!("{} µJ", row[7]),
        });
    }
    let title = "Where the energy goes, a layer of Llama-2-7B, 64 bytes a cycle";
    let drawing = bars(title, "% of the energy of a machine", &table.heads[2..7], &drawn, None)?;
    Ok(vec![("comparison-energy.svg", drawing)])
}

/// Steps of the papers' ladders of energy: what follows here, divided by what is printed.
fn ladders(page: &str) -> Result<(&'static str, String)> {
    let table = Table::of(page, "ladders")?;
    let steps = table.rows.iter().filter_map(|row| {
        // Not of a figure such as `above 1`.
        let printed = number(row[1].split_whitespace().next()?)?;
        let ratio = number(row[2])? / printed;
        Some(Bar { group: String::new(), name: row[0].into(), parts: vec![ratio], note: format!("{ratio:.2}") })
    });
    let title = "Steps of energy that follow here : the paper's";
    let drawing = bars(title, "ratio; the line is 1", &["ratio"], &steps.collect::<Vec<_>>(), Some(1.0))?;
    Ok(("headlines-ladders.svg", drawing))
}

/// Letters of a name that leave room for its bar.
const NAME: usize = 46;

/// A figure of a paper and what follows: the smaller one divided by the larger one, by the headings of the page.
fn figures(page: &str) -> Result<(&'static str, String)> {
    let missing = || Failure::Check("the page has no tables `headlines`".into());
    let (_, text) = page.split_once("<!-- headlines -->").ok_or_else(missing)?;
    let (text, _) = text.split_once("<!-- /headlines -->").ok_or_else(missing)?;
    let (mut drawn, mut group) = (Vec::new(), "");
    for line in text.lines() {
        group = line.strip_prefix("## ").unwrap_or(group);
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, paper, follows, _, _] = cells[..] else { continue };
        let printed = paper.split(" (").next().unwrap_or(paper);
        let Some(found) = number(follows) else { continue };
        // Of a range, the end that is nearer.
        let ends = printed.split_whitespace().filter_map(number);
        let Some(figure) = ends.min_by(|a, b| (a - found).abs().total_cmp(&(b - found).abs())) else { continue };
        let mut name = name.replace('`', "");
        while name.chars().count() > NAME
            && let Some((short, _)) = name.rsplit_once(", ")
        {
            name = short.to_owned();
        }
        let (above, ratio) = (found > figure, (found / figure).min(figure / found));
        let parts = if above { vec![0.0, ratio] } else { vec![ratio, 0.0] };
        drawn.push(Bar { group: group.into(), name, parts, note: format!("{follows}, paper {printed}") });
    }
    let (title, unit) = ("Figures of the papers, and what follows", "smaller one : larger one; the line is 1");
    let parts = ["not above the paper's", "above the paper's"];
    Ok(("headlines-figures.svg", bars(title, unit, &parts, &drawn, Some(1.0))?))
}

/// How much faster layers become by operations side by side.
fn overlaps(page: &str) -> Result<(&'static str, String)> {
    let table = Table::headed(page, "top")?;
    let (mut drawn, mut top) = (Vec::new(), "");
    for row in &table.rows {
        let [of, tokens, slow, fast, times] = row[..] else { continue };
        // A row without a name belongs to the top above it.
        top = if of.is_empty() { top } else { of };
        let link = top.strip_prefix('[').and_then(|link| link.split_once(']'));
        let name = link.map_or(top, |(text, _)| text).replace('`', "");
        let (Some(before), Some(after)) = (number(slow), number(fast)) else { continue };
        drawn.push(Bar {
            group: String::new(),
            name: format!("{name}, {tokens} {}", if tokens == "1" { "token" } else { "tokens" }),
            parts: vec![before / after],
            note: format!("{times}: {fast} cycles"),
        });
    }
    let title = "Operations side by side, layer 14 of SmolLM2-135M";
    let drawing = bars(title, "times as fast as one by one; the line is 1", &["times"], &drawn, Some(1.0))?;
    Ok(("headlines-overlaps.svg", drawing))
}

/// Clocks of layouts, and what wires take of them.
fn clocks(page: &str) -> Result<Vec<(&'static str, String)>> {
    let table = Table::headed(page, "block")?;
    let at = |head: &str| {
        let place = table.heads.iter().position(|&cell| cell == head);
        place.ok_or_else(|| Failure::Check(format!("no column `{head}`")))
    };
    let (without, with) = (at("MHz without wires")?, at("MHz with wires")?);
    let rows = table.rows.iter().filter_map(|row| {
        let [without, with] = [number(row[without])?, number(row[with])?];
        let (name, note) = (row[0].replace('`', ""), format!("{with} of {without}"));
        Some(Bar { group: String::new(), name, parts: vec![with, without - with], note })
    });
    let rows: Vec<Bar> = rows.collect();
    let drawing = bars("Clock of placed and routed blocks", "MHz", &["with wires", "lost to wires"], &rows, None)?;
    Ok(vec![("layout-clock.svg", drawing)])
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

/// Perplexity over the bits of weights and activations: scales, and Tender's groups with ranges of two texts.
fn scales(page: &str) -> Result<Vec<(String, Points)>> {
    let table = Table::of(page, "tender")?;
    let (mut found, mut ranges): (Vec<(String, Points)>, &str) = (Vec::new(), "");
    for row in &table.rows {
        ranges = row[0].split_once("from ").map_or(ranges, |(_, ranges)| ranges);
        let name = match row[0] {
            "8 groups" => format!("Tender, 8 groups, from {ranges}"),
            name if name.starts_with("a scale") => name.to_owned(),
            _ => continue,
        };
        // The papers' columns follow.
        let columns = table.heads.iter().zip(row).skip(1).take(2);
        let point = |(head, cell): (&&str, &&str)| Some([number(head.strip_prefix("INT")?)?, number(cell)?]);
        found.push((name, columns.filter_map(point).collect()));
    }
    Ok(found)
}

/// Perplexity of products with caches over what a step moves: a curve for each cache.
fn caches(page: &str) -> Result<Vec<(&str, Points)>> {
    let missing = || Failure::Check("the page has no list `caches`".into());
    let (_, list) = page.split_once("<!-- caches -->").ok_or_else(missing)?;
    let (list, _) = list.split_once("<!-- /caches -->").ok_or_else(missing)?;
    let mut found: Vec<(&str, Points)> = Vec::new();
    for (name, numbers) in list.lines().filter_map(|line| line.split_once(": ")) {
        let mut numbers = numbers.split(", ").map(number);
        let (Some((_, cache)), Some(Some(y)), Some(Some(x))) = (name.split_once('+'), numbers.next(), numbers.next())
        else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| *known == cache) {
            Some((_, points)) => points.push([x, y]),
            None => found.push((cache, vec![[x, y]])),
        }
    }
    Ok(found)
}

fn perplexities(page: &str) -> Result<Vec<(&'static str, String)>> {
    let scales = scales(page)?;
    let mut of_scales: Vec<(&str, Points)> =
        scales.iter().map(|(name, points)| (name.as_str(), points.clone())).collect();
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
    of_scales.push(("float", level(4.0, 8.0)));
    let steps = "MB of a step of 16 sequences; left KLLM, then Tender, right float";
    Ok(vec![
        ("perplexity-tender.svg", draw("Tender and plain integers", "bits", &of_scales)?),
        ("perplexity-caches.svg", draw("Products with caches", steps, &caches(page)?)?),
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
