//! Properties of an accelerator that its player asks for.

use golden::accelerators::job::Report;

use crate::timing::Waits;

/// Counts of a job by the model.
pub type Expected<O> = Box<dyn Fn(&Report<O>) -> u64>;

/// A counter of the accelerator's own: its register, and its value by the model.
pub struct Counter<O> {
    /// Name.
    pub name: &'static str,
    /// Offset.
    pub register: u64,
    /// Its count of a job that ended well.
    pub expected: Expected<O>,
}

/// Properties that differ between accelerators.
pub struct Facts<O> {
    /// Its number.
    pub number: u64,
    /// Registers that never change, with their values.
    pub constants: Vec<(u64, u64)>,
    /// Registers that count.
    pub counters: Vec<Counter<O>>,
    /// Names and addresses of counters that the model does not know: they keep their values from the end of a job on.
    pub kept: Vec<(&'static str, u64)>,
    /// Waits that the recurrence of its cycles does not know.
    pub waits: Waits,
}
