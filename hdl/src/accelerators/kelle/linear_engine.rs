//! The engine for a product of a linear layer, between the shell's streams: controller, memories, lanes, and the array.

use super::activation_memory::ActivationMemory;
use super::column_constants::ColumnConstants;
use super::integer_lanes::{IntegerLane, IntegerLanes};
use super::kelle_spec::KelleSpec;
use super::linear_operation::{LinearOperation, LinearOperationPorts};
use super::panel_pages::PanelPages;
use super::product_walk::{ProductWalk, ProductWalkPorts};
use super::sum_lanes::{SumLane, SumLanes};
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::accelerators::rows::rows_to_words;
use crate::accelerators::sizes::{fit, groups};
use crate::blocks::common::bus::DmaSpec;
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{OperationController, OperationControllerPorts, Own, Place, first_error};
use crate::blocks::common::stream::{FifoStorage, StreamFifo};
use crate::blocks::kelle::{ArrayResult, ArrayRow, ArrayStep};
use crate::lang::{
    About, Block, Group, InStream, Module, Out, OutOption, OutStream, Signal, bit, bits_for, mux, parameters, ports,
    uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct LinearEngine {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Sizes.
        spec: KelleSpec = KelleSpec::default();
        /// How an fp16 number becomes an integer.
        integer: IntegerLane = IntegerLane::default();
        /// How a sum becomes an fp16 number; as wide as the array's sums.
        sum: SumLane = SumLane::default();
        /// Operations overlap: this one waits for those of other engines, but reads weights and constants before. Others
        /// use the array meanwhile.
        overlaps: bool = false, tag "overlaps";
    }
    rules = |p, rules| {
        let width = p.spec.accumulator_width;
        rules.demand(p.sum.width == width, "sum.width", p.sum.width, format!("accumulator_width = {width}"));
        p.dma.demand_row(rules, (u64::from(p.spec.inner) * u64::from(p.spec.panel())).max(8 * 65_536));
        rules.part("dma", &p.controller());
        rules.part("spec", &p.walk());
        rules.part("spec", &p.constants());
        rules.part("sum", &p.sums());
        rules.part("integer", &p.integers());
    };
}

impl LinearEngine {
    /// Read DMAs: rows, panels, constants.
    pub const READERS: u32 = 3;

    /// The descriptor of its operation.
    #[must_use]
    pub fn operation(&self) -> LinearOperation {
        LinearOperation { tokens: self.spec.tokens, inner: self.spec.inner }
    }

    fn controller(&self) -> OperationController {
        let of = OperationController::of(&self.spec.axi, &self.dma, Self::READERS);
        OperationController { times: 65535, waits: self.overlaps, late: self.overlaps.into(), ..of }
    }

    /// The unit that leads the array.
    fn walk(&self) -> ProductWalk {
        let (spec, vectors, tiles) = (self.spec.clone(), self.spec.tokens, self.spec.tiles());
        ProductWalk { spec, attention: false, vectors, tiles }
    }

    fn constants(&self) -> ColumnConstants {
        ColumnConstants { spec: self.spec.clone() }
    }

    fn sums(&self) -> SumLanes {
        SumLanes { lanes: self.spec.lanes(), lane: self.sum.clone() }
    }

    fn pages(&self) -> PanelPages {
        let spec = &self.spec;
        PanelPages { lanes: spec.lanes(), columns: spec.columns, panel: spec.panel(), rows: spec.tokens }
    }

    fn memory(&self) -> ActivationMemory {
        let spec = &self.spec;
        ActivationMemory { lanes: spec.lanes(), tile: spec.rows, rows: spec.tokens, inner: spec.inner }
    }

    fn integers(&self) -> IntegerLanes {
        IntegerLanes { lanes: self.spec.lanes(), lane: self.integer.clone() }
    }
}

ports! {
    /// Ports of [`LinearEngine`].
    pub struct LinearEnginePorts(p: &LinearEngine) {
        /// To the shell. The DMAs read rows, panels, constants. Results that are infinite or no number are not exact.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), p.spec.lanes()),
        /// For one cycle: an operation that is right begins; the array is to be cleared.
        begin_o: OutOption = bit().when(!p.overlaps),
        /// For one cycle: an operation is taken that uses the array.
        takes_o: OutOption = bit().when(p.overlaps),
        /// For one cycle: it has ended without an error.
        leaves_o: OutOption = bit().when(p.overlaps),
        /// Numbers that were saturated in this cycle.
        saturations_o: Out = uint(bits_for(p.spec.lanes().into())),
        /// Rows of weights to the array.
        load: OutStream<ArrayRow> = p.spec.array(),
        /// Steps of the array.
        step: OutStream<ArrayStep> = p.spec.array(),
        /// Results of the array.
        result: InStream<ArrayResult> = p.spec.array(),
    }
}

impl Block for LinearEngine {
    type Ports = LinearEnginePorts;
    const ABOUT: About = About {
        name: "linear_engine",
        summary: "rows of fp16 numbers times a matrix of 8-bit weights, around the reconfigurable array",
        contract: "An operation as linear_operation names its fields, checked and done as operation_controller says:\n\
            rows become integers and stay, weights pass the array once, results leave panel by panel. With the option\n\
            exact a number that is saturated, infinite or no number ends it with ERROR_OVERFLOW (14).",
        reference: "Kelle, section 5",
    };

    fn build(&self, m: &mut Module, io: &LinearEnginePorts) {
        let (spec, lanes, shell) = (&self.spec, self.spec.lanes(), &io.shell);
        let operation = shell.only(m, self.operation());
        let controller = shell.controller(m, self.controller());
        shell.command(m, &controller);
        let none = bit().lit(0);
        controller.refuse(m, &operation.decoder, none, none);
        self.place(m, &operation, &controller);
        m.connect(shell.computing_o, io.step.fire());
        m.connect_option(io.begin_o, (!self.overlaps).then_some(controller.begin_o));
        shell.uses(m, (io.takes_o, io.leaves_o), bit().lit(1));
        let begin = controller.begin_o;
        // State of the operation before.
        let clear = m.wire("clear", shell.abort_i | begin);

        m.comment("Rows become integers, which stay.");
        let integers = m.instance("u_integers", self.integers());
        let memory = m.instance("u_memory", self.memory());
        m.connect(integers.clear_i, clear);
        m.connect(memory.clear_i, clear);
        m.connect(integers.quantizer_i, operation.quantizer);
        let x = shell.read.at(0);
        m.connect_handshake(&integers.input, &x);
        let values = m.split("x", x.data.data, uint(16).array(lanes));
        m.connect_each("x_values", integers.input.values, values);
        m.connect(integers.input.used, x.bytes.slice(1..1 + integers.input.used.width()));
        m.connect(integers.input.last, x.row_last);
        m.unused(x.bytes);
        m.unused(x.last);
        m.connect_stream(&memory.input, &integers.output);
        m.connect(io.saturations_o, integers.saturations_o);

        m.comment("Weights wait for the array.");
        let words = m.instance("u_weight_words", spec.weight_words());
        m.connect(words.clear_i, clear);
        rows_to_words(m, "weights", &shell.read.at(1), &words);
        let width = 8 * spec.columns;
        let fifo = StreamFifo { width, depth: spec.weights, storage: FifoStorage::Memory, slack: 0 };
        let weights = m.instance("u_weights", fifo);
        m.connect(weights.clear_i, clear);
        m.connect_handshake(&weights.input, &words.output);
        m.connect(weights.input.data.data, words.output.data.data);
        for unused in [words.output.strobe, words.output.last, weights.level_o, weights.almost_full_o] {
            m.unused(unused);
        }

        m.comment("Steps.");
        let walk = m.instance("u_walk", self.walk());
        m.connect(walk.clear_i, shell.abort_i);
        m.connect(walk.begin_i, begin);
        let walk_groups = self.size(m, &operation, &walk);
        m.connect_stream(&walk.weights, &weights.output);
        m.connect_stream(&io.load, &walk.load);
        m.connect_stream(&io.step, &walk.step);
        m.connect(walk.here_i, memory.rows_o.eq(operation.rows));
        m.connect(memory.read_i, walk.read_o);
        m.connect(memory.row_i, walk.vector_o);
        m.connect(memory.tile_i, walk.tile_o);
        m.unused(walk.done_o);
        m.for_each("tile", spec.rows, |m, r| m.connect(walk.tile_i.at(r), memory.tile_o.at(r)));
        let more = spec.array().lanes() - spec.rows;
        m.for_each("no_tile", more, |m, r| m.connect(walk.tile_i.at(r + spec.rows), 0));

        m.comment("Sums of a group need its constants.");
        let constants = m.instance("u_constants", self.constants());
        let sums = m.instance("u_sums", self.sums());
        let pages = m.instance("u_pages", self.pages());
        m.connect(constants.clear_i, shell.abort_i);
        m.connect(constants.begin_i, begin);
        m.connect(constants.columns_i, operation.columns);
        m.connect_stream(&constants.input, &shell.read.at(2));
        m.connect(sums.clear_i, clear);
        m.connect(sums.input.valid, io.result.valid & constants.valid_o);
        m.connect(io.result.ready, sums.input.ready & constants.valid_o);
        m.connect_each("sum", sums.input.sum, io.result.sum);
        m.connect_each("scale", sums.input.scale, constants.scale_o);
        m.connect_each("bias", sums.input.bias, constants.bias_o);
        m.connect(sums.input.used, constants.used_o);
        let beat = io.result.group.slice(0..constants.beat_i.width());
        m.connect(constants.beat_i, beat);
        let rows = operation.rows;
        let last_row = io.result.index.extend(rows.width()).wrapping_add(1).eq(rows);
        let ends = m.wire("group_ends", io.result.fire() & io.result.last & last_row);
        m.connect(constants.next_i, ends);
        // Sums are exact, results are not transposed, and groups of columns are whole beats.
        m.unused(io.result.overflow.packed());
        m.unused(io.result.transposed);
        m.unused(io.result.used);
        m.unused(io.result.group);

        m.connect(pages.clear_i, shell.abort_i);
        m.connect(pages.begin_i, begin);
        m.connect(pages.rows_i, rows);
        m.connect(pages.columns_i, operation.columns);
        m.connect(pages.groups_i, walk_groups);
        m.unused(pages.empty_o);
        m.connect_stream(&pages.input, &sums.output);
        m.connect_stream(&shell.write.at(0), &pages.output);
        m.connect(shell.overflows_o, sums.overflows_o);
        m.connect(controller.overflow_i, sums.overflows_o.any() | integers.saturations_o.any());
        let fail = first_error(&[(controller.overflowed_o & operation.exact, job_error::OVERFLOW)]);
        Own { fail, ..controller.own() }.connect(m, &controller);
    }
}

impl LinearEngine {
    /// Rows, panels, constants, results. All are asked for at once, results panel by panel.
    fn place(&self, m: &mut Module, o: &LinearOperationPorts, controller: &OperationControllerPorts) {
        let (width, panel) = (self.dma.row_width, self.spec.panel());
        let rows = o.rows.extend(16);
        let panels = m.wire("panels", groups(o.columns, panel, 16));
        let x_bytes = m.wire("x_bytes", fit(o.channels.shl(1), width));
        let panel_bytes = m.wire("panel_bytes", fit(o.channels.shl(panel.trailing_zeros()), width));
        let constants_bytes = m.wire("constants_bytes", fit(o.columns.shl(3), width));
        let result_bytes = m.wire("result_bytes", fit(o.columns.shl(1), width));
        let reads = [
            Place { address: o.x_address, row_bytes: x_bytes, rows, stride: o.x_stride },
            Place { address: o.panel_address, row_bytes: panel_bytes, rows: panels, stride: o.panel_stride },
            Place::row(o.constants_address, constants_bytes),
        ];
        let yes = bit().lit(1);
        for (k, place) in (0..).zip(reads) {
            controller.check(m, k, yes, place);
            controller.command(m, k, yes, place);
        }
        let mut results = Place { address: o.out_address, row_bytes: result_bytes, rows, stride: o.out_stride };
        controller.check(m, Self::READERS, yes, results);

        m.comment("Results: where the next panel goes, and columns that have no command yet.");
        let (begins, taken) = (controller.begin_o, controller.taken_o.at(Self::READERS));
        let (at, left) = (m.reg("panel_address_q", uint(64)), m.reg("panel_left_q", uint(16)));
        at.next(mux(begins, o.out_address, mux(taken, at.q.wrapping_add(2 * panel), at.q)));
        left.next(mux(begins, o.columns, mux(taken, left.q.wrapping_sub(panel), left.q)));
        let columns = m.wire("panel_columns", mux(left.q.gt(panel), uint(16).lit(panel), left.q));
        results.address = at.q;
        results.row_bytes = columns.shl(1).extend(width);
        controller.command(m, Self::READERS, panels, results);
    }

    /// The size of the product. Returns its groups of columns.
    fn size(&self, m: &mut Module, o: &LinearOperationPorts, walk: &ProductWalkPorts) -> Signal {
        let (size, rows) = (&walk.size, self.spec.rows);
        let over = m.wire("rows_over", fit(o.channels, rows.trailing_zeros()));
        let rest = size.rest.ty();
        let walk_groups = m.wire("walk_groups", groups(o.columns, self.spec.columns, 16));
        m.connect_pairs([
            (size.vectors, o.rows),
            (size.groups, walk_groups),
            (size.tiles, groups(o.channels, rows, size.tiles.width())),
            (size.rest, mux(over.any(), over.extend(rest.width), rest.lit(rows))),
        ]);
        walk_groups
    }
}
