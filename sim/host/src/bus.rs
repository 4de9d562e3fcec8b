//! The way to a device and to its memory.

/// Registers and memory of a device. Offsets and addresses are the device's own.
pub trait Bus {
    /// What can go wrong.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Reads the register at an offset from the device's base.
    ///
    /// # Errors
    /// No register answered.
    fn read32(&mut self, offset: u32) -> Result<u32, Self::Error>;

    /// Writes the register at an offset from the device's base. Accesses happen in the order in which they are asked
    /// for.
    ///
    /// # Errors
    /// No register answered.
    fn write32(&mut self, offset: u32, value: u32) -> Result<(), Self::Error>;

    /// Reads memory as the device has left it. An implementation flushes or bypasses caches.
    ///
    /// # Errors
    /// There is no such memory.
    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes memory; the device sees it when this returns.
    ///
    /// # Errors
    /// There is no such memory.
    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), Self::Error>;
}

impl<B: Bus> Bus for &mut B {
    type Error = B::Error;

    fn read32(&mut self, offset: u32) -> Result<u32, B::Error> {
        (**self).read32(offset)
    }

    fn write32(&mut self, offset: u32, value: u32) -> Result<(), B::Error> {
        (**self).write32(offset, value)
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), B::Error> {
        (**self).read_memory(address, bytes)
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), B::Error> {
        (**self).write_memory(address, bytes)
    }
}

/// Bytes that belong at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Address of the first byte.
    pub address: u64,
    /// All bytes.
    pub bytes: Vec<u8>,
}

impl Image {
    /// Writes the bytes to memory.
    ///
    /// # Errors
    /// The bus fails.
    pub fn store<B: Bus>(&self, bus: &mut B) -> Result<(), B::Error> {
        bus.write_memory(self.address, &self.bytes)
    }
}
