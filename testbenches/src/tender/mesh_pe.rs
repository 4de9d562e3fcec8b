//! What the bench of an array must know about its PE: the arithmetic of its sums, and operands for it.

use golden::tender::accumulator::Accumulator;
use golden::tender::mesh_pe::PeSum;
use hdl::blocks::tender::{MeshPe, TenderPe};
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::tender_pe::policy;

/// How a bench chooses an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The least one.
    Least,
    /// The largest one.
    Most,
    /// Any one.
    Any,
}

/// How operands are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Integers have a sign.
    pub signed: bool,
    /// Operands have twice the width of a PE's. Only arrays in INT8 mode have such ones.
    pub wide: bool,
}

/// A PE whose arrays can be compared with a golden model.
pub trait PeBench: MeshPe {
    /// The golden model of a sum.
    type Sum: PeSum;

    /// A sum that is 0.
    ///
    /// # Errors
    /// Parameters that the model refuses.
    fn fresh(&self) -> Result<Self::Sum, String>;

    /// An operand that the PE takes.
    fn operand(&self, reading: Reading, choice: Choice, rng: &mut StimulusRng) -> Operand<Self>;

    /// The low bits that carry the operand on the port of the array; higher bits do not count.
    fn bits(&self, operand: Operand<Self>) -> u64;

    /// Whether the sums of random tiles overflow. Then the bench demands that some do.
    fn overflows(&self) -> bool;
}

/// An operand of a PE.
pub type Operand<P> = <<P as PeBench>::Sum as PeSum>::Operand;

/// An integer of `width` bits.
pub fn integer(width: u32, signed: bool, choice: Choice, rng: &mut StimulusRng) -> i64 {
    let (low, high) = if signed { (-1i64 << (width - 1), (1i64 << (width - 1)) - 1) } else { (0, (1i64 << width) - 1) };
    match choice {
        Choice::Least => low,
        Choice::Most => high,
        Choice::Any => rng.random_range(low..=high),
    }
}

impl PeBench for TenderPe {
    type Sum = Accumulator;

    fn fresh(&self) -> Result<Accumulator, String> {
        Accumulator::new(self.accumulator_width, policy(self.overflow))
    }

    fn operand(&self, reading: Reading, choice: Choice, rng: &mut StimulusRng) -> i64 {
        let width = if reading.wide { 2 * self.operand_width } else { self.operand_width };
        integer(width, reading.signed, choice, rng)
    }

    fn bits(&self, operand: i64) -> u64 {
        operand as u64
    }

    fn overflows(&self) -> bool {
        // Without rescales 32 bits are out of reach.
        self.max_rescale() > 0
    }
}
