//! Descriptors of operations: the [`operation!`](crate::operation) macro, and what follows from one table of fields.
//!
//! From the table come the hardware that gives each field its name, the check of what must be 0 and of ranges, and in
//! `gen` a C header, Rust constants and a table. A golden model reads the bytes by itself.

mod condition;
mod decoder;
mod header;
mod layout;
mod macros;
mod offers;

pub use condition::{Condition, built, is, opcode, set};
pub use decoder::Decoder;
pub use header::{FLAGS, HEADER, HEADER_BYTES, HeaderMember, MAGIC, VERSION};
pub use layout::{Member, Opcode, OperationField, OperationLayout, Values};

use super::block::Block;

/// A block that gives the fields of a descriptor their names, made by [`operation!`](crate::operation).
pub trait OperationBlock: Block {
    /// The table of its fields.
    fn layout(&self) -> OperationLayout;
    /// What comes in, and what is wrong.
    fn decoder(ports: &Self::Ports) -> &Decoder;
}

/// One kind of field: what its width and its values are described with.
pub trait OperationKind {
    /// The expression after the `=` in [`operation!`](crate::operation).
    type Spec;
    /// Width in bits, and right values.
    fn layout(spec: Self::Spec) -> (u32, Values);
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident ($spec:ty) = |$s:pat_param| $layout:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $kind;
        impl OperationKind for $kind {
            type Spec = $spec;
            fn layout($s: $spec) -> (u32, Values) {
                $layout
            }
        }
    )*};
}
kinds! {
    /// Any value: `scale: Bits = 16`, its width.
    Bits(u32) = |width| (width, Values::Any);
    /// One bit: `relu: Flag = ()`.
    Flag(()) = |()| (1, Values::Any);
    /// A size, and another one is `ERROR_SIZE`: `rows: Size = (32, 1..=65535)`, width and range.
    Size((u32, std::ops::RangeInclusive<u32>)) = |(width, range)| {
        (width, Values::Size(*range.start(), *range.end()))
    };
    /// A number that stands for something, and another one is `ERROR_FIELD`: `format: Choice = (2, 0..=2)`.
    Choice((u32, std::ops::RangeInclusive<u32>)) = |(width, range)| {
        (width, Values::Choice(*range.start(), *range.end()))
    };
    /// The address of an operand: `x_address: Address = ()`.
    Address(()) = |()| (64, Values::Any);
    /// Bytes from row to row of an operand: `x_stride: Stride = ()`.
    Stride(()) = |()| (32, Values::Any);
}
