//! From times that are known to the next ones.

use super::bus::{Ports, Reader, Turns};

/// An operation whose times are computed.
pub trait Flow {
    /// Finds all times that follow from known times. Returns whether there were any.
    fn advance(&mut self) -> bool;

    /// The read halves of the ports, and their readers.
    fn ports(&mut self) -> (&mut Ports, &mut [Reader]);

    /// When its last command ended, if all have.
    fn end(&self) -> Option<u64>;
}

/// The cycle in which the last command of an operation ends; `turns` then has whose turn it is. All that follows from
/// the turns so far is known before the next turn is given. Events that are not known yet happen after that turn.
pub fn end(mut flow: impl Flow, turns: &mut Turns) -> u64 {
    loop {
        while flow.advance() {}
        if let Some(end) = flow.end() {
            flow.ports().0.leave(turns);
            return end;
        }
        let (ports, readers) = flow.ports();
        ports.turn(readers);
    }
}
