//! Faults by the names of the emitted Verilog, all in one design with an added input that chooses one.
//!
//! - [`syntax`] reads names and expressions, [`value`] makes nodes of expressions.
//! - [`names`] knows what a name of the Verilog stands for.
//! - [`cone`] follows the logic that drives something, [`resolve`] finds out what a fault changes.
//! - [`apply`], [`edit`] and [`place`] make the module with its faults.

mod apply;
mod cone;
mod edit;
mod edited;
mod fault;
mod names;
mod place;
mod resolve;
mod syntax;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use cone::Logic;
use names::{Names, Thing};
use resolve::{Resolved, resolve};

use crate::lang::ir::ModuleIr;
use crate::lang::{Design, within_cycle};
use edited::Refused;
pub use fault::{Change, NamedFault};

/// A design with faults by name.
#[derive(Clone, Debug)]
pub struct NamedFaults {
    /// The design. The added input chooses a fault by its position in the list, from 1.
    pub design: Design,
    /// Faults that it does not have, by their position in the list from 0, each with the reason: a name does not exist
    /// or is ambiguous, an expression is not one of the construction language, or a value would depend on itself.
    pub refused: BTreeMap<usize, String>,
}

/// A module that may have faults.
struct Subject<'a> {
    ir: &'a ModuleIr,
    names: Names,
    logic: Logic<'a>,
}

impl Design {
    /// The design with these faults, as far as it can have them. An added input of the name `select` chooses one of
    /// them by its position, from 1; with 0 the design works as before.
    #[must_use]
    pub fn with_named_faults(&self, select: &str, faults: &[NamedFault]) -> NamedFaults {
        let mut refused = BTreeMap::new();
        let all: BTreeMap<&str, Names> =
            self.candidates().into_iter().map(|module| (module.name.as_str(), Names::new(module))).collect();
        let mut places: Vec<Option<&str>> = Vec::new();
        for (position, fault) in faults.iter().enumerate() {
            places.push(match self.module_with(&all, fault) {
                Ok(module) => Some(module),
                Err(why) => {
                    refused.insert(position, why);
                    None
                }
            });
        }
        let wanted: BTreeSet<&str> = places.iter().copied().flatten().collect();
        let mut subjects: BTreeMap<&str, Subject<'_>> = BTreeMap::new();
        for (name, names) in all.into_iter().filter(|(name, _)| wanted.contains(name)) {
            let Some(ir) = self.modules.iter().find(|m| m.name == name) else { continue };
            if let Some(logic) = Logic::new(ir, names.homes.clone()) {
                subjects.insert(name, Subject { ir, names, logic });
            }
        }
        let mut resolved: BTreeMap<&str, Vec<Resolved>> = BTreeMap::new();
        for (position, (fault, place)) in faults.iter().zip(places).enumerate() {
            let Some(place) = place else { continue };
            let Some(subject) = subjects.get(place) else {
                refused.insert(position, format!("`{place}` is too large"));
                continue;
            };
            match resolve(subject.ir, &subject.names, &subject.logic, position + 1, fault) {
                Ok(fault) => resolved.entry(place).or_default().push(fault),
                Err(why) => {
                    refused.insert(position, why);
                }
            }
        }
        let width = (usize::BITS - faults.len().leading_zeros()).max(1);
        let build = |resolved: &BTreeMap<&str, Vec<Resolved>>| self.build(&subjects, resolved, (select, width));
        let design = loop {
            match build(&resolved) {
                Ok(design) => break design,
                Err((Some(number), why)) => {
                    refused.insert(number - 1, why);
                    resolved.values_mut().for_each(|own| own.retain(|fault| fault.number != number));
                }
                Err((None, _)) => {
                    // Values depend on each other in a circle: the faults one by one, as long as there is none.
                    let mut fit: BTreeMap<&str, Vec<Resolved>> = BTreeMap::new();
                    for (module, fault) in
                        resolved.into_iter().flat_map(|(m, own)| own.into_iter().map(move |f| (m, f)))
                    {
                        let number = fault.number;
                        fit.entry(module).or_default().push(fault);
                        if let Err((_, why)) = build(&fit) {
                            refused.insert(number - 1, why);
                            fit.values_mut().for_each(|own| own.retain(|fault| fault.number != number));
                        }
                    }
                    resolved = fit;
                }
            }
        };
        NamedFaults { design, refused }
    }

    /// Modules of the hardware that are the same in Verilog and in C.
    fn candidates(&self) -> Vec<&ModuleIr> {
        let (left_out, placed) = (self.without_faults(), self.placed());
        let fits = |m: &&ModuleIr| placed.contains(m.name.as_str()) && !left_out.contains(m.name.as_str());
        self.modules.iter().map(|m| &**m).filter(fits).collect()
    }

    /// The module in which a fault is: the top before others, unless the fault says which.
    fn module_with<'a>(&'a self, all: &BTreeMap<&'a str, Names>, fault: &NamedFault) -> Result<&'a str, String> {
        let begins = |name: &str, with: &str| name.strip_prefix(with).is_some_and(|rest| rest.starts_with('_'));
        let every = || self.modules.iter().map(|m| m.name.as_str());
        let exact = fault.module.as_deref().filter(|wanted| every().any(|name| name == *wanted));
        let fits = |name: &str| match (&fault.module, exact) {
            (None, _) => true,
            (_, Some(exact)) => name == exact,
            (Some(wanted), None) => begins(name, wanted),
        };
        let has = |name: &str| {
            let module = self.modules.iter().find(|m| m.name == name)?;
            let spot = all.get(name)?.whole(module, &fault.net).ok()?;
            matches!(spot.thing, Thing::Net(_) | Thing::Node(_)).then_some(())
        };
        let found: Vec<&str> = every().filter(|name| fits(name) && has(name).is_some()).collect();
        match found[..] {
            [one] => Ok(one),
            [] => Err(format!("no net `{}`", fault.net)),
            _ if fault.module.is_none() && found.contains(&self.top_name()) => Ok(self.top_name()),
            _ => Err(format!("several modules have a net `{}`", fault.net)),
        }
    }

    fn build(
        &self,
        subjects: &BTreeMap<&str, Subject<'_>>,
        faults: &BTreeMap<&str, Vec<Resolved>>,
        select: (&str, u32),
    ) -> Result<Design, Refused> {
        let own = |module: &ModuleIr| faults.get(module.name.as_str()).map_or(&[][..], |own| own);
        self.rebuilt(
            |module| !own(module).is_empty(),
            |module, done| match subjects.get(module.name.as_str()).filter(|_| !own(module).is_empty()) {
                Some(subject) => apply::module(module, &subject.names, &subject.logic, own(module), done, select),
                None => {
                    let mut new = super::apply::module(module, &[], done, select);
                    (new.comb, new.ripples) = within_cycle(&new).map_err(|why| (None, why))?;
                    Ok(new)
                }
            },
        )
    }
}
