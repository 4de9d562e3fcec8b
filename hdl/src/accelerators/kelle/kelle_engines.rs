//! The engines behind the shell, and the array that they share: for linear layers, for attention, for rows.

use super::attention_controller::READERS as ATTENTION_READERS;
use super::attention_spec::AttentionSpec;
use super::kelle_top::KelleTop;
use super::linear_controller::{READERS as LINEAR_READERS, WORDS};
use super::retention_ports::RetentionPorts;
use crate::accelerators::engines::{fork, fork_all, merge, merge_all, of_used};
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, Group, In, InStream, InStreams, Module, Out, OutStream, OutStreams, Signal, Stream, StreamArray,
    Timing, bit, bits_for, mux, parameters, ports, uint,
};

/// Operation of linear layers.
const LINEAR: u32 = 1;
/// Operation of the vector engine.
const VECTOR: u32 = 3;
/// Read DMAs: as many as the vector engine has.
pub(super) const READERS: u32 = 4;

parameters! {
    /// Elaboration parameters.
    pub struct KelleEngines {
        /// The accelerator.
        top: KelleTop = KelleTop::default();
    }
}

ports! {
    /// Ports of [`KelleEngines`].
    pub struct KelleEnginesPorts(p: &KelleEngines) {
        /// Drops everything.
        abort_i: In = bit(),
        /// Empties all heads.
        forget_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// The array or the vector unit works on data in this cycle.
        computing_o: Out = bit(),
        /// Results in this cycle that are infinite or no number, or beats of rows with an overflow.
        overflows_o: Out = uint(bits_for(p.top.spec.lanes().into())),
        /// Activations that were saturated in this cycle.
        saturations_o: Out = uint(bits_for(p.top.spec.lanes().into())),
        /// For one cycle: a token had to go.
        evicts_o: Out = bit(),
        /// Rows that were refreshed in this cycle.
        refreshes_o: Out = uint(3),
        /// An access to the cache waits for a refresh in this cycle.
        stalls_o: Out = bit(),
        /// Retention model: the cells, and what is done to them.
        retention: Group<RetentionPorts, AttentionSpec> = p.top.attention.clone(),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// What to read: docs/blocks/kelle-top.md says which DMA reads what.
        read_command: OutStreams<DmaCommand> = (READERS, (p.top.spec.axi.clone(), p.top.dma.clone())),
        /// The rows.
        read: InStreams<RowBeat> = (READERS, p.top.spec.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (READERS, p.top.spec.axi.clone()),
        /// Where to write.
        write_command: OutStreams<DmaCommand> = (1, (p.top.spec.axi.clone(), p.top.dma.clone())),
        /// The rows.
        write: OutStreams<Word> = (1, p.top.spec.axi.data_width),
        /// How writing ended.
        write_end: InStreams<DmaCompletion> = (1, p.top.spec.axi.clone()),
    }
}

impl Block for KelleEngines {
    type Ports = KelleEnginesPorts;
    const ABOUT: About = About {
        name: "kelle_engines",
        summary: "what works between the shell of the Kelle accelerator and memory",
        contract: "An operation, and the DMAs with it, belong to the engine that it is for. One works at a time.",
        reference: "Kelle, section 5, figure 9",
    };

    fn build(&self, m: &mut Module, io: &KelleEnginesPorts) {
        let linear = m.instance("u_linear", self.top.linear());
        let vector = m.instance("u_vector", self.top.vector());
        let array = m.instance("u_array", self.top.spec.array());
        let attention = m.instance("u_attention", self.top.attention());
        m.connect(attention.forget_i, io.forget_i);
        m.connect(io.evicts_o, attention.evicts_o);
        m.connect(io.refreshes_o, attention.refreshes_o);
        m.connect(io.stalls_o, attention.stalls_o);
        io.retention.connect(m, &attention.retention);
        m.comment("The array is that of linear layers or of attention.");
        let products = m.wire("products", io.operation.opcode.eq(LINEAR));
        let spec = self.top.spec.array();
        m.connect(array.clear_i, io.abort_i | linear.begin_o | attention.clear_array_o);
        merge(m, ("array_load", &spec), products, &array.load, (&linear.load, &attention.load));
        merge(m, ("array_step", &spec), products, &array.step, (&linear.step, &attention.step));
        fork(m, "array_result", products, &array.result, (&linear.result, &attention.result));
        m.connect_each("row_valid", attention.row_valid_i, array.row_valid_o);
        m.connect_each("row_sum", attention.row_sum_i, array.row_sum_o);

        m.comment("An operation goes to one of the engines, and the DMAs with it.");
        let linear_steps = m.wire("linear_steps", linear.step.fire());
        let attention_steps = m.wire("attention_steps", attention.step.fire());
        let rows = m.wire("rows", io.operation.opcode.eq(VECTOR));
        let engines = vec![
            Engine {
                chosen: Some(rows),
                controls: [vector.abort_i, vector.window_base_i, vector.window_limit_i],
                states: [vector.idle_o, vector.computing_o, vector.overflow_o],
                operation: vector.operation,
                end: vector.operation_end,
                reads: (READERS, vector.read_command, vector.read, vector.read_end),
                writes: (vector.write_command, vector.write, vector.write_end),
            },
            Engine {
                chosen: Some(products),
                controls: [linear.abort_i, linear.window_base_i, linear.window_limit_i],
                states: [linear.idle_o, linear_steps, linear.overflows_o],
                operation: linear.operation,
                end: linear.operation_end,
                reads: (LINEAR_READERS, linear.read_command, linear.read, linear.read_end),
                writes: (linear.write_command, linear.write, linear.write_end),
            },
            Engine {
                chosen: None,
                controls: [attention.abort_i, attention.window_base_i, attention.window_limit_i],
                states: [attention.idle_o, attention_steps, attention.overflows_o],
                operation: attention.operation,
                end: attention.operation_end,
                reads: (ATTENTION_READERS, attention.read_command, attention.read, attention.read_end),
                writes: (attention.write_command, attention.write, attention.write_end),
            },
        ];
        for own in &engines {
            let [abort, base, limit] = own.controls;
            m.connect(abort, io.abort_i);
            m.connect(base, io.window_base_i);
            m.connect(limit, io.window_limit_i);
        }
        let state = |k: usize| engines.iter().map(|own| own.states[k]).collect::<Vec<Signal>>();
        m.connect(io.idle_o, state(0).into_iter().fold(bit().lit(1), |a, b| a & b));
        m.connect(io.computing_o, state(1).into_iter().fold(bit().lit(0), |a, b| a | b));
        self.streams(m, io, &engines);

        let width = io.overflows_o.width();
        let chosen: Vec<Signal> = engines.iter().filter_map(|own| own.chosen).collect();
        let overflows: Vec<Signal> = state(2).into_iter().map(|count| count.extend(width)).collect();
        m.connect(io.overflows_o, of_used(&chosen, &overflows));
        m.connect(io.saturations_o, mux(products, linear.saturations_o, attention.saturations_o));
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

impl KelleEngines {
    /// Between the shell and the engine that is chosen.
    fn streams(&self, m: &mut Module, io: &KelleEnginesPorts, engines: &[Engine]) {
        let chosen: Vec<Signal> = engines.iter().filter_map(|own| own.chosen).collect();
        let operations: Vec<_> = engines.iter().map(|own| own.operation.clone()).collect();
        fork_all(m, "operation", &chosen, &io.operation, &operations);
        let ends: Vec<_> = engines.iter().map(|own| own.end.clone()).collect();
        merge_all(m, ("operation_end", &()), &chosen, &io.operation_end, &ends);
        let spec = (self.top.spec.axi.clone(), self.top.dma.clone());
        for k in 0..READERS {
            let readers: Vec<&Engine> = engines.iter().filter(|own| k < own.reads.0).collect();
            let chosen: Vec<Signal> = readers.iter().filter_map(|own| own.chosen).take(readers.len() - 1).collect();
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
        merge_all(m, ("write", &self.top.spec.axi.data_width), &chosen, &io.write.at(0), &rows);
        let ends: Vec<_> = engines.iter().map(|own| own.writes.2.at(0)).collect();
        fork_all(m, "write_end", &chosen, &io.write_end.at(0), &ends);
    }
}
