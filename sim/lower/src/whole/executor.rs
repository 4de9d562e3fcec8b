//! Executors of jobs: devices, golden models, or both side by side.

use std::ops::{AddAssign, RangeInclusive};

use anyhow::{Context, Result, anyhow, ensure};

/// Costs of jobs, and counts of numbers that did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Descriptors that were done.
    pub descriptors: u64,
    /// Cycles from start to end; 0 of a model that is not [timed](Golden::is_timed).
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

/// Bytes that a host moves between two jobs, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Address of the first one, and the distance of the next ones.
    pub from: (u64, u32),
    /// Where it goes, and the distance of the places of the next ones.
    pub to: (u64, u32),
    /// Bytes.
    pub count: u32,
}

/// An accelerator with its memory; or several side by side that run the same jobs, each with a memory of its own.
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

    /// Moves bytes within each memory.
    ///
    /// # Errors
    /// There is no such memory.
    fn copy(&mut self, moves: &[Move]) -> Result<()> {
        for Move { from, to, count } in moves {
            let (step, count) = (from.1.max(1) as usize, *count as usize);
            let mut bytes = vec![0; if count == 0 { 0 } else { (count - 1) * step + 1 }];
            self.read(from.0, &mut bytes)?;
            let bytes: Vec<u8> = bytes.into_iter().step_by(step).collect();
            match to.1 {
                1 => self.write(to.0, &bytes)?,
                step => {
                    let places = (0..).map(|n| to.0 + n * u64::from(step));
                    places.zip(&bytes).try_for_each(|(place, &byte)| self.write(place, &[byte]))?;
                }
            }
        }
        Ok(())
    }

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

    fn copy(&mut self, moves: &[Move]) -> Result<()> {
        (**self).copy(moves)
    }
}

impl<E: Executor + ?Sized> Executor for Box<E> {
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

    fn copy(&mut self, moves: &[Move]) -> Result<()> {
        (**self).copy(moves)
    }
}

/// What a job wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// All bytes, as ascending ranges that do not touch.
    pub ranges: Vec<RangeInclusive<u64>>,
    /// Those among them whose values no contract says.
    pub undefined: Vec<RangeInclusive<u64>>,
}

/// A golden model of an accelerator with its memory.
pub trait Golden: Executor + Send + Sync {
    /// Runs a job, and says what it wrote.
    ///
    /// # Errors
    /// The job ends with an error.
    fn job(&mut self, job: u64) -> Result<(Written, Spent)>;

    /// Whether it counts the cycles of its jobs.
    fn is_timed(&self) -> bool;

    /// The same model with a copy of its memory.
    fn duplicate(&self) -> Box<dyn Golden>;
}

/// Another executor next to the golden model. After each job, every byte that the model wrote must be the same in both
/// memories. The counts of numbers that did not fit must be equal as well, and the cycles, if the model is
/// [timed](Golden::is_timed).
pub struct Checked<E, G> {
    inner: E,
    golden: G,
    bytes: u64,
}

impl<E: Executor, G: Golden> Checked<E, G> {
    /// Both memories must be the same up to now.
    pub fn new(inner: E, golden: G) -> Self {
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

/// Boxed models are models.
impl Golden for Box<dyn Golden> {
    fn job(&mut self, job: u64) -> Result<(Written, Spent)> {
        (**self).job(job)
    }

    fn is_timed(&self) -> bool {
        (**self).is_timed()
    }

    fn duplicate(&self) -> Box<dyn Golden> {
        (**self).duplicate()
    }
}

impl<E: Executor, G: Golden> Executor for Checked<E, G> {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.golden.write(address, bytes)?;
        self.inner.write(address, bytes)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.inner.read(address, bytes)
    }

    /// Each within its own memory.
    fn copy(&mut self, moves: &[Move]) -> Result<()> {
        self.golden.copy(moves)?;
        self.inner.copy(moves)
    }

    fn run(&mut self, job: u64) -> Result<Spent> {
        let Self { inner, golden, .. } = self;
        let (expected, real) = beside(|| golden.job(job), || inner.run(job));
        let ((written, expected), real) = (expected?, real?);
        let cycles = if self.golden.is_timed() { expected.cycles } else { real.cycles };
        let expected = Spent { cycles, computing: real.computing, ..expected };
        ensure!(real == expected, "hardware and golden model differ: {real:?}, expected {expected:?}");
        let Written { ranges, undefined } = written;
        ensure!(undefined.is_empty(), "results overlap with operands at {undefined:x?}");
        for range in ranges {
            let (first, count) = (*range.start(), (range.end() - range.start() + 1) as usize);
            let (mut found, mut wanted) = (vec![0; count], vec![0; count]);
            self.inner.read(first, &mut found)?;
            self.golden.read(first, &mut wanted)?;
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
