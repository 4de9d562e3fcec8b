//! Descriptors that change in one place, each time in another one.

use std::sync::Arc;

use hdl::lang::operation::{Condition, Opcode, OperationField, Values};

use super::Draft;
use super::spoil::{is_address, is_stride};

/// Step from one change to the next.
const STEP: u64 = 389;

/// A change of a descriptor.
#[derive(Clone, Copy)]
enum Change<'a> {
    /// The field has this value.
    Value(&'a OperationField, u64),
    /// The bit after the header is another one.
    Bit(u32),
}

/// All changes of an operation, by kind: each field at both ends of its range and one beyond, each bit that no field has,
/// each bit of a field with a range, a condition or a place. Fields that may be anything are drawn anyway.
fn changes(operation: &Opcode) -> [Vec<Change<'_>>; 3] {
    let layout = &operation.layout;
    let gaps = layout.gaps().into_iter().flatten().map(Change::Bit).collect();
    let (mut ends, mut bits) = (Vec::new(), Vec::new());
    for field in &layout.fields {
        if let Some((least, most)) = field.values.range() {
            let (least, most) = (u64::from(least), u64::from(most));
            let around = [least.checked_sub(1), Some(least), Some(most), Some(most + 1)];
            let fits = |value: &u64| *value <= u64::MAX >> (64 - field.width);
            ends.extend(around.into_iter().flatten().filter(fits).map(|value| Change::Value(field, value)));
        }
        let means = field.values != Values::Any || field.width == 1 || field.when != Condition::Always;
        if means || is_address(field) || is_stride(field) {
            bits.extend(field.bits().map(Change::Bit));
        }
    }
    [ends, gaps, bits]
}

impl Draft {
    /// Changes it in one place, with each number in another one. Of six numbers one is for the ends of ranges, one for bits
    /// that no field has, four for bits of fields. Returns whether rows now lie elsewhere: a bit of an address or of a
    /// stride is another one.
    pub fn vary(&mut self, turn: u64) -> bool {
        let operation = Arc::clone(&self.operation);
        let [ends, gaps, bits] = changes(&operation);
        let (all, number) = match turn % 6 {
            0 if !ends.is_empty() => (ends, turn / 6),
            1 if !gaps.is_empty() => (gaps, turn / 6),
            _ if bits.is_empty() => (gaps, turn),
            kind => (bits, turn / 6 * 4 + kind % 4),
        };
        let count = all.len() as u64;
        let step = if count.is_multiple_of(STEP) { 1 } else { STEP };
        match all[(number % count * step % count) as usize] {
            Change::Value(field, value) => {
                self.set(&field.name, value);
                false
            }
            Change::Bit(bit) => {
                self.flip_bit(bit);
                let mut places = operation.layout.fields.iter().filter(|field| is_address(field) || is_stride(field));
                places.any(|field| field.bits().contains(&bit))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hdl::accelerators::vector::VectorTop;

    use super::super::Operations;
    use super::*;

    /// Every change has its turn, and is another one.
    #[test]
    fn each_turn_is_another_change() {
        let mut good = Operations::of(&VectorTop::default()).draft("vector");
        good.set("rows", 3u32).set("columns", 8u32);
        let lists = changes(&good.operation);
        // An end of a range may be the value, or one bit from it; all bits differ.
        let count = lists[1].len() + lists[2].len();
        let turns = lists.iter().map(|list| 6 * list.len() as u64).max().unwrap_or(0);
        let seen: BTreeSet<_> = (0..turns)
            .map(|turn| {
                let mut one = good.clone();
                one.vary(turn);
                one.bytes()
            })
            .collect();
        assert!(seen.len() >= count, "{} of {count}", seen.len());
        for (name, value) in [("rows", 0), ("rows", 65_536), ("rows", 3 | 1 << 31), ("x_stride", 1 << 31)] {
            let has = |bytes: &[u8; 128]| good.operation.layout.field(name).unwrap().get(bytes) == value;
            assert!(seen.iter().any(has), "{name} {value}");
        }
    }
}
