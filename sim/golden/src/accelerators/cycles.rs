//! Cycles of jobs before a memory that never pauses, as recurrences of times.
//!
//! Every event of an operation has a number: beat n of an operand is taken from its DMA, word n of a panel is written,
//! tile n has its sums, column n of results leaves the lanes. Its time is the latest of a few earlier times, each plus
//! a number of cycles. The event waits for its inputs, for the event before it of the same kind, and for the event that
//! frees its place. The table says which file has which recurrences:
//!
//! | file | times of |
//! | --- | --- |
//! | `cycles.rs` | descriptors, checks, tags |
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
//! | `kelle_top/cycles/token.rs`, `attention.rs` | a token up to its results; tokens one after the other, victims, saved tokens |
//!
//! Two decisions are not the latest of earlier times. DMAs that wait for the port have it in turn, the first one first.
//! Of two blocks of streams that wait, the key's block leaves first. All that follows from the turns so far is worked
//! out before the next turn is given.

mod bus;
mod dmas;
mod flow;
mod overlap;
mod rows;
mod stream;
mod times;

use crate::common::bus::Command;
use crate::common::shell::job_controller::{self, Action, Limits, World};

use super::job::{Accelerator, DESCRIPTOR_BYTES, Fields};
use super::memory::{BusError, Memory};
use super::vector::Operation as RowsOperation;
use bus::Ports;
pub use bus::{Dma, Reader, Turns, Writer};
pub use dmas::Dmas;
#[cfg(test)]
pub(super) use flow::advance;
pub use flow::{Course, Flow, Work, end};
use rows::Rows;
pub use rows::{Frame, Unit};
pub use stream::Converter;
pub(super) use stream::{Packets, Way, Words};
pub use times::{Times, extend, latest};

/// Operands of an operation on rows: four that are read, and the results.
const ROW_OPERANDS: u64 = 5;
/// The most bytes that a beat of the bus has. A row never begins within a beat.
const MOST_BYTES: u64 = 64;

/// The most engines that work at the same time.
pub const ENGINES: usize = 8;

/// The path between the operations of an accelerator and memory. Memory answers after a fixed number of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shell {
    /// Bytes of a beat of the bus, 4 to 64.
    pub bus_bytes: u64,
    /// From a request on the bus to its answer.
    pub latency: u64,
    /// Ports to memory: reader k is on port k modulo their number.
    pub ports: usize,
    /// DMAs that read; of all engines where operations overlap.
    pub readers: usize,
    /// Where operations overlap: DMAs that read, of each engine; 0 for engines that are not there.
    pub engines: [usize; ENGINES],
    /// The read DMAs.
    pub reads: Dma,
    /// The write DMA.
    pub writes: Dma,
    /// Bits of an address.
    pub address_width: u32,
}

/// An operation of a descriptor, and how long it took at its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent<O> {
    /// The operation.
    pub operation: O,
    /// Cycles from the end of the operation before.
    pub cycles: u64,
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
            return overlap::job(self, accelerator, (limits, job, shape), (memory, turns));
        }
        let mut chain =
            Chain { recurrence: self, accelerator, limits, memory, turns, spent: Vec::new(), now: 0, before: 0 };
        let (_, end) = job_controller::run(shape, limits, job, &mut chain);
        if end.code == 0 { Ok(chain.spent) } else { Err(end.code) }
    }
}

impl Shell {
    /// Whether engines work at the same time.
    #[must_use]
    pub fn overlaps(&self) -> bool {
        self.engines[0] > 0
    }

    /// The cycle in which the operation of a descriptor is handed over, if the controller looks at the descriptor in
    /// cycle `now`.
    fn fetched(&self, address: u64, now: u64, turns: &mut Turns) -> u64 {
        end(&mut Fetch, &mut self.fetch(address, now), turns) + 2
    }

    /// The read of a descriptor at which the controller looks in cycle `now`.
    fn fetch(&self, address: u64, now: u64) -> Dmas {
        let beats = (DESCRIPTOR_BYTES / self.bus_bytes).next_power_of_two().min(16);
        let mut reader =
            Reader::new(Dma { burst_beats: beats, outstanding: 1, commands: 2, beats: beats.max(2) }, self.bus_bytes);
        let command = Command { address, row_bytes: DESCRIPTOR_BYTES, rows: 1, stride: 0 };
        reader.offer(&command, now + 1);
        Dmas::new(vec![reader], self.writer(), Ports::of_descriptors(self.latency))
    }

    /// Cycles from an operation to the first cycle after its checks: one for the fields, 19 for an operand, one for an
    /// operand that is not used.
    #[must_use]
    pub fn checks(used: u64, operands: u64) -> u64 {
        1 + 19 * used + (operands - used)
    }

    /// The DMAs of an operation, before they have a command.
    #[must_use]
    pub fn dmas(&self, turns: &Turns) -> Dmas {
        // An engine of its own has no more than all.
        let count = self.engines.iter().copied().max().filter(|&most| most > 0).unwrap_or(self.readers);
        let readers = vec![Reader::new(self.reads, self.bus_bytes); count];
        Dmas::new(readers, self.writer(), Ports::new(self.latency, self.ports, count, turns))
    }

    fn writer(&self) -> Writer {
        Writer::new(self.writes, self.bus_bytes, self.latency)
    }

    /// Steps on rows that are handed over in cycle `now`.
    pub(super) fn rows(&self, unit: &Unit, operation: &RowsOperation, now: u64, turns: &Turns) -> Course {
        let used = operation.sources().count() as u64 + 1;
        let begin = now + Self::checks(used, ROW_OPERANDS);
        let mut dmas = self.dmas(turns);
        let rows = Rows::new((self, unit), operation, begin, &mut dmas);
        Course::new(begin, dmas, rows)
    }
}

/// The read of a descriptor: a beat is taken when it comes.
struct Fetch;

impl Flow for Fetch {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let [reader] = &mut dmas.readers[..] else { return false };
        let mut moved = false;
        extend!(moved, reader.left, reader.shown(reader.left.known()));
        moved
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
                self.now = shell.fetched(*address, self.now, self.turns);
                descriptor(self.memory, *address).1
            }
            Action::Operation { opcode, words, .. } => {
                let checked = accelerator.check(*opcode, Fields(words), &self.limits);
                let ended = checked.and_then(|operation| {
                    let memory: &mut dyn Memory = self.memory;
                    let course = recurrence.course(accelerator, &operation, self.now, (memory, self.turns))?;
                    Ok((course.end(self.turns), operation))
                });
                let (end, operation) = match ended {
                    Ok(ended) => ended,
                    Err(code) => return code,
                };
                // The engine reports the end two cycles later. Then comes the next operation.
                self.now = end + 3;
                self.spent.push(Spent { operation, cycles: self.now - self.before });
                self.before = self.now;
                0
            }
            Action::Tag { .. } => {
                // A command of one beat, and its answer.
                self.now += 12 + shell.latency;
                self.spent.iter_mut().next_back().into_iter().for_each(|last| last.cycles += self.now - self.before);
                self.before = self.now;
                0
            }
        }
    }
}
