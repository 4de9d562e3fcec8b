//! The page of a sweep: one HTML file that needs no network, and its drawings as files.
//!
//! `curves` chooses the curves and `chart` draws them, `bars` draws bars, `hierarchy` draws designs, `table` prepares the table. Text and
//! looks are in `templates/`.

mod bars;
mod chart;
mod curves;
mod fit;
mod hierarchy;
mod names;
mod table;

use std::fs;
use std::path::{Component, Path, PathBuf};

use hdl::emit::Manifest;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context, escape_formatter};
use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};
use crate::flows::tools::Versions;
use crate::output::replace;
use crate::params::show;
use crate::point::Stage;
use crate::present::palette;
use crate::sweep::{Plot, Results};
pub use bars::Bar;
use curves::Curves;
use names::url;
use table::Table;

const TEMPLATES: [(&str, &str); 6] = [
    ("report.html", include_str!("../../../templates/report.html")),
    ("section.html", include_str!("../../../templates/section.html")),
    ("report.css", include_str!("../../../templates/report.css")),
    ("colours.css", include_str!("../../../templates/colours.css")),
    ("figure.css", include_str!("../../../templates/figure.css")),
    ("report.js", include_str!("../../../templates/report.js")),
];

/// Designs drawn on a page, at most.
const DIAGRAMS: usize = 6;

/// A drawing of points with two numbers each, x and y, in series by name, and the front of each; a file of its own.
///
/// # Errors
/// No point at all, or one that is not finite.
pub fn front(title: &str, [x, y]: [&str; 2], series: &[(&str, Vec<[f64; 2]>)]) -> Result<String> {
    drawn(title, &Curves::of_points(plot(title, [x, y], true), series), series)
}

fn plot(title: &str, [x, y]: [&str; 2], pareto: bool) -> Plot {
    Plot {
        title: title.into(),
        x: x.into(),
        y: y.into(),
        series: None,
        log: false,
        joined: false,
        pareto,
        conditions: Vec::new(),
    }
}

fn drawn(title: &str, curves: &Curves, series: &[(&str, Vec<[f64; 2]>)]) -> Result<String> {
    let all = series.iter().flat_map(|(_, points)| points).flatten();
    if all.clone().count() == 0 || all.clone().any(|number| !number.is_finite()) {
        return Err(Failure::Check(format!("drawing `{title}`: no points, or some that are not finite")));
    }
    Ok(palette::standalone(&chart::draw(curves)?))
}

/// A drawing of curves on logarithmic axes, a file of its own; points whose x come twice stand alone.
///
/// # Errors
/// No point at all, or one that is not finite.
pub fn lines(title: &str, [x, y]: [&str; 2], series: &[(&str, Vec<[f64; 2]>)]) -> Result<String> {
    let curves = Curves::of_lines(plot(title, [x, y], false), series);
    drawn(title, &curves, series)
}

/// A drawing of bars, a file of its own. Each bar has a length for each of `parts`. A line at `level` crosses all bars.
///
/// # Errors
/// No bar, or a length that is not finite, or below 0, or missing.
pub fn bars(title: &str, unit: &str, parts: &[&str], bars: &[Bar], level: Option<f64>) -> Result<String> {
    Ok(palette::standalone(&bars::draw(title, unit, parts, bars, level)?))
}

/// One sweep.
#[derive(Serialize)]
struct Section {
    id: String,
    title: String,
    about: String,
    block: String,
    summary: String,
    file: String,
    generator: String,
    points: usize,
    failed: usize,
    /// Path from the page to the folder of the sweep, empty or ending in a slash.
    folder: String,
    downloads: Vec<&'static str>,
    table: Table,
    charts: Vec<Drawing>,
    /// Charts for which there are no numbers.
    missing: Vec<String>,
    diagrams: Vec<Drawing>,
    illegal: Vec<Refused>,
    tools: Versions,
    /// The command that made the sweep.
    command: String,
}

/// A drawing on the page and in a file.
#[derive(Serialize)]
struct Drawing {
    title: String,
    svg: String,
    file: String,
}

#[derive(Serialize)]
struct Refused {
    parameters: String,
    reason: String,
}

/// Writes the page of the sweeps in `dirs` to `file`, and their drawings into `plots` in each folder.
///
/// # Errors
/// A folder that holds no sweep, or cannot be written.
pub fn write(dirs: &[PathBuf], file: &Path, catalogue: &Catalogue) -> Result<()> {
    let mut sections = Vec::new();
    for dir in dirs {
        let results = read(dir)?;
        let mut section = section(dir, file, &results, catalogue)?;
        let same = sections.iter().filter(|s: &&Section| s.title == section.title).count();
        section.id = format!("sweep-{}", sections.len() + 1);
        if same > 0 {
            section.title = format!("{} ({})", section.title, dir.display());
        }
        sections.push(section);
    }
    let page = render(&sections)?;
    for (dir, section) in dirs.iter().zip(&sections) {
        for drawing in section.charts.iter().chain(&section.diagrams) {
            replace(&dir.join(&drawing.file), palette::standalone(&drawing.svg).as_bytes())?;
        }
        remove_others(&dir.join("plots"), section)?;
    }
    replace(file, page.as_bytes())
}

/// The block diagram of a design, as an SVG file that stands alone.
#[must_use]
pub fn diagram(manifest: &Manifest) -> String {
    palette::standalone(&hierarchy::draw(manifest))
}

fn read(dir: &Path) -> Result<Results> {
    if !dir.join("results.json").is_file() {
        return Err(Failure::Usage(format!(
            "{} holds no results.json; give the folder of a sweep: `senbazuru sweep FILE -o {0}` fills it",
            dir.display()
        )));
    }
    let results = Results::read(dir)?;
    if results.schema != 1 {
        return Err(Failure::Usage(format!(
            "{}: schema is {}, this senbazuru reads 1; run the sweep again, stored results are taken over",
            dir.join("results.json").display(),
            results.schema
        )));
    }
    if results.points.is_empty() {
        return Err(Failure::Usage(format!("{} has no points", dir.join("results.json").display())));
    }
    Ok(results)
}

/// Drawings that an earlier report left.
fn remove_others(folder: &Path, section: &Section) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let ours: Vec<_> = section.charts.iter().chain(&section.diagrams).map(|d| Path::new(&d.file).file_name()).collect();
    for entry in entries.flatten() {
        let path = entry.path();
        let is_drawing = path.file_stem().and_then(|s| s.to_str()).is_some_and(|stem| {
            let number = stem.strip_prefix("chart-").or_else(|| stem.strip_prefix("design-"));
            number.is_some_and(|n| n.parse::<u32>().is_ok())
        });
        if is_drawing && path.extension().is_some_and(|e| e == "svg") && !ours.contains(&path.file_name()) {
            fs::remove_file(&path).map_err(|e| Failure::file("remove", &path, &e))?;
        }
    }
    Ok(())
}

fn section(dir: &Path, page: &Path, results: &Results, catalogue: &Catalogue) -> Result<Section> {
    let folder = path_between(page.parent().unwrap_or(Path::new("")), dir)?;
    let (mut curves, mut missing) = (Vec::new(), Vec::new());
    for found in curves::all(results) {
        match found {
            Ok(found) => curves.push(found),
            Err(reason) => missing.push(reason),
        }
    }
    let mut charts = Vec::new();
    for (i, one) in curves.iter().enumerate() {
        let svg = chart::draw(one)?;
        charts.push(Drawing { title: one.title.clone(), svg, file: format!("plots/chart-{}.svg", i + 1) });
    }
    let there = |name: &&str| dir.join(name).is_file();
    Ok(Section {
        id: String::new(),
        title: results.title.clone(),
        about: results.about.clone(),
        block: results.block.clone(),
        // The catalogue may have changed since.
        summary: catalogue.find(&results.block).map(|e| e.about().summary.to_owned()).unwrap_or_default(),
        file: results.file.clone(),
        generator: results.generator.clone(),
        points: results.points.len(),
        failed: results.points.iter().filter(|p| !p.passed()).count(),
        table: Table::new(results, &curves, dir, &folder),
        folder,
        downloads: ["results.csv", "results.json", "results.jsonl", "results.sqlite"]
            .into_iter()
            .filter(there)
            .collect(),
        charts,
        missing,
        diagrams: diagrams(results),
        illegal: results
            .illegal
            .iter()
            .map(|i| Refused { parameters: show(&i.parameters), reason: i.reason.clone() })
            .collect(),
        tools: results.tools.clone(),
        command: if results.command.is_empty() {
            // Of a version that did not keep it.
            format!("senbazuru sweep {}", results.file)
        } else {
            results.command.clone()
        },
    })
}

/// The first design, the last, and each between them that is made of other blocks.
fn diagrams(results: &Results) -> Vec<Drawing> {
    let manifests: Vec<(&str, Manifest)> = results
        .points
        .iter()
        .filter_map(|p| {
            let details = &p.stages.iter().find(|s| s.stage == Stage::Gen)?.details;
            Some((p.label.as_str(), serde_json::from_value(details.clone()).ok()?))
        })
        .collect();
    let (mut shapes, mut chosen) = (Vec::new(), Vec::new());
    for (i, (_, manifest)) in manifests.iter().enumerate() {
        let shape = hierarchy::shape(manifest);
        if !shapes.contains(&shape) {
            shapes.push(shape);
            chosen.push(i);
        } else if i + 1 == manifests.len() {
            chosen.push(i);
        }
    }
    let chosen = chosen.into_iter().take(DIAGRAMS).enumerate();
    chosen
        .map(|(number, i)| Drawing {
            title: manifests[i].0.to_owned(),
            svg: hierarchy::draw(&manifests[i].1),
            file: format!("plots/design-{}.svg", number + 1),
        })
        .collect()
}

fn render(sections: &[Section]) -> Result<String> {
    let bug = |e: minijinja::Error| Failure::Check(format!("template of the report: {e:#}"));
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    environment.set_syntax(syntax.trim_blocks(true).lstrip_blocks(true).build().map_err(bug)?);
    // Without the slashes that minijinja would escape: addresses stay legible.
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if matches!(state.auto_escape(), AutoEscape::Html) && !value.is_safe() => {
            out.write_str(&palette::escape(text)).map_err(minijinja::Error::from)
        }
        _ => escape_formatter(out, state, value),
    });
    for (name, source) in TEMPLATES {
        environment.add_template(name, source).map_err(bug)?;
    }
    let json = serde_json::to_vec(sections).map_err(|e| Failure::Check(format!("report: {e}")))?;
    // Scripts that may run on the page carry a word that nothing in the results can know.
    let nonce = blake3::hash(&json).to_hex()[..24].to_owned();
    let page = environment.get_template("report.html").map_err(bug)?;
    page.render(context! {
        sections => Value::from(Serde(sections)),
        nonce,
        generator => concat!("senbazuru ", env!("CARGO_PKG_VERSION")),
    })
    .map_err(bug)
}

/// The way from one folder to another, empty or ending in a slash.
fn path_between(from: &Path, to: &Path) -> Result<String> {
    let absolute = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        std::path::absolute(path).map_err(|e| Failure::file("find", path, &e))
    };
    let (from, to) = (absolute(from)?, absolute(to)?);
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| "..".to_owned());
    let down = to.components().skip(shared).filter_map(|c| match c {
        Component::Normal(name) => Some(url(&name.to_string_lossy())),
        _ => None,
    });
    Ok(up.chain(down).map(|part| part + "/").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_between_folders() {
        let way = |from: &str, to: &str| path_between(Path::new(from), Path::new(to)).unwrap();
        assert_eq!(way("/a/b", "/a/b"), "");
        assert_eq!(way("/a/b", "/a/c d/e"), "../c%20d/e/");
        assert_eq!(way("", "out"), "out/");
        assert_eq!(way("out/x", "out"), "../");
    }
}
