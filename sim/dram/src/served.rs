//! How DRAM serves the bursts of an accelerator, measured without an accelerator.

use sim::bus::MemoryTiming;

use crate::{Dram, Kind};

/// Beats of a burst of the accelerators' DMAs.
const BEATS: u64 = 16;
/// Bursts that are requested.
const BURSTS: u64 = 1500;
/// Bursts that are open at a time. A DMA may have eight, but the commands of a chain are short.
const OPEN: usize = 4;
/// Bytes from one stream to the next: other channels in HBM2, other banks in both kinds.
const APART: u64 = 0x10_6000;

/// Timing of bursts of 16 beats, in cycles of the design.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Served {
    /// Cycles from the request of a burst to its first line. One burst is requested at a time, after the burst before.
    pub latency: f64,
    /// Cycles of a beat; 1 with an ideal memory. Two operands are read in turns, and a quarter of the bursts writes a
    /// third one. Four bursts are open, and at most one burst is requested in 16 cycles.
    pub beat: f64,
}

impl Served {
    /// Measures a kind of DRAM, on a bus of so many bytes at a clock of so many nanoseconds.
    ///
    /// # Errors
    /// The errors of [`Dram::new`].
    pub fn by(kind: Kind, period: f64, bus: u64) -> anyhow::Result<Self> {
        let burst = BEATS * bus;
        let mut dram = Dram::new(kind, period)?;
        for k in 0..BURSTS {
            let number = dram.ask(k * burst, burst, false);
            while dram.done(number) < burst {
                dram.cycle();
            }
            dram.answered(number);
        }
        let reads = dram.reads().get();
        Ok(Self {
            latency: reads.cycles as f64 / reads.bursts as f64,
            beat: beat(&mut Dram::new(kind, period)?, burst),
        })
    }

    /// Cycles of work that takes `cycles(latency)` cycles with an ideal memory, and moves so many beats.
    #[must_use]
    pub fn cycles(&self, beats: u64, cycles: impl Fn(u32) -> u64) -> f64 {
        cycles(self.latency.round() as u32) as f64 + (self.beat - 1.0) * beats as f64
    }
}

fn beat(dram: &mut Dram, burst: u64) -> f64 {
    let mut at = [0, APART, 2 * APART];
    let (mut open, mut asked, mut next, mut cycles) = (Vec::new(), 0, 0, 0);
    while asked < BURSTS || !open.is_empty() {
        if asked < BURSTS && open.len() < OPEN && cycles >= next {
            let stream = if asked % 8 < 2 { 2 } else { (asked % 2) as usize };
            open.push(dram.ask(at[stream], burst, stream == 2));
            at[stream] += burst;
            asked += 1;
            next = cycles + BEATS;
        }
        dram.cycle();
        cycles += 1;
        open.retain(|&number| {
            let done = dram.done(number) >= burst;
            if done {
                dram.answered(number);
            }
            !done
        });
    }
    cycles as f64 / (BURSTS * BEATS) as f64
}
