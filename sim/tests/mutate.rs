//! Mutants of small designs whose fates are known by thought.

use serde_json::Value;
use sim::mutate::{self, Mutation, Options, Outcome, Report, Sample};
use sim::stimulus::Stall;
use sim::{Bench, Bits, BuildOptions, Design, Error, Kill, Result, Run, RunOptions, Sim};

/// `never_q` is 0 for ever, which only induction shows. The formal section allows no 3 at `a_i`.
const SMALL: &str = "
module small (
  input  wire       clk_i,
  input  wire       rst_ni,
  input  wire [1:0] a_i,
  output wire [1:0] sum_o,
  output wire       odd_o,
  output wire       three_o
);
  reg  [1:0] sum_q;
  reg        never_q;
  wire [1:0] next = sum_q ^ a_i;
  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sum_q <= 2'd0;
    else         sum_q <= next;
  end
  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) never_q <= 1'b0;
    else         never_q <= never_q & a_i[0];
  end
  assign sum_o = sum_q;
  assign odd_o = sum_q[0] | never_q;
  assign three_o = a_i == 2'd3;
`ifdef FORMAL
  always @* allowed: assume (a_i != 2'd3);
`endif
endmodule
";

/// Compares `sum_o`, and `odd_o` when it looks there too; drives what is allowed.
struct SmallBench {
    looks_at_odd: bool,
    panics: bool,
}

impl Bench for SmallBench {
    fn block(&self) -> &str {
        "small"
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> Result<()> {
        let a = sim.input("a_i")?;
        let (sum, odd) = (sim.output("sum_o")?, sim.output("odd_o")?);
        sim.reset(2)?;
        let mut golden = 0;
        for vector in 0..run.vectors() {
            let value = (vector * vector + vector / 3) % 3;
            sim.poke_u64(a, value);
            sim.settle()?;
            assert!(!self.panics || sim.peek_u64(sum) == golden, "surprised in vector {vector}");
            run.expect_u64(sim, sum, golden)?;
            if self.looks_at_odd {
                run.expect_u64(sim, odd, golden & 1)?;
            }
            sim.tick()?;
            golden ^= value;
        }
        Ok(())
    }
}

fn options() -> Options {
    Options { run: RunOptions { vectors: 60, patience: 50, ..RunOptions::default() }, ..Options::default() }
}

fn report(bench: &dyn Bench, design: &Design) -> Report {
    let mutants = mutate::build(mutate::list(design, Sample::ALL).unwrap(), &BuildOptions::default()).unwrap();
    let report = mutate::run(bench, &mutants, &options()).unwrap();
    assert_eq!(report.tested.len(), report.available);
    assert_eq!(report.unanswered(), 0, "{report}");
    report
}

/// The outcome of the only mutant whose source contains `text`, with this port, bit and mode.
fn fate<'a>(report: &'a Report, text: &str, port: &str, bit: u32, mode: &str) -> &'a Outcome {
    let is = |m: &Mutation| {
        m.text.as_deref().is_some_and(|t| t.contains(text))
            && (m.port.as_str(), m.bit, m.mode.as_str()) == (port, bit, mode)
    };
    let found: Vec<_> = report.tested.iter().filter(|t| is(&t.mutation)).collect();
    let [one] = found[..] else { panic!("{text} {port} {bit} {mode}: {} in {report}", found.len()) };
    &one.outcome
}

#[test]
fn killed_equivalent_and_survived() {
    let design = Design::from_verilog("small", SMALL);
    let report = report(&SmallBench { looks_at_odd: true, panics: false }, &design);
    let killed = |o: &Outcome| matches!(o, Outcome::Killed(Kill::Mismatch { .. }));
    for mode in ["inv", "const0", "const1"] {
        for bit in [0, 1] {
            for port in ["A", "B", "Y"] {
                let outcome = fate(&report, "sum_q ^ a_i", port, bit, mode);
                assert!(killed(outcome), "{port} {bit} {mode}: {outcome:?}");
            }
        }
        // `never_q & a_i[0]`: the second operand does not matter, the first must stay 0.
        assert_eq!(fate(&report, "never_q & a_i[0]", "B", 0, mode), &Outcome::Equivalent);
    }
    assert_eq!(fate(&report, "never_q & a_i[0]", "A", 0, "const0"), &Outcome::Equivalent);
    assert!(killed(fate(&report, "never_q & a_i[0]", "A", 0, "const1")));
    assert!(killed(fate(&report, "never_q & a_i[0]", "Y", 0, "inv")));
    // Nobody looks at `three_o`; where it is wrong for 3 only, the formal section says that nobody could.
    let shown = Outcome::Survived { differs_in: Some(1) };
    assert_eq!(fate(&report, "a_i == 2'd3", "Y", 0, "const0"), &Outcome::Equivalent);
    assert_eq!(fate(&report, "a_i == 2'd3", "Y", 0, "const1"), &shown);
    assert_eq!(fate(&report, "a_i == 2'd3", "Y", 0, "inv"), &shown);
    assert!(report.survivors().all(|t| t.mutation.text.as_deref() == Some("a_i == 2'd3")), "{report}");
    let (killed, survived) = (report.killed(), report.survivors().count());
    assert_eq!(killed + survived + report.equivalent(), report.available);
    assert_eq!(report.share(), killed as f64 / (killed + survived) as f64);
    // The report tells how to make each survivor.
    let text = report.to_string();
    assert!(text.contains("at small.v:") && text.contains("mutate -mode const1 -module small -cell $eq$"), "{text}");
}

#[test]
fn a_bench_that_does_not_look_lets_mutants_live() {
    let design = Design::from_verilog("small", SMALL);
    let report = report(&SmallBench { looks_at_odd: false, panics: true }, &design);
    let odd = fate(&report, "sum_q[0] | never_q", "Y", 0, "inv");
    assert!(matches!(odd, Outcome::Survived { differs_in: Some(_) }), "{odd:?}");
    let sum = fate(&report, "sum_q ^ a_i", "Y", 1, "inv");
    let Outcome::Killed(Kill::Panic(text)) = sum else { panic!("{sum:?}") };
    assert!(text.contains("surprised in vector"), "{text}");
    assert!(report.to_string().contains("the bench panicked (surprised in vector"), "{report}");
}

/// One word of buffer.
const STAGE: &str = "
module stage (
  input  wire       clk_i,
  input  wire       rst_ni,
  input  wire       in_valid_i,
  output wire       in_ready_o,
  input  wire [2:0] in_data_i,
  output wire       out_valid_o,
  input  wire       out_ready_i,
  output wire [2:0] out_data_o
);
  reg       valid_q;
  reg [2:0] data_q;
  wire ready = !valid_q | out_ready_i;
  wire take = in_valid_i & ready;
  assign in_ready_o = ready;
  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (ready) valid_q <= in_valid_i;
  end
  always @(posedge clk_i) if (take) data_q <= in_data_i;
  assign out_valid_o = valid_q;
  assign out_data_o = data_q;
endmodule
";

struct StageBench;

impl Bench for StageBench {
    fn block(&self) -> &str {
        "stage"
    }

    fn parameters(&self) -> Value {
        Value::Null
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> Result<()> {
        let mut input = run.driver(sim, "in", &["data"], Stall::Random { num: 1, den: 3 })?;
        let mut output = run.monitor(sim, "out", &["data"], Stall::Random { num: 1, den: 2 })?;
        let beats: Vec<_> = (0..run.vectors()).map(|i| vec![Bits::truncated(3, i * i + i / 5)]).collect();
        input.extend(beats.clone())?;
        output.expect(beats)?;
        sim.reset(2)?;
        run.streams(sim, &mut [input], &mut [output])
    }
}

#[test]
fn streams_hang_and_their_idle_data_means_nothing() {
    let report = report(&StageBench, &Design::from_verilog("stage", STAGE));
    let hangs = fate(&report, "!valid_q | out_ready_i", "Y", 0, "const0");
    assert_eq!(hangs, &Outcome::Killed(Kill::Hang));
    // A word that is taken whenever there is room differs only while nothing is valid.
    assert_eq!(fate(&report, "in_valid_i & ready", "A", 0, "const1"), &Outcome::Equivalent);
    // A word that is overwritten while it waits.
    assert!(matches!(fate(&report, "in_valid_i & ready", "B", 0, "const1"), Outcome::Killed(Kill::Mismatch { .. })));
    // It looks at no cycle in particular: not at a stage that takes a word only when its own leaves. That a reset is missing is
    // seen in a run that starts with another state.
    let place = |t: &mutate::Tested| t.mutation.place.clone().unwrap_or_default();
    let ready = report.survivors().filter(|t| place(t).starts_with("stage.v:14.")).count();
    let reset = report.survivors().filter(|t| t.mutation.port == "ARST").count();
    assert_eq!((ready, reset, report.survivors().count()), (3, 0, 3), "{report}");
    assert!(report.hung() > 0);
}

#[test]
fn samples_are_fixed_by_the_seed() {
    let design = Design::from_verilog("small", SMALL);
    let sample = |count, seed| mutate::list(&design, Sample { count, seed }).unwrap();
    let all = mutate::list(&design, Sample::ALL).unwrap();
    assert_eq!(all.chosen.len(), all.available);
    assert!(all.chosen.iter().all(|m| m.port != "CLK" && m.port != "clk_i"), "{:?}", all.chosen);
    let ten = sample(10, 7);
    assert_eq!((ten.chosen.len(), ten.available), (10, all.available));
    assert_eq!(ten.chosen, sample(10, 7).chosen);
    assert_eq!(ten.chosen, sample(20, 7).chosen[..10]);
    assert_ne!(ten.chosen, sample(10, 8).chosen);
    let mut options: Vec<_> = all.chosen.iter().map(|m| &m.options).collect();
    options.sort();
    options.dedup();
    assert_eq!(options.len(), all.available);
}

#[test]
fn what_cannot_be_tested_is_refused() {
    let wire = "module pass(input wire a_i, output wire b_o); assign b_o = a_i; endmodule";
    let nothing = mutate::list(&Design::from_verilog("pass", wire), Sample::ALL).unwrap();
    assert_eq!(nothing.available, 0);
    let error = mutate::build(nothing, &BuildOptions::default()).unwrap_err();
    assert!(error.to_string().contains("`pass` has nothing that can be mutated"), "{error}");

    let error = mutate::list(&Design::from_verilog("other", wire), Sample::ALL).unwrap_err();
    assert!(matches!(&error, Error::Yosys { .. }) && error.is_verdict(), "{error}");

    // A bench that fails on the right design says nothing of mutants.
    let design = Design::from_verilog("small", &SMALL.replace("sum_q ^ a_i", "sum_q | a_i"));
    let mutants = mutate::build(mutate::list(&design, Sample { count: 3, seed: 1 }).unwrap(), &BuildOptions::default());
    let error = mutate::run(&SmallBench { looks_at_odd: true, panics: false }, &mutants.unwrap(), &options());
    assert!(error.unwrap_err().mismatch().is_some());
}
