//! From times that are known to the next ones.

use super::bus::{Ports, Reader, Turns, Writer};

/// An operation whose times are computed.
pub trait Flow {
    /// Finds all times that follow from known times. Returns whether there were any.
    fn advance(&mut self) -> bool;

    /// The read halves of the ports, and their readers.
    fn ports(&mut self) -> (&mut Ports, &mut [Reader]);

    /// The write DMA, if it writes.
    fn writer(&mut self) -> Option<&mut Writer>;

    /// When its last command ended, if all have.
    fn end(&self) -> Option<u64>;
}

/// An operation on its way through its engine.
pub struct Course {
    /// The cycle in which it begins, after its checks; of no use where one operation follows the other.
    pub begins: u64,
    /// What it does then.
    pub work: Work,
}

/// What an operation does after its checks.
pub enum Work {
    /// Its commands have times that are to be found.
    Flow(Box<dyn Flow>),
    /// It uses no DMA, or its times are known. The cycle in which it ends.
    Until(u64),
}

impl Course {
    /// An operation with times that are to be found, which begins in this cycle.
    pub fn new(begins: u64, flow: impl Flow + 'static) -> Self {
        Self { begins, work: Work::Flow(Box::new(flow)) }
    }

    /// An operation that ends in this cycle.
    #[must_use]
    pub fn until(end: u64) -> Self {
        Self { begins: end, work: Work::Until(end) }
    }

    /// The cycle in which its last command ends where nothing else runs, as [`end`].
    pub(in crate::accelerators) fn end(self, turns: &mut Turns) -> u64 {
        match self.work {
            Work::Flow(flow) => end(flow, turns),
            Work::Until(end) => end,
        }
    }
}

impl<F: Flow + ?Sized> Flow for Box<F> {
    fn advance(&mut self) -> bool {
        (**self).advance()
    }

    fn ports(&mut self) -> (&mut Ports, &mut [Reader]) {
        (**self).ports()
    }

    fn writer(&mut self) -> Option<&mut Writer> {
        (**self).writer()
    }

    fn end(&self) -> Option<u64> {
        (**self).end()
    }
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
