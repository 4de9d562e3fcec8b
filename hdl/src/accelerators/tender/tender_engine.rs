//! The engine for products and packings, between the shell's streams: controller, buffers, array, lanes.

use super::engine_pe::EnginePe;
use super::execution_controller::{ENTRY, ExecutionController};
use super::panel_buffer::PanelBuffer;
use super::part_sums::PartSums;
use super::result_stage::{ResultStage, ResultStagePorts};
use super::strip_walker::StripWalker;
use super::sum_buffer::SumBuffer;
use super::tender_lane::TenderLane;
use super::tender_operations::MatmulOperation;
use super::tender_places::{Fields, RECORD};
use super::turn_buffer::TurnBuffer;
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::blocks::common::RamImplementation;
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::shell::{OperationController, OperationControllerPorts};
use crate::blocks::tender::MultiScaleArrayOf;
use crate::lang::{
    About, Block, Bundle, Group, Module, Out, PortBuilder, Ports, Signal, bit, bits_for, connect_all, mux, parameters,
    ports, uint,
};

/// Operands that are read: A or rows, B, indices, constants.
pub(super) const READERS: u32 = 4;

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
        /// Also explicit requantization.
        explicit: bool = false, tag "explicit";
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
        rules.part("depth", &p.panels(p.array.columns));
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

    fn indices(&self) -> PanelBuffer {
        PanelBuffer { axi: self.axi.clone(), word_width: ENTRY, depth: self.steps, storage: self.storage }
    }

    pub(super) fn turn(&self) -> TurnBuffer {
        TurnBuffer {
            banks: self.array.rows.max(self.lanes()),
            lanes: self.lanes(),
            columns: self.strip,
            storage: self.storage,
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

    /// B is read for each panel of A.
    fn controller(&self) -> OperationController {
        let of = OperationController::of(&self.axi, &self.dma, READERS);
        OperationController { times: 65535, prepares: true, ..of }
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
            parts: self.explicit,
        }
    }

    fn part_sums(&self) -> PartSums {
        let SumBuffer { rows, columns, width, storage, .. } = self.sums();
        PartSums { rows, columns, width, storage }
    }

    fn results(&self) -> ResultStage {
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
        /// To the shell. The DMAs read A or rows, B, indices, constants. It computes when the array takes a step with
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

impl<P: EnginePe> Block for TenderEngineOf<P> {
    type Ports = TenderEnginePorts;
    const ABOUT: About = About {
        name: P::ENGINE,
        summary: "index buffer, execution controller, scratchpad, array, output buffer and result lanes",
        contract: "Products of panels as matmul_operation names their fields, and rows that become panels as\n\
            pack_operation does; checked and done as operation_controller says. ERROR_FIELD (15) ends a product at a\n\
            wrong index. With the option exact an overflow of any kind ends it with ERROR_OVERFLOW (14).",
        reference: "Tender, section IV-A, figure 6(a)",
    };

    fn build(&self, m: &mut Module, io: &TenderEnginePorts) {
        let shell = &io.shell;
        let fields = self.fields(m, io);
        let controller = shell.controller(m, self.controller());
        let strips = m.instance("u_strips", self.walker());
        self.place(m, io, &fields, &controller, &strips);

        let stage = m.instance("u_results", self.results());
        let (index_error, a_ready) = self.product(m, io, &fields, &controller, &stage);
        self.check(m, &fields, &controller, (index_error, &strips));
        self.turned(m, io, &fields, controller.begin_o, &stage, (&strips, a_ready));
        self.constants(m, io, &stage);
        m.connect(stage.clear_i, shell.abort_i);
        m.connect(stage.begin_i, controller.begin_o);
        mode(m, &fields, &stage);
        m.connect(controller.overflow_i, stage.sum_overflow_o | stage.overflow_o);
        m.connect(io.sum_overflow_o, stage.sum_overflow_o);
        m.connect(shell.overflows_o, stage.overflow_o);
    }
}

impl<P: EnginePe> TenderEngineOf<P> {
    /// From panels to columns of sums; returns that an index is wrong, and that the scratchpad takes a beat of A.
    fn product(
        &self,
        m: &mut Module,
        io: &TenderEnginePorts,
        fields: &Fields,
        controller: &OperationControllerPorts,
        stage: &ResultStagePorts,
    ) -> (Signal, Signal) {
        let (abort, product, int8) = (io.shell.abort_i, fields.product, fields.of.int8);
        m.comment("Scratchpad and index buffer.");
        let a = m.instance("u_scratchpad_a", self.panels(self.array.rows));
        let b = m.instance("u_scratchpad_b", self.panels(self.array.columns));
        let index = m.instance("u_index", self.indices());
        let source = io.shell.read.at(0);
        m.connect(a.input.valid, source.valid & product);
        a.input.data.drive(m, "a_input", &source.data);
        m.connect_stream(&b.input, &io.shell.read.at(1));
        m.connect_stream(&index.input, &io.shell.read.at(2));
        for buffer in [&a, &b, &index] {
            m.connect(buffer.clear_i, abort);
        }

        m.comment("Steps.");
        let execution = m.instance("u_execution", self.execution());
        let array = m.instance("u_array", self.array.clone());
        let sums = m.instance("u_sums", self.sums());
        if let Some(explicit) = execution.tiles.explicit {
            m.connect(explicit, fields.of.explicit);
        }
        m.connect_pairs([
            (execution.clear_i, abort),
            (execution.begin_i, controller.begin_o & product),
            (execution.tiles.row_tiles, fields.tiles.0),
            (execution.tiles.column_tiles, fields.tiles.1),
            (execution.tiles.steps, fields.of.steps),
            (execution.tiles.channels, fields.of.channels),
            (execution.index_valid_i, index.valid_o),
            (index.read_i, execution.index_read_o),
            (index.address_i, execution.index_address_o),
            (execution.index_entry_i, index.data_o),
            (index.free_i, execution.index_free_o),
            (execution.a_valid_i, a.valid_o),
            (execution.b_valid_i, b.valid_o),
            (a.free_i, execution.a_free_o),
            (b.free_i, execution.b_free_o),
            (a.read_i, execution.read_o),
            (b.read_i, execution.read_o),
            (a.address_i, execution.channel_o),
            (b.address_i, execution.channel_o),
            (execution.room_i, sums.room_o),
            (sums.take_i, execution.take_o),
            // Rows that INT8 mode leaves out have not changed pages: each operation begins with the same ones.
            (sums.clear_i, abort | controller.begin_o),
            (sums.int8_i, int8),
            (sums.columns_i, fields.of.columns),
        ]);
        m.connect_handshake(&array.step, &execution.step);
        connect_all!(m, array.step, execution.step, [first, last]);
        if let Some(rescale) = array.step.rescale {
            m.connect(rescale, execution.step.rescale.extend(rescale.width()));
        }
        if let Some(to) = array.step.int8 {
            m.connect(to, int8);
        }
        m.connect(array.step.act_signed, !fields.of.a_unsigned);
        m.connect(array.step.weight_signed, !fields.of.b_unsigned);
        let nibble = uint(self.array.pe.operand_bits());
        let acts = m.split("act", a.data_o, nibble.array(self.array.rows));
        let weights = m.split("weight", b.data_o, nibble.array(self.array.columns));
        m.connect_each("array_act", array.step.act, acts);
        m.connect_each("array_weight", array.step.weight, weights);
        let moves = m.wire("step_moves", execution.step.fire());
        m.connect(io.shell.computing_o, moves & !execution.step.rescale);

        m.comment("Sums.");
        m.connect_each("sums_valid", sums.result_valid_i, array.result_valid_o);
        m.connect_each("sums_result", sums.result_i, array.result_o);
        m.connect_each("sums_overflow", sums.overflow_i, array.overflow_o);
        let pairs = [(sums.doubles_i, execution.doubles_o), (sums.ends_i, execution.ends_o)];
        for (to, from) in pairs.into_iter().filter_map(|(to, from)| to.zip(from)) {
            m.connect(to, from);
        }
        if self.explicit {
            let parts = m.instance("u_part_sums", self.part_sums());
            m.connect(parts.clear_i, abort | controller.begin_o);
            m.connect_stream(&parts.part, &sums.column);
            m.connect_stream(&stage.sum, &parts.column);
        } else {
            m.connect_stream(&stage.sum, &sums.column);
        }

        m.comment("Sums of a tile that was broken off may still be in the array.");
        let flush_ty = uint(bits_for(self.flush().into()));
        let flush = m.reg_init("flush_q", flush_ty, 0);
        let some = m.wire("some_flush", flush.q.any());
        let ends = m.wire("tile_ends", moves & execution.step.last);
        let less = mux(some, flush.q.wrapping_sub(1), flush_ty.lit(0));
        flush.next(mux(ends, flush_ty.lit(self.flush()), less));
        m.connect(io.shell.idle_o, controller.idle_o & !some & !execution.busy_o);
        (execution.error_o, a.input.ready)
    }
}

/// The mode of the results; it means something while an operation is in hand.
fn mode(m: &mut Module, fields: &Fields, stage: &ResultStagePorts) {
    let (of, to) = (&fields.of, &stage.mode);
    m.connect_pairs([
        (to.rows, of.rows),
        (to.columns, of.columns),
        (to.from_values, !fields.product),
        (to.int8, of.int8),
        (to.integers, fields.integers),
        (to.unsigned, of.out_unsigned),
        (to.relu, of.relu),
        (to.per_row, of.per_row),
    ]);
}
