//! Two banks of memory: one is filled while the other is in use, and they change over at a handshake.

use super::{Ram, RamImplementation};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Proof, Signal, Timing, bit, connect_all, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct DoubleBuffer {
        /// One bank.
        ram: Ram = Ram { depth: 64, ..Ram::default() };
    }
}

ports! {
    /// Ports of [`DoubleBuffer`].
    pub struct DoubleBufferPorts(p: &DoubleBuffer) {
        /// Gives both banks back at the coming edge: none is full, none is begun.
        clear_i: In = bit(),
        /// A bank is there to be filled; valid in every cycle, low while both are full.
        fill_ready_o: Out = bit(),
        /// Bit per granule: write it into the bank that is filled.
        write_i: In = uint(p.ram.write_enables()),
        /// Address of the write.
        write_address_i: In = p.ram.address(),
        /// Word to write.
        data_i: In = uint(p.ram.width),
        /// The bank that is filled is full after this cycle's write.
        fill_last_i: In = bit(),
        /// A full bank is there to be used; valid in every cycle.
        use_valid_o: Out = bit(),
        /// Read the bank in use.
        read_i: In = bit(),
        /// Address of the read.
        read_address_i: In = p.ram.address(),
        /// The word read last, from the cycle after its read up to the cycle of the next read.
        data_o: Out = uint(p.ram.width),
        /// The bank in use is free after this cycle's read.
        use_last_i: In = bit(),
        /// A write or fill_last_i while fill_ready_o is low, a read or use_last_i while use_valid_o is low, or any of them with
        /// clear_i: it has no effect. Of this cycle only.
        refused_o: Out = bit(),
    }
}

impl Block for DoubleBuffer {
    type Ports = DoubleBufferPorts;
    const ABOUT: About = About {
        name: "double_buffer",
        summary: "two banks of memory, one filled while the other is used",
        contract: "Banks are filled and used in turn, and each is used once for each time it was filled. A bank that\n\
            fill_last_i hands over shows at use_valid_o in the next cycle, if the bank before it is given back by\n\
            then. A bank that use_last_i gives back shows at fill_ready_o likewise. So a filler and a user that take\n\
            n cycles each change over without a pause.\n\
            data_o one cycle after read_i = the word at read_address_i of the bank that was in use. A word that was\n\
            not written since the last use of the bank is unchanged; it is unknown if it was never written.\n\
            An access without a bank is refused: nothing happens, and refused_o is high in that cycle. clear_i at\n\
            any time drops both banks; their words stay.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &DoubleBufferPorts) {
        let filled = m.reg_init("fill_bank_q", bit(), 0);
        let used = m.reg_init("use_bank_q", bit(), 0);
        // Full banks: none, one, two.
        let full = m.reg_init("full_q", uint(2), 0);
        let may_fill = m.wire("may_fill", !full.q.bit(1));
        let may_use = m.wire("may_use", full.q.any());
        m.connect(io.fill_ready_o, may_fill);
        m.connect(io.use_valid_o, may_use);
        let fills = m.wire("fills", may_fill & !io.clear_i);
        let uses = m.wire("uses", may_use & !io.clear_i);
        let comes = m.wire("comes", io.fill_last_i & fills);
        let goes = m.wire("goes", io.use_last_i & uses);
        full.next(mux(io.clear_i, uint(2).lit(0), full.q.wrapping_add(comes.extend(2)).wrapping_sub(goes.extend(2))));
        filled.next((filled.q ^ comes) & !io.clear_i);
        used.next((used.q ^ goes) & !io.clear_i);
        let asks_fill = io.write_i.any() | io.fill_last_i;
        let asks_use = io.read_i | io.use_last_i;
        m.connect(io.refused_o, (asks_fill & !fills) | (asks_use & !uses));

        let read = m.wire("read", io.read_i & uses);
        let data = m.nets("bank_data", uint(self.ram.width), 2);
        m.for_each("bank", 2, |m, b| {
            let bank = m.instance("u_ram", self.ram.clone());
            let here = m.wire("fills_here", fills & filled.q.eq(b.value(1)));
            m.connect(bank.write_i, io.write_i & here.repeat(self.ram.write_enables()));
            connect_all!(m, bank, io, [write_address_i, data_i]);
            m.connect(bank.read_i, read & used.q.eq(b.value(1)));
            m.connect(bank.read_address_i, io.read_address_i);
            m.connect(data.at(b), bank.data_o);
        });
        let shown = m.reg_init("shown_bank_q", bit(), 0);
        shown.next_when(read, used.q);
        m.connect(io.data_o, data.at(shown.q));
        if self.ram.implementation == RamImplementation::Inferred {
            self.properties(m, io, (fills, uses), (comes, goes));
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl DoubleBuffer {
    /// One word of one address is followed from its write to its read; which address, the prover chooses.
    fn properties(&self, m: &mut Module, io: &DoubleBufferPorts, may: (Signal, Signal), moves: (Signal, Signal)) {
        m.formal(|m| {
            let ((fills, uses), (comes, goes)) = (may, moves);
            let word = uint(self.ram.width);
            let followed = m.reg("formal_address_q", self.ram.address());
            followed.next(followed.q);
            // Counted by the environment: at most two banks are full.
            let (came, went) = (m.reg_init("formal_came_q", uint(2), 0), m.reg_init("formal_went_q", uint(2), 0));
            came.next(mux(io.clear_i, uint(2).lit(0), came.q.wrapping_add(comes.extend(2))));
            went.next(mux(io.clear_i, uint(2).lit(0), went.q.wrapping_add(goes.extend(2))));
            let full = m.wire("formal_full", came.q.wrapping_sub(went.q));
            m.assert_always("at_most_two_full", full.le(2));
            m.assert_always("ready_unless_both_full", io.fill_ready_o.eq(full.ne(2)));
            m.assert_always("valid_while_one_full", io.use_valid_o.eq(full.ne(0)));
            // The filler's word at that address, for even and for odd turns.
            let writes = m.wire("formal_writes", fills & io.write_i.all() & io.write_address_i.eq(followed.q));
            let known = m.regs_init("formal_known", bit(), 2, 0);
            let value = m.regs("formal_value", word, 2);
            m.for_each("formal_turn", 2, |m, t| {
                let here = m.wire("formal_here", writes & came.q.bit(0).eq(t.value(1)));
                value.next_when(m, t, here, io.data_i);
                let other = came.q.bit(0).eq(t.value(1)) & fills & io.write_i.any() & !io.write_i.all();
                known.next(m, t, (known.q.at(t) | here) & !(other & io.write_address_i.eq(followed.q)) & !io.clear_i);
            });
            let turn = went.q.bit(0);
            let reads = m.wire("formal_reads", uses & io.read_i & io.read_address_i.eq(followed.q));
            let expects = m.reg_init("formal_expects_q", bit(), 0);
            let expected = m.reg("formal_expected_q", word);
            expects.next(reads & known.q.at(turn));
            expected.next(value.q.at(turn));
            m.assert_always("the_word_of_its_turn", !expects.q | io.data_o.eq(expected.q));
            m.cover("both_full", full.eq(2) & io.read_i);
            m.cover("a_word_came_through", expects.q & expected.q.any());
        });
    }
}

impl CatalogBlock for DoubleBuffer {
    // A word of one bit has no parts.
    const SAMPLE: &'static [(&'static str, u32)] = &[("ram.depth", 3), ("ram.width", 4), ("ram.granule", 2)];

    fn configurations() -> Vec<Self> {
        use RamImplementation::{BlackBox, Inferred};
        let set =
            |depth, width, granule, implementation| Self { ram: Ram::parts(depth, width, granule, implementation) };
        vec![set(2, 1, 1, Inferred), set(5, 24, 8, Inferred), set(300, 16, 16, BlackBox)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let ram = Ram::words(2, 1, RamImplementation::Inferred);
        vec![Proof { block: Self { ram }, depth: 10, cover_depth: 10, induction: true }]
    }
}
