//! The actions of a chain of descriptors, and its end.

/// The parameters of the controller.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bits of an address on the bus.
    pub address_width: u32,
    /// Bytes of a descriptor.
    pub descriptor_bytes: u64,
    /// Number of operations. Opcodes count from 1.
    pub opcodes: u8,
    /// Descriptors of any job at most.
    pub most_descriptors: u32,
}

/// The limits that the host sets.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// First byte of the window.
    pub base: u64,
    /// Last byte of the window.
    pub limit: u64,
    /// Descriptors of a job at most.
    pub max_descriptors: u32,
}

/// An action of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads the descriptor at an address.
    Fetch(u64),
    /// Hands over an operation.
    Operation {
        /// Its opcode.
        opcode: u8,
        /// It is independent of so many operations right before it.
        independent: u8,
        /// So many operations right before it write nothing that it may read early.
        early: u8,
        /// The words of the descriptor after its header.
        words: Vec<u32>,
    },
    /// Writes a tag.
    Tag {
        /// Its address.
        address: u64,
        /// Its value.
        tag: u32,
    },
}

/// How a job ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// 0, or the code of the error.
    pub code: u8,
    /// The address of the descriptor with the error, if there is one.
    pub place: u64,
    /// Tag of the last descriptor that was completed.
    pub tag: u32,
    /// Descriptors that were completed.
    pub descriptors: u32,
}

/// Codes of errors: the controller, the operation and the bus find them.
pub mod code {
    /// The address of the descriptor.
    pub const DESCRIPTOR: u8 = 1;
    /// The magic of the descriptor.
    pub const MAGIC: u8 = 2;
    /// The version of the descriptor.
    pub const VERSION: u8 = 3;
    /// The opcode of the descriptor.
    pub const OPCODE: u8 = 4;
    /// A reserved field that is not 0.
    pub const RESERVED: u8 = 5;
    /// The address of the tag.
    pub const TAG: u8 = 6;
    /// Length of the chain.
    pub const CHAIN: u8 = 7;
    /// An address or stride of the operation.
    pub const ALIGNMENT: u8 = 8;
    /// A size of the operation.
    pub const SIZE: u8 = 9;
    /// A row of the operation lies outside of the window.
    pub const WINDOW: u8 = 10;
    /// The bus answers SLVERR (2).
    pub const SLVERR: u8 = 11;
    /// The bus answers DECERR (3).
    pub const DECERR: u8 = 12;
    /// The bus does not answer.
    pub const TIMEOUT: u8 = 13;
    /// A result of the operation does not fit, though it must.
    pub const OVERFLOW: u8 = 14;
    /// A field of the operation has a value that is not allowed.
    pub const FIELD: u8 = 15;
}

/// The environment of the controller: bytes of memory, and the result of each action. A result is 0, the `xRESP` of the
/// bus, or the operation's own error.
pub trait World {
    /// The bytes of a descriptor.
    fn descriptor(&mut self, address: u64) -> Vec<u8>;
    /// The result of the action.
    fn outcome(&mut self, action: &Action) -> u8;
}

fn bus(outcome: u8) -> u8 {
    match outcome {
        0 => 0,
        2 => code::SLVERR,
        3 => code::DECERR,
        // A DMA refuses the command: its last byte has no address on the bus.
        _ => code::DESCRIPTOR,
    }
}

/// The most operations right before it that an operation can be independent of.
pub const MOST_INDEPENDENT: u8 = 7;

/// The header of a descriptor, after magic and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the operation.
    pub opcode: u8,
    /// The tag is written to memory.
    pub writes_tag: bool,
    /// The operation is independent of so many operations right before it.
    pub independent: u8,
    /// So many operations right before it write nothing that it may read early.
    pub early: u8,
    /// Something is not 0 that must be.
    pub reserved: bool,
    /// Address of the next descriptor, or 0.
    pub next: u64,
    /// The tag.
    pub tag: u32,
    /// Where it is written.
    pub tag_address: u64,
}

impl Header {
    /// The header of these bytes.
    ///
    /// # Panics
    /// There are fewer than 32 bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let number = |from: usize, count: usize| {
            bytes[from..from + count].iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte))
        };
        let flags = number(6, 2);
        Self {
            opcode: bytes[5],
            writes_tag: flags & 1 == 1,
            independent: (flags >> 1) as u8 & MOST_INDEPENDENT,
            early: (flags >> 4) as u8 & MOST_INDEPENDENT,
            reserved: flags > 127 || number(20, 4) != 0,
            next: number(8, 8),
            tag: number(16, 4) as u32,
            tag_address: number(24, 8),
        }
    }
}

/// The words of a descriptor after its header.
#[must_use]
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes[32..].chunks(4).map(|w| w.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b))).collect()
}

/// Runs the job at `job`. Returns its actions in order, and its end.
pub fn run(shape: Shape, limits: Limits, job: u64, world: &mut dyn World) -> (Vec<Action>, End) {
    let mut actions = Vec::new();
    let mut end = End::default();
    let mut at = job;
    loop {
        match one(shape, limits, at, &mut end, world, &mut actions) {
            Err(code) => {
                (end.code, end.place) = (code, at);
                return (actions, end);
            }
            Ok(0) => return (actions, end),
            Ok(next) => at = next,
        }
    }
}

fn one(
    shape: Shape,
    limits: Limits,
    at: u64,
    end: &mut End,
    world: &mut dyn World,
    actions: &mut Vec<Action>,
) -> Result<u64, u8> {
    let within = |first: u64, bytes: u64| {
        let last = u128::from(first) + u128::from(bytes) - 1;
        let reachable = u128::from(first) >> shape.address_width == 0;
        first.is_multiple_of(64) && first >= limits.base && last <= u128::from(limits.limit) && reachable
    };
    if end.descriptors >= limits.max_descriptors.min(shape.most_descriptors) {
        return Err(code::CHAIN);
    }
    if !within(at, shape.descriptor_bytes) {
        return Err(code::DESCRIPTOR);
    }
    let mut act = |action: Action| {
        let outcome = world.outcome(&action);
        actions.push(action);
        outcome
    };
    let failed = bus(act(Action::Fetch(at)));
    if failed != 0 {
        return Err(failed);
    }
    let bytes = world.descriptor(at);
    let header = Header::of(&bytes);
    for (wrong, code) in [
        (&bytes[..4] != b"SNBZ", code::MAGIC),
        (bytes[4] != 1, code::VERSION),
        (!(1..=shape.opcodes).contains(&header.opcode), code::OPCODE),
        (header.reserved, code::RESERVED),
        (header.writes_tag && !within(header.tag_address, 4), code::TAG),
    ] {
        if wrong {
            return Err(code);
        }
    }
    let mut act = |action: Action| {
        let outcome = world.outcome(&action);
        actions.push(action);
        outcome
    };
    let Header { opcode, independent, early, tag, tag_address, next, .. } = header;
    let failed = act(Action::Operation { opcode, independent, early, words: words(&bytes) });
    if failed != 0 {
        return Err(failed);
    }
    if header.writes_tag {
        let failed = bus(act(Action::Tag { address: tag_address, tag }));
        if failed != 0 {
            return Err(failed);
        }
    }
    end.tag = tag;
    end.descriptors += 1;
    Ok(next)
}
