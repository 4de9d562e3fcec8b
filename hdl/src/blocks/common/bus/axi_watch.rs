//! Watch on a port of the bus: is anything in flight, and does it move?

use crate::lang::{About, Block, In, Module, Out, Signal, Timing, bit, mux, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct AxiWatch {
        /// Bits that count the beats that are owed at once.
        beats_width: u32 = 9, in 1..=21, tag "n";
        /// Bits that count the write responses that are owed at once.
        responses_width: u32 = 6, in 1..=17, tag "m";
    }
}

ports! {
    /// Ports of [`AxiWatch`].
    pub struct AxiWatchPorts(p: &AxiWatch) {
        /// A read address is offered.
        ar_valid_i: In = bit(),
        /// It is taken.
        ar_ready_i: In = bit(),
        /// Its beats, less one.
        ar_len_i: In = uint(8),
        /// A beat of read data is offered, and is always taken.
        r_valid_i: In = bit(),
        /// A write address is offered.
        aw_valid_i: In = bit(),
        /// It is taken.
        aw_ready_i: In = bit(),
        /// A beat of write data is offered.
        w_valid_i: In = bit(),
        /// It is taken.
        w_ready_i: In = bit(),
        /// A write response is offered, and is always taken.
        b_valid_i: In = bit(),
        /// A manager of the port waits for an answer, even if the port has had all answers.
        awaited_i: In = bit(),
        /// In the cycle before, something was requested or offered and not done, or a manager waited for an answer.
        waiting_o: Out = bit(),
        /// Some channel moved in the cycle before.
        answered_o: Out = bit(),
        /// Nothing is offered and nothing is owed.
        idle_o: Out = bit(),
        /// A beat was read in the cycle before.
        read_o: Out = bit(),
        /// A beat was written in the cycle before.
        written_o: Out = bit(),
        /// In the cycle before, a beat of write data was offered and not taken.
        write_waits_o: Out = bit(),
    }
}

impl Block for AxiWatch {
    type Ports = AxiWatchPorts;
    const ABOUT: About = About {
        name: "axi_watch",
        summary: "tells whether a port of the bus owes anything, and whether it moves",
        contract: "waiting_o: in the cycle before, something was offered, owed or awaited. answered_o: in the cycle before, a\n\
            beat moved on some channel. idle_o: nothing is offered and nothing is owed. The lengths of the read addresses\n\
            say how many beats are owed, so a subordinate that forgets RLAST does no harm. An answer that goes to the\n\
            wrong manager, by its ID, leaves the right one waiting.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &AxiWatchPorts) {
        let asks = m.wire("asks", io.ar_valid_i & io.ar_ready_i);
        let owed_ty = uint(self.beats_width);
        let owed = m.reg_init("owed_q", owed_ty, 0);
        let beats = m.wire("beats", io.ar_len_i + 1);
        let more = mux(asks, fit(beats, owed_ty.width), 0);
        owed.next(owed.q.wrapping_add(more).wrapping_sub(io.r_valid_i.extend(owed_ty.width)));
        let promises = m.wire("promises", io.aw_valid_i & io.aw_ready_i);
        let ty = uint(self.responses_width);
        let responses = m.reg_init("responses_q", ty, 0);
        let up = promises.extend(ty.width);
        responses.next(responses.q.wrapping_add(up).wrapping_sub(io.b_valid_i.extend(ty.width)));

        let writes = m.wire("writes", io.w_valid_i & io.w_ready_i);
        let offers = m.wire("offers", io.ar_valid_i | io.aw_valid_i | io.w_valid_i);
        let busy = m.wire("busy", offers | owed.q.any() | responses.q.any());
        let moves = m.wire("moves", asks | promises | writes | io.r_valid_i | io.b_valid_i);
        let late = |m: &mut Module, name: &str, port: Signal, now: Signal| {
            let late = m.reg_init(name, bit(), 0);
            late.next(now);
            m.connect(port, late.q);
        };
        late(m, "waiting_q", io.waiting_o, busy | io.awaited_i);
        late(m, "answered_q", io.answered_o, moves);
        late(m, "read_q", io.read_o, io.r_valid_i);
        late(m, "written_q", io.written_o, writes);
        late(m, "write_waits_q", io.write_waits_o, io.w_valid_i & !io.w_ready_i);
        m.connect(io.idle_o, !busy);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

/// The low bits, or all with zeros above.
fn fit(value: Signal, width: u32) -> Signal {
    if value.width() > width { value.truncate(width) } else { value.extend(width) }
}
