//! The driver: which registers it accesses, and in which order.

use crate::registers::shell as r;
use crate::{Bus, ErrorCode, Image, Window};

/// What can go wrong with a device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError<E: std::error::Error + 'static> {
    /// The bus failed.
    #[error("bus: {0}")]
    Bus(#[source] E),
    /// The device is no accelerator.
    #[error("ID is {found:#010x}, must be {:#010x}: no accelerator of this kind is here", r::ID_ID_VALUE)]
    WrongId {
        /// The register ID.
        found: u32,
    },
    /// Registers of another version.
    #[error("VERSION is {found}, must be {}: this driver knows no other one", r::VERSION_VERSION_VALUE)]
    WrongVersion {
        /// The version of the registers.
        found: u32,
    },
    /// Another accelerator is there.
    #[error("this is accelerator {found}, must be {expected}: its registers and descriptors are other ones")]
    WrongAccelerator {
        /// The number of the accelerator.
        found: u32,
        /// The number that the caller wants.
        expected: u32,
    },
    /// Addresses of the window are wider than the device's. The device would refuse jobs for this window.
    #[error("the window has addresses of {given} bits, the device {has}: take what `Device::window` returns")]
    AddressWidth {
        /// Bits of an address in the window.
        given: u32,
        /// Bits of an address of the device.
        has: u32,
    },
    /// A job runs.
    #[error("a job runs; wait for its end or reset the device")]
    Busy,
    /// A start was refused although no job ran: the bus was not idle.
    #[error("the start was refused: the bus is not idle; reset the device")]
    Refused,
    /// No job was started, or a reset dropped it.
    #[error("no job runs, and none has ended")]
    NoJob,
    /// The job ended with an error.
    #[error("{0}")]
    Job(JobFailure),
    /// The job takes too long.
    #[error("the job has not ended after {polls} looks at STATUS")]
    TooLong {
        /// How often STATUS was read.
        polls: u32,
    },
    /// The bus does not become idle.
    #[error(
        "the soft reset is not done after {polls} looks at CONTROL: memory owes answers, only a hardware reset helps"
    )]
    ResetTooLong {
        /// How often CONTROL was read.
        polls: u32,
    },
}

/// How a job failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFailure {
    /// The value of `ERROR_CODE`.
    pub number: u32,
    /// Address of the descriptor.
    pub place: u64,
    /// Progress before the error.
    pub before: Completion,
}

impl JobFailure {
    /// The code, if this crate knows it.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        ErrorCode::of(self.number)
    }
}

impl std::fmt::Display for JobFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let meaning = self.code().map_or("a code that is not known", ErrorCode::meaning);
        let Self { number, place, before } = self;
        write!(
            f,
            "the job ended at the descriptor at {place:#x} with error {number}, after {} descriptors: ",
            before.descriptors
        )?;
        write!(f, "{meaning}")
    }
}

/// How far a job came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Tag of the descriptor that was completed last.
    pub tag: u32,
    /// Descriptors that were completed.
    pub descriptors: u32,
}

/// What the ID registers of a device say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Version of registers and descriptors.
    pub version: u32,
    /// Number of the accelerator.
    pub accelerator: u32,
}

/// How a device reaches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusCaps {
    /// Bits of an address.
    pub address_width: u32,
    /// Ports.
    pub ports: u32,
    /// Bits of a beat.
    pub data_width: u32,
}

/// Settings for all jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Memory that jobs may touch.
    pub window: Window,
    /// Cycles that a port of memory may take for an answer; 0 for no limit. It also limits the wait for a token, if a
    /// link names no patience.
    pub timeout: u32,
    /// Descriptors of a job at most.
    pub max_descriptors: u32,
}

/// Counters of the last job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Cycles from start to end.
    pub cycles: u64,
    /// Cycles in which the engine computed.
    pub compute_cycles: u64,
    /// Beats read, on all ports.
    pub read_beats: u64,
    /// Beats written, on all ports.
    pub write_beats: u64,
    /// Cycles in which a DMA of operands had no beat although the engine would have taken one.
    pub read_waits: u64,
    /// Cycles in which a port offered a beat that memory did not take.
    pub write_waits: u64,
}

type Result<T, B> = std::result::Result<T, DeviceError<<B as Bus>::Error>>;

/// The field of a register that a mask names.
pub(crate) fn field(register: u32, mask: u32) -> u32 {
    (register & mask) >> mask.trailing_zeros()
}

/// An accelerator on a bus.
#[derive(Debug)]
pub struct Device<B: Bus> {
    bus: B,
}

impl<B: Bus> Device<B> {
    /// The device on a bus. No register is accessed.
    pub fn new(bus: B) -> Self {
        Self { bus }
    }

    /// The bus.
    pub fn bus(&mut self) -> &mut B {
        &mut self.bus
    }

    /// Gives the bus back.
    pub fn into_bus(self) -> B {
        self.bus
    }

    /// A register.
    ///
    /// # Errors
    /// The bus fails.
    pub fn read(&mut self, register: u32) -> Result<u32, B> {
        self.bus.read32(register).map_err(DeviceError::Bus)
    }

    /// Changes a register.
    ///
    /// # Errors
    /// The bus fails.
    pub fn write(&mut self, register: u32, value: u32) -> Result<(), B> {
        self.bus.write32(register, value).map_err(DeviceError::Bus)
    }

    /// A register of two words. The low one is read first: the hardware keeps the high one for it.
    ///
    /// # Errors
    /// The bus fails.
    pub fn read64(&mut self, register: u32) -> Result<u64, B> {
        let low = self.read(register)?;
        Ok(u64::from(self.read(register + 4)?) << 32 | u64::from(low))
    }

    /// Changes a register of two words.
    ///
    /// # Errors
    /// The bus fails.
    pub fn write64(&mut self, register: u32, value: u64) -> Result<(), B> {
        self.write(register, value as u32)?;
        self.write(register + 4, (value >> 32) as u32)
    }

    /// Reads the ID registers, and makes sure that this driver supports the accelerator.
    ///
    /// # Errors
    /// The bus fails, or another device is there.
    pub fn identify(&mut self) -> Result<Identity, B> {
        let found = self.read(r::ID)?;
        if found != r::ID_ID_VALUE {
            return Err(DeviceError::WrongId { found });
        }
        let register = self.read(r::VERSION)?;
        let (version, accelerator) = (field(register, r::VERSION_VERSION), field(register, r::VERSION_ACCELERATOR));
        if version != r::VERSION_VERSION_VALUE {
            return Err(DeviceError::WrongVersion { found: version });
        }
        Ok(Identity { version, accelerator })
    }

    /// [`Self::identify`], and an error if it is not the accelerator with this number. A driver calls it before it
    /// reads registers of this accelerator.
    ///
    /// # Errors
    /// The bus fails, or another device is there.
    pub fn identify_as(&mut self, accelerator: u32) -> Result<Identity, B> {
        let identity = self.identify()?;
        match identity.accelerator == accelerator {
            true => Ok(identity),
            false => Err(DeviceError::WrongAccelerator { found: identity.accelerator, expected: accelerator }),
        }
    }

    /// How the device reaches memory. Identify it first.
    ///
    /// # Errors
    /// The bus fails.
    pub fn bus_caps(&mut self) -> Result<BusCaps, B> {
        let register = self.read(r::CAPS_BUS)?;
        Ok(BusCaps {
            address_width: field(register, r::CAPS_BUS_ADDRESS_WIDTH),
            ports: field(register, r::CAPS_BUS_PORTS),
            data_width: field(register, r::CAPS_BUS_DATA_WIDTH),
        })
    }

    /// Memory from `base` to `limit`, as far as the device can reach it.
    ///
    /// # Errors
    /// The bus fails.
    pub fn window(&mut self, base: u64, limit: u64) -> Result<Window, B> {
        Ok(Window { base, limit, address_width: self.bus_caps()?.address_width })
    }

    /// Sets the limits of all later jobs.
    ///
    /// # Errors
    /// A job runs, or the window has wider addresses than the device.
    pub fn configure(&mut self, settings: &Settings) -> Result<(), B> {
        self.not_busy()?;
        let (given, has) = (settings.window.address_width, self.bus_caps()?.address_width);
        if given > has {
            return Err(DeviceError::AddressWidth { given, has });
        }
        self.write64(r::WINDOW_BASE, settings.window.base)?;
        self.write64(r::WINDOW_LIMIT, settings.window.limit)?;
        self.write(r::TIMEOUT, settings.timeout)?;
        self.write(r::MAX_DESCRIPTORS, settings.max_descriptors)
    }

    /// Starts the job whose first descriptor is at an address.
    ///
    /// # Errors
    /// A job runs, and goes on undisturbed; or the bus is not idle.
    pub fn start(&mut self, job: u64) -> Result<(), B> {
        self.not_busy()?;
        self.write(r::STATUS, r::STATUS_DONE | r::STATUS_ERROR | r::STATUS_REFUSED)?;
        self.write64(r::JOB, job)?;
        self.write(r::CONTROL, r::CONTROL_START)?;
        if self.read(r::STATUS)? & r::STATUS_REFUSED != 0 {
            self.write(r::STATUS, r::STATUS_REFUSED)?;
            return Err(DeviceError::Refused);
        }
        Ok(())
    }

    /// The progress of the job that has ended; `None` while the job runs. The end can be read until
    /// [`Device::acknowledge`] or the next start.
    ///
    /// # Errors
    /// The job ended with an error, or no job was started.
    pub fn poll(&mut self) -> Result<Option<Completion>, B> {
        let status = self.read(r::STATUS)?;
        if status & r::STATUS_BUSY != 0 {
            return Ok(None);
        }
        let before = |device: &mut Self| -> Result<Completion, B> {
            Ok(Completion { tag: device.read(r::TAG)?, descriptors: device.read(r::DESCRIPTORS)? })
        };
        if status & r::STATUS_ERROR != 0 {
            let number = self.read(r::ERROR_CODE)? & r::ERROR_CODE_ERROR_CODE;
            let place = self.read64(r::ERROR_WHERE)?;
            return Err(DeviceError::Job(JobFailure { number, place, before: before(self)? }));
        }
        if status & r::STATUS_DONE == 0 {
            return Err(DeviceError::NoJob);
        }
        before(self).map(Some)
    }

    /// Clears the bits of STATUS about the last job. The interrupt falls.
    ///
    /// # Errors
    /// The bus fails.
    pub fn acknowledge(&mut self) -> Result<(), B> {
        self.write(r::STATUS, r::STATUS_DONE | r::STATUS_ERROR)
    }

    /// Looks at STATUS up to `polls` times, until the job has ended.
    ///
    /// # Errors
    /// The job ended with an error, or did not end.
    pub fn wait(&mut self, polls: u32) -> Result<Completion, B> {
        for _ in 0..polls {
            if let Some(done) = self.poll()? {
                return Ok(done);
            }
        }
        Err(DeviceError::TooLong { polls })
    }

    /// Enables the interrupt and calls `sleep` until the job has ended. `sleep` waits for the interrupt, and may wake
    /// up `most` times without one. Afterwards the interrupt is disabled and acknowledged, unless the bus fails.
    ///
    /// # Errors
    /// The job ended with an error, or did not end.
    pub fn wait_for_interrupt(
        &mut self,
        most: u32,
        mut sleep: impl FnMut(&mut B) -> std::result::Result<(), B::Error>,
    ) -> Result<Completion, B> {
        self.write(r::IRQ_ENABLE, r::IRQ_ENABLE_IRQ_DONE | r::IRQ_ENABLE_IRQ_ERROR)?;
        let mut end = Err(DeviceError::TooLong { polls: most });
        // `most` spurious wake-ups and the true one, and a look at STATUS after each.
        for slept in 0..=u64::from(most) + 1 {
            // The interrupt is a level, so an early one is not lost.
            match self.poll() {
                Ok(None) if slept > u64::from(most) => break,
                Ok(None) => sleep(&mut self.bus).map_err(DeviceError::Bus)?,
                Ok(Some(done)) => {
                    end = Ok(done);
                    break;
                }
                Err(error) => {
                    end = Err(error);
                    break;
                }
            }
        }
        self.write(r::IRQ_ENABLE, 0)?;
        if !matches!(end, Err(DeviceError::TooLong { .. })) {
            self.acknowledge()?;
        }
        end
    }

    /// Writes a chain to memory, starts it, and polls for its end.
    ///
    /// # Errors
    /// The bus fails, the start is refused, or the job ends with an error or not at all.
    pub fn run(&mut self, chain: &Image, polls: u32) -> Result<Completion, B> {
        self.not_busy()?;
        chain.store(&mut self.bus).map_err(DeviceError::Bus)?;
        self.start(chain.address)?;
        self.wait(polls)
    }

    /// Drops the running job, and looks at CONTROL up to `polls` times until the reset is done. The memory for results
    /// of the dropped job is undefined.
    ///
    /// # Errors
    /// The bus does not become idle.
    pub fn soft_reset(&mut self, polls: u32) -> Result<(), B> {
        self.write(r::CONTROL, r::CONTROL_SOFT_RESET)?;
        for _ in 0..polls {
            if self.read(r::CONTROL)? & r::CONTROL_SOFT_RESET == 0 {
                return self.write(r::STATUS, r::STATUS_DONE | r::STATUS_ERROR | r::STATUS_REFUSED);
            }
        }
        Err(DeviceError::ResetTooLong { polls })
    }

    /// Reads the counters of the last job.
    ///
    /// # Errors
    /// The bus fails.
    pub fn counters(&mut self) -> Result<Counters, B> {
        Ok(Counters {
            cycles: self.read64(r::CYCLES)?,
            compute_cycles: self.read64(r::COMPUTE_CYCLES)?,
            read_beats: self.read64(r::READ_BEATS)?,
            write_beats: self.read64(r::WRITE_BEATS)?,
            read_waits: self.read64(r::READ_WAITS)?,
            write_waits: self.read64(r::WRITE_WAITS)?,
        })
    }

    fn not_busy(&mut self) -> Result<(), B> {
        if self.read(r::STATUS)? & r::STATUS_BUSY != 0 { Err(DeviceError::Busy) } else { Ok(()) }
    }
}
