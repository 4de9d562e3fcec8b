//! Faults by name: each is proved to be the edit that a person would have made, and names that do not fit are explained.

use serde_json::Value;
use sim::fault::{self, Fault};
use sim::lint::yosys;
use sim::{Bench, Design, Error, Kill, Result, Run, RunOptions, Sim, SourceFile};

/// What our printer prints, in small: arrays of nets in loops, instances in a loop, a memory, conditions, aliases.
const TOP: &str = "
module top (
  input  wire        clk_i,
  input  wire        rst_ni,
  input  wire        enable_i,
  input  wire [3:0]  a_i,
  input  wire [3:0]  b_i,
  output wire [3:0]  sum_o,
  output wire        less_o,
  output wire [3:0]  chain_o,
  output wire [3:0]  word_o,
  output wire        any_o
);
  localparam [1:0] StateIdle = 2'd0;
  wire less = a_i < b_i;
  wire [4:0] total = {1'b0, a_i} + {1'b0, b_i};
  reg  [3:0] sum_q;
  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sum_q <= 4'd0;
    else if (enable_i & !less) sum_q <= total[3:0];
  end
  assign sum_o = sum_q;
  assign less_o = less;

  wire [3:0] link [0:2];
  assign link[0] = a_i;
  genvar i;
  generate
    for (i = 0; i < 2; i = i + 1) begin : stages
      wire [3:0] flipped = link[i] ^ b_i;
      stage_w4 u_stage (.clk_i(clk_i), .x_i(flipped), .y_o(link[i + 1]));
    end
  endgenerate
  assign chain_o = link[2];

  reg [3:0] words [0:3];
  reg [3:0] word_q;
  always @(posedge clk_i) if (enable_i) words[a_i[1:0]] <= b_i;
  always @(posedge clk_i) word_q <= words[b_i[1:0]];
  assign word_o = word_q;

  wire [3:0] masked = a_i & b_i;
  wire [3:0] both = masked | {4{less}};
  assign any_o = |both;
endmodule
";

const STAGE: &str = "
module stage_w4 (input wire clk_i, input wire [3:0] x_i, output wire [3:0] y_o);
  reg [3:0] x_q;
  always @(posedge clk_i) x_q <= x_i;
  assign y_o = x_q;
endmodule
";

fn files(top: &str, stage: &str) -> Vec<SourceFile> {
    [("top.v", top), ("stage.v", stage)]
        .map(|(name, text)| SourceFile { name: name.into(), text: text.into() })
        .to_vec()
}

fn design() -> Design {
    Design { files: files(TOP, STAGE), ..Design::from_verilog("top", TOP) }
}

/// Asks Yosys whether the design with `fault` is the one in which `right` was replaced by `wrong`, and is not the right one.
fn is_the_edit(fault: Fault, right: &str, wrong: &str) {
    // Another fault before it: the number must matter.
    let altered = fault::verilog(&design(), &[Fault::invert("any_o"), fault.clone()]).unwrap_or_else(|e| panic!("{e}"));
    let found = TOP.matches(right).count() + STAGE.matches(right).count();
    assert!(found > 0, "{fault}: no `{right}`");
    let (top, stage) = (TOP.replace(right, wrong), STAGE.replace(right, wrong));
    let same = |number: u32, top: &str, stage: &str| {
        let mut sources = files(top, stage);
        sources.push(SourceFile { name: "altered.v".into(), text: altered.clone() });
        let keep =
            |name: &str| format!("flatten\nmemory -nordff\nopt_clean\nrename top {name}\ndesign -stash {name}\n");
        let script = format!(
            "read_verilog top.v stage.v\nhierarchy -top top\nproc\n{}\
             read_verilog altered.v\nhierarchy -top top\nproc\ncd top\n\
             delete -input w:senbazuru_select_i\nconnect -set senbazuru_select_i 2'd{number}\ncd\n{}\
             design -copy-from edited -as edited edited\ndesign -copy-from altered -as altered altered\n\
             miter -equiv -flatten -make_assert edited altered miter\ncd miter\nasync2sync\ndffunmap\n\
             sat -verify -prove-asserts -tempinduct -seq 1 -set-init-zero\n",
            keep("edited"),
            keep("altered")
        );
        yosys(&script, &sources)
    };
    for (number, top, stage, expected) in
        [(2, top.as_str(), stage.as_str(), true), (0, TOP, STAGE, true), (2, TOP, STAGE, false)]
    {
        match same(number, top, stage) {
            Ok(_) => assert!(expected, "{fault}: changes nothing"),
            Err(Error::Yosys { log, .. }) if log.contains("proof did fail") || log.contains("Called with -verify") => {
                assert!(!expected, "{fault} ({number}): is not the edit\n{log}");
            }
            Err(other) => panic!("{fault}: {other}"),
        }
    }
}

#[test]
fn nets_are_stuck_and_inverted() {
    is_the_edit(Fault::stuck("less", 1), "wire less = a_i < b_i", "wire less = 1'b1");
    is_the_edit(Fault::invert("less_o"), "less_o = less", "less_o = !less");
    is_the_edit(Fault::stuck("total", 9), "{1'b0, a_i} + {1'b0, b_i}", "5'd9");
    is_the_edit(Fault::invert("total[2]"), "{1'b0, a_i} + {1'b0, b_i}", "5'd4 ^ ({1'b0, a_i} + {1'b0, b_i})");
    is_the_edit(Fault::stuck("masked[2:1]", 0), "= a_i & b_i", "= a_i & b_i & 4'b1001");
    is_the_edit(Fault::invert("sum_q"), "sum_o = sum_q", "sum_o = ~sum_q");
    is_the_edit(Fault::invert("word_q"), "word_o = word_q", "word_o = ~word_q");
}

#[test]
fn an_input_is_broken_for_all_that_read_it() {
    is_the_edit(Fault::stuck("enable_i", 1), "(enable_i", "(1'b1");
    is_the_edit(Fault::invert("x_i").in_module("stage"), "x_q <= x_i", "x_q <= ~x_i");
}

#[test]
fn arrays_and_loops() {
    is_the_edit(Fault::stuck("link[0]", 5), "link[0] = a_i", "link[0] = 4'd5");
    is_the_edit(Fault::invert("link[1]"), "= link[i] ^ b_i", "= link[i] ^ b_i ^ {4{i == 1}}");
    is_the_edit(Fault::stuck("flipped", 3), "= link[i] ^ b_i", "= 4'd3");
    is_the_edit(Fault::stuck("stages.flipped", 3), "= link[i] ^ b_i", "= 4'd3");
    is_the_edit(Fault::stuck("stages[1].flipped", 3), "= link[i] ^ b_i", "= i == 1 ? 4'd3 : link[i] ^ b_i");
    is_the_edit(Fault::stuck("stages[1].u_stage.x_i", 6), ".x_i(flipped)", ".x_i(i == 1 ? 4'd6 : flipped)");
    is_the_edit(Fault::invert("u_stage.x_i"), ".x_i(flipped)", ".x_i(~flipped)");
}

#[test]
fn operators_are_exchanged() {
    is_the_edit(Fault::swap_operator("less", "<", "<="), "a_i < b_i", "a_i <= b_i");
    is_the_edit(Fault::swap_operator("total", "+", "-"), "{1'b0, a_i} + {1'b0, b_i}", "{1'b0, a_i} - {1'b0, b_i}");
    is_the_edit(Fault::swap_operator("masked", "&", "^"), "a_i & b_i", "a_i ^ b_i");
    // Through the condition of a register, and through named nets.
    is_the_edit(Fault::swap_operator("sum_q", "&", "|"), "enable_i & !less", "enable_i | !less");
    is_the_edit(Fault::swap_operator("any_o", "unary |", "unary &"), "= |both", "= &both");
    is_the_edit(Fault::swap_operator("any_o", "|", "&"), "masked | {4{less}}", "masked & {4{less}}");
    is_the_edit(Fault::swap_operator("flipped", "^", "&").every(), "link[i] ^ b_i", "link[i] & b_i");
    is_the_edit(
        Fault::swap_operator("flipped", "^", "&").nth(1),
        "= link[i] ^ b_i",
        "= i == 1 ? link[i] & b_i : link[i] ^ b_i",
    );
}

#[test]
fn operands_are_exchanged() {
    is_the_edit(Fault::swap_operand("sum_q", "enable_i", "1'b1"), "enable_i & !less", "!less");
    is_the_edit(Fault::swap_operand("sum_q", "less", "enable_i"), "enable_i & !less", "enable_i & !enable_i");
    is_the_edit(Fault::swap_operand("masked", "a_i", "sum_q"), "masked = a_i &", "masked = sum_q &");
    is_the_edit(Fault::swap_operand("less", "b_i[3]", "1'b0"), "a_i < b_i", "a_i < {1'b0, b_i[2:0]}");
    // An alias, and a net on the way to the named one.
    is_the_edit(Fault::swap_operand("less_o", "less", "enable_i"), "less_o = less", "less_o = enable_i");
    is_the_edit(Fault::swap_operand("chain_o", "link[2]", "a_i"), "chain_o = link[2]", "chain_o = a_i");
    is_the_edit(Fault::swap_operand("any_o", "less", "1'b0"), "{4{less}}", "4'd0");
}

#[test]
fn what_does_not_exist_is_explained() {
    let refused = |fault: Fault, parts: &[&str]| {
        let error = fault::verilog(&design(), &[fault]).unwrap_err();
        assert!(error.is_verdict());
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    refused(Fault::stuck("sum", 0), &["no net `sum` in `stage_w4`, `top`", "`sum_q`", "`sum_o`"]);
    refused(Fault::stuck("flip", 0), &["`stages[0].flipped`"]);
    refused(Fault::stuck("u_stage.x", 0), &["stages[0].u_stage.x_i"]);
    refused(Fault::stuck("x_i", 0).in_module("stages"), &["no module `stages`", "`stage_w4`"]);
    refused(Fault::stuck("sum_q", 16), &["16 does not fit into 4 bits"]);
    refused(Fault::stuck("sum_q[4]", 0), &["`sum_q` has bits 3 to 0"]);
    refused(Fault::invert("words"), &["`words` of `top` is a memory"]);
    refused(Fault::swap_operator("less", "*", "+"), &["no `*` there", "`<`"]);
    refused(Fault::swap_operator("less", "<", "~"), &["`~` cannot stand for `<`", "`<=`"]);
    refused(Fault::swap_operator("less", "=<", "<"), &["no operator `=<`"]);
    refused(Fault::swap_operator("flipped", "^", "&"), &["it is there 2 times", "choose with `nth` or `every`"]);
    refused(Fault::swap_operator("flipped", "^", "&").nth(2), &["only 2"]);
    refused(Fault::swap_operand("less", "sum_q", "a_i"), &["does not read `sum_q`"]);
    refused(Fault::swap_operand("less", "a_i", "1'b0"), &["`a_i` has 4 bits, `1'b0` has 1"]);
    refused(Fault::swap_operand("less", "a_i", "4'd16"), &["no constant"]);
    refused(Fault::swap_operand("less", "a_i", "c_i"), &["no net `c_i`", "`a_i`"]);
}

struct Adder;

impl Bench for Adder {
    fn block(&self) -> &str {
        "top"
    }

    fn parameters(&self) -> Value {
        Value::Null
    }

    /// Looks at `less_o` only.
    fn run(&self, sim: &mut Sim, run: &mut Run) -> Result<()> {
        let (a, b, less) = (sim.input("a_i")?, sim.input("b_i")?, sim.output("less_o")?);
        sim.reset(1)?;
        for vector in 0..run.vectors() {
            let (x, y) = (vector % 16, vector / 16 % 16);
            sim.poke_u64(a, x);
            sim.poke_u64(b, y);
            sim.settle()?;
            run.expect_u64(sim, less, u64::from(x < y))?;
            sim.tick()?;
        }
        Ok(())
    }
}

#[test]
fn a_bench_meets_all_faults_in_one_model() {
    let faults = [
        Fault::swap_operator("less", "<", "<="),
        Fault::stuck("sum_q", 3),
        Fault::stuck("less", 0),
        Fault::stuck("x_i", 0).in_module("stage_w4"),
    ];
    let options = RunOptions { vectors: 256, ..RunOptions::default() };
    let kills = fault::run(&Adder, &design(), &faults, &options).unwrap();
    // The first wrong answer: 0 < 0, and 0 < 1 in vector 16; after one cycle of reset.
    assert_eq!(kills, [Some(Kill::Mismatch { cycle: 1 }), None, Some(Kill::Mismatch { cycle: 17 }), None]);
}
