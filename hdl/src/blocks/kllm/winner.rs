//! Port bundle between Orizuru's units: the current winner of one side, and the way to pop it.

use crate::lang::{Array, Direction, PortBuilder, PortKind, Signal, bit, uint};

/// Widths of a winner.
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
        b.document("Takes the winner that is shown out at the coming edge; not again before the done of this pop.");
        let pop = b.scalar(&format!("{name}_pop_i"), Direction::Input, bit());
        b.document("For a cycle: the winner is right again after a pop, from this cycle on.");
        let done = b.scalar(&format!("{name}_done_o"), Direction::Output, bit());
        b.document("Key of the winner; right from the initialisation or the done of a pop up to the next pop.");
        let key = b.scalar(&format!("{name}_key_o"), Direction::Output, uint(spec.key_width));
        b.document("There is a winner: some leaf is left. Right when the key is.");
        let available = b.scalar(&format!("{name}_available_o"), Direction::Output, bit());
        b.document("Index of the winner. Right when the key is.");
        let index = b.scalar(&format!("{name}_index_o"), Direction::Output, uint(spec.index_width));
        Winner { pop, done, key, available, index }
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
        b.document("Per unit below: take its winner out.");
        let pop = b.array(&format!("{name}_pop_o"), Direction::Output, bit().array(count));
        b.document("Per unit below: its winner is right again after a pop.");
        let done = b.array(&format!("{name}_done_i"), Direction::Input, bit().array(count));
        b.document("Keys of the winners of the units below.");
        let key = b.array(&format!("{name}_key_i"), Direction::Input, uint(spec.key_width).array(count));
        b.document("Per unit below: there is a winner.");
        let available = b.array(&format!("{name}_available_i"), Direction::Input, bit().array(count));
        b.document("Their indices within the units below.");
        let index = b.array(&format!("{name}_index_i"), Direction::Input, uint(spec.index_width).array(count));
        WinnersBelow { pop, done, key, available, index }
    }
}
