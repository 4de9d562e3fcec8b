//! Descriptors that break the rules of their table.

use std::ops::Range;

use hdl::lang::operation::{Condition, OperationField, Values};
use rand::RngExt;
use rand::seq::IndexedRandom;
use sim::stimulus::StimulusRng;

use super::{Draft, Fault};
use crate::draw::often;

/// Operands lie at multiples of 2 to the power of this.
const ALIGNMENT: u32 = 6;
/// Numbers of operations: more than any accelerator has, so that some of them mean nothing.
const NUMBERS: u8 = 10;

/// One way to break a rule.
enum Break<'a> {
    /// A bit in a run that no field has.
    Gap(Range<u32>),
    /// The field means nothing, and is not 0.
    Idle(&'a OperationField),
    /// The field decides whether others mean something, and changes.
    Decides(&'a OperationField),
    /// The operation is another one, with other fields.
    Opcode,
    /// The value lies around an end of its range.
    Range(&'a OperationField),
    /// The address or the stride is odd, or far away.
    Place(&'a OperationField),
    /// One bit of the field is another one.
    Bit(&'a OperationField),
    /// A way that the bench knows.
    Own(Fault<'a>),
}

impl Draft {
    /// Breaks a rule: a bit that no field has, a field that means nothing, a field that decides what others mean, a
    /// value around the ends of its range, an address or a stride, any bit of a field, or one of the bench's `own`
    /// faults. Each kind has the same chance. Now and then two rules are broken, whose errors have an order, and now
    /// and then none.
    pub fn spoil(&mut self, rng: &mut StimulusRng, own: &[Fault<'_>]) {
        let faults = if often(rng, 4) { 2 } else { 1 };
        for _ in 0..faults {
            let operation = std::sync::Arc::clone(&self.operation);
            let fields = &operation.layout.fields;
            let kinds = [
                operation.layout.gaps().into_iter().map(Break::Gap).collect(),
                self.idle(fields),
                decides(fields),
                fields.iter().filter(|field| field.values != Values::Any).map(Break::Range).collect(),
                fields.iter().filter(|field| is_address(field) || is_stride(field)).map(Break::Place).collect(),
                fields.iter().map(Break::Bit).collect(),
                own.iter().map(|fault| Break::Own(*fault)).collect(),
            ];
            let kinds: Vec<Vec<Break<'_>>> = kinds.into_iter().filter(|ways: &Vec<_>| !ways.is_empty()).collect();
            if let Some(way) = kinds.choose(rng).and_then(|ways| ways.choose(rng)) {
                self.break_rule(rng, way);
            }
        }
    }

    /// Fields that mean nothing here; where all mean something, those that need not.
    fn idle<'a>(&self, fields: &'a [OperationField]) -> Vec<Break<'a>> {
        let conditional = || fields.iter().filter(|field| field.when != Condition::Always);
        let means = |field: &&OperationField| field.when.holds(&|name| self.get(name), self.opcode().into());
        let idle: Vec<_> = conditional().filter(|field| !means(field)).map(Break::Idle).collect();
        if idle.is_empty() { conditional().map(Break::Idle).collect() } else { idle }
    }

    fn break_rule(&mut self, rng: &mut StimulusRng, way: &Break<'_>) {
        match way {
            Break::Gap(bits) => self.set_bit(rng.random_range(bits.clone()), true),
            Break::Idle(field) => {
                let value = rng.random::<u64>() | 1 << rng.random_range(0..field.width);
                self.set(&field.name, value);
            }
            Break::Decides(field) => {
                let (least, most) = ends(field);
                let value = if self.is(&field.name) && rng.random() { 0 } else { rng.random_range(least..=most) };
                let value = if field.width == 1 { 1 - self.get(&field.name) } else { value };
                self.set(&field.name, value);
            }
            Break::Opcode => {
                self.put("opcode", rng.random_range(0..NUMBERS));
            }
            Break::Range(field) => {
                let (least, most) = ends(field);
                let more = self.get(&field.name) | 1 << rng.random_range(0..field.width);
                // Sizes have bounds that depend on the state, too.
                let larger = self.get(&field.name) + (1 << rng.random_range(0..10u8));
                let values = [least.wrapping_sub(1), least, most, most + 1, more, larger, u64::MAX];
                self.set(&field.name, values[rng.random_range(0..values.len())]);
            }
            Break::Place(field) => {
                let bit = if rng.random() { 0..ALIGNMENT } else { ALIGNMENT..field.width };
                self.flip(field, rng.random_range(bit));
            }
            Break::Bit(field) => self.flip(field, rng.random_range(0..field.width)),
            Break::Own(fault) => fault(self, rng),
        }
    }

    fn flip(&mut self, field: &OperationField, bit: u32) {
        self.set(&field.name, self.get(&field.name) ^ 1 << bit);
    }
}

/// What the conditions of fields read, and the number of the operation.
fn decides(fields: &[OperationField]) -> Vec<Break<'_>> {
    let read: Vec<&str> = fields.iter().flat_map(|field| field.when.fields()).collect();
    let read = fields.iter().filter(|field| read.contains(&field.name.as_str()));
    read.map(Break::Decides).chain([Break::Opcode]).collect()
}

/// The least and the most of the right values of a field.
fn ends(field: &OperationField) -> (u64, u64) {
    let all = (0, u64::MAX >> (64 - field.width));
    field.values.range().map_or(all, |(least, most)| (least.into(), most.into()))
}

/// Only addresses have 64 bits.
pub(super) fn is_address(field: &OperationField) -> bool {
    field.width == u64::BITS
}

pub(super) fn is_stride(field: &OperationField) -> bool {
    field.name == "stride" || field.name.ends_with("_stride")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hdl::accelerators::vector::VectorTop;
    use sim::stimulus::rng_for;

    use super::super::{BYTES, Operations};
    use super::*;

    /// Each bit after the header is spoilt some time, and so are all numbers of operations, both ends of a range, and
    /// what only the bench knows.
    #[test]
    fn everything_is_spoilt() {
        let mut good = Operations::of(&VectorTop::default()).draft("vector");
        good.set("rows", 3u32).set("columns", 8u32).set("norm", 1u32).set("kind", 1u32).set("length", 8u32);
        let mut rng = rng_for(seeds::seed(1), "spoilt");
        let (mut bits, mut numbers, mut rows, mut owned) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), 0);
        for _ in 0..400_000 {
            let mut bad = good.clone();
            bad.spoil(&mut rng, &[&|one, _| one.bytes[20] = 1]);
            let changed = |bit: &usize| (good.bytes[bit / 8] ^ bad.bytes[bit / 8]) >> (bit % 8) & 1 == 1;
            bits.extend((8 * 32..8 * BYTES).filter(changed));
            numbers.insert(bad.opcode());
            rows.insert(bad.get("rows"));
            owned += u32::from(bad.bytes[20] == 1);
            if bits.len() == 8 * (BYTES - 32) {
                break;
            }
        }
        assert_eq!(bits.len(), 8 * (BYTES - 32), "{bits:?}");
        assert_eq!(numbers, (0..NUMBERS).collect());
        assert!([0, 1, 65_535, 65_536, u64::from(u32::MAX)].iter().all(|value| rows.contains(value)), "{rows:?}");
        assert!(owned > 100, "{owned}");
    }
}
