//! Why a job ended.

use std::fmt;

macro_rules! codes {
    ($($(#[doc = $meaning:literal])+ $name:ident = $number:literal, $c_name:literal;)*) => {
        /// Values of `ERROR_CODE`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum ErrorCode {
            $($(#[doc = $meaning])+ $name = $number,)*
        }

        impl ErrorCode {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name in tables and in the C header.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $c_name,)*
                }
            }

            /// The meaning.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($meaning),+).trim_ascii(),)*
                }
            }
        }
    };
}

codes! {
    /// Address of the descriptor: no multiple of 64, or outside of the window or of the bus.
    Descriptor = 1, "DESCRIPTOR";
    /// The descriptor does not begin with the magic bytes.
    Magic = 2, "MAGIC";
    /// The descriptor has another version than the device.
    Version = 3, "VERSION";
    /// There is no such operation.
    Opcode = 4, "OPCODE";
    /// A flag or a field that must be 0 is not.
    Reserved = 5, "RESERVED";
    /// Address of the tag: no multiple of 64, or outside of the window.
    Tag = 6, "TAG";
    /// The chain is longer than MAX_DESCRIPTORS.
    Chain = 7, "CHAIN";
    /// An address or stride of the operation is no multiple of 64.
    Alignment = 8, "ALIGNMENT";
    /// A size of the operation is 0, does not fit into the buffers, or does not suit a step.
    Size = 9, "SIZE";
    /// An operand or result of the operation lies outside of the window.
    Window = 10, "WINDOW";
    /// A subordinate answered a read or write with SLVERR.
    Slverr = 11, "SLVERR";
    /// Nothing answered at an address.
    Decerr = 12, "DECERR";
    /// Memory, or an accelerator that a link waits for, did not answer in time.
    Timeout = 13, "TIMEOUT";
    /// A result of the operation is not exact, and the descriptor demands exact results.
    Overflow = 14, "OVERFLOW";
    /// A field of the operation has a value that the device does not support.
    Field = 15, "FIELD";
}

impl ErrorCode {
    /// The code with this number.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.number() == number)
    }

    /// The number in `ERROR_CODE`.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.number())
    }
}
