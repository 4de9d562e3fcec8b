//! Small faults of an elaborated design: where it can be broken, and the broken design.
//!
//! A *place* is a value of a module: the result of an operation, one of its operands, what a register takes, what a port
//! of a memory or of an instance carries. A [`Fault`] is one bit of a place, in one turn of the loops around it, in all
//! instances of the module. [`Design::with_faults`] makes a design that has any number of faults. An added input
//! chooses one of them by its number; with 0 the design works as before. It is a design like any other: the printers
//! know nothing of faults.
//!
//! Literals and wiring (concatenations, slices, extensions) are no places, and neither are bits that they make constant.
//! A value that only one operation uses is one place, not two. Modules that have a twin, and modules inside them, have
//! no places: their Verilog and their C come from different descriptions.

mod apply;
mod bits;
mod label;
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::lang::ir::{Instance, ModuleIr, NetId, NodeId, ScopeId};
use crate::lang::{Design, in_formal};

/// The fault of a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It has the other value.
    Inverted,
    /// It is always 0.
    Stuck0,
    /// It is always 1.
    Stuck1,
    /// It has the other value while the next bit of the value, or the first one after the last, is 0.
    InvertedAt0,
    /// It has the other value while the next bit of the value, or the first one after the last, is 1.
    InvertedAt1,
    /// The operation is another one: `+` for `-`, `&` for `|`, `<` for `<=`, and the reverse. All bits take part.
    Exchanged,
}

impl Kind {
    /// Yosys' word for it, where it has one.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Inverted => "inv",
            Self::Stuck0 => "const0",
            Self::Stuck1 => "const1",
            Self::InvertedAt0 => "cnot0",
            Self::InvertedAt1 => "cnot1",
            Self::Exchanged => "exchanged",
        }
    }
}

/// The part of a module that a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Slot {
    /// The value of an expression, for all that use it.
    Node(NodeId),
    /// An operand of an expression, by its position.
    Operand(NodeId, u32),
    /// An expression of an item: its scope, its position there, the position among its expressions.
    Item(ScopeId, u32, u32),
    /// A net, for all that read it.
    Net(NetId),
}

/// A value that can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPlace {
    /// Module, as the Verilog has it.
    pub module: String,
    /// Names the place within the module: the net or memory that it is for, and its number there.
    pub key: String,
    /// Its role in the statement or operation: `result`, `operand 0`, `next`, `enable`, `address`, ..
    pub role: String,
    /// The net that the statement drives, or that is read.
    pub net: String,
    /// File and line of the statement.
    pub source: String,
    /// The operation, in short.
    pub text: String,
    /// Width of the value.
    pub width: u32,
    /// Bits that can be wrong.
    pub bits: Vec<u32>,
    /// Loops around it, outermost first: the loop variable, and its number of turns.
    pub(crate) loops: Vec<(u32, u32)>,
    /// Whether the operation has another one that can replace it.
    pub exchanged: bool,
    pub(crate) slot: Slot,
}

impl FaultPlace {
    /// Turns of the loops around it.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.loops.iter().map(|l| u64::from(l.1)).product()
    }

    /// The possible faults of one turn: bits, and their kinds.
    pub fn kinds(&self) -> impl Iterator<Item = (u32, Kind)> {
        let alone = [Kind::Inverted, Kind::Stuck0, Kind::Stuck1];
        let beside = [Kind::InvertedAt0, Kind::InvertedAt1].into_iter().filter(|_| self.width > 1);
        let kinds: Vec<Kind> = alone.into_iter().chain(beside).collect();
        let bits = self.bits.iter().flat_map(move |&bit| kinds.clone().into_iter().map(move |kind| (bit, kind)));
        bits.chain(self.exchanged.then_some((0, Kind::Exchanged)))
    }

    /// The values of the loop variables in a turn.
    pub(crate) fn at(&self, mut turn: u64) -> Vec<(u32, u32)> {
        let mut values: Vec<(u32, u32)> = Vec::new();
        for &(genvar, count) in self.loops.iter().rev() {
            values.push((genvar, (turn % u64::from(count)) as u32));
            turn /= u64::from(count);
        }
        values.reverse();
        values
    }
}

/// One wrong bit of a place, in one turn of the loops around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The value.
    pub place: Arc<FaultPlace>,
    /// Number of the turn.
    pub turn: u64,
    /// Its bit.
    pub bit: u32,
    /// What is wrong with it.
    pub kind: Kind,
}

impl Design {
    /// All places of the design, by module.
    #[must_use]
    pub fn fault_places(&self) -> Vec<FaultPlace> {
        let (mut found, left_out, placed) = (Vec::new(), self.without_faults(), self.placed());
        for module in &self.modules {
            if placed.contains(module.name.as_str()) && !left_out.contains(module.name.as_str()) {
                found.extend(places::of(module));
            }
        }
        found
    }

    /// The design with these faults. An added input of the name `select` chooses one of them by its number, from 1.
    #[must_use]
    pub fn with_faults(&self, select: &str, faults: &[Fault]) -> Design {
        let mut by_module: BTreeMap<&str, Vec<(usize, &Fault)>> = BTreeMap::new();
        for (number, fault) in faults.iter().enumerate() {
            by_module.entry(&fault.place.module).or_default().push((number + 1, fault));
        }
        let width = (usize::BITS - faults.len().leading_zeros()).max(1);
        let mut done: BTreeMap<&str, Arc<ModuleIr>> = BTreeMap::new();
        let mut modules = Vec::new();
        for module in &self.modules {
            let own = by_module.get(module.name.as_str()).map_or(&[][..], |own| own);
            let chosen =
                |i: &Instance| done.get(i.module.name.as_str()).is_some_and(|m| m.ports.len() > i.module.ports.len());
            let below = module.instances.iter().any(|i| !in_formal(module, i.scope) && chosen(i));
            let is_top = std::ptr::eq(Arc::as_ptr(module), self.top());
            let new = match own.is_empty() && !below && !is_top {
                true => Arc::clone(module),
                false => Arc::new(apply::module(module, own, &done, (select, width))),
            };
            done.insert(&module.name, Arc::clone(&new));
            modules.push(new);
        }
        Design { modules }
    }

    /// Its modules, children before parents; the last one is the top.
    #[must_use]
    pub fn module_names(&self) -> Vec<&str> {
        self.modules.iter().map(|m| m.name.as_str()).collect()
    }

    /// The design of one of its modules, with the modules inside it.
    #[must_use]
    pub fn part(&self, module: &str) -> Option<Design> {
        let top = self.modules.iter().find(|m| m.name == module)?;
        let mut inside = BTreeSet::new();
        below(top, &mut inside);
        let modules = self.modules.iter().filter(|m| inside.contains(m.name.as_str())).cloned().collect();
        Some(Design { modules })
    }

    /// Modules that place a module directly as part of the hardware.
    #[must_use]
    pub fn parents(&self, module: &str) -> Vec<&str> {
        let placed = self.placed();
        let holds = |m: &ModuleIr| m.instances.iter().any(|i| i.module.name == module && !in_formal(m, i.scope));
        let parents = self.modules.iter().filter(|m| placed.contains(m.name.as_str()) && holds(m));
        parents.map(|m| m.name.as_str()).collect()
    }

    /// Modules that are part of the hardware, not only of its proofs.
    fn placed(&self) -> BTreeSet<&str> {
        let mut placed = BTreeSet::new();
        below(self.top(), &mut placed);
        placed
    }

    /// Modules from outside and modules with a twin, with all modules inside both.
    fn without_faults(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        for module in &self.modules {
            if module.external.is_some() {
                names.insert(module.name.as_str());
            }
            if let Some(twin) = &module.twin {
                below(module, &mut names);
                below(twin, &mut names);
            }
        }
        names
    }
}

/// A module, and the modules inside it.
fn below<'a>(top: &'a ModuleIr, names: &mut BTreeSet<&'a str>) {
    let mut todo = vec![top];
    while let Some(module) = todo.pop() {
        if names.insert(&module.name) {
            todo.extend(module.instances.iter().filter(|i| !in_formal(module, i.scope)).map(|i| &*i.module));
        }
    }
}
