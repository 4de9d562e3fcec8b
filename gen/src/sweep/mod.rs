//! Sweeps: a file names a block, the values of its parameters and the stages; every combination becomes a point.
//!
//! [`Spec`] is the file, [`Plan`] its points, [`Results`] its results. `engine` runs the points somewhere;
//! [`point`](crate::point) does the work of a point.

mod axis;
mod command;
mod database;
mod export;
mod expression;
#[cfg(test)]
mod fuzz;
mod plan;
mod results;
mod spec;

pub use axis::Axis;
pub(crate) use export::arguments;
pub use export::{write, write_results};
pub use expression::Expression;
pub use plan::{Plan, Planned};
pub use results::{Illegal, PointResult, Results, collect};
pub use spec::{Plot, Spec};
