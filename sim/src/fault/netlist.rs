//! A netlist as Yosys' `write_json` prints it: the bits of a name, and their drivers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub(super) struct Netlist {
    pub modules: BTreeMap<String, Module>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Module {
    pub attributes: Attributes,
    ports: BTreeMap<String, Port>,
    pub cells: BTreeMap<String, Cell>,
    #[serde(default)]
    memories: BTreeMap<String, Value>,
    netnames: BTreeMap<String, Net>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Attributes {
    #[serde(default)]
    pub src: String,
}

#[derive(Debug, Deserialize)]
struct Port {
    direction: String,
}

#[derive(Debug, Deserialize)]
struct Net {
    hide_name: u8,
    bits: Vec<Bit>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Cell {
    #[serde(rename = "type")]
    pub kind: String,
    parameters: BTreeMap<String, Value>,
    port_directions: BTreeMap<String, String>,
    connections: BTreeMap<String, Vec<Bit>>,
}

/// A number that all names of a bit share, or a constant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(untagged)]
enum Bit {
    Net(u64),
    Constant(String),
}

impl Netlist {
    /// The module in which `net` is: the top before others, unless `wanted` says which.
    pub fn module_with(&self, top: &str, wanted: Option<&str>, net: &str) -> Result<&str, String> {
        let all = || self.modules.keys().map(String::as_str);
        let begins = |name: &str, with: &str| name.strip_prefix(with).is_some_and(|rest| rest.starts_with('_'));
        let candidates: Vec<&str> = match wanted {
            None => all().collect(),
            Some(wanted) if self.modules.contains_key(wanted) => all().filter(|name| *name == wanted).collect(),
            Some(wanted) => all().filter(|name| begins(name, wanted)).collect(),
        };
        if let (Some(wanted), true) = (wanted, candidates.is_empty()) {
            return Err(format!("no module `{wanted}`; {}", near(wanted, all())));
        }
        let has = |module: &&str| self.modules[*module].netnames.contains_key(net);
        let found: Vec<&str> = candidates.iter().copied().filter(has).collect();
        match found[..] {
            [one] => Ok(one),
            [] => {
                let names = candidates.iter().flat_map(|module| self.modules[*module].names());
                Err(format!("no net `{net}` in `{}`; {}", candidates.join("`, `"), near(net, names)))
            }
            _ => found
                .iter()
                .copied()
                .find(|name| wanted.is_none() && *name == top)
                .ok_or_else(|| format!("several modules have a net `{net}`: say which: `{}`", found.join("`, `"))),
        }
    }
}

impl Module {
    /// Names of the Verilog.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.netnames.iter().filter(|(_, net)| net.hide_name == 0).map(|(name, _)| name.as_str())
    }

    pub fn is_input(&self, net: &str) -> bool {
        self.ports.get(net).is_some_and(|port| port.direction == "input")
    }

    pub fn is_port(&self, net: &str) -> bool {
        self.ports.contains_key(net)
    }

    pub fn width(&self, net: &str) -> usize {
        self.netnames.get(net).map_or(1, |net| net.bits.len().max(1))
    }

    /// The cells that drive `target`, see [`super::Fault::into`], with the number of cells between. For a register they
    /// include its own cell.
    pub fn cone<'a>(&'a self, netlist: &Netlist, target: &str) -> Result<Vec<(usize, &'a str)>, String> {
        let mut drivers: BTreeMap<&Bit, &str> = BTreeMap::new();
        for (name, cell) in &self.cells {
            drivers.extend(cell.ports(false).flat_map(|(_, bits)| bits).map(|bit| (bit, name.as_str())));
        }
        let memory = |cell: &Cell| {
            let of = cell.parameters.get("MEMID").and_then(Value::as_str);
            cell.kind.starts_with("$memwr") && of.is_some_and(|of| of.trim_start_matches('\\') == target)
        };
        let mut layer: BTreeSet<&str> = match self.netnames.get(target) {
            Some(net) => net.bits.iter().filter_map(|bit| drivers.get(bit).copied()).collect(),
            None => self.cells.iter().filter(|(n, c)| *n == target || memory(c)).map(|(n, _)| n.as_str()).collect(),
        };
        if layer.is_empty() && !self.netnames.contains_key(target) {
            let cells = self.cells.keys().map(String::as_str).filter(|name| !name.starts_with('$'));
            let names = self.names().chain(cells).chain(self.memories.keys().map(String::as_str));
            return Err(format!("no net, memory or instance `{target}`; {}", near(target, names)));
        }
        let mut found = BTreeMap::new();
        for depth in 0.. {
            layer.retain(|cell| !found.contains_key(cell));
            if layer.is_empty() {
                break;
            }
            found.extend(layer.iter().map(|cell| (*cell, depth)));
            let inputs = layer.iter().flat_map(|cell| self.cells[*cell].ports(true)).filter(|(port, _)| *port != "CLK");
            let ends = |cell: &&str| {
                let kind = &self.cells[*cell].kind;
                kind.contains("dff") || kind.starts_with("$mem") || netlist.modules.contains_key(kind)
            };
            let above = inputs.flat_map(|(_, bits)| bits).filter_map(|bit| drivers.get(bit).copied());
            layer = above.filter(|cell| !ends(cell)).collect();
        }
        Ok(found.into_iter().map(|(cell, depth)| (depth, cell)).collect())
    }

    /// Commands that connect each register to the wire that Yosys makes for its next value, `$0\name[3:0]`. `proc_dff`
    /// connects it past that wire, and so past the names that the Verilog reads.
    pub fn next_values(&self) -> String {
        let mut names: BTreeMap<&[Bit], Vec<&str>> = BTreeMap::new();
        for name in self.names() {
            names.entry(&self.netnames[name].bits).or_default().push(name);
        }
        let mut commands = String::new();
        for (cell, it) in self.cells.iter().filter(|(_, cell)| cell.kind.contains("dff")) {
            let (Some(d), Some(q)) = (it.connections.get("D"), it.connections.get("Q")) else { continue };
            for name in names.get(q.as_slice()).into_iter().flatten() {
                let next = format!("$0\\{name}[{}:0]", q.len() - 1);
                if self.netnames.get(&next).is_some_and(|net| net.bits == *d) {
                    commands += &format!("connect -nomap -port {} D {next}\n", escaped(cell));
                }
            }
        }
        commands
    }

    /// Commands that make the inputs of `cells` read the wire `instead` in place of `net`.
    pub fn reconnect<'a>(&self, net: &str, instead: &str, cells: impl IntoIterator<Item = &'a str>) -> String {
        let bits = &self.netnames[net].bits;
        let mut names: BTreeMap<u64, String> = BTreeMap::new();
        for (name, other) in &self.netnames {
            for (at, bit) in other.bits.iter().enumerate() {
                if let Bit::Net(number) = bit {
                    names.entry(*number).or_insert_with(|| format!("{}[{at}]", escaped(name)));
                }
            }
        }
        let mut commands = String::new();
        for cell in cells {
            for (port, connected) in self.cells[cell].ports(true) {
                if !connected.iter().any(|bit| matches!(bit, Bit::Net(_)) && bits.contains(bit)) {
                    continue;
                }
                let source = |bit: &Bit| match (bits.iter().position(|b| b == bit), bit) {
                    (_, Bit::Constant(digit)) => format!("1'b{digit}"),
                    (Some(at), _) => format!("{instead}[{at}]"),
                    (None, Bit::Net(number)) => names.get(number).cloned().unwrap_or_default(),
                };
                let signal: Vec<String> = connected.iter().rev().map(source).collect();
                commands += &format!("connect -nomap -port {} {port} {}\n", escaped(cell), signal.join(","));
            }
        }
        commands
    }
}

impl Cell {
    /// Inputs, or outputs.
    fn ports(&self, inputs: bool) -> impl Iterator<Item = (&str, &Vec<Bit>)> {
        let wanted = if inputs { "input" } else { "output" };
        let is = move |port: &str| self.port_directions.get(port).is_some_and(|direction| direction == wanted);
        self.connections.iter().map(|(port, bits)| (port.as_str(), bits)).filter(move |(port, _)| is(port))
    }
}

/// Yosys' own names begin with a dollar, names of the Verilog with a backslash.
fn escaped(name: &str) -> String {
    if name.starts_with('$') { name.to_owned() } else { format!("\\{name}") }
}

/// Similar names, for an error.
fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let mut scored: Vec<(f64, &str)> = names.into_iter().map(|n| (strsim::jaro_winkler(wanted, n), n)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup();
    let list: Vec<String> = scored.iter().take(5).map(|(_, name)| format!("`{name}`")).collect();
    if list.is_empty() { "there are none".to_owned() } else { format!("similar ones are {}", list.join(", ")) }
}
