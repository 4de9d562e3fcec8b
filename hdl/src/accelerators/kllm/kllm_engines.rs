//! The engines inside the shell: for products, for rows, for rows that become tokens, and for tokens that are put into
//! panels.

use super::append_controller::READERS as APPENDED;
use super::kllm_controller::WORDS;
use super::kllm_top::KllmTop;
use super::quantize_controller::READERS as QUANTIZED;
use crate::accelerators::engines::{Engine, behind_shell, transfer, transfers};
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, In, InStream, InStreams, Module, Out, OutStream, OutStreams, bit, bits_for, parameters, ports, uint,
};

/// Operation of the vector engine.
const VECTOR: u32 = 3;
/// Operation of the quantizer.
const QUANTIZE: u32 = 4;
/// Operation that puts a token into panels.
const APPEND: u32 = 5;
/// Read DMAs that the vector engine has too.
const SHARED: u32 = 4;

parameters! {
    /// Elaboration parameters.
    pub struct KllmEngines {
        /// The accelerator.
        top: KllmTop = KllmTop::default();
    }
}

ports! {
    /// Ports of [`KllmEngines`].
    pub struct KllmEnginesPorts(p: &KllmEngines) {
        /// Drops everything.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// One of the engines works on data in this cycle.
        computing_o: Out = bit(),
        /// The lanes take a beat in this cycle.
        beats_o: Out = bit(),
        /// The lanes take a beat that comes again.
        repeats_o: Out = bit(),
        /// Results in this cycle that are saturated, infinite or no number.
        overflows_o: Out = uint(bits_for(p.top.most_overflows().into())),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// Read commands: docs/blocks/kllm-top-reference.md says which DMA reads which operand.
        read_command: OutStreams<DmaCommand> = (p.top.product.readers(), (p.top.axi.clone(), p.top.dma.clone())),
        /// The rows.
        read: InStreams<RowBeat> = (p.top.product.readers(), p.top.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (p.top.product.readers(), p.top.axi.clone()),
        /// Where to write.
        write_command: OutStreams<DmaCommand> = (1, (p.top.axi.clone(), p.top.dma.clone())),
        /// The rows.
        write: OutStreams<Word> = (1, p.top.axi.data_width),
        /// How writing ended.
        write_end: InStreams<DmaCompletion> = (1, p.top.axi.clone()),
    }
}

impl Block for KllmEngines {
    type Ports = KllmEnginesPorts;
    const ABOUT: About = About {
        name: "kllm_engines",
        summary: "the engines between the shell of the KLLM accelerator and memory",
        contract: "An operation, and the DMAs with it, belong to the engine for its opcode; without one, to the\n\
            engine of products. One works at a time.",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &KllmEnginesPorts) {
        let engine = m.instance("u_engine", self.top.engine());
        let vector = m.instance("u_vector", self.top.vector());
        let quantizer = self.top.quantizer().map(|quantizer| m.instance("u_quantizer", quantizer));
        let appender = self.top.appender().map(|appender| m.instance("u_appender", appender));

        let readers = self.top.product.readers();
        m.comment("An operation goes to one of the engines, and the DMAs with it.");
        let rows = m.wire("rows", io.operation.opcode.eq(VECTOR));
        let mut engines = vec![Engine {
            chosen: Some(rows),
            controls: [vector.abort_i, vector.window_base_i, vector.window_limit_i],
            states: [vector.idle_o, vector.computing_o, vector.overflow_o],
            operation: vector.operation,
            end: vector.operation_end,
            reads: transfers(SHARED, &vector.read_command, &vector.read, &vector.read_end),
            write: transfer(&vector.write_command, &vector.write, &vector.write_end),
        }];
        engines.extend(quantizer.map(|quantizer| Engine {
            chosen: Some(m.wire("tokens", io.operation.opcode.eq(QUANTIZE))),
            controls: [quantizer.abort_i, quantizer.window_base_i, quantizer.window_limit_i],
            states: [quantizer.idle_o, quantizer.computing_o, quantizer.overflows_o],
            operation: quantizer.operation,
            end: quantizer.operation_end,
            reads: transfers(QUANTIZED, &quantizer.read_command, &quantizer.read, &quantizer.read_end),
            write: transfer(&quantizer.write_command, &quantizer.write, &quantizer.write_end),
        }));
        // It has no numbers that overflow.
        let none = bit().lit(0);
        engines.extend(appender.map(|appender| Engine {
            chosen: Some(m.wire("appends", io.operation.opcode.eq(APPEND))),
            controls: [appender.abort_i, appender.window_base_i, appender.window_limit_i],
            states: [appender.idle_o, appender.computing_o, none],
            operation: appender.operation,
            end: appender.operation_end,
            reads: transfers(APPENDED, &appender.read_command, &appender.read, &appender.read_end),
            write: transfer(&appender.write_command, &appender.write, &appender.write_end),
        }));
        engines.push(Engine {
            chosen: None,
            controls: [engine.abort_i, engine.window_base_i, engine.window_limit_i],
            states: [engine.idle_o, engine.computing_o, engine.overflows_o],
            operation: engine.operation,
            end: engine.operation_end,
            reads: transfers(readers, &engine.read_command, &engine.read, &engine.read_end),
            write: transfer(&engine.write_command, &engine.write, &engine.write_end),
        });
        let shell = Engine {
            chosen: None,
            controls: [io.abort_i, io.window_base_i, io.window_limit_i],
            states: [io.idle_o, io.computing_o, io.overflows_o],
            operation: io.operation.clone(),
            end: io.operation_end.clone(),
            reads: transfers(readers, &io.read_command, &io.read, &io.read_end),
            write: transfer(&io.write_command, &io.write, &io.write_end),
        };
        behind_shell(m, (&self.top.axi, &self.top.dma), &shell, &engines);
        m.connect(io.beats_o, engine.computing_o);
        m.connect(io.repeats_o, engine.repeats_o);
    }
}
