//! [`Fp16Mac`] cycle by cycle: sums of all lengths, gaps between products, cycles in which everything holds,
//! resets at random moments.

use std::collections::VecDeque;

use golden::kllm::fp16_mac::Fp16Mac as Golden;
use hdl::blocks::kllm::Fp16Mac;
use rand::RngExt;
use sim::{Run, Sim};

use super::floats::{factors, mac};

/// The bench of a multiply-add; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Fp16Mac) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { golden: mac(p), stages: p.stages };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    golden: Golden,
    stages: u32,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("operands");
        let [enable, valid, start, a, b] = ["enable_i", "valid_i", "start_i", "a_i", "b_i"].map(|name| sim.input(name));
        let (enable, valid, start, a, b) = (enable?, valid?, start?, a?, b?);
        let (valid_o, sum_o) = (sim.output("valid_o")?, sim.output("sum_o")?);
        run.reset(sim, 2)?;
        run.expect_u64(sim, valid_o, 0)?;
        // The sum after each product inside, stage by stage; no sum is known before the first product.
        let mut inside: VecDeque<Option<u64>> = vec![None; self.stages as usize].into();
        let (mut sum, mut shown) = (None, (false, None));
        for _ in 0..run.vectors() {
            if rng.random_range(0..200u8) == 0 {
                // Drops all products inside; the register of the sum may have taken some.
                run.reset(sim, 1)?;
                (sum, shown) = (None, (false, None));
                inside.iter_mut().for_each(|entered| *entered = None);
                run.expect_u64(sim, valid_o, 0)?;
            }
            let (e, v) = (rng.random_range(0..8u8) != 0, rng.random_range(0..8u8) != 0);
            let s = sum.is_none() || rng.random_range(0..24u8) == 0;
            let [x, y] = factors(self.golden, if s { 0 } else { sum.unwrap_or(0) }, &mut rng);
            sim.poke_u64(enable, e.into());
            sim.poke_u64(valid, v.into());
            sim.poke_u64(start, s.into());
            sim.poke_u64(a, x);
            sim.poke_u64(b, y);
            sim.tick()?;
            if e {
                let entered = v.then(|| self.golden.step(if s { 0 } else { sum.unwrap_or(0) }, x, y));
                sum = entered.or(sum);
                inside.push_back(entered);
                let left = inside.pop_front().flatten();
                // `stages` ranks: the one that was pushed `stages` - 1 cycles ago is in the sum now.
                let now = inside.front().copied().flatten();
                debug_assert!(left.is_none() || shown.1.is_some());
                shown = (now.is_some(), now.or(shown.1));
            }
            run.expect_u64(sim, valid_o, shown.0.into())?;
            if let Some(expected) = shown.1 {
                run.expect_u64(sim, sum_o, expected)?;
            }
        }
        Ok(())
    }
}
