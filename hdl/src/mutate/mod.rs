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
mod fault;
mod label;
mod named;
mod places;
mod rebuild;

pub use fault::{Fault, FaultPlace, Kind};
pub use named::{Change, NamedFault, NamedFaults};

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use crate::lang::ir::{Instance, ModuleIr};
use crate::lang::{Design, in_formal};

/// Modules that are rebuilt already, by name.
type Done<'a> = BTreeMap<&'a str, Arc<ModuleIr>>;

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
        let own = |module: &ModuleIr| by_module.get(module.name.as_str()).map_or(&[][..], |own| own);
        let new = |module: &ModuleIr, done: &Done<'_>| {
            Ok::<_, Infallible>(apply::module(module, own(module), done, (select, width)))
        };
        let Ok(design) = self.rebuilt(|module| !own(module).is_empty(), new);
        design
    }

    /// The design with `new` modules in place of the top, of modules that are `faulty`, and of those around them: the
    /// input that chooses a fault goes through all of these. Children come before parents.
    fn rebuilt<E>(
        &self,
        faulty: impl Fn(&ModuleIr) -> bool,
        mut new: impl FnMut(&ModuleIr, &Done<'_>) -> Result<ModuleIr, E>,
    ) -> Result<Design, E> {
        let mut done = Done::new();
        let mut modules = Vec::new();
        for module in &self.modules {
            let chosen =
                |i: &Instance| done.get(i.module.name.as_str()).is_some_and(|m| m.ports.len() > i.module.ports.len());
            let below = module.instances.iter().any(|i| !in_formal(module, i.scope) && chosen(i));
            let is_top = std::ptr::eq(Arc::as_ptr(module), self.top());
            let made = match faulty(module) || below || is_top {
                true => Arc::new(new(module, &done)?),
                false => Arc::clone(module),
            };
            done.insert(&module.name, Arc::clone(&made));
            modules.push(made);
        }
        Ok(Design { modules })
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
