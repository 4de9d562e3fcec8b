//! Why rust-hdl 0.46 is not our core: each observation of decision 0001 as a test, next to the same in our language. A
//! failing test here means that rust-hdl changed; the decision should then be read again.

mod support;

use hdl::blocks::common::MacMesh;
use hdl::lang::{About, In, Module, Out, elaborate, ports, sint};
use rand::{RngExt, SeedableRng};
use sim::lint::{iverilog_check, verilator_lint};
use support::blocks::{Accumulate, Fifo, text_of};
use support::mesh::{self, Mesh4, Mesh8};
use support::{Vectors, rust_hdl_design, simulate};

mod theirs {
    use rust_hdl::prelude::*;

    /// `y = p + a * w`, with a cast that changes nothing: 32 bits to 32 bits.
    #[derive(LogicBlock, Default)]
    pub struct Mac {
        pub a: Signal<In, Signed<16>>,
        pub w: Signal<In, Signed<16>>,
        pub p: Signal<In, Signed<32>>,
        pub y: Signal<Out, Signed<32>>,
    }

    impl Logic for Mac {
        #[hdl_gen]
        fn update(&mut self) {
            self.y.next = self.p.val() + signed_bit_cast::<32, 32>(self.a.val() * self.w.val());
        }
    }

    impl Mac {
        /// `y` in rust-hdl's own simulator.
        pub fn simulated(&mut self, a: i16, w: i16, p: i32) -> i64 {
            self.a.next = signed(a.into());
            self.w.next = signed(w.into());
            self.p.next = signed(p.into());
            assert!(simulate(self, 10), "settles");
            i64::try_from(self.y.val().bigint()).expect("32 bits")
        }
    }

    /// Its macros stop at eight reserved words (`wire`, `reg`, `module`, `input`, ...); Verilog has more than a hundred.
    #[derive(LogicBlock, Default)]
    pub struct Keyword {
        pub begin: Signal<In, Bit>,
        pub y: Signal<Out, Bit>,
    }

    impl Logic for Keyword {
        #[hdl_gen]
        fn update(&mut self) {
            self.y.next = self.begin.val();
        }
    }
}

hdl::parameters! {
    /// The same in our language.
    struct Mac {}
}

ports! {
    struct MacPorts(p: &Mac) {
        a_i: In = sint(16),
        w_i: In = sint(16),
        p_i: In = sint(32),
        y_o: Out = sint(32),
    }
}

impl hdl::lang::Block for Mac {
    type Ports = MacPorts;
    const ABOUT: About = About {
        name: "mac",
        summary: "multiply and add",
        contract: "y_o = p_i + a_i * w_i modulo 2^32",
        reference: "",
    };
    fn build(&self, m: &mut Module, io: &MacPorts) {
        m.connect(io.y_o, io.p_i.wrapping_add((io.a_i * io.w_i).as_uint().as_sint()));
    }
}

#[test]
fn rust_hdl_miscompiles_a_cast_product_and_ours_does_not() {
    let text = text_of(theirs::Mac::default());
    assert!(text.contains("y = p + $signed(a * w);"), "{text}");
    let mut operands = vec![(1000_i16, 1000_i16, 0_i32)];
    let mut rng = rand::rngs::SmallRng::seed_from_u64(1);
    operands.extend((0..500).map(|_| (rng.random(), rng.random(), rng.random())));
    let cycles: Vec<Vec<u64>> =
        operands.iter().map(|&(a, w, p)| vec![u64::from(a as u16), u64::from(w as u16), u64::from(p as u32)]).collect();

    let vectors = Vectors::new(&["a", "w", "p"], &["y"], cycles.clone());
    let verilog = simulate(&rust_hdl_design(text, None, None), &vectors);
    let design = elaborate(&Mac {}).unwrap_or_else(|e| panic!("{e}"));
    let ours = simulate(&sim::Design::from(&design), &Vectors::new(&["a_i", "w_i", "p_i"], &["y_o"], cycles));

    let mut mac = theirs::Mac::default();
    let mut wrong = 0;
    for (i, &(a, w, p)) in operands.iter().enumerate() {
        let right = p.wrapping_add(i32::from(a) * i32::from(w));
        assert_eq!(ours[i], [Some(u64::from(right as u32))], "ours, {a} * {w} + {p}");
        assert_eq!(mac.simulated(a, w, p), i64::from(right), "rust-hdl's simulator, {a} * {w} + {p}");
        // Its Verilog, in both simulators: the product is cut to the operands' 16 bits and sign-extended.
        let cut = p.wrapping_add(i32::from(a.wrapping_mul(w)));
        assert_eq!(verilog[i], [Some(u64::from(cut as u32))], "rust-hdl's Verilog, {a} * {w} + {p}");
        wrong += usize::from(cut != right);
    }
    assert_eq!(verilog[0], [Some(16_960)], "1000 * 1000");
    assert!(wrong > 490, "{wrong} of 501 wrong");
}

fn ours(side: u32) -> hdl::lang::Design {
    elaborate(&MacMesh { rows: side, columns: side, operand_width: 16, accumulator_width: 32 }).unwrap()
}

fn modules(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("module ")).count()
}

#[test]
fn rust_hdl_repeats_a_module_for_every_instance() {
    // The mesh, and for every PE itself and its four flip-flops.
    assert_eq!(modules(&mesh::verilog::<Mesh4>()), 1 + 16 * 5);
    assert_eq!(modules(&mesh::verilog::<Mesh8>()), 1 + 64 * 5);
    for side in [4, 8] {
        assert_eq!(ours(side).verilog().len(), 2);
    }
}

/// The comparison is fair: both meshes compute the same in every cycle.
#[test]
fn both_meshes_compute_the_same() {
    let mut rng = rand::rngs::SmallRng::seed_from_u64(seeds::seed(2));
    let side = 4;
    let (mut packed, mut split) = (Vec::new(), Vec::new());
    for t in 0..300_u64 {
        // Every PE is cleared within the first cycles, so that no unknown sum is left.
        let clear: u64 = if t < 8 { 15 } else { rng.random_range(0..16) & rng.random_range(0..16) };
        let (acts, weights): (u64, u64) = (rng.random(), rng.random());
        let row = rng.random_range(0..side);
        packed.push(vec![clear, acts, weights, row]);
        let lane = |word: u64, i: u64| word >> (16 * i) & 0xffff;
        let mut lanes: Vec<u64> = (0..side).map(|i| clear >> i & 1).collect();
        lanes.extend((0..side).map(|i| lane(acts, i)).chain((0..side).map(|i| lane(weights, i))));
        lanes.push(1 << row);
        split.push(lanes);
    }
    let mut inputs: Vec<String> = Vec::new();
    for port in ["clear_i", "act_i", "weight_i"] {
        inputs.extend((0..side).map(|i| format!("{port}${i}")));
    }
    inputs.push("row_i".into());
    let outputs = (0..side).map(|i| format!("acc_o${i}")).collect();
    let theirs = rust_hdl_design(mesh::verilog::<Mesh4>(), Some("clock"), None);
    let theirs = simulate(&theirs, &Vectors { inputs, outputs, cycles: split });

    let mut design = sim::Design::from(&ours(4));
    // One 32-bit output for each column, so that both results have the same form.
    design.files.push(sim::SourceFile { name: "columns.v".into(), text: COLUMNS.into() });
    design.top = "columns".into();
    design.ports.clear();
    let names = ["acc_0", "acc_1", "acc_2", "acc_3"];
    let ours = simulate(&design, &Vectors::new(&["clear_i", "act_i", "weight_i", "row_i"], &names, packed));
    assert!(ours[8..].iter().flatten().all(Option::is_some));
    assert_eq!(theirs[8..], ours[8..]);
}

const COLUMNS: &str = "module columns (
  input wire clk_i, input wire rst_ni, input wire [3:0] clear_i, input wire [63:0] act_i, input wire [63:0] weight_i,
  input wire [1:0] row_i, output wire [31:0] acc_0, acc_1, acc_2, acc_3
);
  mac_mesh_r4_c4_w16_a32 u_mesh (.clk_i(clk_i), .rst_ni(rst_ni), .clear_i(clear_i), .act_i(act_i), .weight_i(weight_i),
    .row_i(row_i), .acc_o({acc_3, acc_2, acc_1, acc_0}));
endmodule
";

#[test]
fn rust_hdl_is_not_lint_clean_and_ours_is() {
    let lint = |text: String| {
        let report = verilator_lint(&[sim::SourceFile { name: "top.v".into(), text }], "top").unwrap();
        assert_eq!(report.errors(), 0, "{report}");
        let count = |code: &str| report.messages.iter().filter(|m| m.text.contains(&format!("-{code}:"))).count();
        (count("WIDTH"), count("UNUSEDSIGNAL"))
    };
    // A plain accumulator: its AST carries no widths, so neither do its literals and sums.
    let (width, _) = lint(text_of(Accumulate::default()));
    assert!(width >= 1, "{width}");
    // A FIFO of its own library.
    let (width, unused) = lint(text_of(Fifo::default()));
    assert!(width >= 10 && unused >= 4, "{width}, {unused}");
    // Outputs at the mesh's edges that nothing reads; rust-hdl has no way to say that this is intended.
    let (_, unused) = lint(mesh::verilog::<Mesh4>());
    assert_eq!(unused, 4 * 3);
    let design = sim::Design::from(&ours(4));
    let ours = verilator_lint(&design.files, &design.top).unwrap();
    assert!(ours.is_clean(), "{ours}");
}

#[test]
fn rust_hdl_lets_most_verilog_keywords_through_and_ours_names_them() {
    let text = text_of(theirs::Keyword::default());
    let report = iverilog_check(&[sim::SourceFile { name: "top.v".into(), text }], "top").unwrap();
    assert!(report.errors() > 0, "{report}");

    hdl::parameters! {
        /// Nothing.
        struct Keyword {}
    }
    ports! { struct KeywordPorts(p: &Keyword) { y_o: Out = hdl::lang::bit() } }
    impl hdl::lang::Block for Keyword {
        type Ports = KeywordPorts;
        const ABOUT: About = About { name: "keyword", summary: "", contract: "", reference: "" };
        fn build(&self, m: &mut Module, io: &KeywordPorts) {
            let begin = m.reg_init("begin", hdl::lang::bit(), 0);
            begin.next(!begin.q);
            m.connect(io.y_o, begin.q);
        }
    }
    let error = elaborate(&Keyword {}).unwrap_err().to_string();
    assert!(error.contains("`begin` is a reserved word of Verilog"), "{error}");
}
