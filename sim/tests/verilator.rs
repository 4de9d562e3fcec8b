//! Compile, load and drive small designs.

use sim::{Bits, BuildOptions, Cache, Design, Dir, Error, Initial, Model, Port, SourceFile, Trace};

fn build(top: &str, text: &str) -> Model {
    Model::build(&Design::from_verilog(top, text), &BuildOptions::default()).unwrap()
}

const COUNTER: &str = "
module counter(input wire clk_i, input wire rst_ni, input wire en_i, input wire [7:0] step_i,
               output wire [31:0] count_o, output wire [31:0] next_o);
  reg [31:0] count_q;
  assign next_o = count_q + {24'd0, step_i};
  always @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) count_q <= 32'd0; else if (en_i) count_q <= next_o;
  assign count_o = count_q;
endmodule
";

#[test]
fn counter_follows_the_contract_of_settle_and_tick() {
    let mut sim = build("counter", COUNTER).instance_with(Initial::Random(3)).unwrap();
    let (en, step) = (sim.input("en_i").unwrap(), sim.input("step_i").unwrap());
    let (count, next) = (sim.output("count_o").unwrap(), sim.output("next_o").unwrap());
    sim.reset(2).unwrap();
    assert_eq!((sim.peek_u64(count), sim.cycle_count()), (0, 2));

    sim.poke_u64(en, 1);
    sim.poke_u64(step, 5);
    sim.settle().unwrap();
    assert_eq!((sim.peek_u64(count), sim.peek_u64(next)), (0, 5));
    sim.tick().unwrap();
    assert_eq!((sim.peek_u64(count), sim.peek_u64(next)), (5, 10), "outputs show the new state after the edge");

    // An input changed after a settle is seen by the next one in the same cycle.
    sim.settle().unwrap();
    sim.poke_u64(step, 7);
    sim.settle().unwrap();
    assert_eq!((sim.peek_u64(count), sim.peek_u64(next)), (5, 12));
    sim.poke_u64(step, 5);

    // Without a settle in between, and with an input changed after one.
    sim.tick().unwrap();
    sim.settle().unwrap();
    sim.poke_u64(step, 100);
    sim.tick().unwrap();
    assert_eq!(sim.peek_u64(count), 110);
    sim.cycles(1000).unwrap();
    assert_eq!((sim.peek_u64(count), sim.cycle_count()), (100_110, 1005));
    sim.poke_u64(en, 0);
    sim.tick().unwrap();
    assert_eq!(sim.peek_u64(count), 100_110);
}

#[test]
fn values_that_do_not_fit_are_reported_with_port_and_cycle() {
    let mut sim = build("counter", COUNTER).instance().unwrap();
    let step = sim.input("step_i").unwrap();
    sim.cycles(3).unwrap();
    sim.poke_u64(step, 256);
    let error = sim.tick().unwrap_err().to_string();
    assert_eq!(error, "cycle 3: 256 does not fit the 8-bit input `step_i`");
    sim.poke_i64(step, -129);
    assert!(sim.settle().is_err());
    sim.poke(step, &Bits::zero(9));
    assert!(sim.cycles(1).is_err());
    sim.poke_i64(step, -128);
    sim.settle().unwrap();
}

#[test]
fn unknown_ports_list_the_known_ones() {
    let sim = build("counter", COUNTER).instance().unwrap();
    let error = sim.input("count_o").unwrap_err().to_string();
    assert_eq!(error, "`counter` has no input `count_o`; its inputs are: clk_i, rst_ni, en_i, step_i");
    assert!(matches!(sim.output("nothing"), Err(Error::UnknownPort { .. })));
}

#[test]
fn described_ports_must_be_those_of_the_verilog() {
    let port = |name: &str, dir, width| Port { name: name.into(), dir, width, signed: false };
    let mut design = Design::from_verilog("counter", COUNTER);
    design.ports = vec![port("clk_i", Dir::Input, 1), port("step_i", Dir::Input, 9)];
    let error = Model::build(&design, &BuildOptions::default()).unwrap_err().to_string();
    assert!(error.contains("`step_i` is described as input of 9 bits; in Verilog it is input of 8 bits"), "{error}");
    assert!(error.contains("output `count_o` is missing"), "{error}");
}

#[test]
fn wide_port_passes_every_bit() {
    let text =
        "module wide(input wire clk_i, input wire [4096:0] data_i, output reg [4096:0] data_o, output wire odd_o);
      always @(posedge clk_i) data_o <= data_i;
      assign odd_o = ^data_i;
    endmodule";
    let mut sim = build("wide", text).instance().unwrap();
    let (data_i, data_o, odd) =
        (sim.input("data_i").unwrap(), sim.output("data_o").unwrap(), sim.output("odd_o").unwrap());
    let mut rng = sim::stimulus::rng(seeds::seed(7));
    let mut values: Vec<Bits> = (0..50).map(|_| Bits::random(4097, &mut rng)).collect();
    values.extend([Bits::zero(4097), Bits::ones(4097)]);
    let mut top_bit = Bits::zero(4097);
    top_bit.set_bit(4096, true);
    values.push(top_bit);
    for value in values {
        sim.poke(data_i, &value);
        sim.tick().unwrap();
        assert_eq!(sim.peek(data_o), value);
        let ones: u32 = value.words().iter().map(|w| w.count_ones()).sum();
        assert_eq!(sim.peek_u64(odd), u64::from(ones % 2));
    }
    sim.poke_words(data_i, &[7, 9]);
    sim.tick().unwrap();
    assert_eq!(sim.peek(data_o).to_u64(), Some(9 << 32 | 7));
    let mut words = vec![0_u32; 129];
    words[128] = 2;
    sim.poke_words(data_i, &words);
    assert!(sim.tick().is_err(), "bit 4097 does not exist");
}

#[test]
fn signed_ports_of_every_storage_class() {
    let widths = [1_u32, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65];
    let ports: String = widths
        .iter()
        .map(|w| format!(", input wire signed [{m}:0] a{w}_i, output wire signed [{m}:0] a{w}_o", m = w - 1))
        .collect();
    let body: String = widths.iter().map(|w| format!("assign a{w}_o = ~a{w}_i;\n")).collect();
    let mut design = Design::from_verilog(
        "signs",
        &format!("module signs(input wire x__y_i, output wire int{ports});\nassign int = x__y_i;\n{body}endmodule"),
    );
    design.files[0].text = design.files[0].text.replace(" int", " bool");
    let model = Model::build(&design, &BuildOptions::default()).unwrap();
    let mut sim = model.instance().unwrap();
    for width in widths {
        let (a, b) = (sim.input(&format!("a{width}_i")).unwrap(), sim.output(&format!("a{width}_o")).unwrap());
        let low = if width >= 64 { i64::MIN } else { -(1 << (width - 1)) };
        for value in [low, low + 1, -1, 0, !low] {
            sim.poke_i64(a, value);
            sim.settle().unwrap();
            let read = if width <= 64 { sim.peek_i64(b) } else { sim.peek(b).to_i64().unwrap() };
            assert_eq!(read, !value, "{width} bits");
        }
    }
    // Names that C++ cannot hold keep their Verilog form here.
    let (x, y) = (sim.input("x__y_i").unwrap(), sim.output("bool").unwrap());
    sim.poke_u64(x, 1);
    sim.settle().unwrap();
    assert_eq!(sim.peek_u64(y), 1);
    let error = sim.tick().unwrap_err();
    assert_eq!(error.to_string(), "design `signs` has no clock: use `settle`");
}

const STOPPER: &str = "
module stopper(input wire clk_i, input wire [7:0] limit_i, input wire finish_i, output wire [7:0] count_o);
  reg [7:0] count_q = 8'd0;
  always @(posedge clk_i) begin
    count_q <= count_q + 8'd1;
    if (count_q == limit_i) begin $display(\"limit %0d reached\", limit_i); $stop; end
    if (finish_i) $finish;
  end
  assign count_o = count_q;
endmodule
";

#[test]
fn stop_is_an_error_and_not_the_end_of_the_process() {
    let model = build("stopper", STOPPER);
    let mut sim = model.instance().unwrap();
    let limit = sim.input("limit_i").unwrap();
    sim.poke_u64(limit, 4);
    let Err(Error::Stopped { cycle, log }) = sim.cycles(100) else { panic!("must stop") };
    assert_eq!((cycle, log.as_str()), (5, "limit 4 reached\nstopper.v:6: $stop"));
    // Another instance, driven from another thread, is not affected.
    let other = std::thread::spawn(move || {
        let mut sim = model.instance().unwrap();
        let (limit, finish) = (sim.input("limit_i").unwrap(), sim.input("finish_i").unwrap());
        sim.poke_u64(limit, 200);
        sim.cycles(100).unwrap();
        assert!(!sim.finished());
        sim.poke_u64(finish, 1);
        sim.tick().unwrap();
        assert!(sim.finished());
    });
    other.join().unwrap();
    sim.poke_u64(limit, 200);
    sim.cycles(10).unwrap();
    assert_eq!(sim.cycle_count(), 15);
}

#[test]
fn instances_on_one_thread_keep_their_own_messages() {
    let model = build("stopper", STOPPER);
    let mut sims: Vec<_> = (0..3).map(|_| model.instance().unwrap()).collect();
    for (i, sim) in sims.iter_mut().enumerate() {
        let limit = sim.input("limit_i").unwrap();
        sim.poke_u64(limit, 2 + i as u64);
    }
    for cycle in 1..=5_u64 {
        for (i, sim) in sims.iter_mut().enumerate() {
            let result = sim.tick();
            assert_eq!(result.is_err(), cycle == 3 + i as u64, "instance {i} in cycle {cycle}: {result:?}");
            if let Err(error) = result {
                assert!(error.to_string().contains(&format!("limit {} reached", 2 + i)), "{error}");
            }
        }
    }
}

#[test]
fn failing_assertion_and_endless_loop_are_errors() {
    let assertion = "module checked(input wire clk_i, input wire a_i);
      always @(posedge clk_i) assert (!a_i);
    endmodule";
    let mut sim = build("checked", assertion).instance().unwrap();
    let a = sim.input("a_i").unwrap();
    sim.cycles(5).unwrap();
    sim.poke_u64(a, 1);
    let error = sim.tick().unwrap_err().to_string();
    assert!(error.starts_with("cycle 6: ") && error.contains("checked.v:2"), "{error}");

    let ring = "module ring(input wire go_i, output wire b_o);
      wire a; assign a = go_i & ~b_o; assign b_o = a;
    endmodule";
    let mut sim = build("ring", ring).instance().unwrap();
    let go = sim.input("go_i").unwrap();
    sim.settle().unwrap();
    sim.poke_u64(go, 1);
    let error = sim.settle().unwrap_err().to_string();
    assert!(error.contains("converge"), "{error}");
    assert!(sim.settle().is_err(), "a broken evaluation cannot be continued");
}

#[test]
fn verilog_errors_are_shown_with_file_and_line() {
    let design = Design::from_verilog("broken", "module broken(input wire a_i);\n  assign x = ;\nendmodule");
    let error = Model::build(&design, &BuildOptions::default()).unwrap_err();
    let Error::Verilog { top, log } = error else { panic!("{error}") };
    assert_eq!(top, "broken");
    assert!(log.starts_with("%Error: broken.v:2:14: syntax error"), "{log}");
    assert!(!log.contains("Exiting"), "{log}");

    let mut design = Design::from_verilog("a", "module a; endmodule");
    design.files.push(SourceFile { name: "../b.v".into(), text: String::new() });
    assert!(matches!(Model::build(&design, &BuildOptions::default()), Err(Error::Design { .. })));
}

#[test]
fn instances_move_between_threads_and_run_in_parallel() {
    let models = [build("counter", COUNTER), build("stopper", STOPPER)];
    std::thread::scope(|scope| {
        for worker in 0..8_u64 {
            let model = models[(worker % 2) as usize].clone();
            scope.spawn(move || {
                for round in 0..20_u64 {
                    let mut sim = model.instance_with(Initial::Random(round)).unwrap();
                    let out = sim.output("count_o").unwrap();
                    if model.top() == "counter" {
                        let (en, step) = (sim.input("en_i").unwrap(), sim.input("step_i").unwrap());
                        sim.reset(1).unwrap();
                        sim.poke_u64(en, 1);
                        sim.poke_u64(step, worker + 1);
                        sim.cycles(500).unwrap();
                        let mut sim = std::thread::spawn(move || {
                            sim.cycles(500).unwrap();
                            sim
                        })
                        .join()
                        .unwrap();
                        sim.tick().unwrap();
                        assert_eq!(sim.peek_u64(out), 1001 * (worker + 1));
                    } else {
                        let limit = sim.input("limit_i").unwrap();
                        sim.poke_u64(limit, 50 + round);
                        let Err(Error::Stopped { cycle, .. }) = sim.cycles(256) else { panic!("must stop") };
                        assert_eq!(cycle, 51 + round);
                    }
                }
            });
        }
    });
}

#[test]
fn random_initial_state_is_repeatable_and_differs_by_seed() {
    let text = "module state(input wire clk_i, output wire [63:0] q_o); reg [63:0] q; always @(posedge clk_i) q <= q; assign q_o = q; endmodule";
    let model = build("state", text);
    let first = |initial| {
        let mut sim = model.instance_with(initial).unwrap();
        let out = sim.output("q_o").unwrap();
        sim.settle().unwrap();
        sim.peek_u64(out)
    };
    assert_eq!(first(Initial::Zero), 0);
    assert_eq!(first(Initial::Random(1)), first(Initial::Random(1)));
    assert_ne!(first(Initial::Random(1)), first(Initial::Random(2)));
}

#[test]
fn waveforms_hold_the_run_in_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    for trace in [Trace::Vcd, Trace::Fst] {
        let options = BuildOptions { trace, ..BuildOptions::default() };
        let model = Model::build(&Design::from_verilog("counter", COUNTER), &options).unwrap();
        let mut sim = model.instance().unwrap();
        let (en, step) = (sim.input("en_i").unwrap(), sim.input("step_i").unwrap());
        let path = folder.path().join(format!("counter.{}", trace.extension()));
        sim.open_trace(&path).unwrap();
        assert!(sim.open_trace(&path).is_err(), "already open");
        sim.reset(1).unwrap();
        sim.poke_u64(en, 1);
        for value in 1..=3 {
            sim.poke_u64(step, value);
            sim.tick().unwrap();
        }
        sim.close_trace().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() > 200, "{}", bytes.len());
        if trace == Trace::Vcd {
            let text = String::from_utf8(bytes).unwrap();
            let id = text.lines().find(|l| l.contains(" count_o ")).unwrap().split_whitespace().nth(3).unwrap();
            let mut time = 0;
            let mut changes = Vec::new();
            for line in text.lines() {
                if let Some(now) = line.strip_prefix('#') {
                    time = now.parse::<u64>().unwrap();
                } else if let Some((value, name)) = line.strip_prefix('b').and_then(|l| l.split_once(' '))
                    && name == id
                {
                    changes.push((time, u64::from_str_radix(value, 2).unwrap()));
                }
            }
            // The edge that ends cycle k is at 10 (k + 1); the reset took cycle 0.
            assert_eq!(changes, [(5, 0), (20, 1), (30, 3), (40, 6)]);
        }
    }
    let mut plain = build("counter", COUNTER).instance().unwrap();
    assert!(matches!(plain.open_trace(&folder.path().join("x.vcd")), Err(Error::Unsupported(_))));
}

#[test]
fn coverage_counts_lines_and_toggles() {
    let options = BuildOptions { coverage: true, ..BuildOptions::default() };
    let model = Model::build(&Design::from_verilog("counter", COUNTER), &options).unwrap();
    let mut sim = model.instance().unwrap();
    sim.reset(1).unwrap();
    sim.cycles(10).unwrap();
    let idle = sim.coverage().unwrap();
    let (en, step) = (sim.input("en_i").unwrap(), sim.input("step_i").unwrap());
    sim.poke_u64(en, 1);
    sim.poke_u64(step, 255);
    sim.cycles(10_000).unwrap();
    let busy = sim.coverage().unwrap();
    assert!(busy.line().hit > idle.line().hit, "{} then {}", idle.line(), busy.line());
    assert!(busy.toggle().hit > idle.toggle().hit + 20, "{} then {}", idle.toggle(), busy.toggle());
    assert_eq!(busy.line().percent(), 100.0, "{:?}", busy.missed());
    assert!(idle.missed().iter().any(|m| m.starts_with("counter.v:7")), "{:?}", idle.missed());
    let mut merged = idle.clone();
    merged.merge(&busy);
    assert_eq!(merged.line(), busy.line());

    // Verilator's own tool merges two runs to the same counts.
    let folder = tempfile::tempdir().unwrap();
    sim.write_coverage(&folder.path().join("a.dat")).unwrap();
    model.instance().unwrap().write_coverage(&folder.path().join("b.dat")).unwrap();
    let tool = sim::process::Tool::new("verilator_coverage").args(["--write", "all.dat", "a.dat", "b.dat"]);
    assert!(tool.dir(folder.path()).run().unwrap().success());
    let mut ours = sim::Coverage::read(&folder.path().join("b.dat")).unwrap();
    assert_eq!((ours.line().hit, ours.line().total), (0, busy.line().total));
    ours.merge(&busy);
    assert_eq!(ours, sim::Coverage::read(&folder.path().join("all.dat")).unwrap());
}

#[test]
fn cache_keeps_builds_apart_and_finds_them_again() {
    let root = tempfile::tempdir().unwrap();
    let options = BuildOptions { cache: Cache::At(root.path().into()), ..BuildOptions::default() };
    let design = Design::from_verilog("counter", COUNTER);
    let first = Model::build(&design, &options).unwrap();
    let again = Model::build(&design, &options).unwrap();
    assert_eq!(first.library_path(), again.library_path());
    let mut changed = design.clone();
    changed.files[0].text.push(' ');
    let mut defined = design.clone();
    defined.defines.push("X=1".into());
    let traced = BuildOptions { trace: Trace::Vcd, ..options.clone() };
    for (design, options) in [(&changed, &options), (&defined, &options), (&design, &traced)] {
        assert_ne!(Model::build(design, options).unwrap().library_path(), first.library_path());
    }
    assert_eq!(std::fs::read_dir(root.path().join("models")).unwrap().count(), 4);
}

#[test]
fn words_of_64_bits_go_in_and_out_of_ports_of_any_width() {
    for width in [1_u32, 8, 33, 64, 65, 96, 100, 128, 200] {
        let top = width - 1;
        let text =
            format!("module wide(input wire [{top}:0] a_i, output wire [{top}:0] a_o);\n assign a_o = a_i;\nendmodule");
        let mut sim = build("wide", &text).instance().unwrap();
        let (input, output) = (sim.input("a_i").unwrap(), sim.output("a_o").unwrap());
        let ones = Bits::ones(width);
        sim.poke_u64s(input, &[u64::MAX; 5]);
        sim.settle().unwrap();
        assert_eq!(sim.peek(output), ones, "bits above the port are dropped");
        let mut words = [7; 5];
        sim.peek_u64s(output, &mut words);
        for (i, word) in words.into_iter().enumerate() {
            let left = width.saturating_sub(64 * i as u32);
            assert_eq!(word, if left >= 64 { u64::MAX } else { (1 << left) - 1 }, "{width} bits, word {i}");
        }
        sim.poke_u64s(input, &[0]);
        sim.settle().unwrap();
        assert_eq!(sim.peek(output), Bits::zero(width), "missing words are zero");
        let mut low = [7];
        sim.peek_u64s(output, &mut low);
        assert_eq!(low, [0]);
    }
}
