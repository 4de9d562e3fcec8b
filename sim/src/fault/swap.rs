//! Faults in what drives a net: another operator, another operand.

use std::collections::BTreeSet;

use super::Choice;
use super::apply::{Edit, constant};
use super::cone::{Cone, Reader};
use super::find::{self, Found, near, plain};
use crate::netlist::Signal;

/// Operators with two operands and their cells; all have the same parameters.
const BINARY: [(&str, &str); 18] = [
    ("+", "$add"),
    ("-", "$sub"),
    ("*", "$mul"),
    ("&", "$and"),
    ("|", "$or"),
    ("^", "$xor"),
    ("&&", "$logic_and"),
    ("||", "$logic_or"),
    ("==", "$eq"),
    ("!=", "$ne"),
    ("<", "$lt"),
    ("<=", "$le"),
    (">", "$gt"),
    (">=", "$ge"),
    ("<<", "$shl"),
    (">>", "$shr"),
    ("<<<", "$sshl"),
    (">>>", "$sshr"),
];

/// Operators with one operand.
const UNARY: [(&str, &str); 7] = [
    ("~", "$not"),
    ("!", "$logic_not"),
    ("unary &", "$reduce_and"),
    ("unary |", "$reduce_or"),
    ("unary ^", "$reduce_xor"),
    ("unary -", "$neg"),
    ("unary +", "$pos"),
];

impl Edit<'_> {
    pub(super) fn swap_operator(&mut self, net: &Signal, from: &str, to: &str, choice: Choice) -> Result<(), String> {
        let table = [&BINARY[..], &UNARY[..]].into_iter().find(|table| table.iter().any(|(op, _)| *op == from));
        let Some(table) = table else { return Err(format!("no operator `{from}`; {}", operators(&[&BINARY, &UNARY]))) };
        let kind = |operator: &str| table.iter().find(|(op, _)| *op == operator).map(|(_, kind)| *kind);
        let (Some(kind_from), Some(kind_to)) = (kind(from), kind(to)) else {
            return Err(format!("`{to}` cannot stand for `{from}`; {}", operators(&[table])));
        };
        let module = &self.netlist.modules[self.module];
        let mut cone = Cone::new(self.netlist, module, net);
        let mut others = BTreeSet::new();
        let mut cells: Vec<usize> = Vec::new();
        while let (true, Some(layer)) = (cells.is_empty(), cone.layer(self.netlist)) {
            for reader in layer {
                let Reader::Cell(cell) = reader else { continue };
                match &module.cells[cell].kind {
                    kind if kind == kind_from => cells.push(cell),
                    kind => others.extend(BINARY.iter().chain(&UNARY).find(|(_, k)| k == kind).map(|(op, _)| *op)),
                }
            }
        }
        if cells.is_empty() {
            let others: Vec<String> = others.iter().map(|op| format!("`{op}`")).collect();
            return Err(format!("no `{from}` there; the operators are {}", others.join(", ")));
        }
        cells.sort_by_key(|&cell| module.cells[cell].place);
        for cell in choose(cells, choice, |cell| module.cells[*cell].place)? {
            let mut copy = self.netlist.modules[self.module].cells[cell].clone();
            let result = copy.port("\\Y").cloned().unwrap_or_default();
            let (right, wrong) = (self.wire("right", result.len()), self.wire("wrong", result.len()));
            copy.kind = kind_to.to_owned();
            copy.name = self.name("cell");
            let own = &mut self.netlist.modules[self.module].cells;
            for (cell, signal) in [(&mut copy, &wrong), (&mut own[cell], &right)] {
                cell.ports.iter_mut().filter(|(port, _)| port == "\\Y").for_each(|(_, y)| *y = signal.clone());
            }
            own.push(copy);
            self.choose(right, wrong, result);
        }
        Ok(())
    }

    pub(super) fn swap_operand(&mut self, net: &Signal, from: &str, to: &str, choice: Choice) -> Result<(), String> {
        let (right, wrong) = (self.operand(from)?, self.operand(to)?);
        if right.len() != wrong.len() {
            return Err(format!("`{from}` has {} bits, `{to}` has {}", right.len(), wrong.len()));
        }
        let module = &self.netlist.modules[self.module];
        let reads = |signal: &Signal| signal.iter().any(|bit| right.contains(bit));
        let mut cone = Cone::new(self.netlist, module, net);
        let mut readers: Vec<Reader> = Vec::new();
        while let (true, Some(layer)) = (readers.is_empty(), cone.layer(self.netlist)) {
            readers.extend(layer.into_iter().filter(|reader| match *reader {
                Reader::Connection(number) => reads(&module.connections[number].1),
                Reader::Cell(cell) => {
                    let cell = &module.cells[cell];
                    cell.ports.iter().any(|(port, signal)| !cell.drives(port, self.netlist) && reads(signal))
                }
            }));
        }
        if readers.is_empty() {
            return Err(format!("what drives it does not read `{from}`"));
        }
        let place = |reader: &Reader| match *reader {
            Reader::Cell(cell) => module.cells[cell].place,
            Reader::Connection(_) => (0, 0),
        };
        readers.sort_by_key(place);
        let chosen = choose(readers, choice, place)?;
        let netlist = self.netlist.clone();
        let other = self.wire("operand", right.len());
        self.choose(right.clone(), wrong, other.clone());
        let replace = |signal: &mut Signal| {
            for bit in signal {
                if let Some(at) = right.iter().position(|b| b == bit) {
                    *bit = other[at].clone();
                }
            }
        };
        let module = &mut self.netlist.modules[self.module];
        for reader in chosen {
            match reader {
                Reader::Connection(number) => replace(&mut module.connections[number].1),
                Reader::Cell(cell) => {
                    let cell = &mut module.cells[cell];
                    let inputs: Vec<bool> = cell.ports.iter().map(|(port, _)| !cell.drives(port, &netlist)).collect();
                    let ports = cell.ports.iter_mut().zip(inputs).filter(|(_, input)| *input);
                    ports.for_each(|((_, signal), _)| replace(signal));
                }
            }
        }
        Ok(())
    }

    /// A net of the module, or a constant.
    fn operand(&self, text: &str) -> Result<Signal, String> {
        let module = &self.netlist.modules[self.module];
        if let Some(found) = find::net(self.netlist, module, text)? {
            return match found {
                Found::Net(signal) => Ok(signal),
                Found::Ports(_) => Err(format!("`{text}` is a port of an instance: name a net")),
            };
        }
        if let Some((width, digits)) = text.split_once('\'') {
            let radix = match digits.chars().next() {
                Some('b') => 2,
                Some('h') => 16,
                _ => 10,
            };
            let value = u64::from_str_radix(digits.trim_start_matches(['b', 'h', 'd']), radix);
            if let (Ok(width @ 1..=64), Ok(value)) = (width.parse::<usize>(), value)
                && (width == 64 || value >> width == 0)
            {
                return Ok(constant(value, width));
            }
            return Err(format!("`{text}` is no constant like 4'd9 of at most 64 bits"));
        }
        let names = find::names(self.netlist, module);
        let similar = near(text, names.iter().map(String::as_str));
        Err(format!("no net `{text}` in `{}`; {similar}", plain(&module.name)))
    }
}

fn choose<T>(all: Vec<T>, choice: Choice, place: impl Fn(&T) -> (u32, u32)) -> Result<Vec<T>, String> {
    let count = all.len();
    let chosen: Vec<T> = match choice {
        Choice::Every => return Ok(all),
        Choice::Only if count == 1 => return Ok(all),
        Choice::Only => {
            let places: Vec<String> = all.iter().map(place).map(|(line, column)| format!("{line}:{column}")).collect();
            let where_ = places.join(", ");
            return Err(format!("it is there {count} times (line:column {where_}): choose with `nth` or `every`"));
        }
        Choice::Nth(number) => all.into_iter().skip(number).take(1).collect(),
    };
    if chosen.is_empty() { Err(format!("there are only {count} of them")) } else { Ok(chosen) }
}

fn operators(tables: &[&[(&str, &str)]]) -> String {
    let names: Vec<String> = tables.iter().flat_map(|table| table.iter()).map(|(op, _)| format!("`{op}`")).collect();
    format!("these can: {}", names.join(", "))
}
