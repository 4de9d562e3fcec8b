//! [`AxiReadDma`] on a memory: rows of all lengths, pauses everywhere, bad beats, aborts and resets at random moments.

mod bench;
mod room;

use std::collections::BTreeMap;

use golden::common::bus::Command;
use golden::common::bus::axi_read_dma::cycles;
use hdl::blocks::common::AxiReadDma;
use rand::RngExt;
use sim::bus::{Access, AxiConfig, AxiMemory, BusError, Place, Promises, Response};
use sim::stimulus::{Stall, StimulusRng};
use sim::{Run, Sim};

use super::memory::{Manners, rule};
use bench::Bench;

/// The bench of a read DMA; a vector is a command.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &AxiReadDma) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| work(&p, sim, run))
}

/// Puts a bad beat at a random position of `command`.
fn spoil(bench: &mut Bench, command: &Command, rng: &mut StimulusRng) {
    let beats = command.bus_beats(bench.shape.bytes);
    let place = beats[rng.random_range(0..beats.len())];
    bench.contents.bad.insert(place, [1, 2, 3][rng.random_range(0..3)]);
}

fn work(p: &AxiReadDma, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("commands");
    let mut bench = Bench::new(p, sim, run, Manners::ideal(1))?;
    let most = u64::from(p.dma.burst_beats);
    if p.dma.outstanding >= 4 && p.buffer_beats >= p.dma.burst_beats + 8 && bench.shape.bytes <= 64 {
        ideal(&mut bench, sim, run, most)?;
    }
    room::all(p, &mut bench, sim, run)?;
    every_beat_position(&mut bench, sim, run)?;
    for command in bench.shape.just_outside() {
        bench.push(command);
    }
    bench.run(sim, run)?;
    for stall in Stall::ALL {
        independent(p, &mut bench, sim, run, (&mut rng, stall))?;
    }
    let mut left = run.vectors();
    let mut round = 0;
    while left > 0 {
        let stall = |rng: &mut StimulusRng| Stall::ALL[rng.random_range(0..Stall::ALL.len())];
        let manners = Manners { latency: rng.random_range(1..40), stall: stall(&mut rng), silent: false };
        let (output, commands) = (stall(&mut rng), stall(&mut rng));
        bench.set_stall(run, manners, output, commands);
        bench.set_attributes(sim, (rng.random_range(0..16), rng.random_range(0..8)))?;
        bench.contents.bad.clear();
        let number = rng.random_range(1..=8).min(left);
        left -= number;
        for _ in 0..number {
            let beats = if rng.random_range(0..8u8) == 0 { 2 * most + 3 } else { 12 };
            let command = if rng.random_range(0..6u8) == 0 {
                bench.shape.bad(&mut rng)
            } else {
                bench.shape.good(&mut rng, beats)
            };
            if command.refusal(bench.shape.address_width).is_none() && rng.random_range(0..4u8) == 0 {
                spoil(&mut bench, &command, &mut rng);
            }
            bench.commands.queue.push_back(command);
        }
        // A bad beat of a later command may belong to an earlier command, too.
        let queued: Vec<Command> = bench.commands.queue.drain(..).collect();
        queued.into_iter().for_each(|c| bench.push(c));
        round += 1;
        match round % 4 {
            0 => interrupt(&mut bench, sim, run, &mut rng)?,
            _ => bench.run(sim, run)?,
        }
    }
    silent(&mut bench, sim, run, &mut rng)
}

/// The cycles of the formula.
fn ideal(bench: &mut Bench, sim: &mut Sim, run: &mut Run, most: u64) -> sim::Result<()> {
    let bytes = bench.shape.bytes;
    let commands = [
        Command { address: 0x1fc0, row_bytes: 1, rows: 1, stride: 0 },
        Command { address: 0x1fc0, row_bytes: 64 + 5 * bytes - 1, rows: 1, stride: 0 },
        Command { address: 0x2000, row_bytes: most * bytes, rows: 1, stride: 0 },
        Command { address: 0x2040, row_bytes: 3 * most * bytes + 1, rows: 1, stride: 0 },
        Command { address: 0x3f80, row_bytes: 100, rows: 7, stride: 128 },
    ];
    for latency in [1, 3] {
        for command in commands {
            let manners = Manners::ideal(latency);
            bench.set_stall(run, manners, Stall::Never, Stall::Never);
            bench.push(command);
            bench.run(sim, run)?;
            let got = bench.commands.ended_at - bench.commands.taken_at;
            let what = format!("cycles of {command:x?} at latency {latency}");
            run.expect_equal(sim, "completion_valid_o", &what, cycles(&command, bytes, latency), got)?;
        }
    }
    Ok(())
}

/// An error at each beat of a command, between two good ones.
fn every_beat_position(bench: &mut Bench, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let bytes = bench.shape.bytes;
    let command = Command { address: 0x5fc0, row_bytes: (64 + bytes).min(3 * 64), rows: 2, stride: 0x400 };
    let good = Command { address: 0x9040, row_bytes: 70, rows: 1, stride: 0 };
    let beats = command.bus_beats(bytes);
    for stall in [Stall::Never, Stall::Random { num: 1, den: 2 }] {
        bench.set_stall(run, Manners { stall, ..Manners::ideal(5) }, stall, Stall::Never);
        for (k, &bad) in beats.iter().enumerate() {
            bench.contents.bad = BTreeMap::from([(bad, 2 + k as u64 % 2)]);
            for c in [good, command, good] {
                bench.push(c);
            }
            bench.run(sim, run)?;
        }
    }
    bench.contents.bad.clear();
    Ok(())
}

/// The memory of `sim`, which checks all rules in both directions. Compares the data that is read, with an error now
/// and then, and an abort and a reset in the middle.
fn independent(
    p: &AxiReadDma,
    bench: &mut Bench,
    sim: &mut Sim,
    run: &mut Run,
    (rng, stall): (&mut StimulusRng, Stall),
) -> sim::Result<()> {
    let bytes = bench.shape.bytes;
    let commands: Vec<Command> = (0..12).map(|_| bench.shape.good(rng, 10)).collect();
    bench.contents.bad.clear();
    for command in commands.iter().step_by(5) {
        spoil(bench, command, rng);
        bench.contents.bad.retain(|_, answer| *answer >= 2);
    }
    let response = |&answer: &u64| if answer == 2 { Response::SlvErr } else { Response::DecErr };
    let error = |(&at, answer): (&u64, &u64)| BusError {
        access: Access::Read,
        place: Place::Addresses(at..at + 1),
        response: response(answer),
    };
    let promises = Promises {
        reads: Some(p.dma.outstanding),
        // Owed beats are taken at once.
        response: Some(0),
        ..Promises::default()
    };
    let config =
        AxiConfig { errors: bench.contents.bad.iter().map(error).collect(), promises, ..AxiConfig::drawn(stall, rng) };
    let mut memory = AxiMemory::new();
    memory.serve(sim, "mem", &config, rng.random())?;
    for at in commands.iter().flat_map(|c| c.bus_beats(bytes)) {
        let beat: Vec<u8> = (0..bytes).map(|k| bench.contents.byte(at + k)).collect();
        memory.memory_mut().store(at, &beat);
    }
    bench.other = Some(memory);
    bench.set_stall(run, Manners::ideal(1), stall, stall);
    for part in commands.chunks(4) {
        part.iter().for_each(|&c| bench.push(c));
        bench.run(sim, run)?;
        part.iter().for_each(|&c| bench.push(c));
        for _ in 0..rng.random_range(0..60) {
            bench.cycle(sim, run, false)?;
        }
        if rng.random_range(0..2u8) == 0 {
            bench.reset(sim)?;
        } else {
            bench.abort(sim, run, 1)?;
        }
    }
    bench.other = None;
    bench.contents.bad.clear();
    Ok(())
}

/// Commands under way, then an abort or a reset, then a good command.
fn interrupt(bench: &mut Bench, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
    for _ in 0..rng.random_range(0..120) {
        if bench.is_done() {
            break;
        }
        bench.cycle(sim, run, false)?;
    }
    if rng.random_range(0..3u8) == 0 {
        bench.reset(sim)?;
    } else {
        let cycles = rng.random_range(1..4);
        bench.abort(sim, run, cycles)?;
    }
    bench.contents.bad.clear();
    let command = bench.shape.good(rng, 8);
    bench.push(command);
    bench.run(sim, run)
}

/// A memory that never answers: an abort ends only when it does.
fn silent(bench: &mut Bench, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
    let manners = Manners { silent: true, ..Manners::ideal(1) };
    bench.set_stall(run, manners, Stall::Never, Stall::Never);
    bench.push(bench.shape.good(rng, 8));
    for _ in 0..100 {
        bench.cycle(sim, run, false)?;
    }
    bench.forget();
    for k in 0..100 {
        bench.cycle(sim, run, k == 0)?;
        sim.settle()?;
        run.expect_u64(sim, bench.idle, 0)?;
    }
    bench.port.set_manners(run, Manners::ideal(1));
    bench.abort(sim, run, 1)?;
    bench.push(bench.shape.good(rng, 8));
    bench.run(sim, run)
}

/// The share of cycles in which a memory that answers after `latency` cycles moves a beat, of a long command.
///
/// # Errors
/// The first difference.
pub fn share(p: &AxiReadDma, sim: &mut Sim, run: &mut Run, latency: u64, beats: u64) -> sim::Result<f64> {
    let mut bench = Bench::new(p, sim, run, Manners::ideal(latency))?;
    let row_bytes = beats * bench.shape.bytes;
    bench.push(Command { address: 0x1_0000, row_bytes, rows: 1, stride: 0 });
    let begin = sim.cycle_count();
    while bench.port.beats == 0 {
        bench.cycle(sim, run, false)?;
        rule(run, sim, "mem_arvalid_o", sim.cycle_count() - begin < 1000, "no beat comes")?;
    }
    let first = sim.cycle_count();
    while bench.port.beats < beats {
        bench.cycle(sim, run, false)?;
        rule(run, sim, "mem_arvalid_o", sim.cycle_count() - begin < 100 * beats, "beats do not come")?;
    }
    let cycles = sim.cycle_count() - first + 1;
    bench.run(sim, run)?;
    Ok(beats as f64 / cycles as f64)
}
