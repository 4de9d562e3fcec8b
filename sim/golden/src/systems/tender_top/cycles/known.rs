//! Times of operations that are alike.

use std::collections::BTreeMap;

use super::Timing;
use crate::common::bus::Command;
use crate::common::row::vector_unit::Scalars;
use crate::systems::cycles::Turns;
use crate::systems::tender_top::{Finish, MatMul, Operation, Pack};
use crate::systems::vector_top::Operation as Rows;

/// Operations that are kept, at most: some megabytes.
const MOST: usize = 1 << 13;

/// How long operations took from the turns before them, and the turns after them.
///
/// Times are sums of distances from the beginning of an operation, so the beginning itself does not matter. Neither does
/// all of an address: a burst ends where its length divides the address, and the results decide on nothing.
#[derive(Clone, Debug, Default)]
pub struct Known(BTreeMap<(Operation, Turns), (u64, Turns)>);

impl Known {
    /// The cycle in which the last command of an operation ends. `compute` finds it for an operation that is like no
    /// known one.
    pub(super) fn end(
        &mut self,
        (timing, operation): (&Timing, &Operation),
        now: u64,
        turns: &mut Turns,
        compute: impl FnOnce(&mut Turns) -> u64,
    ) -> u64 {
        let key = (alike(timing, operation), turns.clone());
        if let Some((cycles, after)) = self.0.get(&key) {
            turns.clone_from(after);
            return now + cycles;
        }
        let end = compute(turns);
        if self.0.len() == MOST {
            self.0.clear();
        }
        self.0.insert(key, (end - now, turns.clone()));
        end
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
