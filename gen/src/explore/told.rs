//! What a search has found, for people and for programs.

use models::explore::front::best;
use models::explore::narrowing::Step;
use models::explore::{Genes, Objectives, Point};
use serde_json::Value;

use super::file::Spec;
use super::narrow::words;
use super::space::Space;
use super::subject::Subject;
use crate::error::Result;
use crate::params::plain;
use crate::present::numbers::decimal;
use crate::present::table::Table;
use crate::present::{page, report};

/// Objectives of points.
pub(crate) fn objectives(points: &[Point]) -> Vec<Objectives> {
    points.iter().map(|point| point.objectives.clone()).collect()
}

/// The points that no other one dominates and that are possible, by the first objective.
pub(crate) fn front(points: &[Point]) -> Vec<&Point> {
    let all = best(&objectives(points)).into_iter().map(|n| &points[n]);
    all.filter(|point| point.objectives.iter().all(|x| x.is_finite())).collect()
}

/// Four digits are enough for a person; whole numbers have all of theirs.
fn shown(x: f64) -> String {
    let digits = 3 - (x.abs().log10().floor() as i32).clamp(-6, 3);
    decimal(x, if x.fract() == 0.0 { 0 } else { digits as usize })
}

/// Values of a variable: one, or the range of layers with the mean of numbers.
fn range(values: &[&Value]) -> String {
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.as_f64()).collect();
    match (values, numbers) {
        ([], _) => String::new(),
        ([one], _) => plain(one),
        (_, Some(all)) => {
            let (least, most) = all.iter().fold((f64::MAX, f64::MIN), |(l, m), &x| (l.min(x), m.max(x)));
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            format!("{least} to {most}, mean {}", decimal(mean, 1))
        }
        (all, None) => all.iter().map(|value| plain(value)).collect::<Vec<_>>().join(" "),
    }
}

fn headings(spec: &Spec, space: &Space, first: &[&str]) -> Vec<String> {
    let objectives = spec.objectives.iter().map(|objective| objective.name.clone());
    let names = space.variables.iter().map(|variable| variable.axis.name.clone());
    first.iter().map(|&name| name.to_owned()).chain(objectives).chain(names).collect()
}

fn row(objectives: &[f64], genes: &Genes, space: &Space) -> Vec<String> {
    let values = (0..space.variables.len()).map(|number| range(&space.values(genes, number)));
    objectives.iter().map(|&x| shown(x)).chain(values).collect()
}

/// The front, and the steps of the second stage if there was one.
pub(crate) fn tables(subject: &Subject<'_>, front: &[&Point], steps: &[Step]) -> String {
    let (spec, space) = (subject.spec, &subject.space);
    let rows = front.iter().map(|point| row(&point.objectives, &point.genes, space)).collect();
    let gap = if spec.about.is_empty() { "" } else { "\n\n" };
    let mut text = format!("{}{gap}{}", spec.about, report::table(&Table::of(headings(spec, space, &[]), rows)));
    if !steps.is_empty() {
        let space = &subject.narrow;
        let of = |step: &Step| {
            let first = [words(step.change, &step.genes, space)];
            first.into_iter().chain(row(&step.worth, &step.genes, space)).collect()
        };
        let rows = steps.iter().map(of).collect();
        text += &format!("\n{}", report::table(&Table::of(headings(spec, space, &["smaller"]), rows)));
    }
    text
}

/// A line for each setting of a front: its objectives and all values.
pub(crate) fn csv(subject: &Subject<'_>, front: &[&Point]) -> Result<Vec<u8>> {
    let names = subject.spec.objectives.iter().map(|objective| objective.name.clone());
    let head: Vec<String> = names.chain(subject.space.names()).collect();
    let line = |point: &&Point| -> Vec<String> {
        let worth = point.objectives.iter().map(f64::to_string);
        worth.chain(subject.space.all(&point.genes).map(plain)).collect()
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    let bad = |e: csv::Error| crate::error::Failure::Check(format!("CSV: {e}"));
    writer.write_record(&head).map_err(bad)?;
    for point in front {
        writer.write_record(line(point)).map_err(bad)?;
    }
    writer.into_inner().map_err(|e| crate::error::Failure::Check(format!("CSV: {e}")))
}

/// A drawing of the first two objectives of all settings, as SVG. Settings that are far worse than the whole front would
/// leave no room for it.
pub(crate) fn drawing(spec: &Spec, all: &[(&str, &[Point])]) -> Result<String> {
    let front: Vec<&Point> = all.first().map(|(_, points)| front(points)).unwrap_or_default();
    let most = |k: usize| 2.0 * front.iter().filter_map(|point| point.objectives.get(k)).copied().fold(0.0, f64::max);
    let limits = [most(0), most(1)];
    let two = |point: &Point| Some([*point.objectives.first()?, *point.objectives.get(1)?]);
    let shown = |points: &[Point]| -> Vec<[f64; 2]> {
        points.iter().filter_map(two).filter(|worth| worth.iter().zip(limits).all(|(x, most)| *x <= most)).collect()
    };
    let series: Vec<(&str, Vec<[f64; 2]>)> = all.iter().map(|&(name, points)| (name, shown(points))).collect();
    let names: Vec<&str> = spec.objectives.iter().map(|objective| objective.name.as_str()).collect();
    page::front(&spec.title, [names[0], names.get(1).copied().unwrap_or_default()], &series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_hand() {
        assert_eq!(
            [shown(18.36127), shown(0.55234), shown(6_809_404.0), shown(2.5e9 + 0.25)],
            ["18.36", "0.5523", "6,809,404", "2,500,000,000"]
        );
        let values: Vec<Value> = [1, 2, 7].map(Value::from).into();
        assert_eq!(range(&values.iter().collect::<Vec<_>>()), "1 to 7, mean 3.3");
        assert_eq!(range(&[&Value::from("aerp")]), "aerp");
    }

    /// Settings that are not possible are in no front.
    #[test]
    fn fronts_by_hand() {
        let point = |objectives: [f64; 2]| Point { genes: vec![0], objectives: objectives.to_vec() };
        let all = [point([f64::INFINITY; 2]), point([2.0, 1.0]), point([1.0, 2.0]), point([2.0, 2.0])];
        assert_eq!(front(&all), [&all[2], &all[1]]);
        assert!(front(&all[..1]).is_empty());
    }
}
