//! How the text of a token stands for bytes.

/// How the text of a token stands for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// A character for each byte (Radford et al. 2019, section 2.2).
    ByteLevel,
    /// Characters, with U+2581 for a space, and tokens such as `<0x0A>` for single bytes.
    Pieces {
        /// Whether a text gets a space at its beginning.
        space: bool,
    },
}
