//! From times that are known to the next ones.

use super::bus::Turns;
use super::dmas::Dmas;
use crate::accelerators::events::Events;

/// What happens between the DMAs of an operation: the times of its events.
pub trait Flow {
    /// Finds all times that follow from known times; those of the DMAs themselves are found before. Returns whether
    /// there were any.
    fn advance(&mut self, dmas: &mut Dmas) -> bool;

    /// Where operations overlap: from this cycle on it has a part that operations share, if it [uses](Course::shares) it.
    fn given(&mut self, _time: u64) {}

    /// Finds a time for which it must be known that nothing else comes first. All events that are not known yet happen
    /// after the cycle `until`; None: there are none. Asked for when nothing else can be found before the next turn.
    /// Returns whether there was one.
    fn decide(&mut self, _dmas: &mut Dmas, _until: Option<u64>) -> bool {
        false
    }

    /// When its last command ended, if all have.
    fn end(&self, dmas: &Dmas) -> Option<u64> {
        dmas.end()
    }
}

/// An operation on its way through its engine.
pub struct Course {
    /// The cycle in which it begins, after its checks; of no use where one operation follows the other.
    pub begins: u64,
    /// What it does then.
    pub work: Work,
    /// Where operations overlap: these readers, a bit each, wait for all that it depends on. It begins before
    /// that.
    pub late: u32,
    /// Where operations overlap: it uses a part that operations of several engines share. They have it in the order of the
    /// chain, each up to its end.
    pub shares: bool,
    /// What happens in it, besides the accesses of the DMAs of its work.
    pub events: Events,
}

/// What an operation does after its checks.
pub enum Work {
    /// Its commands have times that are to be found.
    Flow(Box<Dmas>, Box<dyn Flow>),
    /// It uses no DMA, or its times are known. The cycle in which it ends.
    Until(u64),
}

impl Work {
    /// Finds all times that follow from known times. Returns whether there were any.
    pub(super) fn advance(&mut self) -> bool {
        match self {
            Self::Flow(dmas, flow) => advance(flow.as_mut(), dmas),
            Self::Until(_) => false,
        }
    }

    /// [`Flow::decide`], where there is something to decide.
    pub(super) fn decide(&mut self, until: Option<u64>) -> bool {
        match self {
            Self::Flow(dmas, flow) => flow.decide(dmas, until),
            Self::Until(_) => false,
        }
    }

    /// The cycle in which its last command ended, if all have.
    pub(super) fn end(&self) -> Option<u64> {
        match self {
            Self::Flow(dmas, flow) => flow.end(dmas),
            Self::Until(end) => Some(*end),
        }
    }

    /// What its DMAs have done. Complete when it has ended.
    pub(super) fn events(&self) -> Events {
        match self {
            Self::Flow(dmas, _) => dmas.events(),
            Self::Until(_) => Events::default(),
        }
    }
}

impl Course {
    /// An operation with times that are to be found, which begins in this cycle. Its commands are offered.
    pub fn new(begins: u64, dmas: Dmas, flow: impl Flow + 'static) -> Self {
        let work = Work::Flow(Box::new(dmas), Box::new(flow));
        Self { begins, work, late: 0, shares: false, events: Events::default() }
    }

    /// An operation that ends in this cycle.
    #[must_use]
    pub fn until(end: u64) -> Self {
        Self { begins: end, work: Work::Until(end), late: 0, shares: false, events: Events::default() }
    }

    /// The same, for an operation that begins in this cycle.
    #[must_use]
    pub fn begun(self, begins: u64) -> Self {
        Self { begins, ..self }
    }

    /// The same, for an operation that uses the part that several engines share.
    #[must_use]
    pub fn sharing(self) -> Self {
        Self { shares: true, ..self }
    }

    /// The same; these readers, a bit each, are [held](Dmas::holding).
    #[must_use]
    pub fn late(self, readers: u32) -> Self {
        Self { late: readers, ..self }
    }

    /// The same, in which these events happen. Those of the DMAs of its work are not among them.
    #[must_use]
    pub fn making(mut self, events: Events) -> Self {
        self.events += events;
        self
    }

    /// The cycle in which its last command ends where nothing else runs, as [`end`], and all events.
    pub(in crate::accelerators) fn end(mut self, turns: &mut Turns) -> (u64, Events) {
        let end = match &mut self.work {
            Work::Flow(dmas, flow) => end(flow.as_mut(), dmas, turns),
            Work::Until(end) => *end,
        };
        self.events += self.work.events();
        (end, self.events)
    }
}

/// Finds all times of an operation that follow from known times, those of its DMAs first. Returns whether there were
/// any.
pub(in crate::accelerators) fn advance(flow: &mut (impl Flow + ?Sized), dmas: &mut Dmas) -> bool {
    let mut moved = false;
    while dmas.advance() {
        moved = true;
    }
    moved | flow.advance(dmas)
}

/// The cycle in which the last command of an operation ends; `turns` then has whose turn it is. All that follows from
/// the turns so far is known before the next turn is given. Events that are not known yet happen after that turn.
pub fn end(flow: &mut (impl Flow + ?Sized), dmas: &mut Dmas, turns: &mut Turns) -> u64 {
    loop {
        while advance(flow, dmas) {}
        if let Some(end) = flow.end(dmas) {
            dmas.leave(turns);
            return end;
        }
        let until = dmas.next();
        if !flow.decide(dmas, until) {
            dmas.turn();
        }
    }
}
