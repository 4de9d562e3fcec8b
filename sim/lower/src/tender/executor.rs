//! `tender_top` with a memory: a device on a bus, or the golden model.

use anyhow::Result;
use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::memory::SparseMemory;
use golden::accelerators::tender::TenderTop;
use golden::accelerators::tender::cycles::{Known, Timing};
use golden::common::shell::job_controller::Limits;
use host::tender::{Overflows, registers};
use host::{Bus, Window};

use crate::whole::{self, Kind, OnDevice};

/// A device on a bus that may touch the memory of a window; `sleep` returns when its interrupt is high.
///
/// # Errors
/// There is no such device, or a job runs.
pub fn on_device<B: Bus, S: FnMut(&mut B) -> Result<(), B::Error>>(
    bus: B,
    window: &Window,
    sleep: S,
) -> Result<OnDevice<B, S>> {
    let overflows = |device: &mut _| Overflows::read(device).map(|Overflows { sums, results }| [sums, results]);
    OnDevice::new(bus, Kind { accelerator: registers::VERSION_ACCELERATOR_VALUE, overflows }, window, sleep)
}

/// The golden model.
pub type InSoftware = whole::InSoftware<TenderTop, Times>;

/// Cycles of jobs since a reset. Layers that are alike take the same time, so each operation is computed once.
#[derive(Clone, Debug)]
pub struct Times {
    timing: Timing,
    turns: Turns,
    known: Known,
}

impl From<Timing> for Times {
    fn from(timing: Timing) -> Self {
        Self { timing, turns: Turns::default(), known: Known::default() }
    }
}

impl whole::Times<TenderTop> for Times {
    fn next(&mut self, golden: &TenderTop, limits: Limits, job: u64, memory: &mut SparseMemory) -> Result<u64, u8> {
        let each = self.timing.after(&mut self.known).job(golden, limits, job, (memory, &mut self.turns))?;
        Ok(each.iter().map(|operation| operation.cycles).sum())
    }
}
