//! Mutants of a small design of the construction language whose fates are known by thought.

use hdl::lang::*;
use sim::mutate::{self, Mutation, Options, Outcome, Report, Sample};
use sim::{Bench, BuildOptions, Engine, Kill, Result, Run, RunOptions, Sim};

parameters! {
    /// Elaboration parameters.
    pub struct Small {
        /// Number of inverters.
        copies: u32 = 3, in 1..=8, tag "c";
    }
}

ports! {
    /// Ports of [`Small`].
    pub struct SmallPorts(p: &Small) {
        /// What is added.
        a_i: In = uint(2),
        /// The sum of all.
        sum_o: Out = uint(2),
        /// Its lowest bit.
        odd_o: Out = bit(),
        /// Whether 3 is added.
        three_o: Out = bit(),
        /// What is inverted.
        bits_i: InArray = bit().array(p.copies),
        /// The inverted bits.
        copies_o: OutArray = bit().array(p.copies),
    }
}

/// `never_q` is 0 for ever, which only induction shows. The formal section allows no 3 at `a_i`.
impl Block for Small {
    type Ports = SmallPorts;
    const ABOUT: About =
        About { name: "small", summary: "sums", contract: "sum_o is the sum of all a_i.", reference: "none" };

    fn build(&self, m: &mut Module, io: &SmallPorts) {
        let sum = m.reg_init("sum_q", uint(2), 0);
        sum.next(sum.q.wrapping_add(io.a_i));
        let never = m.reg_init("never_q", bit(), 0);
        never.next(never.q & io.a_i.bit(1));
        m.connect(io.sum_o, sum.q);
        m.connect(io.odd_o, sum.q.bit(0) | never.q);
        m.connect(io.three_o, io.a_i.eq(3));
        m.for_each("copy", self.copies, |m, k| m.connect(io.copies_o.at(k), !io.bits_i.at(k)));
        m.formal(|m| m.assume("allowed", io.a_i.ne(3)));
    }
}

/// Looks at everything but `three_o` and the last inverter.
struct SmallBench;

impl Bench for SmallBench {
    fn block(&self) -> &str {
        "small"
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> Result<()> {
        let [a, bits] = [sim.input("a_i")?, sim.input("bits_i")?];
        let [sum, odd, copies] = [sim.output("sum_o")?, sim.output("odd_o")?, sim.output("copies_o")?];
        sim.reset(2)?;
        let mut golden = 0;
        for vector in 0..run.vectors() {
            let value = (vector * vector + vector / 3) % 3;
            sim.poke_u64(a, value);
            sim.poke_u64(bits, vector & 7);
            sim.settle()?;
            run.expect_u64(sim, sum, golden & 3)?;
            run.expect_u64(sim, odd, golden & 1)?;
            if sim.peek_u64(copies) & 3 != !vector & 3 {
                run.expect_u64(sim, copies, !vector & 7)?;
            }
            sim.tick()?;
            golden += value;
        }
        Ok(())
    }
}

fn report(engine: Engine) -> Report {
    let mutations = mutate::list_ir(&elaborate(&Small { copies: 3 }).unwrap(), Sample::ALL, |_| true);
    let options = BuildOptions { engine: Some(engine), ..BuildOptions::default() };
    let mutants = mutate::build(mutations, &options).unwrap();
    let run = RunOptions { vectors: 60, patience: 50, ..RunOptions::default() };
    let report = mutate::run(&SmallBench, &mutants, &Options { run, ..Options::default() }).unwrap();
    assert_eq!((report.tested.len(), report.unanswered()), (report.available, 0), "{report}");
    report
}

/// The outcomes of mutants of an expression, by role, bit and mode.
fn fates(report: &Report, text: &str, role: &str, bit: u32, mode: &str) -> Vec<Outcome> {
    let is = |m: &Mutation| {
        m.text.as_deref() == Some(text) && (m.port.as_str(), m.bit, m.mode.as_str()) == (role, bit, mode)
    };
    report.tested.iter().filter(|t| is(&t.mutation)).map(|t| t.outcome.clone()).collect()
}

#[test]
fn fates_are_those_that_thought_finds() {
    let report = report(Engine::Native);
    let only = |text: &str, role: &str, bit, mode: &str| {
        let all = fates(&report, text, role, bit, mode);
        assert_eq!(all.len(), 1, "{text} {role} {bit} {mode}: {all:?} in {report}");
        all[0].clone()
    };
    let killed = |outcome: &Outcome| matches!(outcome, Outcome::Killed(Kill::Mismatch { .. }));
    for mode in ["inv", "const0", "const1", "cnot0", "cnot1"] {
        for bit in [0, 1] {
            let result = only("sum_q + a_i", "result", bit, mode);
            assert!(killed(&result), "{bit} {mode}: {result:?}");
        }
    }
    assert!(killed(&only("sum_q + a_i", "result", 0, "exchanged")));
    // `never_q & a_i[1]`: the second operand does not matter, the first must stay 0.
    for mode in ["inv", "const0", "const1"] {
        assert_eq!(only("never_q & a_i[1]", "operand 1", 0, mode), Outcome::Equivalent);
    }
    assert_eq!(only("never_q & a_i[1]", "operand 0", 0, "const0"), Outcome::Equivalent);
    assert!(killed(&only("never_q & a_i[1]", "operand 0", 0, "const1")));
    assert!(killed(&only("never_q & a_i[1]", "result", 0, "inv")));
    // Nobody looks at `three_o`; where it is wrong for 3 only, the formal section says that nobody could.
    let shown = Outcome::Survived { differs_in: Some(1) };
    assert_eq!(only("a_i == 3", "result", 0, "const0"), Outcome::Equivalent);
    assert_eq!(only("a_i == 3", "result", 0, "const1"), shown);
    assert_eq!(only("a_i == 3", "result", 0, "inv"), shown);
    // Each turn of a loop is a place of its own.
    let copies = fates(&report, "!bits_i[i]", "result", 0, "const1");
    assert_eq!((copies.len(), copies.iter().filter(|o| killed(o)).count()), (3, 2), "{report}");
    assert_eq!(report.killed() + report.survivors().count() + report.equivalent(), report.available);
    // The report tells which they are.
    let text = report.to_string();
    assert!(text.contains("mutate_ir.rs:") && text.contains("three_o"), "{text}");
}

#[test]
fn verilator_says_the_same() {
    let [native, verilator] = [Engine::Native, Engine::Verilator].map(report);
    assert_eq!(native.tested, verilator.tested);
}

#[test]
fn samples_are_fixed_by_the_seed_and_small_modules_are_in_them() {
    let design = elaborate(&Small { copies: 3 }).unwrap();
    let sample = |count, seed| mutate::list_ir(&design, Sample { count, seed }, |_| true);
    let all = sample(usize::MAX, 1);
    assert_eq!(all.chosen.len(), all.available);
    let ten = sample(10, 7);
    assert_eq!((ten.chosen.len(), ten.available), (10, all.available));
    assert_eq!(ten.chosen, sample(10, 7).chosen);
    assert_eq!(ten.chosen, sample(20, 7).chosen[..10]);
    assert_ne!(ten.chosen, sample(10, 8).chosen);
    let mut names: Vec<_> = all.chosen.iter().map(|m| &m.options).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all.available);
    assert_eq!(mutate::list_ir(&design, Sample::ALL, |_| false).available, 0);

    // 64 equal cells are one module; what is around them has fewer places than it, and more than its share in the sample.
    let mesh = elaborate(&hdl::blocks::common::MacMesh { rows: 8, columns: 8, ..Default::default() }).unwrap();
    let of = |sample| {
        let mutations = mutate::list_ir(&mesh, sample, |_| true);
        let top = mutations.chosen.iter().filter(|m| m.module == mesh.top_name()).count();
        (top, mutations.chosen.len())
    };
    let (few, many) = (of(Sample { count: 100, seed: 1 }), of(Sample::ALL));
    assert!(few.0 > 0 && many.0 > 0 && many.0 < many.1, "{few:?} {many:?}");
}
