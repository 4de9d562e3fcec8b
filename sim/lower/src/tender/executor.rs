//! `tender_top` with a memory: a device on a bus, or the golden model.

use anyhow::{Result, anyhow, ensure};
use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::memory::{Memory, SparseMemory};
use golden::accelerators::tender::TenderTop;
use golden::accelerators::tender::cycles::{Known, Timing};
use golden::common::shell::job_controller::Limits;
use host::tender::Overflows;
use host::{Bus, Counters, Device, Settings, Window};

use crate::whole::{Executor, Golden, Spent, Written};

/// Descriptors of a job at most.
pub const MAX_DESCRIPTORS: u32 = 256;

/// A device on a bus: the hardware, or its simulation.
pub struct OnDevice<B: Bus, S> {
    device: Device<B>,
    sleep: S,
}

impl<B: Bus, S: FnMut(&mut B) -> Result<(), B::Error>> OnDevice<B, S> {
    /// A device that may touch the memory of a window; `sleep` returns when its interrupt is high.
    ///
    /// # Errors
    /// There is no such device, or a job runs.
    pub fn new(bus: B, window: &Window, sleep: S) -> Result<Self> {
        let mut device = Device::new(bus);
        device.identify_as(host::tender::registers::VERSION_ACCELERATOR_VALUE)?;
        device.configure(&Settings { window: *window, timeout: 0, max_descriptors: MAX_DESCRIPTORS })?;
        Ok(Self { device, sleep })
    }
}

impl<B: Bus, S: FnMut(&mut B) -> Result<(), B::Error>> Executor for OnDevice<B, S> {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.device.bus().write_memory(address, bytes)?)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()> {
        Ok(self.device.bus().read_memory(address, bytes)?)
    }

    fn run(&mut self, job: u64) -> Result<Spent> {
        self.device.start(job)?;
        let done = self.device.wait_for_interrupt(16, &mut self.sleep)?;
        let Counters { cycles, compute_cycles, .. } = self.device.counters()?;
        let Overflows { sums, results } = Overflows::read(&mut self.device)?;
        Ok(Spent {
            descriptors: done.descriptors.into(),
            cycles,
            computing: compute_cycles,
            sum_overflows: sums,
            overflows: results,
        })
    }
}

/// The golden model.
#[derive(Clone, Debug)]
pub struct InSoftware {
    golden: TenderTop,
    window: Window,
    memory: SparseMemory,
    timing: Option<(Timing, Turns, Known)>,
}

impl InSoftware {
    /// The model of an accelerator that may touch the memory of a window.
    #[must_use]
    pub fn new(golden: TenderTop, window: &Window) -> Self {
        Self { golden, window: *window, memory: SparseMemory::new(), timing: None }
    }

    /// The same, with the cycles of its jobs since a reset. Memory never pauses.
    #[must_use]
    pub fn timed(self, timing: Timing) -> Self {
        Self { timing: Some((timing, Turns::default(), Known::default())), ..self }
    }
}

impl Golden for InSoftware {
    fn job(&mut self, job: u64) -> Result<(Written, Spent)> {
        let Window { base, limit, .. } = self.window;
        let limits = Limits { base, limit, max_descriptors: MAX_DESCRIPTORS };
        let mut cycles = 0;
        if let Some((timing, turns, known)) = &mut self.timing {
            let each = timing.after(known).job(&self.golden, limits, job, (&mut self.memory, turns));
            let each = each.map_err(|code| anyhow!("the model of cycles ends with error {code}"))?;
            cycles = each.iter().map(|operation| operation.cycles).sum();
        }
        let report = self.golden.run(limits, job, &mut self.memory);
        let end = report.end;
        ensure!(end.code == 0, "the golden model ends with error {} at {:#x}", end.code, end.place);
        let spent = Spent {
            descriptors: end.descriptors.into(),
            cycles,
            computing: 0,
            sum_overflows: report.sum_overflows(),
            overflows: report.overflows(),
        };
        Ok((Written { ranges: report.written(), undefined: report.undefined() }, spent))
    }

    fn is_timed(&self) -> bool {
        self.timing.is_some()
    }

    fn duplicate(&self) -> Box<dyn Golden> {
        Box::new(self.clone())
    }
}

impl Executor for InSoftware {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.memory.store(address, bytes);
        Ok(())
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.memory.read(address, bytes).map_err(|e| anyhow!("memory answers {e:?}"))
    }

    fn run(&mut self, job: u64) -> Result<Spent> {
        Ok(self.job(job)?.1)
    }
}
