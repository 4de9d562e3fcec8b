//! One point of a sweep: a block, its parameters, the stages to run on it.
//!
//! A stage is a pure function of the Verilog, its options and the tools. Its result is stored under a hash of these. A
//! later request gets the stored answer, whichever sweep or machine made it.

mod key;
#[cfg(feature = "standard")]
mod layers;
mod layout;
mod options;
mod stage;
mod stages;
mod store;

#[cfg(feature = "standard")]
pub(crate) use key::computed;
pub use key::{Key, Point};
pub use layout::LayoutOptions;
pub use options::{MOST_CYCLES, Options};
pub use stage::Stage;
pub use store::{Figures, STORE, STORE_LIMIT, StageResult, Status, Store};

use serde_json::Value;

use crate::catalogue::{Entry, Params};
use crate::error::{Failure, Result};
pub(crate) use options::period;

/// Before the name of a setting of the work whose cycles are counted.
const PREFIX: &str = "work.";

/// Whether a name is of a setting of work, and not of a parameter.
pub(crate) fn is_work(name: &str) -> bool {
    cfg!(feature = "standard") && name.starts_with(PREFIX)
}

/// Parts the parameters of a block from the settings of its work.
pub(crate) fn split(params: Params) -> (Params, Params) {
    params.into_iter().partition(|(name, _)| !is_work(name))
}

/// A path in a setting of work is looked for beside the file that names it.
pub(crate) fn beside(name: &str, value: Value, file: &std::path::Path) -> Value {
    #[cfg(feature = "standard")]
    if let Some(path) = value.as_str().filter(|_| is_work(name) && layers::is_path(name)) {
        return Value::from(file.parent().unwrap_or(std::path::Path::new("")).join(path).to_string_lossy());
    }
    let _ = (name, file);
    value
}

/// Sets a parameter of a block or a setting of its work, checking its name and type.
pub(crate) fn assign(entry: &dyn Entry, name: &str, value: Value, params: &mut Params) -> Result<(), String> {
    #[cfg(feature = "standard")]
    if is_work(name) {
        let alone = Params::from_iter([(name.to_owned(), value.clone())]);
        layers::Layers::of(entry, &alone)?;
        params.insert(name.to_owned(), value);
        return Ok(());
    }
    crate::params::assign(entry, name, value, params)
}

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
