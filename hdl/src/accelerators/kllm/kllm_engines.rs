//! The engines behind the shell: for products, for rows, for rows that become tokens, and for tokens that are put into panels.

use super::append_controller::READERS as APPENDED;
use super::kllm_controller::{READERS, WORDS};
use super::kllm_top::KllmTop;
use super::quantize_controller::READERS as QUANTIZED;
use crate::accelerators::engines::{fork_all, merge_all, of_used};
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, In, InStream, InStreams, Module, Out, OutStream, OutStreams, Signal, Stream, StreamArray, Timing,
    bit, bits_for, parameters, ports, uint,
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
        /// One that comes again.
        repeats_o: Out = bit(),
        /// Results in this cycle that are saturated, infinite or no number.
        overflows_o: Out = uint(bits_for(p.top.most_overflows().into())),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// What to read: docs/blocks/kllm-top.md says which DMA reads what.
        read_command: OutStreams<DmaCommand> = (READERS, (p.top.axi.clone(), p.top.dma.clone())),
        /// The rows.
        read: InStreams<RowBeat> = (READERS, p.top.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (READERS, p.top.axi.clone()),
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
        summary: "what works between the shell of the KLLM accelerator and memory",
        contract: "An operation, and the DMAs with it, belong to the engine that it is for: products where no other is. One works at a time.",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &KllmEnginesPorts) {
        let engine = m.instance("u_engine", self.top.engine());
        let vector = m.instance("u_vector", self.top.vector());
        let quantizer = self.top.quantizer().map(|quantizer| m.instance("u_quantizer", quantizer));
        let appender = self.top.appender().map(|appender| m.instance("u_appender", appender));

        m.comment("An operation goes to one of the engines, and the DMAs with it.");
        let rows = m.wire("rows", io.operation.opcode.eq(VECTOR));
        let mut engines = vec![Engine {
            chosen: Some(rows),
            controls: [vector.abort_i, vector.window_base_i, vector.window_limit_i],
            states: [vector.idle_o, vector.computing_o, vector.overflow_o],
            operation: vector.operation,
            end: vector.operation_end,
            reads: (SHARED, vector.read_command, vector.read, vector.read_end),
            writes: (vector.write_command, vector.write, vector.write_end),
        }];
        engines.extend(quantizer.map(|quantizer| Engine {
            chosen: Some(m.wire("tokens", io.operation.opcode.eq(QUANTIZE))),
            controls: [quantizer.abort_i, quantizer.window_base_i, quantizer.window_limit_i],
            states: [quantizer.idle_o, quantizer.computing_o, quantizer.overflows_o],
            operation: quantizer.operation,
            end: quantizer.operation_end,
            reads: (QUANTIZED, quantizer.read_command, quantizer.read, quantizer.read_end),
            writes: (quantizer.write_command, quantizer.write, quantizer.write_end),
        }));
        // It has no numbers that overflow.
        let none = bit().lit(0);
        engines.extend(appender.map(|appender| Engine {
            chosen: Some(m.wire("appends", io.operation.opcode.eq(APPEND))),
            controls: [appender.abort_i, appender.window_base_i, appender.window_limit_i],
            states: [appender.idle_o, appender.computing_o, none],
            operation: appender.operation,
            end: appender.operation_end,
            reads: (APPENDED, appender.read_command, appender.read, appender.read_end),
            writes: (appender.write_command, appender.write, appender.write_end),
        }));
        engines.push(Engine {
            chosen: None,
            controls: [engine.abort_i, engine.window_base_i, engine.window_limit_i],
            states: [engine.idle_o, engine.computing_o, engine.overflows_o],
            operation: engine.operation,
            end: engine.operation_end,
            reads: (READERS, engine.read_command, engine.read, engine.read_end),
            writes: (engine.write_command, engine.write, engine.write_end),
        });
        for own in &engines {
            let [abort, base, limit] = own.controls;
            m.connect(abort, io.abort_i);
            m.connect(base, io.window_base_i);
            m.connect(limit, io.window_limit_i);
        }
        let state = |k: usize| engines.iter().map(|own| own.states[k]).collect::<Vec<Signal>>();
        m.connect(io.idle_o, state(0).into_iter().reduce(|a, b| a & b).unwrap_or(engine.idle_o));
        m.connect(io.computing_o, state(1).into_iter().reduce(|a, b| a | b).unwrap_or(engine.computing_o));
        self.streams(m, io, &engines);

        let width = bits_for(self.top.most_overflows().into());
        let chosen: Vec<Signal> = engines.iter().filter_map(|own| own.chosen).collect();
        let overflows: Vec<Signal> = state(2).into_iter().map(|count| count.extend(width)).collect();
        m.connect(io.overflows_o, of_used(&chosen, &overflows));
        m.connect(io.beats_o, engine.computing_o);
        m.connect(io.repeats_o, engine.repeats_o);
    }

    fn timing(&self) -> Timing {
        Timing::new()
    }
}

/// An engine behind the shell.
struct Engine {
    /// The operation is its own; the last engine does what nobody else has.
    chosen: Option<Signal>,
    /// Abort, first and last byte of the window.
    controls: [Signal; 3],
    /// It is idle; it computes; results of this cycle with an overflow.
    states: [Signal; 3],
    operation: Stream<Operation>,
    end: Stream<OperationEnd>,
    /// How many DMAs it reads with, commands, rows, ends.
    reads: (u32, StreamArray<DmaCommand>, StreamArray<RowBeat>, StreamArray<DmaCompletion>),
    /// Commands, rows, ends of writing.
    writes: (StreamArray<DmaCommand>, StreamArray<Word>, StreamArray<DmaCompletion>),
}

impl KllmEngines {
    /// Between the shell and the engine that is chosen.
    fn streams(&self, m: &mut Module, io: &KllmEnginesPorts, engines: &[Engine]) {
        let chosen: Vec<Signal> = engines.iter().filter_map(|own| own.chosen).collect();
        let operations: Vec<_> = engines.iter().map(|own| own.operation.clone()).collect();
        fork_all(m, "operation", &chosen, &io.operation, &operations);
        let ends: Vec<_> = engines.iter().map(|own| own.end.clone()).collect();
        merge_all(m, ("operation_end", &()), &chosen, &io.operation_end, &ends);
        let spec = (self.top.axi.clone(), self.top.dma.clone());
        for k in 0..READERS {
            let readers: Vec<&Engine> = engines.iter().filter(|own| k < own.reads.0).collect();
            let chosen: Vec<Signal> = readers.iter().filter_map(|own| own.chosen).collect();
            let commands: Vec<_> = readers.iter().map(|own| own.reads.1.at(k)).collect();
            merge_all(m, (&format!("read_command_{k}"), &spec), &chosen, &io.read_command.at(k), &commands);
            let rows: Vec<_> = readers.iter().map(|own| own.reads.2.at(k)).collect();
            fork_all(m, &format!("read_{k}"), &chosen, &io.read.at(k), &rows);
            let ends: Vec<_> = readers.iter().map(|own| own.reads.3.at(k)).collect();
            fork_all(m, &format!("read_end_{k}"), &chosen, &io.read_end.at(k), &ends);
        }
        let commands: Vec<_> = engines.iter().map(|own| own.writes.0.at(0)).collect();
        merge_all(m, ("write_command", &spec), &chosen, &io.write_command.at(0), &commands);
        let rows: Vec<_> = engines.iter().map(|own| own.writes.1.at(0)).collect();
        merge_all(m, ("write", &self.top.axi.data_width), &chosen, &io.write.at(0), &rows);
        let ends: Vec<_> = engines.iter().map(|own| own.writes.2.at(0)).collect();
        fork_all(m, "write_end", &chosen, &io.write_end.at(0), &ends);
    }
}
