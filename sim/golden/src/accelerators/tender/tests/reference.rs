//! Random operations against a second computation, element by element from the bytes in memory, with the library's floats.

use proptest::prelude::*;

use super::*;
use crate::common::float::{Direction, Float, Integers};
use crate::format::FloatFormat::{Fp16, Fp32};
use crate::tender::multi_scale_array::{Beat, narrow, wide};

#[derive(Clone, Debug)]
struct Case {
    shape: Shape,
    /// How a sum is handled that does not fit.
    overflow: Overflow,
    opcode: u8,
    rows: u32,
    columns: u32,
    channels: u32,
    flags: u32,
    table: Vec<u16>,
    /// All memory, from `BASE` on.
    bytes: Vec<u8>,
}

const BASE: u64 = 0x1000;
/// Operands, each with 0x1000 bytes: A or x, B, table, constants, out.
const PLACES: [u64; 5] = [0x2000, 0x3000, 0x4000, 0x5000, 0x6000];
const STRIDE: u32 = 128;

fn constant() -> impl Strategy<Value = u32> {
    let mild = (-4.0..4.0f32).prop_map(f32::to_bits);
    prop_oneof![20 => mild, 2 => any::<u32>(), 1 => prop::sample::select(vec![0, 1 << 31, 0x7f80_0000, 0x7fc0_0000, 1])]
}

fn case() -> impl Strategy<Value = Case> {
    let shape = (0..2u32, 0..2u32, prop_oneof![3 => Just(32u32), 2 => 4..16u32], any::<bool>()).prop_map(
        |(rows, columns, accumulator_width, saturates)| {
            let overflow = if saturates { Overflow::Saturate } else { Overflow::Wrap };
            (Shape { rows: 4 << rows, columns: 4 << columns, accumulator_width, ..SHAPE }, overflow)
        },
    );
    let sizes = (1..11u32, 1..14u32, 1..8u32);
    let flags = prop::sample::subsequence(vec![0u32, 1, 2, 4, 5, 6, 7], 0..8);
    let bytes = prop::collection::vec(any::<u8>(), 0x6000);
    let constants = prop::collection::vec(constant(), 4 * 16);
    (shape, any::<bool>(), sizes, flags, bytes, constants)
        .prop_flat_map(|(shape, pack, (rows, columns, channels), bits, mut bytes, constants)| {
            let flags = bits.iter().fold(0, |flags, bit| flags | 1 << bit);
            let at = (PLACES[3] - BASE) as usize;
            for (k, constant) in constants.iter().enumerate() {
                bytes[at + 4 * k..][..4].copy_from_slice(&constant.to_le_bytes());
            }
            let entry = prop_oneof![4 => 0..channels as u16, 1 => Just(RESCALE)];
            (Just((shape, pack, rows, columns, channels, flags, bytes)), prop::collection::vec(entry, 1..20))
        })
        .prop_map(|((shape, pack, rows, columns, channels, flags, mut bytes), table)| {
            let (opcode, flags) = if pack { (2, flags & (1 | 32 | 64)) } else { (1, flags) };
            if pack {
                // Numbers that mostly are not too large for integers.
                let x = &mut bytes[(PLACES[0] - BASE) as usize..][..0x1000];
                x.iter_mut()
                    .skip(1)
                    .step_by(2)
                    .filter(|byte| **byte & 3 != 0)
                    .for_each(|byte| *byte = *byte & 0x87 | 0x38);
            } else {
                bytes[(PLACES[2] - BASE) as usize..][..2 * table.len()].copy_from_slice(&entries(&table));
            }
            let (shape, overflow) = shape;
            Case { shape, overflow, opcode, rows, columns, channels, flags, table, bytes }
        })
}

impl Case {
    fn has(&self, bit: u32) -> bool {
        self.flags >> bit & 1 == 1
    }

    fn bits(&self) -> u32 {
        if self.has(0) { 8 } else { 4 }
    }

    /// Lines of a panel of so many PEs.
    fn lines(&self, pes: u32) -> u32 {
        if self.has(0) { pes / 2 } else { pes }
    }

    /// The integer of line `line` at `inner`, bit by bit.
    fn integer(&self, place: u64, lines: u32, (line, inner): (u32, u32), signed: bool) -> i64 {
        let (bits, bytes) = (self.bits(), &self.bytes[(place - BASE) as usize..]);
        let first = (line / lines * STRIDE * 8) + inner * lines * bits + line % lines * bits;
        let bit = |k: u32| u64::from(bytes[(first + k) as usize / 8] >> ((first + k) % 8) & 1);
        let raw = (0..bits).map(|k| bit(k) << k).sum::<u64>() as i64;
        if signed && raw >> (bits - 1) == 1 { raw - (1 << bits) } else { raw }
    }

    /// A sum that is 0.
    fn fresh(&self) -> Accumulator {
        Accumulator::new(self.shape.accumulator_width, self.overflow).unwrap()
    }

    fn sum(&self, (row, column): (u32, u32)) -> (i128, bool) {
        let beat = |entry: &u16| {
            let channel = u32::from(*entry);
            if *entry == RESCALE {
                return Beat::Rescale(1);
            }
            let act = self.integer(PLACES[0], self.lines(self.shape.rows), (row, channel), !self.has(1));
            let weight = self.integer(PLACES[1], self.lines(self.shape.columns), (column, channel), !self.has(2));
            Beat::Multiply { act: vec![act], weight: vec![weight] }
        };
        let beats: Vec<Beat> = self.table.iter().map(beat).collect();
        let fresh = self.fresh();
        if self.has(0) { wide(&beats, 0, 0, 4, &fresh).unwrap() } else { narrow(&beats, 0, 0, &fresh) }
    }

    /// Raw bits of a result, whether they are an overflow, and whether the sum overflows.
    fn element(&self, memory: &SparseMemory, place: (u32, u32)) -> (u64, bool, bool) {
        let float = Float::ieee(Fp32);
        let record = if self.has(7) { place.0 } else { place.1 };
        let constant = |k: u64| {
            let bytes = memory.bytes(PLACES[3] + 16 * u64::from(record) + 4 * k, 4);
            u64::from(u32::from_le_bytes(bytes.try_into().unwrap()))
        };
        let (number, sum_overflow) = if self.opcode == 1 {
            let (sum, flag) = self.sum(place);
            (float.from_int(sum).bits, flag)
        } else {
            let bytes = memory.bytes(PLACES[0] + u64::from(place.0 * STRIDE + 2 * place.1), 2);
            let half = u64::from(u16::from_le_bytes([bytes[0], bytes[1]]));
            (Float::ieee(Fp16).convert(half, Fp32).bits, false)
        };
        let mut y = float.add(float.mul(number, constant(0)).bits, constant(1)).bits;
        if self.has(6) && y >> 31 == 1 && !Fp32.is_nan(y) {
            y = 0;
        }
        if self.opcode == 1 && !self.has(4) {
            let half = float.convert(y, Fp16).bits;
            return (half, !Fp16.is_finite(half), sum_overflow);
        }
        let to = Integers { width: self.bits(), signed: !self.has(5), direction: Direction::NearestEven };
        let integer = float.to_int(float.mul(y, constant(2)).bits, to);
        (integer.bits, integer.flags.invalid, sum_overflow)
    }
}

proptest! {
    #![proptest_config(seeds::proptest(400))]

    #[test]
    fn every_bit_and_counter(case in case()) {
        let words = [(32, case.rows), (36, case.columns), (48, case.flags), (56, STRIDE), (96, STRIDE)];
        let mut descriptor = Descriptor::of(case.opcode).words(&words);
        descriptor = descriptor.longs(&[(64, PLACES[0]), (88, PLACES[3]), (104, PLACES[4])]);
        if case.opcode == 1 {
            descriptor = descriptor.words(&[(40, case.channels), (44, case.table.len() as u32), (60, STRIDE)]);
            descriptor = descriptor.longs(&[(72, PLACES[1]), (80, PLACES[2])]);
        }
        let mut memory = SparseMemory::new();
        memory.store(BASE, &case.bytes);
        memory.store(BASE, &descriptor.0);
        let mut expected = memory.clone();
        let lines = case.lines(case.shape.rows);
        let (mut overflows, mut sum_overflows) = (0, 0);
        let rows = case.opcode == 1 && !case.has(4);
        for panel in 0..case.rows.div_ceil(lines) {
            for column in 0..case.columns {
                let mut word = 0u128;
                let (mut overflow, mut sum_overflow) = (false, false);
                for line in (0..lines).filter(|line| panel * lines + line < case.rows) {
                    let row = panel * lines + line;
                    let (raw, own, of_sum) = case.element(&memory, (row, column));
                    overflow |= own;
                    sum_overflow |= of_sum;
                    word |= u128::from(raw) << (line * case.bits());
                    if rows {
                        expected.store(PLACES[4] + u64::from(row * STRIDE + 2 * column), &(raw as u16).to_le_bytes());
                    }
                }
                if !rows {
                    let bytes = lines * case.bits() / 8;
                    let at = PLACES[4] + u64::from(panel * STRIDE + column * bytes);
                    expected.store(at, &word.to_le_bytes()[..bytes as usize]);
                }
                overflows += u64::from(overflow);
                sum_overflows += u64::from(sum_overflow);
            }
        }
        // The vector unit's tables take long to make.
        let top = TenderTop { shape: case.shape, fresh: case.fresh(), ..top().clone() };
        let report = top.run(LIMITS, BASE, &mut memory);
        prop_assert_eq!(report.end.code, 0);
        prop_assert!(report.executed[0].defined);
        prop_assert_eq!((report.overflows(), report.sum_overflows()), (overflows, sum_overflows));
        prop_assert!(memory.bytes(BASE, 0x8000) == expected.bytes(BASE, 0x8000));
    }
}
