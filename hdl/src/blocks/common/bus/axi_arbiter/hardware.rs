//! The arbiter put together.

use super::super::axi_turns::AxiTurns;
use super::super::records::{Put, counter, pointer, ring};
use super::{AxiArbiter, AxiArbiterPorts, Turn};
use crate::blocks::common::bus::properties::ArbiterState;
use crate::lang::{About, Block, Module, Timing, bit};

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
        let ([now], turns) =
            ring(m, "turn", (&ty.width, self.outstanding), Put { put: load, at: tail, value: &entry }, [("now", head)]);
        let data = self.data(m, io, (now.manager, waiting.any()), ends);
        let (answers, read_data) = self.responses(m, mgr, mem);
        if self.managers <= 4 && self.outstanding <= 4 && self.outstanding.is_power_of_two() {
            let state = ArbiterState { load, turn, ends, waiting, tail, head, turns, data, answers, read_data };
            m.formal(|m| crate::blocks::common::bus::properties::arbiter(m, self, io, &state));
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2).phase("response", 1, "from a response on the port to its manager")
    }
}
