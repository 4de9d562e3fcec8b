//! Outlier-victim pairs of OliVe: the values of all codes, as tables.
//!
//! A value of 4 bits is normal or an outlier. Normal values are int4 or flint4, one for each tensor. Outliers are
//! abfloat, with 2 bits of exponent and one of mantissa, and with a bias that puts them just beyond the normal values.
//! The code 1000 marks the victim; neither int4 (-8) nor flint4 (-0) uses it. A victim counts as 0, and the other value
//! of its pair is an outlier.

/// The type of a tensor's normal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normal {
    /// -7 to 7, two's complement.
    Int4,
    /// A sign and 0, 1, 2, 3, 4, 6, 8, 16.
    Flint4,
}

/// The code that marks the victim.
pub const IDENTIFIER: u8 = 0b1000;

/// Normal values of the codes; 0 for the identifier.
const INT4: [i64; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 0, -7, -6, -5, -4, -3, -2, -1];
const FLINT4: [i64; 16] = [0, 1, 2, 3, 16, 8, 4, 6, 0, -1, -2, -3, -16, -8, -4, -6];
/// Outliers of tensors with int4.
const ABFLOAT_2: [i64; 16] = [0, 12, 16, 24, 32, 48, 64, 96, 0, -12, -16, -24, -32, -48, -64, -96];
/// Outliers of tensors with flint4.
const ABFLOAT_3: [i64; 16] = [0, 24, 32, 48, 64, 96, 128, 192, 0, -24, -32, -48, -64, -96, -128, -192];

/// The two values of a pair of 4-bit codes; `None` if both are victims, which no encoder writes.
#[must_use]
pub fn decode(normal: Normal, codes: [u8; 2]) -> Option<[i64; 2]> {
    let (normals, outliers) = match normal {
        Normal::Int4 => (&INT4, &ABFLOAT_2),
        Normal::Flint4 => (&FLINT4, &ABFLOAT_3),
    };
    let [a, b] = codes.map(|code| usize::from(code & 15));
    match codes.map(|code| code & 15 == IDENTIFIER) {
        [true, true] => None,
        [true, false] => Some([0, outliers[b]]),
        [false, true] => Some([outliers[a], 0]),
        [false, false] => Some([normals[a], normals[b]]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's ranges: normal values to 7 and 16, outliers 12 to 96 and 24 to 192.
    #[test]
    fn ranges_of_the_paper() {
        for (normal, normals, outliers) in [(Normal::Int4, 7, [12, 96]), (Normal::Flint4, 16, [24, 192])] {
            let codes = (0..16u8).filter(|&code| code != IDENTIFIER);
            let most = codes.clone().filter_map(|code| decode(normal, [code, 0])).map(|pair| pair[0].abs()).max();
            assert_eq!(most, Some(normals));
            let mut large: Vec<i64> =
                codes.filter_map(|code| decode(normal, [code, IDENTIFIER])).map(|p| p[0].abs()).collect();
            large.retain(|&value| value > 0);
            assert_eq!([large.iter().min().copied(), large.iter().max().copied()], outliers.map(Some));
        }
    }

    /// abfloat: (2 + mantissa) x 2^(exponent + bias), with a sign.
    #[test]
    fn outliers_are_floats() {
        for (normal, bias) in [(Normal::Int4, 2), (Normal::Flint4, 3)] {
            for code in 1..8u8 {
                let value = i64::from(2 + code % 2) << (u32::from(code / 2) + bias);
                assert_eq!(decode(normal, [IDENTIFIER, code]), Some([0, value]));
                assert_eq!(decode(normal, [code | 8, IDENTIFIER]), Some([-value, 0]));
            }
        }
        assert_eq!(decode(Normal::Int4, [IDENTIFIER; 2]), None);
        assert_eq!(decode(Normal::Flint4, [0b1100, 0b0111]), Some([-16, 6]));
    }
}
