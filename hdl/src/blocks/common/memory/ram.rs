//! A memory with one write port and one read port, as inferred RAM or as a black box for a macro.
//!
//! - The read is registered: the word comes one cycle after `read_i` and stays while `read_i` is low.
//! - A read and a write of the same address in one cycle return the **old** word (read first). A macro that behaves
//!   otherwise needs a bypass in its wrapper, unless the parent never does this.
//! - Contents and read data are unknown (X) until written. A write to part of a word leaves the rest unchanged. Out of
//!   range (where `depth` is no power of two) a write is lost and a read unknown.
//! - No reset.
//!
//! With `implementation = black_box` the module holds one instance of `ram_macro_<depth>x<width>` (with `_g<granule>` for
//! partial writes). Its Verilog is a simulation model marked `(* blackbox *)`: Verilator and Icarus run it, Yosys sees
//! ports only. For tape-out, leave its file out and compile a module of that name around the macro.
//!
//! With `implementation = macro` it holds an SRAM macro with OpenRAM's ports (1R1W, or as `sram.port_map` says) and
//! logic that keeps this contract around it: see `sram_macro.rs`. Its registers are reset: a write of the cycle before
//! a reset may be lost. Granules that a write does not name must stay readable in the macro in the same cycle.

use super::sram_macro::{Shape, SramMacro, TwoPorts, two_ports};
use crate::lang::{
    About, Block, CatalogBlock, Direction, ExternalModule, ExternalPort, In, Module, Out, Timing, Type, bit, choices,
    index_width, mux, parameters, ports, uint,
};

choices! {
    /// Where the bits are.
    pub enum RamImplementation {
        /// An array in Verilog; synthesis chooses.
        Inferred,
        /// A module from elsewhere, with these ports.
        BlackBox,
        /// An SRAM macro with OpenRAM's ports, in a wrapper that keeps this contract.
        Macro,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct Ram {
        /// Words.
        depth: u32 = 256, in 2..=1_048_576, tag "d";
        /// Bits of a word.
        width: u32 = 32, in 1..=65_536, tag "w";
        /// Bits that are written together: 8 for byte enables, width for whole words.
        granule: u32 = 32, in 1..=65_536, note "a divisor of width", tag "g";
        /// An array in Verilog, or an instance of a macro with a simulation model.
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
    /// Ports of [`Ram`].
    pub struct RamPorts(p: &Ram) {
        /// Bit per granule: write it.
        write_i: In = uint(p.write_enables()),
        /// Address of the write.
        write_address_i: In = p.address(),
        /// Word to write.
        data_i: In = uint(p.width),
        /// Read.
        read_i: In = bit(),
        /// Address of the read.
        read_address_i: In = p.address(),
        /// The word read last.
        data_o: Out = uint(p.width),
    }
}

impl Ram {
    /// Whole words of a RAM.
    #[must_use]
    pub fn words(depth: u32, width: u32, implementation: RamImplementation) -> Self {
        Self::parts(depth, width, width, implementation)
    }

    /// A RAM of words that are written in granules.
    #[must_use]
    pub fn parts(depth: u32, width: u32, granule: u32, implementation: RamImplementation) -> Self {
        Self { depth, width, granule, implementation, sram: SramMacro::default() }
    }

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

    /// Writes reach the macro one cycle late, so that a read of the same cycle sees the old word; a read that meets the
    /// late write takes it from here. The word stays here while nothing is read.
    fn around_macro(&self, m: &mut Module, io: &RamPorts) {
        let enables = self.write_enables();
        let (write, address) = (m.reg_init("write_q", uint(enables), 0), m.reg("write_address_q", self.address()));
        let data = m.reg("write_data_q", uint(self.width));
        let writes = m.wire("writes", io.write_i.any());
        write.next(io.write_i);
        address.next_when(writes, io.write_address_i);
        data.next_when(writes, io.data_i);
        let shape = Shape { depth: self.depth, width: self.width, granule: self.granule, address: self.address() };
        let ports = TwoPorts {
            write: write.q,
            write_address: address.q,
            data: data.q,
            read: io.read_i,
            read_address: io.read_address_i,
        };
        let word = two_ports(m, &self.sram, shape, ports);
        let read = m.reg_init("read_q", bit(), 0);
        read.next(io.read_i);
        let meets = m.wire("meets", address.q.eq(io.read_address_i));
        let bypass = m.reg("bypass_q", uint(enables));
        bypass.next(write.q & meets.repeat(enables));
        let late = m.reg("bypass_data_q", uint(self.width));
        late.next(data.q);
        let held = m.reg("held_q", uint(self.width));
        let granules = uint(self.granule).array(enables);
        let (late, fresh) = (m.split("late", late.q, granules), m.split("fresh", word, granules));
        let (kept, now) = (m.split("kept", held.q, granules), m.nets("now", uint(self.granule), enables));
        m.for_each("granules", enables, |m, g| {
            let met = bypass.q.slice_at(g, 1).as_uint();
            m.connect(now.at(g), mux(read.q, mux(met, late.at(g), fresh.at(g)), kept.at(g)));
        });
        let out = m.wire("out", now.packed());
        held.next(out);
        m.connect(io.data_o, out);
    }

    fn size(&self) -> String {
        let granule = if self.granule == self.width { String::new() } else { format!("_g{}", self.granule) };
        format!("{}x{}{granule}", self.depth, self.width)
    }

    /// The macro, with a model for simulation.
    fn black_box(&self) -> ExternalModule {
        use Direction::{Input, Output};
        let name = format!("ram_macro_{}", self.size());
        let granules = self.write_enables();
        let range = |width: u32| if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) };
        let (word, address, enables) = (range(self.width), range(self.address().width), range(granules));
        let mut text = format!(
            "// {name}: simulation model of a memory macro; replace it by a module of this name around the real one.\n\
             (* blackbox *)\nmodule {name} (\n  input  wire clk_i,\n  input  wire {enables}write_i,\n\
             \x20 input  wire {address}write_address_i,\n  input  wire {word}data_i,\n  input  wire read_i,\n\
             \x20 input  wire {address}read_address_i,\n  output reg  {word}data_o\n);\n  reg {word}words [0:{}];\n",
            self.depth - 1
        );
        if granules == 1 {
            text += "  always @(posedge clk_i) if (write_i) words[write_address_i] <= data_i;\n";
        } else {
            text += "  always @(posedge clk_i) begin\n";
            for g in 0..granules {
                let (high, low) = ((g + 1) * self.granule - 1, g * self.granule);
                text +=
                    &format!("    if (write_i[{g}]) words[write_address_i][{high}:{low}] <= data_i[{high}:{low}];\n");
            }
            text += "  end\n";
        }
        text += "  always @(posedge clk_i) if (read_i) data_o <= words[read_address_i];\nendmodule\n";
        let port = |name: &str, direction, ty| ExternalPort { name: name.into(), direction, ty };
        ExternalModule {
            name,
            ports: vec![
                port("write_i", Input, uint(granules)),
                port("write_address_i", Input, self.address()),
                port("data_i", Input, uint(self.width)),
                port("read_i", Input, bit()),
                port("read_address_i", Input, self.address()),
                port("data_o", Output, uint(self.width)),
            ],
            clocks: vec!["clk_i".into()],
            reset: None,
            source: Some(text),
            registered_outputs: true,
        }
    }
}

impl Block for Ram {
    type Ports = RamPorts;
    const ABOUT: About = About {
        name: "ram",
        summary: "memory with one write and one read port: inferred, a black box, or an SRAM macro",
        contract: "data_o after an edge with read_i = the word at read_address_i before it; otherwise data_o stays.\n\
            Each granule of the word at write_address_i whose bit of write_i is high takes its bits of data_i at the\n\
            edge.\n\
            Unknown until written.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &RamPorts) {
        if self.implementation == RamImplementation::Macro {
            return self.around_macro(m, io);
        }
        if self.implementation == RamImplementation::BlackBox {
            let u = m.external("u_macro", &self.black_box());
            m.simulates_as(&Self { implementation: RamImplementation::Inferred, ..self.clone() });
            for (port, signal) in [
                ("write_i", io.write_i),
                ("write_address_i", io.write_address_i),
                ("data_i", io.data_i),
                ("read_i", io.read_i),
                ("read_address_i", io.read_address_i),
            ] {
                m.connect(u.port(port), signal);
            }
            m.connect(io.data_o, u.port("data_o"));
            return;
        }
        let words = m.memory("words", self.depth, self.width, self.granule);
        words.write(io.write_i, io.write_address_i, io.data_i);
        let data = words.read("data_q", io.read_i, io.read_address_i);
        m.connect(io.data_o, data);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl CatalogBlock for Ram {
    fn configurations() -> Vec<Self> {
        use RamImplementation::{BlackBox, Inferred, Macro};
        let named = SramMacro { name: "FOUNDRY_64X8".into(), port_map: "clk0=CKW, clk1=CKR csb0=CEWN dout1=Q".into() };
        vec![
            Self::parts(2, 1, 1, Inferred),
            Self::parts(5, 24, 8, Inferred),
            Self::parts(5, 24, 8, BlackBox),
            Self::words(300, 70, BlackBox),
            Self::parts(5, 24, 8, Macro),
            Self::parts(4, 2, 1, Macro),
            Self { sram: named, ..Self::words(64, 8, Macro) },
        ]
    }
}
