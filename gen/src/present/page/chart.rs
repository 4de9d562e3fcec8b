//! Draws curves as SVG.

use std::fmt::Write as _;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;

use super::curves::{Curves, Dot, Series};
use super::fit::{Fit, Law};
use super::names::axis_label;
use crate::error::{Failure, Result};
use crate::present::numbers::{decimal, significant};
use crate::present::palette::{COLOURS, Colour, classes, escape};

/// Width of a chart and height of its plane, in pixels.
const WIDTH: u32 = 560;
const HEIGHT: u32 = 300;
/// Margins of the plane, and what its labels take; width of a letter and height of a line of the labels.
const MARGIN: u32 = 6;
const RIGHT: u32 = 14;
const BELOW: u32 = 40;
const LEFT: u32 = 52;
const LETTER: f64 = 7.3;
const LINE: f64 = 16.0;
/// Plotters places everything on whole pixels; it draws larger, for places in between.
const SCALE: u32 = 2;

type Plane<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// The chart with its title and legend.
pub(super) fn draw(curves: &Curves) -> Result<String> {
    let mut plane = String::new();
    let area = SVGBackend::with_string(&mut plane, (WIDTH * SCALE, HEIGHT * SCALE)).into_drawing_area();
    // Drawing into a string fails only when plotters does not like its input.
    draw_plane(curves, &area).map_err(|e| Failure::Check(format!("chart `{}`: {e}", curves.title)))?;
    drop(area);
    let plane = titled(&classes(&plane), curves);

    let mut head = String::new();
    let legend = legend(curves, &mut head);
    let top = legend + 22;
    let _ = writeln!(
        head,
        "<text x=\"8\" y=\"{}\" class=\"f-muted small\">{}</text>",
        top,
        escape(&axis_label(&curves.plot.y))
    );
    let top = top + 4;
    let height = top + HEIGHT;
    let plane = plane.replacen(
        &format!("<svg width=\"{}\" height=\"{}\"", WIDTH * SCALE, HEIGHT * SCALE),
        &format!("<svg y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\""),
        1,
    );
    let title = escape(&curves.title);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n\
         <text x=\"8\" y=\"20\" class=\"f-ink title\">{title}</text>\n{head}{plane}</svg>\n"
    ))
}

/// Writes the legend and gives the height that is used up. Curves with a law have a line each; others stand side by side.
fn legend(curves: &Curves, out: &mut String) -> u32 {
    let (mut x, mut y) = (0, 42);
    for (number, series) in curves.series.iter().enumerate() {
        let law = series.fit.as_ref().map(law).unwrap_or_default();
        let label = &series.name;
        let width = 44 + 7 * label.chars().count() as u32;
        if label.is_empty() && law.is_empty() {
            continue;
        }
        if x > 0 && (!law.is_empty() || x + width > WIDTH) {
            (x, y) = (0, y + 18);
        }
        // A mark without a name says nothing.
        if !label.is_empty() {
            let _ = writeln!(
                out,
                "<g transform=\"translate({} {})\" class=\"f-s{}\">{}</g>",
                x + 14,
                y - 4,
                number % COLOURS + 1,
                shape(number)
            );
            let _ = writeln!(out, "<text x=\"{}\" y=\"{y}\" class=\"f-ink small\">{}</text>", x + 26, escape(label));
        }
        if !law.is_empty() {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{y}\" class=\"f-muted small\" text-anchor=\"end\">{law}</text>",
                WIDTH - 16
            );
        }
        x += if law.is_empty() { width } else { WIDTH };
    }
    if curves.has_front() {
        let of_each = curves.series.len() > 1 && !curves.common_front;
        let words = if of_each { "Pareto front of each" } else { "Pareto front" };
        if x > 0 && x + 44 + 6 * words.len() as u32 > WIDTH {
            (x, y) = (0, y + 18);
        }
        let _ = writeln!(out, "<path class=\"l-muted front\" d=\"M{} {}h16\"/>", x + 6, y - 4);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{y}\" class=\"f-muted small\">{words}</text>", x + 26);
        x += 1;
    }
    if x == 0 { y - 18 } else { y }
}

/// The mark of a curve, around the origin.
fn shape(number: usize) -> String {
    let corners: Vec<String> = outline(number, 4).iter().map(|(x, y)| format!("{x},{y}")).collect();
    if corners.is_empty() { "<circle r=\"4\"/>".into() } else { format!("<polygon points=\"{}\"/>", corners.join(" ")) }
}

/// `y = 208 x^1.31, R² 0.999` with the exponent above the line.
fn law(fit: &Fit) -> String {
    let text = match fit.law {
        Law::Power { factor, exponent } => {
            format!("y = {} x<tspan dy=\"-4\">{}</tspan><tspan dy=\"4\">", significant(factor, 3), decimal(exponent, 2))
        }
        Law::Logarithm { offset, slope } => {
            let sign = if slope < 0.0 { "−" } else { "+" };
            format!("<tspan>y = {} {sign} {} log₂ x", significant(offset, 3), significant(slope.abs(), 3))
        }
        Law::Constant { value } => format!("<tspan>y = {}", significant(value, 4)),
    };
    // Rounded down: 1 means that it is exact to four digits.
    format!("{text}, R² {}</tspan>", decimal((fit.r2 * 1e4).floor() / 1e4, 4))
}

/// Titles of the marks, in the order in which they were drawn.
fn titled(svg: &str, curves: &Curves) -> String {
    let mut dots = curves.dots();
    let mut result = String::new();
    for element in svg.split_inclusive("/>\n") {
        match element.strip_suffix("/>\n").filter(|e| e.contains(" mark\"")).and_then(|e| Some((e, dots.next()?))) {
            Some((element, dot)) => {
                let tag = if element.contains("<circle") { "circle" } else { "polygon" };
                let _ = writeln!(result, "{element}><title>{}</title></{tag}>", escape(&dot.title));
            }
            None => result += element,
        }
    }
    result
}

type Failed = DrawingAreaErrorKind<std::io::Error>;

fn draw_plane(curves: &Curves, area: &DrawingArea<SVGBackend<'_>, Shift>) -> std::result::Result<(), Failed> {
    let x = Axis::of(curves.dots().map(|d| d.x).collect(), curves.log_x, false, curves.categories.is_some());
    let y = Axis::of(curves.dots().map(|d| d.y).collect(), curves.log_y, true, false);
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN * SCALE)
        .margin_right(RIGHT * SCALE)
        .x_label_area_size(BELOW * SCALE)
        .y_label_area_size(LEFT * SCALE)
        .build_cartesian_2d(x.clone(), y.clone())?;
    let small = |colour: Colour| ("sans-serif", 12.0 * f64::from(SCALE) * 1.24).into_font().color(&colour.number());
    let name = |at: &f64| match &curves.categories {
        Some(names) => names.get(at.round() as usize).cloned().unwrap_or_default(),
        None => x.label(*at),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(Colour::Grid.number().stroke_width(SCALE))
        .axis_style(Colour::Grid.number().stroke_width(SCALE))
        .label_style(small(Colour::Muted))
        .x_labels(x.ticks.len())
        .y_labels(y.ticks.len())
        .x_label_formatter(&name)
        .y_label_formatter(&|at| y.label(*at))
        .x_desc(axis_label(&curves.plot.x))
        .axis_desc_style(small(Colour::Muted))
        .draw()?;
    let place = |px: f64, py: f64| (x.place(px), y.place(py));
    let steps = |dots: &[&Dot]| {
        let mut steps = Vec::new();
        for dot in dots {
            if let Some(&(_, before)) = steps.last() {
                steps.push((x.place(dot.x), before));
            }
            steps.push(place(dot.x, dot.y));
        }
        steps
    };
    let on = |series: &Series, dot: &Dot| series.front.contains(&dot.point);
    if curves.common_front {
        let all = curves.series.iter().flat_map(|s| s.points.iter().filter(|d| on(s, d)));
        let mut dots: Vec<&Dot> = all.collect();
        dots.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
        let style = Colour::Muted.number().stroke_width(SCALE);
        chart.draw_series(DashedLineSeries::new(steps(&dots), 8, 6, style))?;
    }
    for (number, series) in curves.series.iter().enumerate() {
        let dots: Vec<&Dot> = series.points.iter().filter(|d| on(series, d)).collect();
        let style = Colour::Series(number).number().stroke_width(SCALE);
        if !curves.common_front {
            chart.draw_series(DashedLineSeries::new(steps(&dots), 8, 6, style))?;
        }
        chart.draw_series(dots.iter().map(|d| Circle::new(place(d.x, d.y), 8 * SCALE, style)))?;
    }
    for (number, series) in curves.series.iter().enumerate() {
        let line = line_of(series, curves, &place);
        chart.draw_series(LineSeries::new(line, Colour::Series(number).number().stroke_width(SCALE * 3 / 2)))?;
    }
    for (number, series) in curves.series.iter().enumerate() {
        marks(&mut chart, number, series, &place)?;
    }
    let labelled = curves.dots().filter(|dot| !dot.label.is_empty());
    let label = |dot: &Dot| Text::new(dot.label.clone(), (7 * SCALE as i32, -18 * SCALE as i32), small(Colour::Ink));
    chart.draw_series(labelled.map(|dot| EmptyElement::at(place(dot.x, dot.y)) + label(dot)))?;
    area.present()
}

/// The fitted law; without one, the points joined where each x has one of them.
fn line_of(series: &Series, curves: &Curves, place: &impl Fn(f64, f64) -> (f64, f64)) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (series.points.first(), series.points.last()) else { return Vec::new() };
    if let Some(fit) = &series.fit {
        let steps = 32;
        let x = |i: i32| first.x * (last.x / first.x).powf(f64::from(i) / f64::from(steps));
        return (0..=steps).map(|i| place(x(i), fit.law.at(x(i)))).collect();
    }
    let unique = series.points.windows(2).all(|w| w[0].x < w[1].x);
    if !unique || curves.plot.pareto || curves.categories.is_some() {
        return Vec::new();
    }
    series.points.iter().map(|d| place(d.x, d.y)).collect()
}

fn marks(
    chart: &mut Plane<'_>,
    number: usize,
    series: &Series,
    place: &impl Fn(f64, f64) -> (f64, f64),
) -> std::result::Result<(), Failed> {
    let style = Colour::Mark(number).number().filled();
    let shape = outline(number, 4 * SCALE as i32);
    let places = series.points.iter().map(|d| place(d.x, d.y));
    if shape.is_empty() {
        chart.draw_series(places.map(|at| Circle::new(at, 4 * SCALE, style)))?;
    } else {
        chart.draw_series(places.map(|at| EmptyElement::at(at) + Polygon::new(shape.clone(), style)))?;
    }
    Ok(())
}

/// The corners of a mark, none for a circle: colours are not the only difference between curves.
fn outline(number: usize, r: i32) -> Vec<(i32, i32)> {
    match number % 4 {
        0 => vec![],
        1 => vec![(-r, -r), (r, -r), (r, r), (-r, r)],
        2 => vec![(0, -r - r / 4), (r + r / 4, r), (-r - r / 4, r)],
        _ => vec![(0, -r - r / 3), (r + r / 3, 0), (0, r + r / 3), (-r - r / 3, 0)],
    }
}

/// An axis: places are plain numbers or decimal logarithms.
#[derive(Clone)]
struct Axis {
    log: bool,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (from, to): (i32, i32)) -> i32 {
        from + ((place - self.low) / (self.high - self.low) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // The lines that plotters calls light ones are not wanted.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.low..self.high
    }
}

impl Axis {
    /// `upright` is the axis of sizes, which begins at zero unless it is logarithmic.
    fn of(mut values: Vec<f64>, log: bool, upright: bool, categories: bool) -> Self {
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (least, most) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(1.0));
        let least = if upright && !log { least.min(0.0) } else { least };
        let span = if most > least { most - least } else { most.abs().max(1.0) };
        let (low, high) = if log {
            let margin = (0.06 * (most / least).log10()).max(0.08);
            (least.log10() - margin, most.log10() + margin)
        } else {
            let margin = if categories { 0.5 } else { 0.05 * span };
            (if upright && least >= 0.0 { 0.0 } else { least - margin }, most + margin)
        };
        let mut axis = Self { log, low, high, ticks: Vec::new() };
        // Powers of two get ticks at the sizes of arrays, which a reader looks for. Other numbers get round ticks.
        let own: Vec<f64> = values.iter().map(|value| axis.place(*value)).collect();
        // Measured values, such as 4124.98, are no sizes.
        let short = values.iter().all(|&value| value.fract() == 0.0 || significant(value, 4) == significant(value, 6));
        let roomy = || categories || own.windows(2).all(|w| axis.fit(w[0], w[1], upright));
        if !upright && own.len() <= 9 && (short || categories) && roomy() {
            axis.ticks = own;
            return axis;
        }
        let round = if log {
            log_ticks(low, high).into_iter().map(f64::log10).collect()
        } else {
            let step = round_step(span);
            let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
            (first..=last).map(|i| i as f64 * step).collect::<Vec<_>>()
        };
        // A label that would touch the one before is left out.
        for tick in round {
            if axis.ticks.last().is_none_or(|before| axis.fit(*before, tick, upright)) {
                axis.ticks.push(tick);
            }
        }
        axis
    }

    /// Whether the labels of two ticks have room beside one another.
    fn fit(&self, before: f64, after: f64, upright: bool) -> bool {
        let share = (after - before) / (self.high - self.low);
        if upright {
            return share * f64::from(HEIGHT - 2 * MARGIN - BELOW) >= LINE;
        }
        let letters = [before, after].map(|tick| self.label(tick).chars().count() as f64);
        share * f64::from(WIDTH - MARGIN - RIGHT - LEFT) >= (letters[0] + letters[1]) / 2.0 * LETTER + LETTER
    }

    fn place(&self, value: f64) -> f64 {
        if self.log { value.log10() } else { value }
    }

    /// The label of a tick; millions are short, since the labels have a margin of a fixed width.
    fn label(&self, place: f64) -> String {
        let value = if self.log { 10f64.powf(place) } else { place };
        if value < 1e6 { significant(value, 6) } else { format!("{} M", significant(value / 1e6, 6)) }
    }
}

/// Steps of 1, 2 or 5 that divide a span into four to nine parts.
fn round_step(span: f64) -> f64 {
    let power = 10f64.powf((span / 5.0).log10().floor());
    let parts = [1.0, 2.0, 5.0, 10.0].map(|f| f * power);
    parts.into_iter().find(|step| span / step <= 6.5).unwrap_or(power)
}

/// Powers of ten; with fewer than three of them in sight also twice and five times, or steps that are equal.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = low.floor() as i32..=high.ceil() as i32;
    let seen = |factors: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|d| factors.iter().map(move |f| f * 10f64.powi(d)));
        all.filter(|t| (low..=high).contains(&t.log10())).collect()
    };
    let [powers, more, most] = [seen(&[1.0]), seen(&[1.0, 2.0, 5.0]), seen(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0])];
    if powers.len() >= 3 {
        powers
    } else if more.len() >= 3 {
        more
    } else if most.len() >= 3 {
        most
    } else {
        let [low, high] = [low, high].map(|place| 10f64.powf(place));
        let step = round_step(high - low);
        ((low / step).ceil() as i64..=(high / step).floor() as i64).map(|i| i as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks() {
        assert_eq!(log_ticks(0.9, 3.1), [10.0, 100.0, 1000.0]);
        assert_eq!(log_ticks(2.5, 3.8), [500.0, 1000.0, 2000.0, 5000.0]);
        assert_eq!(log_ticks(1.0, 1.29), [10.0, 12.0, 14.0, 16.0, 18.0]);
        assert_eq!(round_step(10.0), 2.0);
        assert_eq!(round_step(0.3), 0.05);
        let axis = Axis::of(vec![2.0, 16.0, 4.0, 8.0], true, false, false);
        assert_eq!(axis.ticks.iter().map(|t| axis.label(*t)).collect::<Vec<_>>(), ["2", "4", "8", "16"]);
        let axis = Axis::of(vec![0.0, 37.0], false, true, false);
        assert_eq!(axis.ticks.iter().map(|t| axis.label(*t)).collect::<Vec<_>>(), ["0", "10", "20", "30"]);
        // Own ticks whose labels would touch, as 100,000 and 125,000, give way to round ones.
        let labels = |values: &[f64], log| {
            let axis = Axis::of(values.to_vec(), log, false, false);
            axis.ticks.iter().map(|t| axis.label(*t)).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[1e5, 1.25e5, 1e6], true), ["100,000", "200,000", "500,000", "1 M"]);
        let round = ["10,000", "12,000", "14,000", "16,000", "18,000", "20,000"];
        assert_eq!(labels(&[10_000.0, 10_800.0, 20_000.0], false), round);
        assert_eq!(labels(&[3995.5, 4124.98, 4873.79], false), ["4000", "4200", "4400", "4600", "4800"]);
        assert_eq!(labels(&[0.54, 1.05, 2.06], false), ["0.54", "1.05", "2.06"]);
        assert_eq!(labels(&[4.0, 5.0, 16.0, 32.0], true), ["4", "5", "16", "32"]);
        assert_eq!([999_999.0, 1e6, 2.5e7].map(|value| axis.label(value)), ["999,999", "1 M", "25 M"]);
    }

    #[test]
    fn laws_in_the_legend() {
        let text = law(&Fit { law: Law::Power { factor: 208.4, exponent: 1.31 }, r2: 0.999_96 });
        assert_eq!(text, "y = 208 x<tspan dy=\"-4\">1.31</tspan><tspan dy=\"4\">, R² 0.9999</tspan>");
        let text = law(&Fit { law: Law::Logarithm { offset: 3.0, slope: -4.25 }, r2: 1.0 });
        assert_eq!(text, "<tspan>y = 3 − 4.25 log₂ x, R² 1</tspan>");
    }
}
