//! A job of an accelerator: its chain of descriptors, and how it changes memory.

mod after;

use std::fmt::Debug;
use std::ops::RangeInclusive;

use crate::common::bus::Command;
use crate::common::shell::job_controller::{self, Action, End, Limits, World, code};

pub use super::flights::merged;
use super::flights::{Flights, Order, Used, meet};
use super::memory::{BusError, Memory};

/// Bytes of a descriptor.
pub const DESCRIPTOR_BYTES: u64 = 128;
/// Bytes of the header, which are not among the words of an operation.
const HEADER: usize = 32;

/// An operation whose fields are valid.
pub trait Operation {
    /// Where the results go.
    fn out(&self) -> &Command;

    /// All rows that the operation writes: the results, and possibly others.
    fn outs(&self) -> Vec<&Command> {
        vec![self.out()]
    }

    /// Whether the operation ends at once, and a repetition right after it changes nothing.
    fn repeats(&self) -> bool {
        false
    }
}

/// The accelerator that does the operations of a chain.
pub trait Accelerator {
    /// An operation that was done, with what was counted.
    type Operation: Operation;
    /// An operation whose fields are valid.
    type Checked: Debug;

    /// Bits of an address on the bus.
    fn address_width(&self) -> u32;

    /// Number of operations. Opcodes count from 1.
    fn opcodes(&self) -> u8;

    /// Checks an operation against the current state of the accelerator.
    ///
    /// # Errors
    /// The code of the first check that fails.
    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Self::Checked, u8>;

    /// Does an operation.
    fn execute(&self, operation: Self::Checked, memory: &mut dyn Memory) -> Executed<Self::Operation>;

    /// Checks an operation, and does it.
    ///
    /// # Errors
    /// The code of the first check that fails. Memory is then untouched.
    fn perform(
        &self,
        opcode: u8,
        fields: Fields<'_>,
        limits: &Limits,
        memory: &mut dyn Memory,
    ) -> Result<Executed<Self::Operation>, u8> {
        Ok(self.execute(self.check(opcode, fields, limits)?, memory))
    }

    /// The engine that does the operations with this number, where operations overlap. `None`: it follows all others, and
    /// all later ones follow it.
    fn engine(&self, _opcode: u8) -> Option<u32> {
        None
    }

    /// Bytes that an operation may read before the operations have ended that it depends on, where operations overlap.
    fn early(&self, _operation: &Self::Checked) -> Vec<RangeInclusive<u64>> {
        Vec::new()
    }

    /// State of the accelerator that operations of several engines use, where operations overlap: what this one reads, and
    /// what it writes, by numbers that the accelerator gives. Checks do not count: they see the state as all operations
    /// before leave it.
    fn shared(&self, _operation: &Self::Checked) -> [Vec<RangeInclusive<u64>>; 2] {
        Default::default()
    }

    /// Bytes that count as read, and as written, whatever of them the operation uses.
    fn claimed(&self, _operation: &Self::Checked) -> [Vec<RangeInclusive<u64>>; 2] {
        Default::default()
    }

    /// The operation is right, and waits for one that has failed: it is never done. Checks of later operations see the state
    /// as it would leave it.
    fn awaited(&self, _operation: &Self::Checked) {}

    /// State that the operation has left in the accelerator, if any, becomes unknown. The operation ended with an
    /// error, was dropped, or depends on bytes that are not defined.
    fn forget(&self, _operation: &Self::Operation) {}

    /// Whether the accelerator has state that stays from job to job.
    fn remembers(&self) -> bool {
        false
    }

    /// Called when a job has ended with an error.
    fn failed(&self) {}

    /// A soft reset came while a job was at one of these operations or at a later one. The accelerator updates the
    /// state that stays. `false`: the state is unknown.
    fn dropped(&self, _operations: &[Executed<Self::Operation>]) -> bool {
        false
    }

    /// A timeout came while a job was at one of these operations or at an earlier one. The accelerator updates the
    /// state that stays. `false`: the state is unknown.
    fn timed_out(&self, _operations: &[Executed<Self::Operation>]) -> bool {
        !self.remembers()
    }

    /// Registers with details of a job that ended with an error: offsets and values.
    fn details(&self, _report: &Report<Self::Operation>) -> Vec<(u64, u64)> {
        Vec::new()
    }
}

/// The fields of a descriptor after its header. Offsets count from the beginning of the descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u32]);

impl Fields<'_> {
    /// The 4 bytes at an offset from the beginning of the descriptor.
    ///
    /// # Panics
    /// The descriptor has no such field.
    #[must_use]
    pub fn word(&self, at: usize) -> u32 {
        self.0[(at - HEADER) / 4]
    }

    /// The 8 bytes at an offset.
    ///
    /// # Panics
    /// The descriptor has no 8 bytes there.
    #[must_use]
    pub fn long(&self, at: usize) -> u64 {
        u64::from(self.word(at)) | u64::from(self.word(at + 4)) << 32
    }

    /// The 2 bytes at an offset.
    ///
    /// # Panics
    /// The descriptor has no 2 bytes there.
    #[must_use]
    pub fn half(&self, at: usize) -> u32 {
        self.word(at & !3) >> (8 * (at % 4)) & 0xffff
    }

    /// So many rows of `row_bytes` bytes, with address and stride at two offsets.
    ///
    /// # Panics
    /// One of the offsets is outside the descriptor.
    #[must_use]
    pub fn rows(&self, [address, stride]: [usize; 2], rows: u64, row_bytes: u64) -> Command {
        Command { address: self.long(address), row_bytes, rows, stride: self.word(stride).into() }
    }

    /// Whether the words at all these offsets are 0.
    ///
    /// # Panics
    /// One of the offsets is outside the descriptor.
    pub fn are_zero(&self, mut at: impl Iterator<Item = usize>) -> bool {
        at.all(|at| self.word(at) == 0)
    }
}

/// An operation that touched memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed<O> {
    /// The operation.
    pub operation: O,
    /// All codes with which it may end; none if it ends well. There are several if several things go wrong, in the
    /// order in which the model finds them.
    pub codes: Vec<u8>,
    /// Whether the contract defines every byte of the results.
    pub defined: bool,
    /// Whether the end is independent of when results are written. The end depends on it if the operation checks bytes
    /// that it overwrites, or bytes that are not defined. It checks them for overflows that are errors, or for entries
    /// that have no meaning.
    pub certain: bool,
    /// Beats or words of results with an overflow.
    pub overflows: u64,
    /// Words in which a sum has an overflow; 0 for an operation without sums.
    pub sum_overflows: u64,
}

impl<O> Executed<O> {
    /// An operation without sums. `apart`: it writes nothing that it reads. `exact`: an overflow is an error.
    #[must_use]
    pub fn new(operation: O, codes: Vec<u8>, (apart, exact): (bool, bool), overflows: u64) -> Self {
        let (defined, certain) = (codes.is_empty() && apart, apart || !exact);
        Self { operation, codes, defined, certain, overflows, sum_overflows: 0 }
    }

    /// The same record, with the operation as a part of another type.
    pub fn map<P>(self, into: impl FnOnce(O) -> P) -> Executed<P> {
        let Self { operation, codes, defined, certain, overflows, sum_overflows } = self;
        Executed { operation: into(operation), codes, defined, certain, overflows, sum_overflows }
    }
}

/// The codes of all errors, each once.
#[derive(Clone, Debug, Default)]
pub struct Codes(Vec<u8>);

impl Codes {
    /// Notes a code.
    pub fn note(&mut self, code: u8) {
        if !self.0.contains(&code) {
            self.0.push(code);
        }
    }

    /// Notes the answer of the bus, if it is an error.
    pub fn bus<T>(&mut self, result: Result<T, BusError>) -> Option<T> {
        match result {
            Ok(value) => return Some(value),
            Err(BusError::Subordinate) => self.note(code::SLVERR),
            Err(BusError::Decode) => self.note(code::DECERR),
        }
        None
    }

    /// Notes the codes of others.
    pub fn join(&mut self, others: Self) {
        others.0.into_iter().for_each(|code| self.note(code));
    }

    /// All of them, in the order in which they were noted.
    #[must_use]
    pub fn all(self) -> Vec<u8> {
        self.0
    }
}

/// The results of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report<O> {
    /// How it ended.
    pub end: End,
    /// Its operations, except a last operation that a check refused.
    pub executed: Vec<Executed<O>>,
    /// Operations after one that failed, which may have run: they are independent of it.
    pub perhaps: Vec<Executed<O>>,
    /// Addresses and values of the tags that were written.
    pub tags: Vec<(u64, u32)>,
    /// Whether a descriptor lies where results are undefined.
    pub lost: bool,
}

impl<O: Operation> Report<O> {
    /// Beats or words of results with an overflow in the whole job. The number is undefined after an error of the bus,
    /// or after an overflow that is an error.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.executed.iter().map(|e| e.overflows).sum()
    }

    /// Words with an overflow of a sum in the whole job. The number is undefined after the same errors.
    #[must_use]
    pub fn sum_overflows(&self) -> u64 {
        self.executed.iter().map(|e| e.sum_overflows).sum()
    }

    /// All bytes that may have been written, as ascending ranges that do not touch.
    #[must_use]
    pub fn written(&self) -> Vec<RangeInclusive<u64>> {
        let tags = self.tags.iter().map(|&(address, _)| address..=address + 3);
        let all = self.executed.iter().chain(&self.perhaps);
        merged(all.flat_map(|e| e.operation.outs()).flat_map(rows).chain(tags).collect())
    }

    /// Whether the job must end as it does here. Otherwise it may end in another way, but writes only where it may.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        !self.lost && self.executed.iter().all(|e| e.certain)
    }

    /// Bytes that may differ from the model's memory, as ascending ranges that do not touch: undefined results, and
    /// what later operations make of them.
    #[must_use]
    pub fn undefined(&self) -> Vec<RangeInclusive<u64>> {
        let open = self.executed.iter().filter(|e| !e.defined).chain(&self.perhaps);
        merged(open.flat_map(|e| e.operation.outs()).flat_map(rows).collect())
    }
}

/// The bytes of each row.
pub fn rows(rows: &Command) -> impl Iterator<Item = RangeInclusive<u64>> + use<> {
    let bytes = rows.row_bytes;
    rows.row_addresses().map(move |first| first..=first + (bytes - 1))
}

/// The controller of its jobs.
pub(super) fn shape_of<A: Accelerator>(accelerator: &A) -> job_controller::Shape {
    job_controller::Shape {
        address_width: accelerator.address_width(),
        descriptor_bytes: DESCRIPTOR_BYTES,
        opcodes: accelerator.opcodes(),
        most_descriptors: u32::MAX,
    }
}

/// Runs the job at `job`. It ends after `limits.max_descriptors` descriptors at the latest.
pub fn run<A: Accelerator>(accelerator: &A, limits: Limits, job: u64, memory: &mut dyn Memory) -> Report<A::Operation> {
    let shape = shape_of(accelerator);
    let (executed, perhaps, tags) = Default::default();
    let report = Report { end: End::default(), executed, perhaps, tags, lost: false };
    let (flights, history) = (Flights::default(), None);
    let mut world = Job { accelerator, limits, memory, fetched: Vec::new(), report, flights, history, refused: false };
    let (_, end) = job_controller::run(shape, limits, job, &mut world);
    if end.code != 0 {
        world.perhaps(shape);
        accelerator.failed();
    }
    Report { end, ..world.report }
}

/// Of how many descriptors right before it each descriptor of a job is independent, and what it reads early, if anything:
/// the largest numbers that are true, by the bytes and the [shared](Accelerator::shared) state that the operations use.
/// Addresses and numbers, in the order of the chain; up to an error.
///
/// Other state inside of an accelerator is not looked at: one engine has all operations on it, in the order of the chain.
pub fn independence<A: Accelerator>(
    accelerator: &A,
    limits: Limits,
    job: u64,
    memory: &mut dyn Memory,
) -> Vec<(u64, [u8; 2])> {
    let shape = shape_of(accelerator);
    let (executed, perhaps, tags) = Default::default();
    let report = Report { end: End::default(), executed, perhaps, tags, lost: false };
    let (flights, history) = (Flights::default(), Some(Vec::new()));
    let mut world = Job { accelerator, limits, memory, fetched: Vec::new(), report, flights, history, refused: false };
    job_controller::run(shape, limits, job, &mut world);
    let history = world.history.unwrap_or_default();
    let most = usize::from(job_controller::MOST_INDEPENDENT);
    let count = |n: usize, matters: &dyn Fn(&Used, &Used) -> bool| {
        let before = history[..n].iter().rev().take(most);
        before.take_while(|(_, other)| !matters(&history[n].1, other)).count() as u8
    };
    let numbers = |n: usize| {
        let reads = !history[n].1.early.is_empty();
        [count(n, &Used::races), if reads { count(n, &Used::is_early_for) } else { 0 }]
    };
    (0..history.len()).map(|n| (history[n].0, numbers(n))).collect()
}

/// Memory that notices reads of undefined bytes.
struct Touched<'a> {
    memory: &'a mut dyn Memory,
    undefined: Vec<RangeInclusive<u64>>,
    touched: bool,
    used: Used,
}

impl<'a> Touched<'a> {
    fn new<O: Operation>(memory: &'a mut dyn Memory, report: &Report<O>) -> Self {
        Self { memory, undefined: report.undefined(), touched: false, used: Used::default() }
    }
}

impl Memory for Touched<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), BusError> {
        let range = address..=address.saturating_add(bytes.len() as u64 - 1);
        self.touched |= meet(&self.undefined, std::slice::from_ref(&range));
        self.used.reads.push(range);
        self.memory.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), BusError> {
        self.used.writes.push(address..=address.saturating_add(bytes.len() as u64 - 1));
        self.memory.write(address, bytes)
    }
}

/// A job under way.
struct Job<'a, A: Accelerator> {
    accelerator: &'a A,
    limits: Limits,
    memory: &'a mut dyn Memory,
    fetched: Vec<u8>,
    report: Report<A::Operation>,
    flights: Flights,
    /// An operation was refused by its checks.
    refused: bool,
    /// Where it is wanted: the descriptors of all operations, and the bytes that they used.
    history: Option<Vec<(u64, Used)>>,
}

impl<A: Accelerator> World for Job<'_, A> {
    fn descriptor(&mut self, _address: u64) -> Vec<u8> {
        self.fetched.clone()
    }

    fn outcome(&mut self, action: &Action) -> u8 {
        match action {
            Action::Fetch(address) => {
                self.fetched = vec![0; DESCRIPTOR_BYTES as usize];
                self.history.iter_mut().for_each(|history| history.push((*address, Used::default())));
                let whole = Command { address: *address, row_bytes: DESCRIPTOR_BYTES, rows: 1, stride: 0 };
                if let Some(refusal) = whole.refusal(self.accelerator.address_width()) {
                    return refusal.code() as u8;
                }
                let mut memory = Touched::new(self.memory, &self.report);
                let code = memory.read(*address, &mut self.fetched).map_or_else(BusError::response, |()| 0);
                self.report.lost |= memory.touched | self.flights.write(&memory.used.reads);
                code
            }
            Action::Operation { opcode, independent, early, words } => {
                let engine = self.accelerator.engine(*opcode);
                self.flights.next(engine);
                let mut memory = Touched::new(self.memory, &self.report);
                let done = self.accelerator.check(*opcode, Fields(words), &self.limits).map(|checked| {
                    memory.used.early = self.accelerator.early(&checked);
                    memory.used.shared = self.accelerator.shared(&checked);
                    [memory.used.reads, memory.used.writes] = self.accelerator.claimed(&checked);
                    self.accelerator.execute(checked, &mut memory)
                });
                match done {
                    Err(code) => {
                        self.refused = true;
                        code
                    }
                    Ok(mut executed) => {
                        let used = memory.used.merged();
                        let races = self.flights.races(Order::new(*independent, *early), &used);
                        let now = self.history.as_mut().and_then(|history| history.last_mut());
                        now.into_iter().for_each(|(_, bytes)| bytes.clone_from(&used));
                        executed.defined &= !memory.touched && races.is_empty();
                        executed.certain &= !memory.touched && races.is_empty();
                        for number in races {
                            let other = &mut self.report.executed[number];
                            (other.defined, other.certain) = (false, false);
                            self.accelerator.forget(&other.operation);
                        }
                        self.flights.go(engine, self.report.executed.len(), used);
                        if !executed.defined {
                            self.accelerator.forget(&executed.operation);
                        }
                        let code = executed.codes.first().copied().unwrap_or(0);
                        self.report.executed.push(executed);
                        code
                    }
                }
            }
            Action::Tag { address, tag } => {
                self.flights.end();
                self.report.tags.push((*address, *tag));
                self.memory.write(*address, &tag.to_le_bytes()).map_or_else(BusError::response, |()| 0)
            }
        }
    }
}
