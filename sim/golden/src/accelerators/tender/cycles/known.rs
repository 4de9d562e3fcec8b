//! Times of operations that are alike.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::timing::Timing;
use crate::accelerators::cycles::{Course, Recurrence, Shell, Turns};
use crate::accelerators::events::Events;
use crate::accelerators::memory::Memory;
use crate::accelerators::tender::{Finish, MatMul, Operation, Pack, TenderTop};
use crate::accelerators::vector::Operation as Rows;
use crate::common::bus::Command;
use crate::common::row::vector_unit::Scalars;
use crate::tender::mesh_pe::PeSum;

/// Operations that are kept, at most: some megabytes.
const MOST: usize = 1 << 13;

/// How long operations took from the turns before them, the turns after them, and what happened in them.
///
/// Times are sums of distances from the beginning of an operation, so the beginning itself does not matter. Neither does
/// all of an address: it says only how many beats each burst has, and the results decide on nothing.
#[derive(Clone, Debug, Default)]
pub struct Known(pub(super) BTreeMap<(Operation, Turns), (u64, Turns, Events)>);

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
        if let Some((cycles, after, events)) = known.get(&key) {
            turns.clone_from(after);
            let mut events = events.clone();
            if let Operation::MatMul(product) = operation {
                events += product.events(&accelerator.shape, 1, memory);
            }
            return Ok(Course::until(now + cycles).making(events));
        }
        let mut course = self.timing.course(accelerator, operation, now, (memory, turns))?;
        // Reads of panels go by the table, which is in memory.
        let multiplies = matches!(operation, Operation::MatMul(_));
        let own = if multiplies { std::mem::take(&mut course.events) } else { Events::default() };
        let (end, mut events) = course.end(turns);
        if known.len() == MOST {
            known.clear();
        }
        known.insert(key, (end - now, turns.clone(), events.clone()));
        events += own;
        Ok(Course::until(end).making(events))
    }
}

/// Where addresses of an operation do not matter.
struct Places {
    bus: u64,
    /// Bytes of the longest burst.
    reads: u64,
    writes: u64,
}

impl Places {
    /// The same command for all commands with the same bursts. A burst ends where its length divides the address.
    fn near(&self, command: &Command, burst: u64) -> Command {
        let Command { address, row_bytes, rows, stride } = *command;
        let within = |row: u64| (address + row * stride) % burst + row_bytes <= burst;
        if [address, stride].iter().all(|at| at % self.bus == 0) && row_bytes <= burst && (0..rows).all(within) {
            // Each row is a burst, and so is each part of a row.
            return Command { address: 0, stride: burst, ..*command };
        }
        Command { address: address % burst, stride: stride % burst, ..*command }
    }

    fn read(&self, command: &Command) -> Command {
        self.near(command, self.reads)
    }

    fn written(&self, command: &Command) -> Command {
        self.near(command, self.writes)
    }

    fn finish(&self, of: &Finish) -> Finish {
        // Constants of columns are read again for each panel, from the same place.
        let constants = Command { rows: 1, stride: 0, ..of.constants };
        Finish { constants: Command { stride: 0, ..self.read(&constants) }, out: self.written(&of.out), ..of.clone() }
    }
}

/// The same for all operations that are alike.
fn alike(timing: &Timing, operation: &Operation) -> Operation {
    let Shell { bus_bytes: bus, reads, writes, .. } = timing.shell;
    let places = Places { bus, reads: bus * reads.burst_beats, writes: bus * writes.burst_beats };
    let read = |command: &Command| places.read(command);
    match operation {
        Operation::MatMul(of) => Operation::MatMul(MatMul {
            a: read(&of.a),
            b: read(&of.b),
            table: read(&of.table),
            finish: places.finish(&of.finish),
            ..of.clone()
        }),
        Operation::Pack(of) => Operation::Pack(Pack { x: read(&of.x), finish: places.finish(&of.finish) }),
        Operation::Vector(of) => Operation::Vector(Rows {
            scalars: Scalars::default(),
            x: read(&of.x),
            addends: of.addends.as_ref().map(read),
            factors: of.factors.as_ref().map(read),
            // One row in the descriptor, read for each row of the operation.
            gains: of.gains.map(|gains| read(&Command { rows: of.x.rows, ..gains })),
            out: places.written(&of.out),
            ..of.clone()
        }),
    }
}
