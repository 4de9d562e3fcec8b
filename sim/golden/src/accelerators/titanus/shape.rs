//! The parameters of `titanus_core`.

use crate::accelerators::vector;

/// The parameters of the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of macros; 0: no store.
    pub rows: u32,
    /// Columns of macros.
    pub columns: u32,
    /// Inputs of a macro.
    pub inputs: u32,
    /// Outputs of a macro.
    pub outputs: u32,
    /// Constants of results; 0: no loads, no products.
    pub constants: u32,
    /// Channels of a tile; 0: no cache.
    pub lanes: u32,
    /// Tiles of a token.
    pub tiles: u32,
    /// Levels that a channel may have.
    pub levels: u32,
    /// Tokens of the context; 0: none.
    pub context: u32,
    /// Tokens of the longest prefill.
    pub buffer: u32,
    /// Whether it has links to the core before and to the next core.
    pub links: bool,
    /// Its vector unit, and the bus.
    pub vector: vector::Shape,
}

impl Shape {
    /// Channels of a token in a stream.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.lanes as usize * self.tiles as usize
    }
}
