//! A fault, and the place where it is.

use std::sync::Arc;

use crate::lang::ir::{NetId, NodeId, ScopeId};

/// The fault of a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It has the other value.
    Inverted,
    /// It is always 0.
    Stuck0,
    /// It is always 1.
    Stuck1,
    /// It has the other value while the next bit of the value, or the first one after the last, is 0.
    InvertedAt0,
    /// It has the other value while the next bit of the value, or the first one after the last, is 1.
    InvertedAt1,
    /// The operation is another one: `+` for `-`, `&` for `|`, `<` for `<=`, and the reverse. All bits take part.
    Exchanged,
}

impl Kind {
    /// Yosys' word for it, where it has one.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Inverted => "inv",
            Self::Stuck0 => "const0",
            Self::Stuck1 => "const1",
            Self::InvertedAt0 => "cnot0",
            Self::InvertedAt1 => "cnot1",
            Self::Exchanged => "exchanged",
        }
    }
}

/// The part of a module that a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Slot {
    /// The value of an expression, for all that use it.
    Node(NodeId),
    /// An operand of an expression, by its position.
    Operand(NodeId, u32),
    /// An expression of an item: its scope, its position there, the position among its expressions.
    Item(ScopeId, u32, u32),
    /// A net, for all that read it.
    Net(NetId),
}

/// A value that can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPlace {
    /// Module, as the Verilog has it.
    pub module: String,
    /// Names the place within the module: the net or memory that it is for, and its number there.
    pub key: String,
    /// Its role in the statement or operation: `result`, `operand 0`, `next`, `enable`, `address`, ..
    pub role: String,
    /// The net that the statement drives, or that is read.
    pub net: String,
    /// File and line of the statement.
    pub source: String,
    /// The operation, in short.
    pub text: String,
    /// Width of the value.
    pub width: u32,
    /// Bits that can be wrong.
    pub bits: Vec<u32>,
    /// Loops around it, outermost first: the loop variable, and its number of turns.
    pub(crate) loops: Vec<(u32, u32)>,
    /// Whether the operation has another one that can replace it.
    pub exchanged: bool,
    pub(crate) slot: Slot,
}

impl FaultPlace {
    /// Turns of the loops around it.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.loops.iter().map(|l| u64::from(l.1)).product()
    }

    /// The possible faults of one turn: bits, and their kinds.
    pub fn kinds(&self) -> impl Iterator<Item = (u32, Kind)> {
        let alone = [Kind::Inverted, Kind::Stuck0, Kind::Stuck1];
        let beside = [Kind::InvertedAt0, Kind::InvertedAt1].into_iter().filter(|_| self.width > 1);
        let kinds: Vec<Kind> = alone.into_iter().chain(beside).collect();
        let bits = self.bits.iter().flat_map(move |&bit| kinds.clone().into_iter().map(move |kind| (bit, kind)));
        bits.chain(self.exchanged.then_some((0, Kind::Exchanged)))
    }

    /// The values of the loop variables in a turn.
    pub(crate) fn at(&self, mut turn: u64) -> Vec<(u32, u32)> {
        let mut values: Vec<(u32, u32)> = Vec::new();
        for &(genvar, count) in self.loops.iter().rev() {
            values.push((genvar, (turn % u64::from(count)) as u32));
            turn /= u64::from(count);
        }
        values.reverse();
        values
    }
}

/// One wrong bit of a place, in one turn of the loops around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The value.
    pub place: Arc<FaultPlace>,
    /// Number of the turn.
    pub turn: u64,
    /// Its bit.
    pub bit: u32,
    /// What is wrong with it.
    pub kind: Kind,
}
