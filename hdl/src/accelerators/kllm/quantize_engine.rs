//! The engine that turns rows into tokens: controller and quantizer, between the shell's streams.

use super::quantize_controller::{QuantizeController, READERS};
use super::quantizer_spec::QuantizerSpec;
use super::token_quantizer::TokenQuantizer;
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutStream, OutStreams, bit, bits_for, parameters,
    ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct QuantizeEngine {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The quantizer.
        spec: QuantizerSpec = QuantizerSpec::default();
    }
    rules = |p, rules| {
        rules.part("spec", &p.controller());
        rules.part("spec", &p.quantizer());
    };
}

impl QuantizeEngine {
    fn controller(&self) -> QuantizeController {
        QuantizeController { dma: self.dma.clone(), spec: self.spec.clone() }
    }

    fn quantizer(&self) -> TokenQuantizer {
        TokenQuantizer { spec: self.spec.clone() }
    }
}

ports! {
    /// Ports of [`QuantizeEngine`].
    pub struct QuantizeEnginePorts(p: &QuantizeEngine) {
        /// Drops everything.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// A beat of a row becomes indices in this cycle.
        computing_o: Out = bit(),
        /// Inliers in this cycle that are infinite or no number.
        overflows_o: Out = uint(bits_for(p.spec.lanes().into())),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = 24,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// What to read: the codebook, the rows.
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

impl Block for QuantizeEngine {
    type Ports = QuantizeEnginePorts;
    const ABOUT: About = About {
        name: "quantize_engine",
        summary: "controller and quantizer of the KLLM accelerator",
        contract: "Operations as quantize_controller describes them.",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &QuantizeEnginePorts) {
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

        let quantizer = m.instance("u_quantizer", self.quantizer());
        // State of the operation before.
        m.connect(quantizer.clear_i, io.abort_i | controller.begin_o);
        quantizer.size.drive(m, "quantizer_size", &controller.size);
        m.connect_stream(&quantizer.codebook, &io.read.at(0));
        m.connect_stream(&quantizer.rows, &io.read.at(1));
        m.connect_stream(&io.write.at(0), &quantizer.write);
        m.connect(io.overflows_o, quantizer.specials_o);
        m.connect(io.computing_o, quantizer.computing_o);
        m.connect(controller.overflow_i, quantizer.specials_o.any());
    }
}
