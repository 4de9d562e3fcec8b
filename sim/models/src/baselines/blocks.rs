//! Formats with a shared exponent for each block: OCP Microscaling Formats (MX) v1.0, shared microexponents (SMX) and
//! MSFP.

use std::borrow::Cow;

use anyhow::{Context, Result};

use super::grid::Grid;
use super::products::{Change, Exact, Form, Inputs, Outputs, Rounded};
use crate::decoder::Matrix;
use crate::schemes::{Bench, Choice, Kind, Part, Prepared, Scheme, Settings};

/// The exponent of MX's scales is a byte (E8M0): 2^-127 to 2^127.
const EXPONENTS: [i32; 2] = [-127, 127];

/// The elements of a block.
#[derive(Clone, Debug)]
enum Elements {
    /// Numbers of this grid, the largest of which has this exponent. The block's scale is 2^(e - exponent), where e is
    /// the exponent of its largest magnitude (MX v1.0, section 6.3).
    Numbers(Grid, i32),
    /// A sign and a fraction of so many bits without a leading one; so many neighbours have one bit more of exponent,
    /// which halves their unit if they are all small (1: none has).
    Fractions(u32, usize),
}

/// A format of blocks.
#[derive(Clone, Debug)]
pub struct Format {
    /// Elements of a block.
    size: usize,
    elements: Elements,
}

/// Magnitudes of a float: bits of exponent and of fraction, and the largest one if codes are left out at the end.
fn float(exponent: u32, fraction: u32, most: f64) -> Grid {
    let bias = (1 << (exponent - 1)) - 1;
    let number = |code: u32| {
        let (field, rest) = (code >> fraction, f64::from(code & ((1 << fraction) - 1)));
        let rest = rest / f64::from(1u32 << fraction);
        if field == 0 { rest * 2f64.powi(1 - bias) } else { (1.0 + rest) * 2f64.powi(field as i32 - bias) }
    };
    Grid::new((0..1 << (exponent + fraction)).map(number).filter(|&x| x <= most))
}

/// Names of all formats.
pub const NAMES: [&str; 9] =
    ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e3m2", "mxfp6-e2m3", "mxfp4", "mxint8", "smx4", "smx6", "msfp12"];

impl Format {
    /// A format by its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mx = |exponent, fraction, most: f64| {
            let grid = float(exponent, fraction, most);
            (32, Elements::Numbers(grid, most.log2().floor() as i32))
        };
        let (size, elements) = match name {
            "mxfp8-e4m3" => mx(4, 3, 448.0),
            "mxfp8-e5m2" => mx(5, 2, 57_344.0),
            "mxfp6-e3m2" => mx(3, 2, 28.0),
            "mxfp6-e2m3" => mx(2, 3, 7.5),
            "mxfp4" => mx(2, 1, 6.0),
            // Steps of 1/64; -2 is not used, so that the range is symmetric.
            "mxint8" => (32, Elements::Numbers(Grid::new((0..128).map(|i| f64::from(i) / 64.0)), 0)),
            "smx4" => (16, Elements::Fractions(2, 2)),
            "smx6" => (16, Elements::Fractions(4, 2)),
            "msfp12" => (16, Elements::Fractions(3, 1)),
            _ => return None,
        };
        Some(Self { size, elements })
    }

    /// A row after rounding. Its last block may have fewer elements.
    #[must_use]
    pub fn round(&self, row: &[f64]) -> Vec<f64> {
        row.chunks(self.size).flat_map(|block| self.block(block)).collect()
    }

    fn block(&self, block: &[f64]) -> Vec<f64> {
        let Some(shared) = exponent(block) else { return vec![0.0; block.len()] };
        match &self.elements {
            Elements::Numbers(grid, most) => {
                let scale = 2f64.powi((shared - most).clamp(EXPONENTS[0], EXPONENTS[1]));
                block.iter().map(|x| grid.nearest(x / scale) * scale).collect()
            }
            &Elements::Fractions(bits, neighbours) => {
                let shared = shared.clamp(EXPONENTS[0], EXPONENTS[1]);
                let last = f64::from((1u32 << bits) - 1);
                let some = |some: &[f64]| -> Vec<f64> {
                    let is_small = neighbours > 1 && exponent(some).is_none_or(|own| own < shared);
                    let unit = 2f64.powi(shared - i32::from(is_small) - bits as i32 + 1);
                    some.iter().map(|x| (x / unit).round_ties_even().clamp(-last, last) * unit).collect()
                };
                block.chunks(neighbours).flat_map(some).collect()
            }
        }
    }
}

/// The exponent of the largest magnitude; `None` if all are 0.
fn exponent(block: &[f64]) -> Option<i32> {
    let most = block.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    // `log2` may round up to the next power of two.
    let found = most.log2().floor() as i32;
    (most > 0.0).then(|| if 2f64.powi(found) > most { found - 1 } else { found })
}

impl Inputs for Format {
    fn round(&self, x: &Matrix) -> Matrix {
        Matrix { columns: x.columns, values: x.iter().flat_map(|row| self.round(row)).collect() }
    }
}

impl Outputs for Format {
    fn round(&self, weights: &Matrix) -> Matrix {
        Inputs::round(self, weights)
    }
}

/// Weights and activations in blocks.
#[derive(Clone, Copy, Debug)]
pub struct Blocks;

impl Scheme for Blocks {
    fn name(&self) -> &'static str {
        "mx"
    }

    fn about(&self) -> &'static str {
        "weights and activations in formats whose blocks share an exponent: MX, SMX, MSFP"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        let about = "format of weights, and of activations if these have no other one";
        let format = Choice { name: "format", default: "mxfp8-e4m3", kind: Kind::Word(&NAMES), about };
        let kind = Kind::Or(Box::new(Kind::Or(Box::new(Kind::Word(&NAMES)), "format")), "exact");
        let about = "format of activations; with `format` as weights, with `exact` activations stay floats";
        vec![format, Choice { name: "activations", default: "format", kind, about }]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let named = |name: &str| Format::named(name).with_context(|| format!("no format `{name}`"));
        let weights = named(settings.word("format")?)?;
        let inputs = match settings.word("activations")? {
            "exact" => None,
            "format" => Some(weights.clone()),
            other => Some(named(other)?),
        };
        let rounded = Rounded::new(bench.model, None, |_, _| {
            let inputs: Box<dyn Inputs> = match &inputs {
                None => Box::new(Exact),
                Some(format) => Box::new(format.clone()),
            };
            Ok(Form { change: Change::None, inputs, outputs: Box::new(weights.clone()) })
        })?;
        Ok(rounded.prepared(Cow::Borrowed(bench.model)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(name: &str, row: &[f64]) -> Vec<f64> {
        Format::named(name).unwrap().round(row)
    }

    /// Tables 4 to 6 of MX v1.0: the largest and the smallest number of each element.
    #[test]
    fn elements_of_the_standard() {
        for (name, most, least, numbers) in [
            ("mxfp8-e4m3", 448.0, 2f64.powi(-9), 127),
            ("mxfp8-e5m2", 57_344.0, 2f64.powi(-16), 124),
            ("mxfp6-e3m2", 28.0, 0.0625, 32),
            ("mxfp6-e2m3", 7.5, 0.125, 32),
            ("mxfp4", 6.0, 0.5, 8),
            ("mxint8", 127.0 / 64.0, 1.0 / 64.0, 128),
        ] {
            let Elements::Numbers(grid, _) = Format::named(name).unwrap().elements else { panic!("{name}") };
            assert_eq!((grid.last(), grid.magnitudes()[1], grid.magnitudes().len()), (most, least, numbers), "{name}");
        }
        assert!(NAMES.iter().all(|name| Format::named(name).is_some()) && Format::named("mxfp5").is_none());
    }

    /// The largest magnitude is 11: exponent 3, so scale 2 with E2M1. In units of it numbers are 5.5, 2.5, 0.2, -0.75.
    #[test]
    fn blocks_by_hand() {
        assert_eq!(round("mxfp4", &[11.0, 5.0, 0.4, -1.5]), [12.0, 4.0, 0.0, -2.0]);
        // Beyond 6 units it saturates: 15 is 7.5 units of 2.
        assert_eq!(round("mxfp4", &[15.0, 1.0]), [12.0, 1.0]);
        // Steps of 8/64.
        assert_eq!(round("mxint8", &[11.0, 0.1, 0.05]), [11.0, 0.125, 0.0]);
        // Blocks of 32 do not know each other.
        let mut row = vec![0.75; 33];
        row[0] = 6144.0;
        let found = round("mxfp4", &row);
        assert_eq!((found[0], found[31], found[32]), (6144.0, 0.0, 0.75));
        assert_eq!(round("mxfp8-e5m2", &[0.0, 0.0]), [0.0, 0.0]);
        // MSFP12: seven units of 2^(3 - 2).
        assert_eq!(round("msfp12", &[11.0, 5.0, 0.9, -3.2]), [12.0, 4.0, 0.0, -4.0]);
        assert_eq!(round("msfp12", &[15.9, 1.1]), [14.0, 2.0]);
        // SMX4: three units of 2^(3 - 1); a pair of small numbers has units of 2.
        assert_eq!(round("smx4", &[11.0, 5.0, 5.0, -3.2]), [12.0, 4.0, 4.0, -4.0]);
        assert_eq!(round("smx4", &[11.0, 3.2, 3.2, -1.2]), [12.0, 4.0, 4.0, -2.0]);
        // With 4 bits units are 1 and 1/2.
        assert_eq!(round("smx6", &[11.0, 3.4, 3.4, -1.2]), [11.0, 3.0, 3.5, -1.0]);
    }

    /// Powers of two, times a power of two, are exact in each format; a sign changes with its number.
    #[test]
    fn scales_are_powers_of_two() {
        let row: Vec<f64> = (0..40).map(|i| f64::from((i * 37) % 29) - 14.0).collect();
        for name in NAMES {
            let found = round(name, &row);
            let larger: Vec<f64> = row.iter().map(|x| x * 1024.0).collect();
            assert_eq!(round(name, &larger), found.iter().map(|x| x * 1024.0).collect::<Vec<_>>(), "{name}");
            let turned: Vec<f64> = row.iter().map(|x| -x).collect();
            assert_eq!(round(name, &turned), found.iter().map(|x| -x).collect::<Vec<_>>(), "{name}");
            assert_eq!(round(name, &found), found, "{name}");
        }
        assert_eq!(exponent(&[8.0]), Some(3));
        assert_eq!(exponent(&[7.999_999_999_999_999]), Some(2));
    }
}
