//! The engine that puts a token into panels, between the shell's streams: controller and appender.

use super::append_operation::{AppendOperation, AppendOperationPorts};
use super::append_spec::{AppendSize, AppendSpec, LINE};
use super::kllm_spec::{COUNT, HEAD_BYTES};
use super::token_appender::TokenAppender;
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::accelerators::sizes::{fit, groups, whole};
use crate::blocks::common::bus::DmaSpec;
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{OperationController, OperationControllerPorts, Own, Place, first_error};
use crate::lang::{About, Block, Bundle, Group, Module, Signal, bit, cat, mux, parameters, ports, uint};

/// Bytes of a line.
const LINE_BYTES: u32 = LINE / 8;

parameters! {
    /// Elaboration parameters.
    pub struct AppendEngine {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The panels.
        spec: AppendSpec = AppendSpec::default();
        /// Its operations wait for those of other engines.
        waits: bool = false, tag "waits";
    }
    rules = |p, rules| {
        let product = &p.spec.product;
        let panel = u64::from(product.depth) * u64::from(product.beat_bytes());
        p.dma.demand_row(rules, panel.max(8 * u64::from(product.panel())).max(2 * u64::from(product.inner())) + 128);
        rules.part("dma", &p.controller());
        rules.part("spec", &p.appender());
    };
}

impl AppendEngine {
    /// Read DMAs: the token; lines of panels with the line of constants or scales.
    pub const READERS: u32 = 2;

    /// The descriptor of its operation.
    #[must_use]
    pub fn operation(&self) -> AppendOperation {
        AppendOperation { inner: self.spec.product.inner(), panel: self.spec.product.panel() }
    }

    fn controller(&self) -> OperationController {
        OperationController {
            times: 2,
            waits: self.waits,
            ..OperationController::of(&self.spec.axi, &self.dma, Self::READERS)
        }
    }

    fn appender(&self) -> TokenAppender {
        TokenAppender { spec: self.spec.clone() }
    }
}

ports! {
    /// Ports of [`AppendEngine`].
    pub struct AppendEnginePorts(p: &AppendEngine) {
        /// To the shell. The DMAs read the token, and the lines that change. It computes when a line changes. It has no
        /// numbers that overflow.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), 0),
    }
}

impl Block for AppendEngine {
    type Ports = AppendEnginePorts;
    const ABOUT: About = About {
        name: "append_engine",
        summary: "controller and appender of the KLLM accelerator",
        contract: "An operation as kllm_append_operation names its fields, checked and done as operation_controller\n\
            says. Panels, constants and scales are checked up to the part that changes. ERROR_SIZE (9) refuses a\n\
            channel beyond its panel and a position beyond its channel. The token and the lines that change are read,\n\
            and the same lines written. ERROR_FIELD (15) ends it for a head with outliers or without a meaning.",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &AppendEnginePorts) {
        let shell = &io.shell;
        let operation = shell.only(m, self.operation());
        let controller = shell.controller(m, self.controller());
        let appender = m.instance("u_appender", self.appender());
        shell.command(m, &controller);
        m.connect(controller.overflow_i, 0);
        m.connect(shell.overflows_o, 0);
        let beyond = self.beyond(m, &operation);
        controller.refuse(m, &operation.decoder, bit().lit(0), beyond);
        let wrong_head = m.wire("wrong_head", appender.error_o);
        let fail = first_error(&[(wrong_head, job_error::FIELD)]);
        Own { fail, ..controller.own() }.connect(m, &controller);
        self.place(m, &operation, &controller);

        // State of the operation before.
        m.connect(appender.clear_i, shell.abort_i | controller.begin_o);
        let size = AppendSize {
            number: operation.number.extend(COUNT),
            position: operation.position,
            dense: operation.dense_factor,
            outliers: operation.outlier_factor,
        };
        appender.size.drive(m, "appender_size", &size);
        m.connect_stream(&appender.token, &shell.read.at(0));
        m.connect_stream(&appender.lines, &shell.read.at(1));
        m.connect_stream(&shell.write.at(0), &appender.write);
        m.connect(shell.computing_o, appender.moves_o);
    }
}

impl AppendEngine {
    /// A channel beyond its panel, or a position beyond its channel: the smaller number of these. The table of fields
    /// has the larger one.
    fn beyond(&self, m: &mut Module, o: &AppendOperationPorts) -> Signal {
        let (inner, panel) = (self.spec.product.inner(), self.spec.product.panel());
        let (counts, end) = if inner < panel { (o.position, inner) } else { (!o.position, panel) };
        let beyond = if inner == panel { bit().lit(0) } else { counts & o.number.ge(end) };
        m.wire("beyond", beyond)
    }

    /// Token, panels, constants or scales are checked up to the part that changes. Then the token is read; and the lines
    /// of panels that change, and then the line of constants or scales, are read and written.
    fn place(&self, m: &mut Module, o: &AppendOperationPorts, controller: &OperationControllerPorts) {
        let width = self.dma.row_width;
        let product = &self.spec.product;
        let (inputs, panel, beat) = (product.inputs, product.panel(), product.beat_bytes());
        let position = o.position;
        let number = m.wire("number", o.number.extend(COUNT));
        let elements = m.wire("elements", o.elements.extend(COUNT));
        let beats = m.wire("beats", groups(elements, inputs, 16));
        let panels = m.wire("panels", groups(elements, panel, 16));
        let times_beat = |value: Signal| fit(value.extend(32).shl(beat.trailing_zeros()), width);
        let ahead = m.wire("beats_ahead", times_beat(number.shr(inputs.trailing_zeros())));
        let (one, once) = (uint(16).lit(1), bit().lit(1));

        let index_bytes = whole(fit(groups(elements, 2, COUNT), width), LINE_BYTES);
        let token_bytes = m.wire("token_bytes", index_bytes.wrapping_add(HEAD_BYTES));
        let token = Place::row(o.token_address, token_bytes);
        controller.check(m, 0, once, token);
        controller.command(m, 0, once, token);

        let one_beat = uint(width).lit(beat);
        let panel_bytes = mux(position, ahead.wrapping_add(beat), times_beat(beats));
        let panel_bytes = m.wire("panel_bytes", panel_bytes);
        let rows = m.wire("panel_rows", mux(position, panels, one));
        let checked = Place { address: o.panel_address, row_bytes: panel_bytes, rows, stride: o.panel_stride };
        controller.check(m, 1, once, checked);
        // A nibble for each position: half as many bytes.
        let in_beat = m.wire("in_beat", line_of(fit(number.shl(inputs.trailing_zeros()).shr(1), width)));
        let first = m.wire("first_line", mux(position, ahead, in_beat));
        let lines = Place {
            address: m.wire("lines_address", o.panel_address.wrapping_add(first.extend(64))),
            row_bytes: mux(position, one_beat, uint(width).lit(LINE_BYTES)),
            rows: m.wire("lines_rows", mux(position, panels, beats)),
            stride: mux(position, o.panel_stride, uint(32).lit(beat)),
        };

        let scale_at = mux(position, fit(number.shl(1), width), fit(number.shl(3), width));
        let scale_at = m.wire("scale_at", scale_at);
        let scale_bytes = m.wire("scale_bytes", whole(scale_at.wrapping_add(1), LINE_BYTES));
        controller.check(m, 2, once, Place::row(o.scales_address, scale_bytes));
        let scale_address = m.wire("scale_address", o.scales_address.wrapping_add(line_of(scale_at).extend(64)));
        let scale_line = Place::row(scale_address, uint(width).lit(LINE_BYTES));
        for k in [1, Self::READERS] {
            let given = m.reg_init(&format!("lines_given_{k}_q"), bit(), 0);
            given.next((controller.taken_o.at(k) | given.q) & !controller.begin_o);
            controller.command(m, k, uint(2).lit(2), scale_line.or(given.q, lines));
        }
    }
}

/// The first byte of the line in which a byte is.
fn line_of(byte: Signal) -> Signal {
    let low = LINE_BYTES.trailing_zeros();
    cat(&[byte.slice(low..byte.width()), uint(low).lit(0)])
}
