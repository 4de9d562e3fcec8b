//! The cache of `QuaRot` (Ashkboos et al. 2024, section 4, stage 1c and 2c): keys and values of a head are rotated, and are
//! integers with a scale a token.

use anyhow::Result;

use super::hadamard::Rotation;
use super::integers::{Form, Integers};
use super::options::clip;
use crate::decoder::Matrix;
use crate::decoder::key_values::{Cached, KeyValues};
use crate::schemes::{BYTES, Bench, Choice, Kind, Part, Prepared, Scheme, Settings, Tally};

/// A cache of rotated integers. Queries are rotated, too, and results back: so what they read here is rotated back.
#[derive(Clone, Copy, Debug)]
pub struct Rotated {
    /// How an element is rounded.
    pub integers: Integers,
}

impl Rotated {
    fn read_back(&self, x: &Matrix) -> Matrix {
        let rotation = Rotation::new(x.columns, None);
        let mut x = x.clone();
        for row in x.iter_mut() {
            rotation.turn(row);
            row.copy_from_slice(&self.integers.round(row));
            rotation.turn_back(row);
        }
        x
    }
}

impl KeyValues for Rotated {
    fn store<'a>(&mut self, cached: Cached<'a>) -> Result<Cached<'a>> {
        let both = [self.read_back(&cached.keys.stored), self.read_back(&cached.values.stored)];
        Ok(cached.replaced(both))
    }
}

/// Rotated integers as a scheme.
#[derive(Clone, Copy, Debug)]
pub struct RotatedCache;

impl Scheme for RotatedCache {
    fn name(&self) -> &'static str {
        "rotated-cache"
    }

    fn about(&self) -> &'static str {
        "keys and values of a head rotated by a Hadamard matrix, as integers with a scale and a zero point a token (QuaRot)"
    }

    fn part(&self) -> Part {
        Part::Storage
    }

    fn choices(&self) -> Vec<Choice> {
        let bits = Choice { name: "bits", default: "4", kind: Kind::Count(2..=8), about: "bits of an element" };
        vec![bits, clip("clip", "0.95", "share of a token's range that is kept")]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (bits, clip) = (settings.count::<u32>("bits")?, settings.number("clip")?);
        let integers = Integers { bits, form: Form::ZeroPoint, clip };
        let width = bench.model.config().head_width as u64;
        Ok(Prepared::cache(move |_, with| {
            with(&mut Rotated { integers })?;
            // A scale and a zero point of a token of a head are binary16.
            Ok(vec![Tally::ratio(BYTES, [u64::from(bits) * width + 32, 8 * width], 1.0)])
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of 0, 12, 0, 0 and of equal values are 6, -6, 6, -6 and 6, 0, 0, 0 when rotated. The second is exact in two
    /// bits. The codes of the first are -8, -4, 0 and 4: it reads back as 4, -8, 4, -8, which is -4, 12, 0, 0.
    #[test]
    fn rows_by_hand() {
        let integers = Integers { bits: 2, form: Form::ZeroPoint, clip: 1.0 };
        let cache = Rotated { integers };
        let x = Matrix { columns: 4, values: vec![0.0, 12.0, 0.0, 0.0, 3.0, 3.0, 3.0, 3.0] };
        let found = cache.read_back(&x);
        let wanted = [-4.0, 12.0, 0.0, 0.0, 3.0, 3.0, 3.0, 3.0];
        assert!(found.values.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }
}
