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
    sim::kit::bench(p, move |sim, run| values(&block, sim, run))
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
        sim.poke(data_i, &vector_of(&now, width));
        history.push(now);
        sim.settle()?;
        // From when on all lanes are known.
        if let Some(shown) = shown_lanes(direction, &history).into_iter().collect::<Option<Vec<Bits>>>() {
            run.expect(sim, data_o, &vector_of(&shown, width))?;
        }
        // A single lane has no register, and so no clock.
        if lanes > 1 {
            sim.tick()?;
        }
    }
    Ok(())
}

fn vector_of(lanes: &[Bits], width: u32) -> Bits {
    let mut vector = Bits::zero(lanes.len() as u32 * width);
    lanes.iter().zip(0..).for_each(|(value, lane)| vector.set_slice(lane * width, value));
    vector
}
