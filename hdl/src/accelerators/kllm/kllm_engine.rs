//! The engine for products: controller, readers, lanes and results, between the shell's streams.

use super::codebook_loader::CodebookLoader;
use super::kllm_controller::{KllmController, READERS};
use super::kllm_results::KllmResults;
use super::kllm_spec::KllmSpec;
use super::lane_bank::LaneBank;
use super::token_reader::TokenReader;
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutStream, OutStreams, bit, bits_for, mux, parameters,
    ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct KllmEngine {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The lanes.
        spec: KllmSpec = KllmSpec::default();
    }
    rules = |p, rules| {
        rules.part("spec", &p.controller());
        rules.part("spec", &p.reader());
        rules.part("spec", &p.lanes());
        rules.part("spec", &p.results());
        rules.part("spec", &p.loader());
    };
}

impl KllmEngine {
    fn controller(&self) -> KllmController {
        KllmController { axi: self.axi.clone(), dma: self.dma.clone(), spec: self.spec.clone() }
    }

    fn reader(&self) -> TokenReader {
        TokenReader { axi: self.axi.clone(), spec: self.spec.clone() }
    }

    fn loader(&self) -> CodebookLoader {
        CodebookLoader { axi: self.axi.clone(), spec: self.spec.clone() }
    }

    fn lanes(&self) -> LaneBank {
        LaneBank { axi: self.axi.clone(), spec: self.spec.clone() }
    }

    fn results(&self) -> KllmResults {
        KllmResults { axi: self.axi.clone(), spec: self.spec.clone() }
    }

    fn commands(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }
}

ports! {
    /// Ports of [`KllmEngine`].
    pub struct KllmEnginePorts(p: &KllmEngine) {
        /// Drops everything.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// The lanes take a beat in this cycle.
        computing_o: Out = bit(),
        /// They take a beat that comes again.
        repeats_o: Out = bit(),
        /// Results in this cycle that are infinite or no number.
        overflows_o: Out = uint(bits_for(p.spec.outputs.into())),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = 24,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// What to read: the codebook and then heads, indices, outliers, panels, constants, addends; panels of further
        /// groups.
        read_command: OutStreams<DmaCommand> = (p.spec.readers(), p.commands()),
        /// The rows.
        read: InStreams<RowBeat> = (p.spec.readers(), p.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (p.spec.readers(), p.axi.clone()),
        /// Where to write.
        write_command: OutStreams<DmaCommand> = (1, p.commands()),
        /// The rows.
        write: OutStreams<Word> = (1, p.axi.data_width),
        /// How writing ended.
        write_end: InStreams<DmaCompletion> = (1, p.axi.clone()),
    }
}

impl Block for KllmEngine {
    type Ports = KllmEnginePorts;
    const ABOUT: About = About {
        name: "kllm_engine",
        summary: "controller, token reader, lanes and results of the KLLM accelerator",
        contract: "Operations as kllm_controller describes them.",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &KllmEnginePorts) {
        let controller = m.instance("u_controller", self.controller());
        for (to, from) in [
            (controller.abort_i, io.abort_i),
            (controller.window_base_i, io.window_base_i),
            (controller.window_limit_i, io.window_limit_i),
            (io.idle_o, controller.idle_o),
        ] {
            m.connect(to, from);
        }
        m.connect_stream(&controller.operation, &io.operation);
        m.connect_stream(&io.operation_end, &controller.operation_end);
        io.read_command.connect(m, &controller.read_command);
        controller.read_end.connect(m, &io.read_end);
        m.connect_stream(&io.write_command.at(0), &controller.write_command);
        m.connect_stream(&controller.write_end, &io.write_end.at(0));
        // Padding and banks of the operation before.
        let clear = m.wire("clear", io.abort_i | controller.begin_o);
        let size = &controller.size;

        m.comment("The codebook comes before the heads.");
        let loader = m.instance("u_codebook", self.loader());
        let reader = m.instance("u_tokens", self.reader());
        let first = io.read.at(0);
        let heads = m.reg_init("heads_q", bit(), 0);
        heads.next((heads.q | (first.fire() & first.row_last)) & !clear);
        m.connect(loader.clear_i, clear);
        m.connect(loader.rows.valid, first.valid & !heads.q);
        loader.rows.data.drive(m, "codebook_row", &first.data);
        m.connect(reader.clear_i, clear);
        m.connect(reader.heads.valid, first.valid & heads.q);
        reader.heads.data.drive(m, "head_row", &first.data);
        m.connect(first.ready, mux(heads.q, reader.heads.ready, loader.rows.ready));

        m.comment("Tokens.");
        reader.size.drive(m, "token_size", size);
        m.connect(reader.go_i, loader.done_o);
        m.connect_stream(&reader.indices, &io.read.at(1));
        m.connect_stream(&reader.outliers, &io.read.at(2));

        m.comment("Lanes.");
        let lanes = m.instance("u_lanes", self.lanes());
        m.connect(lanes.clear_i, clear);
        m.connect(lanes.beats_i, size.beats);
        m.connect_stream(&lanes.codebook, &loader.entries);
        m.connect_stream(&lanes.weights.at(0), &io.read.at(3));
        for group in 1..self.spec.groups {
            m.connect_stream(&lanes.weights.at(group), &io.read.at(READERS + group - 1));
        }
        m.connect_stream(&lanes.activations, &reader.beats);
        let moves = m.wire("beat_moves", reader.beats.fire());
        m.connect(io.computing_o, moves);
        if let Some(again) = reader.beats.again {
            m.connect(io.repeats_o, moves & again & !reader.beats.high);
        }

        m.comment("Results.");
        let results = m.instance("u_results", self.results());
        m.connect(results.clear_i, clear);
        results.size.drive(m, "result_size", size);
        m.connect_stream(&results.sums, &lanes.sums);
        m.connect_stream(&results.scale, &reader.scale);
        m.connect_stream(&results.constants, &io.read.at(4));
        m.connect_stream(&results.addends, &io.read.at(5));
        m.connect_stream(&io.write.at(0), &results.write);
        m.connect(io.overflows_o, results.overflows_o);
        m.connect(controller.overflow_i, results.overflows_o.any());
        m.connect(controller.field_error_i, loader.error_o | reader.error_o | results.error_o);
    }
}
