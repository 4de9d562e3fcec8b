//! The engines inside the shell, and the array that they share: for linear layers, for attention, for rows.

use super::attention_controller::READERS as ATTENTION_READERS;
use super::attention_spec::AttentionSpec;
use super::kelle_top::KelleTop;
use super::linear_controller::{READERS as LINEAR_READERS, WORDS};
use super::retention_ports::RetentionPorts;
use super::shared_array::SharedArray;
use crate::accelerators::engines::{Engine, behind_shell, transfer, transfers};
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, Group, In, InStream, InStreams, Module, Out, OutStream, OutStreams, bit, bits_for, mux, parameters,
    ports, uint,
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
        /// Retention model: the cells, and the accesses to them.
        retention: Group<RetentionPorts, AttentionSpec> = p.top.attention.clone(),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// Read commands: docs/blocks/kelle-top-reference.md says which DMA reads which operand.
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
        summary: "the engines between the shell of the Kelle accelerator and memory",
        contract: "An operation, and the DMAs with it, belong to the engine for its opcode. One works at a time.",
        reference: "Kelle, section 5, figure 9",
    };

    fn build(&self, m: &mut Module, io: &KelleEnginesPorts) {
        let linear = m.instance("u_linear", self.top.linear());
        let vector = m.instance("u_vector", self.top.vector());
        let attention = m.instance("u_attention", self.top.attention());
        for (to, from) in [
            (attention.forget_i, io.forget_i),
            (io.evicts_o, attention.evicts_o),
            (io.refreshes_o, attention.refreshes_o),
            (io.stalls_o, attention.stalls_o),
        ] {
            m.connect(to, from);
        }
        io.retention.connect(m, &attention.retention);
        m.comment("The array belongs to linear layers or to attention.");
        let products = m.wire("products", io.operation.opcode.eq(LINEAR));
        let array = m.instance("u_array", SharedArray { array: self.top.spec.array() });
        m.connect(array.clear_i, io.abort_i | linear.begin_o | attention.clear_array_o);
        m.connect(array.first_i, products);
        m.connect_stream(&array.first_load, &linear.load);
        m.connect_stream(&array.second_load, &attention.load);
        m.connect_stream(&array.first_step, &linear.step);
        m.connect_stream(&array.second_step, &attention.step);
        m.connect_stream(&linear.result, &array.first_result);
        m.connect_stream(&attention.result, &array.second_result);
        m.connect_each("row_valid", attention.row_valid_i, array.row_valid_o);
        m.connect_each("row_sum", attention.row_sum_i, array.row_sum_o);

        m.comment("An operation goes to one of the engines, and the DMAs with it.");
        let engines = vec![
            Engine {
                chosen: Some(m.wire("rows", io.operation.opcode.eq(VECTOR))),
                controls: [vector.abort_i, vector.window_base_i, vector.window_limit_i],
                states: [vector.idle_o, vector.computing_o, vector.overflow_o],
                operation: vector.operation,
                end: vector.operation_end,
                reads: transfers(READERS, &vector.read_command, &vector.read, &vector.read_end),
                write: transfer(&vector.write_command, &vector.write, &vector.write_end),
            },
            Engine {
                chosen: Some(products),
                controls: [linear.abort_i, linear.window_base_i, linear.window_limit_i],
                states: [linear.idle_o, array.steps_o & products, linear.overflows_o],
                operation: linear.operation,
                end: linear.operation_end,
                reads: transfers(LINEAR_READERS, &linear.read_command, &linear.read, &linear.read_end),
                write: transfer(&linear.write_command, &linear.write, &linear.write_end),
            },
            Engine {
                chosen: None,
                controls: [attention.abort_i, attention.window_base_i, attention.window_limit_i],
                states: [attention.idle_o, array.steps_o & !products, attention.overflows_o],
                operation: attention.operation,
                end: attention.operation_end,
                reads: transfers(ATTENTION_READERS, &attention.read_command, &attention.read, &attention.read_end),
                write: transfer(&attention.write_command, &attention.write, &attention.write_end),
            },
        ];
        let shell = Engine {
            chosen: None,
            controls: [io.abort_i, io.window_base_i, io.window_limit_i],
            states: [io.idle_o, io.computing_o, io.overflows_o],
            operation: io.operation.clone(),
            end: io.operation_end.clone(),
            reads: transfers(READERS, &io.read_command, &io.read, &io.read_end),
            write: transfer(&io.write_command, &io.write, &io.write_end),
        };
        behind_shell(m, (&self.top.spec.axi, &self.top.dma), &shell, &engines);
        m.connect(io.saturations_o, mux(products, linear.saturations_o, attention.saturations_o));
    }
}
