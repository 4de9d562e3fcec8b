//! From the description of a sweep to its points.

use serde_json::Value;

use super::Spec;
use crate::catalogue::{Params, similar};
use crate::error::{Failure, Result};
use crate::params::show_changes;
use crate::point::{Key, Options, Point, Stage, assign};

/// The most points of a sweep. A file with more is refused, since its author hardly intends so many.
const MOST: usize = 100_000;

/// The points of a sweep.
#[derive(Debug, Default)]
pub struct Plan {
    /// Points whose Verilog exists.
    pub points: Vec<Planned>,
    /// Combinations that the block refuses, with its reason.
    pub illegal: Vec<(Params, String)>,
    /// Combinations that a `where` line leaves out.
    pub left_out: usize,
}

/// A point of the plan.
#[derive(Debug)]
pub struct Planned {
    /// All parameters.
    pub params: Params,
    /// The parameters that are not at their defaults, for messages.
    pub label: String,
    /// The design, or the error in its description.
    pub design: Result<Ready, String>,
}

/// A point that can run. Its Verilog is not kept: a sweep may have many.
#[derive(Debug)]
pub struct Ready {
    /// Top module.
    pub top: String,
    /// The keys of the results, in the order of the stages.
    pub keys: Vec<Key>,
}

impl Plan {
    /// Multiplies the axes out and elaborates each combination: everything that can be wrong with the parameters is
    /// known before anything runs.
    ///
    /// # Errors
    /// An expression that cannot be evaluated, too many points, a missing tool.
    pub fn new(spec: &Spec) -> Result<Self> {
        let entry = &spec.block;
        let size: usize =
            spec.axes.iter().map(|a| a.values.len()).try_fold(1, usize::checked_mul).unwrap_or(usize::MAX);
        let blame = |what: String| Failure::Usage(format!("{}: {what}", spec.path.display()));
        if size > MOST {
            return Err(blame(format!("the axes span {size} points, more than {MOST}")));
        }
        let mut plan = Self::default();
        let mut held = vec![0; spec.conditions.len()];
        let mut plots = Plots {
            names: entry.defaults().keys().chain(spec.settings()).cloned().collect(),
            shown: vec![0; spec.plots.len()],
            elsewhere: Vec::new(),
        };
        for number in 0..size {
            let mut params = entry.defaults();
            params.extend(spec.fixed.clone());
            params.extend(combination(spec, number));
            for (name, expression) in &spec.derived {
                let value = expression.compute(&params).map_err(&blame)?;
                assign(&**entry, name, value, &mut params).map_err(&blame)?;
            }
            let mut kept = true;
            for (condition, held) in spec.conditions.iter().zip(&mut held) {
                let holds = condition.holds(&params).map_err(&blame)?;
                *held += usize::from(holds);
                kept &= holds;
            }
            if !kept {
                plan.left_out += 1;
                continue;
            }
            let shown: Vec<bool> =
                spec.plots.iter().map(|plot| plot.shows(&params).map_err(&blame)).collect::<Result<_>>()?;
            let label = show_changes(&entry.defaults(), &params);
            match Point::new(entry, params.clone()) {
                Ok(point) => {
                    plots.see(&point, spec, &shown);
                    let keys =
                        spec.stages.iter().map(|&stage| point.key(stage, &spec.options)).collect::<Result<_>>()?;
                    plan.points.push(Planned { params, label, design: Ok(Ready { top: point.sources.top, keys }) });
                }
                Err(Failure::Usage(reason)) => plan.illegal.push((params, reason)),
                Err(Failure::Check(reason)) => plan.points.push(Planned { params, label, design: Err(reason) }),
                Err(other) => return Err(other),
            }
        }
        if plan.left_out == size {
            let held = spec.conditions.iter().zip(held).map(|(c, n)| format!("`{c}` holds for {n}"));
            let held: Vec<_> = held.collect();
            return Err(blame(format!("`where` leaves none of the {size} combinations: {}", held.join(", "))));
        }
        if !plan.points.is_empty() {
            plots.check(spec).map_err(blame)?;
        }
        Ok(plan)
    }
}

/// Numbers and points that the curves of the report can show.
struct Plots {
    /// Parameters and numbers of the stages.
    names: Vec<String>,
    /// Points that each plot would show.
    shown: Vec<usize>,
    /// Numbers that other options and stages would add, and how to get them.
    elsewhere: Vec<(String, Vec<String>)>,
}

/// The numbers of other options and of other stages at a point, with the changes that bring them. The smaller changes
/// come first.
fn elsewhere(point: &Point, spec: &Spec) -> Vec<(String, Vec<String>)> {
    let as_is = &spec.options;
    let mapped = match as_is.liberty.is_empty() {
        true => Options { liberty: vec!["any".into()], ..as_is.clone() },
        false => as_is.clone(),
    };
    let timed = Options { period: Some(1.0), ..mapped.clone() };
    let set_period = if as_is.liberty.is_empty() { "set `liberty` and `period`" } else { "set `period`" };
    let flat = Options { hierarchical: false, ..as_is.clone() };
    let options = [
        (None, as_is.clone()),
        (Some("set `liberty`"), mapped),
        (Some(set_period), timed),
        (Some("leave out `hierarchical`"), flat),
    ];
    let others = || Stage::ALL.into_iter().filter(|stage| !spec.stages.contains(stage));
    let mut found = Vec::new();
    for (change, options) in &options {
        for stage in std::iter::once(None).chain(others().map(Some)) {
            let add = stage.map(|stage| format!("add `{}` to `stages`", stage.name()));
            let advice: Vec<String> = add.into_iter().chain(change.map(str::to_owned)).collect();
            let stages = stage.map_or_else(|| spec.stages.clone(), |stage| vec![stage]);
            found.push((advice.join(" and "), point.numbers(&stages, options)));
        }
    }
    found
}

impl Plots {
    fn see(&mut self, point: &Point, spec: &Spec, shown: &[bool]) {
        for name in point.numbers(&spec.stages, &spec.options) {
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
        if self.elsewhere.is_empty() && !spec.plots.is_empty() {
            self.elsewhere = elsewhere(point, spec);
        }
        for (count, shown) in self.shown.iter_mut().zip(shown) {
            *count += usize::from(*shown);
        }
    }

    /// Refuses curves that would stay empty.
    fn check(&self, spec: &Spec) -> Result<(), String> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        for (number, (plot, shown)) in spec.plots.iter().zip(&self.shown).enumerate() {
            let wanted = [("x", Some(&plot.x)), ("y", Some(&plot.y)), ("series", plot.series.as_ref())];
            for (key, name) in wanted.into_iter().filter_map(|(key, name)| Some((key, name?))) {
                if names.contains(&name.as_str()) {
                    continue;
                }
                let near = similar(name, &names);
                let advice = self.elsewhere.iter().find(|(_, names)| names.contains(name));
                let hint = match advice {
                    Some((advice, _)) => format!("to have it, {advice}"),
                    None if near.is_empty() => format!("there are: {}", names.join(", ")),
                    None => format!("did you mean {}?", near.join(" or ")),
                };
                let stages: Vec<_> = spec.stages.iter().map(|s| s.name()).collect();
                let stages = stages.join(", ");
                return Err(format!(
                    "plot {}: {key} = \"{name}\" is no parameter of {}, nor a number of {stages} with these options; {hint}",
                    number + 1,
                    spec.block.about().name
                ));
            }
            // The few values of a quick look need not show everything.
            if *shown == 0 && !spec.small {
                return Err(format!("plot {}: its `where` leaves no point", number + 1));
            }
        }
        Ok(())
    }
}

/// The values of the axes at a point; the last axis varies fastest.
fn combination(spec: &Spec, mut number: usize) -> Vec<(String, Value)> {
    let mut values = Vec::new();
    for axis in spec.axes.iter().rev() {
        values.push((axis.name.clone(), axis.values[number % axis.values.len()].clone()));
        number /= axis.values.len();
    }
    values
}
