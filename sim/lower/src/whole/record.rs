//! The host's part of a pass, as a list: what it writes, moves and starts.

use std::ops::RangeInclusive;

use anyhow::{Result, ensure};
use golden::accelerators::job::merged;
use host::Image;

use super::executor::{Executor, Golden, Move, Spent};

/// A job, and what a host does before it.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Memory that the host writes first.
    pub images: Vec<Image>,
    /// Bytes that it moves then.
    pub moves: Vec<Move>,
    /// Address of the first descriptor.
    pub address: u64,
    /// Descriptors.
    pub descriptors: u32,
}

/// A golden model whose host is recorded.
pub struct Recorder<'a> {
    on: &'a mut dyn Golden,
    jobs: Vec<Recorded>,
    next: Recorded,
    /// What the host has written since the last job.
    touched: Vec<RangeInclusive<u64>>,
    /// What jobs have written.
    written: Vec<RangeInclusive<u64>>,
}

impl<'a> Recorder<'a> {
    /// A model whose memory is empty.
    pub fn new(on: &'a mut dyn Golden) -> Self {
        Self { on, jobs: Vec::new(), next: Recorded::default(), touched: Vec::new(), written: Vec::new() }
    }

    /// All jobs since the last call, and the bytes that they have written as they are now.
    ///
    /// # Errors
    /// The model fails.
    pub fn take(&mut self) -> Result<(Vec<Recorded>, Vec<Image>)> {
        let written = merged(std::mem::take(&mut self.written));
        let images = written.into_iter().map(|range| image(self.on, &range)).collect::<Result<_>>()?;
        Ok((std::mem::take(&mut self.jobs), images))
    }

    /// What the host has written as it is now.
    fn keep(&mut self) -> Result<()> {
        for range in merged(std::mem::take(&mut self.touched)) {
            self.next.images.push(image(self.on, &range)?);
        }
        Ok(())
    }
}

fn image(on: &mut dyn Golden, range: &RangeInclusive<u64>) -> Result<Image> {
    let mut bytes = vec![0; (range.end() - range.start() + 1) as usize];
    on.read(*range.start(), &mut bytes)?;
    Ok(Image { address: *range.start(), bytes })
}

impl Executor for Recorder<'_> {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        if let Some(last) = (bytes.len() as u64).checked_sub(1) {
            self.touched.push(address..=address + last);
        }
        self.on.write(address, bytes)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.on.read(address, bytes)
    }

    fn copy(&mut self, moves: &[Move]) -> Result<()> {
        self.keep()?;
        self.next.moves.extend(moves);
        self.on.copy(moves)
    }

    fn run(&mut self, job: u64) -> Result<Spent> {
        self.keep()?;
        let (written, spent) = self.on.job(job)?;
        ensure!(written.undefined.is_empty(), "results overlap with operands at {:x?}", written.undefined);
        self.written.extend(written.ranges);
        let descriptors = u32::try_from(spent.descriptors)?;
        self.jobs.push(Recorded { address: job, descriptors, ..std::mem::take(&mut self.next) });
        Ok(spent)
    }
}
