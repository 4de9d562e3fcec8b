//! What the accelerator must do, byte by byte and to the cycle. It reads descriptors by itself, from their description,
//! and shares no code with the hardware. Rows are those of the vector accelerator.

pub mod cycles;
pub mod product;

use std::ops::RangeInclusive;

use senbazuru::accelerator::golden::accelerators::job::{self, Executed, Fields};
use senbazuru::accelerator::golden::accelerators::memory::Memory;
use senbazuru::accelerator::golden::accelerators::vector::{self, VectorTop};
use senbazuru::accelerator::golden::common::bus::Command;
use senbazuru::accelerator::golden::common::shell::job_controller::Limits;

pub use product::Product;

/// The parameters of the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows that multiply at the same time.
    pub rows: u32,
    /// Channels that share an exponent.
    pub group: u32,
    /// Channels of the longest row.
    pub channels: u32,
    /// Its vector unit, and the bus.
    pub vector: vector::Shape,
    /// Operations overlap.
    pub overlaps: bool,
}

impl Shape {
    /// Weights of a beat of the bus.
    #[must_use]
    pub fn word(&self) -> u64 {
        u64::from(self.vector.data_width()) / 4
    }

    /// Words of a column of so many channels.
    #[must_use]
    pub fn words(&self, channels: u64) -> u64 {
        channels.div_ceil(self.word())
    }

    /// Bytes of the exponents of a word: 4 bits for each group.
    #[must_use]
    pub fn exponent_bytes(&self) -> u64 {
        self.word() / u64::from(self.group) / 2
    }
}

/// An operation whose fields are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Steps on rows of fp16 numbers.
    Rows(vector::Operation),
    /// A product.
    Product(Product),
}

impl job::Operation for Operation {
    fn out(&self) -> &Command {
        match self {
            Self::Rows(rows) => rows.out(),
            Self::Product(product) => &product.out,
        }
    }
}

/// The accelerator.
#[derive(Clone, Debug)]
pub struct Golden {
    shape: Shape,
    vector: VectorTop,
}

impl Golden {
    /// An accelerator of this shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self { shape, vector: VectorTop::new(shape.vector) }
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}

const PRODUCT: u8 = 2;

impl job::Accelerator for Golden {
    type Operation = Operation;
    type Checked = Operation;

    fn address_width(&self) -> u32 {
        self.shape.vector.address_width
    }

    fn opcodes(&self) -> u8 {
        2
    }

    fn engine(&self, opcode: u8) -> Option<u32> {
        self.shape.overlaps.then_some(u32::from(opcode == PRODUCT))
    }

    /// Weights and exponents.
    fn early(&self, operation: &Operation) -> Vec<RangeInclusive<u64>> {
        let Operation::Product(Product { weights, exponents, .. }) = operation else { return Vec::new() };
        [weights, exponents].into_iter().flat_map(job::rows).collect()
    }

    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        match opcode {
            PRODUCT => Product::check(&self.shape, limits, fields).map(Operation::Product),
            _ => vector::Operation::check(&self.shape.vector, limits, fields).map(Operation::Rows),
        }
    }

    fn execute(&self, operation: Operation, memory: &mut dyn Memory) -> Executed<Operation> {
        match operation {
            Operation::Rows(rows) => self.vector.execute(rows, memory).map(Operation::Rows),
            Operation::Product(product) => product.execute(&self.shape, memory).map(Operation::Product),
        }
    }
}
