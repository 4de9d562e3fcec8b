//! Orizuru put together.

use super::super::orizuru_tree::Side;
use super::structure::{Load, Request};
use super::{Orizuru, OrizuruPorts};
use crate::lang::{About, Block, Module, Timing, bit, index_width, mux, uint};

impl Block for Orizuru {
    type Ports = OrizuruPorts;
    const ABOUT: About = About {
        name: "orizuru",
        summary: "the k largest and k smallest of N values, in order",
        contract: "After n values have entered (with masked, the values up to last), max delivers the k_max_i\n\
            largest and min the k_min_i smallest values. Each comes with its index, best first, the lower index\n\
            first among equal values; last marks the final one. A value does not take part if it comes without\n\
            present (masked), or is a NaN with nan = never_selected. If fewer values take part than were asked for,\n\
            the stream ends early; with none it delivers nothing. done_o rises when both sides have delivered;\n\
            outlier_o then holds one bit per value. A vector enters after the one before is done. clear_i or reset\n\
            drops a vector at any time; the next one may enter at once.",
        reference: "KLLM, section IV-C and table I",
    };

    fn build(&self, m: &mut Module, io: &OrizuruPorts) {
        let fsm = m.fsm("state", &["Load", "Build", "Serve"]);
        let loading = m.wire("loading", fsm.is("Load"));
        let serving = m.wire("serving", fsm.is("Serve"));
        m.connect(io.load.ready, loading);
        let fire = m.wire("load_fire", io.load.valid & loading & !io.clear_i);
        let beat = m.reg_init("beat_q", uint(index_width(u64::from(self.beats()))), 0);
        let whole = beat.q.eq(self.beats() - 1);
        let last_beat = m.wire("last_beat", fire & io.load.last.map_or(whole, |last| whole | last));
        let first_beat = m.wire("first_beat", fire & beat.q.eq(0));
        let restart = m.wire("restart", last_beat | io.clear_i);
        beat.next_when(fire | io.clear_i, mux(restart, beat.q.ty().lit(0), beat.q.wrapping_add(1)));

        let (keys, present) = self.keys(m, io, beat.q);
        let clear = m.wire("clear", first_beat | io.clear_i);
        let load = Load { fire, clear, first: first_beat, last: last_beat, beat: beat.q, keys, present };
        let root = self.tree(m, io, &load);

        let taking_part = self.taking_part(m, &load);
        let sides = [(Side::Max, root.max, &io.max, io.k_max_i), (Side::Min, root.min, &io.min, io.k_min_i)];
        let idle = sides.map(|(side, winner, port, wanted)| {
            let request = Request { wanted, taking_part, serving, init_done: root.init_done };
            self.serve(m, side, &winner, port, &load, request)
        });
        let finished = m.wire("finished", idle[0] & idle[1]);
        for state in ["Build", "Serve"] {
            fsm.goto(state, io.clear_i, "Load");
        }
        fsm.goto("Load", last_beat, "Build");
        fsm.goto("Build", root.init_done, "Serve");
        fsm.goto("Serve", finished, "Load");
        let done = m.reg_init("done_q", bit(), 0);
        done.next((done.q | (serving & finished)) & !fire & !io.clear_i);
        m.connect(io.done_o, done.q);
        if let (Some(port), Some(now)) = (io.comparisons_o, root.compared) {
            let total = m.reg_init("comparisons_q", uint(32), 0);
            total.next(mux(first_beat, uint(32).lit(0), total.q.wrapping_add(now)));
            m.connect(port, total.q);
        }
        // A shadow of the whole vector is for proofs, and proofs are for small sizes.
        if self.n <= 64 {
            self.properties(m, io, &load);
        }
    }

    fn timing(&self) -> Timing {
        Timing::new()
            .beat(1)
            .phase("load", self.beats(), "beats of a vector of n values, one a cycle")
            .phase("init", self.init_cycles(), "from the last beat to the first pop")
            .phase("pop", self.pop_cycles(), "from one pop to the next of the same side")
    }
}
