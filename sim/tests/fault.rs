//! Faults by name: each is proved to be the edit that a person would have made, and names that do not fit are explained.

use sim::fault::{self, Fault};
use sim::lint::yosys;
use sim::{Bench, Design, Error, Kill, Result, Run, RunOptions, Sim, SourceFile};

/// What our printer prints, in small: arrays of nets in loops, instances in a loop, a memory, conditions, aliases; and a net that has the name
/// which faults give to what their net should be.
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
  output wire [3:0]  route_o,
  output wire        any_o
);
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

  wire [3:0] route [0:1];
  assign route[0] = less ? a_i : b_i;
  assign route[1] = (enable_i) ? route[0] : b_i;
  assign route_o = route[1];

  reg [3:0] words [0:3];
  reg [3:0] word_q;
  always @(posedge clk_i) if (enable_i) words[a_i[1:0]] <= b_i;
  wire [3:0] word = words[b_i[1:0]];
  always @(posedge clk_i) word_q <= word;
  assign word_o = word_q;

  wire [3:0] right = a_i & b_i;
  wire [3:0] both = right | {4{less}};
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

/// Asks Yosys whether, in the first six cycles, the design with `fault` is the one in which `right` was replaced by `wrong`, and is not the right one.
fn is_the_edit(fault: Fault, right: &str, wrong: &str) {
    let altered = fault::design(&design(), &fault).unwrap_or_else(|e| panic!("{e}"));
    let found = TOP.matches(right).count() + STAGE.matches(right).count();
    assert!(found > 0, "{fault}: no `{right}`");
    let same = |top: &str, stage: &str| {
        let sources = [files(top, stage), altered.files.clone()].concat();
        let keep = |files: &str, name: &str| {
            let prepare = "hierarchy -top top\nproc\nflatten\nmemory -nordff\nopt_clean";
            format!("read_verilog {files}\n{prepare}\nrename top {name}\ndesign -stash {name}\n")
        };
        let script = format!(
            "{}{}design -copy-from edited -as edited edited\ndesign -copy-from altered -as altered altered\n\
             miter -equiv -flatten -make_assert edited altered miter\ncd miter\nasync2sync\ndffunmap\n\
             sat -verify -prove-asserts -seq 6 -set-init-zero\n",
            keep("top.v stage.v", "edited"),
            keep("top_faulty.v", "altered")
        );
        yosys(&script, &sources)
    };
    for (top, stage, expected) in
        [(TOP.replace(right, wrong), STAGE.replace(right, wrong), true), (TOP.into(), STAGE.into(), false)]
    {
        match same(&top, &stage) {
            Ok(_) => assert!(expected, "{fault}: changes nothing"),
            Err(Error::Yosys { log, .. }) if log.contains("proof did fail") || log.contains("Called with -verify") => {
                assert!(!expected, "{fault}: is not the edit\n{log}");
            }
            Err(other) => panic!("{fault}: {other}"),
        }
    }
}

#[test]
fn nets_have_another_value() {
    is_the_edit(Fault::net("less", "1'b1"), "wire less = a_i < b_i", "wire less = 1'b1");
    is_the_edit(Fault::net("less_o", "!right"), "less_o = less", "less_o = !less");
    is_the_edit(Fault::net("total", "right ^ 5'd4"), "= {1'b0, a_i} +", "= 5'd4 ^ {1'b0, a_i} +");
    is_the_edit(Fault::net("sum_q", "~right"), "sum_o = sum_q", "sum_o = ~sum_q");
    is_the_edit(Fault::net("word_q", "right & {4{less}}"), "word_o = word_q", "word_o = word_q & {4{less}}");
    is_the_edit(Fault::net("word", "~right"), "word_q <= word", "word_q <= ~word");
    is_the_edit(Fault::net("link[0]", "4'd5"), "link[0] = a_i", "link[0] = 4'd5");
    is_the_edit(Fault::net("route[0]", "b_i"), "less ? a_i : b_i", "b_i");
    is_the_edit(Fault::net("link[1]", "~right"), "= link[i] ^ b_i", "= link[i] ^ b_i ^ {4{i == 1}}");
    let second = "= i == 1 ? link[1] & a_i : link[i] ^ b_i";
    is_the_edit(Fault::net("stages[1].flipped", "link[1] & a_i"), "= link[i] ^ b_i", second);
}

#[test]
fn an_input_is_broken_for_all_that_read_it() {
    is_the_edit(Fault::net("enable_i", "1'b1"), "(enable_i", "(1'b1");
    is_the_edit(Fault::net("x_i", "~right").module("stage"), "x_q <= x_i", "x_q <= ~x_i");
}

#[test]
fn nets_have_another_value_on_the_way_to_a_target() {
    // Through the conditions of a register and of a memory, through a named net, and at an instance.
    is_the_edit(Fault::net("enable_i", "1'b1").into("sum_q"), "enable_i & !less", "!less");
    is_the_edit(
        Fault::net("enable_i", "right | less").into("words"),
        "if (enable_i) words",
        "if (enable_i | less) words",
    );
    is_the_edit(Fault::net("b_i", "a_i").into("words"), "words[a_i[1:0]] <= b_i", "words[a_i[1:0]] <= a_i");
    is_the_edit(Fault::net("less", "enable_i").into("any_o"), "{4{less}}", "{4{enable_i}}");
    is_the_edit(Fault::net("b_i", "right & 4'd7").into("less"), "a_i < b_i", "a_i < {1'b0, b_i[2:0]}");
    let one = "(i == 0 ? flipped : 4'd6)";
    is_the_edit(Fault::net("stages[1].flipped", "4'd6").into("stages[1].u_stage"), "(flipped)", one);
}

#[test]
fn operators_are_exchanged() {
    is_the_edit(Fault::operator("less", "<", "<="), "a_i < b_i", "a_i <= b_i");
    is_the_edit(Fault::operator("total", "+", "-"), "{1'b0, a_i} + {1'b0, b_i}", "{1'b0, a_i} - {1'b0, b_i}");
    // Through the condition of a register, and through named nets; the nearest of several.
    is_the_edit(Fault::operator("sum_q", "&", "|"), "enable_i & !less", "enable_i | !less");
    is_the_edit(Fault::operator("any_o", "|", "&"), "right | {4{less}}", "right & {4{less}}");
    is_the_edit(
        Fault::operator("stages[0].flipped", "^", "&"),
        "= link[i] ^ b_i",
        "= i == 0 ? link[i] & b_i : link[i] ^ b_i",
    );
}

#[test]
fn what_does_not_exist_is_explained() {
    let refused = |fault: Fault, parts: &[&str]| {
        let error = fault::design(&design(), &fault).unwrap_err();
        assert!(error.is_verdict());
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    refused(Fault::net("sum", "1"), &["no net `sum` in `stage_w4`, `top`", "`sum_q`", "`sum_o`"]);
    refused(Fault::net("x_i", "0").module("stages"), &["no module `stages`", "`stage_w4`"]);
    refused(Fault::net("words", "0"), &["no net `words`"]);
    refused(Fault::net("less", "lesser"), &["lesser"]);
    refused(Fault::net("less", "a_i &"), &["syntax error"]);
    refused(Fault::net("less", "0").into("words_q"), &["no net, memory or instance `words_q`", "`words`"]);
    refused(Fault::net("less", "0").into("word_q"), &["what drives `word_q` does not read `less`"]);
    refused(Fault::operator("less", "*", "+"), &["no `*` there; the operators are <"]);
    refused(Fault::operator("less", "=<", "<"), &["no operator `=<`", "<= >"]);
}

/// Of two arrays that are driven in one loop, Yosys reads the elements of the first past their names: a fault would change
/// nothing.
#[test]
fn a_name_that_nothing_reads_is_refused() {
    let text = "
module copies (input wire clk_i, input wire [1:0] a_i, output wire [1:0] both_o);
  genvar i;
  wire copy [0:1];
  wire both [0:1];
  for (i = 0; i < 2; i = i + 1) begin : lanes
    reg a_q;
    always @(posedge clk_i) a_q <= a_i[i];
    assign copy[i] = a_q;
    assign both[i] = copy[i] & a_i[i];
    assign both_o[i] = both[i];
  end
endmodule
";
    let design = Design::from_verilog("copies", text);
    let error = fault::design(&design, &Fault::net("copy[1]", "1'b0")).unwrap_err().to_string();
    assert!(error.contains("past it, to `lanes[1].a_q`: break that"), "{error}");
    fault::design(&design, &Fault::net("copy[1]", "1'b0").into("both[1]")).unwrap();
}

/// The netlist for proofs has the properties, and they see faults.
#[test]
fn properties_see_the_fault() {
    let text = "
module counter (input wire clk_i, input wire rst_ni, output wire [1:0] count_o);
  reg [1:0] count_q;
  wire [1:0] next = count_q + 2'd1;
  always @(posedge clk_i or negedge rst_ni) if (!rst_ni) count_q <= 2'd0; else count_q <= next;
  assign count_o = count_q;
`ifdef FORMAL
  reg [1:0] before_q;
  reg       valid_q = 1'b0;
  always @(posedge clk_i) begin
    before_q <= count_o;
    valid_q <= rst_ni;
    if (valid_q & rst_ni) counts: assert (count_o == before_q + 2'd1);
  end
`endif
endmodule
";
    let design = Design::from_verilog("counter", text);
    let holds = |fault: Option<Fault>| {
        let read = match fault {
            Some(_) => "read_rtlil counter_faulty.il".to_owned(),
            None => format!("read_verilog -formal -DFORMAL {}", design.files[0].name),
        };
        let netlist = fault.map(|fault| fault::netlist(&design, &fault).unwrap());
        let script = format!(
            "{read}\nprep -flatten -top counter\nselect -assert-count 1 c:counts\nselect -clear\nasync2sync\n\
             dffunmap\nsat -verify -prove-asserts -seq 1 -tempinduct -maxsteps 8\n"
        );
        match yosys(&script, &[design.files.clone(), netlist.into_iter().collect()].concat()) {
            Ok(_) => true,
            Err(Error::Yosys { log, .. }) if log.contains("Called with -verify") => false,
            Err(other) => panic!("{other}"),
        }
    };
    // A fault that is none, and faults.
    assert!(holds(None) && holds(Some(Fault::net("next", "count_o + 2'd1"))));
    for fault in [Fault::operator("next", "+", "-"), Fault::net("next", "count_q"), Fault::net("count_q", "~right")] {
        assert!(!holds(Some(fault)));
    }
}

struct Adder;

impl Bench for Adder {
    fn block(&self) -> &str {
        "top"
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
fn a_bench_meets_faults() {
    let faults = [Fault::operator("less", "<", "<="), Fault::net("sum_q", "4'd3"), Fault::net("less", "1'b0")];
    let options = RunOptions { vectors: 256, ..RunOptions::default() };
    let kills = fault::run(&Adder, &design(), &faults, &options).unwrap();
    // The first wrong answer: 0 < 0, and 0 < 1 in vector 16; after one cycle of reset.
    assert_eq!(kills, [Some(Kill::Mismatch { cycle: 1 }), None, Some(Kill::Mismatch { cycle: 17 })]);
    // What cannot tell right from wrong is refused.
    let none = RunOptions { vectors: 0, ..options };
    let error = fault::run(&Adder, &design(), &faults, &none).unwrap_err();
    assert!(error.to_string().contains("compared nothing"), "{error}");
}
