//! The engines inside the shell: for loads and products, for rows, for the cache.

use super::cache_controller::READERS as CACHED;
use super::linear_controller::WORDS;
use super::titanus_core::{READERS, TitanusCore};
use crate::accelerators::engines::{Engine, behind_shell, transfer, transfers};
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::blocks::titanus::cache_writer::TOKENS;
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutStream, OutStreams, bit, bits_for, parameters,
    ports, uint,
};

/// Operation of the vector engine.
const VECTOR: u32 = 3;
/// First operation of the cache.
const APPEND: u32 = 4;

parameters! {
    /// Elaboration parameters.
    pub struct TitanusEngines {
        /// The accelerator.
        top: TitanusCore = TitanusCore::default();
    }
}

ports! {
    /// Ports of [`TitanusEngines`].
    pub struct TitanusEnginesPorts(p: &TitanusEngines) {
        /// Drops everything; weights and constants stay.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// A job begins.
        began_i: In = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// One of the engines works on data in this cycle.
        computing_o: Out = bit(),
        /// Results in this cycle that overflow.
        overflows_o: Out = uint(bits_for(p.top.most_overflows().into())),
        /// Multiplications of a dot product with the context that ends in this cycle.
        multiplications_o: Out = p.top.spec.engine().skipped(),
        /// Skipped multiplications among them.
        skipped_o: Out = p.top.spec.engine().skipped(),
        /// A block of a stream came from memory.
        block_read_o: Out = bit(),
        /// A block of a stream went to memory.
        block_written_o: Out = bit(),
        /// Tokens of the open streams; 0 without.
        tokens_o: Out = uint(TOKENS),
        /// A key, a value of them was out of tolerance when its channel had no level left.
        beyond_o: Out = uint(2),
        /// Kind of damage of the job, or 0.
        damage_o: Out = uint(8),
        /// It is of values.
        damage_values_o: Out = bit(),
        /// Address of the area.
        damage_where_o: Out = uint(64),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// What to read: rows of all operations with the first DMA, addends or values with the second one.
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

impl Block for TitanusEngines {
    type Ports = TitanusEnginesPorts;
    const ABOUT: About = About {
        name: "titanus_engines",
        summary: "the engines between the shell of the Titanus core and memory",
        contract: "An operation, and the DMAs with it, belong to the engine for its opcode. One works at a time;\n\
            products read the context of the cache's engine.",
        reference: "Titanus, section 4.1",
    };

    fn build(&self, m: &mut Module, io: &TitanusEnginesPorts) {
        let linear = m.instance("u_linear", self.top.linear());
        let vector = m.instance("u_vector", self.top.vector());
        let cache = m.instance("u_cache", self.top.cache());
        m.comment("Products read the context.");
        m.connect(linear.context_tokens_i, cache.context_tokens_o);
        m.connect(cache.read_i, linear.read_o);
        cache.place.drive(m, "context", &linear.place);
        m.connect_each("context_data", linear.data_i, cache.data_o);
        m.connect(cache.began_i, io.began_i);

        m.comment("An operation goes to one of the engines, and the DMAs with it.");
        let opcode = io.operation.opcode;
        let engines = vec![
            Engine {
                chosen: Some(m.wire("rows", opcode.eq(VECTOR))),
                controls: [vector.abort_i, vector.window_base_i, vector.window_limit_i],
                states: [vector.idle_o, vector.computing_o, vector.overflow_o],
                operation: vector.operation,
                end: vector.operation_end,
                reads: transfers(READERS, &vector.read_command, &vector.read, &vector.read_end),
                write: transfer(&vector.write_command, &vector.write, &vector.write_end),
            },
            Engine {
                chosen: Some(m.wire("caches", opcode.ge(APPEND))),
                controls: [cache.abort_i, cache.window_base_i, cache.window_limit_i],
                states: [cache.idle_o, cache.computing_o, bit().lit(0)],
                operation: cache.operation,
                end: cache.operation_end,
                reads: transfers(CACHED, &cache.read_command, &cache.read, &cache.read_end),
                write: (cache.write_command, cache.write, cache.write_end),
            },
            Engine {
                chosen: None,
                controls: [linear.abort_i, linear.window_base_i, linear.window_limit_i],
                states: [linear.idle_o, linear.computing_o, linear.overflows_o],
                operation: linear.operation,
                end: linear.operation_end,
                reads: vec![(linear.read_command, linear.read, linear.read_end)],
                write: (linear.write_command, linear.write, linear.write_end),
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
        behind_shell(m, (&self.top.axi, &self.top.dma), &shell, &engines);
        for (to, from) in [
            (io.multiplications_o, linear.multiplications_o),
            (io.skipped_o, linear.skipped_o),
            (io.block_read_o, cache.block_read_o),
            (io.block_written_o, cache.block_written_o),
            (io.tokens_o, cache.tokens_o),
            (io.beyond_o, cache.beyond_o),
            (io.damage_o, cache.damage_o),
            (io.damage_values_o, cache.damage_values_o),
            (io.damage_where_o, cache.damage_where_o),
        ] {
            m.connect(to, from);
        }
    }
}
