//! The hardware of the engine.

use super::super::engine_pe::EnginePe;
use super::super::result_stage::ResultStagePorts;
use super::super::tender_places::Fields;
use super::super::weight_buffer::WeightBufferPorts;
use super::{READERS, READS_INDICES, TenderEngineOf, TenderEnginePorts};
use crate::blocks::common::shell::OperationControllerPorts;
use crate::lang::{About, Block, Bundle, Module, Signal, bits_for, connect_all, mux, uint};

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
        let weights = m.instance("u_scratchpad_b", self.weights());
        m.connect(weights.channels_i, fields.of.channels.extend(16));
        self.place(m, io, &fields, (&controller, &strips), weights.first_o);

        let stage = m.instance("u_results", self.results());
        let (index_error, a_ready) = self.product(m, io, &fields, &controller, (&weights, &stage));
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
        (b, stage): (&WeightBufferPorts, &ResultStagePorts),
    ) -> (Signal, Signal) {
        let (abort, product, int8) = (io.shell.abort_i, fields.product, fields.of.int8);
        m.comment("Scratchpad and index buffer.");
        let a = m.instance("u_scratchpad_a", self.panels(self.array.rows));
        let index = m.instance("u_index", self.indices());
        let source = io.shell.read.at(0);
        m.connect(a.input.valid, source.valid & product);
        a.input.data.drive(m, "a_input", &source.data);
        for (half, reader) in (0..).zip([1, READERS]).take(self.weight_readers as usize) {
            m.connect_stream(&b.input.at(half), &io.shell.read.at(reader));
        }
        m.connect_stream(&index.input, &io.shell.read.at(READS_INDICES));
        for clear in [a.clear_i, b.clear_i, index.clear_i] {
            m.connect(clear, abort);
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
