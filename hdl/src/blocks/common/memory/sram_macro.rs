//! SRAM macros with the ports that OpenRAM gives them: instances of a foundry's memory, and models to simulate with.
//!
//! Where a real macro's behaviour is open, the model behaves worst: read data holds for one cycle only, and a word that
//! is read and written at once is unknown in the granules that are written. Logic around the macro must not rely on
//! either.

use super::port_names::{is_identifier, pairs};
use crate::lang::{
    Direction, ExternalInstance, ExternalModule, ExternalPort, Module, Parameters as _, Signal, Type, bit, parameters,
    uint,
};

/// Names of the ports of a macro, as OpenRAM has them: a write port 0 and a read port 1, or a port 0 for both.
const PORTS: [&str; 11] =
    ["clk0", "csb0", "web0", "wmask0", "addr0", "din0", "dout0", "clk1", "csb1", "addr1", "dout1"];

parameters! {
    /// Which macro, with `implementation = macro`.
    pub struct SramMacro {
        /// Module of the macro; empty for `sram_<ports>_<depth>x<width>`, with `_g<granule>` for partial writes.
        name: String = String::new(), note "a Verilog identifier";
        /// Ports that are called otherwise than OpenRAM calls them: `csb0=CENW addr0=AW`, by spaces or commas.
        port_map: String = String::new(), note "pairs of clk0, csb0, web0, wmask0, addr0, din0, dout0, clk1, csb1, addr1, dout1 and a name";
    }
    rules = |p, rules| {
        let identifier = p.name.is_empty() || is_identifier(&p.name);
        rules.demand(identifier, "name", &p.name, "a Verilog identifier, or nothing");
        let allowed = format!("pairs PORT=NAME, each port once, with PORT among {}", PORTS.join(", "));
        rules.demand(p.pairs().is_some(), "port_map", &p.port_map, allowed);
    };
}

impl SramMacro {
    /// The pairs of the port map; `None` when it is wrong.
    fn pairs(&self) -> Option<Vec<(&str, &str)>> {
        pairs(&self.port_map, &PORTS)
    }

    /// The macro's name for a port.
    fn port(&self, port: &str) -> String {
        let pairs = self.pairs().unwrap_or_default();
        pairs.iter().find(|(p, _)| *p == port).map_or(port, |(_, name)| name).to_owned()
    }
}

/// The words of a macro.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) depth: u32,
    pub(super) width: u32,
    pub(super) granule: u32,
    pub(super) address: Type,
}

impl Shape {
    fn granules(self) -> u32 {
        self.width / self.granule.max(1)
    }
}

/// A port of a macro while its description is made.
struct Pin<'a> {
    port: &'a str,
    direction: Direction,
    ty: Type,
}

/// One write port and one read port.
#[derive(Clone, Copy, Debug)]
pub(super) struct TwoPorts {
    /// Bits of granules that are written.
    pub(super) write: Signal,
    pub(super) write_address: Signal,
    pub(super) data: Signal,
    pub(super) read: Signal,
    pub(super) read_address: Signal,
}

/// Places a macro with a write port and a read port; returns its read data.
#[track_caller]
pub(super) fn two_ports(m: &mut Module, sram: &SramMacro, shape: Shape, ports: TwoPorts) -> Signal {
    use Direction::{Input, Output};
    let granules = shape.granules();
    let mut pins = vec![
        Pin { port: "csb0", direction: Input, ty: bit() },
        Pin { port: "addr0", direction: Input, ty: shape.address },
        Pin { port: "din0", direction: Input, ty: uint(shape.width) },
        Pin { port: "csb1", direction: Input, ty: bit() },
        Pin { port: "addr1", direction: Input, ty: shape.address },
        Pin { port: "dout1", direction: Output, ty: uint(shape.width) },
    ];
    if granules > 1 {
        pins.insert(1, Pin { port: "wmask0", direction: Input, ty: uint(granules) });
    }
    let p = |port: &str| sram.port(port);
    let unknown = |g: u32| {
        let condition = if granules > 1 { format!(" && {}[{g}]", p("wmask0")) } else { String::new() };
        let place = part(shape, g);
        let hit = format!("!{} && {} == {}{condition}", p("csb0"), p("addr0"), p("addr1"));
        format!("      if ({hit}) {}{place} <= {{{}{{1'bx}}}};\n", p("dout1"), shape.granule)
    };
    let model = format!(
        "  always @(posedge {}) if (!{}) begin\n{}  end\n  always @(posedge {}) begin\n    {} <= {{{}{{1'bx}}}};\n    if (!{}) begin\n\
         \x20     {} <= words[{}];\n{}    end\n  end\n",
        p("clk0"),
        p("csb0"),
        writes(sram, shape),
        p("clk1"),
        p("dout1"),
        shape.width,
        p("csb1"),
        p("dout1"),
        p("addr1"),
        (0..granules).map(unknown).collect::<String>(),
    );
    let u = place(m, sram, shape, ("1r1w", &["clk0", "clk1"], "dout1"), &pins, &model);
    let connect = |m: &mut Module, port: &str, value: Signal| m.connect(u.port(&sram.port(port)), value);
    connect(m, "csb0", !ports.write.any());
    if granules > 1 {
        connect(m, "wmask0", ports.write);
    }
    connect(m, "addr0", ports.write_address);
    connect(m, "din0", ports.data);
    connect(m, "csb1", !ports.read);
    connect(m, "addr1", ports.read_address);
    u.port(&p("dout1"))
}

/// One port for both.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnePort {
    /// Bits of granules that are written; none for a read.
    pub(super) write: Signal,
    pub(super) access: Signal,
    pub(super) address: Signal,
    pub(super) data: Signal,
}

/// Places a macro with one port for both; returns its read data.
#[track_caller]
pub(super) fn one_port(m: &mut Module, sram: &SramMacro, shape: Shape, ports: OnePort) -> Signal {
    use Direction::{Input, Output};
    let granules = shape.granules();
    let mut pins = vec![
        Pin { port: "csb0", direction: Input, ty: bit() },
        Pin { port: "web0", direction: Input, ty: bit() },
        Pin { port: "addr0", direction: Input, ty: shape.address },
        Pin { port: "din0", direction: Input, ty: uint(shape.width) },
        Pin { port: "dout0", direction: Output, ty: uint(shape.width) },
    ];
    if granules > 1 {
        pins.insert(2, Pin { port: "wmask0", direction: Input, ty: uint(granules) });
    }
    let p = |port: &str| sram.port(port);
    let model = format!(
        "  always @(posedge {}) begin\n    {} <= {{{}{{1'bx}}}};\n    if (!{} && {}) {} <= words[{}];\n    if (!{} && !{}) begin\n{}    end\n  end\n",
        p("clk0"),
        p("dout0"),
        shape.width,
        p("csb0"),
        p("web0"),
        p("dout0"),
        p("addr0"),
        p("csb0"),
        p("web0"),
        writes(sram, shape),
    );
    let u = place(m, sram, shape, ("1rw", &["clk0"], "dout0"), &pins, &model);
    let connect = |m: &mut Module, port: &str, value: Signal| m.connect(u.port(&sram.port(port)), value);
    connect(m, "csb0", !ports.access);
    connect(m, "web0", !ports.write.any());
    if granules > 1 {
        connect(m, "wmask0", ports.write);
    }
    connect(m, "addr0", ports.address);
    connect(m, "din0", ports.data);
    u.port(&p("dout0"))
}

/// The bits of a granule, as a part select; nothing when it is the whole word.
fn part(shape: Shape, g: u32) -> String {
    match (shape.granule == shape.width, shape.granule) {
        (true, _) => String::new(),
        (false, 1) => format!("[{g}]"),
        (false, bits) => format!("[{}:{}]", (g + 1) * bits - 1, g * bits),
    }
}

/// The writes of a model.
fn writes(sram: &SramMacro, shape: Shape) -> String {
    let (address, data) = (sram.port("addr0"), sram.port("din0"));
    let write = |g: u32| {
        let place = part(shape, g);
        let condition = match shape.granules() {
            1 => String::new(),
            _ => format!("if ({}[{g}]) ", sram.port("wmask0")),
        };
        format!("    {condition}words[{address}]{place} <= {data}{place};\n")
    };
    (0..shape.granules()).map(write).collect()
}

/// Places the macro, with its model.
#[track_caller]
fn place(
    m: &mut Module,
    sram: &SramMacro,
    shape: Shape,
    (kind, clocks, read): (&str, &[&str], &str),
    pins: &[Pin],
    model: &str,
) -> ExternalInstance {
    debug_assert!(sram.check().is_ok());
    let granule = if shape.granules() == 1 { String::new() } else { format!("_g{}", shape.granule) };
    let name = match &sram.name[..] {
        "" => format!("sram_{kind}_{}x{}{granule}", shape.depth, shape.width),
        name => name.to_owned(),
    };
    let range = |ty: Type| if ty.width == 1 { String::new() } else { format!("[{}:0] ", ty.width - 1) };
    let mut lines: Vec<String> = clocks.iter().map(|c| format!("  input  wire {}", sram.port(c))).collect();
    lines.extend(pins.iter().map(|pin| {
        let kind = if pin.port == read { "output reg " } else { "input  wire" };
        format!("  {kind} {}{}", range(pin.ty), sram.port(pin.port))
    }));
    let text = format!(
        "// {name}: simulation model of an SRAM macro; leave this file out where the macro is.\n(* blackbox *)\n\
         module {name} (\n{}\n);\n  reg {}words [0:{}];\n{model}endmodule\n",
        lines.join(",\n"),
        range(uint(shape.width)),
        shape.depth - 1
    );
    let ports = pins.iter().map(|p| ExternalPort { name: sram.port(p.port), direction: p.direction, ty: p.ty });
    m.external(
        "u_macro",
        &ExternalModule {
            name,
            ports: ports.collect(),
            clocks: clocks.iter().map(|c| sram.port(c)).collect(),
            reset: None,
            source: Some(text),
            registered_outputs: true,
        },
    )
}
