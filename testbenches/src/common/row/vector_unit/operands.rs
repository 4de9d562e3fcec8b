//! The operands of rows.

use golden::common::row::vector_unit::{Elements, Scalars, Steps};

/// Rows, and their steps.
pub(super) struct Given {
    pub(super) steps: (Steps, Scalars),
    pub(super) rows: Vec<Operands>,
}

/// The operands of a row.
#[derive(Clone, Debug)]
pub(super) struct Operands {
    /// Of each of [`STREAMS`](super::player).
    pub(super) streams: [Vec<u16>; 4],
    /// Beside gains.
    pub(super) biases: Vec<u16>,
    /// Elements that count in a softmax.
    pub(super) length: usize,
}

impl Operands {
    pub(super) fn elements(&self) -> Elements<'_> {
        let [x, addends, factors, gains] = &self.streams;
        Elements { x, addends, factors, gains, biases: &self.biases, length: self.length }
    }
}
