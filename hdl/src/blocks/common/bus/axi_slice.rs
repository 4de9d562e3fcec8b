//! A register of two places for one AXI channel, as a module of its own.
//!
//! [`StreamRegister`](crate::blocks::common::StreamRegister) does the same. It is not used here because proofs of the
//! bus would then assume of the bus's data what its formal section assumes.

use super::axi::either;
use crate::blocks::common::stream::Word;
use crate::lang::{About, Block, Bundle, InStream, Module, OutStream, Stream, Timing, bit, parameters, ports};

parameters! {
    /// Elaboration parameters.
    pub struct AxiSlice {
        /// Bits of a beat.
        width: u32 = 32, in 1..=65536, tag "w";
    }
}

ports! {
    /// Ports of [`AxiSlice`].
    pub struct AxiSlicePorts(p: &AxiSlice) {
        /// Beats that come.
        input: InStream<Word> = p.width,
        /// The same beats.
        output: OutStream<Word> = p.width,
    }
}

impl Block for AxiSlice {
    type Ports = AxiSlicePorts;
    const ABOUT: About = About {
        name: "axi_slice",
        summary: "register of two places for a channel, both ways cut",
        contract: "output is input, in order, one cycle later. valid, ready and the data of a beat come from\n\
            registers. A beat moves in every cycle. Reset drops all beats inside.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &AxiSlicePorts) {
        let full = m.reg_init("full_q", bit(), 0);
        let spare_full = m.reg_init("spare_full_q", bit(), 0);
        m.connect(io.input.ready, !spare_full.q);
        let load = m.wire("load", io.input.fire());
        let moves = m.wire("moves", !full.q | io.output.ready);
        full.next(!moves | load | spare_full.q);
        spare_full.next(!moves & (load | spare_full.q));
        let spare = io.input.hold(m, "spare", load);
        let next = either(spare_full.q, &spare, &io.input.data);
        let held = next.hold(m, "held", moves);
        m.connect(io.output.valid, full.q);
        io.output.drive(m, "output", &held);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

/// A channel through a register of two places; `name` is the instance's, without `u_`.
#[track_caller]
pub(super) fn slice<B: Bundle>(m: &mut Module, name: &str, spec: &B::Spec, from: &Stream<B>) -> Stream<B> {
    let u = m.instance(&format!("u_{name}"), AxiSlice { width: B::width(spec) });
    m.connect(u.input.valid, from.valid);
    m.connect(u.input.data.data, from.data.pack());
    m.connect(from.ready, u.input.ready);
    let data = B::unpack(m, name, spec, u.output.data.data);
    Stream::new(name, u.output.valid, u.output.ready, data)
}
