//! What a signal has at a moment.

/// A signal in a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// It means nothing at the time.
    Nothing,
    /// The highest bit first, each `0`, `1`, `x` or `z`.
    Bits(String),
    /// A text, or a number as it is written.
    Text(String),
}
