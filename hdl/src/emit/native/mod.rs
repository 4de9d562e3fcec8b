//! Compact C of a design, for simulation: loops stay loops over arrays, and what stands still is not evaluated.
//!
//! The text is a header and C files, with a table of functions (`senbazuru_api`) that the crate `sim` calls. It does what the emitted
//! Verilog does in a two-state simulator: registers and memories take their new values at the rising edge, an
//! active-low reset works at once, and outputs follow inputs within the cycle.
//!
//! How it is made:
//!
//! - [`sites`] walks the tree of instances.
//! - [`store`] gives every net its place in an array.
//! - [`steps`] lists what has to be computed, and [`guard`] which of these steps run only under an enable.
//! - [`order`] and [`ripple`] find the order.
//! - [`plan`] finds what has to run when something has changed.
//! - [`program`] writes the C, with [`code`], [`put`], [`state`], [`value`], [`vector`], [`wide`] and [`ports`].

mod c_types;
mod code;
mod guard;
mod lanes;
mod observe;
mod order;
mod parts;
mod plan;
mod ports;
mod program;
mod put;
mod ripple;
mod sites;
mod state;
mod steps;
mod store;
mod value;
mod vector;
mod wide;

pub use observe::{Observed, ObservedNet, ObservedValue};

use super::SourceFile;
use crate::lang::Design;

/// The C of a design with a twin ([`Module::simulates_as`](crate::lang::Module::simulates_as)) is faster than its
/// Verilog up to so many values: the Verilog of a macro is written for simulation, its twin is hardware.
const LARGEST_TWIN: u64 = 1 << 23;

impl Design {
    /// The design as C for simulation: a header and files that include it, to be compiled into one shared object.
    ///
    /// # Errors
    /// Says what in the design has no C: modules whose Verilog comes from outside.
    pub fn native(&self) -> Result<Vec<SourceFile>, String> {
        self.compact_c(false, order::BLOCK).map(|c| c.0)
    }

    /// The same C, in which a part of the hierarchy is evaluated, or left alone, as one if it has at least so many
    /// steps. With smaller parts more of the design is left alone, but more flags are tested.
    ///
    /// # Errors
    /// As [`Design::native`].
    pub fn native_in_parts(&self, steps: usize) -> Result<Vec<SourceFile>, String> {
        self.compact_c(false, steps).map(|c| c.0)
    }

    /// The C, and the nets of the Verilog by name with the places where the C keeps their values. All nets have a
    /// place, and all values are right after inputs and after the edge, so this C is slower.
    ///
    /// # Errors
    /// As [`Design::native`].
    pub fn native_observed(&self) -> Result<(Vec<SourceFile>, Vec<Observed>), String> {
        self.compact_c(true, order::BLOCK)
    }

    fn compact_c(&self, observed: bool, part: usize) -> Result<(Vec<SourceFile>, Vec<Observed>), String> {
        let top = self.modules.last().ok_or("the design has no module")?;
        let sites = sites::Sites::new(top);
        if let Some((_, site)) = sites.iter().find(|(_, site)| site.module.external.is_some()) {
            return Err(format!("`{}` is Verilog from outside", site.module.name));
        }
        let mut store = store::Store::new(&sites, observed);
        if sites.has_twin() && store.arrays.iter().map(|a| a.len).sum::<u64>() > LARGEST_TWIN {
            return Err("the block that stands for Verilog from outside has more cells than C evaluates fast".into());
        }
        let mut steps = steps::steps(&sites, &store, part);
        guard::guard(&sites, &store, &mut steps, part as u64);
        let order = order::order(&sites, &store, &steps, part);
        let plan = plan::plan(&sites, &mut store, &steps, &order);
        let parts = parts::Parts { sites: &sites, store: &store, steps: &steps, order: &order, plan: &plan };
        let nets = if observed { observe::observe(&sites, &store) } else { vec![] };
        Ok((program::program(&parts)?, nets))
    }
}
