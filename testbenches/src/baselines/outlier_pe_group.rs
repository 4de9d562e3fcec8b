//! [`OutlierPeGroup`] with whole weights, some of which are outliers. The extra multiplier takes one of them; several
//! need a second step. Random halves stand next to them. Tiles begin, rows shift and resets come in any cycle.

use golden::baselines::outlier_pe_group::{Cycle, OutlierPeGroup as Golden, halves};
use hdl::blocks::baselines::OutlierPeGroup;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

/// The bench of a group; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &OutlierPeGroup) -> anyhow::Result<Box<dyn sim::Bench>> {
    let fresh = Golden::new(p.lanes as usize, p.weight_width, p.accumulator_width).map_err(anyhow::Error::msg)?;
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| random(&p, &fresh, sim, run))
}

/// Weights of a step, and the second step that some of them need.
struct Weights {
    steps: Vec<(Vec<i64>, bool)>,
    outlier: (i64, usize),
}

/// Weights with so many outliers at random lanes.
fn weights(rng: &mut StimulusRng, p: &OutlierPeGroup, outliers: usize) -> sim::Result<Weights> {
    let (lanes, width) = (p.lanes as usize, p.weight_width);
    let half = 1i64 << (width - 1);
    let mut all: Vec<i64> = (0..lanes).map(|_| rng.random_range(-half..half)).collect();
    let mut large = Vec::new();
    for _ in 0..outliers {
        let lane = rng.random_range(0..lanes);
        let limit = half * (2 * half + 1);
        all[lane] =
            if rng.random() { rng.random_range(-limit..-half) } else { rng.random_range(half..limit - 2 * half) };
        large.push(lane);
    }
    let split = |weight: i64| halves(weight, width).map_err(sim::Error::Unsupported);
    let parts = all.into_iter().map(split).collect::<sim::Result<Vec<_>>>()?;
    let lower = parts.iter().map(|half| half[0]).collect();
    if parts.iter().filter(|half| half[1] != 0).count() > 1 {
        let upper = parts.iter().map(|half| half[1]).collect();
        return Ok(Weights { steps: vec![(lower, false), (upper, true)], outlier: (0, 0) });
    }
    let lane = parts.iter().position(|half| half[1] != 0).unwrap_or(0);
    Ok(Weights { steps: vec![(lower, false)], outlier: (parts[lane][1], lane) })
}

fn random(p: &OutlierPeGroup, fresh: &Golden, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("cycles");
    let ports = Ports::find(sim)?;
    let mut golden = fresh.clone();
    run.reset(sim, 2)?;
    let half = 1i64 << (p.weight_width - 1);
    let most = 1i64 << (p.act_width - 1);
    let top = 1i128 << (p.accumulator_width - 1);
    let (low, high) = (-top as i64, (top - 1) as i64);
    let lane_codes = 1usize << ports.lane_width(sim);
    let (mut mood, mut left, mut started, mut overflows, mut cycles) = (0u8, 0u32, false, 0u64, 0u64);
    while cycles < run.vectors() {
        if left == 0 {
            (mood, left) = (rng.random_range(0..6), rng.random_range(1..=24));
        }
        left -= 1;
        if rng.random_range(0..300u16) == 0 {
            run.reset(sim, rng.random_range(1..=2))?;
            (golden, started) = (fresh.clone(), false);
        }
        let act = match mood {
            0 => -most,
            1 => most - 1,
            _ => rng.random_range(-most..most),
        };
        let step = match mood {
            // The largest that a lane can add: both halves at their ends, and whatever lane is named.
            0 | 1 => Weights {
                steps: vec![(vec![-half; p.lanes as usize], true)],
                outlier: (-half, rng.random_range(0..lane_codes)),
            },
            2 => Weights {
                steps: vec![((0..p.lanes).map(|_| rng.random_range(-half..half)).collect(), rng.random())],
                outlier: (rng.random_range(-half..half), rng.random_range(0..lane_codes)),
            },
            _ => {
                let outliers = rng.random_range(0..=2);
                weights(&mut rng, p, outliers)?
            }
        };
        let first = !started || rng.random_range(0..40u8) == 0;
        started = true;
        let count = step.steps.len();
        for (k, (weights, upper)) in step.steps.into_iter().enumerate() {
            let cycle = Cycle {
                first: first && k == 0,
                last: k + 1 == count && rng.random_range(0..25u8) == 0,
                act,
                weights,
                upper,
                outlier: step.outlier.0,
                outlier_lane: step.outlier.1,
                drain: rng.random_range(0..3u8) == 0,
                entering: (rng.random_range(low..=high), rng.random()),
            };
            ports.step(p, sim, run, &mut golden, &cycle)?;
            overflows += u64::from(golden.overflowed());
            cycles += 1;
        }
    }
    if run.vectors() >= 1000 && overflows == 0 && p.accumulator_width <= p.act_width + 2 * p.weight_width + 4 {
        return Err(sim::Error::Unsupported("no sum overflowed: the stimuli are too tame".into()));
    }
    Ok(())
}

struct Ports {
    controls: [In; 4],
    act: In,
    weights: In,
    outlier: In,
    lane: In,
    entering: [In; 2],
    result: Out,
    overflow: Out,
}

impl Ports {
    fn find(sim: &Sim) -> sim::Result<Self> {
        Ok(Self {
            controls: [sim.input("first_i")?, sim.input("last_i")?, sim.input("upper_i")?, sim.input("drain_i")?],
            act: sim.input("act_i")?,
            weights: sim.input("weights_i")?,
            outlier: sim.input("outlier_i")?,
            lane: sim.input("outlier_lane_i")?,
            entering: [sim.input("result_i")?, sim.input("overflow_i")?],
            result: sim.output("result_o")?,
            overflow: sim.output("overflow_o")?,
        })
    }

    fn lane_width(&self, sim: &Sim) -> u32 {
        sim.port_of_input(self.lane).width
    }

    /// Drives a cycle and compares.
    fn step(
        &self,
        p: &OutlierPeGroup,
        sim: &mut Sim,
        run: &mut Run,
        golden: &mut Golden,
        cycle: &Cycle,
    ) -> sim::Result<()> {
        for (port, value) in self.controls.iter().zip([cycle.first, cycle.last, cycle.upper, cycle.drain]) {
            sim.poke_u64(*port, value.into());
        }
        sim.poke_i64(self.act, cycle.act);
        let mask = (1u64 << p.weight_width) - 1;
        let weights = cycle.weights.iter().map(|&weight| weight as u64 & mask);
        sim.poke(self.weights, &Bits::pack(p.weight_width, weights));
        sim.poke_i64(self.outlier, cycle.outlier);
        sim.poke_u64(self.lane, cycle.outlier_lane as u64);
        sim.poke_i64(self.entering[0], cycle.entering.0);
        sim.poke_u64(self.entering[1], cycle.entering.1.into());
        sim.tick()?;
        let Some((sum, flag)) = golden.step(cycle) else { return Ok(()) };
        run.expect_i64(sim, self.result, sum)?;
        run.expect_u64(sim, self.overflow, flag.into())
    }
}
