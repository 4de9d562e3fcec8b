//! Sizes of the accelerator, and the sums that its parts give.

use crate::blocks::titanus::{
    CacheReader, CacheWriter, ComputingEngine, ContextMemory, DcimCells, DcimImplementation, DcimLinear, DcimMacro,
};
use crate::lang::{Field, FieldArray, Type, bit, bits_for, bundle, index_width, parameters, power_of_two, sint, uint};

/// Bits of a number of elements of a row.
pub(super) const COUNT: u32 = 20;

/// Bytes of a block of a stream.
pub(super) const BLOCK_BYTES: u32 = 64;

parameters! {
    /// Sizes of a Titanus core.
    pub struct TitanusSpec {
        /// Weights; inputs and outputs of a macro, and sums of a beat, are powers of two.
        store: DcimLinear = DcimLinear {
            tile: DcimMacro {
                cells: DcimCells { implementation: DcimImplementation::BlackBox, ..DcimCells::default() },
                ..DcimMacro::default()
            },
            ..DcimLinear::default()
        };
        /// Constants of results.
        constants: u32 = 4096, in 1..=1_048_575, tag "k";
        /// Channels of a tile of keys and values.
        lanes: u32 = 32, in power_of_two(2..=64), tag "p";
        /// Tiles of a token, of all heads together.
        tiles: u32 = 6, in 1..=1024, tag "t";
        /// Levels that a channel may have.
        levels: u32 = 16, in 1..=256, tag "n";
        /// Tokens of the context.
        context: u32 = 128, in 1..=65_535, note "tiles times context at most 1048576; whole groups of lanes up to 65535", tag "x";
        /// Computing engines: results of a product with the context that are computed at once.
        engines: u32 = 1, in power_of_two(1..=32), note "at most half of lanes; times the longest row at most 65535", tag "e", named "when set";
        /// Tokens of the longest prefill.
        buffer: u32 = 64, in 1..=65_535, note "at most 65535 / tiles", tag "b";
    }
    rules = |p, rules| {
        let cells = &p.store.tile.cells;
        for (name, value) in [
            ("store.tile.cells.inputs", cells.inputs),
            ("store.tile.cells.outputs", cells.outputs),
            ("store.drain", p.store.drain),
        ] {
            let fits = value >= 2 && value.is_power_of_two();
            rules.demand(fits, name, value, "a power of two from 2 on");
        }
        let bytes = (p.store.tile.input_width, cells.weight_width) == (8, 8);
        rules.demand(bytes, "store.tile.input_width", p.store.tile.input_width, "8, and weights of 8 bits");
        rules.demand(p.store.drain <= 64, "store.drain", p.store.drain, "at most 64");
        // Sums after the last result leave while the next descriptor is read.
        let leave = cells.outputs <= 32 * p.store.drain;
        rules.demand(leave, "store.drain", p.store.drain, format!("a thirty-second of outputs = {} at least", cells.outputs));
        // As wide as counts of rows and of results.
        let [inputs, outputs] = [p.inputs(), p.outputs()];
        rules.demand(inputs <= 65_535, "store.rows", p.store.rows, format!("65535 / inputs = {} at most", cells.inputs));
        rules.demand(outputs < 1 << COUNT, "store.columns", p.store.columns, format!("below 2^20 / outputs = {}", cells.outputs));
        rules.part("context", &p.context_memory());
        rules.part("buffer", &p.writer());
        rules.part("lanes", &p.engine());
        // The multiplications of a cycle are counted in 16 bits.
        let longest = p.engine().longest();
        let of_groups = u64::from(p.lanes) * u64::from(p.context_memory().groups());
        let most = 65_535 / u64::from(p.lanes) * u64::from(p.lanes);
        rules.demand(of_groups <= 65_535, "context", p.context, format!("whole groups of {} up to {most}", p.lanes));
        let all = longest * u64::from(p.engines);
        let wanted = format!("65535 / elements of the longest row = {longest} at most");
        rules.demand(of_groups > 65_535 || all <= 65_535, "engines", p.engines, wanted);
    };
}

impl TitanusSpec {
    /// Results of a beat.
    #[must_use]
    pub fn results(&self) -> u32 {
        self.store.drain
    }

    /// Channels of a token.
    #[must_use]
    pub fn channels(&self) -> u32 {
        self.lanes * self.tiles
    }

    /// Inputs of the largest matrix.
    #[must_use]
    pub fn inputs(&self) -> u32 {
        self.store.rows * self.store.tile.cells.inputs
    }

    /// Outputs of the largest matrix.
    #[must_use]
    pub fn outputs(&self) -> u32 {
        self.store.columns * self.store.tile.cells.outputs
    }

    /// Most elements of a row of x.
    #[must_use]
    pub fn most_elements(&self) -> u32 {
        self.inputs().max(self.channels()).max(self.context)
    }

    /// Most results of a row.
    #[must_use]
    pub fn most_results(&self) -> u32 {
        self.outputs().max(self.channels()).max(self.context)
    }

    /// Bytes of the longest row that is moved.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        let rows = self.most_elements().max(self.most_results());
        (2 * u64::from(rows)).max(8 * u64::from(self.constants)).max(64)
    }

    /// Type of a constant's number.
    #[must_use]
    pub fn constant(&self) -> Type {
        uint(index_width(self.constants.into()))
    }

    /// Keys and values of tokens.
    #[must_use]
    pub fn context_memory(&self) -> ContextMemory {
        ContextMemory { lanes: self.lanes, tiles: self.tiles, tokens: self.context, engines: self.engines }
    }

    /// The unit that writes streams.
    #[must_use]
    pub fn writer(&self) -> CacheWriter {
        let Self { lanes, tiles, levels, buffer, .. } = *self;
        CacheWriter { lanes, tiles, levels, buffer_tokens: buffer, block_bytes: BLOCK_BYTES }
    }

    /// The unit that reads them back.
    #[must_use]
    pub fn reader(&self) -> CacheReader {
        let Self { lanes, tiles, levels, .. } = *self;
        CacheReader { lanes, tiles, levels, block_bytes: BLOCK_BYTES }
    }

    /// Type of a number of multiplications of a cycle.
    #[must_use]
    pub fn multiplications(&self) -> Type {
        uint(bits_for(u64::from(self.engines) * self.engine().longest()))
    }

    /// One of the engines that multiply with the context.
    #[must_use]
    pub fn engine(&self) -> ComputingEngine {
        let vpus = self.lanes.min(4);
        let max_beats = self.tiles.max(self.context_memory().groups());
        ComputingEngine { vpus, units: self.lanes / vpus, lanes: 1, operand_width: 8, max_beats }
    }

    /// Words of the longest row of x for the context.
    #[must_use]
    pub fn x_words(&self) -> u32 {
        self.engine().max_beats
    }
}

bundle! {
    /// Sums of a row, in order.
    pub struct SumBeat(lanes: u32) {
        /// The sums; in a last beat some may have no meaning.
        sums: FieldArray = sint(32).array(*lanes),
        /// No more of this row.
        last: Field = bit(),
    }
}

/// Bits of a number of channels.
#[must_use]
pub(super) fn used_bits(lanes: u32) -> u32 {
    bits_for(lanes.into())
}
