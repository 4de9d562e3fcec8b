//! A descriptor as bytes, and why one is refused.

use std::ops::RangeInclusive;

use crate::layout::{Field, check_reserved, header};
use crate::used::Used;
use crate::{ALIGNMENT, ErrorCode, Refusal, Window};

/// A descriptor of 128 bytes, all of it 0 at first but for magic and version.
#[derive(Clone, Debug)]
pub struct Descriptor {
    bytes: [u8; Self::BYTES],
    /// Bytes that the operation uses, where all are known.
    used: Option<Vec<Used>>,
    /// State of the accelerator that it uses, by numbers that the accelerator gives.
    state: Option<RangeInclusive<u64>>,
    /// State that operations of several engines use, the same way.
    shared: Vec<Used>,
}

impl PartialEq for Descriptor {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Descriptor {}

impl Descriptor {
    /// Bytes of a descriptor.
    pub const BYTES: usize = 128;

    /// A descriptor with an opcode, and 0 in all fields of the operation.
    #[must_use]
    pub fn new(opcode: u8) -> Self {
        let mut new = Self::from_bytes([0; Self::BYTES]);
        new.set(header::MAGIC, header::MAGIC_VALUE.into());
        new.set(header::VERSION, header::VERSION_VALUE.into());
        new.set(header::OPCODE, opcode.into());
        new
    }

    /// A descriptor from memory, right or not.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self { bytes, used: None, state: None, shared: Vec::new() }
    }

    /// The bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.bytes
    }

    /// A field.
    #[must_use]
    pub fn get(&self, field: Field) -> u64 {
        field.get(&self.bytes)
    }

    /// Whether a field is not 0.
    #[must_use]
    pub fn has(&self, field: Field) -> bool {
        self.get(field) != 0
    }

    /// Changes a field. What the operation uses is then unknown.
    ///
    /// # Panics
    /// The value does not fit into it.
    pub fn set(&mut self, field: Field, value: u64) {
        field.put(&mut self.bytes, value);
        self.used = None;
    }

    /// The same descriptor after a check of its operands. They are all that the operation reads and writes, so that
    /// [`may_overlap`](Self::may_overlap) knows.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn with_operands(self, window: &Window, operands: &[Extent]) -> Result<Self, Refusal> {
        self.check_operands(window, operands)?;
        let used = operands.iter().map(|operand| operand.of(&self)).collect();
        Ok(Self { used: Some(used), ..self })
    }

    /// The same descriptor; beside its operands the operation uses state of the accelerator: these parts of it, by numbers
    /// that the accelerator gives. One engine has all operations on the state.
    #[must_use]
    pub(crate) fn on_state(self, parts: RangeInclusive<u64>) -> Self {
        Self { state: Some(parts), ..self }
    }

    /// The same descriptor, which uses these parts of the accelerator's state. Operations of several engines use such state.
    #[must_use]
    pub(crate) fn sharing(self, shared: Vec<Used>) -> Self {
        Self { shared, ..self }
    }

    /// Whether the order of two operations does not matter: they [may overlap](Self::may_overlap), and do not use the same
    /// state of the accelerator.
    #[must_use]
    pub fn is_independent_of(&self, other: &Self) -> bool {
        let same_state = match (&self.state, &other.state) {
            (Some(this), Some(that)) => this.start() <= that.end() && that.start() <= this.end(),
            _ => false,
        };
        !same_state && self.may_overlap(other)
    }

    /// Whether two operations may be in flight at the same time: neither writes what the other one reads or writes. State of
    /// the accelerator counts only where operations of several engines use it, since an engine does its operations one
    /// after the other. False where all that one of them uses is not known, such as for a descriptor from memory.
    #[must_use]
    pub fn may_overlap(&self, other: &Self) -> bool {
        let (Some(these), Some(those)) = (&self.used, &other.used) else { return false };
        let apart = |these: &[Used], those: &[Used]| {
            let meets = |this: &Used, that: &Used| (this.is_written || that.is_written) && !this.is_apart(that);
            !these.iter().any(|this| those.iter().any(|that| meets(this, that)))
        };
        apart(these, those) && apart(&self.shared, &other.shared)
    }

    /// Whether an operation reads something early, and the other one writes none of it; false as for
    /// [`may_overlap`](Self::may_overlap).
    #[must_use]
    pub fn reads_early_beside(&self, other: &Self) -> bool {
        let (Some(these), Some(those)) = (&self.used, &other.used) else { return false };
        let early = || these.iter().filter(|this| this.is_early);
        early().next().is_some() && early().all(|this| those.iter().all(|that| !that.is_written || this.is_apart(that)))
    }

    /// Checks the header as the hardware does. Opcodes go up to `opcodes`.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check_header(&self, window: &Window, opcodes: u8) -> Result<(), Refusal> {
        let wrong = |code, field, expected: String| Err(self.refusal(code, field, expected));
        if self.get(header::MAGIC) != header::MAGIC_VALUE.into() {
            return wrong(ErrorCode::Magic, header::MAGIC, format!("{:#x}", header::MAGIC_VALUE));
        }
        if self.get(header::VERSION) != header::VERSION_VALUE.into() {
            return wrong(ErrorCode::Version, header::VERSION, format!("{:#x}", header::VERSION_VALUE));
        }
        if !(1..=u64::from(opcodes)).contains(&self.get(header::OPCODE)) {
            return wrong(ErrorCode::Opcode, header::OPCODE, format!("0x1 to {opcodes:#x}"));
        }
        let flags = header::FLAG_TAG | (7 * header::FLAG_INDEPENDENT) | (7 * header::FLAG_EARLY);
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

    /// Checks address and stride of an operand as the hardware does, and then that its rows are in the window.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check_operand(&self, window: &Window, operand: &Extent) -> Result<(), Refusal> {
        let &Extent { address, stride, rows, row_bytes, .. } = operand;
        for field in [Some(address), stride].into_iter().flatten() {
            if !self.get(field).is_multiple_of(ALIGNMENT) {
                return Err(self.refusal(ErrorCode::Alignment, field, format!("a multiple of {ALIGNMENT:#x}")));
            }
        }
        let last_row = stride.map_or(0, |stride| u128::from(rows - 1) * u128::from(self.get(stride)));
        let last = u128::from(self.get(address)) + last_row + u128::from(row_bytes) - 1;
        in_window(window, address.name, self.get(address), last, ErrorCode::Window)
    }

    /// Checks operands one after the other.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check_operands(&self, window: &Window, operands: &[Extent]) -> Result<(), Refusal> {
        operands.iter().try_for_each(|operand| self.check_operand(window, operand))
    }

    /// Checks a size: 1 to `most`.
    ///
    /// # Errors
    /// It is another one.
    pub fn check_size(&self, field: Field, most: u64) -> Result<(), Refusal> {
        self.check_range(field, 1..=most)
    }

    /// Checks a size: one of `range`.
    ///
    /// # Errors
    /// It is another one.
    pub fn check_range(&self, field: Field, range: RangeInclusive<u64>) -> Result<(), Refusal> {
        let value = self.get(field);
        if range.contains(&value) {
            return Ok(());
        }
        Err(self.wrong_size(field, format!("{} to {}", range.start(), range.end())))
    }

    /// Checks that everything is 0 that must be, by the table of an operation; `built` says which parts the device has.
    ///
    /// # Errors
    /// The first field or bit that is not.
    pub fn check_reserved(&self, fields: &[Field], built: &dyn Fn(&str) -> bool) -> Result<(), Refusal> {
        check_reserved(&self.bytes, fields, built)
    }

    /// A descriptor with an opcode and these fields, and 0 in all others, if `check` finds nothing wrong. It returns all
    /// operands, or none where the operation uses more than memory.
    pub(crate) fn checked(
        opcode: u8,
        fields: &[(Field, u64)],
        check: impl FnOnce(&Self) -> Result<Option<Vec<Extent>>, Refusal>,
    ) -> Result<Self, Refusal> {
        let mut new = Self::new(opcode);
        fields.iter().for_each(|(field, value)| new.set(*field, *value));
        let operands = check(&new)?;
        new.used = operands.map(|operands| operands.iter().map(|operand| operand.of(&new)).collect());
        Ok(new)
    }

    /// A refusal because of a size.
    pub(crate) fn wrong_size(&self, field: Field, expected: impl Into<String>) -> Refusal {
        Refusal::new(ErrorCode::Size, field.name, self.get(field).to_string(), expected)
    }

    /// A refusal with `code` because of a field's value.
    pub(crate) fn refusal(&self, code: ErrorCode, field: Field, expected: impl Into<String>) -> Refusal {
        Refusal::new(code, field.name, format!("{:#x}", self.get(field)), expected)
    }

    /// Checks the place of a descriptor as the hardware does.
    ///
    /// # Errors
    /// The address is no multiple of 64, or the descriptor is outside of the window.
    pub fn check_place(address: u64, window: &Window) -> Result<(), Refusal> {
        placed(window, "descriptor_address", address, Self::BYTES as u64, ErrorCode::Descriptor)
    }
}

/// Where an operand is: its fields, and the size that other fields give. It has at least one row and one byte.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Address of the first row.
    pub address: Field,
    /// Bytes from row to row; none if there is one row only.
    pub stride: Option<Field>,
    /// Rows.
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// The operation writes it.
    pub is_written: bool,
    /// Where operations overlap, it may be read before the operations have ended that this one depends on.
    pub is_early: bool,
}

impl Extent {
    /// One row.
    #[must_use]
    pub fn row(address: Field, row_bytes: u64) -> Self {
        Self { address, stride: None, rows: 1, row_bytes, is_written: false, is_early: false }
    }

    /// Rows with a stride: so many, of so many bytes each.
    #[must_use]
    pub fn rows(address: Field, stride: Field, rows: u64, row_bytes: u64) -> Self {
        Self { address, stride: Some(stride), rows, row_bytes, is_written: false, is_early: false }
    }

    /// The operation writes it.
    #[must_use]
    pub fn written(self) -> Self {
        Self { is_written: true, ..self }
    }

    /// It may be read early.
    #[must_use]
    pub fn early(self) -> Self {
        Self { is_early: true, ..self }
    }

    /// The bytes of a descriptor's operand.
    fn of(&self, descriptor: &Descriptor) -> Used {
        let (address, stride) = (descriptor.get(self.address), self.stride.map_or(0, |stride| descriptor.get(stride)));
        let Self { rows, row_bytes, is_written, is_early, .. } = *self;
        Used { address, stride, rows, row_bytes, is_written, is_early }
    }
}

/// An error with `code` unless `bytes` bytes at an address are aligned and in the window.
fn placed(window: &Window, field: &'static str, address: u64, bytes: u64, code: ErrorCode) -> Result<(), Refusal> {
    if !address.is_multiple_of(ALIGNMENT) {
        return Err(Refusal::new(code, field, format!("{address:#x}"), format!("a multiple of {ALIGNMENT}")));
    }
    in_window(window, field, address, u128::from(address) + u128::from(bytes) - 1, code)
}

/// An error with `code` unless bytes from `first` to `last` are in the window.
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
