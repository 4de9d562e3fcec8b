//! Arbiter: several managers share one AXI4 port, burst by burst.

use super::axi::{Axi, AxiManager, AxiReadData, AxiSeveral, AxiSpec, AxiSubordinates, AxiWriteData, AxiWriteResponse};
use super::axi_slice::slice;
use super::axi_turns::{AxiTurns, chosen};
use super::properties::ArbiterState;
use super::records::{counter, pointer, ring};
use crate::lang::{
    About, Block, Bundle, CatalogBlock, Field, In, Module, Proof, Signal, Stream, Timing, Type, bit, bundle,
    index_width, or_all, parameters, ports, uint,
};

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

impl Block for AxiArbiter {
    type Ports = AxiArbiterPorts;
    const ABOUT: About = About {
        name: "axi_arbiter",
        summary: "several AXI4 managers share one port, burst by burst, in turn",
        contract: "Each address of a manager appears once on the port, unchanged and in order, with the manager's\n\
            number above its ID.\n\
            Responses go to the manager whose number they carry, with its ID. Reads and writes do not wait for each\n\
            other.\n\
            A manager that offers an address waits for at most managers - 1 addresses of others, on each of the two\n\
            address channels.\n\
            Write data follows in the order of the write addresses, and does not wait for mem_awready_i; a manager's\n\
            data waits until its address has its turn. A manager that keeps its data back, or does not take\n\
            responses, holds up the others.\n\
            Every output comes from registers: no path leads from an input to an output within a cycle.\n\
            While abort_i is high, write data goes on without strobes: data that managers handed over earlier is not\n\
            written.\n\
            A response whose number belongs to no manager is taken and dropped. Atomics and exclusives are not\n\
            passed.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022",
    };

    fn build(&self, m: &mut Module, io: &AxiArbiterPorts) {
        let ty = self.number();
        let (mgr, mem) = (&io.mgr, &io.mem);
        let turns = AxiTurns { axi: self.axi.clone(), managers: self.managers };
        let reads = m.instance("u_reads", turns.clone());
        reads.from.connect(m, &mgr.ar);
        m.connect_stream(&mem.read.ar, &reads.to);
        m.connect(reads.room_i, 1);

        let writes = m.instance("u_writes", turns);
        writes.from.connect(m, &mgr.aw);
        m.connect_stream(&mem.write.aw, &writes.to);
        let ends = m.net("ends", bit());
        let (turn, load) = (writes.turn_o, writes.load_o);
        let waiting = counter(m, "waiting_q", self.outstanding, load, ends);
        m.connect(writes.room_i, waiting.lt(self.outstanding));
        let tail = pointer(m, "tail_q", self.outstanding, load);
        let head = pointer(m, "head_q", self.outstanding, ends);
        let entry = Turn { manager: turn };
        let ([now], turns) = ring(m, "turn", (&ty.width, self.outstanding), (load, tail, &entry), [("now", head)]);
        let data = self.data(m, io, (now.manager, waiting.any()), ends);
        let (answers, read_data) = self.responses(m, mgr, mem);
        if self.managers <= 4 && self.outstanding <= 4 && self.outstanding.is_power_of_two() {
            let state = ArbiterState { load, turn, ends, waiting, tail, head, turns, data, answers, read_data };
            m.formal(|m| super::properties::arbiter(m, self, io, &state));
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(2u64).beat(1u64).phase("response", 1u64, "from a response on the port to its manager")
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
                m.connect(r.resp, data.resp);
                m.connect(r.last, data.last);
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
