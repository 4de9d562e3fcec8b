//! A processing element of a crate other than `hdl`, in the array and in the accelerator: the PE of ANT and OliVe,
//! with a register that turns rescales into exponents.

use golden::tender::accumulator::{Accumulator, Overflow};
use golden::tender::mesh_pe::PeSum;
use hdl::accelerators::tender::{EnginePe, TenderTopOf};
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::baselines::ExponentPe;
use hdl::blocks::tender::{ArrayedPe, Drain, MeshPe, MeshPePorts, MeshPorts, MultiScaleArrayOf, array_of};
use hdl::lang::{About, Block, CatalogBlock, Module, Parameters, Signal, mux, parameters, uint};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run};
use sim::stimulus::StimulusRng;
use testbenches::accelerators::tender;
use testbenches::tender::mesh_pe::{Choice, PeBench, Reading, integer};
use testbenches::tender::multi_scale_array;

parameters! {
    /// Elaboration parameters.
    pub struct GroupPe {
        /// Exponent of the first group; a rescale by n lowers the exponent by n, down to 0.
        exponent: u32 = 3, in 1..=15, tag "e";
        /// Width of the sum in bits.
        sum_width: u32 = 16, in 10..=64, note "even, at least 2 x exponent + 10", tag "a";
        /// How sums leave.
        drain: Drain = Drain::Double, tag "";
        /// Registers between the operands and the sum.
        ranks: u32 = 0, in 0..=4, tag "q";
    }
    rules = |p, rules| {
        let least = 2 * p.exponent + 10;
        let fits = p.sum_width >= least && p.sum_width.is_multiple_of(2);
        rules.demand(fits, "sum_width", p.sum_width, format!("an even number, 2 x exponent + 10 = {least} to 64"));
    };
}

/// Bits of an operand: a nibble of a panel.
const NIBBLE: u32 = 4;

impl GroupPe {
    fn multiplier(&self) -> ExponentPe {
        ExponentPe {
            operand_width: NIBBLE,
            exponent_width: self.exponent.ilog2() + 1,
            accumulator_width: self.sum_width,
            drain: self.drain,
        }
    }
}

impl Block for GroupPe {
    type Ports = MeshPePorts;
    const ABOUT: About = About {
        name: "group_pe",
        summary: "multiply-accumulate whose products count half as much after each rescale by 1",
        contract: "acc' = (first_i ? 0 : acc) + act_i x weight_i x 2^e.\n\
            e is the parameter exponent in a step with first_i. Each rescale lowers it, down to 0.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &MeshPePorts) {
        io.pass_on(m);
        let mut late = |name: &str, mut signal: Signal, keeps: bool| {
            for rank in 0..self.ranks {
                let name = format!("{name}_{rank}_q");
                let register = if keeps { m.reg_init(&name, signal.ty(), 0) } else { m.reg(&name, signal.ty()) };
                register.next(signal);
                signal = register.q;
            }
            signal
        };
        let (first, last) = (late("first", io.first_i, true), late("last", io.last_i, true));
        let (act, weight) = (late("act", io.act_i, false), late("weight", io.weight_i, false));
        let rescale = io.rescale_i.map(|rescale| late("rescale", rescale, true));
        let pe = self.multiplier();
        let exponent = m.reg("exponent_q", uint(pe.exponent_width));
        let now = m.wire("exponent", mux(first, exponent.q.ty().lit(self.exponent), exponent.q));
        if let Some(amount) = rescale {
            let stays = m.wire("stays", now.ge(amount));
            exponent.next(mux(stays, now.wrapping_sub(amount), 0));
        }
        let u = m.instance("u_pe", pe);
        m.connect(u.first_i, first);
        m.connect(u.last_i, last);
        m.connect(u.act_i, act);
        m.connect(u.act_exponent_i, now);
        m.connect(u.weight_i, weight);
        m.connect(u.weight_exponent_i, 0);
        m.connect(u.drain_i, io.drain_i);
        m.connect(u.result_i, io.result_i);
        m.connect(u.overflow_i, io.overflow_i);
        m.connect(io.result_o, u.result_o);
        m.connect(io.overflow_o, u.overflow_o);
    }
}

impl MeshPe for GroupPe {
    const ARRAY: About = array_of("group_array", "systolic array of PEs whose exponents follow the groups", "");

    fn operand_bits(&self) -> u32 {
        NIBBLE
    }

    fn sum_bits(&self) -> u32 {
        self.sum_width
    }

    fn max_rescale(&self) -> u32 {
        self.exponent
    }

    fn drain(&self) -> Drain {
        self.drain
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn assumes(&self) -> bool {
        self.multiplier().assumes()
    }

    fn mesh_ports(io: &MeshPePorts) -> MeshPorts {
        io.mesh()
    }
}

impl ArrayedPe for GroupPe {}

impl EnginePe for GroupPe {
    const TOP: &'static str = "group_top";
    const ENGINE: &'static str = "group_engine";
}

/// The model of a sum.
#[derive(Clone, Debug)]
pub struct GroupSum {
    sum: Accumulator,
    exponent: u32,
}

impl PeSum for GroupSum {
    type Operand = i64;

    fn multiply(&mut self, act: i64, weight: i64) {
        self.sum.add(i128::from(act * weight) << self.exponent);
    }

    fn rescale(&mut self, amount: u32) {
        self.exponent = self.exponent.saturating_sub(amount);
    }

    fn get(&self) -> (i128, bool) {
        self.sum.get()
    }
}

impl PeBench for GroupPe {
    type Sum = GroupSum;

    fn fresh(&self) -> Result<GroupSum, String> {
        Ok(GroupSum { sum: Accumulator::new(self.sum_width, Overflow::Wrap)?, exponent: self.exponent })
    }

    fn operand(&self, reading: Reading, choice: Choice, rng: &mut StimulusRng) -> i64 {
        integer(if reading.wide { 2 * NIBBLE } else { NIBBLE }, reading.signed, choice, rng)
    }

    fn bits(&self, operand: i64) -> u64 {
        operand as u64
    }

    fn overflows(&self) -> bool {
        // Products shrink with each rescale: few tiles are long enough.
        false
    }
}

fn array(rows: u32, columns: u32, int8: bool, pe: GroupPe) -> MultiScaleArrayOf<GroupPe> {
    MultiScaleArrayOf { rows, columns, pe, int8, ..MultiScaleArrayOf::default() }
}

/// Both ways out, bytes, and registers before the sum.
#[test]
fn arrays() {
    let single = GroupPe { drain: Drain::Single, sum_width: 32, exponent: 11, ranks: 0 };
    let deep = GroupPe { ranks: 3, ..GroupPe::default() };
    for block in [
        array(5, 3, false, GroupPe::default()),
        array(4, 2, true, GroupPe::default()),
        array(2, 4, true, single.clone()),
        array(4, 6, true, deep.clone()),
        array(3, 2, false, GroupPe { ranks: 1, ..single }),
    ] {
        run(&block, multi_scale_array::bench, &options(150)).unwrap_or_else(|e| panic!("{block:?}: {e:#}"));
    }
    assert!(MultiScaleArrayOf::<GroupPe>::configurations().iter().any(|block| block.int8));
}

/// The bench of the array sees what such a PE does wrong.
#[test]
fn broken_elements_are_noticed() {
    let faults = [
        ("a tile starts with the exponent of the one before", Fault::net("exponent", "exponent_q").module("group_pe")),
        ("a rescale is lost", Fault::net("rescale_q", "2'd0").module("group_pe")),
        ("an exponent wraps", Fault::net("stays", "1'b1").module("group_pe")),
        ("a last step is passed on too early", Fault::net("last_o", "last_i").module("group_pe")),
    ];
    must_be_noticed(&array(3, 4, false, GroupPe::default()), multi_scale_array::bench, 150, &faults);
}

fn top(pe: GroupPe, explicit: bool) -> TenderTopOf<GroupPe> {
    let array = array(4, 8, true, pe);
    let result = hdl::accelerators::tender::TenderLane::of_sums(array.result_width());
    TenderTopOf {
        array,
        depth: 40,
        steps: 64,
        strip: 32,
        explicit,
        result,
        vector: VectorParameters { max_beats: 8, ..VectorParameters::all() },
        ..TenderTopOf::default()
    }
}

/// Memory to memory, with the model's own arithmetic.
#[test]
fn accelerators() {
    for block in [
        top(GroupPe::default(), false),
        top(GroupPe { sum_width: 32, exponent: 11, drain: Drain::Single, ranks: 2 }, true),
    ] {
        run(&block, tender::bench, &options(150)).unwrap_or_else(|e| panic!("{block:?}: {e:#}"));
    }
}

/// Jobs take the cycles that the recurrence of the golden model says.
#[test]
fn cycles() {
    let block = top(GroupPe { ranks: 2, ..GroupPe::default() }, false);
    run(&block, tender::timing::bench, &options(80)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Elements that no step or no panel can feed, and operands that have no halves.
#[test]
fn elements_that_do_not_fit_are_refused() {
    let bytes = MultiScaleArrayOf::<ExponentPe> { int8: true, ..MultiScaleArrayOf::default() };
    let text = bytes.check().unwrap_err().to_string();
    assert!(text.contains("false: an operand of the PE is more than an integer"), "{text}");
    let text = top(GroupPe { sum_width: 11, ..GroupPe::default() }, false).check().unwrap_err().to_string();
    assert!(text.contains("array.pe.sum_width"), "{text}");
}
