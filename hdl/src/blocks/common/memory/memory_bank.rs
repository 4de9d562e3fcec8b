//! One bank of a [`BankedMemory`](super::BankedMemory): it chooses which reader and which writer have it in this cycle.

use super::Ram;
use crate::blocks::common::stream::{Arbitration, StreamArbiter};
use crate::lang::{
    About, Array, Block, InArray, Module, Out, OutArray, Signal, Timing, bit, cat, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct MemoryBank {
        /// Readers.
        readers: u32 = 4, in 1..=64, tag "r";
        /// Writers.
        writers: u32 = 1, in 1..=64, tag "w";
        /// Which reader and which writer come first.
        arbitration: Arbitration = Arbitration::RoundRobin;
        /// The memory.
        ram: Ram = Ram::default();
    }
}

ports! {
    /// Ports of [`MemoryBank`].
    pub struct MemoryBankPorts(p: &MemoryBank) {
        /// Per reader: it wants a word.
        read_wants_i: InArray = bit().array(p.readers),
        /// Per reader: row of the word.
        read_row_i: InArray = p.ram.address().array(p.readers),
        /// Per reader: it reads at the coming edge; at most one reader does.
        read_taken_o: OutArray = bit().array(p.readers),
        /// The word that was read last.
        data_o: Out = uint(p.ram.width),
        /// Per writer: it has a word.
        write_wants_i: InArray = bit().array(p.writers),
        /// Per writer: row of the word.
        write_row_i: InArray = p.ram.address().array(p.writers),
        /// Per writer: bit per granule that is written.
        write_strobe_i: InArray = uint(p.ram.write_enables()).array(p.writers),
        /// Per writer: the word.
        write_data_i: InArray = uint(p.ram.width).array(p.writers),
        /// Per writer: it writes at the coming edge; at most one writer does.
        write_taken_o: OutArray = bit().array(p.writers),
    }
}

impl Block for MemoryBank {
    type Ports = MemoryBankPorts;
    const ABOUT: About = About {
        name: "memory_bank",
        summary: "one bank of a banked_memory",
        contract: "In each cycle one reader and one writer have the bank, if any want it. data_o one cycle after\n\
            read_taken_o = the word as it was before that edge.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &MemoryBankPorts) {
        let row = self.ram.address().width;
        let (width, enables) = (self.ram.width, self.ram.write_enables());
        let ram = m.instance("u_ram", self.ram.clone());
        let (read, address) = self.choose(m, "read", io.read_wants_i, io.read_row_i, io.read_taken_o);
        m.connect(ram.read_i, read);
        m.connect(ram.read_address_i, address);
        m.connect(io.data_o, ram.data_o);
        let requests = m.nets("write_request", uint(row + enables + width), self.writers);
        m.for_each("request", self.writers, |m, k| {
            let request = [io.write_row_i.at(k), io.write_strobe_i.at(k), io.write_data_i.at(k)];
            m.connect(requests.at(k), cat(&request));
        });
        let (write, request) = self.choose(m, "write", io.write_wants_i, requests, io.write_taken_o);
        m.connect(ram.write_i, request.slice(width..width + enables) & write.repeat(enables));
        m.connect(ram.write_address_i, request.slice(width + enables..width + enables + row));
        m.connect(ram.data_i, request.slice(0..width));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl MemoryBank {
    /// Whether anybody has the bank, and the winner's request. A turn is one cycle long: nobody keeps the bank.
    fn choose(&self, m: &mut Module, name: &str, wants: Array, requests: Array, taken: Array) -> (Signal, Signal) {
        let inputs = wants.count();
        if inputs == 1 {
            m.connect(taken.at(0), wants.at(0));
            return (wants.at(0), requests.at(0));
        }
        let width = requests.ty().element.width;
        let arbitration = self.arbitration;
        let u = m.instance(&format!("u_{name}_arbiter"), StreamArbiter { width, inputs, arbitration, packets: false });
        m.connect(u.clear_i, 0);
        m.connect_each(&format!("{name}_wants"), u.input_valid_i, wants);
        m.connect_each(&format!("{name}_requests"), u.input_data_i, requests);
        m.for_each(&format!("{name}_beats"), inputs, |m, k| m.connect(u.input_last_i.at(k), 1));
        m.connect_each(&format!("{name}_taken"), taken, u.input_ready_o);
        m.connect(u.output.ready, 1);
        m.unused(u.output.index);
        m.unused(u.output.last);
        (u.output.valid, u.output.data.data)
    }
}
