//! Register slice of a stream: cuts the paths of `valid` and data, of `ready`, or of both.

use super::properties::assert_queue;
use super::{Word, carry};
use crate::lang::{
    About, Block, Bundle, CatalogBlock, In, InStream, Module, OutStream, Proof, Stream, Timing, bit, choices, mux,
    parameters, ports, uint,
};

choices! {
    /// Which paths a register slice cuts.
    pub enum Cut {
        /// `valid` and data come from registers; `ready` passes through.
        Forward,
        /// `ready` comes from a register; `valid` and data pass through.
        Backward,
        /// Nothing passes through. It has two places, so that a beat still moves in every cycle.
        Both,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct StreamRegister {
        /// Bits of a beat.
        width: u32 = 32, in 1..=65536, tag "w";
        /// Which paths are cut.
        cut: Cut = Cut::Both, tag "";
    }
}

ports! {
    /// Ports of [`StreamRegister`].
    pub struct StreamRegisterPorts(p: &StreamRegister) {
        /// Drops all beats inside at the coming edge. Nothing is taken in this cycle; a beat that leaves in this cycle
        /// has left.
        clear_i: In = bit(),
        /// Beats that come.
        input: InStream<Word> = p.width,
        /// The same beats.
        output: OutStream<Word> = p.width,
    }
}

impl Block for StreamRegister {
    type Ports = StreamRegisterPorts;
    const ABOUT: About = About {
        name: "stream_register",
        summary: "register slice of a ready/valid stream",
        contract: "output is input, in order, one beat a cycle. With cut = forward or both a beat comes out at the\n\
            earliest one cycle after it came in, with backward in the same cycle.\n\
            forward: output_valid_o and data come from registers, input_ready_o depends on\n\
            output_ready_i. backward: input_ready_o comes from a register, output_valid_o and data depend on the\n\
            input. both: no path passes through, except from clear_i, which makes input_ready_o low.\n\
            Reset and clear_i leave it empty.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &StreamRegisterPorts) {
        let ty = uint(self.width);
        let (input, output) = (&io.input, &io.output);
        let data = m.reg("data_q", ty);
        let full = m.reg_init("full_q", bit(), 0);
        let empty = !io.clear_i;
        let inside = match self.cut {
            Cut::Forward => {
                m.connect(input.ready, (!full.q | output.ready) & empty);
                let load = m.wire("load", input.fire());
                full.next((load | (full.q & !output.ready)) & empty);
                data.next_when(load, input.data.data);
                m.connect(output.valid, full.q);
                m.connect(output.data.data, data.q);
                full.q
            }
            Cut::Backward => {
                m.connect(input.ready, !full.q & empty);
                let offered = m.wire("offered", input.fire());
                m.connect(output.valid, full.q | offered);
                m.connect(output.data.data, mux(full.q, data.q, input.data.data));
                let waits = m.wire("waits", (full.q | offered) & !output.ready);
                full.next(waits & empty);
                data.next_when(offered, input.data.data);
                full.q
            }
            Cut::Both => {
                let spare = m.reg("spare_q", ty);
                let spare_full = m.reg_init("spare_full_q", bit(), 0);
                m.connect(input.ready, !spare_full.q & empty);
                let load = m.wire("load", input.fire());
                let moves = m.wire("moves", !full.q | output.ready);
                full.next((!moves | load | spare_full.q) & empty);
                data.next_when(moves, mux(spare_full.q, spare.q, input.data.data));
                spare_full.next((!moves & (load | spare_full.q)) & empty);
                spare.next_when(load, input.data.data);
                m.connect(output.valid, full.q);
                m.connect(output.data.data, data.q);
                full.q.extend(2).wrapping_add(spare_full.q.extend(2))
            }
        };
        let width = self.width;
        if width >= 3 {
            m.formal(|m| {
                let inside = m.wire("formal_inside", inside);
                assert_queue(m, width, input, output, io.clear_i, inside);
            });
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(u64::from(self.cut != Cut::Backward))
    }
}

impl CatalogBlock for StreamRegister {
    fn configurations() -> Vec<Self> {
        let set = |width, cut| Self { width, cut };
        vec![set(1, Cut::Both), set(7, Cut::Forward), set(70, Cut::Backward)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |&cut: &Cut| Proof { block: Self { width: 3, cut }, depth: 8, cover_depth: 10, induction: true };
        Cut::ALL.iter().map(proof).collect()
    }
}

/// A register slice for a stream of any bundle; `name` is the instance's, without `u_`.
#[track_caller]
pub fn register<B: Bundle>(m: &mut Module, name: &str, cut: Cut, spec: &B::Spec, from: &Stream<B>) -> Stream<B> {
    let u = m.instance(&format!("u_{name}"), StreamRegister { width: B::width(spec), cut });
    m.connect(u.clear_i, 0);
    carry(m, name, spec, from, (&u.input, &u.output))
}
