//! A device in software: the golden model as a [`Bus`].

use std::fmt;

use golden::accelerators::memory::{Memory, SparseMemory};
use golden::accelerators::vector::device::Device as Model;
use host::Bus;

use super::support::TOP;

#[derive(Debug)]
pub struct NoAnswer(pub String);

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing answers at {}", self.0)
    }
}

impl std::error::Error for NoAnswer {}

pub struct Software(pub Model<SparseMemory>);

impl Software {
    pub fn new() -> Self {
        Self(Model::new(TOP.clone(), 1, 65_536, SparseMemory::new()))
    }
}

impl Bus for Software {
    type Error = NoAnswer;

    fn read32(&mut self, offset: u32) -> Result<u32, NoAnswer> {
        self.0.read(offset).map_err(|_| NoAnswer(format!("register {offset:#x}")))
    }

    fn write32(&mut self, offset: u32, value: u32) -> Result<(), NoAnswer> {
        self.0.write(offset, value).map_err(|_| NoAnswer(format!("register {offset:#x}")))
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), NoAnswer> {
        self.0.memory.read(address, bytes).map_err(|_| NoAnswer(format!("{address:#x}")))
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), NoAnswer> {
        self.0.memory.write(address, bytes).map_err(|_| NoAnswer(format!("{address:#x}")))
    }
}
