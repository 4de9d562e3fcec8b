//! Arbiter: several streams share one, in turn or by rank, beat by beat or packet by packet.

use super::wrapping_next;
use crate::lang::{
    About, Block, CatalogBlock, Field, In, InArray, Module, OutArray, OutStream, Proof, Signal, Timing, Type, bit,
    bits_for, bundle, choices, index_width, mux, or_all, parameters, ports, uint,
};

choices! {
    /// Which stream comes first.
    pub enum Arbitration {
        /// In turn, beginning with the stream after the one that had the last turn.
        RoundRobin,
        /// The lowest number.
        FixedPriority,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct StreamArbiter {
        /// Bits of a beat.
        width: u32 = 32, in 1..=65536, tag "w";
        /// Streams.
        inputs: u32 = 4, in 2..=64, tag "n";
        /// Which stream comes first.
        arbitration: Arbitration = Arbitration::RoundRobin, tag "";
        /// A turn lasts until a beat with last, not one beat.
        packets: bool = false, tag "packets";
    }
}

impl StreamArbiter {
    /// Type of a stream's number.
    #[must_use]
    pub fn index(&self) -> Type {
        uint(index_width(self.inputs.into()))
    }
}

bundle! {
    /// A beat and where it comes from.
    pub struct Arbitrated(p: StreamArbiter) {
        /// The beat.
        data: Field = uint(p.width),
        /// Number of its stream.
        index: Field = p.index(),
        /// As the stream gave it.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`StreamArbiter`].
    pub struct StreamArbiterPorts(p: &StreamArbiter) {
        /// Ends the present turn at the coming edge, without its last beat; no beat moves in this cycle.
        clear_i: In = bit(),
        /// Per stream: a beat is offered.
        input_valid_i: InArray = bit().array(p.inputs),
        /// Per stream: the beat is taken.
        input_ready_o: OutArray = bit().array(p.inputs),
        /// Per stream: the beat.
        input_data_i: InArray = uint(p.width).array(p.inputs),
        /// Per stream: it is the last one of a packet.
        input_last_i: InArray = bit().array(p.inputs),
        /// The beats of all streams.
        output: OutStream<Arbitrated> = p.clone(),
    }
}

impl Block for StreamArbiter {
    type Ports = StreamArbiterPorts;
    const ABOUT: About = About {
        name: "stream_arbiter",
        summary: "several streams share one, in turn or by rank",
        contract: "output shows a beat of one stream that offers one, in the cycle in which it is offered. Once\n\
            shown it stays until it is taken.\n\
            round_robin: a stream that offers waits for at most inputs - 1 turns of others. fixed_priority: the\n\
            lowest number wins; higher numbers may wait for ever.\n\
            A turn is one beat, or with packets all beats up to one with last; the stream that has it may pause, and\n\
            the others wait.\n\
            output_valid_o depends on all input_valid_i. input_ready_o depends on all input_valid_i and on\n\
            output_ready_i.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &StreamArbiterPorts) {
        let ty = self.index();
        let held = m.reg_init("held_q", bit(), 0);
        let choice = m.reg_init("choice_q", ty, 0);
        let best = match self.arbitration {
            Arbitration::FixedPriority => self.first(m, "best", io, None),
            Arbitration::RoundRobin => {
                // After the stream that had the last turn, else from the start.
                let start = m.reg_init("start_q", ty, 0);
                let after = self.first(m, "after", io, Some(start.q));
                let wrapped = self.first(m, "wrapped", io, None);
                let any = (0..self.inputs).map(|k| io.input_valid_i.at(k) & start.q.le(k)).collect::<Vec<_>>();
                let any = m.wire("any_after", or_all(bit(), &any));
                start.next_when(io.output.fire(), wrapping_next(io.output.index, self.inputs - 1));
                m.wire("best", mux(any, after, wrapped))
            }
        };
        let chosen = m.wire("chosen", mux(held.q, choice.q, best));
        let offers = m.wire("offers", io.input_valid_i.at(chosen) & !io.clear_i);
        m.connect(io.output.valid, offers);
        m.connect(io.output.data.data, io.input_data_i.at(chosen));
        m.connect(io.output.index, chosen);
        let last = m.wire("last", io.input_last_i.at(chosen));
        m.connect(io.output.last, last);
        choice.next(chosen);
        // A packet's turn outlasts pauses; a single beat that is withdrawn against the rules has no turn.
        let goes_on =
            if self.packets { mux(offers, !(io.output.ready & last), held.q) } else { offers & !io.output.ready };
        held.next(goes_on & !io.clear_i);
        m.for_each("streams", self.inputs, |m, i| {
            let mine = chosen.eq(i.value(ty.width));
            m.connect(io.input_ready_o.at(i), io.output.fire() & mine);
        });
        self.properties(m, io);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(0)
    }
}

impl StreamArbiter {
    /// The lowest stream that offers a beat, from `start` on.
    fn first(&self, m: &mut Module, name: &str, io: &StreamArbiterPorts, start: Option<Signal>) -> Signal {
        let ty = self.index();
        let mut found = ty.lit(self.inputs - 1);
        for k in (0..self.inputs - 1).rev() {
            let offers = io.input_valid_i.at(k);
            let offers = start.map_or(offers, |s| offers & s.le(k));
            found = mux(offers, ty.lit(k), found);
        }
        m.wire(name, found)
    }

    fn properties(&self, m: &mut Module, io: &StreamArbiterPorts) {
        m.formal(|m| {
            for k in 0..self.inputs {
                let waits = m.reg_init(&format!("formal_waits_{k}_q"), bit(), 0);
                waits.next(io.input_valid_i.at(k) & !io.input_ready_o.at(k));
                m.assume(&format!("valid_stays_{k}"), !waits.q | io.input_valid_i.at(k));
            }
            let shown = m.reg_init("formal_shown_q", bit(), 0);
            let index = m.reg_init("formal_index_q", self.index(), 0);
            shown.next(io.output.valid & !io.output.ready & !io.clear_i);
            index.next(io.output.index);
            let stays = io.output.valid & io.output.index.eq(index.q);
            m.assert_always("offer_stays", !shown.q | io.clear_i | stays);
            let one = io.input_ready_o.packed();
            m.assert_always("one_is_taken", (one & one.wrapping_sub(1)).eq(0));
            if !self.packets {
                let nobody = !io.input_valid_i.packed().any();
                m.assert_always("work_conserving", nobody | io.clear_i | io.output.valid);
            }
            if self.arbitration == Arbitration::RoundRobin && !self.packets {
                // Beats of others while stream 1 waits.
                let count = uint(bits_for(self.inputs.into()).max(4));
                let others = m.reg_init("formal_others_q", count, 0);
                let mine = io.output.index.eq(1);
                let waiting = io.input_valid_i.at(1) & !(io.output.fire() & mine);
                let next = others.q.wrapping_add((io.output.fire() & !mine).extend(count.width));
                others.next(mux(waiting, next, count.lit(0)));
                m.assert_always("fair", others.q.le(self.inputs - 1));
                m.cover("waits_for_all_others", others.q.eq(self.inputs - 1));
            }
            m.cover("changes", io.output.fire() & io.output.index.ne(index.q));
        });
    }
}

impl CatalogBlock for StreamArbiter {
    fn configurations() -> Vec<Self> {
        let set = |width, inputs, arbitration, packets| Self { width, inputs, arbitration, packets };
        vec![
            set(1, 2, Arbitration::RoundRobin, false),
            set(9, 5, Arbitration::RoundRobin, true),
            set(9, 3, Arbitration::FixedPriority, false),
            set(4, 3, Arbitration::FixedPriority, true),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |arbitration, packets| Proof {
            block: Self { width: 1, inputs: 3, arbitration, packets },
            depth: 8,
            cover_depth: 8,
            induction: true,
        };
        vec![
            proof(Arbitration::RoundRobin, false),
            proof(Arbitration::RoundRobin, true),
            proof(Arbitration::FixedPriority, false),
        ]
    }
}
