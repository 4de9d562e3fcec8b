//! Accelerators with a memory: a device on a bus, or the golden model.

use anyhow::{Result, anyhow, ensure};
use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::job::{self, Accelerator};
use golden::accelerators::memory::{Memory, SparseMemory};
use golden::common::shell::job_controller::Limits;
use host::{Bus, Counters, Device, DeviceError, Settings, Window};

use super::executor::{Executor, Golden, Spent, Written};

/// Descriptors of a job at most.
pub const MAX_DESCRIPTORS: u32 = 256;

/// Reads what the counters of a device say at the end of a job: words in which a sum overflowed, and words with a result
/// that was saturated, or is infinite or no number.
pub type Overflows<B> = fn(&mut Device<B>) -> Result<[u64; 2], DeviceError<<B as Bus>::Error>>;

/// What a driver knows of an accelerator.
pub struct Kind<B: Bus> {
    /// The number in its register VERSION.
    pub accelerator: u32,
    /// Its counters.
    pub overflows: Overflows<B>,
}

/// A device on a bus: the hardware, or its simulation.
pub struct OnDevice<B: Bus, S> {
    device: Device<B>,
    kind: Kind<B>,
    sleep: S,
}

impl<B: Bus, S: FnMut(&mut B) -> Result<(), B::Error>> OnDevice<B, S> {
    /// A device that may touch the memory of a window; `sleep` returns when its interrupt is high.
    ///
    /// # Errors
    /// There is no such device, or a job runs.
    pub fn new(bus: B, kind: Kind<B>, window: &Window, sleep: S) -> Result<Self> {
        let mut device = Device::new(bus);
        device.identify_as(kind.accelerator)?;
        device.configure(&Settings { window: *window, timeout: 0, max_descriptors: MAX_DESCRIPTORS })?;
        Ok(Self { device, kind, sleep })
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
        let [sum_overflows, overflows] = (self.kind.overflows)(&mut self.device)?;
        let descriptors = done.descriptors.into();
        Ok(Spent { descriptors, cycles, computing: compute_cycles, sum_overflows, overflows })
    }
}

/// Cycles of the jobs of an accelerator since a reset.
pub trait Times<A: Accelerator>: Clone + Send + Sync + 'static {
    /// Cycles of the next job. Its operations are not done in memory.
    ///
    /// # Errors
    /// The code with which it ends.
    fn next(&mut self, golden: &A, limits: Limits, job: u64, memory: &mut SparseMemory) -> Result<u64, u8>;
}

/// The times of a recurrence that does no operation.
#[derive(Clone, Debug)]
pub struct Since<R> {
    recurrence: R,
    turns: Turns,
}

impl<R> From<R> for Since<R> {
    fn from(recurrence: R) -> Self {
        Self { recurrence, turns: Turns::default() }
    }
}

impl<A: Accelerator, R: Recurrence<A> + Clone + Send + Sync + 'static> Times<A> for Since<R> {
    fn next(&mut self, golden: &A, limits: Limits, job: u64, memory: &mut SparseMemory) -> Result<u64, u8> {
        let each = self.recurrence.job(golden, limits, job, (memory, &mut self.turns))?;
        Ok(each.iter().map(|operation| operation.cycles).sum())
    }
}

/// A golden model with a memory.
#[derive(Clone, Debug)]
pub struct InSoftware<A, T> {
    golden: A,
    window: Window,
    memory: SparseMemory,
    times: Option<T>,
}

impl<A: Accelerator, T: Times<A>> InSoftware<A, T> {
    /// The model of an accelerator that may touch the memory of a window.
    #[must_use]
    pub fn new(golden: A, window: &Window) -> Self {
        Self { golden, window: *window, memory: SparseMemory::new(), times: None }
    }

    /// The same, with the cycles of its jobs since a reset. Memory never pauses.
    #[must_use]
    pub fn timed(self, times: impl Into<T>) -> Self {
        Self { times: Some(times.into()), ..self }
    }
}

impl<A: Accelerator + Clone + Send + Sync + 'static, T: Times<A>> Golden for InSoftware<A, T> {
    fn job(&mut self, job: u64) -> Result<(Written, Spent)> {
        let Window { base, limit, .. } = self.window;
        let limits = Limits { base, limit, max_descriptors: MAX_DESCRIPTORS };
        let cycles = match &mut self.times {
            Some(times) => times
                .next(&self.golden, limits, job, &mut self.memory)
                .map_err(|code| anyhow!("the model of cycles ends with error {code}"))?,
            None => 0,
        };
        let report = job::run(&self.golden, limits, job, &mut self.memory);
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
        self.times.is_some()
    }

    fn duplicate(&self) -> Box<dyn Golden> {
        Box::new(self.clone())
    }
}

impl<A: Accelerator + Clone + Send + Sync + 'static, T: Times<A>> Executor for InSoftware<A, T> {
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
