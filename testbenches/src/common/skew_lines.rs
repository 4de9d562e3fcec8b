//! [`SkewLines`] under values that change in every cycle.

use golden::common::skew_lines::{Direction, lanes as shown_lanes};
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
    let direction = match p.direction {
        SkewDirection::Skew => Direction::Skew,
        SkewDirection::Deskew => Direction::Deskew,
    };
    let mut history: Vec<Vec<Bits>> = Vec::new();
    for _ in 0..run.vectors() + u64::from(lanes) {
        let now: Vec<Bits> = (0..lanes).map(|_| Bits::random(width, &mut rng)).collect();
        let mut vector = Bits::zero(lanes * width);
        now.iter().zip(0..).for_each(|(value, lane)| vector.set_slice(lane * width, value));
        sim.poke(data_i, &vector);
        history.push(now);
        sim.settle()?;
        let got = sim.peek(data_o);
        for (lane, expected) in (0..).zip(shown_lanes(direction, &history)) {
            if let Some(expected) = expected {
                let shown = got.slice(lane * width, width);
                run.expect_equal(sim, "data_o", &format!("lane {lane}"), &expected, &shown)?;
            }
        }
        // A single lane has no register, and so no clock.
        if lanes > 1 {
            sim.tick()?;
        }
    }
    Ok(())
}
