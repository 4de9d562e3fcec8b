//! Mutants that make no difference in their module, or in a module around it.
//!
//! A module has the same reset as the whole design, which is low in the first cycle. Nothing else is assumed of its
//! inputs, and all of its outputs count. So if a mutant makes no difference in a module, it makes none in any instance
//! of it. If it makes a difference, it is tried in the parents of the module, up to the top.
//!
//! In each module all other modules are [closed](Closed) first: only the mutant's module is open, and what is between
//! both. Then as many modules are open as a proof in seconds allows; the largest stay closed. That decides most mutants
//! of glue logic, however large the modules are that it joins.
//!
//! A module without a reset is a pipeline or logic. Where no solver decides, and few inputs enter what a mutant changes,
//! all of their values are tried: with all modules open, and with each of the modules inside closed. Else a solver gets
//! the logic of the inputs of some cycles.
//!
//! A whole design without a reset is a pipeline whose outputs mean nothing before it is filled: they show registers that
//! nobody has set. There the cycles count in which no start value has any effect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hdl::lang::Design as Elaborated;

use super::Mutation;
use super::limits::Limits;
use super::list::Source;
use super::miter::{Closed, Subject};
use super::side_by_side::{side_by_side, stay_equal};
use super::sizes::Sizes;
use crate::lint::open_boxes;
use crate::runner::Contract;
use crate::{Design, Result};

/// Names these rules in the keys of kept verdicts.
pub(super) const RULES: &str = "parts 4";

/// Time for a question about a part. A question that takes longer is asked about the whole design.
const TIME: Duration = Duration::from_secs(5);

/// Values that are tried for a mutant, times the gates that they pass through: seconds.
const TRIED: u64 = 1 << 40;

/// For each mutant: whether it is proved to make no difference in each of its modules, or in modules around them, up to
/// the whole design with other modules closed.
pub(super) fn proved(ir: &Elaborated, whole: &Subject, mutations: &[&Mutation], limits: &Limits) -> Result<Vec<bool>> {
    // Open mutants by module. Children come before parents, so each module is looked at once.
    let names = ir.module_names();
    let top = names[names.len() - 1];
    let mut open: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, mutation) in mutations.iter().enumerate() {
        open.entry(&mutation.module).or_default().insert(at);
    }
    for module in &names {
        let Some(here) = open.remove(module) else { continue };
        let Some(part) = ir.part(module) else { continue };
        let (is_top, sizes) = (*module == top, Sizes::of(&part));
        let mut left: Vec<usize> = Vec::new();
        for (mutated, group) in by_module(&here, mutations) {
            let all = sizes.others(mutated);
            let largest = sizes.largest(mutated);
            // The whole design with nothing closed has a question of its own, with what it may assume.
            let mut asked: Vec<BTreeSet<String>> = if all == largest { vec![all] } else { vec![all, largest] };
            asked.retain(|closed| !(is_top && closed.is_empty()));
            let unsolved = asked.into_iter().try_fold(group, |left, closed| {
                not_proved(&part, whole, closed, &left, (mutations, How::Solved(limits)))
            })?;
            let tried = if is_top { Vec::new() } else { sizes.tried(mutated) };
            let untried = tried
                .into_iter()
                .try_fold(unsolved, |left, closed| not_proved(&part, whole, closed, &left, (mutations, How::Tried)))?;
            let is_quick = limits.conflicts == 0;
            let logic = if is_quick { Vec::new() } else { sizes.unrolled(mutated, |name| has_clock(ir, name)) };
            left.extend(logic.into_iter().try_fold(untried, |left, closed| {
                not_proved(&part, whole, closed, &left, (mutations, How::Unrolled(limits)))
            })?);
        }
        if is_top {
            return Ok((0..mutations.len()).map(|at| !left.contains(&at)).collect());
        }
        for parent in ir.parents(module) {
            open.entry(parent).or_default().extend(&left);
        }
    }
    Ok(vec![true; mutations.len()])
}

/// Whether a module keeps anything.
fn has_clock(ir: &Elaborated, module: &str) -> bool {
    ir.part(module).is_none_or(|part| Design::from(&part).clock.is_some())
}

/// The mutants, by their own module.
fn by_module<'a>(here: &BTreeSet<usize>, mutations: &[&'a Mutation]) -> BTreeMap<&'a str, Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &at in here {
        groups.entry(&mutations[at].module).or_default().push(at);
    }
    groups
}

/// How a proof is found.
#[derive(Clone, Copy)]
enum How<'a> {
    /// By a solver.
    Solved(&'a Limits),
    /// By all values of the inputs.
    Tried,
    /// By a solver, as logic of the inputs of some cycles.
    Unrolled(&'a Limits),
}

/// The mutants, of the given ones, that are not proved to make no difference in a part with these modules closed.
fn not_proved(
    part: &Elaborated,
    whole: &Subject,
    closed: BTreeSet<String>,
    here: &[usize],
    (mutations, how): (&[&Mutation], How),
) -> Result<Vec<usize>> {
    let design = open_boxes(&Design::from(part));
    if here.is_empty() || (!matches!(how, How::Solved(_)) && design.reset.is_some()) {
        return Ok(here.to_vec());
    }
    let closed = if closed.is_empty() { Closed::default() } else { Closed::new(&design, closed)? };
    let (source, nothing) = (Source::Ir(part.clone()), Contract::default());
    let is_whole = whole.design.top == design.top;
    let contract = if is_whole { whole.contract } else { &nothing };
    let subject = Subject { design: &design, ports: &design.ports, source: &source, contract, is_whole, closed };
    let chosen: Vec<&Mutation> = here.iter().map(|&at| mutations[at]).collect();
    let miter = side_by_side(&subject, &chosen)?;
    let mut left = Vec::new();
    for (number, &at) in here.iter().enumerate() {
        let select = miter.select(number);
        let proved = match how {
            How::Solved(limits) => stay_equal(&miter, &select, TIME.min(limits.time))?,
            How::Tried => miter.is_equal_for_all_inputs(&select, TRIED),
            How::Unrolled(limits) => miter.is_equal_unrolled(&select, is_whole, limits.time)?,
        };
        if !proved {
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

    parameters! {
        /// No parameters.
        pub struct Keep {}
    }

    ports! {
        /// Ports of [`Keep`].
        pub struct KeepPorts(_p: &Keep) {
            /// A bit.
            d_i: In = bit(),
            /// The bit of the cycle before.
            q_o: Out = bit(),
        }
    }

    impl Block for Keep {
        type Ports = KeepPorts;
        const ABOUT: About = About { name: "keep", summary: "a register", contract: "one cycle", reference: "" };

        fn build(&self, m: &mut Module, io: &KeepPorts) {
            let kept = m.reg("kept_q", bit());
            kept.next(io.d_i);
            m.connect(io.q_o, kept.q);
        }
    }

    parameters! {
        /// No parameters.
        pub struct Glue {}
    }

    ports! {
        /// Ports of [`Glue`].
        pub struct GluePorts(_p: &Glue) {
            /// A bit.
            x_i: In = bit(),
            /// 0 whatever is kept.
            y_o: Out = bit(),
        }
    }

    impl Block for Glue {
        type Ports = GluePorts;
        const ABOUT: About = About { name: "glue", summary: "around a register", contract: "0", reference: "" };

        fn build(&self, m: &mut Module, io: &GluePorts) {
            let u = m.instance("u_keep", Keep {});
            let enters = m.wire("enters", !io.x_i);
            m.connect(u.d_i, enters);
            let kept = m.wire("kept", u.q_o);
            let again = m.wire("again", u.q_o);
            m.connect(io.y_o, kept ^ again);
        }
    }

    /// Mutants of results in a module: which are proved to make no difference.
    fn results<B: Block>(block: &B, module: &str, limits: &Limits) -> Vec<(String, bool)> {
        let ir = elaborate(block).unwrap();
        let all = list_ir(&ir, Sample::ALL, |name| name == module).chosen;
        let results: Vec<&Mutation> = all.iter().filter(|m| m.port == "result").collect();
        let design = crate::Design::from(&ir);
        let (source, contract) = (Source::Ir(ir.clone()), Contract::default());
        let whole = Subject {
            design: &design,
            ports: &design.ports,
            source: &source,
            contract: &contract,
            is_whole: true,
            closed: Closed::default(),
        };
        let proved = proved(&ir, &whole, &results, limits).unwrap();
        let name = |m: &Mutation| format!("{} {}", m.net.as_deref().unwrap_or_default(), m.mode);
        results.iter().zip(proved).map(|(m, proved)| (name(m), proved)).collect()
    }

    fn of_the_result(twice: bool) -> Vec<(String, bool)> {
        results(&Whole { twice }, "differ", &Limits::QUICK)
    }

    #[test]
    fn what_enters_a_closed_module_counts_and_what_leaves_it_is_any_value() {
        let found = results(&Glue {}, "glue", &Limits::QUICK);
        let of = |net: &str, proved: bool| {
            let of = found.iter().filter(|(name, is)| name.starts_with(net) && *is == proved);
            of.map(|(name, _)| name.split(' ').nth(1).unwrap()).collect::<Vec<_>>()
        };
        // Nobody sees what is kept. But the register is closed, so what enters it counts.
        assert_eq!((of("enters", true), of("enters", false).is_empty()), (vec![], false), "{found:?}");
        // Both operands are the same bit, whatever it is.
        assert!(of("y_o", true).contains(&"const0") && of("y_o", false).contains(&"inv"), "{found:?}");
    }

    /// Mutants of results that are equal for all inputs with these modules closed.
    fn tried<B: Block>(block: &B, closed: &[&str]) -> Vec<String> {
        let ir = elaborate(block).unwrap();
        let (design, top) = (crate::Design::from(&ir), ir.module_names().pop().unwrap().to_owned());
        let all = list_ir(&ir, Sample::ALL, |name| !closed.contains(&name)).chosen;
        let results: Vec<&Mutation> = all.iter().filter(|m| m.port == "result").collect();
        let (source, contract) = (Source::Ir(ir.clone()), Contract::default());
        let closed_none = Closed::default();
        let whole = Subject {
            design: &design,
            ports: &design.ports,
            source: &source,
            contract: &contract,
            is_whole: true,
            closed: closed_none,
        };
        let closed = closed.iter().map(|&name| name.to_owned()).collect();
        let here: Vec<usize> = (0..results.len()).collect();
        let left = not_proved(&ir, &whole, closed, &here, (&results[..], How::Tried)).unwrap();
        let name = |at: &usize| {
            let m = results[*at];
            let place = if m.module == top { "" } else { "inner " };
            format!("{place}{} {}", m.net.as_deref().unwrap_or_default(), m.mode)
        };
        here.iter().filter(|at| !left.contains(at)).map(name).collect()
    }

    #[test]
    fn all_inputs_of_logic_and_of_a_pipeline_are_tried() {
        let same = tried(&Same {}, &[]);
        assert!(same.iter().any(|name| name.ends_with("const0")), "{same:?}");
        assert!(!same.iter().any(|name| name.ends_with("const1") || name.ends_with("inv")), "{same:?}");
        // With the register open nobody sees what enters it.
        let glue = tried(&Glue {}, &[]);
        assert!(glue.iter().any(|name| name == "enters inv") && !glue.iter().any(|name| name == "y_o inv"), "{glue:?}");
        let closed = tried(&Glue {}, &["keep"]);
        assert!(closed.iter().any(|name| name == "y_o const0"), "{closed:?}");
        assert!(!closed.iter().any(|name| name.starts_with("enters")), "{closed:?}");
    }

    parameters! {
        /// No parameters.
        pub struct Settled {}
    }

    ports! {
        /// Ports of [`Settled`].
        pub struct SettledPorts(_p: &Settled) {
            /// A bit.
            x_i: In = bit(),
            /// 1 from the second cycle on.
            y_o: Out = bit(),
        }
    }

    impl Block for Settled {
        type Ports = SettledPorts;
        const ABOUT: About = About { name: "settled", summary: "a register of 1", contract: "1", reference: "" };

        fn build(&self, m: &mut Module, io: &SettledPorts) {
            let inverse = m.wire("inverse", !io.x_i);
            let kept = m.reg("kept_q", bit());
            kept.next(io.x_i | inverse);
            m.connect(io.y_o, kept.q | io.x_i);
        }
    }

    #[test]
    fn outputs_of_a_pipeline_mean_nothing_before_it_is_filled() {
        let found = results(&Settled {}, "settled", &Limits::default());
        let proved = |name: &str| found.iter().any(|(found, proved)| *proved && found == name);
        // The register starts with 0, which no input shows once it was written.
        assert!(proved("y_o const1") && !proved("y_o const0") && !proved("y_o inv"), "{found:?}");
    }

    #[test]
    fn a_module_around_it_shows_that_a_mutant_does_the_same() {
        let found = of_the_result(false);
        let proved = |mode: &str| found.iter().any(|(name, proved)| *proved && name.ends_with(mode));
        // Both bits are equal there: it is always 0.
        assert!(proved("const0"), "{found:?}");
        assert!(!proved("const1") && !proved("inv"), "{found:?}");
    }

    #[test]
    fn all_modules_around_it_must_show_it() {
        let found = of_the_result(true);
        assert!(found.iter().all(|(_, proved)| !proved), "{found:?}");
    }
}
