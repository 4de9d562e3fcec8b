//! The expression that rust-hdl compiles wrongly: a sum with a product of narrower operands.
//!
//! `p + signed_bit_cast::<32, 32>(a * w)` on 16-bit operands prints as `$signed(a * w)` there, which Verilog evaluates
//! in 16 bits: 1000 x 1000 becomes 16,960. The same description here, in both simulators.

use hdl::lang::{About, Block, In, Module, Out, elaborate, ports, sint, uint};
use sim::process::Tool;
use sim::{BuildOptions, Design, Model};

hdl::parameters! {
    /// Nothing.
    struct Accumulate {}
}

ports! {
    struct AccumulatePorts(p: &Accumulate) {
        a_i: In = uint(16),
        w_i: In = uint(16),
        p_i: In = sint(32),
        sum_o: Out = sint(33),
        wrapped_o: Out = sint(32),
        signed_o: Out = sint(32),
    }
}

impl Block for Accumulate {
    type Ports = AccumulatePorts;
    const ABOUT: About = About {
        name: "accumulate",
        summary: "a product added to a wider sum",
        contract: "sum_o = p_i + a_i * w_i; signed_o is the same sum with signed operands. Both are modulo 2^32.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &AccumulatePorts) {
        let product = (io.a_i * io.w_i).as_sint();
        m.connect(io.sum_o, io.p_i + product);
        m.connect(io.wrapped_o, io.p_i.wrapping_add(product));
        m.connect(io.signed_o, io.p_i.wrapping_add(io.a_i.as_sint() * io.w_i.as_sint()));
    }
}

fn design() -> Design {
    (&elaborate(&Accumulate {}).unwrap_or_else(|e| panic!("{e}"))).into()
}

/// a, w, p, sum, signed product modulo 2^32 plus p.
const VALUES: [(u64, u64, i64, i64, i64); 4] = [
    (1000, 1000, 0, 1_000_000, 1_000_000),
    (1000, 1000, -2_000_000, -1_000_000, -1_000_000),
    (65_535, 32_768, 5, 2_147_450_885, 32_773),
    (32_768, 65_535, -1, 2_147_450_879, 32_767),
];

#[test]
fn products_keep_all_bits_in_verilator() {
    let mut sim = Model::build(&design(), &BuildOptions::default()).unwrap().instance().unwrap();
    let [a, w, p] = ["a_i", "w_i", "p_i"].map(|name| sim.input(name).unwrap());
    let [sum, wrapped, signed] = ["sum_o", "wrapped_o", "signed_o"].map(|name| sim.output(name).unwrap());
    for (x, y, z, expected, of_signed) in VALUES {
        sim.poke_u64(a, x);
        sim.poke_u64(w, y);
        sim.poke_i64(p, z);
        sim.settle().unwrap();
        assert_eq!(sim.peek_i64(sum), expected);
        assert_eq!(sim.peek_i64(wrapped), i64::from(expected as i32));
        assert_eq!(sim.peek_i64(signed), of_signed);
    }
}

#[test]
fn products_keep_all_bits_in_icarus() {
    let design = design();
    let mut bench = String::from(
        "module bench; reg [15:0] a, w; reg signed [31:0] p; wire signed [32:0] s; wire signed [31:0] m, n;
  accumulate u_dut (.a_i(a), .w_i(w), .p_i(p), .sum_o(s), .wrapped_o(m), .signed_o(n));
  initial begin\n",
    );
    for (x, y, z, ..) in VALUES {
        bench += &format!("    a = {x}; w = {y}; p = {z}; #1 $display(\"%0d %0d %0d\", s, m, n);\n");
    }
    bench += "  end\nendmodule\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bench.v"), bench).unwrap();
    std::fs::write(folder.path().join("dut.v"), &design.files[0].text).unwrap();
    let compiled = Tool::new("iverilog").args(["-g2005", "-Wall", "-o", "bench", "bench.v", "dut.v"]);
    let compiled = compiled.dir(folder.path()).run().unwrap();
    assert!(compiled.success(), "{}", compiled.log());
    let run = Tool::new("vvp").arg("bench").dir(folder.path()).run().unwrap();
    let expected: Vec<String> = VALUES.iter().map(|(_, _, _, s, n)| format!("{s} {} {n}", *s as i32)).collect();
    assert_eq!(run.stdout.lines().collect::<Vec<_>>(), expected);
}
