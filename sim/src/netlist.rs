//! Yosys' netlists as text (RTLIL), as far as it takes to change what drives or reads a signal.
//!
//! A module is a list of wires, cells and connections. A signal is a list of bits, each a constant or a bit of a wire; the
//! text gives the highest bit first, here the lowest comes first.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One bit of a signal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bit {
    /// `0`, `1`, `x`, `z`, or another letter of Yosys.
    Constant(char),
    /// Bit of a wire, from the lowest.
    Wire(String, u32),
}

/// A signal, lowest bit first.
pub(crate) type Signal = Vec<Bit>;

#[derive(Clone, Debug)]
pub(crate) struct Netlist {
    /// What stands before the first module.
    head: Vec<String>,
    pub modules: Vec<Module>,
}

#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// Name with its backslash.
    pub name: String,
    /// Attributes and the line `module`.
    head: Vec<String>,
    /// Wires by name, each with its width.
    pub wires: BTreeMap<String, Wire>,
    /// Names of memories.
    pub memories: Vec<String>,
    pub cells: Vec<Cell>,
    /// What is driven, and by what.
    pub connections: Vec<(Signal, Signal)>,
    /// Lines that are kept as they are: wires, memories, parameters.
    lines: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub width: u32,
    pub input: bool,
    pub output: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// Type, with its backslash when it is a module.
    pub kind: String,
    pub name: String,
    /// Line and column in the source.
    pub place: (u32, u32),
    attributes: Vec<String>,
    pub parameters: Vec<String>,
    pub ports: Vec<(String, Signal)>,
}

impl Netlist {
    /// Reads what `write_rtlil` wrote after `proc`; `None` when it is not complete.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut netlist = Self { head: Vec::new(), modules: Vec::new() };
        let mut attributes = Vec::new();
        while let Some(line) = lines.next() {
            match line.split_once(' ') {
                Some(("attribute", _)) => attributes.push(line.to_owned()),
                Some(("module", name)) => {
                    let mut head = std::mem::take(&mut attributes);
                    head.push(line.to_owned());
                    netlist.modules.push(Module::parse(name, head, &mut lines)?);
                }
                _ => netlist.head.push(line.to_owned()),
            }
        }
        Some(netlist)
    }

    /// The text.
    pub fn print(&self) -> String {
        let mut out = self.head.join("\n") + "\n";
        self.modules.iter().for_each(|module| module.print(&mut out));
        out
    }

    /// The module called `name`, with its backslash.
    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|m| m.name == name)
    }
}

impl Module {
    fn parse<'a>(name: &str, head: Vec<String>, lines: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut module = Self {
            name: name.to_owned(),
            head,
            wires: BTreeMap::new(),
            memories: Vec::new(),
            cells: Vec::new(),
            connections: Vec::new(),
            lines: Vec::new(),
        };
        let mut attributes = Vec::new();
        loop {
            let line = lines.next()?;
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "end" => return Some(module),
                "attribute" => attributes.push(line.to_owned()),
                "connect" => {
                    let mut words = words(rest).into_iter().peekable();
                    let pair = (signal(&mut words, &module.wires)?, signal(&mut words, &module.wires)?);
                    module.connections.push(pair);
                }
                "cell" => {
                    let cell = Cell::parse(rest, std::mem::take(&mut attributes), &module.wires, lines)?;
                    module.cells.push(cell);
                }
                "process" => return None,
                _ => {
                    if word == "wire" {
                        let (name, wire) = wire(rest)?;
                        module.wires.insert(name, wire);
                    } else if word == "memory" {
                        module.memories.push(rest.rsplit(' ').next()?.to_owned());
                    }
                    module.lines.append(&mut attributes);
                    module.lines.push(line.to_owned());
                }
            }
        }
    }

    fn print(&self, out: &mut String) {
        for line in self.head.iter().chain(&self.lines) {
            let _ = writeln!(out, "{line}");
        }
        for cell in &self.cells {
            for line in &cell.attributes {
                let _ = writeln!(out, "{line}");
            }
            let _ = writeln!(out, "cell {} {}", cell.kind, cell.name);
            for line in &cell.parameters {
                let _ = writeln!(out, "{line}");
            }
            for (port, signal) in &cell.ports {
                let _ = writeln!(out, "connect {port} {}", text_of(signal));
            }
            out.push_str("end\n");
        }
        for (to, from) in &self.connections {
            let _ = writeln!(out, "connect {} {}", text_of(to), text_of(from));
        }
        out.push_str("end\n");
    }

    /// Declares a wire and returns it whole.
    pub fn add_wire(&mut self, name: &str, wire: Wire) -> Signal {
        // Positions of ports are counted anew when Yosys reads the text: a high one comes last.
        let input = if wire.input { " input 1000000" } else { "" };
        self.lines.push(format!("wire width {}{input} {name}", wire.width));
        self.wires.insert(name.to_owned(), wire);
        self.whole(name)
    }

    /// Adds a cell with inputs `A`, `B`, `S` as far as given, of the width of the result `Y`.
    pub fn add_cell(&mut self, kind: &str, name: &str, ports: Vec<(&str, Signal)>) {
        let width = |port: &str| ports.iter().find(|(name, _)| *name == port).map(|(_, signal)| signal.len());
        let mut parameters = Vec::new();
        match kind {
            "$mux" => parameters.push(format!("parameter \\WIDTH {}", width("Y").unwrap_or(1))),
            _ => {
                for port in ["A", "B", "Y"] {
                    let Some(width) = width(port) else { continue };
                    parameters.push(format!("parameter \\{port}_WIDTH {width}"));
                    if port != "Y" {
                        parameters.push(format!("parameter \\{port}_SIGNED 0"));
                    }
                }
            }
        }
        let ports = ports.into_iter().map(|(port, signal)| (format!("\\{port}"), signal)).collect();
        let (kind, name) = (kind.to_owned(), name.to_owned());
        self.cells.push(Cell { kind, name, place: (0, 0), attributes: Vec::new(), parameters, ports });
    }

    /// All bits of a wire.
    pub fn whole(&self, name: &str) -> Signal {
        let width = self.wires.get(name).map_or(0, |wire| wire.width);
        (0..width).map(|bit| Bit::Wire(name.to_owned(), bit)).collect()
    }
}

impl Cell {
    fn parse<'a>(
        header: &str,
        attributes: Vec<String>,
        wires: &BTreeMap<String, Wire>,
        lines: &mut impl Iterator<Item = &'a str>,
    ) -> Option<Self> {
        let (kind, name) = header.split_once(' ')?;
        let place = attributes.iter().find_map(|line| place(line)).unwrap_or_default();
        let (kind, name) = (kind.to_owned(), name.to_owned());
        let mut cell = Self { kind, name, place, attributes, parameters: Vec::new(), ports: Vec::new() };
        loop {
            let line = lines.next()?;
            if line == "end" {
                return Some(cell);
            }
            match line.strip_prefix("connect ").map(words) {
                Some(words) => {
                    let mut words = words.into_iter().peekable();
                    let port = words.next()?.to_owned();
                    cell.ports.push((port, signal(&mut words, wires)?));
                }
                None => cell.parameters.push(line.to_owned()),
            }
        }
    }

    /// Whether `port` gives a value, as far as the kind of the cell tells; instances are asked for their module.
    pub fn drives(&self, port: &str, netlist: &Netlist) -> bool {
        match netlist.module(&self.kind) {
            Some(module) => module.wires.get(port).is_some_and(|wire| wire.output),
            None => matches!(port, "\\Y" | "\\Q" | "\\DATA" | "\\RD_DATA") && !(self.kind.starts_with("$memwr")),
        }
    }

    /// The signal at `port`.
    pub fn port(&self, port: &str) -> Option<&Signal> {
        self.ports.iter().find(|(name, _)| name == port).map(|(_, signal)| signal)
    }
}

/// `attribute \src "file.v:12.3-12.9"`
fn place(line: &str) -> Option<(u32, u32)> {
    let text = line.strip_prefix("attribute \\src \"")?;
    let (_, range) = text.split('|').next()?.trim_end_matches('"').rsplit_once(':')?;
    let (line, column) = range.split('-').next()?.split_once('.')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// `width 8 input 3 \name`
fn wire(text: &str) -> Option<(String, Wire)> {
    let mut words = text.split(' ');
    let mut wire = Wire { width: 1, input: false, output: false };
    loop {
        match words.next()? {
            "width" => wire.width = words.next()?.parse().ok()?,
            "input" => wire.input = words.next().is_some(),
            "output" => wire.output = words.next().is_some(),
            "inout" | "offset" => drop(words.next()?),
            name if name.starts_with(['\\', '$']) => return Some((name.to_owned(), wire)),
            _ => {}
        }
    }
}

/// Words of a signal: names, ranges, constants and braces.
fn words(text: &str) -> Vec<&str> {
    text.split(' ').filter(|word| !word.is_empty()).collect()
}

/// The next signal: `\a`, `\a [3]`, `\a [7:4]`, `4'1010`, `5`, `{ \a \b [0] }`.
fn signal<'a>(
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    wires: &BTreeMap<String, Wire>,
) -> Option<Signal> {
    let word = words.next()?;
    if word == "{" {
        let mut parts = Vec::new();
        while *words.peek()? != "}" {
            parts.push(signal(words, wires)?);
        }
        words.next();
        return Some(parts.into_iter().rev().flatten().collect());
    }
    if !word.starts_with(['\\', '$']) {
        return constant(word);
    }
    let width = wires.get(word)?.width;
    let range = words.next_if(|next| next.starts_with('['));
    let (high, low) = match range.map(|range| range.trim_matches(['[', ']'])) {
        None => (width.checked_sub(1)?, 0),
        Some(range) => match range.split_once(':') {
            Some((high, low)) => (high.parse().ok()?, low.parse().ok()?),
            None => (range.parse().ok()?, range.parse().ok()?),
        },
    };
    Some((low..=high).map(|bit| Bit::Wire(word.to_owned(), bit)).collect())
}

fn constant(word: &str) -> Option<Signal> {
    match word.split_once('\'') {
        Some((width, digits)) => {
            let mut bits: Signal = digits.chars().rev().map(Bit::Constant).collect();
            // An undefined highest digit stands for all above it.
            let fill = digits.chars().next().filter(|digit| !digit.is_ascii_digit()).unwrap_or('0');
            bits.resize(width.parse().ok()?, Bit::Constant(fill));
            Some(bits)
        }
        None => {
            let value: i64 = word.parse().ok()?;
            Some((0..32).map(|bit| Bit::Constant(if value >> bit & 1 == 1 { '1' } else { '0' })).collect())
        }
    }
}

/// The bits in runs of one wire or of constants.
fn text_of(signal: &Signal) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut at = signal.len();
    while at > 0 {
        let end = at;
        at -= 1;
        match &signal[at] {
            Bit::Constant(_) => {
                let is_constant = |bit: &Bit| matches!(bit, Bit::Constant(_));
                while at > 0 && is_constant(&signal[at - 1]) {
                    at -= 1;
                }
                let digit = |bit: &Bit| if let Bit::Constant(digit) = bit { *digit } else { 'x' };
                let digits: String = signal[at..end].iter().rev().map(digit).collect();
                parts.push(format!("{}'{digits}", end - at));
            }
            Bit::Wire(name, high) => {
                let mut low = *high;
                while at > 0 && low > 0 && signal[at - 1] == Bit::Wire(name.clone(), low - 1) {
                    at -= 1;
                    low -= 1;
                }
                parts.push(if low == *high { format!("{name} [{low}]") } else { format!("{name} [{high}:{low}]") });
            }
        }
    }
    match parts.as_slice() {
        [part] => part.clone(),
        _ => format!("{{ {} }}", parts.join(" ")),
    }
}
