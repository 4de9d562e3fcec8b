//! A memory with one write port and one read port, as inferred RAM or as a black box for a macro.
//!
//! - The read is registered: the word comes one cycle after `read_i` and stays while `read_i` is low.
//! - A read and a write of the same address in one cycle return the **old** word (read first). A macro that behaves
//!   otherwise needs a bypass in its wrapper, unless the parent never does this.
//! - Contents and read data are unknown (X) until written, and a write to part of a word leaves the rest as it was. Out
//!   of range (where `depth` is no power of two) a write is lost and a read unknown.
//! - No reset.
//!
//! With `implementation = black_box` the module holds one instance of `ram_macro_<depth>x<width>` (with `_g<granule>` for
//! partial writes). Its Verilog is a simulation model marked `(* blackbox *)`: Verilator and Icarus run it, Yosys sees
//! ports only. For tape-out, leave its file out and compile a module of that name around the macro.

use crate::lang::{
    About, Block, CatalogBlock, Direction, ExternalModule, ExternalPort, In, Module, Out, Timing, Type, bit, choices,
    index_width, parameters, ports, uint,
};

choices! {
    /// Where the bits are.
    pub enum RamImplementation {
        /// An array in Verilog; synthesis chooses.
        Inferred,
        /// A module from elsewhere.
        BlackBox,
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
        Self { depth, width, granule: width, implementation }
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
            clock: Some("clk_i".into()),
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
        summary: "memory with one write and one read port, inferred or a black box",
        contract: "data_o after an edge with read_i = the word at read_address_i before it; otherwise data_o stays.\n\
            Each granule of the word at write_address_i whose bit of write_i is high becomes that of data_i at the edge.\n\
            Unknown until written.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &RamPorts) {
        if self.implementation == RamImplementation::BlackBox {
            let u = m.external("u_macro", &self.black_box());
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
        Timing::new().latency(1u32).beat(1u32)
    }
}

impl CatalogBlock for Ram {
    fn configurations() -> Vec<Self> {
        let set = |depth, width, granule, implementation| Self { depth, width, granule, implementation };
        use RamImplementation::{BlackBox, Inferred};
        vec![set(2, 1, 1, Inferred), set(5, 24, 8, Inferred), set(5, 24, 8, BlackBox), set(300, 70, 70, BlackBox)]
    }
}
