//! From times that are known to the next ones.

use super::bus::{Port, Reader};

/// An operation whose times are found out.
pub(in crate::systems) trait Flow {
    /// Finds all times that follow from known ones; whether there were any.
    fn advance(&mut self) -> bool;

    /// The read half of the port, and who reads.
    fn port(&mut self) -> (&mut Port, &mut [Reader]);

    /// When its last command ended, if all have.
    fn end(&self) -> Option<u64>;
}

/// When the last command of an operation ends. All that follows from the turns so far is known before the next turn is
/// given: what is not known yet happens behind it.
pub(in crate::systems) fn end(mut flow: impl Flow) -> u64 {
    loop {
        while flow.advance() {}
        if let Some(end) = flow.end() {
            return end;
        }
        let (port, readers) = flow.port();
        port.turn(readers);
    }
}
