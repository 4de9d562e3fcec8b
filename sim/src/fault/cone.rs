//! What drives a net: cells, nearest first.

use std::collections::{BTreeMap, BTreeSet};

use crate::netlist::{Bit, Module, Netlist, Signal};

/// A place that reads signals on the way to a net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reader {
    Cell(usize),
    Connection(usize),
}

/// Walks from a net towards registers, inputs and instances, one layer of named nets after the other.
pub(super) struct Cone<'a> {
    module: &'a Module,
    drivers: BTreeMap<&'a Bit, (Reader, usize)>,
    frontier: BTreeSet<&'a Bit>,
    seen: BTreeSet<&'a Bit>,
    first: bool,
}

impl<'a> Cone<'a> {
    pub fn new(netlist: &'a Netlist, module: &'a Module, net: &'a Signal) -> Self {
        let mut drivers = BTreeMap::new();
        for (number, cell) in module.cells.iter().enumerate() {
            for (port, signal) in cell.ports.iter().filter(|(port, _)| cell.drives(port, netlist)) {
                let _ = port;
                drivers.extend(signal.iter().enumerate().map(|(at, bit)| (bit, (Reader::Cell(number), at))));
            }
        }
        for (number, (to, _)) in module.connections.iter().enumerate() {
            drivers.extend(to.iter().enumerate().map(|(at, bit)| (bit, (Reader::Connection(number), at))));
        }
        Self { module, drivers, frontier: net.iter().collect(), seen: BTreeSet::new(), first: true }
    }

    /// The readers of the next layer, in no particular order; `None` when there are no more.
    pub fn layer(&mut self, netlist: &Netlist) -> Option<BTreeSet<Reader>> {
        let mut work: Vec<&Bit> = std::mem::take(&mut self.frontier).into_iter().collect();
        if work.is_empty() {
            return None;
        }
        let mut readers = BTreeSet::new();
        while let Some(bit) = work.pop() {
            if !self.seen.insert(bit) {
                continue;
            }
            let Some(&(reader, at)) = self.drivers.get(bit) else { continue };
            let reads: Vec<&Bit> = match reader {
                Reader::Connection(number) => self.module.connections[number].1.get(at).into_iter().collect(),
                Reader::Cell(number) => {
                    let cell = &self.module.cells[number];
                    let register = cell.kind.contains("dff");
                    let instance = netlist.module(&cell.kind).is_some();
                    // The net itself may be a register, or a memory's output; others end the way.
                    if instance || register && !self.first {
                        continue;
                    }
                    let timing = |port: &str| register && matches!(port, "\\CLK" | "\\ARST" | "\\ALOAD");
                    let ports = cell.ports.iter().filter(|(port, _)| !cell.drives(port, netlist) && !timing(port));
                    ports.flat_map(|(_, signal)| signal).collect()
                }
            };
            readers.insert(reader);
            for bit in reads {
                match bit {
                    Bit::Constant(_) => {}
                    Bit::Wire(name, _) if name.starts_with('\\') => drop(self.frontier.insert(bit)),
                    Bit::Wire(..) => work.push(bit),
                }
            }
        }
        self.first = false;
        Some(readers)
    }
}
