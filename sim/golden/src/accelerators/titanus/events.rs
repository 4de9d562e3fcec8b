//! Events of loads, products, appends and restores.

use super::cycles::Timing;
use super::{Append, Counts, Load, Matrix, Operation, Product, Restore, Shape};
use crate::accelerators::events::{Event, Events, kind};

/// Bits of a weight, a constant, and a result before it is scaled.
const WEIGHT: u64 = 8;
const CONSTANT: u64 = 64;
const RESULT: u64 = 32;

impl Operation {
    /// What happens in it besides the accesses to memory. `counts` are what depends on the data.
    pub(super) fn events(&self, shape: &Shape, timing: &Timing, counts: Counts) -> Events {
        match self {
            Self::Load(load) => load.events(shape),
            Self::Product(product) => product.events(shape, timing, counts),
            Self::Append(append) => append.events(shape),
            Self::Restore(restore) => restore.events(shape),
            // The course of rows has its own; a link does nothing that takes energy.
            Self::Vector(_) | Self::Link(_) => Events::default(),
        }
    }
}

impl Load {
    fn events(&self, shape: &Shape) -> Events {
        if self.constants {
            return Events::default().with(Event::new("constant write", kind::SRAM_WRITE, CONSTANT), self.columns);
        }
        // A row of a macro is written as a whole.
        let row = WEIGHT * u64::from(shape.outputs);
        let macros = self.columns.div_ceil(shape.outputs.into());
        Events::default().with(Event::new("macro row write", kind::SRAM_WRITE, row), self.rows.rows * macros)
    }
}

impl Product {
    fn events(&self, shape: &Shape, timing: &Timing, counts: Counts) -> Events {
        let (rows, results) = (self.x.rows, self.x.rows * self.columns);
        let groups = rows * self.columns.div_ceil(timing.drain);
        let mut all = Events::default()
            .with(Event::new("scaled sum", kind::ELEMENT, RESULT), results)
            .with(Event::new("constants read", kind::SRAM_READ, CONSTANT * timing.drain), groups);
        match self.matrix {
            // All cells of a macro take a bit of each input in a cycle.
            Matrix::Store { .. } => {
                let (down, across) =
                    (self.inner.div_ceil(shape.inputs.into()), self.columns.div_ceil(shape.outputs.into()));
                let cells = u64::from(shape.inputs) * u64::from(shape.outputs);
                let bits = Event::new("bit of an input times a weight", kind::PRODUCT, 1 + WEIGHT);
                all.add(bits, rows * timing.steps * down * across * cells);
            }
            Matrix::Keys { .. } | Matrix::Values { .. } => {
                // Zeros are known where the operation could be done.
                let done = results * self.inner - counts.skipped;
                all.add(Event::new("product with the context", kind::PRODUCT, 2 * WEIGHT), done);
                all.add(Event::new("skipped product", kind::ELEMENT, 2 * WEIGHT), counts.skipped);
                let lanes = u64::from(shape.lanes);
                // A word has, for each engine, the channels of a tile or a channel of as many tokens.
                let words = rows * self.columns.div_ceil(timing.engines) * self.inner.div_ceil(lanes);
                all.add(Event::new("context read", kind::SRAM_READ, WEIGHT * lanes * timing.engines), words);
            }
        }
        all
    }
}

impl Append {
    /// Both sides are pruned, get levels and are packed; pruned tokens may become the context.
    fn events(&self, shape: &Shape) -> Events {
        let elements = 2 * u64::from(self.tokens) * u64::from(self.channels);
        let mut all = Events::default().with(Event::new("pruned and packed element", kind::ELEMENT, WEIGHT), elements);
        if self.keep {
            all += kept(shape, self.tokens);
        }
        all
    }
}

impl Restore {
    fn events(&self, shape: &Shape) -> Events {
        let elements = 2 * u64::from(self.tokens) * u64::from(self.channels);
        let mut all = Events::default().with(Event::new("restored element", kind::ELEMENT, WEIGHT), elements);
        if self.rows.is_none() {
            all += kept(shape, self.tokens);
        }
        all
    }
}

/// Tokens that go to the context: keys and values, tile by tile.
fn kept(shape: &Shape, tokens: u32) -> Events {
    let words = 2 * u64::from(tokens) * u64::from(shape.tiles);
    Events::default().with(Event::new("context write", kind::SRAM_WRITE, WEIGHT * u64::from(shape.lanes)), words)
}
