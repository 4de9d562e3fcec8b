//! A finished chain: what is in memory before it, and after it.

use anyhow::{Context, ensure};
use host::{Bus, Counters, Device, Image};

/// Looks at STATUS until a chain has taken too long.
const POLLS: u32 = 100_000_000;

/// Results of a job as the golden model computes them.
#[derive(Clone, Debug)]
pub struct Results {
    /// Their name.
    pub name: &'static str,
    /// Where.
    pub address: u64,
    /// From the first row or panel to the last one. Bytes between them are as in the images.
    pub bytes: Vec<u8>,
}

/// A chain, all that it reads, and all that it writes.
#[derive(Clone, Debug)]
pub struct Job {
    /// Descriptors, operands, tables, constants, and a pattern where results go.
    pub images: Vec<Image>,
    /// Address of the first descriptor.
    pub address: u64,
    /// Descriptors.
    pub descriptors: u32,
    /// The bytes in memory at the end.
    pub results: Vec<Results>,
    /// All bytes that the descriptors write, in any result.
    pub written: Vec<Image>,
}

impl Job {
    /// Runs the chain on a device that is ready for it, and returns the counters.
    ///
    /// # Errors
    /// The device fails; it did another number of descriptors; a byte that it has written is not the golden model's.
    pub fn run<B: Bus>(&self, device: &mut Device<B>) -> anyhow::Result<Counters> {
        let counters = self.run_unchecked(device)?;
        let named = self.results.iter().map(|results| (results.name, results.address, &results.bytes));
        let others = self.written.iter().map(|image| ("bytes", image.address, &image.bytes));
        for (name, address, bytes) in named.chain(others) {
            let mut got = vec![0; bytes.len()];
            device.bus().read_memory(address, &mut got)?;
            let place = got.iter().zip(bytes).position(|(got, expected)| got != expected);
            ensure!(place.is_none(), "{name} at {address:#x} differ from the golden model's, byte {place:?} first");
        }
        Ok(counters)
    }

    /// Bytes that its descriptors write.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.written.iter().map(|image| image.bytes.len() as u64).sum()
    }

    /// The same, whatever it writes.
    ///
    /// # Errors
    /// The device fails; it did another number of descriptors.
    pub fn run_unchecked<B: Bus>(&self, device: &mut Device<B>) -> anyhow::Result<Counters> {
        for image in &self.images {
            device.bus().write_memory(image.address, &image.bytes)?;
        }
        device.start(self.address)?;
        let done = device.wait(POLLS)?.descriptors;
        ensure!(done == self.descriptors, "{done} descriptors are done, must be {}", self.descriptors);
        Ok(device.counters()?)
    }

    /// The results of a name.
    ///
    /// # Errors
    /// There are none.
    pub fn results(&self, name: &str) -> anyhow::Result<&[u8]> {
        let found = self.results.iter().find(|results| results.name == name);
        Ok(&found.with_context(|| format!("the job has no results {name:?}"))?.bytes)
    }
}

/// A job, and the distance of its numbers from float arithmetic: squared errors relative to the squares, by name.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The job.
    pub job: Job,
    /// Errors.
    pub errors: Vec<(&'static str, f64)>,
}
