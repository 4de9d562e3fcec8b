//! The contents of a sweep's charts: series of points, growth laws, Pareto fronts.

use serde_json::Value;

use super::fit::{Fit, fit};
use super::names::heading;
use crate::params::plain;
use crate::present::numbers::{shown, significant};
use crate::sweep::{Plot, PointResult, Results};

/// A chart, ready to be drawn.
#[derive(Clone, Debug)]
pub(super) struct Curves {
    pub(super) plot: Plot,
    pub(super) title: String,
    /// Names of the places on the horizontal axis when it is not one of numbers.
    pub(super) categories: Option<Vec<String>>,
    pub(super) log_x: bool,
    pub(super) log_y: bool,
    pub(super) series: Vec<Series>,
    /// The fronts of the series are parts of one front, over everything.
    pub(super) common_front: bool,
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// The parameters that separate the series from the others; empty when there is one series only.
    pub(super) name: String,
    pub(super) points: Vec<Dot>,
    pub(super) fit: Option<Fit>,
    /// Points of the sweep that no other one of the series beats, by x.
    pub(super) front: Vec<usize>,
}

/// One point.
#[derive(Clone, Debug)]
pub(super) struct Dot {
    /// Number of the point in the sweep.
    pub(super) point: usize,
    pub(super) x: f64,
    pub(super) y: f64,
    /// Its description in words.
    pub(super) title: String,
    /// What stands next to it.
    pub(super) label: String,
}

/// The charts of a sweep: the ones that its file names, or a choice when it names none. A Pareto front is always among
/// them when there is one to show.
pub(super) fn all(results: &Results) -> Vec<Result<Curves, String>> {
    let plots = if results.plots.is_empty() { choice(results) } else { results.plots.clone() };
    let front = if plots.iter().any(|p| p.pareto) { None } else { default_front(results) };
    let named = plots.into_iter().map(|plot| Curves::new(results, plot));
    named.chain(front.map(|plot| Curves::new(results, plot).map(Curves::with_labels))).collect()
}

impl Curves {
    /// Points that are no sweep's.
    pub(super) fn of_points(plot: Plot, series: &[(&str, Vec<[f64; 2]>)]) -> Self {
        let of = |name: &str, points: &[[f64; 2]]| {
            // A front is drawn from point to point.
            let mut points = points.to_vec();
            points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
            let dot = |(point, &[x, y]): (usize, &[f64; 2])| {
                let title = format!("{}, {}", significant(x, 4), significant(y, 4));
                Dot { point, x, y, title, label: String::new() }
            };
            let dots: Vec<Dot> = points.iter().enumerate().map(dot).collect();
            let front = front(dots.iter());
            Series { name: name.into(), points: dots, fit: None, front }
        };
        let series = series.iter().map(|(name, points)| of(name, points)).collect();
        Self {
            title: plot.title.clone(),
            plot,
            categories: None,
            log_x: false,
            log_y: false,
            series,
            common_front: false,
        }
    }

    /// Points that are no sweep's, joined, on logarithmic axes.
    pub(super) fn of_lines(plot: Plot, series: &[(&str, Vec<[f64; 2]>)]) -> Self {
        let mut curves = Self::of_points(plot, series);
        (curves.log_x, curves.log_y) = (true, true);
        curves.series.iter_mut().for_each(|series| series.front.clear());
        curves
    }

    /// The points that have both numbers of the plot; the error says that none has.
    fn new(results: &Results, plot: Plot) -> Result<Self, String> {
        let title = if plot.title.is_empty() {
            let text = format!("{} against {}", heading(&plot.y).0, heading(&plot.x).0);
            let mut letters = text.chars();
            letters.next().map(|c| c.to_uppercase().chain(letters).collect()).unwrap_or_default()
        } else {
            plot.title.clone()
        };
        let mut shown = Vec::new();
        for (i, point) in results.points.iter().enumerate() {
            if plot.shows(&point.parameters).map_err(|e| format!("{title}: {e}"))? {
                shown.push((i, point));
            }
        }
        let part = Results { points: shown.iter().map(|(_, p)| (*p).clone()).collect(), ..results.clone() };
        let found: Vec<_> = shown
            .into_iter()
            .filter_map(|(i, p)| Some((i, p, p.value(&plot.x)?, p.value(&plot.y)?.as_f64()?)))
            .collect();
        if found.is_empty() {
            return Err(format!("{title}: no point has both {} and the number {}", plot.x, plot.y));
        }
        let numbers = found.iter().all(|(_, _, x, _)| x.is_number());
        let separators = separators(&part, &plot);
        let mut categories: Vec<String> = Vec::new();
        let mut series: Vec<Series> = Vec::new();
        for &(index, point, x, y) in &found {
            let name = separators
                .iter()
                .map(|s| match point.value(s) {
                    Some(value) => format!("{} {}", heading(s).0, plain(value)),
                    None => format!("without {}", heading(s).0),
                })
                .collect::<Vec<_>>()
                .join(", ");
            let x = if numbers {
                x.as_f64().unwrap_or_default()
            } else {
                let text = plain(x);
                let known = categories.iter().position(|c| *c == text).unwrap_or(categories.len());
                if known == categories.len() {
                    categories.push(text);
                }
                known as f64
            };
            let title = title_of(results, &plot, point);
            let dot = Dot { point: index, x, y, title, label: String::new() };
            match series.iter_mut().find(|s| s.name == name) {
                Some(series) => series.points.push(dot),
                None => series.push(Series { name, points: vec![dot], fit: None, front: vec![] }),
            }
        }
        let positive = |of: fn(&Dot) -> f64| series.iter().flat_map(|s| &s.points).all(|d| of(d) > 0.0);
        let (log_x, log_y) = (plot.log && numbers && positive(|d| d.x), plot.log && positive(|d| d.y));
        // A front of one point says nothing. Where no series has more, they are compared with one another.
        let common_front = plot.pareto && numbers && series.iter().all(|s| s.points.len() == 1);
        let common = if common_front { front(series.iter().flat_map(|s| &s.points)) } else { Vec::new() };
        for series in &mut series {
            series.points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
            if common_front {
                series.front = series.points.iter().map(|d| d.point).filter(|p| common.contains(p)).collect();
            } else if plot.pareto && numbers && series.points.len() > 1 {
                series.front = front(series.points.iter());
            }
            // A front is no law.
            if log_x && log_y && !plot.pareto && !plot.joined {
                series.fit = fit(&series.points.iter().map(|d| (d.x, d.y)).collect::<Vec<_>>());
            }
        }
        Ok(Self { title, categories: (!numbers).then_some(categories), log_x, log_y, series, common_front, plot })
    }

    /// One series in place of a series for each point; what told them apart stands next to the points.
    fn with_labels(mut self) -> Self {
        let Some(axis) = self.plot.series.clone().filter(|_| self.common_front && self.series.len() > 1) else {
            return self;
        };
        let name = heading(&axis).0;
        let (mut points, mut front) = (Vec::new(), Vec::new());
        for series in self.series.drain(..) {
            let label = series.name.strip_prefix(&name).unwrap_or(&series.name).trim_start().to_owned();
            points.extend(series.points.into_iter().map(|dot| Dot { label: label.clone(), ..dot }));
            front.extend(series.front);
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
        self.series.push(Series { name, points, fit: None, front });
        self.common_front = false;
        self
    }

    /// Whether a point of the sweep is on a front.
    pub(super) fn on_front(&self, point: usize) -> bool {
        self.series.iter().any(|s| s.front.contains(&point))
    }

    /// Whether there are fronts.
    pub(super) fn has_front(&self) -> bool {
        self.series.iter().any(|s| !s.front.is_empty())
    }

    /// All points.
    pub(super) fn dots(&self) -> impl Iterator<Item = &Dot> + Clone {
        self.series.iter().flat_map(|s| &s.points)
    }
}

/// The parameters that tell curves apart. The first is the one that the plot names. The other axes follow when a curve
/// would still have several points above one another, unless that makes more curves than there are colours.
fn separators(results: &Results, plot: &Plot) -> Vec<String> {
    let named: Vec<String> = plot.series.iter().cloned().collect();
    let mut all = named.clone();
    for axis in &results.axes {
        let known = *axis == plot.x || *axis == plot.y || all.contains(axis) || different(results, axis).len() < 2;
        if !known && !follows(results, axis, &plot.x) && !all.iter().any(|other| follows(results, axis, other)) {
            all.push(axis.clone());
        }
    }
    let of = |p: &PointResult, names: &[String]| names.iter().map(|n| p.value(n).cloned()).collect::<Vec<_>>();
    let mut places: Vec<_> = Vec::new();
    let mut curves: Vec<_> = Vec::new();
    let mut twice = false;
    for point in results.points.iter().filter(|p| p.value(&plot.y).is_some()) {
        let place = (of(point, &named), point.value(&plot.x));
        twice |= places.contains(&place);
        places.push(place);
        let curve = of(point, &all);
        if !curves.contains(&curve) {
            curves.push(curve);
        }
    }
    if twice && !plot.pareto && curves.len() <= crate::present::palette::COLOURS { all } else { named }
}

fn title_of(results: &Results, plot: &Plot, point: &PointResult) -> String {
    let number = |name: &String| {
        let value = point.value(name).map(shown).unwrap_or_default();
        format!("{name} = {value}")
    };
    let mut names: Vec<&String> = results.axes.iter().collect();
    names.extend([&plot.x, &plot.y].into_iter().filter(|n| !results.axes.contains(n)));
    names.into_iter().map(number).collect::<Vec<_>>().join(", ")
}

/// The Pareto front: points that no other point beats. A point beats another if it is as small in both numbers and
/// smaller in one.
fn front<'a>(dots: impl Iterator<Item = &'a Dot>) -> Vec<usize> {
    let mut sorted: Vec<_> = dots.collect();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let mut front: Vec<&Dot> = Vec::new();
    for dot in sorted {
        match front.last() {
            Some(last) if last.x == dot.x && last.y == dot.y => front.push(dot),
            Some(last) if dot.y >= last.y => {}
            _ => front.push(dot),
        }
    }
    front.into_iter().map(|d| d.point).collect()
}

/// Numbers of a sweep that say how large, and how slow a design is, the most telling first.
const SIZES: [&str; 4] = ["area", "and_nodes", "gates", "instances"];
const DELAYS: [&str; 2] = ["delay_ps", "levels"];

fn measured<'a>(results: &Results, names: &[&'a str]) -> Option<&'a str> {
    names.iter().copied().find(|name| results.points.iter().any(|p| p.value(name).is_some()))
}

fn different<'a>(results: &'a Results, name: &str) -> Vec<&'a Value> {
    let mut values: Vec<&Value> = Vec::new();
    for value in results.points.iter().filter_map(|p| p.value(name)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Whether `a` has one value for each value of `b`.
fn follows(results: &Results, a: &str, b: &str) -> bool {
    results
        .points
        .iter()
        .all(|p| results.points.iter().filter(|q| q.value(b) == p.value(b)).all(|q| q.value(a) == p.value(a)))
}

/// Size and delay against each axis of at least three numbers.
fn choice(results: &Results) -> Vec<Plot> {
    let mut axes: Vec<&String> = Vec::new();
    for axis in &results.axes {
        let values = different(results, axis);
        if values.len() > 1 && !axes.iter().any(|earlier| follows(results, axis, earlier)) {
            axes.push(axis);
        }
    }
    let numeric = |axis: &&&String| {
        let values = different(results, axis);
        values.len() >= 3 && values.iter().all(|v| v.is_number())
    };
    let mut plots = Vec::new();
    for &x in axes.iter().filter(numeric) {
        let series = axes.iter().find(|other| **other != x && different(results, other).len() <= 8);
        for y in [measured(results, &SIZES), measured(results, &DELAYS)].into_iter().flatten() {
            plots.push(Plot {
                title: String::new(),
                x: x.clone(),
                y: y.into(),
                series: series.map(|s| (*s).clone()),
                log: spread(results, x) >= 4.0,
                joined: false,
                pareto: false,
                conditions: vec![],
            });
        }
    }
    plots
}

/// The ratio of the largest value to the least one; 0 unless all values are above zero.
fn spread(results: &Results, name: &str) -> f64 {
    let values = results.points.iter().filter_map(|p| p.value(name)?.as_f64());
    let (least, most) = values.fold((f64::MAX, f64::MIN), |(l, m), v| (l.min(v), m.max(v)));
    if least > 0.0 { most / least } else { 0.0 }
}

/// Size against delay.
fn default_front(results: &Results) -> Option<Plot> {
    let (x, y) = (measured(results, &DELAYS)?, measured(results, &SIZES)?);
    let series = results.axes.iter().find(|axis| (2..=8).contains(&different(results, axis).len()));
    (different(results, x).len() > 1 && different(results, y).len() > 1).then(|| Plot {
        title: String::new(),
        x: x.into(),
        y: y.into(),
        series: series.cloned(),
        log: spread(results, x) >= 8.0 || spread(results, y) >= 8.0,
        joined: false,
        pareto: true,
        conditions: vec![],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front_of(points: &[(f64, f64)]) -> Vec<usize> {
        let dots: Vec<_> = points
            .iter()
            .enumerate()
            .map(|(point, &(x, y))| Dot { point, x, y, title: String::new(), label: String::new() })
            .collect();
        front(dots.iter())
    }

    #[test]
    fn fronts() {
        assert_eq!(front_of(&[(3.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 3.0), (2.0, 2.5)]), [1, 2, 0]);
        // Equal points stand together; a point that is equal in one direction and worse in the other does not.
        assert_eq!(front_of(&[(1.0, 1.0), (1.0, 1.0), (1.0, 2.0), (2.0, 1.0)]), [0, 1]);
        assert!(front_of(&[]).is_empty());
    }
}
