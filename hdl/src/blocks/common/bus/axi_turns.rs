//! Which address comes next: the address channels of several managers onto one, in turn.

use super::axi::{AxiAddress, AxiAddresses, AxiSpec};
use super::axi_slice::slice;
use super::records::wrapping_next;
use crate::lang::{
    About, Block, Bundle, FieldValue, In, Module, Out, OutStream, Signal, Signals, Stream, Timing, Type, bit, cat,
    index_width, mux, or_all, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct AxiTurns {
        /// The bus as a manager sees it.
        axi: AxiSpec = AxiSpec::default();
        /// Managers.
        managers: u32 = 2, in 2..=16, tag "n";
    }
}

impl AxiTurns {
    /// Type of a manager's number.
    pub(super) fn number(&self) -> Type {
        uint(index_width(self.managers.into()))
    }

    fn port(&self) -> AxiSpec {
        AxiSpec { id_width: self.axi.id_width + self.number().width, ..self.axi.clone() }
    }
}

ports! {
    /// Ports of [`AxiTurns`].
    pub struct AxiTurnsPorts(p: &AxiTurns) {
        /// Addresses of the managers.
        from: AxiAddresses = (p.managers, p.axi.clone()),
        /// The same addresses, one after the other, with the manager's number above its ID.
        to: OutStream<AxiAddress> = p.port(),
        /// An address may go to the port.
        room_i: In = bit(),
        /// Number of the manager that has the turn.
        turn_o: Out = p.number(),
        /// An address goes to the port at the coming edge.
        load_o: Out = bit(),
    }
}

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
            m.formal(|m| super::properties::turns(m, self, io, (&from, start.q)));
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(2u64).beat(1u64)
    }
}

/// The address that the manager `turn` offers.
#[track_caller]
pub(super) fn chosen<B: Bundle>(m: &mut Module, part: &str, turn: Signal, from: &[Stream<B>]) -> B {
    let all: Vec<Vec<FieldValue<Signals>>> = from.iter().map(|s| s.data.clone().into_values()).collect();
    let values = B::FIELDS.iter().enumerate().map(|(at, field)| {
        let mut choices = all.iter().filter_map(|values| match &values[at] {
            FieldValue::One(signal) => Some(*signal),
            _ => None,
        });
        let values: Vec<Signal> = choices.by_ref().collect();
        FieldValue::One(m.lookup(&format!("{part}_{}", field.name), turn, &values))
    });
    let values = values.collect();
    B::from_values(values)
}
