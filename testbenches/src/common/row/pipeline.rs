//! The bench of a pipeline without a handshake: its outputs follow from the inputs of some cycles ago.

use std::collections::VecDeque;

use hdl::lang::Block;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, Run, Sim};

/// Operands, in the order of the ports.
pub type Draw = Box<dyn Fn(&mut StimulusRng) -> Vec<Bits>>;
/// What the outputs are for these operands; `None` is undefined.
pub type Golden = Box<dyn Fn(&[Bits]) -> Vec<Option<Bits>>>;

/// A pipeline and its judge; a vector is a cycle.
pub struct Pipeline {
    /// Names of the inputs.
    pub inputs: Vec<&'static str>,
    /// Each with the cycles from operands to result.
    pub outputs: Vec<(&'static str, u32)>,
    /// Everything holds while this input is low.
    pub enable: Option<&'static str>,
    /// This input comes a cycle after the others of its operation.
    pub late: Option<&'static str>,
    /// Makes operands.
    pub draw: Draw,
    /// Judges results.
    pub golden: Golden,
}

impl Pipeline {
    /// Its bench.
    ///
    /// # Errors
    /// Parameters that the block refuses.
    pub fn bench<B: Block>(self, p: &B) -> anyhow::Result<Box<dyn sim::Bench>> {
        sim::kit::bench(p, move |sim, run| self.run(sim, run))
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("operands");
        let inputs: Vec<_> = self.inputs.iter().map(|name| sim.input(name)).collect::<sim::Result<_>>()?;
        let enable = self.enable.map(|name| sim.input(name)).transpose()?;
        let mut outputs = Vec::new();
        for &(name, latency) in &self.outputs {
            outputs.push((sim.output(name)?, latency));
        }
        let longest = self.outputs.iter().map(|output| output.1).max().unwrap_or(0);
        // The latest results first.
        let mut results: VecDeque<Vec<Option<Bits>>> = VecDeque::new();
        let late = self.late.and_then(|late| self.inputs.iter().position(|name| *name == late));
        let mut before: Option<Vec<Bits>> = None;
        for _ in 0..run.vectors() + u64::from(longest) {
            let operands = (self.draw)(&mut rng);
            for (at, port) in inputs.iter().enumerate() {
                let of = before.as_ref().filter(|_| late == Some(at)).unwrap_or(&operands);
                sim.poke(*port, &of[at]);
            }
            let moves = enable.is_none() || rng.random_range(0..4u8) > 0;
            if let Some(enable) = enable {
                sim.poke_u64(enable, moves.into());
            }
            if moves {
                results.push_front((self.golden)(&operands));
                results.truncate(longest.max(1) as usize);
                before = Some(operands);
            }
            if longest == 0 {
                sim.settle()?
            } else {
                sim.tick()?
            }
            for (at, (port, latency)) in outputs.iter().enumerate() {
                let result = results.get(latency.saturating_sub(1) as usize);
                if let Some(expected) = result.and_then(|result| result[at].as_ref()) {
                    run.expect(sim, *port, expected)?;
                }
            }
        }
        Ok(())
    }
}
