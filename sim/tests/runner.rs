//! Streams and the runner, on a right and on broken designs.

use serde_json::{Value, json};
use sim::stimulus::Stall;
use sim::{Bench, Design, Difference, Error, Mismatch, Port, Result, Run, RunOptions, Sim, Trace, run};

/// A two-entry skid buffer; the defines break it in one way each.
const SKID: &str = "
module skid(input wire clk_i, input wire rst_ni,
            input wire in_valid_i, output wire in_ready_o, input wire signed [15:0] in_data_i, input wire in_last_i,
            output wire out_valid_o, input wire out_ready_i, output wire signed [15:0] out_data_o, output wire out_last_o);
  reg [16:0] front_q, spare_q;
  reg        front_valid_q, spare_valid_q;
  wire       take = in_valid_i && in_ready_o;
  wire       give = out_valid_o && out_ready_i;
  assign in_ready_o = !spare_valid_q;
`ifdef VALID_DROPS
  assign out_valid_o = front_valid_q && (out_ready_i || in_valid_i);
`else
  assign out_valid_o = front_valid_q;
`endif
  assign {out_last_o, out_data_o} = front_q;
  always @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      front_valid_q <= 1'b0;
      spare_valid_q <= 1'b0;
    end else begin
      if (give || !front_valid_q) front_valid_q <= spare_valid_q || take;
`ifdef STUCK
      if (spare_valid_q && give && front_q[15:0] != 16'd7) spare_valid_q <= 1'b0;
`else
      if (spare_valid_q && give) spare_valid_q <= 1'b0;
`endif
      else if (take && front_valid_q && !give) spare_valid_q <= 1'b1;
    end
  always @(posedge clk_i) begin
    if (give || !front_valid_q) front_q <= spare_valid_q ? spare_q : {in_last_i, in_data_i};
`ifdef LOSES
    if (take) spare_q <= {in_last_i, in_data_i & 16'hfffe};
`elsif CHANGES
    if (take) spare_q <= {in_last_i, in_data_i};
    if (!give && spare_valid_q) front_q <= spare_q;
`else
    if (take) spare_q <= {in_last_i, in_data_i};
`endif
`ifdef STOPS
    if (take && in_data_i == 16'd100) begin $display(\"saw %0d\", in_data_i); $stop; end
`endif
  end
endmodule
";

struct SkidBench {
    stalls: (Stall, Stall),
    extra: bool,
}

impl Bench for SkidBench {
    fn block(&self) -> &str {
        "skid"
    }

    fn parameters(&self) -> Value {
        json!({"width": 16, "mode": "two deep"})
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> Result<()> {
        use rand::RngExt;
        let mut rng = run.rng("data");
        let mut beats = Vec::new();
        for i in 0..run.vectors() {
            let data = if i == 40 { 100 } else { rng.random_range(-8_i64..8) };
            let fits = |b: std::result::Result<_, sim::DoesNotFit>| b.map_err(|e| Error::Unsupported(e.to_string()));
            beats.push(vec![fits(sim::Bits::from_i64(16, data))?, fits(sim::Bits::from_u64(1, i % 4 / 3))?]);
        }
        let mut input = run.driver(sim, "in", &["data", "last"], self.stalls.0)?;
        let mut output = run.monitor(sim, "out", &["data", "last"], self.stalls.1)?;
        input.extend(beats.clone())?;
        output.expect(beats.iter().skip(usize::from(self.extra)).cloned())?;
        sim.reset(2)?;
        run.streams(sim, &mut [input], &mut [output])
    }
}

fn bench(input: Stall, output: Stall) -> SkidBench {
    SkidBench { stalls: (input, output), extra: false }
}

fn design(define: &str) -> Design {
    let mut design = Design::from_verilog("skid", SKID);
    design.defines = (!define.is_empty()).then(|| define.to_owned()).into_iter().collect();
    let model = sim::Model::build(&design, &sim::BuildOptions::default()).unwrap();
    let signed = |p: &Port| Port { signed: p.name.contains("data"), ..p.clone() };
    design.ports = model.ports().iter().map(signed).collect();
    design
}

fn options(waves: &tempfile::TempDir) -> RunOptions {
    RunOptions { vectors: 500, patience: 200, waves: Some(waves.path().join("w")), ..RunOptions::default() }
}

/// The report of a broken design under all stall patterns: the first that shows it.
fn failure(define: &str, waves: &tempfile::TempDir) -> Mismatch {
    let design = design(define);
    for input in Stall::ALL {
        for output in Stall::ALL {
            match run(&bench(input, output), &design, &options(waves)) {
                Err(Error::Mismatch(mismatch)) => return *mismatch,
                other => drop(other.unwrap()),
            }
        }
    }
    panic!("`{define}` was not noticed");
}

#[test]
fn right_design_passes_under_all_stalls() {
    let waves = tempfile::tempdir().unwrap();
    let design = design("");
    for input in Stall::ALL {
        for output in Stall::ALL {
            let report = run(&bench(input, output), &design, &options(&waves)).unwrap();
            assert_eq!(report.compared, 500);
            assert_eq!(report.output_stalls == 0, output == Stall::Never, "{input:?} {output:?} {report:?}");
            assert!(report.waveform.is_none());
        }
    }
    let fast = run(&bench(Stall::Never, Stall::Never), &design, &options(&waves)).unwrap();
    // Reset 2, one cycle of latency, 500 beats, 64 quiet cycles.
    assert_eq!(fast.cycles, 567);
    assert!(!waves.path().join("w").exists());
}

#[test]
fn wrong_data_gives_a_complete_report_with_a_waveform() {
    let waves = tempfile::tempdir().unwrap();
    let mismatch = failure("LOSES", &waves);
    let Difference::Value { port, expected, got, place } = &mismatch.difference else { panic!("{mismatch}") };
    assert_eq!(port, "out_data_o");
    // The lost bit is the lowest one of an odd number; signed values read as such.
    let number = |text: &str| text.split(' ').next().unwrap().parse::<i64>().unwrap();
    assert_eq!(number(expected) - 1, number(got), "{mismatch}");
    assert!(place.ends_with("of stream `out`"));
    let text = mismatch.to_string();
    for part in [
        "block:      skid",
        "parameters: {\"width\":16,\"mode\":\"two deep\"}",
        "seed:       1",
        &format!("cycle:      {}", mismatch.cycle),
        "repeat:     senbazuru sim skid --set width=16 --set mode=two deep --seed 1 --vectors 500 --trace",
        "waveform:   ",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(mismatch.waveform_note, None);
    let wave = std::fs::read_to_string(mismatch.waveform.unwrap()).unwrap();
    // The waveform ends with the failing cycle, whose settled values are at 10 k + 5.
    let last = wave.lines().rev().find_map(|l| l.strip_prefix('#')).unwrap();
    assert_eq!(last.parse::<u64>().unwrap(), 10 * mismatch.cycle + 5);
}

#[test]
fn protocol_breaches_are_noticed() {
    let waves = tempfile::tempdir().unwrap();
    let dropped = failure("VALID_DROPS", &waves);
    let Difference::Protocol { port, problem } = &dropped.difference else { panic!("{dropped}") };
    assert_eq!((port.as_str(), problem.as_str()), ("out_valid_o", "valid fell before ready was high"));
    let changed = failure("CHANGES", &waves);
    let Difference::Protocol { port, problem } = &changed.difference else { panic!("{changed}") };
    assert!(port.starts_with("out_") && problem.contains("while valid waited for ready"), "{changed}");
}

#[test]
fn deadlock_tells_which_streams_wait() {
    let waves = tempfile::tempdir().unwrap();
    let mut options = options(&waves);
    // A monitor that expects one beat more than there are waits for ever.
    struct Short;
    impl Bench for Short {
        fn block(&self) -> &str {
            "skid"
        }
        fn run(&self, sim: &mut Sim, run: &mut Run) -> Result<()> {
            let mut input = run.driver(sim, "in", &["data"], Stall::Never)?;
            let mut output = run.monitor(sim, "out", &["data"], Stall::Never)?;
            input.extend_u64([1, 2, 3])?;
            output.expect_u64([1, 2, 3, 4])?;
            sim.reset(1)?;
            run.streams(sim, &mut [input], &mut [output])
        }
    }
    options.command = Some("repeat me".into());
    let error = run(&Short, &design(""), &options).unwrap_err();
    let Difference::Deadlock { cycles, streams } = &error.mismatch().unwrap().difference else { panic!("{error}") };
    assert_eq!(*cycles, 200);
    assert_eq!(streams[0], "input stream `in`: 3 beats taken, 0 left, not offering");
    assert_eq!(streams[1], "output stream `out`: 3 beats received, 1 missing, valid low");
    assert!(error.to_string().contains("repeat:     repeat me"), "{error}");
}

#[test]
fn repeated_beats_and_beats_too_many_are_noticed() {
    let waves = tempfile::tempdir().unwrap();
    let stuck = failure("STUCK", &waves);
    assert!(matches!(stuck.difference, Difference::Value { .. } | Difference::Deadlock { .. }), "{stuck}");
    struct Long;
    impl Bench for Long {
        fn block(&self) -> &str {
            "skid"
        }
        fn run(&self, sim: &mut Sim, run: &mut Run) -> Result<()> {
            let mut input = run.driver(sim, "in", &["data"], Stall::OneIn(20))?;
            let mut output = run.monitor(sim, "out", &["data"], Stall::Never)?;
            input.extend_u64([1, 2, 3])?;
            output.expect_u64([1, 2])?;
            sim.reset(1)?;
            run.streams(sim, &mut [input], &mut [output])
        }
    }
    let error = run(&Long, &design(""), &options(&waves)).unwrap_err().to_string();
    assert!(error.contains("comes after the last expected one"), "{error}");
}

#[test]
fn a_design_that_stops_is_reported_like_a_mismatch() {
    let waves = tempfile::tempdir().unwrap();
    let stopped = failure("STOPS", &waves);
    let Difference::Stopped { log } = &stopped.difference else { panic!("{stopped}") };
    assert!(log.starts_with("saw 100\nskid.v:"), "{log}");
    assert!(stopped.waveform.is_some() && stopped.waveform_note.is_none(), "{stopped}");
}

#[test]
fn waveform_and_coverage_on_request() {
    let waves = tempfile::tempdir().unwrap();
    let options = RunOptions { trace: Trace::Fst, coverage: true, ..options(&waves) };
    let half = Stall::Random { num: 1, den: 2 };
    let report = run(&bench(half, half), &design(""), &options).unwrap();
    assert!(std::fs::metadata(report.waveform.unwrap()).unwrap().len() > 500);
    let coverage = report.coverage.unwrap();
    assert_eq!(coverage.line().percent(), 100.0, "{:?}", coverage.missed());
}

#[test]
fn benches_without_comparison_or_with_wrong_beats_are_refused() {
    struct Empty(&'static [u64]);
    impl Bench for Empty {
        fn block(&self) -> &str {
            "skid"
        }
        fn run(&self, sim: &mut Sim, run: &mut Run) -> Result<()> {
            let mut input = run.driver(sim, "in", &["data", "last"], Stall::Never)?;
            let mut output = run.monitor(sim, "out", &["data"], Stall::Never)?;
            input.extend_u64(self.0.iter().copied())?;
            output.expect_u64([])?;
            run.driver(sim, "none", &[], Stall::Never).err().map_or(Ok(()), |e| {
                assert!(e.to_string().contains("`none_valid_i`"), "{e}");
                sim.reset(1)
            })
        }
    }
    let waves = tempfile::tempdir().unwrap();
    let error = |values| run(&Empty(values), &design(""), &options(&waves)).unwrap_err().to_string();
    assert_eq!(error(&[]), "the bench of `skid` compared nothing");
    assert_eq!(error(&[1]), "stream `in` has 2 fields: give whole beats");
}

#[test]
fn bench_that_is_not_a_function_of_the_seed_is_found_out() {
    use std::sync::atomic::{AtomicU64, Ordering};
    struct Drifting(AtomicU64);
    impl Bench for Drifting {
        fn block(&self) -> &str {
            "skid"
        }
        fn run(&self, sim: &mut Sim, run: &mut Run) -> Result<()> {
            sim.reset(1)?;
            sim.cycles(self.0.fetch_add(1, Ordering::Relaxed))?;
            let valid = sim.output("out_valid_o")?;
            run.expect_u64(sim, valid, 1)
        }
    }
    let waves = tempfile::tempdir().unwrap();
    let error = run(&Drifting(AtomicU64::new(3)), &design(""), &options(&waves)).unwrap_err().to_string();
    assert!(error.contains("expected:   1 (1'h1)") && error.contains("not deterministic"), "{error}");
}
