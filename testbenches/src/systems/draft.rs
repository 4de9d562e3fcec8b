//! A descriptor that a bench draws: its fields by name, and one that breaks a rule of its table.
//!
//! ```
//! use hdl::accelerators::top::Accelerator;
//! use hdl::accelerators::vector::VectorTop;
//! use testbenches::systems::draft::Draft;
//!
//! let operations = VectorTop::default().operations();
//! let mut draft = Draft::new(&operations[0]);
//! draft.set("rows", 3u32).set("kind", 2u32);
//! assert_eq!((draft.get("rows"), &draft.bytes()[32..36]), (3, &[3, 0, 0, 0][..]));
//! ```

use hdl::lang::operation::{Condition, HEADER_BYTES, MAGIC, Opcode, OperationField, VERSION, Values};
use rand::RngExt;
use sim::stimulus::StimulusRng;

/// Bytes of a descriptor.
const BYTES: usize = 128;

/// A descriptor, right or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    operation: Opcode,
    bytes: [u8; BYTES],
}

impl Draft {
    /// A descriptor of an operation with 0 in all its fields.
    #[must_use]
    pub fn new(operation: &Opcode) -> Self {
        let mut new = Self { operation: operation.clone(), bytes: [0; BYTES] };
        new.put(0, &MAGIC.to_le_bytes());
        new.bytes[4..6].copy_from_slice(&[VERSION as u8, operation.number as u8]);
        new
    }

    /// Sets flags and tag of the header.
    pub fn header(&mut self, flags: u16, tag: u32, tag_address: u64) -> &mut Self {
        self.put(6, &flags.to_le_bytes());
        self.put(16, &tag.to_le_bytes());
        self.put(24, &tag_address.to_le_bytes());
        self
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn field(&self, name: &str) -> &OperationField {
        let operation = &self.operation;
        operation.layout.field(name).unwrap_or_else(|| panic!("operation {} has no field {name}", operation.name))
    }

    /// The value of a field.
    ///
    /// # Panics
    /// There is no such field.
    #[must_use]
    pub fn get(&self, name: &str) -> u64 {
        self.field(name).get(&self.bytes)
    }

    /// Sets a field; bits that do not fit are lost.
    ///
    /// # Panics
    /// There is no such field.
    pub fn set(&mut self, name: &str, value: impl Into<u64>) -> &mut Self {
        let (bits, value) = (self.field(name).bits(), value.into());
        for (k, bit) in bits.enumerate() {
            self.set_bit(bit, value >> k & 1 == 1);
        }
        self
    }

    /// Sets a bit, counted from the end of the header.
    fn set_bit(&mut self, bit: u32, value: bool) {
        let (byte, mask) = ((HEADER_BYTES + bit / 8) as usize, 1 << (bit % 8));
        self.bytes[byte] = self.bytes[byte] & !mask | if value { mask } else { 0 };
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; BYTES] {
        self.bytes
    }

    /// Breaks a rule of the table, each with the same chance: a bit that no field has, a field that means nothing, a value
    /// out of its range, an address or a stride that is no multiple of 64. Now and then it is right nevertheless.
    pub fn spoil(&mut self, rng: &mut StimulusRng) {
        let layout = self.operation.layout.clone();
        let gaps: Vec<u32> = layout.gaps().into_iter().flatten().collect();
        let conditional: Vec<_> = layout.fields.iter().filter(|field| field.when != Condition::Always).collect();
        let ranged: Vec<_> = layout.fields.iter().filter(|field| field.values != Values::Any).collect();
        let placed: Vec<_> = layout
            .fields
            .iter()
            .filter(|field| field.name.ends_with("_address") || field.name.ends_with("_stride"))
            .collect();
        let kinds = [usize::from(!gaps.is_empty()), conditional.len(), ranged.len(), placed.len()];
        let mut kind = rng.random_range(0..kinds.iter().sum::<usize>().max(1));
        if kind < kinds[0] {
            return self.set_bit(gaps[rng.random_range(0..gaps.len())], true);
        }
        kind -= kinds[0];
        if let Some(field) = conditional.get(kind) {
            self.set(&field.name, rng.random::<u64>());
            return;
        }
        kind -= kinds[1];
        if let Some(field) = ranged.get(kind) {
            let (least, most) = field.values.range().unwrap_or_default();
            let beyond = [u64::from(least).wrapping_sub(1), u64::from(most) + 1, 1 << (field.width - 1), u64::MAX];
            self.set(&field.name, beyond[rng.random_range(0..beyond.len())]);
            return;
        }
        kind -= kinds[2];
        if let Some(field) = placed.get(kind) {
            let value = self.get(&field.name) | 1 << rng.random_range(0..6u8);
            self.set(&field.name, value);
        }
    }
}
