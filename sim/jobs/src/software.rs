//! A device in software: the golden model as a bus for drivers.

use golden::accelerators::memory::{BusError, Memory};
use golden::accelerators::vector::device::Device;
use golden::common::bus::axi_lite_registers::Refused;
use host::Bus;

/// What goes wrong on a device in software.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SoftwareError {
    /// There is no such register, or it cannot be written.
    Register(u32),
    /// Memory answers with an error.
    Memory(u64, BusError),
}

impl std::fmt::Display for SoftwareError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Register(offset) => write!(f, "no register at {offset:#x} answers this"),
            Self::Memory(address, error) => write!(f, "memory at {address:#x} answers {error:?}"),
        }
    }
}

impl std::error::Error for SoftwareError {}

/// A device of software.
#[derive(Clone, Debug)]
pub struct Software<M>(pub Device<M>);

impl<M: Memory> Bus for Software<M> {
    type Error = SoftwareError;

    fn read32(&mut self, offset: u32) -> Result<u32, SoftwareError> {
        self.0.read(offset).map_err(|Refused| SoftwareError::Register(offset))
    }

    fn write32(&mut self, offset: u32, value: u32) -> Result<(), SoftwareError> {
        self.0.write(offset, value).map_err(|Refused| SoftwareError::Register(offset))
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), SoftwareError> {
        self.0.memory.read(address, bytes).map_err(|error| SoftwareError::Memory(address, error))
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), SoftwareError> {
        self.0.memory.write(address, bytes).map_err(|error| SoftwareError::Memory(address, error))
    }
}
