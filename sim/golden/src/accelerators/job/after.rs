//! What may have happened after an operation that failed, where operations overlap.

use super::{Accelerator, Fields, Job, Touched, job_controller};
use crate::accelerators::cycles::ENGINES;
use crate::accelerators::flights::Used;
use crate::accelerators::memory::Memory;

impl<A: Accelerator> Job<'_, A> {
    /// What may have happened after the operation that failed, where operations overlap. The next descriptor was read.
    /// If its operation could go to its engine, the one after it was read, and so on. What these operations write is not
    /// defined: they may have been dropped at any moment.
    pub(super) fn perhaps(&mut self, shape: job_controller::Shape) {
        let failed = self.report.executed.last().is_some_and(|executed| !executed.codes.is_empty());
        if !(failed || self.refused) {
            return;
        }
        self.flights.stick();
        // As it was read: it may have written over itself.
        let mut bytes = std::mem::take(&mut self.fetched);
        // Operations that are independent of it, and one that waits at each engine.
        for n in 0..=usize::from(job_controller::MOST_INDEPENDENT) + ENGINES {
            let header = job_controller::Header::of(&bytes);
            if self.accelerator.engine(header.opcode).is_none() || (n > 0 && !self.goes(shape, header, &bytes)) {
                return;
            }
            if header.writes_tag || header.next == 0 {
                return;
            }
            let mut memory = Touched::new(self.memory, &self.report);
            let read = memory.read(header.next, &mut bytes);
            self.report.lost |= memory.touched;
            if read.is_err() {
                return;
            }
        }
    }

    /// Whether an operation after the one that failed may have gone to its engine. It is done, unless it waits for one
    /// that did not end.
    fn goes(&mut self, shape: job_controller::Shape, header: job_controller::Header, bytes: &[u8]) -> bool {
        if self.refused || !(1..=shape.opcodes).contains(&header.opcode) {
            return false;
        }
        let engine = self.accelerator.engine(header.opcode);
        if self.flights.is_stuck(engine) {
            return false;
        }
        let words = job_controller::words(bytes);
        let Ok(checked) = self.accelerator.check(header.opcode, Fields(&words), &self.limits) else {
            // The descriptor after it is read while it is checked.
            self.refused = true;
            return true;
        };
        self.flights.next(engine);
        let waits = self.flights.hold(header.independent.into());
        self.flights.go(engine, 0, Used::default());
        if waits {
            self.flights.stick();
            self.accelerator.awaited(&checked);
            // It may have read what it reads early.
            for range in self.accelerator.early(&checked) {
                let mut bytes = vec![0; (range.end() - range.start() + 1) as usize];
                let _ = self.memory.read(*range.start(), &mut bytes);
            }
            return true;
        }
        let executed = self.accelerator.execute(checked, self.memory);
        self.accelerator.forget(&executed.operation);
        self.report.perhaps.push(executed);
        true
    }
}
