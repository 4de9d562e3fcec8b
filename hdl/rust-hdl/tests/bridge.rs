//! rust-hdl blocks inside our designs and ours inside rust-hdl's, simulated in Verilator and Icarus.

mod support;

use std::collections::VecDeque;

use hdl::blocks::common::{MacMesh, MacPe};
use hdl::lang::{About, Block, In, Module, Out, bit, elaborate, ports, sint, uint};
use rand::{RngExt, SeedableRng};
use rust_hdl_bridge::{Import, import};
use support::blocks::{Accumulate, Delay, Fifo, Pair, Shell, text_of};
use support::{Vectors, rust_hdl_design, simulate};

fn rng() -> rand::rngs::SmallRng {
    rand::rngs::SmallRng::seed_from_u64(seeds::seed(0x5eed))
}

hdl::parameters! {
    /// Holds both blocks (the accumulator twice) and a register of its own.
    struct Mixed {}
}

ports! {
    struct MixedPorts(p: &Mixed) {
        enable_i: In = bit(),
        sample_i: In = sint(12),
        tag_i: In = uint(5),
        sum_o: Out = sint(21),
        idle_o: Out = bit(),
        tag_o: Out = uint(5),
    }
}

impl Block for Mixed {
    type Ports = MixedPorts;
    const ABOUT: About = About {
        name: "mixed",
        summary: "two imported accumulators and an imported delay line",
        contract: "sum_o is the sum of both accumulators one cycle later; the second one is enabled when the first is not.",
        reference: "",
    };
    fn build(&self, m: &mut Module, io: &MixedPorts) {
        let accumulate = import("rh_accumulate", Accumulate::default()).unwrap();
        let delay = Import::new("rh_delay").registered_outputs().block(Delay::default()).unwrap();
        let (a, b) = (m.external("u_first", &accumulate), m.external("u_second", &accumulate));
        m.connect(a.port("enable"), io.enable_i);
        m.connect(b.port("enable"), !io.enable_i);
        m.connect(a.port("sample"), io.sample_i);
        m.connect(b.port("sample"), io.sample_i);
        m.unused(b.port("idle"));
        let sum = m.reg_init("sum_q", sint(21), 0);
        sum.next(a.port("sum") + b.port("sum"));
        m.connect(io.sum_o, sum.q);
        m.connect(io.idle_o, a.port("idle"));
        let u = m.external("u_delay", &delay);
        m.connect(u.port("bus_data"), io.tag_i);
        m.connect(io.tag_o, u.port("bus_late"));
    }
}

#[test]
fn imported_blocks_compute_what_rust_computes() {
    let design = elaborate(&Mixed {}).unwrap_or_else(|e| panic!("{e}"));
    let mut rng = rng();
    let cycles: Vec<Vec<u64>> =
        (0..400).map(|_| vec![rng.random_range(0..2), rng.random_range(0..4096), rng.random_range(0..32)]).collect();
    let vectors = Vectors::new(&["enable_i", "sample_i", "tag_i"], &["sum_o", "idle_o", "tag_o"], cycles);
    // The imported flip-flops have no reset: they run during the two reset cycles, in which all inputs are 0.
    let (mut first, mut second, mut shown) = (0_i64, 0_i64, 0_i64);
    let mut tags = VecDeque::from([0, 0, 0]);
    for (cycle, (inputs, got)) in vectors.cycles.iter().zip(simulate(&design_of(&design), &vectors)).enumerate() {
        let expected = [shown.rem_euclid(1 << 21) as u64, 1 - inputs[0], tags[0]];
        assert_eq!(got, expected.map(Some), "cycle {cycle}");
        let wrap = |sum: i64| (sum << 44) >> 44;
        let sample = ((inputs[1] as i64) << 52) >> 52;
        shown = first + second;
        if inputs[0] == 1 {
            first = wrap(first + sample);
        } else {
            second = wrap(second + sample);
        }
        tags.pop_front();
        tags.push_back(inputs[2]);
    }
}

/// Combinational paths through an import are assumed, so that loops are found; not where outputs are registered.
#[test]
fn imported_blocks_take_part_in_the_loop_check() {
    hdl::parameters! {
        /// A ring through a part from outside.
        struct Feedback {
            /// The part has registered outputs.
            registered: bool = true, tag "registered";
        }
    }
    ports! {
        struct FeedbackPorts(p: &Feedback) { late_o: Out = uint(5) }
    }
    impl Block for Feedback {
        type Ports = FeedbackPorts;
        const ABOUT: About = About { name: "feedback", summary: "a ring", contract: "", reference: "" };
        fn build(&self, m: &mut Module, io: &FeedbackPorts) {
            let delay = Import::new("rh_delay");
            let delay = if self.registered { delay.registered_outputs() } else { delay };
            let u = m.external("u_delay", &delay.block(Delay::default()).unwrap());
            m.connect(u.port("bus_data"), !u.port("bus_late"));
            m.connect(io.late_o, u.port("bus_late"));
        }
    }
    assert!(elaborate(&Feedback { registered: true }).is_ok());
    let error = elaborate(&Feedback { registered: false }).unwrap_err().to_string();
    assert!(error.contains("combinational loop: delay_bus_data -> "), "{error}");
    assert!(error.contains("delay_bus_late"), "{error}");
}

/// A widget of rust-hdl's library, with a memory inside, against a queue.
#[test]
fn imported_fifo_behaves_as_a_queue() {
    hdl::parameters! {
        /// Nothing.
        struct Holder {}
    }
    ports! {
        struct HolderPorts(p: &Holder) {
            write_i: In = bit(),
            data_i: In = uint(9),
            read_i: In = bit(),
            full_o: Out = bit(),
            empty_o: Out = bit(),
            data_o: Out = uint(9),
        }
    }
    impl Block for Holder {
        type Ports = HolderPorts;
        const ABOUT: About = About { name: "holder", summary: "a fifo", contract: "", reference: "" };
        fn build(&self, m: &mut Module, io: &HolderPorts) {
            // Its flags and its data come from registers and a registered memory read.
            let fifo = Import::new("rh_fifo").registered_outputs().block(Fifo::default()).unwrap();
            let u = m.external("u_fifo", &fifo);
            m.connect(u.port("write"), io.write_i & !u.port("full"));
            m.connect(u.port("read"), io.read_i & !u.port("empty"));
            m.connect(u.port("data_in"), io.data_i);
            for name in ["almost_empty", "underflow", "almost_full", "overflow"] {
                m.unused(u.port(name));
            }
            m.connect(io.full_o, u.port("full"));
            m.connect(io.empty_o, u.port("empty"));
            m.connect(io.data_o, u.port("data_out"));
        }
    }
    let mut rng = rng();
    // Mostly written, then mostly read, then drained.
    let mut cycle = |t: u64| match t {
        0..600 => {
            let writes = if (t / 100_u64).is_multiple_of(2) { 0.8 } else { 0.2 };
            vec![rng.random_bool(writes).into(), rng.random_range(0..512), rng.random_bool(1.0 - writes).into()]
        }
        _ => vec![0, 0, 1],
    };
    let cycles = (0..620).map(&mut cycle).collect();
    let vectors = Vectors::new(&["write_i", "data_i", "read_i"], &["full_o", "empty_o", "data_o"], cycles);
    let design = elaborate(&Holder {}).unwrap_or_else(|e| panic!("{e}"));
    let (mut queue, mut moved, mut filled) = (VecDeque::new(), 0, false);
    for (t, (v, got)) in vectors.cycles.iter().zip(simulate(&design_of(&design), &vectors)).enumerate() {
        let (full, empty) = (got[0] == Some(1), got[1] == Some(1));
        filled |= queue.len() == 8;
        assert!(!full || queue.len() == 8, "cycle {t}: full with {} words", queue.len());
        assert!(full || queue.len() < 8, "cycle {t}: not full with {} words", queue.len());
        if v[2] == 1 && !empty {
            assert_eq!(got[2], queue.pop_front(), "cycle {t}");
            moved += 1;
        }
        if v[0] == 1 && !full {
            queue.push_back(v[1]);
        }
    }
    assert!(queue.is_empty() && filled && moved > 100, "{} left, {moved} moved", queue.len());
}

/// The output of `Pair`: the sum of both accumulators before each edge, once both have been cleared.
struct PairModel {
    left: Option<i64>,
    right: Option<i64>,
    held: Option<(bool, i64)>,
}

impl PairModel {
    fn new() -> Self {
        Self { left: None, right: None, held: None }
    }

    fn sum(&self) -> Option<u64> {
        Some((self.left? + self.right?).rem_euclid(1 << 24) as u64)
    }

    fn edge(&mut self, clear: bool, act: i64, left: i64, right: i64) {
        let next =
            |clear: bool, sum: Option<i64>, product: i64| if clear { Some(product) } else { Some(sum? + product) };
        if let Some((clear, act)) = self.held {
            self.right = next(clear, self.right, act * right);
        }
        self.left = next(clear, self.left, act * left);
        self.held = Some((clear, act));
    }
}

#[track_caller]
fn check_pair(design: &sim::Design) {
    let mut rng = rng();
    let mut byte = || rng.random_range(0..256_u64);
    let cycles: Vec<Vec<u64>> = (0..500_u64).map(|t| vec![u64::from(t % 97 == 0), byte(), byte(), byte()]).collect();
    let vectors = Vectors::new(&["clear_i", "act_i", "left_i", "right_i"], &["sum_o"], cycles);
    let mut model = PairModel::new();
    for (cycle, (v, got)) in vectors.cycles.iter().zip(simulate(design, &vectors)).enumerate() {
        if cycle >= 2 {
            assert_eq!(got, [model.sum()], "cycle {cycle}");
        }
        let signed = |byte: u64| i64::from(byte as u8 as i8);
        model.edge(v[0] == 1, signed(v[1]), signed(v[2]), signed(v[3]));
    }
    assert!(model.sum().is_some());
}

#[test]
fn our_cells_inside_a_rust_hdl_kernel() {
    let text = text_of(Pair::new());
    // Two instances, one copy of the module that is compiled.
    assert_eq!(text.matches("mac_pe_w8_a24 left(").count() + text.matches("mac_pe_w8_a24 right(").count(), 2);
    check_pair(&rust_hdl_design(text, Some("clk_i"), Some("rst_ni")));
}

/// There and back: the rust-hdl design that holds our cells, inside a design of ours that holds such a cell too.
#[test]
fn round_trip() {
    hdl::parameters! {
        /// Nothing.
        struct Back {}
    }
    ports! {
        struct BackPorts(p: &Back) {
            clear_i: In = bit(),
            act_i: In = sint(8),
            left_i: In = sint(8),
            right_i: In = sint(8),
            sum_o: Out = sint(24),
            left_o: Out = sint(24),
        }
    }
    impl Block for Back {
        type Ports = BackPorts;
        const ABOUT: About = About { name: "back", summary: "a pair", contract: "", reference: "" };
        fn build(&self, m: &mut Module, io: &BackPorts) {
            let pair = Import::new("rh_pair").reset("rst_ni").registered_outputs().block(Pair::new()).unwrap();
            assert_eq!((&pair.clocks[..], pair.reset.as_deref()), (&["clk_i".to_owned()][..], Some("rst_ni")));
            let u = m.external("u_pair", &pair);
            let pe = m.instance("u_pe", MacPe { operand_width: 8, accumulator_width: 24 });
            m.connect(u.port("clear_i"), io.clear_i);
            m.connect(u.port("act_i"), io.act_i);
            m.connect(u.port("left_i"), io.left_i);
            m.connect(u.port("right_i"), io.right_i);
            m.connect(io.sum_o, u.port("sum_o"));
            m.connect(pe.clear_i, io.clear_i);
            m.connect(pe.act_i, io.act_i);
            m.connect(pe.weight_i, io.left_i);
            m.connect(io.left_o, pe.acc_o);
            m.unused(pe.clear_o);
            m.unused(pe.act_o);
            m.unused(pe.weight_o);
        }
    }
    check_pair(&design_of(&elaborate(&Back {}).unwrap_or_else(|e| panic!("{e}"))));
}

/// One rust-hdl type, meshes of several sizes: what its const generics cannot do.
#[test]
fn meshes_of_run_time_size_inside_rust_hdl() {
    for (rows, columns, operand_width, accumulator_width) in [(1, 1, 2, 4), (3, 2, 8, 24), (4, 3, 5, 16)] {
        let p = MacMesh { rows, columns, operand_width, accumulator_width };
        let text = text_of(Shell::new(&p));
        check_mesh(&p, &rust_hdl_design(text, Some("clk_i"), Some("rst_ni")));
    }
}

/// Skewed operands of one matrix product, then every row of sums against the product.
#[track_caller]
fn check_mesh(p: &MacMesh, design: &sim::Design) {
    const INNER: usize = 9;
    let mut rng = rng();
    let (rows, columns) = (p.rows as usize, p.columns as usize);
    let half = 1_i64 << (p.operand_width - 1);
    let mut matrix = |rows: usize, columns: usize| -> Vec<Vec<i64>> {
        (0..rows).map(|_| (0..columns).map(|_| rng.random_range(-half..half)).collect()).collect()
    };
    let (a, b) = (matrix(rows, INNER), matrix(INNER, columns));
    let pack = |values: &mut dyn Iterator<Item = i64>, width: u32| {
        values.enumerate().fold(0, |word, (i, v)| word | (v.rem_euclid(1 << width) as u64) << (i as u32 * width))
    };
    let w = p.operand_width;
    let mut cycles = Vec::new();
    for t in 0..INNER + rows + columns {
        let step = |late: usize| t.checked_sub(late).filter(|&k| k < INNER);
        let clear = pack(&mut (0..rows).map(|r| i64::from(t == r)), 1);
        let acts = pack(&mut (0..rows).map(|r| step(r).map_or(0, |k| a[r][k])), w);
        let weights = pack(&mut (0..columns).map(|c| step(c).map_or(0, |k| b[k][c])), w);
        cycles.push(vec![clear, acts, weights, 0]);
    }
    let entered = cycles.len();
    cycles.extend((0..rows).map(|r| vec![0, 0, 0, r as u64]));
    let vectors = Vectors::new(&["clear_i", "act_i", "weight_i", "row_i"], &["acc_o"], cycles);
    let results = simulate(design, &vectors);
    for r in 0..rows {
        let sums = (0..columns).map(|c| (0..INNER).map(|k| a[r][k] * b[k][c]).sum());
        let expected = pack(&mut { sums }, p.accumulator_width);
        assert_eq!(results[entered + r], [Some(expected)], "{p:?}, row {r}");
    }
}

fn design_of(design: &hdl::lang::Design) -> sim::Design {
    sim::Design::from(design)
}
