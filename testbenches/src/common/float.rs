//! The common bench of the floating-point units.
//!
//! A vector is one operation. Corner operands come in all combinations first, when there are vectors enough for these;
//! then operands from [`operands`], which are random where it matters. Between the operations there are cycles without
//! `valid`, in which the operands are random too.

mod operands;

pub mod add;
pub mod compare;
pub mod convert;
pub mod divide;
pub mod exp;
pub mod fma;
pub mod from_int;
pub mod mul;
pub mod reciprocal;
pub mod rsqrt;
pub mod sigmoid;
pub mod sqrt;
pub mod table;
pub mod to_int;

use std::collections::VecDeque;

use golden::common::float::{Flags, FloatFormat, Rounded};
use hdl::lang::Block;
use operands::one_in;
use rand::{Rng, RngExt};
use sim::stimulus::StimulusRng;
use sim::{In, Out, Run, Sim};

pub use operands::Operands;

/// Operands of an operation; a unit uses the first few.
pub type Inputs = [u64; 4];
/// The expected outputs, in the order of the unit's ports.
pub type Outputs = [u64; 6];

/// Numbered operands, made when they are needed: there may be millions.
pub struct Corners {
    count: u64,
    at: Box<dyn Fn(u64) -> Inputs>,
}

impl Corners {
    /// All combinations of values for the first operands.
    fn all<const N: usize>(values: [Vec<u64>; N]) -> Self {
        let count = values.iter().map(|values| values.len() as u64).product();
        let at = move |mut number: u64| {
            let mut inputs = Inputs::default();
            for (input, values) in inputs.iter_mut().zip(&values) {
                *input = values[(number % values.len() as u64) as usize];
                number /= values.len() as u64;
            }
            inputs
        };
        Self { count, at: Box::new(at) }
    }
}

/// One unit and its judge.
pub struct Unit {
    /// Cycles from operands to results.
    pub stages: u32,
    /// Ports of the operands.
    pub inputs: Vec<&'static str>,
    /// Ports of the results.
    pub outputs: Vec<&'static str>,
    /// Operands that come first.
    pub corners: Corners,
    /// Random operands.
    pub random: Box<dyn Fn(&mut StimulusRng) -> Inputs>,
    /// The golden model.
    pub golden: Box<dyn Fn(&Inputs) -> Outputs>,
}

impl Unit {
    /// The bench of block `p`.
    fn bench<B: Block>(self, p: &B) -> anyhow::Result<Box<dyn sim::Bench>> {
        sim::kit::bench(p, move |sim, run| self.run(sim, run))
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("operands");
        let mut cycles = Cycles::new(self, sim)?;
        let with_corners = run.vectors() >= self.corners.count;
        let mut corners = 0..if with_corners { self.corners.count } else { 0 };
        cycles.reset(sim, run, 2)?;
        let mut left = run.vectors();
        while left > 0 || cycles.busy() {
            let valid = left > 0 && !rng.next_u32().is_multiple_of(8);
            left -= u64::from(valid);
            let operands = match valid.then(|| corners.next()).flatten() {
                Some(corner) => (self.corners.at)(corner),
                None => (self.random)(&mut rng),
            };
            cycles.next(sim, run, valid, operands)?;
        }
        // A reset at any time drops all operations inside. Operations after it are computed as ever.
        for _ in 0..if self.stages > 0 { RESETS } else { 0 } {
            for _ in 0..rng.random_range(0..=2 * self.stages) {
                cycles.next(sim, run, rng.random(), (self.random)(&mut rng))?;
            }
            let length = rng.random_range(1..=2);
            cycles.reset(sim, run, length)?;
            for _ in 0..self.stages {
                cycles.next(sim, run, one_in(&mut rng, 4), (self.random)(&mut rng))?;
            }
        }
        Ok(())
    }
}

/// Resets during work in a run.
const RESETS: u32 = 64;

/// A unit cycle by cycle.
struct Cycles<'a> {
    unit: &'a Unit,
    valid_i: In,
    valid_o: Out,
    inputs: Vec<In>,
    outputs: Vec<Out>,
    /// Contents of the stages inside.
    inside: VecDeque<Option<Outputs>>,
}

impl<'a> Cycles<'a> {
    fn new(unit: &'a Unit, sim: &Sim) -> sim::Result<Self> {
        Ok(Self {
            unit,
            valid_i: sim.input("valid_i")?,
            valid_o: sim.output("valid_o")?,
            inputs: unit.inputs.iter().map(|name| sim.input(name)).collect::<sim::Result<_>>()?,
            outputs: unit.outputs.iter().map(|name| sim.output(name)).collect::<sim::Result<_>>()?,
            inside: VecDeque::new(),
        })
    }

    fn busy(&self) -> bool {
        self.inside.iter().any(Option::is_some)
    }

    /// A unit comes out of reset empty. Without registers it has none.
    fn reset(&mut self, sim: &mut Sim, run: &mut Run, cycles: u64) -> sim::Result<()> {
        self.inside = (1..self.unit.stages).map(|_| None).collect();
        if self.unit.stages == 0 {
            return Ok(());
        }
        run.reset(sim, cycles)?;
        sim.settle()?;
        run.expect_u64(sim, self.valid_o, 0)
    }

    /// One cycle: operands, valid or not, and the outputs that are expected then.
    fn next(&mut self, sim: &mut Sim, run: &mut Run, valid: bool, operands: Inputs) -> sim::Result<()> {
        sim.poke_u64(self.valid_i, valid.into());
        for (port, value) in self.inputs.iter().zip(operands) {
            sim.poke_u64(*port, value);
        }
        self.inside.push_back(valid.then(|| (self.unit.golden)(&operands)));
        // Without registers the result is there at once, and there is no clock.
        if self.unit.stages == 0 {
            sim.settle()?;
        } else {
            sim.tick()?;
        }
        let expected = self.inside.pop_front().flatten();
        run.expect_u64(sim, self.valid_o, expected.is_some().into())?;
        for (port, value) in self.outputs.iter().zip(expected.into_iter().flatten()) {
            run.expect_u64(sim, *port, value)?;
        }
        Ok(())
    }
}

/// Ports of a unit that rounds.
fn outputs(flags: bool) -> Vec<&'static str> {
    let mut ports = vec!["result_o"];
    if flags {
        ports.extend(["invalid_o", "overflow_o", "underflow_o", "inexact_o"]);
    }
    ports
}

/// Values at [`outputs`].
fn expected(result: Rounded) -> Outputs {
    let Flags { invalid, overflow, underflow, inexact, .. } = result.flags;
    [result.bits, invalid.into(), overflow.into(), underflow.into(), inexact.into(), 0]
}

/// An exception with a port of its own.
#[derive(Clone, Copy, Debug)]
enum Exception {
    Invalid,
    DivisionByZero,
    Overflow,
    Underflow,
    Inexact,
}

impl Exception {
    /// `all`, or none if the block has no flags.
    fn some(flags: bool, all: &[Self]) -> Vec<Self> {
        if flags { all.to_vec() } else { vec![] }
    }

    fn port(self) -> &'static str {
        match self {
            Self::Invalid => "invalid_o",
            Self::DivisionByZero => "division_by_zero_o",
            Self::Overflow => "overflow_o",
            Self::Underflow => "underflow_o",
            Self::Inexact => "inexact_o",
        }
    }

    fn of(self, flags: Flags) -> bool {
        match self {
            Self::Invalid => flags.invalid,
            Self::DivisionByZero => flags.division_by_zero,
            Self::Overflow => flags.overflow,
            Self::Underflow => flags.underflow,
            Self::Inexact => flags.inexact,
        }
    }

    /// Result and exceptions in the order of `ports`.
    fn outputs(ports: &[Self], result: Rounded) -> Outputs {
        let mut outputs = Outputs::default();
        outputs[0] = result.bits;
        for (output, exception) in outputs[1..].iter_mut().zip(ports) {
            *output = exception.of(result.flags).into();
        }
        outputs
    }

    /// Ports of the result and of these exceptions.
    fn ports(all: &[Self]) -> Vec<&'static str> {
        std::iter::once("result_o").chain(all.iter().map(|exception| exception.port())).collect()
    }
}

impl Unit {
    /// A unit with one float as its operand: all of up to 16 bits come first.
    fn unary(
        stages: u32,
        format: FloatFormat,
        exceptions: &[Exception],
        golden: impl Fn(u64) -> Rounded + 'static,
    ) -> Self {
        let operands = Operands::new(format);
        let ports = exceptions.to_vec();
        Self {
            stages,
            inputs: vec!["a_i"],
            outputs: Exception::ports(exceptions),
            corners: Corners::all([operands.all_or_corners(16)]),
            random: Box::new(move |rng| [operands.any(rng), 0, 0, 0]),
            golden: Box::new(move |&[a, ..]| Exception::outputs(&ports, golden(a))),
        }
    }
}
