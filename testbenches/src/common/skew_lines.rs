//! [`SkewLines`] under values that change in every cycle.

use hdl::blocks::common::{SkewDirection, SkewLines};
use sim::{Bits, Run, Sim};

/// The bench of the lines; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &SkewLines) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    crate::bench(p, move |sim, run| values(&block, sim, run))
}

fn values(p: &SkewLines, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("values");
    let (data_i, data_o) = (sim.input("data_i")?, sim.output("data_o")?);
    let (lanes, width) = (p.lanes, p.width);
    let mut history: Vec<Bits> = Vec::new();
    for _ in 0..run.vectors() + u64::from(lanes) {
        let now = Bits::random(lanes * width, &mut rng);
        sim.poke(data_i, &now);
        history.push(now);
        sim.settle()?;
        if history.len() >= lanes as usize {
            let mut expected = Bits::zero(lanes * width);
            for lane in 0..lanes {
                let delay = match p.direction {
                    SkewDirection::Skew => lane,
                    SkewDirection::Deskew => lanes - 1 - lane,
                };
                let then = &history[history.len() - 1 - delay as usize];
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
