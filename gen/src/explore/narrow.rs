//! The second stage of a search: where it begins, and what its steps are called.

use models::explore::narrowing::{Change, Narrowing, Step};
use models::explore::{Evaluate, Genes, Point};

use super::file::Narrow;
use super::space::Space;
use crate::commands::failed;
use crate::error::Result;
use crate::params::plain;

impl Narrow {
    /// The setting of a front that the second stage begins with, if one is within the limit.
    #[must_use]
    pub fn start<'a>(&self, front: &[&'a Point], limit: f64) -> Option<&'a Point> {
        let within = front.iter().filter(|point| point.objectives[self.keep] <= limit);
        within.min_by(|a, b| a.objectives[self.least].total_cmp(&b.objectives[self.least])).copied()
    }

    /// Steps of the second stage.
    ///
    /// # Errors
    /// The limit is broken from the first setting on, or `evaluate` fails.
    pub fn steps(&self, space: &Space, limit: f64, evaluate: &mut Evaluate<'_>) -> Result<Vec<Step>> {
        let narrowing = Narrowing { limits: space.limits(), variables: space.numbers(), limit, kept: self.keep };
        narrowing.steps(evaluate).map_err(failed)
    }
}

/// What changed, in words.
#[must_use]
pub fn words(change: Change, genes: &Genes, space: &Space) -> String {
    let value = |place: usize| space.all(genes).nth(place).map(plain).unwrap_or_default();
    match change {
        Change::All(_) => {
            let first =
                |number: usize| space.values(genes, number).first().map(|value| plain(value)).unwrap_or_default();
            let one =
                |(number, variable): (usize, &super::Variable)| format!("{} {}", variable.axis.name, first(number));
            let all: Vec<String> = space.variables.iter().enumerate().map(one).collect();
            all.join(", ")
        }
        Change::Variable(number) => {
            let name = &space.variables[number].axis.name;
            let place = space.numbers().iter().position(|other| *other == number).unwrap_or(0);
            format!("{name} {}", value(place))
        }
        Change::One(place) => format!("{} {}", space.names()[place], value(place)),
    }
}
