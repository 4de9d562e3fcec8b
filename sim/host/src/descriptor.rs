//! A descriptor as bytes, and why one is refused.

use crate::layout::{Field, header};
use crate::{ALIGNMENT, ErrorCode, Window};

/// Why the hardware would refuse a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, must be {expected}; the hardware would end the job with {code}")]
pub struct Refusal {
    /// What `ERROR_CODE` would say.
    pub code: ErrorCode,
    /// The field, or what it belongs to.
    pub field: &'static str,
    /// What it is.
    pub value: String,
    /// What would be right.
    pub expected: String,
}

impl Refusal {
    pub(crate) fn new(
        code: ErrorCode,
        field: &'static str,
        value: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self { code, field, value: value.into(), expected: expected.into() }
    }
}

/// A descriptor of 128 bytes, all of it 0 at first but for magic and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    bytes: [u8; Self::BYTES],
}

impl Descriptor {
    /// Its bytes.
    pub const BYTES: usize = 128;

    /// One that does nothing yet.
    #[must_use]
    pub fn new(opcode: u8) -> Self {
        let mut new = Self { bytes: [0; Self::BYTES] };
        new.set(header::MAGIC, header::MAGIC_VALUE.into());
        new.set(header::VERSION, header::VERSION_VALUE.into());
        new.set(header::OPCODE, opcode.into());
        new
    }

    /// One that lies in memory, right or not.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self { bytes }
    }

    /// As it lies in memory.
    #[must_use]
    pub fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.bytes
    }

    /// A field.
    #[must_use]
    pub fn get(&self, field: Field) -> u64 {
        field.get(&self.bytes)
    }

    /// Changes a field.
    ///
    /// # Panics
    /// The value does not fit into it.
    pub fn set(&mut self, field: Field, value: u64) {
        field.put(&mut self.bytes, value);
    }

    /// Checks the header as the hardware does, where there are operations up to `opcodes`.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check_header(&self, window: &Window, opcodes: u8) -> Result<(), Refusal> {
        let wrong = |code, field: Field, expected: String| {
            Err(Refusal::new(code, field.name, format!("{:#x}", self.get(field)), expected))
        };
        if self.get(header::MAGIC) != header::MAGIC_VALUE.into() {
            return wrong(ErrorCode::Magic, header::MAGIC, format!("{:#x}", header::MAGIC_VALUE));
        }
        if self.get(header::VERSION) != header::VERSION_VALUE.into() {
            return wrong(ErrorCode::Version, header::VERSION, format!("{:#x}", header::VERSION_VALUE));
        }
        if !(1..=u64::from(opcodes)).contains(&self.get(header::OPCODE)) {
            return wrong(ErrorCode::Opcode, header::OPCODE, format!("0x1 to {opcodes:#x}"));
        }
        let flags = header::FLAG_TAG | header::FLAG_INDEPENDENT;
        if self.get(header::FLAGS) & !u64::from(flags) != 0 {
            return wrong(ErrorCode::Reserved, header::FLAGS, format!("made of the bits of {flags:#x}"));
        }
        if self.get(header::RESERVED) != 0 {
            return wrong(ErrorCode::Reserved, header::RESERVED, "0x0".into());
        }
        if self.get(header::FLAGS) & u64::from(header::FLAG_TAG) != 0 {
            placed(window, header::TAG_ADDRESS.name, self.get(header::TAG_ADDRESS), 4, ErrorCode::Tag)?;
        }
        Ok(())
    }

    /// Checks the place of a descriptor as the hardware does.
    ///
    /// # Errors
    /// It is no multiple of 64, or outside of the window.
    pub fn check_place(address: u64, window: &Window) -> Result<(), Refusal> {
        placed(window, "descriptor_address", address, Self::BYTES as u64, ErrorCode::Descriptor)
    }
}

/// Whether `bytes` bytes at an address are aligned and in the window; else an error with `code`.
fn placed(window: &Window, field: &'static str, address: u64, bytes: u64, code: ErrorCode) -> Result<(), Refusal> {
    if !address.is_multiple_of(ALIGNMENT) {
        return Err(Refusal::new(code, field, format!("{address:#x}"), format!("a multiple of {ALIGNMENT}")));
    }
    in_window(window, field, address, u128::from(address) + u128::from(bytes) - 1, code)
}

/// Whether bytes from `first` to `last` are in the window; else an error with `code`.
pub(crate) fn in_window(
    window: &Window,
    field: &'static str,
    first: u64,
    last: u128,
    code: ErrorCode,
) -> Result<(), Refusal> {
    if window.holds(first, last) {
        return Ok(());
    }
    let expected = format!("such that all of it is in the window, {:#x} to {:#x}", window.base, window.last());
    Err(Refusal::new(code, field, format!("{first:#x}, its last byte at {last:#x}"), expected))
}
