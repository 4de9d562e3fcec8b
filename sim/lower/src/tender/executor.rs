//! Executors of jobs: a device on a bus, the golden model, or both side by side.

use std::ops::AddAssign;

use anyhow::{Context, Result, anyhow, ensure};
use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::memory::SparseMemory;
use golden::accelerators::tender::cycles::{Known, Timing};
use golden::accelerators::tender::{Report, TenderTop};
use golden::common::shell::job_controller::Limits;
use host::tender::Overflows;
use host::{Bus, Counters, Device, Settings, Window};

/// Descriptors of a job at most.
pub const MAX_DESCRIPTORS: u32 = 256;

/// Costs of jobs, and counts of numbers that did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Descriptors that were done.
    pub descriptors: u64,
    /// Cycles from start to end; 0 of a model that is not [timed](InSoftware::timed).
    pub cycles: u64,
    /// Cycles in which the array, or the vector unit, computed; 0 of a model.
    pub computing: u64,
    /// Words in which a sum overflowed its accumulator.
    pub sum_overflows: u64,
    /// Words with a result that was saturated, or is infinite or NaN.
    pub overflows: u64,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.descriptors += other.descriptors;
        self.cycles += other.cycles;
        self.computing += other.computing;
        self.sum_overflows += other.sum_overflows;
        self.overflows += other.overflows;
    }
}

/// A `tender_top` of some kind with its memory; or several side by side that run the same jobs, each with a memory of
/// its own.
pub trait Executor {
    /// Number of accelerators side by side.
    fn parts(&self) -> usize {
        1
    }

    /// Writes the memory of one accelerator.
    ///
    /// # Errors
    /// There is no such memory.
    fn write_part(&mut self, part: usize, address: u64, bytes: &[u8]) -> Result<()> {
        ensure!(part == 0, "no accelerator {part}, there is one");
        self.write(address, bytes)
    }

    /// Reads the memory of one accelerator.
    ///
    /// # Errors
    /// There is no such memory.
    fn read_part(&mut self, part: usize, address: u64, bytes: &mut [u8]) -> Result<()> {
        ensure!(part == 0, "no accelerator {part}, there is one");
        self.read(address, bytes)
    }

    /// Writes memory.
    ///
    /// # Errors
    /// There is no such memory.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Reads memory.
    ///
    /// # Errors
    /// There is no such memory.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()>;

    /// Runs the chain at an address up to its end.
    ///
    /// # Errors
    /// The job ends with an error, or does not end.
    fn run(&mut self, job: u64) -> Result<Spent>;
}

impl<E: Executor + ?Sized> Executor for &mut E {
    fn parts(&self) -> usize {
        (**self).parts()
    }

    fn write_part(&mut self, part: usize, address: u64, bytes: &[u8]) -> Result<()> {
        (**self).write_part(part, address, bytes)
    }

    fn read_part(&mut self, part: usize, address: u64, bytes: &mut [u8]) -> Result<()> {
        (**self).read_part(part, address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        (**self).write(address, bytes)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()> {
        (**self).read(address, bytes)
    }

    fn run(&mut self, job: u64) -> Result<Spent> {
        (**self).run(job)
    }
}

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

    fn report(&mut self, job: u64) -> Result<(Report, Spent)> {
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
        Ok((report, spent))
    }
}

impl Executor for InSoftware {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.memory.store(address, bytes);
        Ok(())
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&self.memory.bytes(address, bytes.len()));
        Ok(())
    }

    fn run(&mut self, job: u64) -> Result<Spent> {
        Ok(self.report(job)?.1)
    }
}

/// Another executor next to the golden model. After each job, every byte that the model wrote must be the same in both
/// memories. The counts of numbers that did not fit must be equal as well, and the cycles, if the model is
/// [timed](InSoftware::timed).
pub struct Checked<E> {
    inner: E,
    golden: InSoftware,
    bytes: u64,
}

impl<E: Executor> Checked<E> {
    /// Both memories must be the same up to now.
    pub fn new(inner: E, golden: InSoftware) -> Self {
        Self { inner, golden, bytes: 0 }
    }

    /// Bytes of results that were compared.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// `work` in a thread beside `other`.
fn beside<T: Send, U>(work: impl FnOnce() -> T + Send, other: impl FnOnce() -> U) -> (T, U) {
    std::thread::scope(|scope| {
        let work = scope.spawn(work);
        let other = other();
        (work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), other)
    })
}

impl<E: Executor> Executor for Checked<E> {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.golden.write(address, bytes)?;
        self.inner.write(address, bytes)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.inner.read(address, bytes)
    }

    fn run(&mut self, job: u64) -> Result<Spent> {
        let Self { inner, golden, .. } = self;
        let (expected, real) = beside(|| golden.report(job), || inner.run(job));
        let ((report, expected), real) = (expected?, real?);
        let cycles = if self.golden.timing.is_some() { expected.cycles } else { real.cycles };
        let expected = Spent { cycles, computing: real.computing, ..expected };
        ensure!(real == expected, "hardware and golden model differ: {real:?}, expected {expected:?}");
        ensure!(report.undefined().is_empty(), "results overlap with operands at {:x?}", report.undefined());
        for range in report.written() {
            let (first, count) = (*range.start(), (range.end() - range.start() + 1) as usize);
            let (mut found, wanted) = (vec![0; count], self.golden.memory.bytes(first, count));
            self.inner.read(first, &mut found)?;
            if let Some(at) = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted) {
                let (found, wanted) = (found[at], wanted[at]);
                let place = first + at as u64;
                return Err(anyhow!("the byte at {place:#x} is {found:#04x}, expected {wanted:#04x}"))
                    .context("hardware and golden model differ");
            }
            self.bytes += count as u64;
        }
        Ok(real)
    }
}
