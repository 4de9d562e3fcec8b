//! Expressions of faults by name mean on the elaborated design what they mean in Verilog.

use hdl::lang::*;
use rand::RngExt;
use sim::fault::{Fault, Models};
use sim::{Bits, BuildOptions, Engine, Model, mutate};

parameters! {
    /// Nets of several widths and both signs.
    struct Nets {}
}

ports! {
    struct NetsPorts(p: &Nets) {
        a_i: In = uint(5),
        b_i: In = sint(4),
        c_i: In = bit(),
        d_i: In = uint(16),
        e_i: In = sint(12),
        f_i: In = uint(40),
        words_i: InArray = uint(6).array(4),
        y_o: Out = uint(14),
    }
}

impl Block for Nets {
    type Ports = NetsPorts;
    const ABOUT: About = About { name: "nets", summary: "", contract: "", reference: "" };
    fn build(&self, m: &mut Module, io: &NetsPorts) {
        let word = m.nets("word", uint(6), 4);
        let other = m.nets("other", sint(6), 4);
        m.for_each("turn", 4, |m, k| {
            m.connect(word.at(k), io.words_i.at(k));
            let turned = m.wire("turned", !word.at(k));
            m.connect(other.at(k), turned.as_sint());
        });
        let sum = m.wire("sum", other.at(0) + other.at(1));
        let all = io.a_i.any() & io.b_i.as_uint().any() & io.c_i & io.d_i.any() & io.e_i.as_uint().any() & io.f_i.any();
        let sums = sum.as_uint().any() & other.at(2).as_uint().any() & other.at(3).as_uint().any();
        m.connect(io.y_o, (all & sums).repeat(14));
    }
}

/// The same nets, and an output for each expression.
fn verilog(expressions: &[String]) -> String {
    let outputs: String = (0..expressions.len()).map(|k| format!(",\n  output wire [13:0] y{k}_o")).collect();
    let values: String = expressions
        .iter()
        .enumerate()
        .map(|(k, text)| format!("  assign y{k}_o = {};\n", text.replace("right", "given")))
        .collect();
    format!(
        "module nets_text (\n  input wire [4:0] a_i, input wire signed [3:0] b_i, input wire c_i, input wire [15:0] d_i,\n  \
         input wire signed [11:0] e_i, input wire [39:0] f_i, input wire [23:0] words_i{outputs}\n);\n  \
         wire [5:0] word [0:3];\n  wire signed [5:0] other [0:3];\n  genvar i;\n  \
         for (i = 0; i < 4; i = i + 1) begin : g_turn\n    assign word[i] = words_i[6*i +: 6];\n    \
         wire [5:0] turned = ~word[i];\n    assign other[i] = turned;\n  end\n  \
         wire signed [6:0] sum = other[0] + other[1];\n  wire [13:0] given = {{14{{|a_i & |b_i & c_i & |d_i & |e_i & |f_i & |sum \
         & |other[2] & |other[3]}}}};\n{values}endmodule\n"
    )
}

const NAMES: [&str; 12] =
    ["a_i", "b_i", "c_i", "d_i", "e_i", "f_i", "sum", "right", "word[2]", "other[1]", "g_turn[3].turned", "words_i"];

/// Parts of nets, and elements that are chosen at run time.
const PARTS: [&str; 9] = [
    "d_i[7:3]",
    "e_i[11]",
    "f_i[33:2]",
    "d_i[{b_i[1:0], a_i[1:0]}]",
    "word[a_i[1:0]]",
    "other[d_i[1:0]]",
    "d_i[a_i[2:0] +: 4]",
    "g_turn[1].turned[4]",
    "other[3][4:1]",
];

const LITERALS: [&str; 9] = ["1'b1", "5'd19", "4'sd9", "3", "12'hfe5", "16'sh8001", "0", "'d7", "6'b10_1010"];

fn expression(rng: &mut impl RngExt, depth: u32) -> String {
    let pick = |rng: &mut _, list: &[&str]| list[RngExt::random_range(rng, 0..list.len())].to_owned();
    if depth == 0 {
        return match rng.random_range(0..4) {
            0 => pick(rng, &PARTS),
            1 => pick(rng, &LITERALS),
            _ => pick(rng, &NAMES),
        };
    }
    let sub = |rng: &mut _| expression(rng, depth - 1);
    match rng.random_range(0..10) {
        0 => {
            let sign = pick(rng, &["!", "~", "-", "+", "&", "|", "^", "~&", "~|"]);
            format!("{sign}({})", sub(rng))
        }
        1 => format!("({}) ? ({}) : ({})", sub(rng), sub(rng), sub(rng)),
        2 => format!("{{{}, {}}}", sized(rng, depth), sized(rng, depth)),
        3 => format!("{{2{{{}}}}}", sized(rng, depth)),
        4 => {
            let f = pick(rng, &["$signed", "$unsigned"]);
            format!("{f}({})", sub(rng))
        }
        5 => {
            let sign = pick(rng, &["<<", ">>", "<<<", ">>>"]);
            let amount = pick(rng, &["2", "a_i", "1'b1", "40", "b_i", "d_i[3:0]"]);
            format!("({}) {sign} {amount}", sub(rng))
        }
        6 => {
            let sign = pick(rng, &["<", "<=", ">", ">=", "==", "!="]);
            format!("({}) {sign} ({})", sub(rng), sub(rng))
        }
        _ => {
            let sign = pick(rng, &["+", "-", "*", "&", "|", "^", "~^", "&&", "||"]);
            format!("({}) {sign} ({})", sub(rng), sub(rng))
        }
    }
}

/// What may stand in a concatenation: no literal without a width.
fn sized(rng: &mut impl RngExt, depth: u32) -> String {
    format!("$unsigned({})", expression(rng, depth - 1))
}

#[test]
fn they_mean_what_they_mean_in_verilog() {
    const COUNT: usize = 400;
    let mut rng = sim::stimulus::rng(seeds::seed(49));
    let mut expressions: Vec<String> =
        ["a_i - b_i", "e_i + b_i", "b_i < e_i", "a_i >= b_i", "right - 16'd1", "~a_i == 5'd3"]
            .map(str::to_owned)
            .to_vec();
    while expressions.len() < COUNT {
        let depth = rng.random_range(0..4);
        expressions.push(expression(&mut rng, depth));
    }
    let design = sim::Design::from(&elaborate(&Nets {}).unwrap());
    let faults: Vec<Fault> = expressions.iter().map(|text| Fault::net("y_o", text)).collect();
    let native = BuildOptions { engine: Some(Engine::Native), ..BuildOptions::default() };
    let models = Models::new(&design, &faults, &native).unwrap();
    assert!(models.apart().is_empty(), "{:?}", models.apart());
    let mut first = Model::build(models.together().unwrap(), &native).unwrap().instance().unwrap();
    let reference = sim::Design::from_verilog("nets_text", &verilog(&expressions));
    let options = BuildOptions { engine: Some(Engine::Verilator), plain: true, ..BuildOptions::default() };
    let mut second = Model::build(&reference, &options).unwrap().instance().unwrap();
    let select = first.input(mutate::SELECT).unwrap();
    let y = first.output("y_o").unwrap();
    for _ in 0..60 {
        for (port, width) in
            [("a_i", 5), ("b_i", 4), ("c_i", 1), ("d_i", 16), ("e_i", 12), ("f_i", 40), ("words_i", 24)]
        {
            let value = Bits::from_words(width, &[rng.random(), rng.random()][..width.div_ceil(32) as usize]);
            for sim in [&mut first, &mut second] {
                sim.poke(sim.input(port).unwrap(), &value);
            }
        }
        second.settle().unwrap();
        for (k, text) in expressions.iter().enumerate() {
            first.poke_u64(select, k as u64 + 1);
            first.settle().unwrap();
            let (found, expected) = (first.peek_u64(y), second.peek_u64(second.output(&format!("y{k}_o")).unwrap()));
            assert_eq!(found, expected, "{text}");
        }
    }
}
