//! The engine that turns rows into tokens, between the shell's streams: controller and quantizer.

use super::kllm_spec::{CODEBOOK_BYTES, COUNT, HEAD_BYTES};
use super::quantize_operation::{QuantizeOperation, QuantizeOperationPorts};
use super::quantizer_spec::{OUTLIERS, QuantizeSize, QuantizerSpec};
use super::token_quantizer::TokenQuantizer;
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::accelerators::sizes::{fit, groups, whole};
use crate::blocks::common::bus::DmaSpec;
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{OperationController, OperationControllerPorts, Own, Place, first_error};
use crate::lang::{About, Block, Bundle, Group, Module, Signal, bit, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct QuantizeEngine {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The quantizer.
        spec: QuantizerSpec = QuantizerSpec::default();
        /// Its operations wait for those of other engines.
        waits: bool = false, tag "waits";
    }
    rules = |p, rules| {
        let head = u64::from(HEAD_BYTES) + 128;
        p.dma.demand_row(rules, head + u64::from(2 * p.spec.inner) + u64::from(8 * p.spec.kmax));
        rules.part("dma", &p.controller());
        rules.part("spec", &p.quantizer());
    };
}

impl QuantizeEngine {
    /// Read DMAs: codebook, rows.
    pub const READERS: u32 = 2;

    /// The descriptor of its operation.
    #[must_use]
    pub fn operation(&self) -> QuantizeOperation {
        QuantizeOperation { inner: self.spec.inner, kmax: self.spec.kmax }
    }

    fn controller(&self) -> OperationController {
        OperationController { waits: self.waits, ..OperationController::of(&self.spec.axi, &self.dma, Self::READERS) }
    }

    fn quantizer(&self) -> TokenQuantizer {
        TokenQuantizer { spec: self.spec.clone() }
    }
}

ports! {
    /// Ports of [`QuantizeEngine`].
    pub struct QuantizeEnginePorts(p: &QuantizeEngine) {
        /// To the shell. The DMAs read codebook and rows. It computes when a beat of a row becomes indices. An inlier
        /// that is infinite or no number is not exact.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), p.spec.lanes()),
    }
}

impl Block for QuantizeEngine {
    type Ports = QuantizeEnginePorts;
    const ABOUT: About = About {
        name: "quantize_engine",
        summary: "controller and quantizer of the KLLM accelerator",
        contract: "An operation as kllm_quantize_operation names its fields, checked and done as operation_controller\n\
            says. ERROR_SIZE (9) also refuses more outliers than a row has elements. With the option exact an inlier\n\
            that is infinite or no number ends it with ERROR_OVERFLOW (14).",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &QuantizeEnginePorts) {
        let shell = &io.shell;
        let operation = shell.only(m, self.operation());
        let controller = shell.controller(m, self.controller());
        let quantizer = m.instance("u_quantizer", self.quantizer());
        shell.command(m, &controller);
        self.check(m, &operation, &controller);
        let size = self.place(m, &operation, &controller);

        // State of the operation before.
        m.connect(quantizer.clear_i, shell.abort_i | controller.begin_o);
        quantizer.size.drive(m, "quantizer_size", &size);
        m.connect_stream(&quantizer.codebook, &shell.read.at(0));
        m.connect_stream(&quantizer.rows, &shell.read.at(1));
        m.connect_stream(&shell.write.at(0), &quantizer.write);
        m.connect(shell.overflows_o, quantizer.specials_o);
        m.connect(shell.computing_o, quantizer.computing_o);
        m.connect(controller.overflow_i, quantizer.specials_o.any());
    }
}

impl QuantizeEngine {
    /// What the table of fields cannot say; and when the operation fails.
    fn check(&self, m: &mut Module, o: &QuantizeOperationPorts, controller: &OperationControllerPorts) {
        let many = m.wire("too_many", (o.largest + o.smallest).extend(COUNT).gt(o.columns.extend(COUNT)));
        controller.refuse(m, &o.decoder, bit().lit(0), many);
        let overflow = m.wire("overflow", controller.overflowed_o & o.exact);
        let fail = first_error(&[(overflow, job_error::OVERFLOW)]);
        Own { fail, ..controller.own() }.connect(m, controller);
    }

    /// Rows, codebook and tokens: all are checked, and asked for at once. Returns the size of the operation.
    fn place(&self, m: &mut Module, o: &QuantizeOperationPorts, controller: &OperationControllerPorts) -> QuantizeSize {
        let width = self.dma.row_width;
        let columns = o.columns.extend(COUNT);
        let (largest, smallest) = (o.largest.extend(OUTLIERS), o.smallest.extend(OUTLIERS));
        let index_bytes = m.wire("index_bytes", whole(fit(groups(columns, 2, COUNT), width), 64));
        let outlier_bytes = m.wire("outlier_bytes", whole(fit((largest + smallest).shl(2), width), 64));
        let token_bytes = index_bytes.wrapping_add(outlier_bytes).wrapping_add(HEAD_BYTES);
        let token_bytes = m.wire("token_bytes", token_bytes);
        let row_bytes = m.wire("row_bytes", fit(columns.shl(1), width));
        let rows = Place { address: o.x_address, row_bytes, rows: o.rows, stride: o.x_stride };
        let codebook = Place::row(o.codebook_address, uint(width).lit(CODEBOOK_BYTES));
        let tokens = Place { address: o.out_address, row_bytes: token_bytes, rows: o.rows, stride: o.out_stride };
        let once = bit().lit(1);
        for (k, place) in (0..).zip([rows, codebook, tokens]) {
            controller.check(m, k, once, place);
        }
        for (k, place) in (0..).zip([codebook, rows, tokens]) {
            controller.command(m, k, once, place);
        }
        let beats = |bytes: Signal| fit(bytes.shr(self.spec.axi.bytes().trailing_zeros()), COUNT);
        QuantizeSize {
            columns,
            beats: groups(columns, self.spec.lanes(), COUNT),
            segments: groups(columns, self.spec.orizuru, COUNT),
            largest,
            smallest,
            three_bits: o.three_bits,
            index_beats: beats(index_bytes),
            outlier_beats: beats(outlier_bytes),
        }
    }
}
