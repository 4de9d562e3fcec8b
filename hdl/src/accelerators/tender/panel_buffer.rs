//! Rows of memory on their way to the array: each is kept in one of two banks, and read word by word.

use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::StreamWidthConverter;
use crate::blocks::common::{DoubleBuffer, DoubleBufferPorts, Ram, RamImplementation};
use crate::lang::{
    About, Block, In, InStream, Module, Out, Signal, Timing, Type, bit, index_width, mux, parameters, ports, uint,
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
    rules = |p, rules| rules.part("word_width", &p.lines());
}

impl PanelBuffer {
    /// A bank is written beat by beat, or word by word where words are wider.
    fn line_width(&self) -> u32 {
        self.word_width.max(self.axi.data_width)
    }

    /// Words of a line.
    fn lanes(&self) -> u32 {
        self.line_width() / self.word_width
    }

    fn lines(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: self.line_width(), granule: 8 }
    }

    fn ram(&self) -> Ram {
        Ram::words(self.depth.div_ceil(self.lanes()).max(2), self.line_width(), self.storage)
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
            read when it is there as a whole; the next one comes meanwhile, a beat a cycle, or a word a cycle where\n\
            words are wider. A row that is longer than the bank begins again at word 0. A bank is read once for\n\
            words of the same beat that are read in succession. A read or free_i without a row does nothing.",
        reference: "Tender, section IV-A, figure 6(a)",
    };

    fn build(&self, m: &mut Module, io: &PanelBufferPorts) {
        let lines = m.instance("u_lines", self.lines());
        let ram = self.ram();
        let line_ty = ram.address();
        let banks = m.instance("u_banks", DoubleBuffer { ram });
        m.connect(lines.clear_i, io.clear_i);
        m.connect(banks.clear_i, io.clear_i);
        rows_to_words(m, "row", &io.input, &lines);
        m.unused(lines.output.strobe);
        let fills = m.wire("fills", lines.output.fire());
        let ends = m.wire("ends", fills & lines.output.last);
        let place = m.reg_init("place_q", line_ty, 0);
        place.next(mux(io.clear_i | ends, line_ty.lit(0), mux(fills, place.q.wrapping_add(1), place.q)));
        m.connect(lines.output.ready, banks.fill_ready_o);
        m.connect(banks.write_i, fills & !io.clear_i);
        m.connect(banks.write_address_i, place.q);
        m.connect(banks.data_i, lines.output.data.data);
        m.connect(banks.fill_last_i, ends & !io.clear_i);
        m.connect(io.valid_o, banks.use_valid_o);
        let frees = m.wire("frees", io.free_i & banks.use_valid_o & !io.clear_i);
        m.connect(banks.use_last_i, frees);
        m.unused(banks.refused_o);
        let reads = m.wire("reads", io.read_i & banks.use_valid_o & !io.clear_i);
        if self.lanes() == 1 {
            m.connect(banks.read_i, reads);
            m.connect(banks.read_address_i, io.address_i);
            m.connect(io.data_o, banks.data_o);
        } else {
            self.words(m, io, &banks, (reads, frees));
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl PanelBuffer {
    /// Words of lines. A line is read when another one was read before, or none of its row.
    fn words(
        &self,
        m: &mut Module,
        io: &PanelBufferPorts,
        banks: &DoubleBufferPorts,
        (reads, frees): (Signal, Signal),
    ) {
        let lane_ty = uint(self.lanes().trailing_zeros());
        let line_ty = self.ram().address();
        let whole = io.address_i.extend(line_ty.width + lane_ty.width);
        let line = m.wire("line", whole.slice(lane_ty.width..whole.width()));
        let lane = m.reg("lane_q", lane_ty);
        lane.next_when(reads, whole.slice(0..lane_ty.width));
        let held = m.reg_init("held_q", bit(), 0);
        held.next((held.q | reads) & !frees & !io.clear_i);
        let held_line = m.reg("held_line_q", line_ty);
        held_line.next_when(reads, line);
        m.connect(banks.read_i, reads & !(held.q & held_line.q.eq(line)));
        m.connect(banks.read_address_i, line);
        let words = m.split("word", banks.data_o, uint(self.word_width).array(self.lanes()));
        m.connect(io.data_o, words.at(lane.q));
    }
}
