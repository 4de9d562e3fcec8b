//! `vector_top`: a chain of descriptors that each run the steps of a [`VectorUnit`] over rows in memory.
//!
//! The operations of a chain are done one after the other, and rows in order: what the contract leaves open (results on top
//! of operands, what is written before an error) happens here in one of its ways, and [`Executed::defined`] says so.

pub mod device;
mod operation;

use std::ops::RangeInclusive;

use crate::common::bus::Command;
use crate::common::float::Function;
use crate::common::row::vector_unit::{Done, Elements, Output, VectorUnit};
use crate::common::shell::job_controller::{self, Action, End, Limits, World, code};

use super::memory::{BusError, Memory};
pub use operation::{Operation, STEP_BITS};

/// How the accelerator was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Elements of a beat.
    pub lanes: u32,
    /// Beats of the longest row.
    pub max_beats: u32,
    /// The activation.
    pub function: Function,
    /// Bits of an address on the bus.
    pub address_width: u32,
    /// Bits of the steps that it can do; all are [`STEP_BITS`].
    pub steps: u32,
}

/// Bytes of a descriptor.
pub const DESCRIPTOR_BYTES: u64 = 128;

/// The accelerator.
#[derive(Clone, Debug)]
pub struct VectorTop {
    shape: Shape,
    unit: VectorUnit,
}

/// An operation that touched memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// What it was.
    pub operation: Operation,
    /// All codes with which it may end: more than one where several things go wrong, in the order of rows; none where
    /// it ends well.
    pub codes: Vec<u8>,
    /// The contract says what every byte of the results is.
    pub defined: bool,
    /// Beats of results with an overflow.
    pub overflows: u64,
}

/// What a job did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub end: End,
    /// Its operations; without a last one that a check refused.
    pub executed: Vec<Executed>,
    /// Addresses and values of tags that were written.
    pub tags: Vec<(u64, u32)>,
}

impl Report {
    /// Beats of results with an overflow in the whole job; undefined after an error of the bus or an overflow that is an error.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.executed.iter().map(|e| e.overflows).sum()
    }

    /// All bytes that may have been written, as ascending ranges that do not touch.
    #[must_use]
    pub fn written(&self) -> Vec<RangeInclusive<u64>> {
        let tags = self.tags.iter().map(|&(address, _)| address..=address + 3);
        merged(self.executed.iter().flat_map(|e| rows(&e.operation.out)).chain(tags).collect())
    }

    /// Bytes that may hold anything that the model's memory does not, as ascending ranges that do not touch. What a later
    /// operation computes from them is not among them.
    #[must_use]
    pub fn undefined(&self) -> Vec<RangeInclusive<u64>> {
        let open = self.executed.iter().filter(|e| !e.defined);
        merged(open.flat_map(|e| rows(&e.operation.out)).collect())
    }
}

fn rows(rows: &Command) -> impl Iterator<Item = RangeInclusive<u64>> + use<> {
    let bytes = rows.row_bytes;
    rows.row_addresses().map(move |first| first..=first + (bytes - 1))
}

fn merged(mut ranges: Vec<RangeInclusive<u64>>) -> Vec<RangeInclusive<u64>> {
    ranges.sort_by_key(|range| *range.start());
    let mut all: Vec<RangeInclusive<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if *range.start() <= last.end().saturating_add(1) => {
                *last = *last.start()..=*last.end().max(range.end());
            }
            _ => all.push(range),
        }
    }
    all
}

impl VectorTop {
    /// The accelerator of a shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self { shape, unit: VectorUnit::new(shape.function) }
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Runs the job at `job`. It ends after `limits.max_descriptors` descriptors at the latest.
    pub fn run(&self, limits: Limits, job: u64, memory: &mut dyn Memory) -> Report {
        let shape = job_controller::Shape {
            address_width: self.shape.address_width,
            descriptor_bytes: DESCRIPTOR_BYTES,
            opcodes: 1,
        };
        let report = Report { end: End::default(), executed: Vec::new(), tags: Vec::new() };
        let mut job_world = Job { top: self, limits, memory, fetched: Vec::new(), report };
        let (_, end) = job_controller::run(shape, limits, job, &mut job_world);
        Report { end, ..job_world.report }
    }

    /// Does an operation row by row, also behind an error, to find all that goes wrong.
    fn execute(&self, operation: Operation, memory: &mut dyn Memory) -> Executed {
        let mut codes = Vec::new();
        let mut note = |code: u8| {
            if !codes.contains(&code) {
                codes.push(code);
            }
        };
        let bus = |error: BusError| match error {
            BusError::Subordinate => code::SLVERR,
            BusError::Decode => code::DECERR,
        };
        let mut overflows = 0;
        let mut gains = None;
        for row in 0..operation.x.rows {
            let mut load = |operand: Option<&Command>| -> Option<Vec<u16>> {
                let Some(rows) = operand else { return Some(Vec::new()) };
                let mut bytes = vec![0; rows.row_bytes as usize];
                match memory.read(rows.address + row * rows.stride, &mut bytes) {
                    Ok(()) => Some(bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()),
                    Err(error) => {
                        note(bus(error));
                        None
                    }
                }
            };
            let gains = gains.get_or_insert_with(|| load(operation.gains.as_ref()));
            let (x, addends) = (load(Some(&operation.x)), load(operation.addends.as_ref()));
            let factors = load(operation.factors.as_ref());
            let (Some(x), Some(addends), Some(factors), Some(gains)) = (&x, &addends, &factors, &*gains) else {
                continue;
            };
            let done = self.unit.row(operation.steps, operation.scalars, Elements { x, addends, factors, gains });
            let beats = done.beats(self.shape.lanes as usize).iter().filter(|&&overflow| overflow).count();
            overflows += beats as u64;
            if operation.exact && beats > 0 {
                note(code::OVERFLOW);
            }
            let address = operation.out.address + row * operation.out.stride;
            if let Err(error) = memory.write(address, &packed(operation.steps.output, &done)) {
                note(bus(error));
            }
        }
        let defined = codes.is_empty() && operation.is_defined();
        Executed { operation, codes, defined, overflows }
    }
}

/// A row of results as bytes.
fn packed(output: Output, done: &Done) -> Vec<u8> {
    match output {
        Output::Fp16 => done.values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Output::Int8 => done.values.iter().map(|&v| v as u8).collect(),
        Output::Int4 => {
            done.values.chunks(2).map(|pair| (pair[0] | pair.get(1).copied().unwrap_or(0) << 4) as u8).collect()
        }
    }
}

/// A job under way.
struct Job<'a> {
    top: &'a VectorTop,
    limits: Limits,
    memory: &'a mut dyn Memory,
    fetched: Vec<u8>,
    report: Report,
}

impl World for Job<'_> {
    fn descriptor(&mut self, _address: u64) -> Vec<u8> {
        std::mem::take(&mut self.fetched)
    }

    fn outcome(&mut self, action: &Action) -> u8 {
        match action {
            Action::Fetch(address) => {
                self.fetched = vec![0; DESCRIPTOR_BYTES as usize];
                let whole = Command { address: *address, row_bytes: DESCRIPTOR_BYTES, rows: 1, stride: 0 };
                if let Some(refusal) = whole.refusal(self.top.shape.address_width) {
                    return refusal.code() as u8;
                }
                self.memory.read(*address, &mut self.fetched).map_or_else(BusError::response, |()| 0)
            }
            Action::Operation { words, .. } => match Operation::check(&self.top.shape, &self.limits, words) {
                Err(code) => code,
                Ok(operation) => {
                    let executed = self.top.execute(operation, self.memory);
                    let code = executed.codes.first().copied().unwrap_or(0);
                    self.report.executed.push(executed);
                    code
                }
            },
            Action::Tag { address, tag } => {
                self.report.tags.push((*address, *tag));
                self.memory.write(*address, &tag.to_le_bytes()).map_or_else(BusError::response, |()| 0)
            }
        }
    }
}

#[cfg(test)]
mod tests;
