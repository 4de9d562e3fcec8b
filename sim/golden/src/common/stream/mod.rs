//! Parts of ready/valid streams, cycle by cycle.
//!
//! Each model answers twice a cycle: what it shows, given its state and the inputs of the cycle, and what it becomes.

pub mod stream_arbiter;
pub mod stream_fifo;
pub mod stream_fork;
pub mod stream_join;
pub mod stream_register;
pub mod stream_width_converter;

/// Inputs of one cycle of a part with one stream on each side.
#[derive(Clone, Debug)]
pub struct Inputs<T> {
    /// Drop everything.
    pub clear: bool,
    /// The beat that is offered.
    pub offer: Option<T>,
    /// The other side takes what is shown.
    pub ready: bool,
}

/// What it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<T> {
    /// It takes what is offered.
    pub ready: bool,
    /// The beat that it offers.
    pub beat: Option<T>,
    /// Beats inside.
    pub level: usize,
}

/// A part with one stream on each side.
pub trait Queue<T> {
    /// What it shows in a cycle with these inputs.
    fn show(&self, inputs: &Inputs<T>) -> Shown<T>;
    /// The edge at the end of that cycle.
    fn edge(&mut self, inputs: &Inputs<T>);
}
