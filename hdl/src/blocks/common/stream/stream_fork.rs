//! Fork: each beat goes to several takers, each at its own time.

use super::Word;
use crate::lang::{
    About, Block, CatalogBlock, In, InArray, InStream, Module, Out, OutArray, Proof, Timing, bit, parameters, ports,
    reduce, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct StreamFork {
        /// Bits of a beat.
        width: u32 = 32, in 1..=65536, tag "w";
        /// Takers.
        outputs: u32 = 2, in 2..=256, tag "n";
    }
}

ports! {
    /// Ports of [`StreamFork`].
    pub struct StreamForkPorts(p: &StreamFork) {
        /// Forgets who has taken the present beat, at the coming edge; no beat moves in this cycle.
        clear_i: In = bit(),
        /// Beats that come. A beat is taken in the cycle in which the last taker has it.
        input: InStream<Word> = p.width,
        /// Per taker: the beat is offered; low once the taker has it.
        output_valid_o: OutArray = bit().array(p.outputs),
        /// Per taker: it takes the beat.
        output_ready_i: InArray = bit().array(p.outputs),
        /// The beat, for all of them.
        output_data_o: Out = uint(p.width),
    }
}

impl Block for StreamFork {
    type Ports = StreamForkPorts;
    const ABOUT: About = About {
        name: "stream_fork",
        summary: "one stream to several takers, each at its own time",
        contract: "Every taker gets every beat once, in order, at the earliest in the cycle in which the beat comes.\n\
            input_ready_o depends on all output_ready_i; no output_valid_o depends on another taker's ready.\n\
            A cleared beat is offered again to all takers if it is still there: clear the source too.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &StreamForkPorts) {
        let has = m.regs_init("has", bit(), self.outputs, 0);
        let done = m.nets("done", bit(), self.outputs);
        let goes = m.wire("goes", io.input.valid & !io.clear_i);
        m.for_each("takers", self.outputs, |m, i| {
            let here = has.q.at(i);
            m.connect(io.output_valid_o.at(i), goes & !here);
            m.connect(done.at(i), here | io.output_ready_i.at(i));
            has.next(m, i, goes & done.at(i) & !io.input.ready);
        });
        let all = reduce(&done.elements(), |a, b| a & b).unwrap_or_else(|| bit().lit(1));
        m.connect(io.input.ready, all & !io.clear_i);
        m.connect(io.output_data_o, io.input.data.data);
        m.formal(|m| {
            // Counted modulo 8: a taker has as many beats as have come, or one more: the present one.
            let ty = uint(3);
            let came = m.reg_init("formal_came_q", ty, 0);
            came.next_when(io.input.fire(), came.q.wrapping_add(1));
            let was = m.reg_init("formal_offered_q", bit(), 0);
            was.next(io.input.valid & !io.input.ready);
            m.assume("valid_stays", !was.q | io.input.valid);
            m.assume("no_clear", !io.clear_i);
            for k in 0..self.outputs {
                let got = m.reg_init(&format!("formal_got_{k}_q"), ty, 0);
                let takes = io.output_valid_o.at(k) & io.output_ready_i.at(k);
                got.next_when(takes, got.q.wrapping_add(1));
                let ahead = got.q.wrapping_sub(came.q);
                m.assert_always(&format!("once_{k}"), ahead.eq(has.q.at(k).extend(3)));
            }
            m.cover("apart", has.q.at(0) & !has.q.at(1) & came.q.eq(2));
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(0)
    }
}

impl CatalogBlock for StreamFork {
    fn configurations() -> Vec<Self> {
        vec![Self { width: 1, outputs: 2 }, Self { width: 9, outputs: 5 }]
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { width: 1, outputs: 3 }, depth: 8, cover_depth: 8, induction: true }]
    }
}
