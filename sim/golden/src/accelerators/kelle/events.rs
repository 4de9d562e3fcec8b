//! Events of products, of attention, and of saved tokens. Refreshes are no part of an operation: they come with time.

use super::{Attention, Linear, Restore, Save, Shape};
use crate::accelerators::events::{Event, Events, kind};

/// Bits of a byte of a weight or a vector, of a number of fp16, and of a number of a row.
const BYTE: u64 = 8;
const HALF: u64 = 16;

/// Steps of an array on tiles, for so many vectors. A vector has two bytes, and a step for each.
fn steps(shape: &Shape, tiles: u64, vectors: u64) -> Events {
    let pes = u64::from(shape.rows) * u64::from(shape.columns);
    Events::default().with(Event::new("product", kind::PRODUCT, 2 * BYTE), 2 * tiles * vectors * pes)
}

/// A row of weights that moves into the array.
fn loaded(shape: &Shape, rows: u64) -> Events {
    Events::default().with(Event::new("weights into the array", kind::ELEMENT, BYTE * u64::from(shape.columns)), rows)
}

/// A row of the cache: a byte of each element of a key or of a value, from all banks of a group at once. Whoever wants a
/// slice of it reads it as a whole.
fn cache(shape: &Shape, name: &'static str, kind: &'static str, rows: u64) -> Events {
    Events::default().with(Event::new(name, kind, BYTE * u64::from(shape.width)), rows)
}

impl Linear {
    /// What happens in it besides the accesses to memory.
    pub(super) fn events(&self, shape: &Shape) -> Events {
        let (rows, columns) = (u64::from(shape.rows), u64::from(shape.columns));
        let (groups, vectors) = (self.columns.div_ceil(columns), self.out.rows);
        // Panels come as a whole; rows of weights of columns that are not there are dropped.
        let words = self.panels.rows * self.channels * (shape.panel() / columns);
        let word = BYTE * columns;
        let mut all = steps(shape, groups * self.channels.div_ceil(rows), vectors);
        all += loaded(shape, groups * self.channels);
        all.with(Event::new("weight buffer write", kind::SRAM_WRITE, word), words)
            .with(Event::new("weight buffer read", kind::SRAM_READ, word), words)
            .with(Event::new("activation to an integer", kind::ELEMENT, HALF), vectors * self.channels)
            .with(Event::new("scaled sum", kind::ELEMENT, 2 * HALF), vectors * groups * columns)
    }
}

impl Attention {
    /// What happens besides the accesses to memory, if `old` tokens are in the head before, if each new token evicts
    /// others, and if slots hold tokens that come `again`.
    pub(super) fn events(&self, shape: &Shape, (old, evicted, again): (u64, &[Vec<u64>], &[bool])) -> Events {
        let (rows, columns) = (u64::from(shape.rows), u64::from(shape.columns));
        let (slices, score_lanes) = (self.elements / columns, u64::from(shape.score_lanes));
        let (mut all, mut old) = (Events::default(), old);
        // Both bytes of a key and of a value; elements that the vector does not have are written as 0. A token whose value is
        // late is written again with its value.
        let written = 4;
        let times = 1 + u64::from(self.late);
        let held = again.iter().filter(|&&held| held).count() as u64;
        all += cache(shape, "cache write", kind::EDRAM_WRITE, written * held);
        for evicted in evicted {
            let tokens = old + 1;
            let panels = tokens.div_ceil(rows);
            // Keys and values have two bytes, and each is a tile of its own.
            let tiles = 4 * slices * panels;
            all += steps(shape, tiles, self.group);
            all += loaded(shape, 4 * slices * tokens);
            all += cache(shape, "cache write", kind::EDRAM_WRITE, times * written);
            all += cache(shape, "cache read", kind::EDRAM_READ, 4 * slices * tokens);
            let beats = self.group * tokens.div_ceil(score_lanes);
            let beat = HALF * score_lanes;
            for (name, kind) in [
                ("softmax buffer write", kind::SRAM_WRITE),
                ("softmax buffer read", kind::SRAM_READ),
                ("softmax output write", kind::SRAM_WRITE),
                ("softmax output read", kind::SRAM_READ),
            ] {
                all.add(Event::new(name, kind, beat), beats);
            }
            all.add(Event::new("softmax of a score", kind::ELEMENT, HALF), self.group * tokens);
            all.add(Event::new("importance", kind::ELEMENT, shape.score_bits.into()), self.group * old);
            all.add(Event::new("eviction", kind::ELEMENT, shape.score_bits.into()), evicted.len() as u64);
            let numbers = (self.group + 2) * self.elements;
            all.add(Event::new("activation to an integer", kind::ELEMENT, HALF), numbers + self.group * tokens);
            let sums = self.group * (panels * rows + self.elements);
            all.add(Event::new("scaled sum", kind::ELEMENT, 2 * HALF), sums);
            old = tokens - evicted.len() as u64;
        }
        all
    }
}

impl Save {
    /// Both bytes of keys and values are read at once.
    pub(super) fn events(&self, shape: &Shape) -> Events {
        cache(shape, "cache read", kind::EDRAM_READ, 4 * self.out.rows)
    }
}

impl Restore {
    /// Both bytes of keys and values are written at once.
    pub(super) fn events(&self, shape: &Shape) -> Events {
        cache(shape, "cache write", kind::EDRAM_WRITE, 4 * self.saved.rows)
    }
}
