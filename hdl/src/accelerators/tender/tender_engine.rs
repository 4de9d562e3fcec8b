//! The engine for products and packings, between the shell's streams: controller, buffers, array, lanes.

mod hardware;

use super::engine_pe::EnginePe;
use super::execution_controller::{ENTRY, ExecutionController};
use super::panel_buffer::PanelBuffer;
use super::part_sums::PartSums;
use super::result_stage::ResultStage;
use super::strip_walker::StripWalker;
use super::sum_buffer::SumBuffer;
use super::tender_lane::TenderLane;
use super::tender_operations::MatmulOperation;
use super::turn_buffer::TurnBuffer;
use super::weight_buffer::WeightBuffer;
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::blocks::common::RamImplementation;
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::shell::OperationController;
use crate::blocks::tender::MultiScaleArrayOf;
use crate::lang::{Group, Out, PortBuilder, Ports, bit, parameters, ports};

/// Operands: A or rows, B, indices, constants, results.
const OPERANDS: u32 = 5;

/// DMAs that read: A or rows, B, constants, indices, the second half of B. Constants come beside B on a second port.
pub(super) const READS_CONSTANTS: u32 = 2;
pub(super) const READS_INDICES: u32 = 3;
const READERS: u32 = 4;

/// Bytes of the constants of a column.
pub(super) const RECORD: u32 = 16;

/// Operation of a product; any other one packs rows.
pub(super) const MATMUL: u32 = 1;

parameters! {
    /// Elaboration parameters.
    pub struct TenderEngineOf<P: EnginePe> {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The array; rows are a power of two from 2 on, columns from 4 on, with INT8 mode.
        array: MultiScaleArrayOf<P> = MultiScaleArrayOf::default();
        /// Channels of a panel that the scratchpad holds, twice.
        depth: u32 = 1024, in 2..=32768, tag "d";
        /// Entries of the index buffer, twice.
        steps: u32 = 2048, in 2..=65536, tag "s";
        /// Columns of a strip of rows that the turn buffer holds, twice.
        strip: u32 = 64, in 32..=65504, note "a multiple of 32", tag "p";
        /// Tiles of sums that the output buffer holds.
        sum_tiles: u32 = 2, in 2..=4, tag "t", named "when set";
        /// DMAs that read B: with two, each reads half of the channels of a panel.
        weight_readers: u32 = 1, in 1..=2, tag "n", named "when set";
        /// Also explicit requantization.
        explicit: bool = false, tag "explicit";
        /// Operations overlap: packings have an engine of their own, and a product waits for what it depends on.
        overlaps: bool = false, tag "overlaps";
        /// The arithmetic on a result; as wide as the array's results.
        lane: TenderLane = TenderLane::of_sums(MultiScaleArrayOf::<P>::default().result_width());
        /// Where scratchpad, index, output and turn buffer are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
    rules = |p, rules| {
        for (name, value, least) in [("array.rows", p.array.rows, 2), ("array.columns", p.array.columns, 4)] {
            let right = value.is_power_of_two() && value >= least;
            rules.demand(right, name, value, format!("a power of two, {least} to 256"));
        }
        rules.demand(p.array.int8, "array.int8", p.array.int8, "true");
        p.array.pe.demand_in_engine(rules);
        let width = p.array.result_width();
        rules.demand(p.lane.width == width, "lane.width", p.lane.width, format!("array's results: {width}"));
        rules.part("array", &p.array);
        rules.part("depth", &p.panels(p.array.rows));
        rules.part("depth", &p.weights());
        rules.part("strip", &p.turn());
        let longest = [
            u64::from(p.depth) * u64::from(p.word(p.array.rows.max(p.array.columns)) / 8),
            65_535 * u64::from(p.word(p.array.rows) / 8),
            65_535 * u64::from(RECORD),
        ];
        p.dma.demand_row(rules, longest.into_iter().max().unwrap_or(0));
        rules.part("strip", &p.walker());
        rules.part("dma", &p.controller());
    };
}

impl<P: EnginePe> TenderEngineOf<P> {
    pub(super) fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }

    /// Bits of a word of a panel of `lines` lines.
    pub(super) fn word(&self, lines: u32) -> u32 {
        lines * self.array.pe.operand_bits()
    }

    fn panels(&self, lines: u32) -> PanelBuffer {
        PanelBuffer { axi: self.axi.clone(), word_width: self.word(lines), depth: self.depth, storage: self.storage }
    }

    pub(super) fn weights(&self) -> WeightBuffer {
        WeightBuffer { panels: self.panels(self.array.columns), readers: self.weight_readers }
    }

    /// DMAs that read.
    #[must_use]
    pub fn readers(&self) -> u32 {
        READERS + self.weight_readers - 1
    }

    fn indices(&self) -> PanelBuffer {
        PanelBuffer { axi: self.axi.clone(), word_width: ENTRY, depth: self.steps, storage: self.storage }
    }

    pub(super) fn turn(&self) -> TurnBuffer {
        TurnBuffer {
            banks: self.array.rows.max(self.lanes()),
            lanes: self.lanes(),
            columns: self.strip,
            storage: self.storage,
            ..TurnBuffer::default()
        }
    }

    fn execution(&self) -> ExecutionController {
        ExecutionController { depth: self.depth, steps: self.steps, explicit: self.explicit }
    }

    /// The descriptor of a product.
    #[must_use]
    pub fn matmul(&self) -> MatmulOperation {
        MatmulOperation { depth: self.depth, steps: self.steps, explicit: self.explicit }
    }

    /// B is read for each panel of A. A comes late: the rest of the first tile is there by then.
    fn controller(&self) -> OperationController {
        let of = OperationController::of(&self.axi, &self.dma, self.readers());
        OperationController {
            operands: OPERANDS,
            times: 65535,
            prepares: true,
            waits: self.overlaps,
            late: self.overlaps.into(),
            ..of
        }
    }

    fn walker(&self) -> StripWalker {
        StripWalker { axi: self.axi.clone(), dma: self.dma.clone(), rows: self.array.rows, turn: self.turn() }
    }

    fn sums(&self) -> SumBuffer {
        SumBuffer {
            rows: self.array.rows,
            columns: self.array.columns,
            width: self.array.result_width(),
            storage: self.storage,
            tiles: self.sum_tiles,
            parts: self.explicit,
        }
    }

    fn part_sums(&self) -> PartSums {
        let SumBuffer { rows, columns, width, storage, .. } = self.sums();
        PartSums { rows, columns, width, storage }
    }

    pub(super) fn results(&self) -> ResultStage {
        ResultStage { rows: self.array.rows, columns: self.array.columns, lane: self.lane.clone() }
    }

    /// Cycles from a last step to the last sum of its tile, and a few more.
    fn flush(&self) -> u32 {
        self.array.rows + 2 * self.array.columns + 7 + self.array.pe.ranks().max(1)
    }
}

ports! {
    /// Ports of [`TenderEngineOf`].
    pub struct TenderEnginePorts(p: &EngineSpec) {
        /// To the shell. The DMAs read A or rows, B, constants, indices, the second half of B. It computes when the array takes a step with
        /// products. A column of a panel with a result that is infinite, a NaN, saturated or from a NaN counts as one
        /// result that is not exact.
        shell: Group<EnginePorts, EngineSpec> = p.clone(),
        /// For one cycle: a column of a panel had a sum that overflowed.
        sum_overflow_o: Out = bit(),
    }
}

impl<P: EnginePe> Ports<TenderEngineOf<P>> for TenderEnginePorts {
    #[track_caller]
    fn declare(builder: &mut PortBuilder, engine: &TenderEngineOf<P>) -> Self {
        <Self as Ports<EngineSpec>>::declare(builder, &EngineSpec::of(engine.controller(), 1))
    }
}
