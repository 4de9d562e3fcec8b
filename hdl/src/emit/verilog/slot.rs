//! The places of expressions.

/// Where an expression stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// Alone on the right of an assignment to something of the same width.
    Root,
    /// Inside another expression that does not widen it.
    Inner,
    /// Operand of growing arithmetic, which widens it: only what widens by itself.
    Operand,
    /// Before a bit select: only a name.
    Name,
}
