//! The engine for the cache, between the shell's streams: controller, tiles, writer, reader, the context.

mod hardware;

use super::block_mover::BlockMover;
use super::cache_operations::{AppendOperation, RestoreOperation};
use super::context_products::ContextPlace;
use super::tile_rows::TileRows;
use super::titanus_spec::{BLOCK_BYTES, TitanusSpec};
use super::token_tiles::TokenTiles;
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::shell::OperationController;
use crate::blocks::common::stream::StreamWidthConverter;
use crate::blocks::titanus::cache_writer::TOKENS;
use crate::lang::{Group, In, InBundle, Out, OutArray, bit, parameters, ports, sint, uint};

/// Number of the operation that appends; the other one restores.
pub(super) const APPEND: u32 = 4;

/// Number of the operation that restores.
pub(super) const RESTORE: u32 = 5;

parameters! {
    /// Elaboration parameters.
    pub struct CacheEngine {
        /// The bus; at most 512 bits wide.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
        /// Operations overlap: this one waits for what it depends on. Others read the context meanwhile.
        overlaps: bool = false, tag "overlaps";
    }
    rules = |p, rules| {
        p.dma.demand_row(rules, p.spec.most_bytes());
        rules.part("dma", &p.controller());
        rules.part("axi", &p.tiles());
        rules.part("axi", &p.rows());
        rules.part("axi", &p.blocks());
        rules.part("axi", &p.mover());
        let width = p.axi.data_width;
        rules.demand(width <= 8 * BLOCK_BYTES, "axi.data_width", width, "at most 512, a block of a stream");
    };
}

impl CacheEngine {
    /// Read DMAs: keys or an area, values.
    pub const READERS: u32 = 2;

    /// The descriptor of an append.
    #[must_use]
    pub fn append(&self) -> AppendOperation {
        AppendOperation { spec: self.spec.clone() }
    }

    /// The descriptor of a restore.
    #[must_use]
    pub fn restore(&self) -> RestoreOperation {
        RestoreOperation { spec: self.spec.clone() }
    }

    fn controller(&self) -> OperationController {
        OperationController {
            operands: 4,
            waits: self.overlaps,
            ..OperationController::of(&self.axi, &self.dma, Self::READERS)
        }
    }

    fn tiles(&self) -> TokenTiles {
        TokenTiles { axi: self.axi.clone(), spec: self.spec.clone() }
    }

    fn rows(&self) -> TileRows {
        TileRows { axi: self.axi.clone(), spec: self.spec.clone() }
    }

    fn mover(&self) -> BlockMover {
        BlockMover { axi: self.axi.clone(), dma: self.dma.clone() }
    }

    fn blocks(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: 8 * BLOCK_BYTES, granule: 8 }
    }
}

ports! {
    /// Ports of [`CacheEngine`].
    pub struct CacheEnginePorts(p: &CacheEngine) {
        /// To the shell. An abort drops the cached tokens too. Its results are exact; what the cache rounds is no
        /// overflow.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), 1),
        /// A job begins: damage is forgotten.
        began_i: In = bit(),
        /// Tokens of the context. Where operations overlap, as they will be when the operation in hand has ended well; it
        /// is right then.
        context_tokens_o: Out = uint(TOKENS),
        /// Reads the context.
        read_i: In = bit(),
        /// Where.
        place: InBundle<ContextPlace> = p.spec.context_memory(),
        /// The data read, a cycle later.
        data_o: OutArray = sint(8).array(p.spec.lanes * p.spec.engines),
        /// Tokens of the open streams; 0 without.
        tokens_o: Out = uint(TOKENS),
        /// A key, a value of them was out of tolerance when its channel had no level left.
        beyond_o: Out = uint(2),
        /// Kind of damage of the job: 0 none, 2 of a stream, 3 an area that is full.
        damage_o: Out = uint(8),
        /// It is of values.
        damage_values_o: Out = bit(),
        /// Address of the area.
        damage_where_o: Out = uint(64),
        /// A block of a stream came from memory.
        block_read_o: Out = bit(),
        /// A block of a stream went to memory.
        block_written_o: Out = bit(),
    }
}
