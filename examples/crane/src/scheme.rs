//! The numbers of the crane as a scheme of `eval`: products of rows of INT8 and columns of INT4, both in groups that
//! share an exponent.

use std::borrow::Cow;

use models::baselines::products::{Change, Exact, Form, Inputs, Outputs, Rounded};
use models::decoder::Matrix;
use models::schemes::{Bench, Choice, Kind, Part, Prepared, Scheme, Settings};
use senbazuru::anyhow::Result;

use crate::packing::Packing;

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct CraneScheme;

/// Columns of weights.
struct Columns(usize);

impl Outputs for Columns {
    fn round(&self, weights: &Matrix) -> Matrix {
        let packing = Packing::of(&weights.values, self.0);
        Matrix { columns: weights.columns, values: weights.iter().flat_map(|row| packing.rounded(row)).collect() }
    }
}

/// Rows of activations. They come as fp16, and those beyond it become its largest number.
struct Rows(usize);

impl Inputs for Rows {
    fn round(&self, x: &Matrix) -> Matrix {
        let row = |row: &[f64]| row.chunks(self.0).flat_map(rounded).collect::<Vec<f64>>();
        Matrix { columns: x.columns, values: x.iter().flat_map(row).collect() }
    }
}

/// The numbers of a group. In its largest number's unit magnitudes are 127 at most; the unit is 2^-15 at least.
fn rounded(group: &[f64]) -> Vec<f64> {
    let values = group.iter().map(|x| x.clamp(-65_504.0, 65_504.0));
    let most = values.clone().fold(0.0, |most: f64, x| most.max(x.abs()));
    // The exponent of the largest number, as fp16 has it.
    let exponent = if most > 0.0 { most.log2().floor() as i32 } else { -14 };
    let unit = 2f64.powi((exponent - 6).max(-15));
    values.map(|x| (x / unit).round_ties_even().clamp(-127.0, 127.0) * unit).collect()
}

impl Scheme for CraneScheme {
    fn name(&self) -> &'static str {
        "crane"
    }

    fn about(&self) -> &'static str {
        "weights of INT4 and activations of INT8, in groups that share an exponent"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        let about = "channels that share an exponent";
        let group = Choice { name: "group", default: "32", kind: Kind::Count(2..=64), about };
        let about = "whether activations stay floats";
        let activations = Choice { name: "activations", default: "int8", kind: Kind::Word(&["int8", "exact"]), about };
        vec![group, activations]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (group, exact) = (settings.count("group")?, settings.word("activations")? == "exact");
        let prepared = Rounded::new(bench.model, None, |_, _| {
            let inputs: Box<dyn Inputs> = if exact { Box::new(Exact) } else { Box::new(Rows(group)) };
            Ok(Form { change: Change::None, inputs, outputs: Box::new(Columns(group)) })
        })?;
        Ok(prepared.prepared(Cow::Borrowed(bench.model)))
    }
}
