//! The handle of a value.

use super::types::Type;

/// A value in the module under construction: a small handle to a port, a net or an expression.
///
/// | operation | result |
/// | --- | --- |
/// | `a + b` | one bit wider than the wider operand |
/// | `a - b` | one bit wider, always signed |
/// | `a * b` | as wide as both together |
/// | `-a` | one bit wider, signed |
/// | `a & b`, `a \| b`, `a ^ b`, `!a` | same type; both operands of the same type |
/// | `a.eq(b)`, `ne`, `lt`, `le`, `gt`, `ge` | one bit; widths may differ |
///
/// Both operands have the same signedness; `as_sint`, `as_uint` and `extend` convert. An integer literal takes the
/// smallest type that holds it (arithmetic, comparison) or the type of the other operand (logic).
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    pub(crate) serial: u32,
    pub(crate) node: u32,
    pub(crate) ty: Type,
}
