//! Events of products, of rows that become tokens, and of tokens that are appended.

use super::layout::CONSTANT_BYTES;
use super::{Append, MatMul, Quantize, Shape};
use crate::accelerators::events::{Event, Events, kind};

/// Bits of an index, and of a number of fp16.
const INDEX: u64 = 4;
const HALF: u64 = 16;

/// What happens in the lanes with so many beats, which bring so many outliers.
#[must_use]
pub fn of_beats(shape: &Shape, [beats, outliers]: [u64; 2]) -> Events {
    let [lanes, columns, inputs] = [shape.lanes, shape.columns, shape.inputs].map(u64::from);
    Events::default()
        .with(Event::new("pair of indices", kind::PRODUCT, 2 * INDEX), beats * lanes * columns * inputs)
        .with(Event::new("product of an outlier", kind::PRODUCT, HALF + INDEX), outliers * lanes * columns)
        .with(Event::new("weight buffer read", kind::SRAM_READ, INDEX * columns * inputs), beats * lanes)
}

impl MatMul {
    /// What happens in a product with so many beats, which bring so many outliers, besides the accesses to memory.
    /// `outputs` sums leave the lanes in a cycle.
    pub(super) fn events(&self, shape: &Shape, [beats, outliers]: [u64; 2], outputs: u64) -> Events {
        let [lanes, columns, inputs] = [shape.lanes, shape.columns, shape.inputs].map(u64::from);
        let mut all = of_beats(shape, [beats, outliers]);
        let words = self.inner.div_ceil(inputs);
        // Where a bank holds the weights of a panel, they come once for all tokens.
        let rows = if words <= shape.buffer.into() { 1 } else { self.tokens.rows };
        let word = INDEX * columns * inputs;
        let last = self.channels - (self.passes - 1) * shape.channels();
        let whole = (self.passes - 1) * shape.channels() / outputs;
        let sums = self.tokens.rows * (whole + last.div_ceil(outputs));
        let factors = 8 * CONSTANT_BYTES * outputs;
        all += Events::default()
            .with(Event::new("weight buffer write", kind::SRAM_WRITE, word), self.passes * rows * words * lanes)
            .with(Event::new("factor write", kind::SRAM_WRITE, factors), sums)
            .with(Event::new("factor read", kind::SRAM_READ, factors), sums)
            .with(Event::new("scaled sum", kind::ELEMENT, 2 * HALF), sums * outputs)
            .with(Event::new("sum of rows", kind::ELEMENT, HALF), self.addends.map_or(0, |_| sums * outputs));
        all
    }
}

impl Quantize {
    /// What happens in it besides the accesses to memory.
    pub(super) fn events(&self) -> Events {
        let rows = self.x.rows;
        Events::default()
            .with(Event::new("compared value", kind::ELEMENT, HALF), rows * self.columns)
            .with(Event::new("found outlier", kind::ELEMENT, HALF), rows * (self.largest + self.smallest))
            .with(Event::new("value to an index", kind::ELEMENT, HALF), rows * self.columns)
    }
}

impl Append {
    /// What happens in it besides the accesses to memory.
    pub(super) fn events(&self) -> Events {
        Events::default().with(Event::new("appended index", kind::ELEMENT, INDEX), self.elements)
    }
}
