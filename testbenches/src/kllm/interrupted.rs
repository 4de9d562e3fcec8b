//! Work that is cut short, and work that breaks a rule, for all benches of streams.

use sim::{Difference, Run, Sim, StreamDriver, StreamMonitor};

/// Runs the streams for `cycles` cycles and resets the design: beats on their way are dropped, as are the streams'
/// other beats.
pub fn cut_short(
    sim: &mut Sim,
    run: &mut Run,
    drivers: &mut [impl AsMut<StreamDriver>],
    monitors: &mut [impl AsMut<StreamMonitor>],
    cycles: u64,
) -> sim::Result<()> {
    for _ in 0..cycles {
        run.cycle(sim, drivers, monitors)?;
    }
    sim.reset(1)?;
    // Offered beats are withdrawn, too.
    for driver in drivers {
        let valid = sim.input(&format!("{}_valid_i", driver.as_mut().name()))?;
        sim.poke_u64(valid, 0);
    }
    Ok(())
}

/// Runs the streams until `monitor`, which records only, has `count` beats, and a while longer, in which none may come.
pub fn record(
    sim: &mut Sim,
    run: &mut Run,
    driver: &mut impl AsMut<StreamDriver>,
    monitor: &mut impl AsMut<StreamMonitor>,
    count: usize,
) -> sim::Result<()> {
    const PATIENCE: u64 = 10_000;
    let mut idle = 0;
    while monitor.as_mut().beats().len() < count {
        let moved = run.cycle(sim, &mut [driver.as_mut()], &mut [monitor.as_mut()])?;
        idle = if moved { 0 } else { idle + 1 };
        if idle > PATIENCE {
            let name = monitor.as_mut().name().to_owned();
            let streams = vec![format!("output stream `{name}`: {} of {count} beats", monitor.as_mut().beats().len())];
            return Err(run.fail(sim.cycle_count(), Difference::Deadlock { cycles: idle, streams }));
        }
    }
    for _ in 0..64 {
        run.cycle(sim, &mut [driver.as_mut()], &mut [monitor.as_mut()])?;
    }
    let (got, name) = (monitor.as_mut().beats().len(), monitor.as_mut().name().to_owned());
    run.expect_equal(sim, &format!("{name}_valid_o"), "beats in all", count, got)
}
