//! Makes faults in a netlist, each behind its value of the hidden input.

use std::collections::BTreeSet;

use super::find::{self, Found, near, plain};
use super::{Fault, Kind};
use crate::netlist::{Bit, Netlist, Signal, Wire};
use crate::variants::select_width;
use crate::{Design, Error, Result, SELECT};

/// Makes all faults and leads the hidden input to them.
pub(super) fn all(netlist: &mut Netlist, design: &Design, faults: &[Fault]) -> Result<()> {
    let select = Wire { width: select_width(faults.len()), input: true, output: false };
    let refuse = |fault: &Fault, why: String| {
        let problem = format!("cannot make the fault \"{fault}\": {why}");
        Error::Design { top: design.top.clone(), problem }
    };
    if faults.is_empty() {
        return Err(Error::Unsupported("no fault to make".to_owned()));
    }
    let mut faulty = BTreeSet::new();
    for (index, fault) in faults.iter().enumerate() {
        let (module, found) = place(netlist, design, fault).map_err(|why| refuse(fault, why))?;
        if faulty.insert(module) {
            netlist.modules[module].add_wire(&select_name(), select);
        }
        let mut edit = Edit { netlist, module, number: index as u64 + 1, count: 0 };
        edit.make(fault, found).map_err(|why| refuse(fault, why))?;
    }
    lead(netlist, faulty, select);
    Ok(())
}

fn select_name() -> String {
    format!("\\{SELECT}")
}

/// The hidden input goes from the top to all modules with faults.
fn lead(netlist: &mut Netlist, mut reached: BTreeSet<usize>, select: Wire) {
    loop {
        let names: BTreeSet<String> = reached.iter().map(|&m| netlist.modules[m].name.clone()).collect();
        let parents: Vec<usize> = (0..netlist.modules.len())
            .filter(|m| !reached.contains(m))
            .filter(|&m| netlist.modules[m].cells.iter().any(|cell| names.contains(&cell.kind)))
            .collect();
        if parents.is_empty() {
            for module in &mut netlist.modules {
                let signal = module.whole(&select_name());
                for cell in module.cells.iter_mut().filter(|cell| names.contains(&cell.kind)) {
                    cell.ports.push((select_name(), signal.clone()));
                }
            }
            return;
        }
        for parent in parents {
            netlist.modules[parent].add_wire(&select_name(), select);
            reached.insert(parent);
        }
    }
}

/// The module and the bits of a fault's net.
fn place(netlist: &Netlist, design: &Design, fault: &Fault) -> Result<(usize, Found), String> {
    let top = format!("\\{}", design.top);
    let candidates = match &fault.module {
        Some(name) => find::modules(netlist, name)?,
        None => (0..netlist.modules.len()).collect(),
    };
    let mut found = Vec::new();
    for &module in &candidates {
        if let Some(net) = find::net(netlist, &netlist.modules[module], &fault.net)? {
            found.push((module, net));
        }
    }
    if fault.module.is_none()
        && let Some(at) = found.iter().position(|(module, _)| netlist.modules[*module].name == top)
    {
        return Ok(found.swap_remove(at));
    }
    let list = |modules: &mut dyn Iterator<Item = usize>| -> String {
        modules.map(|m| format!("`{}`", plain(&netlist.modules[m].name))).collect::<Vec<_>>().join(", ")
    };
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let names: Vec<String> =
                candidates.iter().flat_map(|&m| find::names(netlist, &netlist.modules[m])).collect();
            let modules = list(&mut candidates.iter().copied());
            let similar = near(&fault.net, names.iter().map(String::as_str));
            Err(format!("no net `{}` in {modules}; {similar}", fault.net))
        }
        _ => {
            let modules = list(&mut found.iter().map(|(m, _)| *m));
            Err(format!("several modules have a net `{}`: say which with `in_module`: {modules}", fault.net))
        }
    }
}

/// One fault being made.
pub(super) struct Edit<'a> {
    pub netlist: &'a mut Netlist,
    pub module: usize,
    /// Value of the hidden input.
    number: u64,
    /// Names given so far.
    count: usize,
}

impl Edit<'_> {
    fn make(&mut self, fault: &Fault, found: Found) -> Result<(), String> {
        match (&fault.kind, found) {
            (Kind::Stuck(_) | Kind::Invert, Found::Net(net)) => self.break_net(&net, &fault.kind),
            (Kind::Stuck(_) | Kind::Invert, Found::Ports(ports)) => {
                ports.into_iter().try_for_each(|(cell, port)| self.break_port(cell, &port, &fault.kind))
            }
            (Kind::Operator { from, to }, Found::Net(net)) => self.swap_operator(&net, from, to, fault.choice),
            (Kind::Operand { from, to }, Found::Net(net)) => self.swap_operand(&net, from, to, fault.choice),
            (Kind::Operator { .. } | Kind::Operand { .. }, Found::Ports(_)) => {
                Err("name a net of the module, not a port of an instance".to_owned())
            }
        }
    }

    /// A name that nothing else has.
    pub(super) fn name(&mut self, what: &str) -> String {
        self.count += 1;
        format!("$fault{}${what}${}", self.number, self.count)
    }

    pub(super) fn wire(&mut self, what: &str, width: usize) -> Signal {
        let name = self.name(what);
        let wire = Wire { width: width as u32, input: false, output: false };
        self.netlist.modules[self.module].add_wire(&name, wire)
    }

    fn cell(&mut self, kind: &str, ports: Vec<(&str, Signal)>) {
        let name = self.name("cell");
        self.netlist.modules[self.module].add_cell(kind, &name, ports);
    }

    /// Drives `result` with `wrong` when this fault is chosen, else with `right`.
    pub(super) fn choose(&mut self, right: Signal, wrong: Signal, result: Signal) {
        let chosen = self.wire("chosen", 1);
        let select = self.netlist.modules[self.module].whole(&select_name());
        let number = constant(self.number, select.len());
        self.cell("$eq", vec![("A", select), ("B", number), ("Y", chosen.clone())]);
        self.cell("$mux", vec![("A", right), ("B", wrong), ("S", chosen), ("Y", result)]);
    }

    /// What `right` becomes.
    fn wrong(&mut self, right: &Signal, kind: &Kind) -> Signal {
        match kind {
            Kind::Stuck(value) => constant(*value, right.len()),
            _ => {
                let inverted = self.wire("inverted", right.len());
                self.cell("$not", vec![("A", right.clone()), ("Y", inverted.clone())]);
                inverted
            }
        }
    }

    fn break_net(&mut self, net: &Signal, kind: &Kind) -> Result<(), String> {
        let mut wires: Vec<&String> = net.iter().filter_map(name_of).collect();
        wires.sort();
        wires.dedup();
        for name in wires {
            let bits: Signal = net.iter().filter(|bit| name_of(bit) == Some(name)).cloned().collect();
            check_fit(kind, bits.len())?;
            let whole = self.netlist.modules[self.module].whole(name);
            let input = self.netlist.modules[self.module].wires[name].input;
            let other = self.wire("other", whole.len());
            // Of an input the readers change, of all else the drivers, so that a port breaks outside too.
            self.rename(name, &other, input);
            let (from, to) = if input { (&whole, &other) } else { (&other, &whole) };
            let part = |signal: &Signal, broken: bool| -> Signal {
                signal
                    .iter()
                    .zip(&whole)
                    .filter(|(_, bit)| bits.contains(bit) == broken)
                    .map(|(s, _)| s.clone())
                    .collect()
            };
            let right = part(from, true);
            let wrong = self.wrong(&right, kind);
            self.choose(right, wrong, part(to, true));
            let (kept_to, kept_from) = (part(to, false), part(from, false));
            if !kept_to.is_empty() {
                self.netlist.modules[self.module].connections.push((kept_to, kept_from));
            }
        }
        Ok(())
    }

    /// Puts `other` where `name` is read, or where it is driven.
    fn rename(&mut self, name: &str, other: &Signal, readers: bool) {
        let netlist = self.netlist.clone();
        let module = &mut self.netlist.modules[self.module];
        let replace = |signal: &mut Signal| {
            for bit in signal {
                if let Bit::Wire(wire, at) = bit
                    && wire == name
                {
                    *bit = other[*at as usize].clone();
                }
            }
        };
        for cell in &mut module.cells {
            let drives: Vec<bool> = cell.ports.iter().map(|(port, _)| cell.drives(port, &netlist)).collect();
            let ports = cell.ports.iter_mut().zip(drives).filter(|(_, drives)| *drives != readers);
            ports.for_each(|((_, signal), _)| replace(signal));
        }
        module.connections.iter_mut().for_each(|(to, from)| replace(if readers { from } else { to }));
    }

    fn break_port(&mut self, cell: usize, port: &str, kind: &Kind) -> Result<(), String> {
        let drives = self.netlist.modules[self.module].cells[cell].drives(port, self.netlist);
        let signal = self.netlist.modules[self.module].cells[cell].port(port).cloned().unwrap_or_default();
        check_fit(kind, signal.len())?;
        let own = self.wire("port", signal.len());
        let (from, to) = if drives { (own.clone(), signal) } else { (signal, own.clone()) };
        let wrong = self.wrong(&from, kind);
        self.choose(from, wrong, to);
        let ports = &mut self.netlist.modules[self.module].cells[cell].ports;
        ports.iter_mut().filter(|(name, _)| name == port).for_each(|(_, signal)| *signal = own.clone());
        Ok(())
    }
}

fn check_fit(kind: &Kind, width: usize) -> Result<(), String> {
    match kind {
        Kind::Stuck(value) if width < 64 && value >> width != 0 => {
            Err(format!("{value} does not fit into {width} bits"))
        }
        _ => Ok(()),
    }
}

fn name_of(bit: &Bit) -> Option<&String> {
    match bit {
        Bit::Wire(name, _) => Some(name),
        Bit::Constant(_) => None,
    }
}

pub(super) fn constant(value: u64, width: usize) -> Signal {
    let bit = |at: usize| if at < 64 && value >> at & 1 == 1 { '1' } else { '0' };
    (0..width).map(|at| Bit::Constant(bit(at))).collect()
}
