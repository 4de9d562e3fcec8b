//! Checks of a module when its description is complete. Each check is one file.

mod drivers;
mod elements;
mod finding;
mod loops;
mod reads;

pub(crate) use elements::{Elements, Read, visit_once};
pub(crate) use reads::{in_formal, item_nodes};

use super::context::Elaboration;
use super::types::MAX_ELEMENTS;

/// What a module does within a cycle: for each port, the input ports that an output depends on; for each net, whether
/// values ripple through it.
///
/// # Errors
/// A combinational loop.
pub(crate) fn within_cycle(ir: &super::ir::ModuleIr) -> Result<(Vec<Vec<usize>>, Vec<bool>), String> {
    let elements = Elements::new(ir).ok_or_else(|| format!("{} is too large", ir.name))?;
    let (found, comb) = loops::check(ir, &elements);
    match found.into_iter().next() {
        Some((_, problem, _)) => Err(problem),
        None => Ok((comb, loops::rippling(ir))),
    }
}

/// Checks the module on top of the stack; also computes which outputs depend on which inputs within a cycle.
pub(crate) fn run(e: &mut Elaboration) {
    let findings = {
        let ir = &e.current().ir;
        let Some(elements) = Elements::new(ir) else {
            let (loc, name) = (ir.loc, ir.name.clone());
            e.error(
                loc,
                format!("{name} has more than {MAX_ELEMENTS} nets, elements of arrays and copies in loops counted"),
            );
            return;
        };
        // After an error in a statement, what that statement would have driven or read is no news.
        let complete = !e.errors.iter().any(|d| d.module == ir.name);
        let mut findings = drivers::check(ir, &elements, complete);
        if complete {
            findings.extend(reads::check(ir));
        }
        let (loops, comb) = loops::check(ir, &elements);
        findings.extend(loops);
        let ripples = if findings.is_empty() { loops::rippling(ir) } else { vec![] };
        e.top().ir.comb = comb;
        e.top().ir.ripples = ripples;
        findings
    };
    for (loc, message, related) in findings {
        e.error_related(loc, message, related);
    }
}
