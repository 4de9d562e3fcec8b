//! Cycles of jobs before a memory that never pauses, as recurrences of times.
//!
//! Every event of an operation has a number: beat n of an operand is taken from its DMA, word n of a panel is written,
//! tile n has its sums, column n of results leaves the lanes. Its time is the latest of a few earlier times, each plus
//! a number of cycles. The event waits for its inputs, for the event before it of the same kind, and for the event that
//! frees its place. The table says which file has which recurrences:
//!
//! | file | times of |
//! | --- | --- |
//! | `cycles.rs` | descriptors and tags of a chain |
//! | `cycles/shell.rs` | the read of a descriptor, checks |
//! | `cycles/overlap.rs` | operations that overlap |
//! | `cycles/bus.rs` | commands, bursts, beats and answers of the DMAs; whose burst is next |
//! | `cycles/stream.rs` | beats that become wider or narrower, of whole rows or of their beginnings; arithmetic and the
//! FIFO after it |
//! | `cycles/rows.rs` | beats of the vector unit |
//! | `kllm_top/cycles/tokens.rs`, `lanes.rs` | codebook, heads, indices, outliers; words and banks of weights, sums |
//! | `kllm_top/cycles/results.rs`, `products.rs` | factors, addends, results; a product from its commands to their ends |
//! | `kllm_top/cycles/quantize.rs`, `scan.rs`, `append.rs` | rows that become tokens; a token that is put into panels |
//! | `titanus_core/cycles/store.rs`, `context.rs`, `stalls.rs` | vectors in macros, dot products, what stands still with a result that waits |
//! | `titanus_core/cycles/loads.rs`, `results.rs`, `products.rs` | weights and constants; sums that become rows; a product from its commands to their ends |
//! | `titanus_core/cycles/pack.rs`, `blocks.rs`, `append.rs` | tiles that become chunks and blocks; blocks on their way to memory; an append |
//! | `titanus_core/cycles/streams.rs`, `unpack.rs`, `restore.rs` | chunks of streams; blocks that become tiles; a restore |
//! | `tender_top/cycles/panels.rs` | words of panels, tiles of the array |
//! | `tender_top/cycles/parts.rs` | which sums leave in which order |
//! | `tender_top/cycles/pages.rs`, `products.rs` | constants, columns of results, words and rows on their way to memory |
//! | `kelle_top/cycles/steps.rs`, `pages.rs` | rows of weights, steps of the array, sums; results that become rows |
//! | `kelle_top/cycles/linear.rs` | a product from its commands to their ends |
//! | `kelle_top/cycles/token.rs`, `attention.rs` | a token up to its results; tokens one after the other, victims |
//! | `kelle_top/cycles/saved.rs` | tokens that are saved, and that come back |
//!
//! Two decisions are not the latest of earlier times. DMAs that wait for the port have it in turn, the first one first.
//! Of two blocks of streams that wait, the key's block leaves first. All that follows from the turns so far is worked
//! out before the next turn is given.

mod bus;
mod dmas;
mod flow;
mod overlap;
mod pages;
mod rows;
mod shell;
mod stream;
mod times;

use crate::common::shell::job_controller::{self, Action, Limits, World};

use super::events::Events;
use super::job::{Accelerator, DESCRIPTOR_BYTES, Fields};
use super::memory::{BusError, Memory};
pub use bus::{Dma, Reader, Turns, Writer};
pub use dmas::Dmas;
#[cfg(test)]
pub(super) use flow::advance;
pub use flow::{Course, Flow, Work, end};
use overlap::{Ended, Flights};
pub use pages::{Commands, Pages};
pub use rows::{Frame, Unit};
pub use shell::{ENGINES, Shell};
pub use stream::Converter;
pub(super) use stream::{Packets, Way, Words};
pub use times::{Times, extend, latest};

/// The most bytes that a beat of the bus has. A row never begins within a beat.
const MOST_BYTES: u64 = 64;

/// An operation of a descriptor, and how long it took at its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent<O> {
    /// The operation.
    pub operation: O,
    /// Cycles from the end of the operation before.
    pub cycles: u64,
    /// When its engine works on it.
    pub span: Span,
    /// What happened in it, from the read of its descriptor on.
    pub events: Events,
}

/// An operation on its engine, in cycles of the job: those that the register CYCLES counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The number of the operation.
    pub opcode: u8,
    /// The cycle in which its engine gets it.
    pub goes: u64,
    /// The cycle in which it begins: where operations overlap, it may have waited for others.
    pub begins: u64,
    /// The cycle in which its last command ends.
    pub ends: u64,
}

/// How long the parts of an accelerator take, and what follows for its jobs. `A` is its golden model.
pub trait Recurrence<A: Accelerator> {
    /// The path to memory.
    fn shell(&self) -> &Shell;

    /// An operation that is handed over in cycle `now`. It may be done here, if times of later operations depend on its
    /// results.
    ///
    /// # Errors
    /// The code with which the operation ends, where that leaves no time.
    fn course(
        &self,
        accelerator: &A,
        operation: &A::Checked,
        now: u64,
        state: (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8>;

    /// Cycles of the job at `job`, descriptor by descriptor. Their sum is the value of the register CYCLES: it counts
    /// from the cycle after the start to the last cycle of the job. `turns` stay from job to job; after a reset they
    /// are the default. Where operations are done, accelerator and memory are then as the job leaves them. Elsewhere a
    /// chain must not change itself.
    ///
    /// # Errors
    /// The code with which the job ends, if a descriptor or an operation is not valid.
    ///
    /// # Panics
    /// The bus is wider than 64 bytes, or a part is missing that the accelerator has.
    fn job(
        &self,
        accelerator: &A,
        limits: Limits,
        job: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Vec<Spent<A::Checked>>, u8> {
        let shell = self.shell();
        assert!(shell.bus_bytes <= MOST_BYTES, "a bus of {} bytes: 4 to {MOST_BYTES} are known", shell.bus_bytes);
        let shape = job_controller::Shape {
            address_width: shell.address_width,
            descriptor_bytes: DESCRIPTOR_BYTES,
            opcodes: accelerator.opcodes(),
            most_descriptors: u32::MAX,
        };
        if shell.overlaps() {
            let flights = Flights::new(shell, turns);
            let mut chain = Overlap {
                recurrence: self,
                accelerator,
                limits,
                memory,
                flights,
                spent: Vec::new(),
                fetched: Events::default(),
                now: 0,
                before: 0,
                settled: true,
            };
            let (_, end) = job_controller::run(shape, limits, job, &mut chain);
            if end.code != 0 {
                return Err(end.code);
            }
            chain.settle();
            chain.flights.leave(turns);
            return Ok(chain.spent);
        }
        let mut chain = Chain {
            recurrence: self,
            accelerator,
            limits,
            memory,
            turns,
            spent: Vec::new(),
            fetched: Events::default(),
            now: 0,
            before: 0,
        };
        let (_, end) = job_controller::run(shape, limits, job, &mut chain);
        if end.code == 0 { Ok(chain.spent) } else { Err(end.code) }
    }
}

/// The bytes of a descriptor, and the code with which its read ends.
fn descriptor(memory: &mut dyn Memory, address: u64) -> (Vec<u8>, u8) {
    let mut bytes = vec![0; DESCRIPTOR_BYTES as usize];
    let code = memory.read(address, &mut bytes).map_or_else(BusError::response, |()| 0);
    (bytes, code)
}

/// A chain whose times are computed, descriptor by descriptor.
struct Chain<'a, A: Accelerator, R: ?Sized> {
    recurrence: &'a R,
    accelerator: &'a A,
    limits: Limits,
    memory: &'a mut dyn Memory,
    turns: &'a mut Turns,
    spent: Vec<Spent<A::Checked>>,
    /// The reads of descriptors since the last operation.
    fetched: Events,
    now: u64,
    /// The end of the operation before.
    before: u64,
}

impl<A: Accelerator, R: Recurrence<A> + ?Sized> World for Chain<'_, A, R> {
    fn descriptor(&mut self, address: u64) -> Vec<u8> {
        descriptor(self.memory, address).0
    }

    fn outcome(&mut self, action: &Action) -> u8 {
        let (recurrence, accelerator) = (self.recurrence, self.accelerator);
        let shell = recurrence.shell();
        match action {
            Action::Fetch(address) => {
                let mut fetch = shell.fetch(*address, self.now);
                self.now = shell.fetched(&mut fetch, self.turns);
                self.fetched += fetch.events();
                descriptor(self.memory, *address).1
            }
            Action::Operation { opcode, words, .. } => {
                let checked = accelerator.check(*opcode, Fields(words), &self.limits);
                let ended = checked.and_then(|operation| {
                    let memory: &mut dyn Memory = self.memory;
                    let course = recurrence.course(accelerator, &operation, self.now, (memory, self.turns))?;
                    Ok((course.end(self.turns), operation))
                });
                let ((end, mut events), operation) = match ended {
                    Ok(ended) => ended,
                    Err(code) => return code,
                };
                let span = Span { opcode: *opcode, goes: self.now, begins: self.now, ends: end };
                // The engine reports the end two cycles later. Then comes the next operation.
                self.now = end + 3;
                events += std::mem::take(&mut self.fetched);
                self.spent.push(Spent { operation, cycles: self.now - self.before, span, events });
                self.before = self.now;
                0
            }
            Action::Tag { .. } => {
                // A command of one beat, and its answer.
                self.now += 12 + shell.latency;
                self.spent.iter_mut().next_back().into_iter().for_each(|last| {
                    last.cycles += self.now - self.before;
                    last.events += shell.tag();
                });
                self.before = self.now;
                0
            }
        }
    }
}

/// A chain whose operations overlap, and whose times are computed.
struct Overlap<'a, A: Accelerator, R: ?Sized> {
    recurrence: &'a R,
    accelerator: &'a A,
    limits: Limits,
    memory: &'a mut dyn Memory,
    flights: Flights,
    spent: Vec<Spent<A::Checked>>,
    /// The reads of descriptors since the last operation.
    fetched: Events,
    now: u64,
    before: u64,
    /// No operation is in flight.
    settled: bool,
}

impl<A: Accelerator, R: ?Sized> Overlap<'_, A, R> {
    /// All operations end: before the tag of one is written, and before the job ends.
    fn settle(&mut self) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        // The dispatcher looks from the cycle on after it has given the last one, and tells in the next cycle.
        let looks = self.now - 1;
        self.now = self.drain().max(looks) + 2;
        self.account();
    }

    /// Waits for all operations in flight. Returns the first cycle in which no engine has one.
    fn drain(&mut self) -> u64 {
        let free = self.flights.drain();
        for Ended { number, begins, ends, events } in self.flights.ended() {
            let spent = &mut self.spent[number as usize];
            (spent.span.begins, spent.span.ends) = (begins, ends);
            spent.events += events;
        }
        free
    }

    /// The time up to now belongs to the last operation.
    fn account(&mut self) {
        self.spent.iter_mut().next_back().into_iter().for_each(|last| last.cycles += self.now - self.before);
        self.before = self.now;
    }
}

impl<A: Accelerator, R: Recurrence<A> + ?Sized> Overlap<'_, A, R> {
    /// An operation that no engine does, and that uses no DMA: all before it end, and then it, and the next ones come after
    /// that. Returns the code with which it ends.
    fn alone(&mut self, opcode: u8, operation: A::Checked) -> u8 {
        // The dispatcher is asked in the next cycle; it looks a cycle later, and tells in the cycle after that.
        let looks = self.now + 2;
        let goes = self.drain().max(looks) + 1;
        let state: (&mut dyn Memory, &mut Turns) = (self.memory, &mut Turns::default());
        match self.recurrence.course(self.accelerator, &operation, goes, state) {
            Ok(course) => {
                let (end, more) = course.end(&mut Turns::default());
                let span = Span { opcode, goes, begins: goes, ends: end };
                // As where one operation follows the other.
                self.now = end + 3;
                let mut events = std::mem::take(&mut self.fetched);
                events += more;
                self.spent.push(Spent { operation, cycles: self.now - self.before, span, events });
                self.before = self.now;
                self.settled = true;
                0
            }
            Err(code) => code,
        }
    }
}

impl<A: Accelerator, R: Recurrence<A> + ?Sized> World for Overlap<'_, A, R> {
    fn descriptor(&mut self, address: u64) -> Vec<u8> {
        descriptor(self.memory, address).0
    }

    fn outcome(&mut self, action: &Action) -> u8 {
        let (recurrence, accelerator) = (self.recurrence, self.accelerator);
        match action {
            Action::Fetch(address) => {
                let fetch = recurrence.shell().fetch(*address, self.now);
                self.fetched += fetch.events();
                self.now = self.flights.fetched(fetch) + 2;
                descriptor(self.memory, *address).1
            }
            Action::Operation { opcode, independent, early, words } => {
                let checked = match accelerator.check(*opcode, Fields(words), &self.limits) {
                    Ok(checked) => checked,
                    Err(code) => return code,
                };
                let Some(engine) = accelerator.engine(*opcode) else { return self.alone(*opcode, checked) };
                let engine = engine as usize;
                let goes = self.flights.goes(self.now, engine);
                // The engine is offered it a cycle later.
                let state: (&mut dyn Memory, &mut Turns) = (self.memory, &mut Turns::default());
                match recurrence.course(accelerator, &checked, goes + 1, state) {
                    Ok(course) => {
                        let order = [*independent, (*independent).max(*early)].map(u64::from);
                        self.flights.begin(engine, order, course);
                    }
                    Err(code) => return code,
                }
                // Its end is told in the next cycle. Then comes the next descriptor, or the controller waits.
                self.now = goes + 2;
                self.settled = false;
                let span = Span { opcode: *opcode, goes, ..Span::default() };
                let events = std::mem::take(&mut self.fetched);
                self.spent.push(Spent { operation: checked, cycles: self.now - self.before, span, events });
                self.before = self.now;
                0
            }
            Action::Tag { .. } => {
                self.settle();
                // A command of one beat, and its answer.
                self.now += 12 + recurrence.shell().latency;
                self.account();
                self.spent.iter_mut().next_back().into_iter().for_each(|last| last.events += recurrence.shell().tag());
                self.flights.tagged();
                0
            }
        }
    }
}
