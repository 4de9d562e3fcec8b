//! Cycles of jobs before a memory that never pauses. [`crate::accelerators::cycles`] explains how they are computed.

mod append;
mod blocks;
mod context;
mod loads;
mod pack;
mod products;
mod restore;
mod results;
mod stalls;
mod store;
mod streams;
mod timing;
mod unpack;

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::accelerators::cycles::{Course, Recurrence, Shell, Spent, Turns};
use crate::accelerators::job::Accelerator;
use crate::accelerators::memory::Memory;
use crate::common::shell::job_controller::Limits;
use crate::common::shell::job_link::Link;

use super::append::Appending;
use super::{Operation, TitanusCore};
use append::Appended;
use loads::Loaded;
use products::Multiplied;
use restore::Restored;
use streams::{Streams, Tiles};
pub use timing::Timing;

/// Operands of a load or a product: rows to read, and results.
const OPERANDS: u64 = 2;
/// Operands of an append or a restore: rows and areas of both sides.
const CACHE_OPERANDS: u64 = 4;

/// Operations are done, because times depend on where chunks of a stream begin in its blocks.
impl Recurrence<TitanusCore> for Timing {
    fn shell(&self) -> &Shell {
        &self.shell
    }

    fn course(
        &self,
        accelerator: &TitanusCore,
        operation: &Operation,
        now: u64,
        state: (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        Linked::new(self, Vec::new()).course(accelerator, operation, now, state)
    }
}

impl Timing {
    /// Cycles of a job, as [`Recurrence::job`] says, for a core in a chain. Token n is taken from the core before in the cycle `arrivals[n]` of the job;
    /// tokens count from the first one that waits. A token may also have come before the job. Also returns the cycles
    /// in which the next core takes the given tokens.
    ///
    /// # Errors
    /// The code with which the job ends.
    ///
    /// # Panics
    /// The bus is wider than 64 bytes.
    pub fn linked_job(
        &self,
        accelerator: &TitanusCore,
        (limits, job): (Limits, u64),
        state: (&mut dyn Memory, &mut Turns),
        arrivals: Vec<i64>,
    ) -> Result<(Vec<Spent<Operation>>, Vec<i64>), u8> {
        let linked = Linked::new(self, arrivals);
        let spent = linked.job(accelerator, limits, job, state)?;
        Ok((spent, linked.links.into_inner().1))
    }
}

/// What the streams of both sides of an operation hold before it.
fn streams(core: &TitanusCore, operation: &Operation, memory: &mut dyn Memory) -> Option<Streams> {
    Some(match operation {
        Operation::Append(append) => {
            let tiles = i64::from(core.shape.tiles);
            let of = |side: Appending, ends: i64| {
                let [buffered, kept] = [side.prefill, side.waiting].map(|tokens| tokens as i64 * tiles);
                // The tile that ends a sequence waits too, if any tile does.
                let buffered = if kept > 0 { buffered + ends } else { buffered };
                Tiles::new(side.from, &side.tiles, side.bits).waiting(buffered, kept)
            };
            let given_up = core.given_up(append).map(|sides| sides.map(|side| of(side, 1)));
            Streams::Append(core.appends(append, memory)?.map(|side| of(side, 0)), given_up)
        }
        Operation::Restore(restore) => {
            let sides = core.restores(restore, memory)?;
            Streams::Restore(sides.map(|(tiles, bits)| Tiles::new(0, &tiles, bits)))
        }
        _ => Streams::None,
    })
}

/// The recurrence of a core that is linked to others.
struct Linked<'a> {
    timing: &'a Timing,
    /// When tokens come, and when the given tokens were taken.
    links: RefCell<(VecDeque<i64>, Vec<i64>)>,
}

impl<'a> Linked<'a> {
    fn new(timing: &'a Timing, arrivals: Vec<i64>) -> Self {
        Self { timing, links: RefCell::new((arrivals.into(), Vec::new())) }
    }

    /// A link that is handed over in cycle `now`. Returns the cycle in which the last command of another operation
    /// would end, if that operation ended at the same time.
    fn take_and_give(&self, link: &Link, now: u64) -> u64 {
        let (arrivals, given) = &mut *self.links.borrow_mut();
        // The check comes one cycle later. A token can be taken a cycle after it came.
        let mut taken = now as i64 + 1;
        for _ in 0..link.awaited {
            taken = (taken + 1).max(arrivals.pop_front().unwrap_or(i64::MIN / 2) + 1);
        }
        let all_taken = taken + 1;
        given.extend((1..=i64::from(link.given)).map(|number| all_taken + number));
        // Its end is offered two cycles after the last token, and reported like the end of other operations.
        (all_taken + i64::from(link.given)) as u64
    }
}

impl Recurrence<TitanusCore> for Linked<'_> {
    fn shell(&self) -> &Shell {
        &self.timing.shell
    }

    fn course(
        &self,
        accelerator: &TitanusCore,
        operation: &Operation,
        now: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        let (timing, shape) = (self.timing, &accelerator.shape);
        let mut dmas = timing.shell.dmas(turns);
        let streams = streams(accelerator, operation, memory);
        let course = match (operation, streams) {
            (Operation::Load(load), _) => {
                let begin = now + timing.shell.checks(1, OPERANDS) + timing.shell.waits();
                let loaded = Loaded::new((timing, shape), load, (begin, &mut dmas));
                Course::new(begin, dmas, loaded)
            }
            (Operation::Product(product), _) => {
                let begin = now + timing.shell.checks(OPERANDS, OPERANDS) + timing.shell.waits();
                let multiplied = Multiplied::new((timing, shape), product, (begin, &mut dmas));
                Course::new(begin, dmas, multiplied)
            }
            (Operation::Link(link), _) => Course::until(self.take_and_give(link, now)),
            (Operation::Vector(rows), _) => timing.shell.rows(&timing.unit, rows, now, turns),
            (Operation::Append(append), Some(Streams::Append(tiles, open))) => {
                let begin = now + timing.shell.checks(CACHE_OPERANDS, CACHE_OPERANDS) + timing.shell.waits();
                let appended = Appended::new((timing, shape), append, (&tiles, open.as_ref()), (begin, &mut dmas));
                Course::new(begin, dmas, appended)
            }
            (Operation::Restore(restore), Some(Streams::Restore(tiles))) => {
                let used = if restore.rows.is_some() { CACHE_OPERANDS } else { CACHE_OPERANDS / 2 };
                let begin = now + timing.shell.checks(used, CACHE_OPERANDS) + timing.shell.waits();
                let restored = Restored::new((timing, shape), restore, &tiles, (begin, &mut dmas));
                Course::new(begin, dmas, restored)
            }
            // Its rows or blocks are unknown, so it ends with an error.
            (Operation::Append(_) | Operation::Restore(_), _) => Course::until(now),
        };
        // Without its data there is no time: that depends on them.
        let executed = accelerator.execute(operation.clone(), memory);
        match executed.codes.first() {
            None => Ok(course.making(operation.events(shape, timing, executed.operation.counts))),
            Some(&code) => Err(code),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
