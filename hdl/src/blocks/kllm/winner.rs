//! Port bundle between Orizuru's units: the current winner of one side, and the way to pop it.

use crate::lang::{Array, Direction, PortBuilder, PortKind, Signal, bit, uint};

/// What a winner is made of.
#[derive(Clone, Copy, Debug)]
pub struct WinnerType {
    /// Width of a key in bits.
    pub key_width: u32,
    /// Width of an index in bits.
    pub index_width: u32,
}

/// One side (largest or smallest) of a unit.
#[derive(Clone, Copy, Debug)]
pub struct Winner {
    /// In: take the winner out.
    pub pop: Signal,
    /// Out: the winner is right again after a pop, from this cycle on.
    pub done: Signal,
    /// Out: key of the winner.
    pub key: Signal,
    /// Out: there is a winner.
    pub available: Signal,
    /// Out: index of the winner.
    pub index: Signal,
}

/// Ports `<name>_pop_i`, `<name>_done_o`, `<name>_key_o`, `<name>_available_o`, `<name>_index_o`.
#[derive(Debug)]
pub struct OutWinner;

impl PortKind for OutWinner {
    type Handle = Winner;
    type Spec = WinnerType;

    fn declare(b: &mut PortBuilder, name: &str, spec: WinnerType) -> Winner {
        Winner {
            pop: b.scalar(&format!("{name}_pop_i"), Direction::Input, bit()),
            done: b.scalar(&format!("{name}_done_o"), Direction::Output, bit()),
            key: b.scalar(&format!("{name}_key_o"), Direction::Output, uint(spec.key_width)),
            available: b.scalar(&format!("{name}_available_o"), Direction::Output, bit()),
            index: b.scalar(&format!("{name}_index_o"), Direction::Output, uint(spec.index_width)),
        }
    }
}

/// One side of several units, seen from the unit above them.
#[derive(Clone, Copy, Debug)]
pub struct WinnersBelow {
    /// Out: take the winner of a unit out.
    pub pop: Array,
    /// In: as [`Winner::done`], per unit.
    pub done: Array,
    /// In: keys.
    pub key: Array,
    /// In: availability.
    pub available: Array,
    /// In: indices.
    pub index: Array,
}

/// Array ports `<name>_pop_o`, `<name>_done_i`, `<name>_key_i`, `<name>_available_i`, `<name>_index_i`.
#[derive(Debug)]
pub struct WinnersBelowPort;

impl PortKind for WinnersBelowPort {
    type Handle = WinnersBelow;
    /// Units below, and what each delivers.
    type Spec = (u32, WinnerType);

    fn declare(b: &mut PortBuilder, name: &str, (count, spec): (u32, WinnerType)) -> WinnersBelow {
        WinnersBelow {
            pop: b.array(&format!("{name}_pop_o"), Direction::Output, bit().array(count)),
            done: b.array(&format!("{name}_done_i"), Direction::Input, bit().array(count)),
            key: b.array(&format!("{name}_key_i"), Direction::Input, uint(spec.key_width).array(count)),
            available: b.array(&format!("{name}_available_i"), Direction::Input, bit().array(count)),
            index: b.array(&format!("{name}_index_i"), Direction::Input, uint(spec.index_width).array(count)),
        }
    }
}
