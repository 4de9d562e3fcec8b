//! The DMAs of an operation.

use super::bus::{Ports, Reader, Turns, Writer};
use crate::accelerators::events::Events;

/// The DMAs of an operation, and the ports between them and memory.
#[derive(Clone, Debug)]
pub struct Dmas {
    /// The read DMAs.
    pub readers: Vec<Reader>,
    /// The write DMA.
    pub writer: Writer,
    ports: Ports,
}

impl Dmas {
    /// DMAs without commands.
    #[must_use]
    pub fn new(readers: Vec<Reader>, writer: Writer, ports: Ports) -> Self {
        Self { readers, writer, ports }
    }

    /// Finds all times that follow from known times. Returns whether there were any.
    pub fn advance(&mut self) -> bool {
        self.readers.iter_mut().fold(self.writer.advance(), |moved, reader| moved | reader.advance())
    }

    /// These readers, a bit each, offer no command before they are released.
    #[must_use]
    pub fn holding(mut self, readers: u32) -> Self {
        let held = self.readers.iter_mut().enumerate().filter(|(k, _)| readers >> k & 1 == 1);
        held.for_each(|(_, reader)| reader.hold());
        self
    }

    /// What the commands so far take on the bus and in memory.
    #[must_use]
    pub fn events(&self) -> Events {
        let mut all = self.writer.events();
        self.readers.iter().for_each(|reader| all += reader.events());
        all
    }

    /// When all commands had ended, if they have.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        self.readers.iter().map(Reader::end).try_fold(self.writer.end()?, |end, time| Some(end.max(time?)))
    }

    /// The first cycle in which a reader can have a turn. `None`: no reader waits for a turn.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        self.ports.first(&|k: usize| self.readers[k].waits()).map(|(now, _)| now)
    }

    /// Gives the next turn, on the port where a reader waits first. If several wait on that port, they take turns. This
    /// is the one place where a time is not the latest of earlier times.
    ///
    /// # Panics
    /// No reader waits.
    pub fn turn(&mut self) {
        let Self { readers, ports, .. } = self;
        let waits = |k: usize| readers[k].waits();
        let (now, port) = ports.first(&waits).expect("a job that has not ended reads");
        if let Some(chosen) = ports.choose(port, now, &waits) {
            ports.grant(port, &mut readers[chosen], (now, 0));
        }
    }

    /// Stores whose turn is next.
    pub fn leave(&self, turns: &mut Turns) {
        self.ports.leave(turns);
    }
}
