//! Rotate, softmax and layer norm: fields that must be 0, units that must be built in, allowed sizes, and results in
//! memory.

use super::*;
use crate::common::bus::Command;
use crate::common::row::layer_norm::layer_norm;
use crate::common::row::rotary_embedding::turn;
use crate::common::row::softmax::Softmax;
use crate::common::row::vector_unit::{Scalars, Steps};

const SOFTMAX: u32 = 0x050;
const LAYER_NORM: u32 = 0x090;
const ROTATE: u32 = 0x400;
const CAUSAL: u32 = 0x800;

/// Six columns; a softmax counts 3 of them.
fn new(steps: u32) -> Descriptor {
    let length = if steps & 0xd0 == SOFTMAX { 3 } else { 0 };
    Descriptor::new(steps).word(36, 6).word(48, 1).word(112, length)
}

fn halves(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect()
}

fn floats(values: &[f32]) -> Vec<u16> {
    values.iter().map(|&x| f16::from_f32(x).to_bits()).collect()
}

fn bytes(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn what_goes_with_nothing_is_reserved() {
    for (steps, why) in [
        (SOFTMAX & !16, "a kind without a norm"),
        (LAYER_NORM & !16, "a kind without a norm"),
        (0xc0, "a kind without a norm"),
        (SOFTMAX | 32, "a softmax with gains"),
        (CAUSAL, "causal without a norm"),
        (CAUSAL | 16, "causal with another norm"),
        (CAUSAL | LAYER_NORM, "causal with another norm"),
        (CAUSAL | 0xd0, "causal with no norm that there is"),
        (ROTATE | 8, "two steps with factors"),
        (ROTATE | SOFTMAX | 8, "two steps with factors"),
        (ROTATE | SOFTMAX, "a softmax of turned pairs"),
    ] {
        assert_eq!(code_of(new(steps)), code::RESERVED, "{steps:#x}: {why}");
    }
    for steps in [0, 16, 48, LAYER_NORM, LAYER_NORM | 32, ROTATE, 0xd0] {
        for at in 112..116 {
            assert_eq!(code_of(new(steps).byte(at, 1)), code::RESERVED, "{steps:#x}: a length at {at}");
        }
    }
    for at in (53..56).chain(116..128) {
        assert_eq!(code_of(new(SOFTMAX).byte(at, 1)), code::RESERVED, "byte {at}");
    }
    for steps in [SOFTMAX, SOFTMAX | CAUSAL, SOFTMAX | 8, LAYER_NORM, LAYER_NORM | 32, ROTATE, ROTATE | 48] {
        assert_eq!(code_of(new(steps)), 0, "{steps:#x}");
    }
}

#[test]
fn what_was_not_built() {
    assert_eq!(code_of(new(0xd0)), code::FIELD, "no such norm");
    assert_eq!(code_of(new(0xf0)), code::FIELD, "no such norm, with gains");
    let all = Units { softmax: true, layer_norm: true, rotary: true };
    assert_eq!((all.steps(), Units::default().steps()), (STEP_BITS, 0x3f));
    for (lacks, refused) in [
        (Units { softmax: false, ..all }, [SOFTMAX, SOFTMAX | CAUSAL]),
        (Units { layer_norm: false, ..all }, [LAYER_NORM, LAYER_NORM | 32]),
        (Units { rotary: false, ..all }, [ROTATE, ROTATE | 7]),
    ] {
        assert_eq!(Units::of(lacks.steps()), lacks);
        let top = VectorTop::new(Shape { steps: lacks.steps(), ..SHAPE });
        for steps in [SOFTMAX, SOFTMAX | CAUSAL, LAYER_NORM, LAYER_NORM | 32, ROTATE, ROTATE | 7, 0x3f] {
            let expected = if refused.contains(&steps) { code::FIELD } else { 0 };
            let mut memory = memory(&[(0x1000, new(steps))]);
            assert_eq!(top.run(LIMITS, 0x1000, &mut memory).end.code, expected, "{steps:#x} of {lacks:?}");
        }
    }
}

#[test]
fn sizes() {
    for (columns, expected) in [(1, code::SIZE), (2, 0), (5, code::SIZE), (31, code::SIZE), (32, 0), (33, code::SIZE)] {
        assert_eq!(code_of(new(ROTATE).word(36, columns)), expected, "{columns} columns");
    }
    for steps in [SOFTMAX, SOFTMAX | CAUSAL] {
        for (length, expected) in [(0, code::SIZE), (1, 0), (6, 0), (7, code::SIZE), (u32::MAX, code::SIZE)] {
            assert_eq!(code_of(new(steps).word(112, length)), expected, "{length} of 6");
        }
    }
}

/// Angles lie where factors do. Gains with biases take twice as many bytes.
#[test]
fn places_of_operands() {
    let angles = |to| code_of(new(ROTATE).long(80, to));
    assert_eq!([0x2010, 0xfc0, 0xff40, 0xff80].map(angles), [code::ALIGNMENT, code::WINDOW, 0, code::WINDOW]);
    assert_eq!(code_of(new(ROTATE).word(88, 32)), code::ALIGNMENT);
    // 17 columns: 34 bytes of gains, or 68 of pairs.
    let gains = |steps, to| code_of(new(steps).word(36, 17).long(96, to));
    assert_eq!([0xffc0, 0x1_0000].map(|to| gains(48, to)), [0, code::WINDOW]);
    assert_eq!([0xff80, 0xffc0, 0x6020].map(|to| gains(LAYER_NORM | 32, to)), [0, code::WINDOW, code::ALIGNMENT]);
    assert_eq!(gains(LAYER_NORM, u64::MAX), 0, "not looked at");
    // The second half of the pairs is read too: results that lie there overlap.
    let memory = || memory(&[(0x1000, new(LAYER_NORM | 32).word(36, 17).long(96, 0x2fc0))]);
    let report = top().run(LIMITS, 0x1000, &mut memory());
    assert!(report.end.code == 0 && !report.executed[0].defined);
}

#[test]
fn checks_in_their_order() {
    type Fault = (u8, fn(Descriptor) -> Descriptor);
    let operands: [Fault; 6] = [
        (code::ALIGNMENT, |d| d.word(56, 32)),
        (code::WINDOW, |d| d.long(72, 0)),
        (code::ALIGNMENT, |d| d.word(88, 32)),
        (code::WINDOW, |d| d.long(80, 0)),
        (code::ALIGNMENT, |d| d.word(92, 32)),
        (code::WINDOW, |d| d.long(104, 0)),
    ];
    let softmax: [Fault; 5] = [
        (code::RESERVED, |d| d.byte(119, 1)),
        (code::FIELD, |d| d.word(40, 0x35f)),
        (code::SIZE, |d| d.word(32, 0)),
        (code::SIZE, |d| d.word(36, 0)),
        (code::SIZE, |d| d.word(112, 0)),
    ];
    let turned: [Fault; 4] = [
        (code::RESERVED, |d| d.byte(119, 1)),
        (code::FIELD, |d| d.word(40, 0x717)),
        (code::SIZE, |d| d.word(32, 0)),
        (code::SIZE, |d| d.word(36, 7)),
    ];
    for (steps, fields) in [(0x05f, &softmax[..]), (0x417, &turned[..])] {
        let faults = [fields, &operands].concat();
        for first in 0..faults.len() {
            let all = faults[first..].iter().rev().fold(new(steps), |d, (_, fault)| fault(d));
            assert_eq!(code_of(all), faults[first].0, "{steps:#x}: fault {first}");
        }
    }
}

#[test]
fn each_row_may_count_one_more() {
    let x = floats(&[0.5, -1.0, 2.0, 1.0, 0.0, 3.0]);
    let run = |steps, length, rows: u32| {
        let mut memory = memory(&[(0x1000, new(steps).word(32, rows).word(56, 0).word(112, length))]);
        memory.store(0x2000, &bytes(&x));
        let report = top().run(LIMITS, 0x1000, &mut memory);
        assert_eq!((report.end.code, report.overflows()), (0, 0));
        (0..rows).map(|row| halves(&memory.bytes(0x3000 + 64 * u64::from(row), 12))).collect::<Vec<_>>()
    };
    let of = |length| Softmax::new().softmax(&x, length, 4, 22).values;
    assert_eq!(run(SOFTMAX, 2, 3), [of(2), of(2), of(2)]);
    assert_eq!(run(SOFTMAX | CAUSAL, 2, 6), [2, 3, 4, 5, 6, 6].map(of));
    assert_eq!(run(SOFTMAX | CAUSAL, 1, 3), [1, 2, 3].map(of));
    assert_eq!(of(1), floats(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
}

/// More rows than lengths: the last row counts no more elements than it has.
#[test]
fn causal_in_many_rows() {
    let operation = Operation {
        columns: 6,
        steps: Steps::default(),
        exact: false,
        scalars: Scalars::default(),
        x: Command { address: 0, row_bytes: 12, rows: 65_535, stride: 0 },
        addends: None,
        factors: None,
        gains: None,
        length: 6,
        causal: true,
        out: Command { address: 0, row_bytes: 12, rows: 65_535, stride: 0 },
    };
    assert_eq!([0, 1, 65_534].map(|row| operation.length_of(row)), [6; 3]);
    let first = Operation { length: 1, ..operation.clone() };
    assert_eq!([0, 1, 4, 5, 6, 65_534].map(|row| first.length_of(row)), [1, 2, 5, 6, 6, 6]);
    let fixed = Operation { causal: false, ..first };
    assert_eq!([0, 65_534].map(|row| fixed.length_of(row)), [1; 2]);
}

#[test]
fn pairs_turn_by_rows_of_angles() {
    // First each row has its own angles, then all rows share the same ones.
    for stride in [64, 0] {
        let mut memory = memory(&[(0x1000, new(ROTATE).word(88, stride).long(104, 0x2000))]);
        let x = |row: usize| floats(&[1.0, 2.0, -3.0, 0.25, 8.0, 5.0].map(|x: f32| x + row as f32));
        let angles = |row: usize| floats(&[0.6, 0.8, 1.0, 0.0, 0.0, 1.0].map(|x: f32| x - row as f32 / 4.0));
        for row in 0..3 {
            memory.store(0x2000 + 64 * row as u64, &bytes(&x(row)));
            memory.store(0x5000 + 64 * row as u64, &bytes(&angles(row)));
        }
        let report = top().run(LIMITS, 0x1000, &mut memory);
        assert!(report.end.code == 0 && report.executed[0].defined, "in place");
        for row in 0..3 {
            let (x, angles) = (x(row), angles(if stride == 0 { 0 } else { row }));
            let turned: Vec<u16> = (0..6)
                .step_by(2)
                .flat_map(|k| {
                    let (a, b) = turn((x[k], x[k + 1]), angles[k], angles[k + 1]);
                    [a, b]
                })
                .collect();
            assert_eq!(halves(&memory.bytes(0x2000 + 64 * row as u64, 12)), turned, "row {row}");
        }
    }
}

#[test]
fn gains_and_biases_lie_side_by_side() {
    let (gains, biases) = (floats(&[1.0, 2.0, -1.0, 0.5, 1.0, 4.0]), floats(&[0.0, 1.0, 2.0, 3.0, -4.0, 0.5]));
    let pairs: Vec<u16> = gains.iter().zip(&biases).flat_map(|(&gain, &bias)| [gain, bias]).collect();
    for (steps, affine) in [(LAYER_NORM | 32, (&gains[..], &biases[..])), (LAYER_NORM, (&[0x3c00; 6], &[0; 6]))] {
        let mut memory = memory(&[(0x1000, new(steps))]);
        memory.store(0x6000, &bytes(&pairs));
        let rows: Vec<_> = (0..3).map(|row| halves(&memory.bytes(0x2000 + 64 * row, 12))).collect();
        assert_eq!(top().run(LIMITS, 0x1000, &mut memory).end.code, 0);
        for (row, x) in rows.iter().enumerate() {
            let expected = layer_norm(x, Some(affine), 1).unwrap();
            assert_eq!(halves(&memory.bytes(0x3000 + 64 * row as u64, 12)), expected, "row {row}");
        }
    }
}

#[test]
fn rows_without_a_softmax() {
    for (x, exact, expected) in [
        ([0x7c00, 0, 0, 0, 0, 0], true, code::OVERFLOW),
        ([0x7c00, 0, 0, 0, 0, 0], false, 0),
        ([0, 0, 0, 0x7e00, 0x7c00, 0], true, 0),
        ([0xfc00, 0xfc00, 0xfc00, 0, 0, 0], true, 0),
    ] {
        let steps = SOFTMAX | u32::from(exact) << 12;
        let mut memory = memory(&[(0x1000, new(steps).word(32, 1))]);
        memory.store(0x2000, &bytes(&x));
        let report = top().run(LIMITS, 0x1000, &mut memory);
        assert_eq!(report.end.code, expected, "{x:x?}");
        let undefined = x[0] == 0x7c00;
        assert_eq!(report.overflows(), if undefined { 2 } else { 0 }, "two beats");
        let row = halves(&memory.bytes(0x3000, 12));
        assert_eq!(row.iter().all(|&v| v == 0x7e00), undefined, "{row:x?}");
        assert_eq!(row.iter().all(|&v| v == 0), x[0] == 0xfc00, "{row:x?}");
    }
}
