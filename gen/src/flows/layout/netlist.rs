//! The netlist that is placed: cells and nets by number.
//!
//! It comes from the JSON of Yosys. Nets get names that every tool accepts: `n12`, or the port that the net belongs to.
//! So each bit of a port needs a net of its own, and a buffer goes where two share one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

/// A net: [`LOW`] and [`HIGH`] are the supplies.
pub type Net = usize;
/// The ground as a net.
pub const LOW: Net = 0;
/// The supply as a net.
pub const HIGH: Net = 1;

/// An instance of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Cell.
    pub cell: String,
    /// Pins with their nets.
    pub pins: Vec<(String, Net)>,
}

/// A bit of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bit {
    /// Port and number of the bit.
    pub port: (usize, usize),
    /// Name of the pin of the layout.
    pub name: String,
    /// Net.
    pub net: Net,
    /// Whether the port is an input.
    pub input: bool,
}

/// A cell with one input and one output, by its pins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Cell.
    pub cell: String,
    /// Pin of the input.
    pub input: String,
    /// Pin of the output.
    pub output: String,
}

/// A flat netlist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Netlist {
    /// Top module.
    pub top: String,
    /// Ports: name, number of bits, whether it is an input.
    pub ports: Vec<(String, usize, bool)>,
    /// The bits of all ports.
    pub bits: Vec<Bit>,
    /// Cells; number 3 is `c3` in every file.
    pub instances: Vec<Instance>,
    /// Number of nets, with the two supplies.
    pub nets: usize,
    /// Names that the source gives to nets: name, its first bit, its nets.
    pub known: Vec<(String, i64, Vec<Net>)>,
}

impl Netlist {
    /// Reads the output of `write_json` for a flattened design in cells of a library.
    ///
    /// # Errors
    /// No such module, or a port in both directions.
    pub fn read(json: &Value, top: &str) -> Result<Self, String> {
        let module = &json["modules"][top];
        let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
        if !module.is_object() {
            return Err(format!("no module {top}"));
        }
        let mut numbers = BTreeMap::<u64, Net>::new();
        let mut net = |value: &Value| match value.as_u64() {
            Some(number) => {
                let next = numbers.len() + 2;
                *numbers.entry(number).or_insert(next)
            }
            // Undefined bits are zeros, as the co-simulation takes them.
            None => {
                if value.as_str() == Some("1") {
                    HIGH
                } else {
                    LOW
                }
            }
        };
        let mut netlist = Self { top: top.to_owned(), ..Self::default() };
        let mut taken = BTreeSet::new();
        for (name, port) in object(&module["ports"]) {
            let input = match port["direction"].as_str() {
                Some("input") => true,
                Some("output") => false,
                _ => return Err(format!("the port {name} is neither an input nor an output")),
            };
            let bits = port["bits"].as_array().cloned().unwrap_or_default();
            for (number, bit) in bits.iter().enumerate() {
                let mut own = if bits.len() == 1 { name.clone() } else { format!("{name}_{number}") };
                while !taken.insert(own.clone()) {
                    own.push('_');
                }
                let port = (netlist.ports.len(), number);
                netlist.bits.push(Bit { port, name: own, net: net(bit), input });
            }
            netlist.ports.push((name, bits.len(), input));
        }
        for (_, cell) in object(&module["cells"]) {
            let pins = object(&cell["connections"]).into_iter();
            let pins = pins.filter_map(|(pin, bits)| Some((pin, net(bits.as_array()?.first()?)))).collect();
            let cell = cell["type"].as_str().unwrap_or_default().to_owned();
            netlist.instances.push(Instance { cell, pins });
        }
        for (name, about) in object(&module["netnames"]) {
            let bits: Vec<Net> = about["bits"].as_array().into_iter().flatten().map(&mut net).collect();
            if about["hide_name"].as_u64() == Some(0) && !netlist.ports.iter().any(|port| port.0 == name) {
                netlist.known.push((name, about["offset"].as_i64().unwrap_or(0), bits));
            }
        }
        netlist.nets = numbers.len() + 2;
        Ok(netlist)
    }

    /// A new net.
    pub fn add_net(&mut self) -> Net {
        self.nets += 1;
        self.nets - 1
    }

    /// A buffer from a net to a new net, which is the result.
    pub fn add_buffer(&mut self, buffer: &Buffer, from: Net) -> Net {
        let to = self.add_net();
        let pins = vec![(buffer.input.clone(), from), (buffer.output.clone(), to)];
        self.instances.push(Instance { cell: buffer.cell.clone(), pins });
        to
    }

    /// Gives each output a net of its own. The result is how many buffers that took.
    pub fn part_ports(&mut self, buffer: &Buffer) -> usize {
        let mut taken: BTreeSet<Net> = self.bits.iter().filter(|bit| bit.input).map(|bit| bit.net).collect();
        taken.extend([LOW, HIGH]);
        let before = self.instances.len();
        for number in 0..self.bits.len() {
            let Bit { net, input, .. } = self.bits[number];
            if !input && !taken.insert(net) {
                self.bits[number].net = self.add_buffer(buffer, net);
            }
        }
        self.instances.len() - before
    }

    /// Names of all nets; the supplies are called as the library calls them.
    #[must_use]
    pub fn names(&self, low: &str, high: &str) -> Vec<String> {
        let mut names: Vec<String> = (0..self.nets).map(|net| format!("n{net}")).collect();
        low.clone_into(&mut names[LOW]);
        high.clone_into(&mut names[HIGH]);
        let taken: BTreeSet<&str> = self.bits.iter().map(|bit| bit.name.as_str()).collect();
        for name in &mut names {
            while taken.contains(name.as_str()) {
                name.push('_');
            }
        }
        for bit in &self.bits {
            names[bit.net].clone_from(&bit.name);
        }
        names
    }

    /// Pins on each net: instance and number of its pin.
    #[must_use]
    pub fn pins(&self) -> Vec<Vec<(usize, usize)>> {
        let mut pins = vec![Vec::new(); self.nets];
        for (number, instance) in self.instances.iter().enumerate() {
            for (pin, (_, net)) in instance.pins.iter().enumerate() {
                pins[*net].push((number, pin));
            }
        }
        pins
    }

    /// As Verilog with the ports and names of the source, for a comparison with it.
    #[must_use]
    pub fn verilog(&self) -> String {
        let names: Vec<_> = self.ports.iter().map(|port| format!("\\{} ", port.0)).collect();
        let mut text = format!("module \\{} ({});\n", self.top, names.join(", "));
        for (name, width, input) in &self.ports {
            let way = if *input { "input" } else { "output" };
            let _ = writeln!(text, "  {way} [{}:0] \\{name} ;", width.max(&1) - 1);
        }
        for net in 2..self.nets {
            let _ = writeln!(text, "  wire n{net};");
        }
        let net = |net: Net| match net {
            LOW => "1'b0".to_owned(),
            HIGH => "1'b1".to_owned(),
            other => format!("n{other}"),
        };
        for bit in &self.bits {
            let port = format!("\\{} [{}]", self.ports[bit.port.0].0, bit.port.1);
            let _ = match bit.input {
                true => writeln!(text, "  assign n{} = {port};", bit.net),
                false => writeln!(text, "  assign {port} = {};", net(bit.net)),
            };
        }
        for (name, first, nets) in &self.known {
            let _ = writeln!(text, "  wire [{}:{first}] \\{name} ;", first + nets.len() as i64 - 1);
            for (number, bit) in nets.iter().enumerate() {
                let _ = writeln!(text, "  assign \\{name} [{}] = {};", first + number as i64, net(*bit));
            }
        }
        for (number, instance) in self.instances.iter().enumerate() {
            let pins: Vec<_> = instance.pins.iter().map(|(pin, to)| format!(".{pin}({})", net(*to))).collect();
            let _ = writeln!(text, "  {} c{number} ({});", instance.cell, pins.join(", "));
        }
        text + "endmodule\n"
    }

    /// As Verilog with the names of the layout: each bit of a port is a port.
    #[must_use]
    pub fn placed_verilog(&self) -> String {
        let names = self.names("1'b0", "1'b1");
        let ports: Vec<_> = self.bits.iter().map(|bit| bit.name.as_str()).collect();
        let mut text = format!("module {} ({});\n", self.top, ports.join(", "));
        for bit in &self.bits {
            let _ = writeln!(text, "  {} {};", if bit.input { "input" } else { "output" }, bit.name);
        }
        let own: BTreeSet<Net> = self.bits.iter().map(|bit| bit.net).collect();
        for net in (2..self.nets).filter(|net| !own.contains(net)) {
            let _ = writeln!(text, "  wire {};", names[net]);
        }
        for (number, instance) in self.instances.iter().enumerate() {
            let pins: Vec<_> = instance.pins.iter().map(|(pin, to)| format!(".{pin}({})", names[*to])).collect();
            let _ = writeln!(text, "  {} c{number} ({});", instance.cell, pins.join(", "));
        }
        text + "endmodule\n"
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn small() -> Netlist {
        let json = json!({ "modules": { "t": {
            "ports": { "a_i": { "direction": "input", "bits": [2, 3] }, "q_o": { "direction": "output", "bits": [4] },
                       "r_o": { "direction": "output", "bits": [4, "1"] } },
            "cells": { "x": { "type": "NAND", "connections": { "A": [2], "B": [3], "Y": [4] } } },
            "netnames": { "q_o": { "hide_name": 0, "bits": [4] }, "s": { "hide_name": 0, "bits": [4] } },
        } } });
        Netlist::read(&json, "t").unwrap()
    }

    fn buffer() -> Buffer {
        Buffer { cell: "BUF".into(), input: "A".into(), output: "Y".into() }
    }

    #[test]
    fn each_output_has_a_net_of_its_own() {
        let mut netlist = small();
        assert_eq!(netlist.part_ports(&buffer()), 2);
        let mut nets: Vec<_> = netlist.bits.iter().map(|bit| bit.net).collect();
        nets.sort_unstable();
        nets.dedup();
        assert_eq!(nets.len(), netlist.bits.len());
        let names = netlist.names("gnd", "vdd");
        assert_eq!((names[0].as_str(), names[1].as_str()), ("gnd", "vdd"));
        assert!(names.contains(&"r_o_1".to_owned()), "{names:?}");
    }

    #[test]
    fn verilog_keeps_ports_and_names() {
        let mut netlist = small();
        netlist.part_ports(&buffer());
        let text = netlist.verilog();
        assert!(text.contains("input [1:0] \\a_i ;") && text.contains("assign \\s [0] = n4;"), "{text}");
        let placed = netlist.placed_verilog();
        assert!(placed.contains("input a_i_1;") && placed.contains(".A(1'b1)"), "{placed}");
    }
}
