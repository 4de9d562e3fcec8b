//! [`RefreshController`] under hostile traffic, held against the contract of 2DRP by the golden checker.
//!
//! The bench does not predict which row is refreshed when: any schedule that keeps the contract passes. Traffic, classes,
//! validity and intervals change all the time, in the ways that would hurt most, and a reset may come in any cycle. What
//! is not asked for is poked with noise. Then comes a part in which one row at a time is left alone, where the contract says
//! how soon it is refreshed.

mod alone;
mod ports;

use golden::kelle::refresh_controller::{Checker, Intervals, Limits, Operation};
use hdl::blocks::kelle::RefreshController;
use hdl::blocks::kelle::refresh_controller::REFRESH_CYCLES;
use ports::Ports;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Difference, Run, Sim};

/// Cycles of a vector.
const CYCLES: u64 = 16;

/// The bench of a refresh controller; a vector is 16 cycles under traffic. A row is left alone for every eighth one.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &RefreshController) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone(), limits: limits(p) };
    sim::kit::bench(p, move |sim, run| {
        bench.run(sim, run)?;
        alone::Alone::new(&bench.p, bench.limits, sim, run)?.run(sim, run)
    })
}

/// The limits of the contract for a controller with these parameters.
#[must_use]
pub fn limits(p: &RefreshController) -> Limits {
    Limits { rows: p.rows.into(), patience: p.patience.into(), unit: 1 << p.tick_log2 }
}

struct Bench {
    p: RefreshController,
    limits: Limits,
}

/// Who wants the banks.
#[derive(Clone, Copy, Debug)]
pub enum Traffic {
    /// Nobody.
    Idle,
    /// Reads in every cycle.
    Reads,
    /// Writes and reads in every cycle.
    Writes,
    /// Some cycles.
    Random,
    /// Every other cycle: there are never two free ones in a row.
    Alternate,
    /// Nobody, until a row is due; then every cycle.
    Deadline,
}

impl Traffic {
    /// All kinds.
    pub const ALL: [Self; 6] = [Self::Idle, Self::Reads, Self::Writes, Self::Random, Self::Alternate, Self::Deadline];
}

/// Inputs of the controller, and the state of the golden checker.
struct Scene {
    valid: Vec<bool>,
    high: Vec<bool>,
    intervals: Intervals,
    checker: Checker,
}

impl Bench {
    /// Nothing is known after a reset, and both intervals have the value of the parameter.
    fn scene(&self) -> sim::Result<Scene> {
        let (p, rows) = (&self.p, self.p.rows as usize);
        let reset = Intervals { high: p.interval.into(), low: p.interval.into() };
        let intervals = self.limits.accepted(reset).ok_or_else(|| {
            sim::Error::Unsupported(format!("an interval of {} cycles after reset is too short", p.interval))
        })?;
        Ok(Scene {
            valid: vec![false; rows],
            high: vec![false; rows],
            intervals,
            checker: Checker::new(rows, intervals, self.limits.unit, self.limits.wait()),
        })
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let p = &self.p;
        let ports = Ports::find(sim)?;
        let mut rng = run.rng("traffic");
        let rows = p.rows as usize;
        let mut scene = self.scene()?;
        let mask = if p.counter_width == 64 { u64::MAX } else { (1 << p.counter_width) - 1 };
        let (mut traffic, mut left, mut odd) = (Traffic::Writes, 4 * p.rows, false);
        let (mut refreshes, mut stalls, mut refused) = (0u64, 0u64, false);
        // Cycles for which the banks have been nobody's but the controller's.
        let mut held = 0u32;
        run.reset(sim, 2)?;
        for cycle in 0..run.vectors() * CYCLES {
            if rng.random_range(0..(100 * p.rows).max(2000)) == 0 {
                scene.checker.finish().map_err(|v| run.fail(sim.cycle_count(), violation(&v)))?;
                run.reset(sim, 1)?;
                scene = self.scene()?;
                (traffic, left) = (Traffic::Writes, 4 * p.rows);
                (refreshes, stalls, refused) = (0, 0, false);
                held = 0;
            }
            if left == 0 {
                traffic = Traffic::ALL[rng.random_range(0..Traffic::ALL.len())];
                left = rng.random_range(1..=8 * p.rows);
            }
            left -= 1;
            odd = !odd;
            let promoted = self.disturb(&mut scene, &mut rng);
            let config = (cycle == 0 || rng.random_range(0..600u32) == 0).then(|| self.intervals(&mut rng));
            let wanted = match traffic {
                Traffic::Idle => false,
                Traffic::Reads | Traffic::Writes => true,
                Traffic::Random => rng.random(),
                Traffic::Alternate => odd,
                Traffic::Deadline => scene.some_row_is_due(&mut rng),
            };
            // Without an access these are noise.
            let write = match traffic {
                _ if !wanted => rng.random(),
                Traffic::Writes => rng.random_range(0..3u8) == 0,
                _ => rng.random_range(0..64u8) == 0,
            };
            let row = rng.random_range(0..rows);

            ports.show(sim, &scene.valid, &scene.high);
            sim.poke_u64(ports.access_valid, wanted.into());
            sim.poke_u64(ports.access_write, write.into());
            sim.poke_u64(ports.access_row, row as u64);
            sim.poke_u64(ports.promoted_valid, promoted.is_some().into());
            sim.poke_u64(ports.promoted_row, promoted.unwrap_or(row) as u64);
            sim.poke_u64(ports.config_valid, config.is_some().into());
            let Intervals { high, low } = config.unwrap_or_else(|| self.intervals(&mut rng));
            sim.poke_u64(ports.config_high, high);
            sim.poke_u64(ports.config_low, low);
            sim.settle()?;

            let ready = sim.peek_u64(ports.access_ready) != 0;
            let at = sim.peek_u64(ports.refresh_row) as usize;
            let mut operations = Vec::new();
            if wanted && ready {
                operations.push(if write { Operation::Write(row) } else { Operation::Read(row) });
            }
            if sim.peek_u64(ports.refresh_read) != 0 {
                operations.push(Operation::RefreshRead(at));
            }
            if sim.peek_u64(ports.refresh_write) != 0 {
                operations.push(Operation::RefreshWrite(at));
                refreshes += 1;
            }
            stalls += u64::from(wanted && !ready);
            held = if ready { 0 } else { held + 1 };
            if held > REFRESH_CYCLES {
                let problem = format!("low for more than {REFRESH_CYCLES} cycles");
                return Err(
                    run.fail(sim.cycle_count(), Difference::Protocol { port: "access_ready_o".into(), problem })
                );
            }
            let broken = |v| run.fail(sim.cycle_count(), violation(&v));
            scene.checker.cycle(&operations).map_err(broken)?;
            if operations.contains(&Operation::Write(row)) && !scene.valid[row] {
                scene.set_valid(row, true).map_err(broken)?;
            }
            if let Some(config) = config {
                let accepted = self.limits.accepted(config);
                refused = accepted.is_none();
                if let Some(kept) = accepted {
                    scene.intervals = kept;
                    scene.checker.set_intervals(kept).map_err(broken)?;
                }
            }
            let looked = sim.peek_u64(ports.look_row);
            sim.tick()?;
            run.expect_u64(sim, ports.refresh_row, looked)?;
            run.expect_u64(sim, ports.refused, refused.into())?;
            run.expect_u64(sim, ports.refreshes, refreshes & mask)?;
            run.expect_u64(sim, ports.stalls, stalls & mask)?;
        }
        scene.checker.finish().map_err(|v| run.fail(sim.cycle_count(), violation(&v)))
    }
}

/// A broken rule as a difference to report.
#[must_use]
pub fn violation(v: &golden::kelle::refresh_controller::Violation) -> Difference {
    Difference::Protocol { port: "refresh_row_o".into(), problem: v.to_string() }
}

impl Scene {
    fn set_valid(&mut self, row: usize, valid: bool) -> Result<(), golden::kelle::refresh_controller::Violation> {
        self.valid[row] = valid;
        self.checker.set_valid(row, valid)
    }

    fn set_class(&mut self, row: usize, high: bool) {
        self.high[row] = high;
        // A row that was overdue too long is found when it is restored as well, and at the end.
        let _ = self.checker.set_class(row, high);
    }

    fn some_row_is_due(&self, rng: &mut StimulusRng) -> bool {
        let rows = self.valid.len();
        let start = rng.random_range(0..rows);
        (0..rows.min(64)).map(|i| (start + i) % rows).any(|row| {
            let interval = if self.high[row] { self.intervals.high } else { self.intervals.low };
            self.valid[row] && self.checker.age(row).is_some_and(|age| age >= interval)
        })
    }
}

impl Bench {
    /// Changes classes and validity. Returns a row that is reported as promoted.
    fn disturb(&self, scene: &mut Scene, rng: &mut StimulusRng) -> Option<usize> {
        let rows = self.p.rows as usize;
        let row = rng.random_range(0..rows);
        match rng.random_range(0..1000u32) {
            // All at once: a new threshold.
            0..2 => (0..rows).for_each(|row| scene.set_class(row, true)),
            2..4 => (0..rows).for_each(|row| scene.set_class(row, false)),
            4..24 => {
                let high = !scene.high[row];
                scene.set_class(row, high);
                // A report may be missing, and may be wrong: of any row, or of none.
                let any = rng.random_range(0..rows.next_power_of_two());
                return match rng.random_range(0..8u8) {
                    0 => None,
                    1 => Some(any),
                    _ => Some(row),
                };
            }
            24..28 => {
                // A token leaves. Its row may become valid again without a write only while it is young.
                let longest = (1u64 << self.p.interval_width) - 1;
                let young = scene.checker.age(row).is_some_and(|age| age <= longest);
                if scene.valid[row] || young {
                    let valid = !scene.valid[row];
                    let _ = scene.set_valid(row, valid);
                }
            }
            _ => {}
        }
        None
    }

    /// Intervals to configure: often the shortest, sometimes too short, or long enough that nothing happens.
    fn intervals(&self, rng: &mut StimulusRng) -> Intervals {
        let shortest = self.limits.shortest_interval();
        let longest = (1u64 << self.p.interval_width) - 1;
        let mut one = || match rng.random_range(0..8u8) {
            0 => shortest - 1,
            1 => rng.random_range(0..=longest),
            2 | 3 => shortest,
            _ => rng.random_range(shortest..=(8 * shortest).min(longest)),
        };
        Intervals { high: one(), low: one() }
    }
}
