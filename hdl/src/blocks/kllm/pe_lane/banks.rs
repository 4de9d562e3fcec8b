//! The weights of a lane: words in two banks that are filled and used in turn.

use super::{PeLane, WeightWord};
use crate::blocks::common::DoubleBuffer;
use crate::lang::{About, Block, In, InStream, Module, Out, Timing, Type, bit, mux, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct LaneBanks {
        /// The lane.
        lane: PeLane = PeLane::default();
    }
}

impl LaneBanks {
    fn address(&self) -> Type {
        self.lane.ram().address()
    }
}

ports! {
    /// Ports of [`LaneBanks`].
    pub struct LaneBanksPorts(p: &LaneBanks) {
        /// Drops all words at the coming edge.
        clear_i: In = bit(),
        /// Words that come.
        weights: InStream<WeightWord> = p.lane.clone(),
        /// There is a bank to be used.
        valid_o: Out = bit(),
        /// Read a word of it.
        read_i: In = bit(),
        /// Which one.
        address_i: In = p.address(),
        /// The word read last, from the cycle after its read on.
        word_o: Out = uint(p.lane.word_width()),
        /// Where its last word is.
        end_o: Out = p.address(),
        /// The bank is free after this cycle's read.
        free_i: In = bit(),
    }
}

impl Block for LaneBanks {
    type Ports = LaneBanksPorts;
    const ABOUT: About = About {
        name: "lane_banks",
        summary: "two banks of a lane's weights",
        contract: "A bank ends with last, or when it is full, and can be used from then on; the next one is filled\n\
            meanwhile.",
        reference: "KLLM, section IV-A",
    };

    fn build(&self, m: &mut Module, io: &LaneBanksPorts) {
        let banks = m.instance("u_banks", DoubleBuffer { ram: self.lane.ram() });
        let address = self.address();
        let (zero, top) = (address.lit(0), address.lit(self.lane.buffer - 1));
        m.connect(banks.clear_i, io.clear_i);
        m.unused(banks.refused_o);
        m.connect(io.weights.ready, banks.fill_ready_o & !io.clear_i);
        let comes = m.wire("word_comes", io.weights.fire());
        let fill = m.reg_init("fill_address_q", address, 0);
        let filled = m.wire("filled", comes & (io.weights.last | fill.q.eq(top)));
        fill.next(mux(io.clear_i | filled, zero, mux(comes, fill.q.wrapping_add(1), fill.q)));
        m.connect(banks.write_i, comes);
        m.connect(banks.write_address_i, fill.q);
        m.connect(banks.data_i, io.weights.index.packed());
        m.connect(banks.fill_last_i, filled);
        m.connect(io.valid_o, banks.use_valid_o);
        m.connect(banks.read_i, io.read_i);
        m.connect(banks.read_address_i, io.address_i);
        m.connect(io.word_o, banks.data_o);
        m.connect(banks.use_last_i, io.free_i);

        m.comment("Where each bank's last word is.");
        let (filling, using) = (m.reg_init("fill_turn_q", bit(), 0), m.reg_init("use_turn_q", bit(), 0));
        filling.next((filling.q ^ filled) & !io.clear_i);
        using.next((using.q ^ io.free_i) & !io.clear_i);
        let length = m.regs("length", address, 2);
        m.for_each("length", 2, |m, b| {
            let here = m.wire("ends_here", filled & filling.q.eq(b.value(1)));
            length.next_when(m, b, here, fill.q);
        });
        m.connect(io.end_o, length.q.at(using.q));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
