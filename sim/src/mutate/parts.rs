//! Mutants that make no difference in their module, or in a module around it.
//!
//! A module has the same reset as the whole design, which is low in the first cycle. Nothing else is assumed of its
//! inputs, and all of its outputs count. So if a mutant makes no difference in a module, it makes none in any instance
//! of it. If it makes a difference, it is tried in the parents of the module, up to the modules directly below the top.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hdl::lang::Design as Elaborated;

use super::Mutation;
use super::equivalence::{Limits, side_by_side, stay_equal};
use super::list::Source;
use super::miter::Subject;
use crate::lint::open_boxes;
use crate::runner::Contract;
use crate::{Design, Result};

/// Names these rules in the keys of kept verdicts.
pub(super) const RULES: &str = "parts 1";

/// Time for a question about a part. A question that takes longer is asked about the whole design.
const TIME: Duration = Duration::from_secs(5);

/// For each mutant: whether it is proved to make no difference in each of its modules, or in modules around them.
pub(super) fn proved(ir: &Elaborated, mutations: &[&Mutation], limits: &Limits) -> Result<Vec<bool>> {
    // Open mutants by module. Children come before parents, so each module is looked at once.
    let names = ir.module_names();
    let (modules, top) = (&names[..names.len() - 1], names[names.len() - 1]);
    let mut open: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, mutation) in mutations.iter().enumerate() {
        open.entry(&mutation.module).or_default().insert(at);
    }
    let mut failed: BTreeSet<usize> = open.remove(top).unwrap_or_default();
    for module in modules {
        let mut here = open.remove(module).unwrap_or_default();
        here.retain(|at| !failed.contains(at));
        if here.is_empty() {
            continue;
        }
        let here: Vec<usize> = here.into_iter().collect();
        let left = not_proved(ir, module, &here, mutations, limits)?;
        for parent in ir.parents(module) {
            if parent == top {
                failed.extend(&left);
            }
            open.entry(parent).or_default().extend(&left);
        }
    }
    Ok((0..mutations.len()).map(|at| !failed.contains(&at)).collect())
}

/// The mutants, of the given ones, that are not proved to make no difference in a module.
fn not_proved(
    ir: &Elaborated,
    module: &str,
    here: &[usize],
    mutations: &[&Mutation],
    limits: &Limits,
) -> Result<Vec<usize>> {
    let Some(part) = ir.part(module) else { return Ok(here.to_vec()) };
    let design = open_boxes(&Design::from(&part));
    let (source, contract) = (Source::Ir(part), Contract::default());
    let subject =
        Subject { design: &design, ports: &design.ports, source: &source, contract: &contract, is_whole: false };
    let chosen: Vec<&Mutation> = here.iter().map(|&at| mutations[at]).collect();
    let miter = side_by_side(&subject, &chosen)?;
    let mut left = Vec::new();
    for (number, &at) in here.iter().enumerate() {
        if !stay_equal(&miter, &miter.select(number), TIME.min(limits.time))? {
            left.push(at);
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use hdl::lang::*;

    use super::super::{Sample, list_ir};
    use super::*;

    parameters! {
        /// No parameters.
        pub struct Differ {}
    }

    ports! {
        /// Ports of [`Differ`].
        pub struct DifferPorts(_p: &Differ) {
            /// One.
            a_i: In = bit(),
            /// The other.
            b_i: In = bit(),
            /// Whether they differ.
            y_o: Out = bit(),
        }
    }

    impl Block for Differ {
        type Ports = DifferPorts;
        const ABOUT: About = About { name: "differ", summary: "whether bits differ", contract: "a ^ b", reference: "" };

        fn build(&self, m: &mut Module, io: &DifferPorts) {
            m.connect(io.y_o, io.a_i ^ io.b_i);
        }
    }

    parameters! {
        /// No parameters.
        pub struct Same {}
    }

    ports! {
        /// Ports of [`Same`].
        pub struct SamePorts(_p: &Same) {
            /// One bit.
            x_i: In = bit(),
            /// Whether it differs from itself.
            y_o: Out = bit(),
        }
    }

    impl Block for Same {
        type Ports = SamePorts;
        const ABOUT: About = About { name: "same", summary: "never", contract: "0", reference: "" };

        fn build(&self, m: &mut Module, io: &SamePorts) {
            let u = m.instance("u_differ", Differ {});
            m.connect(u.a_i, io.x_i);
            m.connect(u.b_i, io.x_i);
            m.connect(io.y_o, u.y_o);
        }
    }

    parameters! {
        /// Whether the inner module stands in the top, too.
        pub struct Whole {
            /// Beside the other one.
            twice: bool = false, tag "t";
        }
    }

    ports! {
        /// Ports of [`Whole`].
        pub struct WholePorts(p: &Whole) {
            /// Bits.
            x_i: In = uint(2),
            /// Whether the first differs from itself.
            same_o: Out = bit(),
            /// Whether they differ.
            differ_o: OutOption = bit().when(p.twice),
        }
    }

    impl Block for Whole {
        type Ports = WholePorts;
        const ABOUT: About = About { name: "whole", summary: "both", contract: "0, and a ^ b", reference: "" };

        fn build(&self, m: &mut Module, io: &WholePorts) {
            let u = m.instance("u_same", Same {});
            m.connect(u.x_i, io.x_i.bit(0));
            m.connect(io.same_o, u.y_o);
            if let Some(differ) = io.differ_o {
                let u = m.instance("u_differ", Differ {});
                m.connect(u.a_i, io.x_i.bit(0));
                m.connect(u.b_i, io.x_i.bit(1));
                m.connect(differ, u.y_o);
            } else {
                m.unused(io.x_i);
            }
        }
    }

    /// Mutants of the result in the inner module: which are proved to make no difference.
    fn of_the_result(twice: bool) -> Vec<(String, bool)> {
        let ir = elaborate(&Whole { twice }).unwrap();
        let all = list_ir(&ir, Sample::ALL, |module| module == "differ").chosen;
        let results: Vec<&Mutation> = all.iter().filter(|m| m.port == "result").collect();
        let proved = proved(&ir, &results, &Limits::QUICK).unwrap();
        results.iter().zip(proved).map(|(m, proved)| (m.mode.clone(), proved)).collect()
    }

    #[test]
    fn a_module_around_it_shows_that_a_mutant_does_the_same() {
        let found = of_the_result(false);
        let proved: Vec<&str> = found.iter().filter(|(_, proved)| *proved).map(|(mode, _)| mode.as_str()).collect();
        // Both bits are equal there: it is always 0.
        assert!(proved.contains(&"const0"), "{found:?}");
        assert!(!proved.contains(&"const1") && !proved.contains(&"inv"), "{found:?}");
    }

    #[test]
    fn all_modules_around_it_must_show_it() {
        let found = of_the_result(true);
        assert!(found.iter().all(|(_, proved)| !proved), "{found:?}");
    }
}
