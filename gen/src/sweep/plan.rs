//! From the description of a sweep to its points.

use serde_json::Value;

use super::Spec;
use crate::error::{Failure, Result};
use crate::params::{assign, show_changes};
use crate::point::{Key, Point};
use crate::registry::{self, Params};

/// More points than this are refused: the file does not mean what its author thinks.
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
    /// The design, or what is wrong with its description.
    pub design: Result<Ready, String>,
}

/// A point that can run. Its Verilog is not kept: a sweep may have many.
#[derive(Debug)]
pub struct Ready {
    /// Top module.
    pub top: String,
    /// What the results are filed under, in the order of the stages.
    pub keys: Vec<Key>,
}

impl Plan {
    /// Multiplies the axes out and elaborates each combination: everything that can be wrong with the parameters is
    /// known before anything runs.
    ///
    /// # Errors
    /// An expression that cannot be evaluated, too many points, a missing tool.
    pub fn new(spec: &Spec) -> Result<Self> {
        let entry = registry::find(&spec.block)?;
        let size: usize =
            spec.axes.iter().map(|a| a.values.len()).try_fold(1, usize::checked_mul).unwrap_or(usize::MAX);
        let blame = |what: String| Failure::Usage(format!("{}: {what}", spec.path.display()));
        if size > MOST {
            return Err(blame(format!("the axes span {size} points, more than {MOST}")));
        }
        let mut plan = Self::default();
        for number in 0..size {
            let mut params = entry.defaults();
            params.extend(spec.fixed.clone());
            params.extend(combination(spec, number));
            for (name, expression) in &spec.derived {
                let value = expression.compute(&params).map_err(&blame)?;
                assign(&*entry, name, value, &mut params).map_err(&blame)?;
            }
            let mut kept = true;
            for condition in &spec.conditions {
                kept &= condition.holds(&params).map_err(&blame)?;
            }
            if !kept {
                plan.left_out += 1;
                continue;
            }
            for plot in &spec.plots {
                plot.shows(&params).map_err(&blame)?;
            }
            let label = show_changes(&entry.defaults(), &params);
            match Point::new(&spec.block, params.clone()) {
                Ok(point) => {
                    let keys =
                        spec.stages.iter().map(|&stage| point.key(stage, &spec.options)).collect::<Result<_>>()?;
                    plan.points.push(Planned { params, label, design: Ok(Ready { top: point.sources.top, keys }) });
                }
                Err(Failure::Usage(reason)) => plan.illegal.push((params, reason)),
                Err(Failure::Check(reason)) => plan.points.push(Planned { params, label, design: Err(reason) }),
                Err(other) => return Err(other),
            }
        }
        Ok(plan)
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
