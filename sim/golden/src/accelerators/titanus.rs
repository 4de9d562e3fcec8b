//! `titanus_core`: products with stationary weights and with a context of cached keys and values, and the steps of
//! [`vector_top`](super::vector) on rows. It also prunes, quantizes and packs keys and values into growing streams,
//! and restores them.
//!
//! Unlike the other tops it has state that stays from job to job: weights, constants, the state of the streams, and the
//! context. Sums are exact and have no order.

mod append;
pub mod cycles;
mod events;
mod load;
mod operation;
mod product;
mod registers;
mod restore;
mod shape;
mod shared;
mod state;
mod stream;
mod traffic;

use std::cell::RefCell;
use std::ops::RangeInclusive;

use crate::common::bus::Command;
use crate::common::shell::job_controller::{Limits, code};
use crate::common::shell::job_link::{Link, Most, Taken, Token};

use super::job::{self, Fields};
use super::memory::Memory;
use super::vector::{self, VectorTop};
pub use operation::{Append, Load, Matrix, Operation, Product, Restore, Side};
pub use registers::Device;
pub use shape::Shape;
use state::State;
pub use traffic::{Moved, Traffic};

/// The accelerator and its state.
#[derive(Clone, Debug)]
pub struct TitanusCore {
    shape: Shape,
    vector: VectorTop,
    state: RefCell<State>,
    /// Operations overlap.
    overlaps: bool,
}

/// Damage of an area in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Kind: one of the `DAMAGE_` numbers.
    pub kind: u8,
    /// Whether it is the area of values, not of keys.
    pub values: bool,
    /// Address of the area.
    pub area: u64,
}

/// The stream differs from the stream that was written.
pub const DAMAGE_STREAM: u8 = 2;
/// The area has no room for the stream.
pub const DAMAGE_ROOM: u8 = 3;

/// Counts of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Multiplications of products with keys and values, with the skipped ones.
    pub multiplications: u64,
    /// Multiplications with a zero on either side, which are skipped.
    pub skipped: u64,
    /// Blocks of streams that were read.
    pub read: u64,
    /// Blocks of streams that were written.
    pub written: u64,
}

/// An operation that was done, its counts, and the damage that it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The operation.
    pub operation: Operation,
    /// Its counts; undefined after an error.
    pub counts: Counts,
    /// The first damage.
    pub damage: Option<Damage>,
    /// After the operation: tokens of the cache, and whether keys and values had elements without a level.
    pub cache: (u32, [bool; 2]),
}

impl Work {
    fn new(operation: Operation, counts: Counts, damage: Option<Damage>) -> Self {
        Self { operation, counts, damage, cache: (0, [false; 2]) }
    }
}

impl job::Operation for Work {
    fn out(&self) -> &Command {
        self.operation.out()
    }

    fn outs(&self) -> Vec<&Command> {
        self.operation.outs()
    }
}

/// An operation that touched memory.
pub type Executed = job::Executed<Work>;
/// The results of a job.
pub type Report = job::Report<Work>;

impl Report {
    /// Counts of the whole job; undefined after an error.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.executed.iter().map(|executed| executed.operation.counts).fold(Counts::default(), |sum, one| Counts {
            multiplications: sum.multiplications + one.multiplications,
            skipped: sum.skipped + one.skipped,
            read: sum.read + one.read,
            written: sum.written + one.written,
        })
    }

    /// The value of register CACHE at the end, unless the job did nothing.
    #[must_use]
    pub fn cache(&self) -> u64 {
        let (tokens, [keys, values]) =
            self.executed.last().map_or((0, [false; 2]), |executed| executed.operation.cache);
        u64::from(tokens) | u64::from(keys) << 16 | u64::from(values) << 17
    }

    /// The damage that ended the job.
    #[must_use]
    pub fn damage(&self) -> Option<Damage> {
        self.executed.last().and_then(|executed| executed.operation.damage)
    }
}

impl TitanusCore {
    /// An accelerator of this shape, after reset.
    ///
    /// # Errors
    /// Names the parameter that is out of its range.
    pub fn new(shape: Shape) -> Result<Self, String> {
        for (name, size, least, most) in [
            ("rows", shape.rows, 0, 64),
            ("columns", shape.columns, u32::from(shape.rows > 0), 1024),
            ("inputs", shape.inputs, u32::from(shape.rows > 0), 4096),
            ("outputs", shape.outputs, u32::from(shape.rows > 0), 4096),
            ("constants", shape.constants, 0, 1 << 24),
            // Allowed are 0, and 2 or more.
            ("lanes", shape.lanes, 0, 64),
            ("tiles", shape.tiles, u32::from(shape.lanes > 0), 4096),
            ("levels", shape.levels, u32::from(shape.lanes > 0), 256),
            ("context", shape.context, 0, 65_535),
            ("buffer", shape.buffer, 0, 65_535),
        ] {
            if !(least..=most).contains(&size) {
                return Err(format!("{name} is {size}, allowed: {least} to {most}"));
            }
        }
        if shape.lanes == 1 {
            return Err("lanes is 1, allowed: 0 and 2 to 64".into());
        }
        if shape.lanes == 0 && shape.context > 0 {
            return Err(format!("context is {}, allowed: 0 without lanes", shape.context));
        }
        let (vector, state) = (VectorTop::new(shape.vector), RefCell::new(State::new(&shape)));
        Ok(Self { shape, vector, state, overlaps: false })
    }

    /// The same accelerator; its engines work at the same time, if `overlaps`.
    #[must_use]
    pub fn with_overlap(self, overlaps: bool) -> Self {
        Self { overlaps, ..self }
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Tokens of the cache.
    #[must_use]
    pub fn cache_tokens(&self) -> u32 {
        self.state.borrow().cache_tokens()
    }

    /// Whether the prefill of the cache lacks tokens. The cache cannot be restored then.
    #[must_use]
    pub fn is_filling(&self) -> bool {
        self.state.borrow().filling()
    }

    /// Bits of both streams of the cache; 0 if they are unknown.
    #[must_use]
    pub fn stream_bits(&self) -> [u64; 2] {
        let state = self.state.borrow();
        state.streams().map_or([0; 2], |streams| streams.each_ref().map(stream::Stream::bits))
    }

    /// Whole blocks of the longer stream of the cache.
    #[must_use]
    pub fn whole_blocks(&self) -> u64 {
        self.state.borrow().most_blocks()
    }

    /// Tokens of the context.
    #[must_use]
    pub fn context_tokens(&self) -> u32 {
        self.state.borrow().context_tokens()
    }

    /// Puts the accelerator into its state after reset.
    pub fn reset(&self) {
        *self.state.borrow_mut() = State::new(&self.shape);
    }

    /// Runs the job at `job`. It ends after `limits.max_descriptors` descriptors at the latest.
    pub fn run(&self, limits: Limits, job: u64, memory: &mut dyn Memory) -> Report {
        job::run(self, limits, job, memory)
    }

    /// The core before this one gives a token.
    pub fn offer(&self, token: Token) {
        self.state.borrow_mut().waiting.push_back(token);
    }

    /// Tokens that wait, and whether the newest of them is a last token: the value of register LINK.
    #[must_use]
    pub fn waiting(&self) -> (usize, bool) {
        let state = self.state.borrow();
        (state.waiting.len(), state.waiting.back() == Some(&true))
    }

    /// Takes the tokens that this core has given.
    #[must_use]
    pub fn given(&self) -> Vec<Token> {
        std::mem::take(&mut self.state.borrow_mut().given)
    }

    /// Takes tokens, and gives tokens if all tokens to take are there. Tokens that are missing at the beginning do not
    /// come.
    fn take_and_give(&self, link: Link) -> Executed {
        let mut state = self.state.borrow_mut();
        let taken = link.take(&mut state.waiting);
        let codes = match taken {
            Taken::All => Vec::new(),
            Taken::Missing => vec![code::TIMEOUT],
            Taken::OtherMark => vec![code::FIELD],
        };
        if codes.is_empty() {
            state.given.extend(link.tokens());
        }
        // Without a patience of its own, a link with missing tokens ends when register TIMEOUT says, or never.
        let certain = taken != Taken::Missing || link.patience > 0;
        let operation = Work::new(Operation::Link(link), Counts::default(), None);
        Executed { operation, codes, defined: true, certain, overflows: 0, sum_overflows: 0 }
    }
}

/// Largest opcode without links.
const OPCODES: u8 = 5;
const LOAD: u8 = 1;
const PRODUCT: u8 = 2;
const VECTOR: u8 = 3;
const APPEND: u8 = 4;
const RESTORE: u8 = 5;
const LINK: u8 = 6;

impl job::Accelerator for TitanusCore {
    type Operation = Work;
    type Checked = Operation;

    fn address_width(&self) -> u32 {
        self.shape.vector.address_width
    }

    fn opcodes(&self) -> u8 {
        if self.shape.links { LINK } else { OPCODES }
    }

    /// The vector unit, caches, loads, products.
    fn engine(&self, opcode: u8) -> Option<u32> {
        let engine = match opcode {
            VECTOR => 0,
            APPEND | RESTORE => 1,
            LOAD => 2,
            LINK if self.shape.links => return None,
            _ => 3,
        };
        self.overlaps.then_some(engine)
    }

    fn shared(&self, operation: &Operation) -> [Vec<RangeInclusive<u64>>; 2] {
        shared::of(&self.shape, operation)
    }

    /// Areas count as a whole.
    fn claimed(&self, operation: &Operation) -> [Vec<RangeInclusive<u64>>; 2] {
        let all = |areas: [&Command; 2]| {
            let lines = |area: &Command| area.address..=area.address + (operation::LINE * area.rows - 1);
            areas.into_iter().map(lines).collect()
        };
        match operation {
            Operation::Append(append) => [Vec::new(), all(append.sides.each_ref().map(|side| &side.area))],
            Operation::Restore(restore) => [all(restore.areas.each_ref()), Vec::new()],
            _ => Default::default(),
        }
    }

    fn awaited(&self, operation: &Operation) {
        let tokens = match operation {
            Operation::Append(append) if append.keep => append.position + append.tokens,
            Operation::Append(append) if append.position == 0 => 0,
            Operation::Restore(restore) if restore.rows.is_none() => restore.tokens,
            _ => return,
        };
        self.state.borrow_mut().fill(tokens, None);
    }

    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        let (shape, state) = (&self.shape, &self.state.borrow());
        match opcode {
            LOAD => Load::check(shape, limits, fields).map(Operation::Load),
            PRODUCT => Product::check(shape, state.context_tokens(), limits, fields).map(Operation::Product),
            VECTOR => vector::Operation::check(&shape.vector, limits, fields).map(Operation::Vector),
            APPEND => Append::check(shape, (state.cache_tokens(), state.context_tokens()), limits, fields)
                .map(Operation::Append),
            LINK => Link::check(fields.0, &Most::OF_CORES).map(Operation::Link),
            RESTORE => {
                let tokens = if state.filling() { 0 } else { state.cache_tokens() };
                Restore::check(shape, (tokens, state.most_blocks()), limits, fields).map(Operation::Restore)
            }
            _ => Err(code::FIELD),
        }
    }

    fn execute(&self, operation: Operation, memory: &mut dyn Memory) -> Executed {
        let mut executed = match operation {
            Operation::Load(operation) => self.load(operation, memory),
            Operation::Product(operation) => self.multiply(operation, memory),
            Operation::Append(operation) => self.append(operation, memory),
            Operation::Restore(operation) => self.restore(operation, memory),
            Operation::Link(link) => self.take_and_give(link),
            Operation::Vector(operation) => {
                let executed = self.vector.execute(operation, memory);
                executed.map(|operation| Work::new(Operation::Vector(operation), Counts::default(), None))
            }
        };
        executed.operation.cache = self.state.borrow().cached();
        executed
    }

    fn forget(&self, work: &Work) {
        let mut state = self.state.borrow_mut();
        match &work.operation {
            Operation::Load(load) => state.forget(load),
            Operation::Append(append) => {
                state.forget_cache();
                if append.keep {
                    state.forget_context();
                }
            }
            Operation::Restore(restore) if restore.rows.is_none() => state.forget_context(),
            _ => {}
        }
    }

    fn remembers(&self) -> bool {
        true
    }

    fn failed(&self) {
        self.state.borrow_mut().empty();
    }

    fn dropped(&self, operations: &[Executed]) -> bool {
        let mut state = self.state.borrow_mut();
        // Each of these loads may be done, half done, or not begun.
        for executed in operations {
            if let Operation::Load(load) = &executed.operation.operation {
                state.forget(load);
            }
        }
        state.empty();
        true
    }

    fn timed_out(&self, operations: &[Executed]) -> bool {
        self.dropped(operations)
    }

    fn details(&self, report: &Report) -> Vec<(u64, u64)> {
        let damage = report.damage();
        let kind = damage.map_or(0, |damage| u64::from(damage.kind) | u64::from(damage.values) << 8);
        let area = damage.map_or(0, |damage| damage.area);
        let mut all = vec![(0x138, 0)];
        // An operation after the one that failed may have found damage too.
        if report.perhaps.iter().all(|executed| executed.codes.is_empty()) {
            all.extend([(0x150, kind), (0x158, area & 0xffff_ffff), (0x15c, area >> 32)]);
        }
        all
    }
}

#[cfg(test)]
pub(crate) mod tests;
