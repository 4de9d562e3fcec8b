//! The rules that the checkers know, and the report of a broken rule.

use std::fmt;

/// A channel of AXI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// Write address.
    Aw,
    /// Write data.
    W,
    /// Write response.
    B,
    /// Read address.
    Ar,
    /// Read data.
    R,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aw => "AW",
            Self::W => "W",
            Self::B => "B",
            Self::Ar => "AR",
            Self::R => "R",
        })
    }
}

macro_rules! rules {
    ($($(#[$about:meta])* $name:ident = $section:literal, $words:literal;)*) => {
        /// A rule of AXI (with the section of Arm IHI 0022), or a promise that the test makes for the design.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[$about])* #[doc = concat!($section, ": ", $words, ".")] $name,)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Section of IHI 0022, or `promise`.
            pub fn section(self) -> &'static str {
                match self { $(Self::$name => $section,)* }
            }

            /// The text of the rule.
            pub fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }
        }
    };
}

rules! {
    ResetValid = "A3.1.2", "VALID is LOW during reset and until the first rising edge after it";
    ValidHeld = "A3.2.1", "once VALID is asserted it must remain asserted until the handshake occurs";
    PayloadHeld = "A3.2.1", "the information must remain stable until the handshake occurs";
    Dependency = "A3.3.1", "a response must wait for the transfers that it answers";
    BurstType = "A3.4.1", "AxBURST 0b11 is reserved";
    BurstSize = "A3.4.1", "the size of a transfer must not exceed the width of the data bus";
    BurstLength = "A3.4.1", "a wrapping burst has 2, 4, 8 or 16 transfers, a FIXED burst at most 16";
    WrapAlignment = "A3.4.1", "the start address of a wrapping burst must be aligned to the size of each transfer";
    Boundary = "A3.4.1", "a burst must not cross a 4KB address boundary";
    Last = "A3.4.1", "LAST is asserted with the final transfer of a burst, and with no other";
    StrobeLanes = "A3.4.3", "write strobes are HIGH only for byte lanes that contain valid data";
    ExclusiveResponse = "A3.4.4", "EXOKAY answers exclusive accesses only";
    CacheType = "A4.4", "AxCACHE 0b0100, 0b0101, 0b1000, 0b1001, 0b1100 and 0b1101 are reserved";
    IdWidth = "A5.2", "an ID fits the ID width of the interface";
    ResponseOrder = "A5.3", "an answer belongs to a transaction with its ID that is still open, in the order of issue";
    Lock = "A7.4", "AxLOCK is one bit: 0b1 is an exclusive access, all else is reserved";
    LiteResponse = "B1.1", "AXI4-Lite has no EXOKAY";
    NoExclusives = "promise", "no exclusive accesses";
    FullSize = "promise", "every transfer has the full width of the data bus";
    Incrementing = "promise", "every burst is INCR";
    Outstanding = "promise", "no more transactions are open than promised";
    WriteDataReady = "promise", "the data of an issued write address is there in time";
    WriteAddressReady = "promise", "write data that was taken has an address in time";
    ResponseTaken = "promise", "an answer is taken in time";
}

/// A broken rule: which one, where and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The channel that shows it.
    pub channel: Channel,
    /// Prefix of the interface's ports.
    pub interface: String,
    /// Rising edges before it; see [`crate::Sim::cycle_count`].
    pub cycle: u64,
    /// The values.
    pub values: String,
    /// The side that broke it: the design, or the model of this crate.
    pub by: Side,
}

/// Who broke a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The design under test.
    Design,
    /// The model on the other side. This is a fault of this crate.
    Model,
}

impl Violation {
    /// The rule and the values, without place and time.
    pub fn problem(&self) -> String {
        let (rule, by) = (self.rule, if self.by == Side::Design { "" } else { " by the model, not the design" });
        let axi = if rule.section() == "promise" { "" } else { "AXI " };
        format!("{axi}{}, {:?}, broken{by}: {}: {}", rule.section(), rule, rule.words(), self.values)
    }
}

impl std::error::Error for Violation {}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (channel, interface) = (self.channel, &self.interface);
        write!(f, "cycle {}: channel {channel} of `{interface}`: {}", self.cycle, self.problem())
    }
}
