//! [`StreamWidthConverter`]: packets of all lengths, pauses on both sides, a clear in the middle of packets.

use golden::common::stream::stream_width_converter::{Part as GoldenPart, convert};
use hdl::blocks::common::StreamWidthConverter;
use hdl::blocks::common::stream::stream_width_converter::Part;
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

/// The bench of a width converter; a vector is a packet.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &StreamWidthConverter) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| work(&p, sim, run))
}

/// A packet: full beats, then one with any number of granules, also none.
fn packet(p: &StreamWidthConverter, rng: &mut StimulusRng) -> Vec<GoldenPart> {
    let granules = (p.input_width / p.granule) as usize;
    let mask = if p.granule >= 64 { u64::MAX } else { (1 << p.granule) - 1 };
    let beats = rng.random_range(1..=3 * p.ratio() as usize);
    let beat = |k: usize, rng: &mut StimulusRng| {
        let used = if k + 1 == beats { rng.random_range(0..=granules) } else { granules };
        GoldenPart { granules: (0..used).map(|_| rng.random::<u64>() & mask).collect(), last: k + 1 == beats }
    };
    (0..beats).map(|k| beat(k, rng)).collect()
}

fn part(granule: u32, places: &[Option<u64>], last: bool) -> Part<Values> {
    Part {
        data: Bits::pack(granule, places.iter().map(|g| g.unwrap_or(0))),
        strobe: Bits::pack(1, places.iter().map(|g| g.is_some().into())),
        last: Bits::truncated(1, last.into()),
    }
}

fn work(p: &StreamWidthConverter, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("packets");
    let (from, to) = ((p.input_width / p.granule) as usize, (p.output_width / p.granule) as usize);
    let clear_i = sim.input("clear_i")?;
    sim.poke_u64(clear_i, 0);
    run.reset(sim, 2)?;
    let packets = run.vectors().div_ceil(Stall::ALL.len() as u64);
    for (k, stall) in Stall::ALL.into_iter().enumerate() {
        let mut driver = run.driver_of::<Part<Values>>(sim, "input", stall)?;
        let other = Stall::ALL[(k + 2) % Stall::ALL.len()];
        let mut monitor = run.monitor_of::<Part<Values>>(sim, "output", if k == 0 { stall } else { other })?;
        let mut narrow = 0;
        for _ in 0..packets {
            let beats = packet(p, &mut rng);
            let out = convert(&beats, from, to);
            narrow += beats.len().max(out.len()) as u64;
            let whole = |b: &GoldenPart| (0..from).map(|k| b.granules.get(k).copied()).collect::<Vec<_>>();
            driver.extend(beats.iter().map(|b| part(p.granule, &whole(b), b.last)))?;
            monitor.expect(out.iter().map(|(places, last)| part(p.granule, places, *last)))?;
        }
        if k == 0 {
            // Without pauses the narrower side moves in every cycle.
            let begin = sim.cycle_count();
            while !monitor.is_done() && sim.cycle_count() - begin < 2 * narrow + 8 {
                run.cycle(sim, &mut [driver.as_mut()], &mut [monitor.as_mut()])?;
            }
            let cycles = sim.cycle_count() - begin;
            run.expect_equal(sim, "output", "cycles without pauses", narrow + 1, cycles)?;
        }
        run.streams(sim, &mut [driver], &mut [monitor])?;
        clear_inside(p, sim, run, &mut rng)?;
    }
    Ok(())
}

/// Half a packet, then a clear: nothing of it is seen afterwards.
fn clear_inside(p: &StreamWidthConverter, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
    let mut driver = run.driver_of::<Part<Values>>(sim, "input", Stall::Never)?;
    let mut monitor = run.monitor_of::<Part<Values>>(sim, "output", Stall::Random { num: 1, den: 2 })?;
    let granules = (p.input_width / p.granule) as usize;
    for _ in 0..rng.random_range(1..=2 * p.ratio()) {
        driver.push(part(p.granule, &vec![Some(1); granules], false))?;
    }
    for _ in 0..rng.random_range(1..=2 * u64::from(p.ratio())) {
        run.cycle(sim, &mut [driver.as_mut()], &mut [monitor.as_mut()])?;
    }
    let clear_i = sim.input("clear_i")?;
    for name in ["input_valid_i", "output_ready_i"] {
        sim.poke_u64(sim.input(name)?, 0);
    }
    sim.poke_u64(clear_i, 1);
    sim.settle()?;
    let ready = sim.output("input_ready_o")?;
    run.expect_u64(sim, ready, 0)?;
    sim.tick()?;
    sim.poke_u64(clear_i, 0);
    sim.settle()?;
    let valid = sim.output("output_valid_o")?;
    run.expect_u64(sim, valid, 0)
}
