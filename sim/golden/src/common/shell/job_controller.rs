//! What a chain of descriptors asks for, and how it ends.

/// How the controller was built.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bits of an address on the bus.
    pub address_width: u32,
    /// Bytes of a descriptor.
    pub descriptor_bytes: u64,
    /// Operations there are, from 1 on.
    pub opcodes: u8,
}

/// What the host allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// First byte of the window.
    pub base: u64,
    /// Last byte of the window.
    pub limit: u64,
    /// Descriptors of a job at most.
    pub max_descriptors: u32,
}

/// Something that the controller does with the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads the descriptor at an address.
    Fetch(u64),
    /// Has an operation done.
    Operation {
        /// Which one.
        opcode: u8,
        /// It does not depend on the one before.
        independent: bool,
        /// The descriptor behind its header.
        words: Vec<u32>,
    },
    /// Writes a tag.
    Tag {
        /// Where.
        address: u64,
        /// What.
        tag: u32,
    },
}

/// How a job ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// 0, or the number of the error.
    pub code: u8,
    /// With an error, address of its descriptor.
    pub place: u64,
    /// Tag of the last descriptor that was completed.
    pub tag: u32,
    /// Descriptors that were completed.
    pub descriptors: u32,
}

/// Numbers of errors: what the controller finds itself, the operation, the bus.
pub mod code {
    /// Place of the descriptor.
    pub const DESCRIPTOR: u8 = 1;
    /// Its magic.
    pub const MAGIC: u8 = 2;
    /// Its version.
    pub const VERSION: u8 = 3;
    /// Its opcode.
    pub const OPCODE: u8 = 4;
    /// What must be 0.
    pub const RESERVED: u8 = 5;
    /// Place of the tag.
    pub const TAG: u8 = 6;
    /// Length of the chain.
    pub const CHAIN: u8 = 7;
    /// An address or stride of the operation.
    pub const ALIGNMENT: u8 = 8;
    /// A size of the operation.
    pub const SIZE: u8 = 9;
    /// Something of the operation lies outside of the window.
    pub const WINDOW: u8 = 10;
    /// The bus says SLVERR (2).
    pub const SLVERR: u8 = 11;
    /// The bus says DECERR (3).
    pub const DECERR: u8 = 12;
    /// The bus says nothing.
    pub const TIMEOUT: u8 = 13;
    /// A result of the operation does not fit where it must.
    pub const OVERFLOW: u8 = 14;
    /// A field of the operation is not one of its values.
    pub const FIELD: u8 = 15;
}

/// What the world answers: bytes of memory, and how each action ends (0, or the `xRESP` of the bus, or the operation's
/// own error).
pub trait World {
    /// The bytes of a descriptor.
    fn descriptor(&mut self, address: u64) -> Vec<u8>;
    /// How the action ends.
    fn outcome(&mut self, action: &Action) -> u8;
}

fn bus(outcome: u8) -> u8 {
    match outcome {
        0 => 0,
        2 => code::SLVERR,
        3 => code::DECERR,
        // A DMA that refuses: its last byte has no address on the bus.
        _ => code::DESCRIPTOR,
    }
}

/// Runs the job at `job`: what is done, in order, and how it ends.
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
    if end.descriptors >= limits.max_descriptors {
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
    let number = |from: usize, count: usize| {
        bytes[from..from + count].iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte))
    };
    let (flags, tag, tag_address) = (number(6, 2), number(16, 4) as u32, number(24, 8));
    for (wrong, code) in [
        (&bytes[..4] != b"SNBZ", code::MAGIC),
        (bytes[4] != 1, code::VERSION),
        (!(1..=shape.opcodes).contains(&bytes[5]), code::OPCODE),
        (flags > 3 || number(20, 4) != 0, code::RESERVED),
        (flags & 1 == 1 && !within(tag_address, 4), code::TAG),
    ] {
        if wrong {
            return Err(code);
        }
    }
    let words = bytes[32..].chunks(4).map(|w| w.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b))).collect();
    let mut act = |action: Action| {
        let outcome = world.outcome(&action);
        actions.push(action);
        outcome
    };
    let failed = act(Action::Operation { opcode: bytes[5], independent: flags & 2 == 2, words });
    if failed != 0 {
        return Err(failed);
    }
    if flags & 1 == 1 {
        let failed = bus(act(Action::Tag { address: tag_address, tag }));
        if failed != 0 {
            return Err(failed);
        }
    }
    end.tag = tag;
    end.descriptors += 1;
    Ok(number(8, 8))
}
