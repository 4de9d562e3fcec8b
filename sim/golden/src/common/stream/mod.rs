//! Parts of ready/valid streams, cycle by cycle.
//!
//! Each model answers twice a cycle: its outputs, from its state and the inputs of the cycle, and then its next state.

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
    /// Whether the other side takes the beat.
    pub ready: bool,
}

/// The outputs of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<T> {
    /// Whether it takes the offered beat.
    pub ready: bool,
    /// The beat that it offers.
    pub beat: Option<T>,
    /// Beats inside.
    pub level: usize,
}

/// A part with one stream on each side.
pub trait Queue<T> {
    /// Its outputs in a cycle with these inputs.
    fn show(&self, inputs: &Inputs<T>) -> Shown<T>;
    /// The clock edge at the end of the cycle.
    fn edge(&mut self, inputs: &Inputs<T>);
}
