//! A design in cells of a library: read from the JSON of Yosys, written as Verilog for simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;
use sim::SourceFile;

use super::library::{Cell, Cells};

/// A net, as Yosys numbers them.
pub type Net = u64;

/// An instance of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Cell.
    pub cell: String,
    /// Net of each pin that is connected to one; constants are left out.
    pub pins: BTreeMap<String, Net>,
    /// Pins at constants.
    pub constants: BTreeMap<String, bool>,
}

/// A flat netlist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Netlist {
    /// Top module.
    pub top: String,
    /// Ports: name, whether it is an input, its bits from the lowest up.
    ports: Vec<(String, bool, Vec<Bit>)>,
    /// Cells.
    pub instances: Vec<Instance>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bit {
    Net(Net),
    Constant(bool),
}

impl Bit {
    /// Undefined bits are zeros, as Verilator takes them.
    fn read(value: &Value) -> Self {
        value.as_u64().map_or_else(|| Self::Constant(value.as_str() == Some("1")), Self::Net)
    }

    fn verilog(self) -> String {
        match self {
            Self::Net(net) => format!("n{net}"),
            Self::Constant(value) => format!("1'b{}", u8::from(value)),
        }
    }
}

impl Netlist {
    /// Reads the output of `write_json` for a flattened design.
    ///
    /// # Errors
    /// A cell without a model in the library.
    pub fn read(json: &Value, top: &str, cells: &Cells) -> Result<Self, String> {
        let module = &json["modules"][top];
        let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let bits = |value: &Value| value.as_array().into_iter().flatten().map(Bit::read).collect::<Vec<_>>();
        let mut netlist = Self { top: top.to_owned(), ..Self::default() };
        for (name, port) in object(&module["ports"]) {
            netlist.ports.push((name, port["direction"] == "input", bits(&port["bits"])));
        }
        for (_, cell) in object(&module["cells"]) {
            let kind = cell["type"].as_str().unwrap_or_default();
            if !cells.cells.contains_key(kind) {
                return Err(format!("cell `{kind}` is neither combinational nor a flip-flop with a function"));
            }
            let mut instance = Instance { cell: kind.to_owned(), pins: BTreeMap::new(), constants: BTreeMap::new() };
            for (pin, connected) in object(&cell["connections"]) {
                match bits(&connected).first() {
                    Some(Bit::Net(net)) => drop(instance.pins.insert(pin, *net)),
                    Some(Bit::Constant(value)) => drop(instance.constants.insert(pin, *value)),
                    None => {}
                }
            }
            netlist.instances.push(instance);
        }
        Ok(netlist)
    }

    /// All nets.
    #[must_use]
    pub fn nets(&self) -> BTreeSet<Net> {
        let ports = self.ports.iter().flat_map(|(_, _, bits)| bits).filter_map(|b| match b {
            Bit::Net(net) => Some(*net),
            Bit::Constant(_) => None,
        });
        ports.chain(self.instances.iter().flat_map(|i| i.pins.values().copied())).collect()
    }

    /// The nets of input ports.
    #[must_use]
    pub fn inputs(&self) -> BTreeSet<Net> {
        let bits = self.ports.iter().filter(|(_, input, _)| *input).flat_map(|(_, _, bits)| bits);
        bits.filter_map(|b| if let Bit::Net(net) = b { Some(*net) } else { None }).collect()
    }

    /// The nets at the clock pins of flip-flops.
    #[must_use]
    pub fn clocks(&self, cells: &Cells) -> BTreeSet<Net> {
        let clocks = |i: &Instance| -> Vec<Net> {
            let names = cells.cells[&i.cell].state.as_ref().map(|s| s.clock.names()).unwrap_or_default();
            names.into_iter().filter_map(|pin| i.pins.get(pin).copied()).collect()
        };
        self.instances.iter().flat_map(clocks).collect()
    }

    /// Verilog with the ports of the design, a wire `n<number>` for each net, and models of the cells that it uses.
    #[must_use]
    pub fn verilog(&self, cells: &Cells) -> Vec<SourceFile> {
        let mut text = format!("module {} (\n", self.top);
        let ports = self.ports.iter().map(|(name, input, bits)| {
            let direction = if *input { "input " } else { "output" };
            format!("  {direction} wire [{}:0] {name}", bits.len() - 1)
        });
        text += &(ports.collect::<Vec<_>>().join(",\n") + "\n);\n");
        for net in self.nets() {
            let _ = writeln!(text, "  wire n{net};");
        }
        for (name, input, bits) in &self.ports {
            for (position, bit) in bits.iter().enumerate() {
                let _ = if *input {
                    writeln!(text, "  assign {} = {name}[{position}];", bit.verilog())
                } else {
                    writeln!(text, "  assign {name}[{position}] = {};", bit.verilog())
                };
            }
        }
        let used: BTreeSet<&str> = self.instances.iter().map(|i| i.cell.as_str()).collect();
        let number: BTreeMap<&str, usize> = used.iter().enumerate().map(|(n, cell)| (*cell, n)).collect();
        for (position, instance) in self.instances.iter().enumerate() {
            let nets = instance.pins.iter().map(|(pin, net)| (pin, Bit::Net(*net)));
            let constants = instance.constants.iter().map(|(pin, value)| (pin, Bit::Constant(*value)));
            let pins: Vec<_> = nets.chain(constants).map(|(pin, bit)| format!(".{pin}({})", bit.verilog())).collect();
            let _ = writeln!(text, "  cell_{} u{position} ({});", number[instance.cell.as_str()], pins.join(", "));
        }
        text += "endmodule\n";
        // The nets of the design are enough in a waveform.
        text += "/* verilator tracing_off */\n";
        for (cell, number) in &number {
            text += &model(&cells.cells[*cell], &format!("cell_{number}"));
        }
        vec![SourceFile { name: format!("{}.v", self.top), text }]
    }
}

/// A cell as a module: functions of pins, and the state.
fn model(cell: &Cell, name: &str) -> String {
    let inputs = cell.inputs.keys().map(|pin| format!("input wire {pin}"));
    let outputs = cell.outputs.keys().map(|pin| format!("output wire {pin}"));
    let mut text = format!("module {name} ({});\n", inputs.chain(outputs).collect::<Vec<_>>().join(", "));
    let pin = |name: &str| match cell.state.as_ref().map(|s| &s.names) {
        Some([state, _]) if state == name => "state".to_owned(),
        Some([_, complement]) if complement == name => "(~state)".to_owned(),
        _ => name.to_owned(),
    };
    if let Some(state) = &cell.state {
        let wire = |name: &str, function: &crate::flows::liberty::Function| {
            format!("  wire {name} = {};\n", function.verilog(&pin))
        };
        text += &format!("  reg state;\n{}", wire("clock", &state.clock));
        let mut events = String::new();
        let mut choice = String::new();
        for (name, function, value) in [("clear", &state.clear, 0), ("preset", &state.preset, 1)] {
            if let Some(function) = function {
                text += &wire(name, function);
                events += &format!(" or posedge {name}");
                choice += &format!("if ({name}) state <= 1'b{value}; else ");
            }
        }
        let next = state.next.verilog(&pin);
        text += &format!("  always @(posedge clock{events}) {choice}state <= {next};\n");
    }
    for (name, output) in &cell.outputs {
        text += &format!("  assign {name} = {};\n", output.function.verilog(&pin));
    }
    text + "endmodule\n"
}
