//! Rows of memory on their way to the array: each becomes words in one of two banks.

use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::StreamWidthConverter;
use crate::blocks::common::{DoubleBuffer, Ram, RamImplementation};
use crate::lang::{
    About, Block, In, InStream, Module, Out, Timing, Type, bit, index_width, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct PanelBuffer {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Bits of a word: whole bytes, a multiple or a divisor of the bus.
        word_width: u32 = 64, in 8..=4096, tag "w";
        /// Words of the longest row.
        depth: u32 = 1024, in 2..=65536, tag "d";
        /// Where they are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
    rules = |p, rules| rules.part("word_width", &p.words());
}

impl PanelBuffer {
    fn words(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: self.word_width, granule: 8 }
    }

    /// Type of the place of a word.
    #[must_use]
    pub fn address(&self) -> Type {
        uint(index_width(self.depth.into()))
    }
}

ports! {
    /// Ports of [`PanelBuffer`].
    pub struct PanelBufferPorts(p: &PanelBuffer) {
        /// Drops all rows at the coming edge.
        clear_i: In = bit(),
        /// Rows that come, of at most `depth` words each.
        input: InStream<RowBeat> = p.axi.clone(),
        /// The oldest row is there, whole.
        valid_o: Out = bit(),
        /// Read a word of it.
        read_i: In = bit(),
        /// Which one.
        address_i: In = p.address(),
        /// The word read last, from the cycle after its read on.
        data_o: Out = uint(p.word_width),
        /// The oldest row is not needed any more, after this cycle's read.
        free_i: In = bit(),
    }
}

impl Block for PanelBuffer {
    type Ports = PanelBufferPorts;
    const ABOUT: About = About {
        name: "panel_buffer",
        summary: "rows of memory as words of a double buffer",
        contract: "Row by row: word i is the word_width / 8 bytes from byte i * word_width / 8 on. A row can be\n\
            read when it is there as a whole; the next one comes meanwhile. A row that is longer than depth begins\n\
            again at word 0. A read or free_i without a row does nothing.",
        reference: "Tender, section IV-A, figure 6(a)",
    };

    fn build(&self, m: &mut Module, io: &PanelBufferPorts) {
        let words = m.instance("u_words", self.words());
        let block = DoubleBuffer { ram: Ram::words(self.depth, self.word_width, self.storage) };
        let banks = m.instance("u_banks", block);
        m.connect(words.clear_i, io.clear_i);
        m.connect(banks.clear_i, io.clear_i);
        rows_to_words(m, "row", &io.input, &words);
        m.unused(words.output.strobe);
        let fills = m.wire("fills", words.output.fire());
        let ends = m.wire("ends", fills & words.output.last);
        let place = m.reg_init("place_q", self.address(), 0);
        let zero = self.address().lit(0);
        place.next(mux(io.clear_i | ends, zero, mux(fills, place.q.wrapping_add(1), place.q)));
        m.connect(words.output.ready, banks.fill_ready_o);
        m.connect(banks.write_i, fills & !io.clear_i);
        m.connect(banks.write_address_i, place.q);
        m.connect(banks.data_i, words.output.data.data);
        m.connect(banks.fill_last_i, ends & !io.clear_i);
        m.connect(io.valid_o, banks.use_valid_o);
        m.connect(banks.read_i, io.read_i & banks.use_valid_o & !io.clear_i);
        m.connect(banks.read_address_i, io.address_i);
        m.connect(io.data_o, banks.data_o);
        m.connect(banks.use_last_i, io.free_i & banks.use_valid_o & !io.clear_i);
        m.unused(banks.refused_o);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
