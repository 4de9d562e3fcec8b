//! Values where hardware goes wrong first.

use crate::Bits;

/// Corner values of a width, as unsigned and as two's complement: zero, one, both extremes with their neighbours,
/// alternating bits, and single bits. Above 64 bits only single bits at word edges are included. No value occurs twice.
pub fn corners(width: u32) -> Vec<Bits> {
    let ones = Bits::ones(width);
    let mut values = vec![Bits::zero(width), Bits::truncated(width, 1), ones.clone()];
    let with = |base: &Bits, bits: &[u32], value: bool| {
        let mut out = base.clone();
        bits.iter().filter(|&&bit| bit < width).for_each(|&bit| out.set_bit(bit, value));
        out
    };
    if width > 0 {
        let top = width - 1;
        let minimum = with(&Bits::zero(width), &[top], true);
        values.push(minimum.clone());
        values.push(with(&minimum, &[0], true));
        values.push(with(&ones, &[top], false));
        values.push(with(&ones, &[top, 0], false));
        values.push(with(&ones, &[0], false));
    }
    let odd: Vec<u32> = (0..width).filter(|bit| bit % 2 == 1).collect();
    values.push(with(&Bits::zero(width), &odd, true));
    values.push(with(&ones, &odd, false));
    for bit in 0..width {
        if width <= 64 || matches!(bit % 32, 0 | 31) || bit + 1 == width {
            values.push(with(&Bits::zero(width), &[bit], true));
        }
    }
    let mut unique: Vec<Bits> = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

/// Corner values of IEEE binary16, as bit patterns, each with both signs: zero, the subnormal and normal extremes and
/// their neighbours, one and its neighbours, the end of exact integers, infinity, quiet and signalling NaN.
pub fn fp16_corners() -> Vec<u16> {
    let positive = [
        0x0000, // zero
        0x0001, // smallest subnormal, 2^-24
        0x0002, // the next one
        0x03ff, // largest subnormal
        0x0400, // smallest normal, 2^-14
        0x0401, // the next one
        0x1400, // 2^-10, one unit in the last place of 1
        0x3555, // nearest to 1/3
        0x3800, // 0.5
        0x3bff, // below 1
        0x3c00, // 1
        0x3c01, // above 1
        0x3e00, // 1.5
        0x4000, // 2
        0x6800, // 2048, where the spacing becomes 2
        0x6801, // 2050
        0x7800, // 32768
        0x7bfe, // below the largest
        0x7bff, // largest finite, 65504
        0x7c00, // infinity
        0x7c01, // signalling NaN
        0x7e00, // quiet NaN
        0x7fff, // quiet NaN, all payload bits
    ];
    positive.iter().flat_map(|&bits| [bits, bits | 0x8000]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn extremes_of_both_readings_are_present() {
        for width in [1, 2, 8, 31, 64, 65, 200] {
            let values = corners(width);
            let has = |value: &Bits| values.contains(value);
            assert!(has(&Bits::zero(width)) && has(&Bits::ones(width)), "{width}");
            let minimum = num_bigint::BigInt::from(-1) << (width - 1);
            for signed in [minimum.clone(), -minimum - 1] {
                assert!(has(&Bits::from_bigint(width, &signed).unwrap()), "{width}: {signed}");
            }
            let distinct = values.iter().enumerate().all(|(i, v)| !values[..i].contains(v));
            assert!(distinct && values.iter().all(|v| v.width() == width));
        }
        assert_eq!(corners(1).len(), 2);
    }

    #[test]
    fn fp16_corners_are_what_the_comments_say() {
        let values: Vec<f16> = fp16_corners().into_iter().map(f16::from_bits).collect();
        assert!(values.contains(&f16::MIN_POSITIVE_SUBNORMAL) && values.contains(&f16::MIN_POSITIVE));
        assert!(values.contains(&f16::MAX) && values.contains(&f16::NEG_INFINITY) && values.contains(&f16::MIN));
        assert!(values.contains(&f16::from_f32(2048.0)) && values.contains(&f16::from_f32(1.0 / 3.0)));
        assert_eq!(values.iter().filter(|v| v.is_nan()).count(), 6);
    }
}
