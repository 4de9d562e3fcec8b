//! The engine that puts a token into panels: controller and appender, between the shell's streams.

use super::append_controller::{AppendController, READERS};
use super::append_spec::AppendSpec;
use super::token_appender::TokenAppender;
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutStream, OutStreams, bit, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct AppendEngine {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The panels.
        spec: AppendSpec = AppendSpec::default();
    }
    rules = |p, rules| {
        rules.part("spec", &p.controller());
        rules.part("spec", &p.appender());
    };
}

impl AppendEngine {
    fn controller(&self) -> AppendController {
        AppendController { dma: self.dma.clone(), spec: self.spec.clone() }
    }

    fn appender(&self) -> TokenAppender {
        TokenAppender { spec: self.spec.clone() }
    }
}

ports! {
    /// Ports of [`AppendEngine`].
    pub struct AppendEnginePorts(p: &AppendEngine) {
        /// Drops everything.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// A line changes in this cycle.
        computing_o: Out = bit(),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = 24,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// What to read: the token, and the lines that change.
        read_command: OutStreams<DmaCommand> = (READERS, (p.spec.axi.clone(), p.dma.clone())),
        /// The rows.
        read: InStreams<RowBeat> = (READERS, p.spec.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (READERS, p.spec.axi.clone()),
        /// Where to write.
        write_command: OutStreams<DmaCommand> = (1, (p.spec.axi.clone(), p.dma.clone())),
        /// The rows.
        write: OutStreams<Word> = (1, p.spec.axi.data_width),
        /// How writing ended.
        write_end: InStreams<DmaCompletion> = (1, p.spec.axi.clone()),
    }
}

impl Block for AppendEngine {
    type Ports = AppendEnginePorts;
    const ABOUT: About = About {
        name: "append_engine",
        summary: "controller and appender of the KLLM accelerator",
        contract: "Operations as append_controller describes them.",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &AppendEnginePorts) {
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

        let appender = m.instance("u_appender", self.appender());
        // State of the operation before.
        m.connect(appender.clear_i, io.abort_i | controller.begin_o);
        appender.size.drive(m, "appender_size", &controller.size);
        m.connect_stream(&appender.token, &io.read.at(0));
        m.connect_stream(&appender.lines, &io.read.at(1));
        m.connect_stream(&io.write.at(0), &appender.write);
        m.connect(io.computing_o, appender.moves_o);
        m.connect(controller.field_error_i, appender.error_o);
    }
}
