//! ANT's types of 4 bits: the values of all codes, as tables.

/// The type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Integers.
    Int,
    /// 0 and powers of two.
    PowerOfTwo,
    /// Integers near 0, powers of two far from it, and values with few significant bits in between.
    Flint,
}

const FLINT_3: [i64; 8] = [0, 1, 2, 3, 16, 8, 4, 6];
const FLINT_4: [i64; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 64, 32, 16, 24, 8, 10, 12, 14];
const POWERS: [i64; 16] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];

/// The value of a code of 4 bits, with a sign or without.
#[must_use]
pub fn decode(of: Type, signed: bool, code: u8) -> i64 {
    let code = usize::from(code & 15);
    if !signed {
        return match of {
            Type::Int => code as i64,
            Type::PowerOfTwo => POWERS[code],
            Type::Flint => FLINT_4[code],
        };
    }
    let sign = if code >= 8 { -1 } else { 1 };
    match of {
        Type::Int => code as i64 - if code >= 8 { 16 } else { 0 },
        Type::PowerOfTwo => sign * POWERS[code % 8],
        Type::Flint => sign * FLINT_3[code % 8],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In order, flint has the values of floats whose mantissa shrinks away from the middle, as the paper says of 4
    /// bits without a sign.
    #[test]
    fn values_of_flint() {
        let values = |signed| {
            let mut values: Vec<i64> = (0..16).map(|code| decode(Type::Flint, signed, code)).collect();
            values.sort_unstable();
            values
        };
        assert_eq!(values(false), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32, 64]);
        assert_eq!(values(true), [-16, -8, -6, -4, -3, -2, -1, 0, 0, 1, 2, 3, 4, 6, 8, 16]);
    }

    #[test]
    fn ends_of_the_others() {
        assert_eq!([decode(Type::Int, true, 8), decode(Type::Int, false, 15)], [-8, 15]);
        assert_eq!([decode(Type::PowerOfTwo, true, 15), decode(Type::PowerOfTwo, false, 15)], [-64, 16384]);
    }
}
