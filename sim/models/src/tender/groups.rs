//! Tender's calibration: groups and scales of channels at each place where numbers become integers.

use std::collections::BTreeMap;

use anyhow::{Context, Error, Result, ensure};
use golden::tender::calibration::{CHUNK_ROWS, Calibration, Scheme, Sign};

use super::learnt::{Learnt, Site};
use super::options::choices;
use crate::calibration::{Arrays, Asked, Calibrates, Kind, Source, Wanted};
use crate::decoder::calibration::{Extremes, Input};
use crate::decoder::{Config, Model, Tokenizer};
use crate::schemes::{Choice, Settings};
use crate::smollm2::texts;

/// The accelerator whose calibration this is.
pub const ACCELERATOR: &str = "tender_top";

/// Bits of an operand that the accelerator's chains have.
const BITS: u32 = 8;

/// Largest integer of a key or a value.
const LARGEST: f64 = 127.0;

/// Channels with a middle and a unit each, which have no groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Centred {
    /// The middle of each channel.
    pub middles: Vec<f64>,
    /// The value of a step of the integers around it.
    pub units: Vec<f64>,
}

impl Centred {
    fn of([low, high]: &Extremes) -> Self {
        let unit = |(low, high): (&f64, &f64)| match (high - low) / 2.0 {
            0.0 => 1.0,
            end => end / LARGEST,
        };
        let ends = || low.iter().zip(high);
        Self { middles: ends().map(|(low, high)| (low + high) / 2.0).collect(), units: ends().map(unit).collect() }
    }
}

/// A key head.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Its queries, each channel times the unit of the keys' channel.
    pub queries: Calibration,
    /// Its keys.
    pub keys: Centred,
    /// Its values.
    pub values: Centred,
}

/// Groups and scales of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    scheme: Scheme,
    /// By layer and input: a calibration of each chunk of rows.
    inputs: BTreeMap<(usize, Input), Vec<Calibration>>,
    /// Of the input of the last product.
    output: Calibration,
    /// By layer and key head.
    heads: Vec<Vec<Head>>,
}

fn scheme(bits: u32, groups: usize) -> Result<Scheme> {
    Scheme::new(bits, groups, Sign::Signed).map_err(Error::msg)
}

impl Groups {
    /// Groups of what the float model has read, for integers of so many bits.
    ///
    /// # Errors
    /// No text was read; bits or groups that the golden model refuses.
    pub fn of(config: &Config, learnt: &Learnt, bits: u32, groups: usize) -> Result<Self> {
        let scheme = scheme(bits, groups)?;
        let grouped = |extremes: &Extremes| Calibration::of(extremes, scheme).map_err(Error::msg);
        let mut inputs = BTreeMap::new();
        for layer in 0..config.layers {
            for input in Input::ALL {
                let chunk = |chunk| {
                    let extremes = learnt.inputs.extremes(layer, input, chunk);
                    grouped(extremes.with_context(|| format!("{input:?} of layer {layer} is not calibrated"))?)
                };
                let chunks = learnt.inputs.chunks(layer, input).max(1);
                inputs.insert((layer, input), (0..chunks).map(chunk).collect::<Result<Vec<_>>>()?);
            }
        }
        let head = |layer: usize, number: usize| -> Result<Head> {
            let centred = |site| -> Result<Centred> { Ok(Centred::of(learnt.at(layer, site)?)) };
            let (keys, values) = (centred(Site::Keys(number))?, centred(Site::Values(number))?);
            let [low, high] = learnt.at(layer, Site::Queries(number))?;
            let ends = low.iter().zip(high).zip(&keys.units);
            let most: Vec<f64> = ends.map(|((low, high), unit)| low.abs().max(high.abs()) * unit).collect();
            let Calibration { group, .. } = &grouped(&[most.iter().map(|x| -x).collect(), most.clone()])?;
            let largest = most.iter().copied().fold(0.0, f64::max);
            // Queries have no bias.
            let queries = Calibration::of_parts(scheme, vec![0.0; group.len()], group.clone(), largest);
            Ok(Head { queries: queries.map_err(Error::msg)?, keys, values })
        };
        let of_layer = |layer| (0..config.kv_heads).map(|number| head(layer, number)).collect::<Result<Vec<_>>>();
        let heads = (0..config.layers).map(of_layer).collect::<Result<_>>()?;
        Ok(Self { scheme, inputs, output: grouped(learnt.at(config.layers, Site::Output)?)?, heads })
    }

    /// The same of the usual texts for calibration, at most `context` tokens of each, with the usual options.
    ///
    /// # Errors
    /// The errors of [`Model::forward`], or a byte of the texts that no token stands for.
    pub fn of_texts(model: &Model, tokenizer: &Tokenizer, context: usize) -> Result<Self> {
        let learning = texts::learning(tokenizer, context.min(model.config().context))?;
        let (from, settings) = (Source { model, learning: &learning }, ByGroups.defaults()?);
        Self::of_arrays(model.config(), &settings, &ByGroups.learn(&from, &settings, &mut |_| ())?)
    }

    /// Bits of integers, and groups of channels.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The input of projections, for a chunk of rows. Chunks after the last one have its groups.
    ///
    /// # Errors
    /// There is no such layer.
    pub fn input(&self, layer: usize, input: Input, chunk: usize) -> Result<&Calibration> {
        let chunks = self.inputs.get(&(layer, input));
        let found = chunks.and_then(|chunks| chunks.get(chunk).or(chunks.last()));
        found.with_context(|| format!("{input:?} of layer {layer} is not calibrated"))
    }

    /// The input of the last product.
    #[must_use]
    pub fn output(&self) -> &Calibration {
        &self.output
    }

    /// A key head.
    ///
    /// # Errors
    /// There is no such layer or head.
    pub fn head(&self, layer: usize, number: usize) -> Result<&Head> {
        let found = self.heads.get(layer).and_then(|heads| heads.get(number));
        found.with_context(|| format!("key head {number} of layer {layer} is not calibrated"))
    }

    /// The arrays of a file.
    ///
    /// # Errors
    /// Layers with another number of chunks than others.
    pub fn arrays(&self) -> Result<Arrays> {
        let (mut all, layers) = (Arrays::new(), self.heads.len());
        let groups = |of: &Calibration| of.group.iter().map(|&group| group as u8).collect::<Vec<_>>();
        for input in Input::ALL {
            let chunks = (0..layers).flat_map(|layer| &self.inputs[&(layer, input)]).collect::<Vec<_>>();
            let channels = chunks.first().map_or(0, |chunk| chunk.bias.len());
            let shape = [layers, chunks.len() / layers.max(1), channels];
            let name = |part: &str| format!("{}.{part}", input.name());
            all.add(name("bias"), &shape, chunks.iter().flat_map(|chunk| chunk.bias.clone()))?;
            all.add(name("group"), &shape, chunks.iter().flat_map(|chunk| groups(chunk)))?;
            all.add(name("largest"), &shape[..2], chunks.iter().map(|chunk| chunk.largest()))?;
        }
        let channels = self.output.bias.len();
        all.add("output.bias", &[channels], self.output.bias.iter().copied())?;
        all.add("output.group", &[channels], groups(&self.output))?;
        all.add("output.largest", &[], [self.output.largest()])?;
        let heads: Vec<&Head> = self.heads.iter().flatten().collect();
        let width = heads.first().map_or(0, |head| head.keys.units.len());
        let shape = [layers, heads.len() / layers.max(1), width];
        all.add("queries.group", &shape, heads.iter().flat_map(|head| groups(&head.queries)))?;
        all.add("queries.largest", &shape[..2], heads.iter().map(|head| head.queries.largest()))?;
        all.add("keys.middle", &shape, heads.iter().flat_map(|head| head.keys.middles.clone()))?;
        all.add("keys.unit", &shape, heads.iter().flat_map(|head| head.keys.units.clone()))?;
        all.add("values.middle", &shape, heads.iter().flat_map(|head| head.values.middles.clone()))?;
        all.add("values.unit", &shape, heads.iter().flat_map(|head| head.values.units.clone()))?;
        Ok(all)
    }

    /// The calibration in arrays that [`ByGroups::wanted`](Calibrates::wanted) names.
    ///
    /// # Errors
    /// Names the array, and what is wanted.
    pub fn of_arrays(config: &Config, settings: &Settings, arrays: &Arrays) -> Result<Self> {
        let scheme = scheme(settings.count("bits")?, settings.count("groups")?)?;
        let grouped = |name: &str, bias: Option<Vec<Vec<f64>>>| -> Result<Vec<Calibration>> {
            let groups = arrays.rows::<u8>(&format!("{name}.group"))?;
            let bias = bias.unwrap_or_else(|| groups.iter().map(|row| vec![0.0; row.len()]).collect());
            let largest = arrays.all::<f64>(&format!("{name}.largest"))?;
            let parts = bias.into_iter().zip(groups).zip(largest);
            let one = |((bias, group), largest): ((Vec<f64>, Vec<u8>), f64)| {
                let group = group.into_iter().map(usize::from).collect();
                let made = Calibration::of_parts(scheme, bias, group, largest).map_err(Error::msg);
                made.with_context(|| format!("array `{name}`"))
            };
            parts.map(one).collect()
        };
        let biased = |name: &str| grouped(name, Some(arrays.rows(&format!("{name}.bias"))?));
        let mut inputs = BTreeMap::new();
        for input in Input::ALL {
            let all = biased(input.name())?;
            let chunks = (all.len() / config.layers).max(1);
            inputs.extend(all.chunks(chunks).enumerate().map(|(layer, all)| ((layer, input), all.to_vec())));
        }
        let centred = |name: &str| -> Result<Vec<Centred>> {
            let unit = format!("{name}.unit");
            let (middles, units) = (arrays.rows::<f64>(&format!("{name}.middle"))?, arrays.rows::<f64>(&unit)?);
            let positive = units.iter().flatten().all(|&unit| unit > 0.0);
            ensure!(positive, "array `{unit}` has numbers that are 0 or less, wanted are larger ones");
            Ok(middles.into_iter().zip(units).map(|(middles, units)| Centred { middles, units }).collect())
        };
        let all = grouped("queries", None)?.into_iter().zip(centred("keys")?).zip(centred("values")?);
        let heads: Vec<Head> = all.map(|((queries, keys), values)| Head { queries, keys, values }).collect();
        let heads = heads.chunks(config.kv_heads).map(<[Head]>::to_vec).collect();
        Ok(Self { scheme, inputs, output: biased("output")?.remove(0), heads })
    }
}

/// How Tender learns.
#[derive(Clone, Copy, Debug)]
pub struct ByGroups;

impl Calibrates for ByGroups {
    fn choices(&self) -> Vec<Choice> {
        choices()
    }

    /// A chunk of rows, for which one calibration holds (Tender, section III-B).
    fn window(&self) -> usize {
        CHUNK_ROWS
    }

    fn wanted(&self, asked: &Asked<'_>) -> Result<Vec<Wanted>> {
        use Kind::{Float64, Uint8};
        let (c, chunks) = (asked.config, asked.window.div_ceil(CHUNK_ROWS).max(1));
        let mut all = Vec::new();
        let mut three = |name: &str, shape: &[usize]| {
            all.push(Wanted::new(format!("{name}.bias"), Float64, shape));
            all.push(Wanted::new(format!("{name}.group"), Uint8, shape));
            all.push(Wanted::new(format!("{name}.largest"), Float64, &shape[..shape.len() - 1]));
        };
        Input::ALL.into_iter().for_each(|input| three(input.name(), &[c.layers, chunks, input.channels(c)]));
        three("output", &[c.width]);
        let heads = [c.layers, c.kv_heads, c.head_width];
        all.extend([Wanted::new("queries.group", Uint8, &heads), Wanted::new("queries.largest", Float64, &heads[..2])]);
        all.extend(
            ["keys.middle", "keys.unit", "values.middle", "values.unit"].map(|name| Wanted::new(name, Float64, &heads)),
        );
        Ok(all)
    }

    fn learn(&self, from: &Source<'_>, settings: &Settings, done: &mut dyn FnMut(usize)) -> Result<Arrays> {
        let mut learnt = Learnt::leaving_out(settings.percent("outliers")?);
        from.learning.windows.iter().try_for_each(|window| learnt.learn(from.model, window))?;
        let config = from.model.config();
        let groups = Groups::of(config, &learnt, settings.count("bits")?, settings.count("groups")?)?;
        done(config.layers);
        groups.arrays()
    }

    fn runs_with(&self, asked: &Asked<'_>, arrays: &Arrays) -> Result<()> {
        let bits: u32 = asked.settings.count("bits")?;
        ensure!(bits == BITS, "option `bits` is {bits}, wanted is {BITS}: chains have operands of {BITS} bits");
        Groups::of_arrays(asked.config, asked.settings, arrays).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middles_and_units() {
        let centred = Centred::of(&[vec![-1.0, 2.0], vec![3.0, 2.0]]);
        assert_eq!(centred, Centred { middles: vec![1.0, 2.0], units: vec![2.0 / 127.0, 1.0] });
    }
}
