//! Arbiter: several managers share one AXI4 port, burst by burst.

use super::axi::{Axi, AxiManager, AxiReadData, AxiSeveral, AxiSpec, AxiSubordinates, AxiWriteData, AxiWriteResponse};
use super::axi_slice::slice;
use super::axi_turns::chosen;
use crate::lang::{
    Bundle, CatalogBlock, Field, In, Module, Proof, Signal, Stream, Type, bit, bundle, connect_all, index_width,
    or_all, parameters, ports, uint,
};

mod hardware;

parameters! {
    /// Elaboration parameters.
    pub struct AxiArbiter {
        /// The bus as a manager sees it; the port's IDs are wider by the number of the manager.
        axi: AxiSpec = AxiSpec::default();
        /// Managers.
        managers: u32 = 2, in 2..=16, tag "n";
        /// Write bursts whose address may be on the port before their data.
        outstanding: u32 = 8, in 1..=256, tag "o";
    }
}

impl AxiArbiter {
    /// Type of a manager's number.
    #[must_use]
    pub fn number(&self) -> Type {
        uint(index_width(self.managers.into()))
    }

    /// The bus of the port.
    #[must_use]
    pub fn port(&self) -> AxiSpec {
        AxiSpec { id_width: self.axi.id_width + self.number().width, ..self.axi.clone() }
    }
}

bundle! {
    /// A turn: the manager whose data comes next.
    struct Turn(width: u32) {
        /// The manager.
        manager: Field = uint(*width),
    }
}

ports! {
    /// Ports of [`AxiArbiter`].
    pub struct AxiArbiterPorts(p: &AxiArbiter) {
        /// Soft reset: beats of write data that are not yet offered to the port lose their strobes.
        abort_i: In = bit(),
        /// The managers, each signal a vector with manager k at its place k.
        mgr: AxiSubordinates = (p.managers, p.axi.clone()),
        /// The port they share; the upper bits of an ID are the manager's number.
        mem: AxiManager = p.port(),
    }
}

impl AxiArbiter {
    /// The beats of the manager `turn`, where one has a turn; `ends` is driven with the end of its burst. Returns the
    /// beats of all managers.
    fn data(
        &self,
        m: &mut Module,
        io: &AxiArbiterPorts,
        (turn, open): (Signal, Signal),
        ends: Signal,
    ) -> Vec<Stream<AxiWriteData>> {
        let from: Vec<Stream<AxiWriteData>> =
            (0..self.managers).map(|k| slice(m, &format!("w_{k}"), &self.axi, &io.mgr.w.at(k))).collect();
        let to = &io.mem.write.w;
        let valid = m.reg_init("w_valid_q", bit(), 0);
        let offers: Vec<Signal> = from.iter().map(|s| s.valid).collect();
        let offers = m.lookup("w_offers", turn, &offers);
        let load = m.wire("w_load", open & offers & (!valid.q | to.ready));
        valid.next(load | (valid.q & !to.ready));
        for (k, stream) in from.iter().enumerate() {
            m.connect(stream.ready, load & turn.eq(k as u32));
        }
        let chosen = chosen(m, "w", turn, &from);
        m.connect(ends, load & chosen.last);
        let strb = m.wire("w_strobes", chosen.strb & (!io.abort_i).repeat(self.axi.bytes()));
        let held = AxiWriteData { strb, ..chosen }.hold(m, "w_out", load);
        m.connect(to.valid, valid.q);
        to.drive(m, "w", &held);
        from
    }

    /// Returns the answers and the read data that go to the managers.
    fn responses(
        &self,
        m: &mut Module,
        mgr: &AxiSeveral,
        mem: &Axi,
    ) -> (Stream<AxiWriteResponse>, Stream<AxiReadData>) {
        let (low, all) = (self.axi.id_width, self.port().id_width);
        let answers = slice(m, "b", &self.port(), &mem.write.b);
        let to = answers.id.slice(low..all);
        let takes: Vec<Signal> = (0..self.managers)
            .map(|k| {
                let b = mgr.b.at(k);
                let mine = m.wire(&format!("b_to_{k}"), to.eq(k));
                m.connect(b.valid, answers.valid & mine);
                m.connect(b.id, answers.id.slice(0..low));
                m.connect(b.resp, answers.resp);
                mine & b.ready
            })
            .collect();
        m.connect(answers.ready, or_all(bit(), &takes) | self.nobody(to));
        let data = slice(m, "r", &self.port(), &mem.read.r);
        let to = data.id.slice(low..all);
        let takes: Vec<Signal> = (0..self.managers)
            .map(|k| {
                let r = mgr.r.at(k);
                let mine = m.wire(&format!("r_to_{k}"), to.eq(k));
                m.connect(r.valid, data.valid & mine);
                m.connect(r.id, data.id.slice(0..low));
                m.connect(r.data.data, data.data.data);
                connect_all!(m, r, data, [resp, last]);
                mine & r.ready
            })
            .collect();
        m.connect(data.ready, or_all(bit(), &takes) | self.nobody(to));
        (answers, data)
    }

    /// A number that no manager has.
    fn nobody(&self, number: Signal) -> Signal {
        if self.managers.is_power_of_two() { bit().lit(0) } else { number.ge(self.managers) }
    }
}

impl CatalogBlock for AxiArbiter {
    // With one level nothing is ever extended, and no level opens at its top.
    const SAMPLE: &'static [(&'static str, u32)] = &[("axi.address_width", 17)];

    fn configurations() -> Vec<Self> {
        let set = |data_width, address_width, id_width, managers, outstanding| Self {
            axi: AxiSpec { address_width, data_width, id_width },
            managers,
            outstanding,
        };
        vec![set(32, 32, 1, 2, 1), set(64, 40, 3, 3, 4), set(256, 64, 2, 5, 8)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let axi = AxiSpec { address_width: 13, data_width: 32, id_width: 1 };
        let block = Self { axi, managers: 2, outstanding: 2 };
        vec![Proof { block, depth: 6, cover_depth: 10, induction: true }]
    }
}
