//! Steps that need more of a row than an element: rotate, softmax, layer norm.

use super::*;
use crate::common::row::layer_norm::layer_norm;
use crate::common::row::rotary_embedding::turn;
use crate::common::row::softmax::Softmax;

const ROTATE: u32 = 0x400;
const SOFTMAX: u32 = 0x050;
const LAYER_NORM: u32 = 0x090;

fn done(word: u32, row: Elements<'_>) -> Done {
    unit().row(Steps::of(word).unwrap(), Scalars::default(), row)
}

fn any(count: usize, seed: usize) -> Vec<u16> {
    (0..count).map(|k| bits(&[((k * 37 + seed * 11) % 64) as f32 / 8.0 - 4.0])[0]).collect()
}

#[test]
fn neighbours_turn() {
    // A quarter turn, none, and half of one.
    let x = bits(&[3.0, -5.0, 3.0, -5.0, 0.5, 2.0]);
    let angles = bits(&[0.0, 1.0, 1.0, 0.0, -1.0, 0.0]);
    let row = Elements { x: &x, factors: &angles, ..Elements::default() };
    assert_eq!(done(ROTATE, row).values, bits(&[5.0, 3.0, 3.0, -5.0, -0.5, -2.0]));
    // A NaN, an infinity, and a pair that overflows. The other elements do not change.
    let x = [0x7e00, 0x3c00, 0x7c00, 0x3c00, 0x7bff, 0x7bff, 0x3c00, 0x4000];
    let angles = bits(&[0.6, 0.8, 0.6, 0.8, 0.8, 0.6, 0.8, 0.6]);
    let result = done(ROTATE, Elements { x: &x, factors: &angles, ..Elements::default() });
    for (k, pair) in result.values.chunks(2).enumerate() {
        let at = 2 * k;
        assert_eq!((pair[0], pair[1]), turn((x[at], x[at + 1]), angles[at], angles[at + 1]), "pair {k}");
    }
    assert_eq!(result.overflows, [true, true, true, true, false, true, false, false]);
}

#[test]
fn softmax_of_the_first_elements() {
    let softmax = Softmax::new();
    for (lanes, max_beats, places) in [(4, 8, 22), (2, 4, 20), (8, 64, 26), (1, 31, 21)] {
        let unit = VectorUnit::new(Shape { lanes, max_beats, ..SHAPE });
        let longest = (lanes * max_beats).min(40) as usize;
        for (elements, length) in [(1, 1), (2, 1), (5, 3), (longest, longest), (longest, 2), (7, 0), (7, 8)] {
            let x: Vec<u16> = any(elements, length).iter().map(|x| x ^ ((x & 1) << 12)).collect();
            let row = Elements { x: &x, length, ..Elements::default() };
            let done = unit.row(Steps::of(SOFTMAX).unwrap(), Scalars::default(), row);
            assert_eq!(done.values, softmax.softmax(&x, length, lanes as usize, places).values, "{elements} {length}");
            assert!(done.values.iter().skip(length).all(|&v| v == 0) && !done.overflows.contains(&true));
            let sum: f32 = done.values.iter().map(|&v| f16::from_bits(v).to_f32()).sum();
            assert!((sum - f32::from(u8::from(length > 0))).abs() < 0.01, "{sum}: {elements} {length}");
        }
    }
}

/// If the places of the sum make a difference, the places of the longest row that was built in count.
#[test]
fn a_longer_row_has_more_places() {
    // Ones, and many elements far below them that are lost with few places.
    let x: Vec<u16> = (0..32).map(|k| bits(&[if k == 0 { 0.0 } else { -11.0 - k as f32 / 32.0 }])[0]).collect();
    let row = Elements { x: &x, length: 32, ..Elements::default() };
    let of = |max_beats| {
        let unit = VectorUnit::new(Shape { max_beats, ..SHAPE });
        unit.row(Steps::of(SOFTMAX).unwrap(), Scalars::default(), row).values
    };
    let by = |places| Softmax::new().softmax(&x, 32, 4, places).values;
    assert_eq!([of(8), of(1024)], [by(22), by(29)]);
    assert_ne!(by(16), by(22));
}

#[test]
fn softmax_of_rows_without_one() {
    let of = |x: &[u16], length| done(SOFTMAX, Elements { x, length, ..Elements::default() });
    for bad in [0x7c00, 0x7e00, 0xfe01] {
        let undefined = of(&[0x3c00, bad, 0x3c00], 2);
        assert_eq!((undefined.values, undefined.overflows), (vec![NAN; 3], vec![true; 3]));
        let masked = of(&[0x3c00, 0x3c00, bad], 2);
        assert_eq!((masked.values, masked.overflows), (vec![0x3800, 0x3800, 0], vec![false; 3]));
    }
    let empty = of(&[0xfc00, 0xfc00, 0x3c00], 2);
    assert_eq!((empty.values, empty.overflows), (vec![0; 3], vec![false; 3]));
    // As an integer a NaN is 0, and it is still reported.
    let x = [0x7c00, 0x3c00];
    let integers = done(SOFTMAX | 0x100, Elements { x: &x, length: 2, ..Elements::default() });
    assert_eq!((integers.values, integers.overflows), (vec![0; 2], vec![true; 2]));
}

#[test]
fn layer_norms() {
    let (x, gains, biases) = (any(13, 1), any(13, 2), any(13, 3));
    let row = Elements { x: &x, gains: &gains, biases: &biases, ..Elements::default() };
    let scalars = Scalars { epsilon: 2_814_749_767, ..Scalars::default() };
    let with = |word| unit().row(Steps::of(word).unwrap(), scalars, row).values;
    assert_eq!(with(LAYER_NORM | 32), layer_norm(&x, Some((&gains, &biases)), scalars.epsilon).unwrap());
    assert_eq!(with(LAYER_NORM), layer_norm(&x, Some((&[0x3c00; 13], &[0; 13])), scalars.epsilon).unwrap());
    // Mean 2, variance 1.
    let of = |x: &[u16]| done(LAYER_NORM, Elements { x, ..Elements::default() });
    assert_eq!(of(&[0x3c00, 0x4200]).values, [0xbc00, 0x3c00]);
    // A constant row has no norm without epsilon. A row with an infinity has none either.
    for bad in [[0x4500; 2], [0x3c00, 0xfc00]] {
        assert_eq!(of(&bad), Done { values: vec![NAN; 2], overflows: vec![true; 2] });
    }
}

/// Without gains a bias of +0 is added all the same: a result that would round to -0 is +0.
#[test]
fn a_layer_norm_gives_no_negative_zero() {
    let x = [0x7bff, 0xfbff, 0x8001, 0];
    assert_eq!(layer_norm(&x, None, 0).unwrap()[2..], [0x8000, 0]);
    assert_eq!(done(LAYER_NORM, Elements { x: &x, ..Elements::default() }).values[2..], [0, 0]);
}

/// Each norm after all steps that come before it, each step by its own model.
#[test]
fn rotate_and_norms_in_order() {
    let table = FunctionTable::new(Function::Silu, FloatFormat::Fp16);
    let scalars = Scalars { scale: bits(&[1.25])[0], quantizer: bits(&[31.75])[0], epsilon: 2_814_749_767 };
    for count in [2, 8, 10, 32] {
        let [x, addends, angles, gains, biases] = [1, 2, 3, 4, 5].map(|seed| any(count, seed));
        let length = count / 2 + 1;
        let row = Elements { x: &x, addends: &addends, factors: &angles, gains: &gains, biases: &biases, length };
        let mut v: Vec<u16> = x
            .iter()
            .zip(&addends)
            .map(|(&x, &addend)| {
                let scaled = FLOAT.mul(x.into(), scalars.scale.into()).bits;
                table.apply(FLOAT, FLOAT.add(scaled, addend.into()).bits).bits as u16
            })
            .collect();
        for k in (0..count).step_by(2) {
            (v[k], v[k + 1]) = turn((v[k], v[k + 1]), angles[k], angles[k + 1]);
        }
        let softmax = Softmax::new().softmax(&v, length, 4, 22).values;
        let layer = layer_norm(&v, Some((&gains, &biases)), scalars.epsilon).unwrap();
        let root = rms_norm(&v, Some(&gains), scalars.epsilon).unwrap();
        for (word, normed) in [(0x050u32, softmax), (0x0b0, layer), (0x030, root), (0, v.clone())] {
            let of = |word: u32| unit().row(Steps::of(word | 0x407).unwrap(), scalars, row).values;
            assert_eq!(of(word), normed, "{count} elements, {word:#x}");
            let integer = |&v: &u16| {
                let scaled = f16::from_bits(FLOAT.mul(v.into(), scalars.quantizer.into()).bits as u16);
                u16::from(scaled.to_f64().round_ties_even().clamp(-128.0, 127.0) as i8 as u8)
            };
            assert_eq!(of(word | 0x100), normed.iter().map(integer).collect::<Vec<_>>(), "{count}, {word:#x}");
        }
    }
}
