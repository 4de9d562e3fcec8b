//! Addresses with any value in any field, and any data: each beat appears once on the port, unchanged and in its order.

use std::collections::VecDeque;

use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim};

use super::super::memory::{ADDRESS, Watched, rule};
use super::bench::{Bench, Sender};

/// Addresses of each manager on each channel.
const ADDRESSES: usize = 12;

/// Beats that each manager sends on a channel.
type Sent = Vec<VecDeque<Vec<Bits>>>;

/// Sends them to a port that answers nothing, up to the last beat of data.
pub(super) fn run(bench: &mut Bench, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
    let own = Stall::ALL[rng.random_range(0..Stall::ALL.len())];
    for (sender, part) in [(&mut bench.ar, "ar"), (&mut bench.aw, "aw"), (&mut bench.w, "w")] {
        sender.pause(run, part, own);
    }
    for port in ["mem_rvalid_i", "mem_bvalid_i"] {
        sim.poke_u64(sim.input(port)?, 0);
    }
    let any = |sender: &mut Sender, k: usize, rng: &mut StimulusRng| {
        let beat: Vec<Bits> = sender.fields.iter().map(|&(_, width)| Bits::random(width, rng)).collect();
        sender.queues[k].push_back(beat);
    };
    for k in 0..bench.managers {
        for _ in 0..ADDRESSES {
            any(&mut bench.ar, k, rng);
            any(&mut bench.aw, k, rng);
            for left in (0..rng.random_range(1..=3u8)).rev() {
                any(&mut bench.w, k, rng);
                if let Some(last) = bench.w.queues[k].back_mut().and_then(|beat| beat.last_mut()) {
                    *last = Bits::truncated(1, (left == 0).into());
                }
            }
        }
    }
    let mut sent: [Sent; 2] = [bench.ar.queues.clone(), bench.aw.queues.clone()];
    let mut data = bench.w.queues.clone();
    let mut ports = [
        Watched::new(sim, "mem", "ar", &ADDRESS)?,
        Watched::new(sim, "mem", "aw", &ADDRESS)?,
        Watched::new(sim, "mem", "w", &["data", "strb", "last"])?,
    ];
    let readies = [sim.input("mem_arready_i")?, sim.input("mem_awready_i")?, sim.input("mem_wready_i")?];
    let mut pauses = ["port ar", "port aw", "port w"].map(|name| {
        let stall = Stall::ALL[rng.random_range(0..Stall::ALL.len())];
        stall.pattern(run.seed(), name)
    });
    // Beats of data, and the managers that they must be of.
    let (mut beats, mut turns) = (Vec::new(), Vec::new());
    // A beat that goes to the port in a cycle with an abort has no strobes.
    let (abort, valid) = (sim.input("abort_i")?, sim.output("mem_wvalid_o")?);
    let mut aborts = Stall::ALL[rng.random_range(0..Stall::ALL.len())].pattern(run.seed(), "abort");
    let (mut waits, mut aborted, mut without) = (false, false, false);
    let all: usize = data.iter().map(VecDeque::len).sum();
    let begin = sim.cycle_count();
    while beats.len() < all || sent.iter().flatten().any(|queue| !queue.is_empty()) {
        rule(run, sim, "mem_awvalid_o", sim.cycle_count() - begin < 20_000, "an address never comes")?;
        for sender in [&mut bench.ar, &mut bench.aw, &mut bench.w] {
            sender.drive(sim, rng);
        }
        let ready = [0, 1, 2].map(|channel| !pauses[channel].next_pause());
        readies.iter().zip(ready).for_each(|(&port, ready)| sim.poke_u64(port, ready.into()));
        let aborts = aborts.next_pause();
        sim.poke_u64(abort, aborts.into());
        sim.settle()?;
        for (channel, sent) in sent.iter_mut().enumerate() {
            let Some(mut got) = ports[channel].look(sim, run, ready[channel])? else { continue };
            let manager = got[0].slice(bench.id_width, got[0].width() - bench.id_width).to_u64();
            let manager = manager.map_or(usize::MAX, |manager| manager as usize);
            got[0] = got[0].slice(0, bench.id_width);
            let expected = sent.get_mut(manager).and_then(VecDeque::pop_front);
            let port = ["mem_arid_o", "mem_awid_o"][channel];
            let place = format!("address of manager {manager}");
            run.expect_equal(sim, port, &place, format!("{expected:?}"), format!("{:?}", Some(got)))?;
            if channel == 1 {
                turns.push(manager);
            }
        }
        let shown = sim.peek_u64(valid) == 1;
        if shown && !waits {
            without = aborted;
        }
        (waits, aborted) = (shown && !ready[2], aborts);
        beats.extend(ports[2].look(sim, run, ready[2])?.map(|beat| (beat, without)));
        for sender in [&mut bench.ar, &mut bench.aw, &mut bench.w] {
            sender.look(sim);
        }
        sim.tick()?;
    }
    let mut expected = Vec::new();
    for manager in turns {
        while let Some(beat) = data[manager].pop_front() {
            let ends = beat.last().is_some_and(|last| last.bit(0));
            expected.push(beat);
            if ends {
                break;
            }
        }
    }
    for (expected, (_, without)) in expected.iter_mut().zip(&beats) {
        if *without {
            expected[1] = Bits::zero(bench.bytes);
        }
    }
    let differs = expected.iter().zip(&beats).position(|(expected, (got, _))| expected != got);
    run.expect_equal(sim, "mem_wdata_o", "beat that differs", "None".into(), format!("{differs:?}"))
}
