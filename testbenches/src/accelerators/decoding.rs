//! How accelerators run language models: what the command `run` asks of a block.

use std::fmt;

use golden::accelerators::cycles::Recurrence;
use golden::accelerators::job::Accelerator;
use hdl::accelerators::registers::OwnRegisters;
use host::{Device, DeviceError, Window};
use jobs::hardware::{Hardware, HardwareError};
use lower::learn::Learnt;
use lower::pass::LayerLowering;
use lower::whole::{Executor, Golden, InSoftware, Kind, ModelLowering, OnDevice, Times};
use models::calibration::Calibrates;
use sim::Design;

use super::clock::Clock;

/// How a block runs language models.
#[derive(Clone, Copy)]
pub struct Runs<B> {
    /// A short name of the block.
    pub name: &'static str,
    /// Its parameters where a user sets none.
    pub block: fn() -> B,
    /// The block at work.
    pub machine: fn(B) -> anyhow::Result<Machine>,
}

impl<B> fmt::Debug for Runs<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A block that runs a model.
pub enum Machine {
    /// The whole model is in the memory of one accelerator, or of several side by side.
    Whole(Box<dyn WholeAccelerator>),
    /// Each layer is on an accelerator of its own.
    Layers(Box<dyn LayerAccelerator>),
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(on) => f.write_str(&on.about()),
            Self::Layers(on) => f.write_str(&on.about()),
        }
    }
}

impl Machine {
    /// What it learns from a text.
    #[must_use]
    pub fn calibrates(&self) -> &dyn Calibrates {
        match self {
            Self::Whole(on) => on.lowering(),
            Self::Layers(on) => on.lowering(),
        }
    }

    /// The cycles of its jobs with a memory that answers after `latency` cycles.
    ///
    /// # Errors
    /// Parameters that the golden model refuses.
    pub fn clock(&self, window: &Window, latency: u32) -> anyhow::Result<Clock> {
        match self {
            Self::Whole(on) => on.clock(window, latency),
            Self::Layers(on) => on.clock(window, latency),
        }
    }
}

/// The memory that an accelerator with addresses of so many bits may touch: from 1 MiB on.
#[must_use]
pub fn window(address_width: u32) -> Window {
    let limit = u64::MAX >> (64 - address_width.clamp(21, 63));
    Window { base: 0x10_0000, limit, address_width }
}

/// The range of some numbers, as a text.
pub(super) fn range<T: Ord + fmt::Display>(numbers: impl IntoIterator<Item = T> + Clone) -> String {
    match (numbers.clone().into_iter().min(), numbers.into_iter().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
        (least, _) => least.map_or_else(|| "no".to_owned(), |least| least.to_string()),
    }
}

/// An accelerator whose memory has a whole model.
pub trait WholeAccelerator: Send + Sync {
    /// Its sizes, and how it keeps numbers.
    fn about(&self) -> String;

    /// For the simulator.
    ///
    /// # Errors
    /// Parameters that the block refuses.
    fn design(&self) -> anyhow::Result<Design>;

    /// Bits of an address.
    fn address_width(&self) -> u32;

    /// The design in simulation, which may touch the memory of a window.
    ///
    /// # Errors
    /// It is another design.
    fn on_hardware<'a>(&self, hardware: Hardware<'a>, window: &Window) -> anyhow::Result<Box<dyn Executor + 'a>>;

    /// The golden model with an empty memory: with the cycles of its jobs, where somebody says after how many cycles
    /// memory answers.
    ///
    /// # Errors
    /// Parameters that the golden model refuses.
    fn golden(&self, window: &Window, latency: Option<u32>) -> anyhow::Result<Box<dyn Golden>>;

    /// The cycles of jobs on a device whose memory answers after `latency` cycles, from a reset on.
    ///
    /// # Errors
    /// Parameters that the golden model refuses.
    fn clock(&self, window: &Window, latency: u32) -> anyhow::Result<Clock>;

    /// How a model becomes chains.
    fn lowering(&self) -> &dyn ModelLowering;
}

/// Reads what the counters of a device say at the end of a job: words in which a sum overflowed, and words with a result
/// that was saturated, or is infinite or no number.
pub type Overflows = for<'a> fn(&mut Device<Hardware<'a>>) -> Result<[u64; 2], DeviceError<HardwareError>>;

/// A block whose memory has a whole model, from its parts. `A` is its golden model, `R` its recurrence of cycles, and `T`
/// the times of jobs that follow each other.
pub struct Whole<B, L, A, R, T> {
    /// The block.
    pub block: B,
    /// Its sizes, and how it keeps numbers.
    pub about: String,
    /// How a model becomes chains.
    pub lowering: L,
    /// Its golden model.
    pub golden: A,
    /// The recurrence with a memory that answers after so many cycles.
    pub timing: fn(&B, u32) -> R,
    /// The times of jobs by this recurrence.
    pub times: fn(R) -> T,
    /// The counters of a device.
    pub overflows: Overflows,
}

impl<B, L, A, R, T> WholeAccelerator for Whole<B, L, A, R, T>
where
    B: hdl::accelerators::top::Accelerator + Send + Sync,
    L: ModelLowering + Send,
    A: Accelerator + Clone + Send + Sync + 'static,
    R: Recurrence<A> + 'static,
    T: Times<A>,
{
    fn about(&self) -> String {
        self.about.clone()
    }

    fn design(&self) -> anyhow::Result<Design> {
        Ok(Design::from(&hdl::lang::elaborate(&self.block)?))
    }

    fn address_width(&self) -> u32 {
        self.golden.address_width()
    }

    fn on_hardware<'a>(&self, hardware: Hardware<'a>, window: &Window) -> anyhow::Result<Box<dyn Executor + 'a>> {
        let kind = Kind { accelerator: B::Own::ACCELERATOR, overflows: self.overflows };
        Ok(Box::new(OnDevice::new(hardware, kind, window, Hardware::sleep)?))
    }

    fn golden(&self, window: &Window, latency: Option<u32>) -> anyhow::Result<Box<dyn Golden>> {
        let golden = InSoftware::<A, T>::new(self.golden.clone(), window);
        Ok(Box::new(match latency {
            Some(latency) => golden.timed((self.times)((self.timing)(&self.block, latency))),
            None => golden,
        }))
    }

    fn clock(&self, window: &Window, latency: u32) -> anyhow::Result<Clock> {
        Ok(Clock::of(self.golden.clone(), window, (self.timing)(&self.block, latency)))
    }

    fn lowering(&self) -> &dyn ModelLowering {
        &self.lowering
    }
}

/// An accelerator in the shape in which it computes layers of a running model.
pub trait LayerAccelerator: Send + Sync {
    /// The block, its sizes, and how it keeps numbers where nobody says how.
    fn about(&self) -> String;

    /// The same with what layers have learnt: of all layers, or of one.
    ///
    /// # Errors
    /// It is no calibration of this accelerator.
    fn about_with(&self, learnt: Learnt<'_>) -> anyhow::Result<String> {
        let _ = learnt;
        Ok(self.about())
    }

    /// For the simulator.
    ///
    /// # Errors
    /// Parameters that the block refuses.
    fn design(&self) -> anyhow::Result<Design>;

    /// Bits of an address.
    fn address_width(&self) -> u32;

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

    /// How layers become chains.
    fn lowering(&self) -> &dyn LayerLowering;
}
