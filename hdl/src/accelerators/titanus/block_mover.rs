//! Blocks of streams on their way to memory: a command and a row for each.

use super::titanus_spec::BLOCK_BYTES;
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaSpec};
use crate::blocks::common::stream::{StreamWidthConverter, StreamWidthConverterPorts, Word};
use crate::blocks::titanus::CacheBlock;
use crate::blocks::titanus::cache_writer::BLOCKS;
use crate::lang::{About, Block, In, InStream, Module, Out, OutStream, bit, cat, mux, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct BlockMover {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
    }
    rules = |p, rules| rules.part("axi", &p.converter());
}

impl BlockMover {
    fn converter(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: 8 * BLOCK_BYTES, output_width: self.axi.data_width, granule: 8 }
    }
}

ports! {
    /// Ports of [`BlockMover`].
    pub struct BlockMoverPorts(p: &BlockMover) {
        /// Drops all that is inside.
        clear_i: In = bit(),
        /// Work begins; nothing is inside.
        begin_i: In = bit(),
        /// Area of keys; this and the next two are steady from begin_i on.
        area_k_i: In = uint(64),
        /// Area of values.
        area_v_i: In = uint(64),
        /// Blocks of an area.
        lines_i: In = uint(BLOCKS),
        /// Blocks.
        block: InStream<CacheBlock> = BLOCK_BYTES,
        /// Place of a block.
        command: OutStream<DmaCommand> = (p.axi.clone(), p.dma.clone()),
        /// Its bytes.
        write: OutStream<Word> = p.axi.data_width,
        /// For one cycle: a block has left.
        moved_o: Out = bit(),
        /// Nothing is inside.
        empty_o: Out = bit(),
        /// A block of keys had no room since begin_i, and was dropped.
        full_k_o: Out = bit(),
        /// A block of values had no room since begin_i, and was dropped.
        full_v_o: Out = bit(),
    }
}

impl Block for BlockMover {
    type Ports = BlockMoverPorts;
    const ABOUT: About = About {
        name: "block_mover",
        summary: "blocks of streams as rows of 64 bytes, each with the command that names its place",
        contract: "Block n goes to byte 64 n of its area if there are more lines than n; otherwise it is dropped,\n\
            and full_k_o or full_v_o reports it.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &BlockMoverPorts) {
        let block = &io.block;
        let words: StreamWidthConverterPorts = m.instance("u_words", self.converter());
        m.connect(words.clear_i, io.clear_i);
        let room = m.wire("room", block.number.lt(io.lines_i));
        m.comment("Command and bytes leave in any order, then the next block.");
        let (commanded, given) = (m.reg_init("commanded_q", bit(), 0), m.reg_init("given_q", bit(), 0));
        let asks = m.wire("asks", block.valid & room & !io.clear_i);
        let (command, input) = (&io.command, &words.input);
        m.connect(command.valid, asks & !commanded.q);
        m.connect(input.valid, asks & !given.q);
        let both = m.wire("both", (commanded.q | command.ready) & (given.q | input.ready));
        m.connect(block.ready, (!room | both) & !io.clear_i);
        commanded.next((commanded.q | command.fire()) & !both & !io.clear_i);
        given.next((given.q | input.fire()) & !both & !io.clear_i);
        let moved = m.wire("moved", asks & both);
        m.connect(io.moved_o, moved);
        let area = mux(block.values, io.area_v_i, io.area_k_i);
        let place = cat(&[block.number, uint(BLOCK_BYTES.trailing_zeros()).lit(0)]).extend(64);
        let address = m.wire("address", area.wrapping_add(place));
        m.connect(command.address, address.slice(0..self.axi.address_width));
        m.connect(command.row_bytes, BLOCK_BYTES);
        m.connect(command.rows, 1);
        m.connect(command.stride, BLOCK_BYTES);
        m.connect(input.data.data, block.data.data);
        m.connect(input.strobe, bit().lit(1).repeat(BLOCK_BYTES));
        m.connect(input.last, 1);
        m.connect_handshake(&io.write, &words.output);
        m.connect(io.write.data.data, words.output.data.data);
        m.unused(words.output.strobe);
        m.unused(words.output.last);
        m.connect(io.empty_o, !words.output.valid & !block.valid);
        for (name, side, port) in [("k", !block.values, io.full_k_o), ("v", block.values, io.full_v_o)] {
            let full = m.reg_init(&format!("full_{name}_q"), bit(), 0);
            let now = block.fire() & !room & side;
            full.next((full.q | now) & !io.begin_i);
            m.connect(port, full.q);
        }
    }
}
