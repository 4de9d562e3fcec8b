//! A memory with one port that reads or writes, for large scratchpads: it has half the area of a memory with two ports.

use super::sram_macro::{OnePort, Shape, SramMacro, one_port};
use super::{Ram, RamImplementation};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Timing, Type, bit, index_width, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct SinglePortRam {
        /// Words.
        depth: u32 = 256, in 2..=1_048_576, tag "d";
        /// Bits of a word.
        width: u32 = 32, in 1..=65_536, tag "w";
        /// Bits that are written together: 8 for byte enables, width for whole words.
        granule: u32 = 32, in 1..=65_536, note "a divisor of width", tag "g";
        /// An array in Verilog, a black box with a write and a read port, or an SRAM macro of one port (1RW).
        implementation: RamImplementation = RamImplementation::Inferred, tag "";
        /// The macro.
        sram: SramMacro = SramMacro::default();
    }
    rules = |p, rules| {
        let divides = p.width.is_multiple_of(p.granule);
        rules.demand(divides, "granule", p.granule, format!("a divisor of width = {}", p.width));
    };
}

ports! {
    /// Ports of [`SinglePortRam`].
    pub struct SinglePortRamPorts(p: &SinglePortRam) {
        /// Reads at the coming edge; ignored while something is written.
        read_i: In = bit(),
        /// Bit per granule: write it.
        write_i: In = uint(p.write_enables()),
        /// Address of the read or write.
        address_i: In = p.address(),
        /// Word to write.
        data_i: In = uint(p.width),
        /// The word read last; unknown before the first read.
        data_o: Out = uint(p.width),
    }
}

impl SinglePortRam {
    /// Type of an address.
    #[must_use]
    pub fn address(&self) -> Type {
        uint(index_width(u64::from(self.depth)))
    }

    /// Bits of `write_i`: one a granule.
    #[must_use]
    pub fn write_enables(&self) -> u32 {
        self.width / self.granule.max(1)
    }
}

impl Block for SinglePortRam {
    type Ports = SinglePortRamPorts;
    const ABOUT: About = About {
        name: "single_port_ram",
        summary: "memory with one port that reads or writes: inferred, a black box, or an SRAM macro",
        contract: "Each granule of the word at address_i whose bit of write_i is high takes its bits of data_i at\n\
            the edge.\n\
            data_o after an edge with read_i and no bit of write_i = the word at address_i; otherwise it\n\
            stays. Unknown until written.\n\
            No reset; out of range (where depth is no power of two) a write is lost and a read unknown.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &SinglePortRamPorts) {
        let read = m.wire("read", io.read_i & !io.write_i.any());
        if self.implementation == RamImplementation::Macro {
            let shape = Shape { depth: self.depth, width: self.width, granule: self.granule, address: self.address() };
            let access = m.wire("access", io.read_i | io.write_i.any());
            let ports = OnePort { write: io.write_i, access, address: io.address_i, data: io.data_i };
            let word = one_port(m, &self.sram, shape, ports);
            // The macro shows a word for one cycle.
            let fresh = m.reg_init("fresh_q", bit(), 0);
            fresh.next(read);
            let held = m.reg("held_q", uint(self.width));
            let out = m.wire("out", mux(fresh.q, word, held.q));
            held.next(out);
            m.connect(io.data_o, out);
            return;
        }
        let ram = Ram::parts(self.depth, self.width, self.granule, self.implementation);
        let ram = m.instance("u_ram", ram);
        m.connect(ram.write_i, io.write_i);
        m.connect(ram.write_address_i, io.address_i);
        m.connect(ram.data_i, io.data_i);
        m.connect(ram.read_i, read);
        m.connect(ram.read_address_i, io.address_i);
        m.connect(io.data_o, ram.data_o);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl CatalogBlock for SinglePortRam {
    fn configurations() -> Vec<Self> {
        use RamImplementation::{BlackBox, Inferred, Macro};
        let set = |depth, width, granule, implementation| {
            let sram = SramMacro::default();
            Self { depth, width, granule, implementation, sram }
        };
        let sram = SramMacro { name: "FOUNDRY_SP".into(), port_map: "clk0=CLK,csb0=CEN,web0=WEN".into() };
        vec![
            set(2, 1, 1, Inferred),
            set(5, 24, 8, Inferred),
            set(5, 24, 8, BlackBox),
            set(5, 24, 8, Macro),
            Self { sram, ..set(300, 70, 70, Macro) },
        ]
    }
}
