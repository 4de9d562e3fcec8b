//! The engine for products, between the shell's streams: controller, readers, lanes and results.

use super::codebook_loader::CodebookLoader;
use super::kllm_results::KllmResults;
use super::kllm_spec::{COUNT, HEAD_BYTES, KllmSpec, ProductSize, READERS};
use super::lane_bank::LaneBank;
use super::matmul_operation::{MatmulOperation, MatmulOperationPorts};
use super::token_reader::TokenReader;
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::accelerators::sizes::groups;
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{OperationController, OperationControllerPorts, Own, first_error};
use crate::lang::{About, Block, Bundle, Group, Module, Out, bit, mux, parameters, ports};

/// Operation of a product of tokens, and operation of a product of integers.
pub(super) const MATMUL: u32 = 1;
pub(super) const SCORES: u32 = 2;
/// Operands that are checked.
const OPERANDS: u32 = 6;
/// Bytes of the constants of a channel.
const CONSTANT_BYTES: u32 = 8;

parameters! {
    /// Elaboration parameters.
    pub struct KllmEngine {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The lanes.
        spec: KllmSpec = KllmSpec::default();
        /// Its operations wait for those of other engines.
        waits: bool = false, tag "waits";
    }
    rules = |p, rules| {
        let longest = [
            u64::from(p.spec.depth) * u64::from(p.spec.beat_bytes()),
            65_535 * u64::from(CONSTANT_BYTES),
            65_536,
            u64::from(HEAD_BYTES) + 65_536 / 2 + u64::from(8 * p.spec.kmax) + 64,
        ];
        p.dma.demand_row(rules, longest.into_iter().max().unwrap_or(0));
        rules.part("dma", &p.controller());
        rules.part("spec", &p.reader());
        rules.part("spec", &p.lanes());
        rules.part("spec", &p.results());
        rules.part("spec", &p.loader());
    };
}

impl KllmEngine {
    /// The descriptor of its operations.
    #[must_use]
    pub fn operation(&self) -> MatmulOperation {
        MatmulOperation { inner: self.spec.inner(), kmax: self.spec.kmax }
    }

    /// Tokens are read for each panel, and a codebook before the heads.
    fn controller(&self) -> OperationController {
        let of = OperationController::of(&self.axi, &self.dma, self.spec.readers());
        OperationController { operands: OPERANDS, times: 65535, prepares: true, waits: self.waits, ..of }
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
}

ports! {
    /// Ports of [`KllmEngine`].
    pub struct KllmEnginePorts(p: &KllmEngine) {
        /// To the shell. The DMAs read the codebook and then heads, indices, outliers, panels, constants, addends; panels
        /// of further groups. It computes when the lanes take a beat. A result that is infinite or no number is not
        /// exact.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), p.spec.outputs),
        /// The lanes take a beat that comes again.
        repeats_o: Out = bit(),
    }
}

impl Block for KllmEngine {
    type Ports = KllmEnginePorts;
    const ABOUT: About = About {
        name: "kllm_engine",
        summary: "controller, token reader, lanes and results of the KLLM accelerator",
        contract: "A product of tokens (1) or of integers (2), as kllm_matmul_operation names its fields, checked and\n\
            done as operation_controller says. ERROR_FIELD (15) refuses any other operation, whatever its fields\n\
            hold. ERROR_FIELD also ends a product for a head, outlier or centroid without a meaning. With the option\n\
            exact an overflow ends it with ERROR_OVERFLOW (14).",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &KllmEnginePorts) {
        let shell = &io.shell;
        let operation = shell.decode(m, "u_operation", self.operation());
        let controller = shell.controller(m, self.controller());
        let loader = m.instance("u_codebook", self.loader());
        let reader = m.instance("u_tokens", self.reader());
        let lanes = m.instance("u_lanes", self.lanes());
        let results = m.instance("u_results", self.results());
        shell.command(m, &controller);
        let size = self.check(m, shell, &operation, &controller);
        let wrong_data = m.wire("wrong_data", loader.error_o | reader.error_o | results.error_o);
        let overflow = m.wire("overflow", controller.overflowed_o & operation.exact);
        let fail = first_error(&[(wrong_data, job_error::FIELD), (overflow, job_error::OVERFLOW)]);
        Own { fail, ..controller.own() }.connect(m, &controller);
        self.place(m, shell, &operation, &size, &controller);
        // Padding and banks of the operation before.
        let clear = m.wire("clear", shell.abort_i | controller.begin_o);

        m.comment("The codebook comes before the heads.");
        let first = shell.read.at(0);
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
        reader.size.drive(m, "token_size", &size);
        m.connect(reader.go_i, loader.done_o);
        m.connect_stream(&reader.indices, &shell.read.at(1));
        m.connect_stream(&reader.outliers, &shell.read.at(2));

        m.comment("Lanes.");
        m.connect(lanes.clear_i, clear);
        m.connect(lanes.beats_i, size.beats);
        m.connect_stream(&lanes.codebook, &loader.entries);
        m.connect_stream(&lanes.weights.at(0), &shell.read.at(3));
        for group in 1..self.spec.groups {
            m.connect_stream(&lanes.weights.at(group), &shell.read.at(READERS + group - 1));
        }
        m.connect_stream(&lanes.activations, &reader.beats);
        let moves = m.wire("beat_moves", reader.beats.fire());
        m.connect(shell.computing_o, moves);
        if let Some(again) = reader.beats.again {
            m.connect(io.repeats_o, moves & again & !reader.beats.high);
        }

        m.comment("Results.");
        m.connect(results.clear_i, clear);
        results.size.drive(m, "result_size", &size);
        m.connect_stream(&results.sums, &lanes.sums);
        m.connect_stream(&results.scale, &reader.scale);
        m.connect_stream(&results.constants, &shell.read.at(4));
        m.connect_stream(&results.addends, &shell.read.at(5));
        m.connect_stream(&shell.write.at(0), &results.write);
        m.connect(shell.overflows_o, results.overflows_o);
        m.connect(controller.overflow_i, results.overflows_o.any());
    }
}

impl KllmEngine {
    /// Refuses operations of parts that were left out before all else. Returns the size of the product.
    fn check(
        &self,
        m: &mut Module,
        shell: &EnginePorts,
        o: &MatmulOperationPorts,
        controller: &OperationControllerPorts,
    ) -> ProductSize {
        let number = shell.operation.opcode;
        if let Some(to) = o.decoder.opcode {
            m.connect(to, number);
        }
        let integers = m.wire("integers", number.eq(SCORES));
        let unknown = number.ne(MATMUL) & !integers;
        let wrong = first_error(&[
            (unknown | o.decoder.unknown, job_error::FIELD),
            (o.decoder.reserved, job_error::RESERVED),
            (o.decoder.wrong_size, job_error::SIZE),
        ]);
        m.connect(controller.wrong_i, wrong);
        let inner = o.inner.extend(COUNT);
        let beats = m.wire("beats", groups(inner, self.spec.inputs, COUNT));
        ProductSize {
            tokens: o.tokens,
            channels: o.channels,
            inner,
            beats,
            outliers: o.outliers.extend(COUNT),
            fits: m.wire("fits", beats.le(self.spec.buffer)),
            add: o.adds,
            integers,
        }
    }
}
