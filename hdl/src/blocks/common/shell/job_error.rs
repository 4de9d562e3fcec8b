//! Why a job ended, `ERROR_CODE`.

macro_rules! errors {
    ($($(#[doc = $meaning:literal])+ $name:ident = $number:literal;)*) => {
        $($(#[doc = $meaning])+ pub const $name: u32 = $number;)*

        /// All of them: name, number, meaning.
        pub const ALL: &[(&str, u32, &str)] =
            &[$((stringify!($name), $number, concat!($($meaning),+).trim_ascii())),*];
    };
}

errors! {
    /// Address of the descriptor: no multiple of 64, or outside of the window or of the bus.
    DESCRIPTOR = 1;
    /// The descriptor does not begin with the magic bytes.
    MAGIC = 2;
    /// The descriptor has another version.
    VERSION = 3;
    /// There is no such operation.
    OPCODE = 4;
    /// A flag or a field that must be 0 is not.
    RESERVED = 5;
    /// Place of the tag: no multiple of 64, or outside of the window.
    TAG = 6;
    /// The chain is longer than MAX_DESCRIPTORS.
    CHAIN = 7;
    /// An address or stride of the operation is no multiple of 64.
    ALIGNMENT = 8;
    /// A size of the operation is 0, does not fit into the buffers, or does not suit a step.
    SIZE = 9;
    /// An operand or result of the operation lies outside of the window.
    WINDOW = 10;
    /// A subordinate answered a read or write with SLVERR.
    SLVERR = 11;
    /// Nothing answered at an address.
    DECERR = 12;
    /// Memory, or an accelerator that a link waits for, did not answer in time.
    TIMEOUT = 13;
    /// A result of the operation is not exact where the descriptor demands it.
    OVERFLOW = 14;
    /// A field of the operation has a value that the device does not support.
    FIELD = 15;
}
