//! Synthesis and prover on small hand-written modules, whose answers are known.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::library::tiny_library;
use hdl::emit::{Manifest, ManifestModule};
use senbazuru::flows::lint::{Sources, lint};
use senbazuru::flows::prove::{self, Kind, Verdict, prove};
use senbazuru::flows::synth::{self, Graph, synthesise};
use sim::SourceFile;

fn sources(text: &str) -> Sources {
    let files = vec![SourceFile { name: "top.v".into(), text: text.into() }];
    Sources { top: "top".into(), files, widest_port: 0, netlist: None }
}

/// A file for each module, as this generator makes them.
fn file_by_file(text: &str) -> Sources {
    let file = |module: &str| {
        let name = module.split_once("module ").unwrap().1.split('(').next().unwrap();
        SourceFile { name: format!("{name}.v"), text: format!("{module}endmodule\n") }
    };
    let files = text.trim_end().trim_end_matches("endmodule").split("endmodule\n").map(file).collect();
    Sources { files, ..sources(text) }
}

fn module(name: &str, instances: u64) -> ManifestModule {
    let (block, parameters, children) = (name.to_owned(), serde_json::Value::Null, BTreeMap::new());
    ManifestModule { name: name.into(), block, parameters, instances, children, black_box: false, memories: vec![] }
}

fn manifest(modules: Vec<ManifestModule>) -> Manifest {
    Manifest {
        generator: String::new(),
        top: "top".into(),
        block: "top".into(),
        parameters: serde_json::Value::Null,
        clock: None,
        reset: None,
        timing: hdl::lang::Timing::new(),
        operations: Vec::new(),
        registers: None,
        ports: vec![],
        modules,
    }
}

const PAIR: &str = "
module leaf(input wire clk_i, input wire rst_ni, input wire [7:0] a_i, input wire [7:0] b_i, output reg [7:0] q_o);
  always @(posedge clk_i or negedge rst_ni) if (!rst_ni) q_o <= 8'd0; else q_o <= a_i & b_i;
endmodule
module top(input wire clk_i, input wire rst_ni, input wire [7:0] a_i, input wire [7:0] b_i, output wire [15:0] q_o);
  leaf u_x (.clk_i(clk_i), .rst_ni(rst_ni), .a_i(a_i), .b_i(b_i), .q_o(q_o[7:0]));
  leaf u_y (.clk_i(clk_i), .rst_ni(rst_ni), .a_i(~a_i), .b_i(b_i), .q_o(q_o[15:8]));
endmodule
";

#[test]
fn flat_counts() {
    let report = synthesise(&sources(PAIR), &manifest(vec![module("top", 1)]), &synth::Options::default()).unwrap();
    assert_eq!((report.modules.len(), report.total.flip_flops, report.total.memory_bits), (1, 16, 0));
    // The asynchronous resets are no logic.
    let graph = Graph { and_nodes: 16, levels: 1 };
    assert_eq!(report.aig.map(|a| (a.strash, a.dc2)), Some((graph, graph)));
}

#[test]
fn hierarchical_total_is_the_sum_of_all_instances() {
    let options = synth::Options { hierarchical: true, liberty: vec![], ..synth::Options::default() };
    let manifest = manifest(vec![module("leaf", 2), module("top", 1)]);
    let report = synthesise(&file_by_file(PAIR), &manifest, &options).unwrap();
    let lines: Vec<_> =
        report.modules.iter().map(|m| (m.name.as_str(), m.instances, m.own.gates, m.own.flip_flops)).collect();
    assert_eq!(lines, [("leaf", 2, 8, 8), ("top", 1, 8, 0)]);
    assert_eq!((report.total.gates, report.total.flip_flops), (24, 16));
    assert_eq!((report.total.cells["$_AND_"], report.total.cells["$_NOT_"]), (16, 8));
}

#[test]
fn three_levels_of_hierarchy() {
    let text = "
module leaf(input wire a_i, input wire b_i, output wire q_o);
  assign q_o = a_i & b_i;
endmodule
module middle(input wire [1:0] a_i, output wire q_o);
  leaf u_leaf (.a_i(a_i[0]), .b_i(a_i[1]), .q_o(q_o));
endmodule
module top(input wire [1:0] a_i, output wire q_o);
  middle u_middle (.a_i(a_i), .q_o(q_o));
endmodule
";
    let manifest = manifest(vec![module("leaf", 1), module("middle", 1), module("top", 1)]);
    let options = synth::Options { hierarchical: true, liberty: vec!["osu018".into()], ..synth::Options::default() };
    let report = synthesise(&file_by_file(text), &manifest, &options).unwrap();
    assert_eq!((report.modules.len(), report.total.gates), (3, 1));
    assert_eq!(report.mapped.unwrap().cells, BTreeMap::from([("AND2X1".to_owned(), 1)]));
}

#[test]
fn enables_and_synchronous_resets_are_logic() {
    let text = "
module top(input wire clk_i, input wire rst_ni, input wire en_i, input wire [7:0] d_i, output reg [7:0] q_o);
  always @(posedge clk_i) if (!rst_ni) q_o <= 8'd0; else if (en_i) q_o <= d_i;
endmodule
";
    let report = synthesise(&sources(text), &manifest(vec![module("top", 1)]), &synth::Options::default()).unwrap();
    // A multiplexer of three nodes and the reset, for each bit.
    assert_eq!(report.aig.map(|a| a.dc2), Some(Graph { and_nodes: 32, levels: 3 }));
}

#[test]
fn memory_bits_are_counted() {
    let text = "
module top(input wire clk_i, input wire en_i, input wire [3:0] a_i, input wire [7:0] d_i, output reg [7:0] q_o);
  reg [7:0] memory [0:15];
  always @(posedge clk_i) if (en_i) memory[a_i] <= d_i;
  always @(posedge clk_i) q_o <= memory[a_i];
endmodule
";
    let report = synthesise(&sources(text), &manifest(vec![module("top", 1)]), &synth::Options::default()).unwrap();
    assert_eq!((report.total.memory_bits, report.total.flip_flops), (128, 136));
}

/// A memory of 16 bytes with an enable, twice.
const TWO_MEMORIES: &str = "
module leaf(input wire clk_i, input wire en_i, input wire [3:0] a_i, input wire [7:0] d_i, output reg [7:0] q_o);
  reg [7:0] memory [0:15];
  always @(posedge clk_i) if (en_i) memory[a_i] <= d_i;
  always @(posedge clk_i) q_o <= memory[a_i];
endmodule
module top(input wire clk_i, input wire [1:0] en_i, input wire [3:0] a_i, input wire [7:0] d_i, output wire [7:0] q_o);
  wire [7:0] q_x;
  wire [7:0] q_y;
  leaf u_x (.clk_i(clk_i), .en_i(en_i[0]), .a_i(a_i), .d_i(d_i), .q_o(q_x));
  leaf u_y (.clk_i(clk_i), .en_i(en_i[1]), .a_i(a_i), .d_i(d_i), .q_o(q_y));
  assign q_o = q_x & q_y;
endmodule
";

#[test]
fn memories_can_be_bits_only() {
    let manifest = manifest(vec![module("leaf", 2), module("top", 1)]);
    for hierarchical in [false, true] {
        let liberty = vec!["osu018".into()];
        let jobs = std::num::NonZeroUsize::new(2);
        let options =
            synth::Options { hierarchical, memories: synth::Memories::Bits, liberty, jobs, ..Default::default() };
        let report = synthesise(&file_by_file(TWO_MEMORIES), &manifest, &options).unwrap();
        let lines: Vec<_> =
            report.modules.iter().map(|m| (m.name.as_str(), m.instances, m.own.gates, m.own.memory_bits)).collect();
        assert_eq!(lines, [("leaf", 2, 0, 128), ("top", 1, 8, 0)]);
        assert_eq!((report.total.gates, report.total.flip_flops, report.total.memory_bits), (8, 0, 256));
        assert_eq!(report.mapped.unwrap().cells, BTreeMap::from([("AND2X1".to_owned(), 8)]));
        assert_eq!(report.aig.map(|a| a.dc2.and_nodes), (!hierarchical).then_some(8));
    }
}

/// A design without a memory does not change.
#[test]
fn no_memory_is_left_out_where_there_is_none() {
    let options = synth::Options { memories: synth::Memories::Bits, ..synth::Options::default() };
    let report = synthesise(&sources(PAIR), &manifest(vec![module("top", 1)]), &options).unwrap();
    assert_eq!((report.modules.len(), report.total.flip_flops, report.total.memory_bits), (1, 16, 0));
}

#[test]
fn black_boxes_are_cells() {
    let text = TWO_MEMORIES
        .replace("  reg [7:0] memory [0:15];\n", "")
        .replace("  always @(posedge clk_i) if (en_i) memory[a_i] <= d_i;\n", "");
    let text = text.replace("  always @(posedge clk_i) q_o <= memory[a_i];\n", "").replace("output reg", "output wire");
    let leaf = ManifestModule { black_box: true, ..module("leaf", 2) };
    let options = synth::Options { hierarchical: true, ..synth::Options::default() };
    let report = synthesise(&file_by_file(&text), &manifest(vec![leaf, module("top", 1)]), &options).unwrap();
    assert_eq!((report.modules.len(), report.total.cells["leaf"], report.total.gates), (1, 2, 10));
}

#[test]
fn shares_count_what_is_inside() {
    let mut top = module("top", 1);
    top.children = BTreeMap::from([("leaf".to_owned(), 2)]);
    let options = synth::Options { hierarchical: true, liberty: vec!["osu018".into()], ..synth::Options::default() };
    let report = synthesise(&file_by_file(PAIR), &manifest(vec![module("leaf", 2), top]), &options).unwrap();
    let [leaf, top] = &report.modules[..] else { panic!("{:?}", report.modules) };
    let area = |m: &synth::ModuleReport| m.mapped.as_ref().unwrap().area;
    assert_eq!(top.share, Some(1.0));
    assert_eq!(leaf.share, Some(2.0 * area(leaf) / (2.0 * area(leaf) + area(top))));
}

#[test]
fn neither_names_of_cells_nor_units_matter() {
    let folder = tempfile::tempdir().unwrap();
    let text = "module top(input wire clk_i, input wire [3:0] a_i, input wire [3:0] b_i, output reg [7:0] q_o);\n\
        always @(posedge clk_i) q_o <= a_i * b_i;\nendmodule\n";
    let mut found = Vec::new();
    for (units, time, load) in [
        ("time_unit : \"1ns\"; capacitive_load_unit (1, ff);", 1.0, 1.0),
        ("time_unit : \"1ps\"; capacitive_load_unit (1, pf);", 1000.0, 0.001),
        ("time_unit : \"10ps\"; capacitive_load_unit (1, ff);", 100.0, 1.0),
    ] {
        let path = folder.path().join("tiny.lib");
        fs::write(&path, tiny_library(units, time, load)).unwrap();
        let options = synth::Options { hierarchical: false, liberty: vec![path], ..synth::Options::default() };
        let report = synthesise(&sources(text), &manifest(vec![module("top", 1)]), &options).unwrap();
        let mapped = report.mapped.unwrap();
        assert_eq!((report.library.as_deref(), mapped.sequential), (Some("tiny"), 8));
        let area: f64 = mapped
            .cells
            .iter()
            .map(|(name, n)| {
                *n as f64
                    * match name.as_str() {
                        "k9" => 1.0,
                        "q4" => 2.5,
                        "r2" => 3.0,
                        "s7" => 8.0,
                        _ => f64::NAN,
                    }
            })
            .sum();
        assert_eq!(mapped.area, area);
        found.push((mapped.area, mapped.delay_ps.unwrap().round() as i64));
    }
    // At least six NANDs deep, at 0.2 ns and more.
    assert!(found[0].1 > 1200, "{found:?}");
    assert!(found.iter().all(|f| f == &found[0]), "{found:?}");
}

/// Neither the design nor Yosys is to blame.
#[test]
fn libraries_without_what_a_design_needs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("few.lib");
    let all = tiny_library("time_unit : \"1ns\"; capacitive_load_unit (1, ff);", 1.0, 1.0);
    let adder = "module top(input wire [3:0] a_i, input wire [3:0] b_i, output wire [4:0] q_o);\n\
        assign q_o = a_i + b_i;\nendmodule\n";
    let without = |cells: &[&str], text: &str| {
        // One cell stands on one line.
        let kept = all.lines().filter(|line| !cells.iter().any(|cell| line.starts_with(&format!("cell ({cell})"))));
        fs::write(&path, kept.collect::<Vec<_>>().join("\n")).unwrap();
        let options = synth::Options { hierarchical: false, liberty: vec![path.clone()], ..synth::Options::default() };
        let error = synthesise(&sources(text), &manifest(vec![module("top", 1)]), &options).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        error.to_string()
    };
    let text = without(&["s7"], PAIR);
    assert!(text.contains("few.lib has no flip-flop at all"), "{text}");
    // The flip-flop that there is has no reset.
    let text = without(&[], PAIR);
    assert!(text.contains("few.lib has no flip-flop which can stand for one that the design needs"), "{text}");
    let text = without(&["k9", "q4", "r2"], adder);
    assert!(text.contains("few.lib: does it have an inverter, a NAND or NOR"), "{text}");
}

#[test]
fn a_library_that_yosys_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.lib");
    // Well-formed for us, not for Yosys 0.23: an attribute without a value.
    fs::write(
        &path,
        tiny_library("time_unit : \"1ns\"; capacitive_load_unit (1, ff);", 1.0, 1.0)
            .replace("area : 8;", "area : 8; odd : ;"),
    )
    .unwrap();
    let options = synth::Options { hierarchical: false, liberty: vec![path], ..synth::Options::default() };
    let error = synthesise(&sources(PAIR), &manifest(vec![module("top", 1)]), &options).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("cannot use the library") && error.to_string().contains("odd.lib"), "{error}");
}

#[test]
fn area_of_a_library() {
    let manifest = manifest(vec![module("leaf", 2), module("top", 1)]);
    let mapped = |hierarchical| {
        let options = synth::Options { hierarchical, liberty: vec!["osu018".into()], ..synth::Options::default() };
        synthesise(&file_by_file(PAIR), &manifest, &options).unwrap()
    };
    let report = mapped(true);
    let [leaf, top] = [0, 1].map(|module| report.modules[module].mapped.clone().unwrap());
    // AND2X1 has an area of 32 and DFFSR, the only flip-flop with a reset, one of 176; an inverter 16.
    assert_eq!((leaf.cells["DFFSR"], leaf.cells["AND2X1"], leaf.sequential), (8, 8, 8));
    assert_eq!((leaf.area, top.area), (8.0 * (176.0 + 32.0), 8.0 * 16.0));
    let total = report.mapped.unwrap();
    assert_eq!((total.area, total.sequential), (2.0 * 8.0 * (176.0 + 32.0) + 8.0 * 16.0, 16));
    assert_eq!(total.delay_ps, [leaf.delay_ps, top.delay_ps].into_iter().flatten().reduce(f64::max));
    let flat = mapped(false).mapped.unwrap();
    assert!(flat.area > 0.0 && flat.area <= total.area, "{flat:?}");
}

/// A counter that stays at 9, as `FORMAL` sections are printed.
fn counter(properties: &str) -> Sources {
    sources(&format!(
        "
module top(input wire clk_i, input wire rst_ni, input wire en_i, output reg [3:0] count_q);
  always @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) count_q <= 4'd0; else if (en_i && count_q != 4'd9) count_q <= count_q + 4'd1;
`ifdef FORMAL
  reg formal_started = 1'b0;
  always @(posedge clk_i) formal_started <= 1'b1;
  always @* if (!formal_started) assume (!rst_ni);
{properties}
`endif
endmodule
"
    ))
}

fn verdicts(
    sources: &Sources,
    depth: u32,
    induction: bool,
    traces: &Path,
) -> Vec<(String, Kind, Verdict, Option<u32>)> {
    let options = prove::Options {
        depth,
        cover_depth: depth,
        induction,
        solver: "z3".into(),
        limit: Duration::from_secs(60),
        traces: traces.to_owned(),
    };
    let property = |p: prove::Property| {
        assert_eq!(p.trace.is_some(), p.verdict == Verdict::Refuted);
        if let Some(trace) = &p.trace {
            assert!(fs::read_to_string(trace).unwrap().contains("count_q"), "{trace:?}");
        }
        (p.name, p.kind, p.verdict, p.step)
    };
    prove(sources, &options).unwrap().into_iter().map(property).collect()
}

/// A section for proofs of a module alone assumes nothing where the module is an instance.
#[test]
fn an_instance_assumes_nothing_for_its_parent() {
    let parts = file_by_file(
        "\
module child(input wire clk_i, input wire en_i, output wire on_o);
  assign on_o = en_i;
`ifdef FORMAL_ALONE
  always @* assume (!en_i);
  always @(posedge clk_i) off: assert (!on_o);
`endif
endmodule
module top(input wire clk_i, input wire en_i, output wire on_o);
  child u_child (.clk_i(clk_i), .en_i(en_i), .on_o(on_o));
`ifdef FORMAL
  always @(posedge clk_i) never_on: assert (!on_o);
`endif
endmodule
",
    );
    let folder = tempfile::tempdir().unwrap();
    let options = prove::Options {
        depth: 3,
        cover_depth: 3,
        induction: false,
        solver: "z3".into(),
        limit: Duration::from_secs(60),
        traces: folder.path().to_owned(),
    };
    let found = |sources: &Sources| -> Vec<_> {
        prove(sources, &options).unwrap().into_iter().map(|p| (p.name, p.verdict)).collect()
    };
    assert_eq!(found(&parts), [("never_on".to_owned(), Verdict::Refuted)]);
    let child = Sources { top: "child".into(), files: parts.files[..1].to_vec(), ..parts };
    assert_eq!(found(&child), [("off".to_owned(), Verdict::Holds)]);
}

#[test]
fn every_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let check = |properties, depth, induction| verdicts(&counter(properties), depth, induction, folder.path());
    let name = |n: &str| n.to_owned();
    let holds = "always @(posedge clk_i) if (rst_ni) below: assert (count_q < 4'd10);";
    let cover = "always @(posedge clk_i) if (rst_ni) full: cover (count_q == 4'd9);";
    assert_eq!(check(holds, 3, false), [(name("below"), Kind::Assert, Verdict::Holds, None)]);
    assert_eq!(check(holds, 3, true), [(name("below"), Kind::Assert, Verdict::Proved, None)]);
    assert_eq!(check(cover, 11, false), [(name("full"), Kind::Cover, Verdict::Covered, Some(11))]);
    assert_eq!(check(cover, 9, false), [(name("full"), Kind::Cover, Verdict::Unreachable, None)]);
    // Out of reach from reset, but 12 would follow 11: no induction of depth 1 excludes it, an invariant does.
    let weak = "always @(posedge clk_i) if (rst_ni) not_twelve: assert (count_q != 4'd12);";
    assert_eq!(check(weak, 1, true), [(name("not_twelve"), Kind::Assert, Verdict::Proved, None)]);
    let wrong = "always @(posedge clk_i) if (rst_ni) not_five: assert (count_q != 4'd5);";
    assert_eq!(check(wrong, 3, true), [(name("not_five"), Kind::Assert, Verdict::NotInductive, None)]);
    let found = check(&format!("{holds}\n{wrong}"), 12, true);
    assert_eq!(found[0], (name("below"), Kind::Assert, Verdict::Holds, None));
    assert_eq!(found[1], (name("not_five"), Kind::Assert, Verdict::Refuted, Some(7)));
}

/// A register without a first value that holds itself is any constant, to the solver and to the prover of invariants.
#[test]
fn registers_that_hold_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let check = |property: &str| {
        // The second property is beyond induction: the invariant is sought for both.
        let sampled = format!(
            "reg seen = 1'b0; reg [3:0] hold; reg [3:0] copy;
             always @(posedge clk_i) begin
               seen <= 1'b1;
               hold <= hold;
               if (!seen) copy <= hold;
             end
             always @(posedge clk_i) if (rst_ni) same: assert ({property});
             always @(posedge clk_i) if (rst_ni) not_twelve: assert (count_q != 4'd12);"
        );
        verdicts(&counter(&sampled), 1, true, folder.path()).into_iter().map(|p| p.2).collect::<Vec<_>>()
    };
    assert_eq!(check("!seen || copy == hold"), [Verdict::Proved; 2]);
    assert_eq!(check("!seen || copy == 4'd0"), [Verdict::NotInductive; 2]);
}

#[test]
fn properties_in_loops_are_numbered() {
    let folder = tempfile::tempdir().unwrap();
    let looped = "  genvar i;
  generate
    for (i = 0; i < 12; i = i + 1) begin : each
      always @(posedge clk_i) if (rst_ni) assert (count_q
        != i); // not_seen
      always @(posedge clk_i) if (rst_ni) cover (count_q == i); // seen
      wire small = count_q != 4'd15;
      always @(posedge clk_i) if (rst_ni) assert (small);
    end
  endgenerate";
    let found = verdicts(&counter(looped), 12, false, folder.path());
    let of = |name: &str| found.iter().find(|p| p.0 == name).map(|p| (p.1, p.2, p.3)).unwrap();
    assert_eq!(found.len(), 36);
    let bare = verdicts(&counter(&looped.replace("// seen", "")), 1, false, folder.path());
    assert!(bare.iter().any(|p| p.0 == "top.v:14[11]"), "{bare:?}");
    for i in 0..10 {
        assert_eq!(of(&format!("not_seen[{i}]")), (Kind::Assert, Verdict::Refuted, Some(i + 2)));
        assert_eq!(of(&format!("seen[{i}]")).1, Verdict::Covered);
    }
    assert_eq!(of("small[11]"), (Kind::Assert, Verdict::Holds, None));
    for i in 10..12 {
        assert_eq!(of(&format!("not_seen[{i}]")), (Kind::Assert, Verdict::Holds, None));
        assert_eq!(of(&format!("seen[{i}]")), (Kind::Cover, Verdict::Unreachable, None));
    }
}

#[test]
fn lint_sees_latches_loops_and_formal_mistakes() {
    let messages = |text: &str| -> Vec<(&str, String)> {
        let checks = lint(&sources(text)).unwrap();
        checks.into_iter().filter(|c| !c.messages.is_empty()).map(|c| (c.tool, c.messages.join("\n"))).collect()
    };
    let latch = "module top(input wire en_i, input wire d_i, output reg q_o);
  always @* if (en_i) q_o = d_i;
endmodule
";
    let found = messages(latch);
    assert!(found.iter().any(|(tool, text)| *tool == "yosys" && text.contains("dlatch")), "{found:?}");
    let shaky = "module top(input wire a_i, output wire y_o);\n  assign y_o = a_i ^ y_o;\nendmodule\n";
    let found = messages(shaky);
    assert!(found.iter().any(|(tool, text)| *tool == "yosys" && text.contains("loop")), "{found:?}");
    let formal = "module top(input wire clk_i, input wire a_i, output reg y_o);
  always @(posedge clk_i) y_o <= a_i;
`ifdef FORMAL
  always @(posedge clk_i) known: assert (nothing == y_o);
`endif
endmodule
";
    let tools: Vec<_> = messages(formal).into_iter().map(|(tool, _)| tool).collect();
    assert_eq!(tools, ["verilator FORMAL", "yosys FORMAL"]);
}
