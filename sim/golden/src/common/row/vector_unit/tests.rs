use half::f16;

use super::*;
use crate::common::float::Float;
use crate::common::row::rms_norm::rms_norm;

mod rows;

const FLOAT: Float = Float::ieee(FloatFormat::Fp16);
const SHAPE: Shape = Shape { lanes: 4, max_beats: 8, function: Function::Silu };

fn bits(values: &[f32]) -> Vec<u16> {
    values.iter().map(|&v| f16::from_f32(v).to_bits()).collect()
}

fn unit() -> VectorUnit {
    VectorUnit::new(SHAPE)
}

/// Results as numbers of fp16.
fn floats(steps: Steps, scalars: Scalars, row: Elements<'_>) -> Vec<f32> {
    unit().row(steps, scalars, row).values.iter().map(|&v| f16::from_bits(v).to_f32()).collect()
}

#[test]
fn words() {
    let all = Steps {
        scale: true,
        add: true,
        activate: true,
        multiply: true,
        rotate: true,
        norm: true,
        kind: Norm::RmsNorm,
        gain: true,
        output: Output::Int4,
    };
    assert_eq!(Steps::of(0x63f), Some(all));
    assert_eq!(Steps::of(0x100), Some(Steps { output: Output::Int8, ..Steps::default() }));
    assert_eq!([0x300, 0x0d0, 0x0c0].map(Steps::of), [None; 3], "neither this format nor this norm");
    for (bit, steps) in [
        (0, Steps { scale: true, ..Steps::default() }),
        (1, Steps { add: true, ..Steps::default() }),
        (2, Steps { activate: true, ..Steps::default() }),
        (3, Steps { multiply: true, ..Steps::default() }),
        (4, Steps { norm: true, ..Steps::default() }),
        (5, Steps { gain: true, ..Steps::default() }),
        (6, Steps { kind: Norm::Softmax, ..Steps::default() }),
        (7, Steps { kind: Norm::LayerNorm, ..Steps::default() }),
        (10, Steps { rotate: true, ..Steps::default() }),
        (11, Steps::default()),
        (12, Steps::default()),
    ] {
        assert_eq!(Steps::of(1 << bit), Some(steps), "bit {bit}");
    }
}

#[test]
fn no_step_changes_no_bit() {
    // A NaN keeps its payload too.
    let x = [0x3c00, 0x8000, 0x0001, 0x7bff, 0x7c00, 0xfc00, 0x7e01, 0xfdff];
    let done = unit().row(Steps::default(), Scalars::default(), Elements { x: &x, ..Elements::default() });
    assert_eq!(done.values, x);
    assert_eq!(done.overflows, [false, false, false, false, true, true, true, true]);
    assert_eq!(done.beats(3), [false, true, true], "the last beat has two elements");
    assert_eq!(done.beats(16), [true]);
}

#[test]
fn each_step_alone() {
    let (x, other) = (bits(&[1.0, -2.0, 0.5]), bits(&[3.0, 2.0, -8.0]));
    let row = Elements { x: &x, addends: &other, factors: &other, gains: &other, ..Elements::default() };
    let scalars = Scalars { scale: bits(&[-1.5])[0], quantizer: 0, epsilon: 0 };
    let with = |steps| floats(steps, scalars, row);
    assert_eq!(with(Steps { scale: true, ..Steps::default() }), [-1.5, 3.0, -0.75]);
    assert_eq!(with(Steps { add: true, ..Steps::default() }), [4.0, 0.0, -7.5]);
    assert_eq!(with(Steps { multiply: true, ..Steps::default() }), [3.0, -4.0, -4.0]);
    // x / (1 + e^-x), to an ulp or so.
    let activated = with(Steps { activate: true, ..Steps::default() });
    for (got, exact) in activated.iter().zip([0.731_058_6, -0.238_405_84, 0.311_229_7]) {
        assert!((got - exact).abs() < 5e-4, "{got} {exact}");
    }
    // The root mean square of 1, 2, 1/2 is sqrt(1.75).
    let normed = with(Steps { norm: true, ..Steps::default() });
    for (got, exact) in normed.iter().zip([0.755_928_95, -1.511_857_9, 0.377_964_47]) {
        assert!((got - exact).abs() < 1e-3, "{got} {exact}");
    }
    let gained = with(Steps { norm: true, gain: true, ..Steps::default() });
    for (got, exact) in gained.iter().zip([2.267_787, -3.023_716, -3.023_716]) {
        assert!((got - exact).abs() < 2e-3, "{got} {exact}");
    }
    // A gain without a norm does nothing. Callers refuse it before.
    assert_eq!(with(Steps { gain: true, ..Steps::default() }), [1.0, -2.0, 0.5]);
}

#[test]
fn functions_by_name() {
    let x = bits(&[1.0]);
    let row = Elements { x: &x, ..Elements::default() };
    let steps = Steps { activate: true, ..Steps::default() };
    for (function, exact) in [
        (Function::GeluErf, 0.841_344_7),
        (Function::GeluTanh, 0.841_192),
        (Function::Silu, 0.731_058_6),
        (Function::Tanh, 0.761_594_2),
        (Function::Relu, 1.0),
    ] {
        let got = VectorUnit::new(Shape { function, ..SHAPE }).row(steps, Scalars::default(), row).values[0];
        assert!((f16::from_bits(got).to_f32() - exact).abs() < 5e-4, "{function:?}");
    }
}

/// All steps on rows of odd lengths equal the steps one after the other, each by its own model.
#[test]
fn all_together_in_order() {
    let table = FunctionTable::new(Function::Silu, FloatFormat::Fp16);
    let steps = Steps::of(0x13f).unwrap();
    let scalars = Scalars { scale: bits(&[1.25])[0], quantizer: bits(&[31.75])[0], epsilon: 2_814_749_767 };
    for length in [1, 2, 7, 8, 9, 31] {
        let of = |seed: u32| -> Vec<u16> {
            (0..length).map(|k| bits(&[((k * 37 + seed * 11) % 64) as f32 / 8.0 - 4.0])[0]).collect()
        };
        let (x, addends, factors, gains) = (of(1), of(2), of(3), of(4));
        let row = Elements { x: &x, addends: &addends, factors: &factors, gains: &gains, ..Elements::default() };
        let mut v: Vec<u64> = x.iter().map(|&x| u64::from(x)).collect();
        for (k, v) in v.iter_mut().enumerate() {
            *v = FLOAT.mul(*v, scalars.scale.into()).bits;
            *v = FLOAT.add(*v, addends[k].into()).bits;
            *v = table.apply(FLOAT, *v).bits;
            *v = FLOAT.mul(*v, factors[k].into()).bits;
        }
        let v: Vec<u16> = v.iter().map(|&v| v as u16).collect();
        let normed = rms_norm(&v, Some(&gains), scalars.epsilon).unwrap();
        let expected: Vec<u16> = normed
            .iter()
            .map(|&v| {
                let scaled = f16::from_bits(FLOAT.mul(v.into(), scalars.quantizer.into()).bits as u16);
                let integer = scaled.to_f64().round_ties_even().clamp(-128.0, 127.0);
                u16::from(integer as i8 as u8)
            })
            .collect();
        let done = unit().row(steps, scalars, row);
        assert_eq!(done.values, expected, "{length} elements");
        assert_eq!((done.values.len(), done.beats(8).len()), (length as usize, length.div_ceil(8) as usize));
    }
}

#[test]
fn integers_saturate_and_have_no_nan() {
    let values = [126.5, 127.5, 127.4, -128.4, -128.6, 0.5, 1.5, -0.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let x = bits(&values);
    let row = Elements { x: &x, ..Elements::default() };
    let scalars = Scalars { quantizer: bits(&[1.0])[0], ..Scalars::default() };
    let done = unit().row(Steps::of(0x100).unwrap(), scalars, row);
    let integers: Vec<i8> = done.values.iter().map(|&v| v as u8 as i8).collect();
    // 127.4 is 127.375 in fp16, 128.4 is 128.375.
    assert_eq!(integers, [126, 127, 127, -128, -128, 0, 2, 0, 127, -128, 0]);
    assert_eq!(done.overflows, [false, true, false, false, true, false, false, false, true, true, true]);
    let done = unit().row(Steps::of(0x200).unwrap(), scalars, row);
    assert_eq!(done.values, [7, 7, 7, 8, 8, 0, 2, 0, 7, 8, 0], "four bits, no sign above them");
    let done = unit().row(Steps::of(0x200).unwrap(), Scalars { quantizer: bits(&[0.05])[0], ..scalars }, row);
    assert_eq!(done.values[..5], [6, 6, 6, 0x10 - 6, 0x10 - 6]);
    assert_eq!(done.overflows[..5], [false; 5]);
}

#[test]
fn a_product_that_overflows_saturates() {
    let x = bits(&[60000.0, -60000.0]);
    let scalars = Scalars { quantizer: bits(&[4.0])[0], ..Scalars::default() };
    let row = Elements { x: &x, ..Elements::default() };
    let done = unit().row(Steps::of(0x100).unwrap(), scalars, row);
    assert_eq!((done.values, done.overflows), (vec![0x7f, 0x80], vec![true, true]));
}

#[test]
fn a_row_without_a_norm_is_nan() {
    let norm = Steps { norm: true, ..Steps::default() };
    for x in [[0, 0x8000, 0], [0x3c00, 0x7c00, 0], [0x3c00, 0, 0x7d00]] {
        let done = unit().row(norm, Scalars::default(), Elements { x: &x, ..Elements::default() });
        assert_eq!((done.values, done.overflows), (vec![NAN; 3], vec![true; 3]));
        let integers = Steps { output: Output::Int4, ..norm };
        let done = unit().row(
            integers,
            Scalars { quantizer: 0x3c00, ..Scalars::default() },
            Elements { x: &x, ..Elements::default() },
        );
        assert_eq!((done.values, done.overflows), (vec![0; 3], vec![true; 3]));
    }
    // Epsilon gives zeros a root.
    let done = unit().row(
        norm,
        Scalars { epsilon: 1, ..Scalars::default() },
        Elements { x: &[0, 0x8000], ..Elements::default() },
    );
    assert_eq!((done.values, done.overflows), (vec![0, 0x8000], vec![false; 2]));
}
