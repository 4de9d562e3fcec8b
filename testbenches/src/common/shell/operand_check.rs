//! [`OperandCheck`]: operands whose last byte is near the end of the window or of the bus. In some, one bit of rows or
//! stride moves the last byte far away. Clears come at any time.

use golden::common::bus::Command;
use golden::common::shell::job_controller::Limits;
use golden::common::shell::operand_check::{check, reach};
use hdl::blocks::common::OperandCheck;
use hdl::blocks::common::shell::operand_check::{Operand, Verdict};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

/// The bench of the check; a vector is an operand.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &OperandCheck) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| work(&p, sim, run))
}

/// The lowest `width` bits.
fn low(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// A number of up to `width` bits: any, small, a power of two, the largest.
fn number(rng: &mut StimulusRng, width: u32) -> u64 {
    match rng.random_range(0..8u8) {
        0 => rng.random::<u64>() & low(width),
        1 => low(width),
        2..5 => 1 << rng.random_range(0..width),
        _ => rng.random_range(0..16u64) & low(width),
    }
}

/// An operand, and a window that it may just lie in.
fn draw(p: &OperandCheck, rng: &mut StimulusRng) -> (Command, Limits) {
    let top = low(p.address_width);
    let mut rows = Command {
        address: number(rng, p.address_width) & !63,
        row_bytes: number(rng, p.row_width).max(1),
        rows: (number(rng, p.rows_width) + rng.random_range(0..2u64)).clamp(1, low(p.rows_width)),
        stride: number(rng, p.stride_width) & !63,
    };
    if rng.random_range(0..8u8) == 0 {
        // Any address; a bus may have fewer bits.
        rows.address = number(rng, 64) & !63;
    }
    if rng.random_range(0..8u8) == 0 {
        // Up to the end of the bus, or a byte further.
        let (first, last) = reach(&rows);
        let all = (last - first) as u64;
        rows.address = top.wrapping_sub(all) & !63;
        rows.row_bytes = (rows.row_bytes + rng.random_range(0..64u64)).clamp(1, low(p.row_width));
    }
    match rng.random_range(0..12u8) {
        0 => rows.address |= 1 << rng.random_range(0..6u8),
        1 => rows.stride |= 1 << rng.random_range(0..6u8),
        _ => {}
    }
    let (first, last) = reach(&rows);
    let [first, last] = [first, last].map(|end| u64::try_from(end).unwrap_or(u64::MAX));
    let near = |rng: &mut StimulusRng, end: u64| match rng.random_range(0..8u8) {
        0 => end.saturating_sub(1),
        1 => end.saturating_add(1),
        2 => end ^ 1 << rng.random_range(0..64u8),
        3 => 1 << rng.random_range(0..64u8),
        _ => end,
    };
    let base = if rng.random() { 0 } else { near(rng, first) };
    let limit = if rng.random_range(0..4u8) == 0 { u64::MAX } else { near(rng, last) };
    (rows, Limits { base, limit, max_descriptors: 1 })
}

fn work(p: &OperandCheck, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("operands");
    let [clear_i, base_i, limit_i] = ["clear_i", "window_base_i", "window_limit_i"].map(|name| sim.input(name));
    let (clear_i, base_i, limit_i, ready_o) = (clear_i?, base_i?, limit_i?, sim.output("operand_ready_o")?);
    sim.poke_u64(clear_i, 0);
    run.reset(sim, 2)?;
    for k in 0..run.vectors() {
        let (rows, limits) = draw(p, &mut rng);
        sim.poke_u64(base_i, limits.base);
        sim.poke_u64(limit_i, limits.limit);
        let stalls = if k % 4 == 0 { Stall::Random { num: 1, den: 2 } } else { Stall::Never };
        let mut driver = run.driver_of::<Operand<Values>>(sim, "operand", stalls)?;
        let mut monitor = run.monitor_of::<Verdict<Values>>(sim, "verdict", stalls)?;
        driver.push(Operand {
            address: Bits::truncated(64, rows.address),
            row_bytes: Bits::truncated(p.row_width, rows.row_bytes),
            rows: Bits::truncated(p.rows_width, rows.rows),
            stride: Bits::truncated(p.stride_width, rows.stride),
        })?;
        let error = check(&rows, &limits, p.address_width).err().unwrap_or(0);
        monitor.expect([Verdict { error: Bits::truncated(8, error.into()) }])?;
        if rng.random_range(0..16u8) == 0 {
            for _ in 0..rng.random_range(0..p.cycles() + 4) {
                run.cycle(sim, &mut [driver.as_mut()], &mut [monitor.as_mut()])?;
            }
            drop_it(sim, run, rng.random_range(1..3u8))?;
            continue;
        }
        let begin = sim.cycle_count();
        while !monitor.is_done() && sim.cycle_count() - begin < 300 {
            if driver.sent() > 0 {
                // One operand at a time.
                sim.settle()?;
                run.expect_u64(sim, ready_o, 0)?;
            }
            run.cycle(sim, &mut [driver.as_mut()], &mut [monitor.as_mut()])?;
        }
        let cycles = sim.cycle_count() - begin;
        if stalls == Stall::Never {
            run.expect_equal(sim, "verdict", "cycles to it", u64::from(p.cycles()) + 1, cycles)?;
        } else {
            run.expect_equal(sim, "verdict", "none", true, monitor.is_done())?;
        }
    }
    Ok(())
}

/// Clears for some cycles: there is no verdict on the operand in hand, and the next operand is taken.
fn drop_it(sim: &mut Sim, run: &mut Run, cycles: u8) -> sim::Result<()> {
    let [clear_i, valid_i, ready_i] = ["clear_i", "operand_valid_i", "verdict_ready_i"].map(|name| sim.input(name));
    let (clear_i, ready_o, valid_o) = (clear_i?, sim.output("operand_ready_o")?, sim.output("verdict_valid_o")?);
    sim.poke_u64(ready_i?, 0);
    sim.poke_u64(valid_i?, 1);
    sim.poke_u64(clear_i, 1);
    for _ in 0..cycles {
        sim.settle()?;
        run.expect_u64(sim, ready_o, 0)?;
        sim.tick()?;
    }
    sim.poke_u64(sim.input("operand_valid_i")?, 0);
    sim.poke_u64(clear_i, 0);
    sim.settle()?;
    run.expect_u64(sim, ready_o, 1)?;
    run.expect_u64(sim, valid_o, 0)
}
