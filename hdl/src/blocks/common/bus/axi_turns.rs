//! Which address comes next: the address channels of several managers onto one, in turn.

use super::axi::{AxiAddress, AxiAddresses, AxiSpec};
use crate::lang::{
    Bundle, FieldValue, In, Module, Out, OutStream, Signal, Signals, Stream, Type, bit, index_width, parameters, ports,
    uint,
};

mod hardware;

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
