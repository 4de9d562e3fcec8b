//! Decoder layers on accelerators that go on from pass to pass. One after the other, they make a running model.

use anyhow::ensure;
use golden::systems::job::Accelerator;
use half::f16;
use host::{Bus, Counters, Device, Window};
use sim::Design;

use super::chain_builder::{ChainBuilder, Floats, Job};
use super::float_layer::Layer;
use super::timing::Clock;

/// Rows of the residual stream, one for each token.
pub type Rows = Vec<Vec<f64>>;

/// An accelerator in the shape in which it computes layers of a running model.
pub trait LayerAccelerator: Sync {
    /// The block, its sizes, and how it keeps numbers.
    fn about(&self) -> String;

    /// For the simulator.
    ///
    /// # Errors
    /// Parameters that the block refuses.
    fn design(&self) -> anyhow::Result<Design>;

    /// The cycles of a layer's jobs on a device whose memory answers after `latency` cycles. The first job starts
    /// [`settling`](Self::settling) cycles after a reset.
    ///
    /// # Errors
    /// Parameters that the golden model refuses.
    fn clock(&self, window: &Window, latency: u32) -> anyhow::Result<Clock>;

    /// Cycles after a reset in which a job would wait.
    fn settling(&self) -> u32 {
        0
    }

    /// Tokens of the first pass, and of all passes, at most.
    fn most_tokens(&self) -> [usize; 2];

    /// A layer for so many tokens, whose accelerator may touch the memory of a window. Scales and codebooks are chosen by the numbers
    /// that the float layer has for `texts`.
    ///
    /// # Errors
    /// No text; more tokens than there are; an error of the host crate.
    fn layer<'a>(
        &'a self,
        window: &Window,
        layer: &Layer,
        texts: &[Rows],
        tokens: usize,
    ) -> anyhow::Result<Box<dyn DecoderLayer + 'a>>;
}

/// A decoder layer whose keys and values stay from pass to pass, wherever the accelerator keeps them.
pub trait DecoderLayer: Send {
    /// Passes the next tokens, after all earlier passes, through the layer in the golden model.
    ///
    /// # Errors
    /// No row; more tokens than there is room for; an error of the host crate.
    fn pass(&mut self, residual: &[Vec<f64>]) -> anyhow::Result<Pass>;

    /// Words of results of all passes with a number that was saturated, or is infinite or none.
    fn overflows(&self) -> u64;
}

/// A pass of tokens: a chain for the accelerator, and its results.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The chain. Its device has done the chains of all earlier passes, and nothing else since a reset.
    pub job: Job,
    /// The residual stream after the layer, as the golden model has it.
    pub rows: Rows,
    out: Floats,
}

impl Pass {
    /// All that a chain has done up to now; `out` is the residual stream after the layer.
    pub(super) fn of<A: Accelerator>(b: &mut ChainBuilder<A>, out: Floats) -> anyhow::Result<Self> {
        Ok(Self { job: b.job()?, rows: b.values(&out), out })
    }

    /// Does the pass on a device that is ready for it. Returns the residual stream after the layer from the device's
    /// memory, and the counters. The pass must take `cycles`.
    ///
    /// # Errors
    /// The device fails; a byte that it has written is not the golden model's; the pass takes another number of cycles.
    pub fn run_on<B: Bus>(&self, device: &mut Device<B>, cycles: u64) -> anyhow::Result<(Rows, Counters)> {
        let counters = self.job.run(device)?;
        let (job, taken) = (self.job.address, counters.cycles);
        ensure!(taken == cycles, "the job at {job:#x} takes {taken} cycles, in the golden model {cycles}");
        let mut rows = Rows::new();
        for row in 0..self.out.rows as u64 {
            let mut bytes = vec![0; 2 * self.out.columns];
            device.bus().read_memory(self.out.at.address + row * u64::from(self.out.at.stride), &mut bytes)?;
            rows.push(bytes.chunks(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f64()).collect());
        }
        Ok((rows, counters))
    }
}
