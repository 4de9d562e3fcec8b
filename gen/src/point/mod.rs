//! One point of a sweep: a block, its parameters, the stages to run on it.
//!
//! A stage is a pure function of the Verilog, its options and the tools. Its result is stored under a hash of these. A
//! later request gets the stored answer, whichever sweep or machine made it.

mod key;
mod layout;
mod options;
mod stage;
mod stages;
mod store;

pub use key::{Key, Point};
pub use layout::LayoutOptions;
pub use options::{MOST_CYCLES, Options};
pub use stage::Stage;
pub use store::{STORE, STORE_LIMIT, StageResult, Status, Store};

use crate::error::{Failure, Result};
pub(crate) use options::period;

impl Point {
    /// The names of the numbers that the stages leave at this point, when they pass.
    #[must_use]
    pub fn numbers(&self, stages: &[Stage], options: &Options) -> Vec<String> {
        stages.iter().flat_map(|&stage| stages::names(stage, self, options)).collect()
    }
}

/// Runs the stages on a point whose results are not in the store yet. A failed stage does not stop the others: a design
/// with a lint message can still be synthesised. A stage without an answer does not stop them either.
///
/// # Errors
/// A missing tool, a stage without an answer, a store that cannot be written: nothing that would be a result.
pub fn run(point: &Point, stages: &[Stage], options: &Options, store: &Store) -> Result<Vec<StageResult>> {
    let mut results = Vec::new();
    let mut unanswered = Vec::new();
    for &stage in stages {
        let key = point.key(stage, options)?;
        if let Some(found) = store.get(&key)? {
            results.push(found);
            continue;
        }
        match stages::run(point, &key, options) {
            Ok(result) => {
                store.put(&result)?;
                results.push(result);
            }
            Err(Failure::NoAnswer(text)) => unanswered.push(format!("{stage}: {text}")),
            Err(other) => return Err(other),
        }
    }
    if unanswered.is_empty() { Ok(results) } else { Err(Failure::NoAnswer(unanswered.join("\n"))) }
}

/// The stages of a list like `gen,synth`, in running order.
///
/// # Errors
/// No stage at all, or one twice.
pub fn in_order(stages: &[Stage]) -> Result<Vec<Stage>> {
    let mut sorted = stages.to_vec();
    sorted.sort();
    if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
        return Err(Failure::Usage(format!("stage `{}` is listed twice", twice[0])));
    }
    if sorted.is_empty() {
        let names = Stage::ALL.map(Stage::name).join(", ");
        return Err(Failure::Usage(format!("no stage to run; the stages are {names}")));
    }
    Ok(sorted)
}
