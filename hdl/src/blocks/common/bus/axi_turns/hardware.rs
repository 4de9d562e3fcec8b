//! The queue of turns.

use super::super::axi::AxiAddress;
use super::super::axi_slice::slice;
use super::super::records::wrapping_next;
use super::{AxiTurns, AxiTurnsPorts, chosen};
use crate::lang::{About, Block, Bundle, Module, Signal, Stream, Timing, bit, cat, mux, or_all};

impl Block for AxiTurns {
    type Ports = AxiTurnsPorts;
    const ABOUT: About = About {
        name: "axi_turns",
        summary: "the address channels of several managers onto one, in turn",
        contract: "Round robin: a manager that offers an address waits for at most managers - 1 others. All outputs\n\
            of to and from come from registers.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &AxiTurnsPorts) {
        let ty = self.number();
        let from: Vec<Stream<AxiAddress>> =
            (0..self.managers).map(|k| slice(m, &format!("from_{k}"), &self.axi, &io.from.at(k))).collect();
        let to = &io.to;
        let first = |start: Option<Signal>| {
            let mut found = ty.lit(self.managers - 1);
            for k in (0..self.managers - 1).rev() {
                let offers = from[k as usize].valid;
                let offers = start.map_or(offers, |s: Signal| offers & s.le(k));
                found = mux(offers, ty.lit(k), found);
            }
            found
        };
        let start = m.reg_init("start_q", ty, 0);
        let behind: Vec<Signal> = (0..self.managers).map(|k| from[k as usize].valid & start.q.le(k)).collect();
        let behind = m.wire("behind", or_all(bit(), &behind));
        let turn = m.wire("turn", mux(behind, first(Some(start.q)), first(None)));
        let offers: Vec<Signal> = from.iter().map(|s| s.valid).collect();
        let valid = m.reg_init("valid_q", bit(), 0);
        let load = m.wire("load", or_all(bit(), &offers) & io.room_i & (!valid.q | to.ready));
        valid.next(load | (valid.q & !to.ready));
        start.next_when(load, wrapping_next(turn, self.managers - 1));
        for (k, stream) in from.iter().enumerate() {
            m.connect(stream.ready, load & turn.eq(k as u32));
        }
        let held = chosen(m, "next", turn, &from).hold(m, "out", load);
        let number = m.reg("number_q", ty);
        number.next_when(load, turn);
        let held = AxiAddress { id: cat(&[number.q, held.id]), ..held };
        m.connect(to.valid, valid.q);
        to.drive(m, "to", &held);
        m.connect(io.turn_o, turn);
        m.connect(io.load_o, load);
        if self.managers <= 4 {
            m.formal(|m| crate::blocks::common::bus::properties::turns(m, self, io, (&from, start.q)));
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2)
    }
}
