//! Times of operations that are alike.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::Timing;
use crate::accelerators::cycles::{Course, Recurrence, Shell, Turns};
use crate::accelerators::memory::Memory;
use crate::accelerators::tender::{Finish, MatMul, Operation, Pack, TenderTop};
use crate::accelerators::vector::Operation as Rows;
use crate::common::bus::Command;
use crate::common::row::vector_unit::Scalars;
use crate::tender::mesh_pe::PeSum;

/// Operations that are kept, at most: some megabytes.
const MOST: usize = 1 << 13;

/// How long operations took from the turns before them, and the turns after them.
///
/// Times are sums of distances from the beginning of an operation, so the beginning itself does not matter. Neither does
/// all of an address: a burst ends where its length divides the address, and the results decide on nothing.
#[derive(Clone, Debug, Default)]
pub struct Known(pub(super) BTreeMap<(Operation, Turns), (u64, Turns)>);

/// The recurrence of an accelerator after other jobs, whose operations are known.
#[derive(Debug)]
pub struct After<'a> {
    timing: &'a Timing,
    known: RefCell<&'a mut Known>,
}

impl Timing {
    /// The same times after other jobs with these parameters, whose operations are known.
    pub fn after<'a>(&'a self, known: &'a mut Known) -> After<'a> {
        After { timing: self, known: RefCell::new(known) }
    }
}

/// Operations are not done. Where they overlap none is known, since they share the ports to memory.
impl<S: PeSum<Operand = i64>> Recurrence<TenderTop<S>> for After<'_> {
    fn shell(&self) -> &Shell {
        &self.timing.shell
    }

    fn course(
        &self,
        accelerator: &TenderTop<S>,
        operation: &Operation,
        now: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        // The parts of a product are in its table, which is in memory. Operations that overlap wait for each other.
        let explicit = matches!(operation, Operation::MatMul(product) if product.explicit);
        if explicit || self.timing.shell.overlaps() {
            return self.timing.course(accelerator, operation, now, (memory, turns));
        }
        let known = &mut self.known.borrow_mut().0;
        let key = (alike(self.timing, operation), turns.clone());
        if let Some((cycles, after)) = known.get(&key) {
            turns.clone_from(after);
            return Ok(Course::until(now + cycles));
        }
        let end = self.timing.course(accelerator, operation, now, (memory, turns))?.end(turns);
        if known.len() == MOST {
            known.clear();
        }
        known.insert(key, (end - now, turns.clone()));
        Ok(Course::until(end))
    }
}

/// The same for all operations that are alike.
fn alike(timing: &Timing, operation: &Operation) -> Operation {
    let (reads, writes) = (timing.shell.reads.burst_beats, timing.shell.writes.burst_beats);
    // A multiple of both lengths.
    let stretch = timing.shell.bus_bytes * if reads % writes == 0 { reads } else { reads * writes };
    let near = |command: &Command| Command { address: command.address % stretch, ..*command };
    let finish = |of: &Finish| Finish { constants: near(&of.constants), out: near(&of.out), ..of.clone() };
    match operation {
        Operation::MatMul(of) => Operation::MatMul(MatMul {
            a: near(&of.a),
            b: near(&of.b),
            table: near(&of.table),
            finish: finish(&of.finish),
            ..of.clone()
        }),
        Operation::Pack(of) => Operation::Pack(Pack { x: near(&of.x), finish: finish(&of.finish) }),
        Operation::Vector(of) => Operation::Vector(Rows {
            scalars: Scalars::default(),
            x: near(&of.x),
            addends: of.addends.as_ref().map(near),
            factors: of.factors.as_ref().map(near),
            gains: of.gains.as_ref().map(near),
            out: near(&of.out),
            ..of.clone()
        }),
    }
}
