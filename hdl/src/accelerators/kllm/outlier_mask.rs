//! The outliers of a row: a bit for each element, of the row in which they are sought and of the row in use.

use crate::blocks::common::memory::{Ram, RamImplementation};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Proof, Timing, bit, index_width, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct OutlierMask {
        /// Words of a row.
        depth: u32 = 512, in 2..=65_536, tag "d";
        /// Elements of a word.
        lanes: u32 = 8, in 2..=64, tag "l";
    }
}

ports! {
    /// Ports of [`OutlierMask`].
    pub struct OutlierMaskPorts(p: &OutlierMask) {
        /// Gives both rows back at the coming edge.
        clear_i: In = bit(),
        /// Word word_i of the row in which outliers are sought has none.
        blank_i: In = bit(),
        /// One of them is found in word word_i; not with blank_i.
        mark_i: In = bit(),
        /// The word.
        word_i: In = uint(index_width(p.depth.into())),
        /// Its element.
        lane_i: In = uint(index_width(p.lanes.into())),
        /// The element of the cycle before was not marked yet.
        fresh_o: Out = bit(),
        /// The row is complete after this cycle and can be used. Not while two rows are complete.
        fill_last_i: In = bit(),
        /// Read the row in use; not while there is none.
        read_i: In = bit(),
        /// The word.
        read_word_i: In = uint(index_width(p.depth.into())),
        /// A bit for each element of the word read last; up to the next read, or to use_last_i.
        mask_o: Out = uint(p.lanes),
        /// The row in use is not used any more after this cycle; not while there is none.
        use_last_i: In = bit(),
    }
}

impl OutlierMask {
    fn ram(&self) -> Ram {
        Ram::parts(self.depth, self.lanes, 1, RamImplementation::Inferred)
    }
}

impl Block for OutlierMask {
    type Ports = OutlierMaskPorts;
    const ABOUT: About = About {
        name: "outlier_mask",
        summary: "a bit for each element of two rows, tested and set at once",
        contract: "Rows are filled and used in turn, as in double_buffer. A mark and its test take a cycle: the\n\
            memory writes one bit and reads the word as it was. So an element that both sides find is fresh once.\n\
            fresh_o is high at most in the cycle after a mark. Words that were not made blank are unknown.",
        reference: "KLLM, section IV-C",
    };

    fn build(&self, m: &mut Module, io: &OutlierMaskPorts) {
        let filled = m.reg_init("fill_bank_q", bit(), 0);
        let used = m.reg_init("use_bank_q", bit(), 0);
        filled.next((filled.q ^ io.fill_last_i) & !io.clear_i);
        used.next((used.q ^ io.use_last_i) & !io.clear_i);
        let one_hot = m.wire("one_hot", uint(self.lanes).lit(1).shl_by(io.lane_i));
        let writes = mux(io.blank_i, io.blank_i.repeat(self.lanes), one_hot & io.mark_i.repeat(self.lanes));
        let writes = m.wire("writes", writes);
        let words = m.nets("bank_word", uint(self.lanes), 2);
        m.for_each("bank", 2, |m, b| {
            let bank = m.instance("u_ram", self.ram());
            let here = m.wire("fills_here", filled.q.eq(b.value(1)));
            let reads = m.wire("reads_here", io.read_i & used.q.eq(b.value(1)));
            m.connect(bank.write_i, writes & here.repeat(self.lanes));
            m.connect(bank.write_address_i, io.word_i);
            m.connect(bank.data_i, (!io.blank_i).repeat(self.lanes));
            m.connect(bank.read_i, reads | (io.mark_i & here));
            m.connect(bank.read_address_i, mux(reads, io.read_word_i, io.word_i));
            m.connect(words.at(b), bank.data_o);
        });
        m.connect(io.mask_o, words.at(used.q));

        let marked = m.reg_init("marked_q", bit(), 0);
        marked.next(io.mark_i & !io.clear_i);
        let (bank, lane) = (m.reg("marked_bank_q", bit()), m.reg("marked_lane_q", io.lane_i.ty()));
        bank.next(filled.q);
        lane.next(io.lane_i);
        let before = m.wire("old_word", words.at(bank.q));
        m.connect(io.fresh_o, marked.q & !before.bit_at(lane.q));
        self.properties(m, io);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl OutlierMask {
    /// One element is followed, of a word that the prover chooses.
    fn properties(&self, m: &mut Module, io: &OutlierMaskPorts) {
        m.formal(|m| {
            let (word, lane) = (m.reg("formal_word_q", io.word_i.ty()), m.reg("formal_lane_q", io.lane_i.ty()));
            word.next(word.q);
            lane.next(lane.q);
            m.assume("there_is_the_element", lane.q.lt(self.lanes));
            m.assume("marks_an_element", io.lane_i.lt(self.lanes));
            // Rows as the environment counts them.
            let full = m.reg_init("formal_full_q", uint(2), 0);
            let moved = full.q.wrapping_add(io.fill_last_i.extend(2)).wrapping_sub(io.use_last_i.extend(2));
            full.next(mux(io.clear_i, uint(2).lit(0), moved));
            m.assume("fills_a_free_row", full.q.ne(2) | !(io.fill_last_i | io.blank_i | io.mark_i));
            m.assume("uses_a_full_row", full.q.any() | !(io.read_i | io.use_last_i));
            m.assume("one_at_a_time", !(io.blank_i & io.mark_i));
            // Marks of the element in the row that is filled, and in the full rows: oldest first.
            let here = m.wire("formal_here", io.word_i.eq(word.q));
            let blanks = m.wire("formal_blanks", io.blank_i & here);
            let marks = m.wire("formal_marks", io.mark_i & here & io.lane_i.eq(lane.q));
            let known = m.reg_init("formal_known_q", bit(), 0);
            let set = m.reg("formal_set_q", bit());
            let (known_next, set_next) = ((known.q | blanks), m.wire("formal_set", (set.q & !blanks) | marks));
            known.next(known_next & !io.fill_last_i & !io.clear_i);
            set.next(set_next);
            let old = m.regs("formal_old", uint(2), 2);
            let now = m.wire("formal_now", crate::lang::cat(&[known_next, set_next]));
            let behind = full.q.wrapping_sub(io.use_last_i.extend(2));
            for k in 0..2u32 {
                let kept = if k == 0 { mux(io.use_last_i, old.q.at(1), old.q.at(0)) } else { old.q.at(1) };
                old.next(m, k, mux(io.fill_last_i & behind.eq(k), now, kept));
            }
            let reads = m.reg_init("formal_reads_q", bit(), 0);
            let first = old.q.at(0);
            reads.next(io.read_i & io.read_word_i.eq(word.q) & first.bit(1) & !io.use_last_i & !io.clear_i);
            let expected = m.reg("formal_expected_q", bit());
            expected.next(first.bit(0));
            let seen = m.wire("formal_seen", io.mask_o.bit_at(lane.q));
            m.assert_always("the_bit_of_its_row", !reads.q | seen.eq(expected.q));
            let tests = m.reg_init("formal_tests_q", bit(), 0);
            tests.next(marks & known.q & !io.clear_i);
            let twice = m.reg("formal_twice_q", bit());
            twice.next(set.q);
            m.assert_always("fresh_once", !tests.q | io.fresh_o.eq(!twice.q));
            let marked = m.reg_init("formal_marked_q", bit(), 0);
            marked.next(io.mark_i & !io.clear_i);
            m.assert_always("fresh_after_a_mark_only", marked.q | !io.fresh_o);
            m.cover("marked_twice", tests.q & twice.q);
            m.cover("used_while_filled", reads.q & expected.q & marked.q);
        });
    }
}

impl CatalogBlock for OutlierMask {
    fn configurations() -> Vec<Self> {
        vec![Self { depth: 2, lanes: 2 }, Self { depth: 5, lanes: 3 }, Self { depth: 16, lanes: 32 }]
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { depth: 2, lanes: 2 }, depth: 10, cover_depth: 10, induction: false }]
    }
}
