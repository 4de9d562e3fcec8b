//! [`Compactor`] and [`Expander`] against lists: random masks of all densities, corners of masks and data.

use golden::common::compactor as golden;
use hdl::blocks::common::{Compactor, Expander};
use hdl::lang::{Block, Parameters};
use rand::RngExt;
use serde_json::Value;
use sim::{Bits, Run, Sim};

/// The bench of a compactor; a vector is one mask with one set of elements.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Compactor) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    let parameters = serde_json::to_value(p)?;
    let name = Compactor::ABOUT.name;
    Ok(Box::new(Bench { name, parameters, lanes: p.lanes, width: p.width, move_lanes: golden::compact }))
}

/// The bench of an expander, in the same way.
///
/// # Errors
/// Parameters that the block refuses.
pub fn expander_bench(p: &Expander) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    let parameters = serde_json::to_value(p)?;
    let name = Expander::ABOUT.name;
    Ok(Box::new(Bench { name, parameters, lanes: p.lanes, width: p.width, move_lanes: golden::expand }))
}

struct Bench {
    name: &'static str,
    parameters: Value,
    lanes: u32,
    width: u32,
    move_lanes: fn(&[bool], &[u64]) -> Vec<u64>,
}

impl sim::Bench for Bench {
    fn block(&self) -> &str {
        self.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("lanes");
        let (mask_i, data_i) = (sim.input("mask_i")?, sim.input("data_i")?);
        let (data_o, count_o) = (sim.output("data_o")?, sim.output("count_o")?);
        let lanes = self.lanes as usize;
        for number in 0..run.vectors() {
            // Small lane counts: every mask in turn. Otherwise all densities, with all and none among them.
            let density = rng.random_range(0..=8u8);
            let mask: Vec<bool> = (0..lanes)
                .map(|i| if lanes <= 8 { number >> i & 1 == 1 } else { rng.random_range(0..8u8) < density })
                .collect();
            let limit = u64::MAX >> (64 - self.width);
            let data: Vec<u64> =
                (0..lanes).map(|_| if number % 3 == 0 { limit } else { rng.random::<u64>() & limit }).collect();
            sim.poke(mask_i, &Bits::pack(1, mask.iter().map(|&m| u64::from(m))));
            sim.poke(data_i, &Bits::pack(self.width, data.iter().copied()));
            sim.settle()?;
            run.expect(sim, data_o, &Bits::pack(self.width, (self.move_lanes)(&mask, &data)))?;
            run.expect_u64(sim, count_o, mask.iter().filter(|&&m| m).count() as u64)?;
        }
        Ok(())
    }
}
