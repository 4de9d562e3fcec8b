use std::cmp::Ordering;

use half::{bf16, f16};
use proptest::prelude::*;

use super::{FloatFormat, Format, FormatError};

const FLOATS: [Format; 5] = {
    use FloatFormat::{Bf16, E3m2, E5m2, Fp16, Fp32};
    [Format::Float(Fp16), Format::Float(Bf16), Format::Float(Fp32), Format::Float(E5m2), Format::Float(E3m2)]
};

/// The integer key that the hardware compares: numerics specification, "Ordering of floats".
fn key(format: Format, bits: u64) -> u64 {
    let msb = 1 << (format.width() - 1);
    if bits & msb != 0 { !bits & format.mask() } else { bits | msb }
}

/// Zeros, subnormals, one, largest finite, infinities, NaNs of both kinds, each with both signs.
fn corners(format: Format) -> Vec<u64> {
    let Format::Float(float) = format else { panic!("{format} has no such corners") };
    let mantissa_bits = float.fraction_bits();
    let sign = 1 << (format.width() - 1);
    let infinity = (sign - 1) >> mantissa_bits << mantissa_bits;
    let normal = 1 << mantissa_bits;
    let quiet = normal >> 1;
    let one = infinity / 2 / normal * normal;
    let positive = [
        0,
        1,
        2,
        quiet,
        normal - 1,
        normal,
        normal + 1,
        one - 1,
        one,
        one + 1,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + quiet - 1,
        infinity + quiet,
        infinity + quiet + 1,
        sign - 1,
    ];
    positive.iter().flat_map(|&bits| [bits, bits | sign]).collect()
}

fn assert_key_agrees(format: Format, a: u64, b: u64) {
    let expected = key(format, a).cmp(&key(format, b));
    assert_eq!(format.total_cmp(a, b), expected, "{format} {a:#x} {b:#x}");
}

#[test]
fn key_agrees_for_every_16_bit_pattern() {
    for format in [Format::FP16, Format::BF16] {
        let mut samples = corners(format);
        samples.extend((0..0x1_0000).step_by(1021));
        for a in 0..0x1_0000 {
            for &b in &samples {
                assert_key_agrees(format, a, b);
                assert_key_agrees(format, b, a);
            }
            // Its neighbours and mirror images, where an off-by-one error would be.
            for b in [a ^ 0x8000, a.wrapping_add(1) & 0xffff, !a & 0xffff] {
                assert_key_agrees(format, a, b);
            }
        }
    }
}

#[test]
fn key_agrees_on_every_pair_of_corners() {
    for format in FLOATS {
        for &a in &corners(format) {
            for &b in &corners(format) {
                assert_key_agrees(format, a, b);
            }
        }
    }
}

#[test]
fn order_of_the_landmarks() {
    // fp16, strictly ascending: negative quiet NaN, negative signalling NaN, -inf, -1, smallest
    // negative subnormal, -0, +0, smallest subnormal, smallest normal, 1, inf, NaNs.
    let ascending = [
        0xfe01, 0xfe00, 0xfc02, 0xfc01, 0xfc00, 0xbc00, 0x8001, 0x8000, 0x0000, 0x0001, 0x0400, 0x3c00, 0x7c00, 0x7c01,
        0x7c02, 0x7e00, 0x7e01,
    ];
    for (i, &a) in ascending.iter().enumerate() {
        for (j, &b) in ascending.iter().enumerate() {
            assert_eq!(Format::FP16.total_cmp(a, b), i.cmp(&j), "{a:#x} {b:#x}");
        }
    }
}

proptest! {
    #![proptest_config(seeds::proptest(256))]

    /// Third opinions: the standard library's and `half`'s own totalOrder, and numeric order.
    #[test]
    fn agrees_with_other_implementations(a: u32, b: u32) {
        let (wide_a, wide_b) = (u64::from(a), u64::from(b));
        assert_key_agrees(Format::FP32, wide_a, wide_b);
        let expected = f32::from_bits(a).total_cmp(&f32::from_bits(b));
        prop_assert_eq!(Format::FP32.total_cmp(wide_a, wide_b), expected);

        let (half_a, half_b) = (wide_a & 0xffff, wide_b & 0xffff);
        let expected = f16::from_bits(a as u16).total_cmp(&f16::from_bits(b as u16));
        prop_assert_eq!(Format::FP16.total_cmp(half_a, half_b), expected);
        let expected = bf16::from_bits(a as u16).total_cmp(&bf16::from_bits(b as u16));
        prop_assert_eq!(Format::BF16.total_cmp(half_a, half_b), expected);

        let int32 = Format::Int { bits: 32 };
        prop_assert_eq!(int32.total_cmp(wide_a, wide_b), (a as i32).cmp(&(b as i32)));
        prop_assert_eq!(Format::Uint { bits: 32 }.total_cmp(wide_a, wide_b), a.cmp(&b));
        let int8 = Format::Int { bits: 8 };
        prop_assert_eq!(int8.total_cmp(wide_a & 0xff, wide_b & 0xff), (a as i8).cmp(&(b as i8)));
    }

    #[test]
    fn text_form_round_trips(bits in 1u32..=32, kind in 0..7usize) {
        let format = match kind {
            5 => Format::Int { bits },
            6 => Format::Uint { bits },
            float => FLOATS[float],
        };
        prop_assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        let json = serde_json::to_string(&format).unwrap();
        prop_assert_eq!(&json, &format!("\"{format}\""));
        prop_assert_eq!(serde_json::from_str::<Format>(&json).unwrap(), format);
    }
}

#[test]
fn nan_is_what_the_standard_says() {
    for bits in 0..0x1_0000u64 {
        assert_eq!(Format::FP16.is_nan(bits), f16::from_bits(bits as u16).is_nan());
        assert_eq!(Format::BF16.is_nan(bits), bf16::from_bits(bits as u16).is_nan());
        assert!(!Format::Int { bits: 16 }.is_nan(bits));
    }
    for &bits in &corners(Format::FP32) {
        assert_eq!(Format::FP32.is_nan(bits), f32::from_bits(bits as u32).is_nan());
    }
}

#[test]
fn one_bit_integers() {
    let int1 = Format::Int { bits: 1 };
    assert_eq!(int1.value(1), -1.0);
    assert_eq!(int1.total_cmp(1, 0), Ordering::Less);
    let uint1 = Format::Uint { bits: 1 };
    assert_eq!(uint1.value(1), 1.0);
    assert_eq!(uint1.total_cmp(1, 0), Ordering::Greater);
}

#[test]
fn values_for_display() {
    assert_eq!(Format::FP16.show(0x3c00), "0x3c00 (1)");
    assert_eq!(Format::FP16.show(0x8000), "0x8000 (-0)");
    assert_eq!(Format::BF16.show(0x4049), "0x4049 (3.140625)");
    assert_eq!(Format::FP32.show(0x7f80_0000), "0x7f800000 (inf)");
    assert_eq!(Format::Float(FloatFormat::E5m2).show(0xc1), "0xc1 (-2.5)");
    assert_eq!(Format::Float(FloatFormat::E3m2).show(0x01), "0x01 (0.0625)");
    assert_eq!(Format::Int { bits: 12 }.show(0x800), "0x800 (-2048)");
    assert_eq!(Format::Int { bits: 32 }.show(0x8000_0000), "0x80000000 (-2147483648)");
    assert_eq!(Format::Uint { bits: 32 }.show(0xffff_ffff), "0xffffffff (4294967295)");
}

#[test]
fn errors_name_what_would_be_right() {
    for text in ["", "fp8", "FP16", "int", "uint", "int+8", "int08", "int 8", "sint8", "int8 "] {
        let error = text.parse::<Format>().unwrap_err();
        assert_eq!(error, FormatError::Unknown { text: text.to_owned() });
        assert!(error.to_string().contains("expected fp16, bf16, fp32, e5m2, e3m2, int1"), "{error}");
    }
    for text in ["int0", "uint0", "int33", "uint64", "int99999999999"] {
        let error = text.parse::<Format>().unwrap_err();
        assert_eq!(error.to_string(), format!("number format `{text}`: an integer has 1 to 32 bits"));
    }
    assert!(serde_json::from_str::<Format>("\"int0\"").is_err());
    assert_eq!(
        Format::Int { bits: 4 }.check_raw(0x10).unwrap_err().to_string(),
        "raw value 0x10 does not fit int4: the largest pattern of 4 bits is 0xf"
    );
    assert!(Format::FP32.check_raw(0xffff_ffff).is_ok());
}
