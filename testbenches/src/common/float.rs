//! How the floating-point units are driven: what they have in common.
//!
//! A vector is one operation. Corner operands come in all combinations first, when there are vectors enough for these;
//! then operands from [`operands`], which are random where it matters. Between the operations there are cycles without
//! `valid`, in which the operands are random too.

mod operands;

pub mod add;
pub mod compare;
pub mod convert;
pub mod fma;
pub mod from_int;
pub mod mul;

use std::collections::VecDeque;

use golden::common::float::{Flags, Rounded};
use rand::{Rng, RngExt};
use serde_json::Value;
use sim::stimulus::StimulusRng;
use sim::{Run, Sim};

pub use operands::Operands;

/// Operands of an operation; a unit uses the first few.
pub type Inputs = [u64; 4];
/// What the outputs must be, in the order of the unit's ports.
pub type Outputs = [u64; 5];

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
    /// The block's name.
    pub block: &'static str,
    /// Its parameters.
    pub parameters: Value,
    /// Its latency.
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

impl sim::Bench for Unit {
    fn block(&self) -> &str {
        self.block
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("operands");
        let (valid_i, valid_o) = (sim.input("valid_i")?, sim.output("valid_o")?);
        let inputs = self.inputs.iter().map(|name| sim.input(name)).collect::<sim::Result<Vec<_>>>()?;
        let outputs = self.outputs.iter().map(|name| sim.output(name)).collect::<sim::Result<Vec<_>>>()?;
        let with_corners = run.vectors() >= self.corners.count;
        let mut corners = 0..if with_corners { self.corners.count } else { 0 };
        if self.stages > 0 {
            sim.reset(2)?;
        }
        // What the ranks inside hold; a unit comes out of reset empty.
        let mut inside: VecDeque<Option<Outputs>> = (1..self.stages).map(|_| None).collect();
        let mut left = run.vectors();
        while left > 0 || inside.iter().any(Option::is_some) {
            let valid = left > 0 && !rng.next_u32().is_multiple_of(8);
            left -= u64::from(valid);
            let operands = match valid.then(|| corners.next()).flatten() {
                Some(corner) => (self.corners.at)(corner),
                None => (self.random)(&mut rng),
            };
            sim.poke_u64(valid_i, valid.into());
            for (port, value) in inputs.iter().zip(operands) {
                sim.poke_u64(*port, value);
            }
            inside.push_back(valid.then(|| (self.golden)(&operands)));
            // Without registers the result is there at once, and there is no clock.
            if self.stages == 0 {
                sim.settle()?
            } else {
                sim.tick()?
            }
            let expected = inside.pop_front().flatten();
            run.expect_u64(sim, valid_o, expected.is_some().into())?;
            if let Some(expected) = expected {
                for (port, value) in outputs.iter().zip(expected) {
                    run.expect_u64(sim, *port, value)?;
                }
            }
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
    let Flags { invalid, overflow, underflow, inexact } = result.flags;
    [result.bits, invalid.into(), overflow.into(), underflow.into(), inexact.into()]
}

/// Random one bit in `n`.
fn one_in(rng: &mut StimulusRng, n: u32) -> bool {
    rng.random_range(0..n) == 0
}
