//! Descriptors that a bench draws: their fields by name, and descriptors that break a rule of their table.
//!
//! ```
//! use hdl::accelerators::vector::VectorTop;
//! use jobs::draft::Operations;
//!
//! let mut draft = Operations::of(&VectorTop::default()).draft("vector");
//! draft.set("rows", 3u32).set("kind", 2u32).operand("x", (0x1000, 64));
//! assert_eq!((draft.get("rows"), &draft.bytes()[32..36]), (3, &[3, 0, 0, 0][..]));
//! assert_eq!((draft.get("x_address"), draft.get("x_stride")), (0x1000, 64));
//! ```

mod spoil;
mod vary;

use std::ops::Range;
use std::sync::Arc;

use hdl::accelerators::top::Accelerator;
use hdl::lang::operation::{Condition, HEADER, HEADER_BYTES, MAGIC, Opcode, OperationField, VERSION};
use rand::RngExt;
use sim::stimulus::StimulusRng;

use crate::draw::often;
use crate::program::{DESCRIPTOR, Program};

/// Bytes of a descriptor.
const BYTES: usize = DESCRIPTOR as usize;

/// All flags of a header: the tag is written; 0 to 7 operations of which it is independent, and 0 to 7 that write nothing
/// that it reads early.
pub const ALL_FLAGS: u16 = 0x7f;

/// The operations of an accelerator, by name.
#[derive(Clone, Debug)]
pub struct Operations(Vec<Arc<Opcode>>);

impl Operations {
    /// The operations of an accelerator, with the operations of parts that it was built without.
    #[must_use]
    pub fn of<A: Accelerator>(accelerator: &A) -> Self {
        Self(accelerator.operations().into_iter().map(Arc::new).collect())
    }

    /// A descriptor of the operation with this name, with 0 in all its fields.
    ///
    /// # Panics
    /// There is no such operation.
    #[must_use]
    pub fn draft(&self, name: &str) -> Draft {
        let found = self.0.iter().find(|operation| operation.name == name);
        let operation = Arc::clone(found.unwrap_or_else(|| panic!("there is no operation {name}")));
        let number = operation.number;
        let mut new = Draft { operation, bytes: [0; BYTES] };
        new.put("magic", MAGIC).put("version", VERSION).put("opcode", number);
        new
    }

    /// A descriptor of each operation, with the least value in all fields that have a range, and 0 in the others.
    pub fn least(&self) -> impl Iterator<Item = Draft> {
        self.0.iter().map(|operation| {
            let mut least = self.draft(&operation.name);
            for field in operation.layout.fields.iter().filter(|field| field.when == Condition::Always) {
                least.set(&field.name, field.values.range().map_or(0, |(first, _)| first));
            }
            least
        })
    }

    /// The descriptor of these bytes, if its number is that of an operation.
    #[must_use]
    pub fn read(&self, bytes: [u8; BYTES]) -> Option<Draft> {
        let number = u32::from(bytes[member_bytes("opcode").start]);
        let operation = self.0.iter().find(|operation| operation.number == number)?;
        Some(Draft { operation: Arc::clone(operation), bytes })
    }

    /// [`Operations::draft`] with a drawn header: any flags, any tag, and room for it.
    ///
    /// # Panics
    /// There is no such operation.
    pub fn drawn(&self, rng: &mut StimulusRng, program: &mut Program, name: &str) -> Draft {
        let mut new = self.draft(name);
        new.draw_header(rng, program, ALL_FLAGS);
        new
    }
}

/// One descriptor of so many is spoilt.
const SPOILT: u32 = 8;

/// The bytes of a member of the header.
fn member_bytes(name: &str) -> Range<usize> {
    let (_, first, bytes, _) = HEADER.iter().find(|member| member.0 == name).expect("headers have this member");
    *first as usize..(first + bytes) as usize
}

/// A further way to spoil a descriptor, which its table does not know.
pub type Fault<'a> = &'a dyn Fn(&mut Draft, &mut StimulusRng);

/// A descriptor, right or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    operation: Arc<Opcode>,
    bytes: [u8; BYTES],
}

impl Draft {
    /// Sets flags and tag of the header.
    pub fn header(&mut self, flags: u16, tag: u32, tag_address: u64) -> &mut Self {
        self.put("flags", flags).put("tag", tag).put("tag_address", tag_address)
    }

    /// Draws a header with some of the `allowed` flags, and room for the tag.
    pub fn draw_header(&mut self, rng: &mut StimulusRng, program: &mut Program, allowed: u16) {
        let flags = rng.random_range(0..=ALL_FLAGS) & allowed;
        let tag = rng.random();
        let tag_address = program.take(rng, 64);
        self.header(flags, tag, tag_address);
    }

    /// Sets the address of the next descriptor.
    pub fn next(&mut self, address: u64) -> &mut Self {
        self.put("next", address)
    }

    /// Sets a member of the header; bits that do not fit are lost.
    fn put(&mut self, member: &str, value: impl Into<u64>) -> &mut Self {
        let bytes = member_bytes(member);
        let count = bytes.len();
        self.bytes[bytes].copy_from_slice(&value.into().to_le_bytes()[..count]);
        self
    }

    fn field(&self, name: &str) -> &OperationField {
        let operation = &self.operation;
        operation.layout.field(name).unwrap_or_else(|| panic!("operation {} has no field {name}", operation.name))
    }

    /// The number of its operation.
    #[must_use]
    pub fn opcode(&self) -> u8 {
        self.bytes[member_bytes("opcode").start]
    }

    /// The value of a field.
    ///
    /// # Panics
    /// There is no such field.
    #[must_use]
    pub fn get(&self, name: &str) -> u64 {
        self.field(name).get(&self.bytes)
    }

    /// A field of at most 32 bits.
    ///
    /// # Panics
    /// There is no such field.
    #[must_use]
    pub fn word(&self, name: &str) -> u32 {
        self.get(name) as u32
    }

    /// Whether a field is not 0.
    ///
    /// # Panics
    /// There is no such field.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.get(name) != 0
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

    /// Sets address and stride of an operand.
    ///
    /// # Panics
    /// There is no such operand.
    pub fn operand(&mut self, name: &str, (address, stride): (u64, u32)) -> &mut Self {
        self.set(&format!("{name}_address"), address).set(&format!("{name}_stride"), stride)
    }

    /// Address and stride of an operand.
    ///
    /// # Panics
    /// There is no such operand.
    #[must_use]
    pub fn place(&self, name: &str) -> (u64, u32) {
        (self.get(&format!("{name}_address")), self.word(&format!("{name}_stride")))
    }

    /// Sets a bit, counted from the end of the header.
    fn set_bit(&mut self, bit: u32, value: bool) {
        let (byte, mask) = ((HEADER_BYTES + bit / 8) as usize, 1 << (bit % 8));
        self.bytes[byte] = self.bytes[byte] & !mask | if value { mask } else { 0 };
    }

    /// It with each bit after the header inverted, one at a time, and the number of the bit.
    pub fn single_bits(self) -> impl Iterator<Item = (u32, Self)> {
        let bits = 8 * (DESCRIPTOR as u32 - HEADER_BYTES);
        (0..bits).map(move |bit| {
            let mut one = self.clone();
            one.flip_bit(bit);
            (bit, one)
        })
    }

    /// Inverts a bit, counted from the end of the header.
    fn flip_bit(&mut self, bit: u32) {
        self.bytes[(HEADER_BYTES + bit / 8) as usize] ^= 1 << (bit % 8);
    }

    /// The words after the header.
    #[must_use]
    pub fn words(&self) -> Vec<u32> {
        let words = self.bytes[HEADER_BYTES as usize..].chunks(4);
        words.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; BYTES] {
        self.bytes
    }

    /// Spoils it now and then, as [`Draft::spoil`] does; its program is then no longer plain.
    #[must_use]
    pub fn seldom(mut self, rng: &mut StimulusRng, program: &mut Program, own: &[Fault<'_>]) -> Self {
        if often(rng, SPOILT) {
            program.plain = false;
            self.spoil(rng, own);
        }
        self
    }
}
