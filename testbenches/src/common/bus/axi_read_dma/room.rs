//! How far a read DMA reads ahead: up to the last beat that has room, and no further.

use golden::common::bus::Command;
use golden::common::bus::axi_read_dma::asked;
use hdl::blocks::common::AxiReadDma;
use sim::stimulus::Stall;
use sim::{Run, Sim};

use super::super::memory::Manners;
use super::bench::Bench;

/// Cycles without an address or a beat after which nothing more comes.
const QUIET: u32 = 16;

/// Beats that the output takes, one by one.
const STEPS: u64 = 10;

/// Rows of some lengths.
pub(super) fn all(p: &AxiReadDma, bench: &mut Bench, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    bench.set_stall(run, Manners::ideal(1), Stall::Never, Stall::Never);
    let most = u64::from(p.dma.burst_beats);
    let mut lengths = vec![1, 2, 3, most.saturating_sub(1), most, most + 1];
    lengths.sort_unstable();
    lengths.dedup();
    let [most_bytes, ..] = bench.shape.largest;
    lengths.retain(|&beats| beats > 0 && beats * bench.shape.bytes <= most_bytes);
    lengths.into_iter().try_for_each(|beats| rows(p, beats, bench, sim, run))
}

/// Rows of so many beats while the output takes nothing, then beat by beat.
fn rows(p: &AxiReadDma, beats: u64, bench: &mut Bench, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let (bytes, room) = (bench.shape.bytes, u64::from(p.buffer_beats));
    let needed = (room + STEPS).div_ceil(beats) + 1;
    let rows = needed.min(bench.shape.largest[1]);
    let commands = needed.div_ceil(rows).min(p.dma.commands.into());
    let command = Command { address: 0x4000, row_bytes: beats * bytes, rows, stride: 0 };
    let mut bursts = Vec::new();
    for _ in 0..commands {
        bench.push(command);
        bursts.extend(command.bursts(bytes, p.dma.burst_beats.into()).iter().map(|burst| burst.beats));
    }
    for taken in 0..=STEPS {
        bench.held = true;
        let mut quiet = 0;
        while quiet < QUIET {
            let before = (bench.port.taken.len(), bench.port.beats);
            bench.cycle(sim, run, false)?;
            quiet = if before == (bench.port.taken.len(), bench.port.beats) { quiet + 1 } else { 0 };
        }
        let what = format!("bursts of {beats} beats after {taken} beats of the output");
        run.expect_equal(sim, "mem_arvalid_o", &what, asked(&bursts, room, taken), bench.port.taken.len())?;
        bench.held = false;
        bench.cycle(sim, run, false)?;
    }
    bench.run(sim, run)
}
