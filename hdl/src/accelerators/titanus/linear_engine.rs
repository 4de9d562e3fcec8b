//! The engine for loads and products, between the shell's streams: controller, loader, store, context products,
//! results. Where operations overlap, it has products only.

mod hardware;

use super::context_products::ContextPlace;
use super::linear_operations::{LoadOperation, MultiplyOperation};
use super::linear_results::LinearResults;
use super::probability_lanes::ProbabilityLanes;
use super::titanus_spec::TitanusSpec;
use super::weight_loader::WeightLoader;
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::accelerators::vector::RowPacker;
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::shell::OperationController;
use crate::blocks::common::stream::StreamWidthConverter;
use crate::blocks::titanus::cache_writer::TOKENS;
use crate::lang::{
    Group, In, InArray, InArrayOption, InOption, Out, OutBundle, OutOption, bit, index_width, parameters, ports, sint,
    uint,
};

/// Number of the operation that loads; the other one multiplies.
pub(super) const LOAD: u32 = 1;

/// Number of the operation that multiplies.
pub(super) const MULTIPLY: u32 = 2;

parameters! {
    /// Elaboration parameters.
    pub struct LinearEngine {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
        /// Operations overlap: loads have an engine of their own, and a product waits for what it depends on.
        overlaps: bool = false, tag "overlaps";
    }
    rules = |p, rules| {
        p.dma.demand_row(rules, p.spec.most_bytes());
        rules.part("dma", &p.controller());
        rules.part("spec", &p.loader());
        rules.part("axi", &p.bytes_to_words(8 * p.spec.store.load));
        rules.part("axi", &p.bytes_to_words(8 * p.spec.lanes));
        rules.part("axi", &p.probabilities_to_words());
        rules.part("axi", &p.to_beats());
        rules.part("axi", &p.packer());
    };
}

impl LinearEngine {
    /// Rows of weights, of constants or of x.
    pub const READERS: u32 = 1;

    /// The descriptor of a load.
    #[must_use]
    pub fn load(&self) -> LoadOperation {
        LoadOperation { spec: self.spec.clone() }
    }

    /// The descriptor of a product.
    #[must_use]
    pub fn multiply(&self) -> MultiplyOperation {
        MultiplyOperation { spec: self.spec.clone() }
    }

    fn controller(&self) -> OperationController {
        OperationController { waits: self.overlaps, ..OperationController::of(&self.axi, &self.dma, Self::READERS) }
    }

    fn loader(&self) -> WeightLoader {
        WeightLoader { axi: self.axi.clone(), spec: self.spec.clone() }
    }

    fn bytes_to_words(&self, width: u32) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: width, granule: 8 }
    }

    fn probabilities_to_words(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width / 2, output_width: 8 * self.spec.lanes, granule: 8 }
    }

    fn to_beats(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: 16 * self.spec.results(), output_width: self.axi.data_width, granule: 16 }
    }

    fn packer(&self) -> RowPacker {
        RowPacker { lanes: self.axi.data_width / 16 }
    }

    /// The unit that turns sums into results.
    #[must_use]
    pub fn results(&self) -> LinearResults {
        LinearResults { spec: self.spec.clone() }
    }

    /// The unit that turns probabilities into bytes.
    #[must_use]
    pub fn probabilities(&self) -> ProbabilityLanes {
        ProbabilityLanes { axi: self.axi.clone() }
    }

    /// Most overflows of a cycle: of results, and of bytes of probabilities.
    #[must_use]
    pub fn most_overflows(&self) -> u32 {
        self.spec.results() + self.axi.data_width / 16
    }

    fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }
}

ports! {
    /// Ports of [`LinearEngine`].
    pub struct LinearEnginePorts(p: &LinearEngine) {
        /// To the shell. An abort leaves weights and constants as they are. Results, and bytes of probabilities, that
        /// overflow are not exact.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), p.most_overflows()),
        /// Multiplications of the dot products with the context that end in this cycle.
        multiplications_o: Out = p.spec.multiplications(),
        /// Skipped multiplications among them.
        skipped_o: Out = p.spec.multiplications(),
        /// Where operations overlap: weights, an input of the matrix at a time, from the engine for loads.
        weights_valid_i: InOption = bit().when(p.overlaps),
        /// They are taken.
        weights_ready_o: OutOption = bit().when(p.overlaps),
        /// Which input.
        weights_row_i: InOption = uint(index_width(p.spec.inputs().into())).when(p.overlaps),
        /// Which column of macros.
        weights_column_i: InOption = uint(index_width(p.spec.store.columns.into())).when(p.overlaps),
        /// A weight for each output of a macro.
        weights_i: InArrayOption = p.overlaps.then(|| sint(8).array(p.spec.store.tile.cells.outputs)),
        /// Where operations overlap: a constant comes from the engine for loads.
        constant_valid_i: InOption = bit().when(p.overlaps),
        /// Its number.
        constant_index_i: InOption = p.spec.constant().when(p.overlaps),
        /// Its scale.
        constant_scale_i: InOption = uint(32).when(p.overlaps),
        /// Its bias.
        constant_bias_i: InOption = sint(32).when(p.overlaps),
        /// Tokens of the context, as the operations before leave them. Read when an operation is checked.
        context_tokens_i: In = uint(TOKENS),
        /// The context is read.
        read_o: Out = bit(),
        /// Where.
        place: OutBundle<ContextPlace> = p.spec.context_memory(),
        /// The data read, a cycle later.
        data_i: InArray = sint(8).array(p.spec.lanes * p.spec.engines),
    }
}
