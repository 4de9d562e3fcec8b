//! [`SkewLines`] under values that change in every cycle.

use hdl::blocks::common::SkewLines;
use hdl::lang::{Block, Parameters};
use serde_json::Value;
use sim::{Bits, Run, Sim};

/// The bench of the lines; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &SkewLines) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    Ok(Box::new(Bench { p: p.clone(), parameters: serde_json::to_value(p)? }))
}

struct Bench {
    p: SkewLines,
    parameters: Value,
}

impl sim::Bench for Bench {
    fn block(&self) -> &str {
        SkewLines::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("values");
        let (data_i, data_o) = (sim.input("data_i")?, sim.output("data_o")?);
        let (lanes, width) = (self.p.lanes, self.p.width);
        let mut history: Vec<Bits> = Vec::new();
        for _ in 0..run.vectors() + u64::from(lanes) {
            let now = Bits::random(lanes * width, &mut rng);
            sim.poke(data_i, &now);
            history.push(now);
            sim.settle()?;
            if history.len() >= lanes as usize {
                let mut expected = Bits::zero(lanes * width);
                for lane in 0..lanes {
                    let then = &history[history.len() - 1 - self.p.delay(lane) as usize];
                    expected.set_slice(lane * width, &then.slice(lane * width, width));
                }
                run.expect(sim, data_o, &expected)?;
            }
            // A single lane has no register, and so no clock.
            if lanes > 1 {
                sim.tick()?;
            }
        }
        Ok(())
    }
}
