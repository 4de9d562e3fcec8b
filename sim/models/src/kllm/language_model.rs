//! A whole language model with K-Means codebooks: KLLM's W4A4 and W4A3 (Tables II and IV).
//!
//! Codebooks, indices, scales and outliers come from the golden models, on binary16 inputs. The accelerator counts and
//! looks up; its result is the product of the numbers that indices and outliers stand for. Here this product is summed
//! in f64. So numbers are quantized as in the accelerator, but sums are not rounded to binary16. All between two
//! products, and the last product, is in floats.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use golden::kllm::codebook::Codebook;
use golden::kllm::fp16;
use golden::kllm::outliers::{OutlierRule, per_side};
use golden::kllm::quantize::{Quantized, QuantizedWeights, Sample, samples, train_codebook};
use half::f16;

use super::quantization::reals;
use crate::WrongRequest;
use crate::decoder::arithmetic::Projection;
use crate::decoder::calibration::{Calibration, Input};
use crate::decoder::{Arithmetic, Matrix, Model, Weight};

/// Output channels whose weights train a codebook. All channels would take ten times as long, and change little.
const TRAINING_CHANNELS: usize = 64;

/// The sample weight of a weight when a codebook is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// All weights count the same.
    Alike,
    /// By the mean square of its input on the calibration text and the square of its scale: a stand-in for the Fisher
    /// information.
    ByInput,
    /// By its Fisher information: the squared gradient of a text's surprise, summed over texts.
    Fisher,
}

/// The Fisher information of the weights that train codebooks (`SqueezeLLM`, Kim et al. 2024, section 4.1).
#[derive(Clone, Debug, Default)]
pub struct Fisher(BTreeMap<(usize, Projection), Vec<f64>>);

impl Fisher {
    /// Sums squares of gradients over texts.
    ///
    /// # Errors
    /// The errors of [`Model::backward`].
    pub fn of(model: &Model, texts: &[Vec<u32>]) -> Result<Self> {
        let mut all = BTreeMap::new();
        for text in texts {
            model.backward(text, &mut |step| {
                let squares = some(step.outputs.columns).flat_map(|o| step.of_output(o)).map(|g| g * g);
                match all.entry((step.layer, step.projection)) {
                    Entry::Vacant(entry) => drop(entry.insert(squares.collect::<Vec<f64>>())),
                    Entry::Occupied(mut entry) => {
                        entry.get_mut().iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
                    }
                }
                Ok(())
            })?;
        }
        Ok(Self(all))
    }
}

/// The output channels that train a codebook.
fn some(outputs: usize) -> impl Iterator<Item = usize> {
    (0..outputs).step_by(outputs.div_ceil(TRAINING_CHANNELS).max(1))
}

/// Weights in 4 bits, and the data that trains codebooks of activations.
#[derive(Clone, Debug)]
pub struct ClusteredWeights {
    weights: BTreeMap<(usize, Projection), Weight>,
    /// For each input channel the energy of its weights, in place of the Fisher information.
    energies: BTreeMap<(usize, Input), Vec<f64>>,
    books: BTreeMap<(usize, Projection), Codebook>,
}

impl ClusteredWeights {
    /// Clusters all weights of the layers, a codebook a matrix and a scale an output channel. `fisher` is needed if
    /// weights count by it.
    ///
    /// # Errors
    /// A model of other precision than binary16, an input without samples, a weight without Fisher information.
    pub fn new(
        model: &Model,
        (learnt, fisher): (&Calibration, Option<&Fisher>),
        bits: u32,
        counting: Counting,
    ) -> Result<Self> {
        Self::with_books(model, |layer, projection, weight| {
            book((layer, projection), weight, (learnt, fisher), bits, counting)
        })
    }

    /// The same with codebooks from elsewhere, one for each weight.
    ///
    /// # Errors
    /// A model of other precision than binary16, or `book` fails.
    pub fn with_books(model: &Model, book: impl Fn(usize, Projection, &Weight) -> Result<Codebook>) -> Result<Self> {
        let (mut weights, mut energies, mut books) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for layer in 0..model.config().layers {
            for &projection in model.config().projections() {
                let weight = model.weight(layer, projection)?;
                let input = Input::of(projection).context("a projection that is not quantized")?;
                let codebook = book(layer, projection, weight)?;
                weights.insert((layer, projection), clustered(weight, &codebook)?);
                books.insert((layer, projection), codebook);
                let energy = energies.entry((layer, input)).or_insert_with(|| vec![0.0; weight.inputs]);
                for output in weight.iter() {
                    energy.iter_mut().zip(output).for_each(|(e, w)| *e += f64::from(w).powi(2));
                }
            }
        }
        Ok(Self { weights, energies, books })
    }

    /// The codebook of each weight.
    #[must_use]
    pub fn books(&self) -> &BTreeMap<(usize, Projection), Codebook> {
        &self.books
    }
}

/// The codebook of a weight, whose numbers are rounded to binary16. `fisher` is needed if weights count by it.
///
/// # Errors
/// An input without samples, a weight without Fisher information, bits that the golden model refuses.
pub fn book(
    (layer, projection): (usize, Projection),
    weight: &Weight,
    (learnt, fisher): (&Calibration, Option<&Fisher>),
    bits: u32,
    counting: Counting,
) -> Result<Codebook> {
    let input = Input::of(projection).context("a projection that is not quantized")?;
    let counts = match counting {
        Counting::Alike => Counts::Alike,
        Counting::ByInput => Counts::inputs(inputs(learnt, layer, input)?, weight.inputs),
        Counting::Fisher => {
            let found = fisher.and_then(|fisher| fisher.0.get(&(layer, projection)));
            Counts::Weights(found.with_context(|| format!("no Fisher information of {projection:?} in layer {layer}"))?)
        }
    };
    train_weights(weight, bits, &counts)
}

fn inputs(learnt: &Calibration, layer: usize, input: Input) -> Result<&[Vec<u64>]> {
    learnt.samples(layer, input).with_context(|| format!("{input:?} of layer {layer} is not calibrated"))
}

/// How weights count.
enum Counts<'a> {
    Alike,
    /// By input channel, times the square of the scale.
    Inputs(Vec<f64>),
    /// For each training channel and input, times the square of the scale.
    Weights(&'a [f64]),
}

impl Counts<'_> {
    fn inputs(tokens: &[Vec<u64>], inputs: usize) -> Self {
        let square = |k: usize| tokens.iter().map(|t| fp16::value(t[k]).powi(2)).sum::<f64>();
        Self::Inputs((0..inputs).map(square).collect())
    }
}

/// The bits of weights in binary16.
fn halves(output: &[f32]) -> Result<Vec<u64>> {
    let is_half = |w: &f32| f16::from_f32(*w).to_f32() == *w;
    let wanted = "`tokens=energy` needs weights that are binary16 numbers: `--half` rounds them";
    ensure!(output.iter().all(is_half), WrongRequest(wanted.to_owned()));
    Ok(rounded(output))
}

fn rounded(output: &[f32]) -> Vec<u64> {
    output.iter().map(|&w| u64::from(f16::from_f32(w).to_bits())).collect()
}

/// The codebook of a weight matrix.
fn train_weights(weight: &Weight, bits: u32, counts: &Counts<'_>) -> Result<Codebook> {
    let columns: Vec<Vec<u64>> = some(weight.outputs).map(|o| rounded(&weight.output(o))).collect();
    let of = |s: &Sample| {
        let square = match counts {
            Counts::Alike => return 1.0,
            Counts::Inputs(squares) => squares[s.index],
            Counts::Weights(fisher) => fisher[s.vector * weight.inputs + s.index],
        };
        square * fp16::value(s.scale).powi(2)
    };
    let weights: Option<&dyn Fn(&Sample) -> f64> = if matches!(counts, Counts::Alike) { None } else { Some(&of) };
    Ok(train_codebook(bits, &samples(&columns, OutlierRule::None, None)?, weights)?)
}

/// The numbers that the indices of a weight matrix stand for.
fn clustered(weight: &Weight, book: &Codebook) -> Result<Weight> {
    let columns = weight.iter().map(|output| halves(&output)).collect::<Result<Vec<_>>>()?;
    let quantized = QuantizedWeights::new(&columns, book)?;
    let mut values = Vec::with_capacity(weight.count());
    for (indices, &scale) in quantized.columns.iter().zip(&quantized.scales) {
        // Products of two binary16 numbers have 22 bits: exact in f32.
        let table: Vec<f32> = book.values().iter().map(|&c| (fp16::value(scale) * fp16::value(c)) as f32).collect();
        values.extend(indices.iter().map(|&i| table[usize::from(i)]));
    }
    Ok(Weight::new([weight.outputs, weight.inputs], &values))
}

/// How outliers are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outliers {
    /// The largest and smallest values of each token: KLLM.
    Online,
    /// Values beyond thresholds from calibration: KLLM-S.
    Offline,
}

/// For each input of projections the codebook of its tokens, and how outliers are found.
pub type Books = BTreeMap<(usize, Input), (Codebook, OutlierRule)>;

/// A model whose layers multiply clustered numbers.
#[derive(Clone, Debug)]
pub struct ClusteredModel<'a> {
    weights: &'a ClusteredWeights,
    /// Codebooks of each input; `None` if activations are not quantized.
    books: Option<Arc<Books>>,
    /// The input that was quantized last, and its result. Projections share it.
    last: Option<((usize, Input), Matrix, Matrix)>,
    elements: u64,
    outliers: u64,
}

impl<'a> ClusteredModel<'a> {
    /// Clustered weights, activations that are not quantized (W4A16).
    #[must_use]
    pub fn weights_only(weights: &'a ClusteredWeights) -> Self {
        Self::with_books(weights, None)
    }

    /// The same with codebooks of activations from elsewhere.
    #[must_use]
    pub fn with_books(weights: &'a ClusteredWeights, books: Option<Arc<Books>>) -> Self {
        Self { weights, books, last: None, elements: 0, outliers: 0 }
    }

    /// The codebooks of activations, if these are quantized.
    #[must_use]
    pub fn books(&self) -> Option<Arc<Books>> {
        self.books.clone()
    }

    /// Activations that stayed in binary16, and all of them.
    #[must_use]
    pub fn outliers(&self) -> [u64; 2] {
        [self.outliers, self.elements]
    }

    /// Activations of `bits` bits, except `share` outliers in hundredths of a per cent, both sides together.
    ///
    /// # Errors
    /// Parameters that the golden model refuses, an input without samples.
    pub fn new(
        weights: &'a ClusteredWeights,
        learnt: &Calibration,
        bits: u32,
        share: u32,
        outliers: Outliers,
    ) -> Result<Self> {
        let mut books = BTreeMap::new();
        for (&(layer, input), energy) in &weights.energies {
            let tokens = inputs(learnt, layer, input)?;
            let rule = match (outliers, per_side(energy.len(), share)?) {
                (_, 0) => OutlierRule::None,
                (Outliers::Online, per_side) => OutlierRule::TopK { per_side },
                (Outliers::Offline, _) => OutlierRule::calibrate(tokens, share)?,
            };
            let counts = |s: &Sample| energy[s.index];
            let book = train_codebook(bits, &samples(tokens, rule, None)?, Some(&counts))?;
            books.insert((layer, input), (book, rule));
        }
        Ok(Self::with_books(weights, Some(Arc::new(books))))
    }

    /// Share of the activations that stayed in binary16.
    #[must_use]
    pub fn kept(&self) -> f64 {
        self.outliers as f64 / self.elements.max(1) as f64
    }

    fn quantize(&mut self, layer: usize, input: Input, x: &Matrix) -> Result<Matrix> {
        let Some(books) = &self.books else { return Ok(x.clone()) };
        if let Some((key, of, result)) = &self.last
            && *key == (layer, input)
            && of == x
        {
            return Ok(result.clone());
        }
        let (book, rule) =
            books.get(&(layer, input)).with_context(|| format!("no codebook of {input:?} in {layer}"))?;
        let mut result = Matrix::zeros(0, x.columns);
        for row in x.iter() {
            let token: Vec<u64> = row.iter().map(|&x| fp16::from_f64(x)).collect();
            let quantized = Quantized::new(&token, book, *rule)?;
            self.elements += token.len() as u64;
            self.outliers += quantized.outliers.len() as u64;
            result.values.extend(reals(&quantized.dequantized()?));
        }
        self.last = Some(((layer, input), x.clone(), result.clone()));
        Ok(result)
    }
}

impl Arithmetic for ClusteredModel<'_> {
    fn linear(&mut self, layer: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        let Some(input) = Input::of(projection) else { return Ok(x.through(weight)) };
        let weights = self.weights;
        let clustered = weights.weights.get(&(layer, projection));
        let clustered = clustered.with_context(|| format!("no weights of {projection:?} in layer {layer}"))?;
        Ok(self.quantize(layer, input, x)?.through(clustered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kllm::quantization::{ActivationBook, Detection, Projection as Slice, Sensitivity, quantized_weights};

    /// The output projection of layer 14, a slice of 64 channels, equals the study of slices: codebooks, indices and
    /// outliers.
    #[test]
    fn a_projection_is_that_of_the_study() {
        let slices = Slice::all().unwrap();
        let slice = slices.iter().find(|p| p.name == "14 o").unwrap();
        let values: Vec<f32> = slice.columns.iter().flatten().map(|&w| fp16::value(w) as f32).collect();
        let weight = Weight::new([64, 576], &values);
        let rows = |tokens: &[Vec<u64>]| {
            let rows: Vec<Vec<f64>> = tokens.iter().map(|t| t.iter().map(|&x| fp16::value(x)).collect()).collect();
            Matrix::from_rows(&rows).unwrap()
        };
        let (learn, judge) = slice.tokens.split_at(32);
        let mut learnt = Calibration::new(1);
        learnt.linear(14, Projection::O, &rows(learn), &weight).unwrap();

        let of_counts = |counts: &Counts<'_>| clustered(&weight, &train_weights(&weight, 4, counts).unwrap()).unwrap();
        let alike = of_counts(&Counts::Alike);
        let study = quantized_weights(slice, learn, Sensitivity::Uniform).unwrap();
        assert!(alike.output(3).iter().zip(reals(&study.dequantized(3).unwrap())).all(|(a, b)| f64::from(*a) == b));
        let study = quantized_weights(slice, learn, Sensitivity::Both).unwrap();
        let weights = ClusteredWeights {
            weights: BTreeMap::from([((14, Projection::O), of_counts(&Counts::inputs(learn, 576)))]),
            energies: BTreeMap::from([((14, Input::AttentionOut), slice.channel_energy())]),
            books: BTreeMap::new(),
        };
        let found = &weights.weights[&(14, Projection::O)];
        for (n, output) in found.iter().enumerate() {
            let wanted = reals(&study.dequantized(n).unwrap());
            assert!(output.iter().zip(&wanted).all(|(&a, &b)| f64::from(a) == b), "output {n}");
        }
        for (bits, share, outliers, detection) in [
            (4, 100, Outliers::Online, Detection::Online),
            (3, 100, Outliers::Offline, Detection::Offline),
            (3, 0, Outliers::Online, Detection::Online),
        ] {
            let book = ActivationBook::train(slice, learn, Sensitivity::Both, detection, bits, share).unwrap();
            let mut model = ClusteredModel::new(&weights, &learnt, bits, share, outliers).unwrap();
            let x = model.quantize(14, Input::AttentionOut, &rows(judge)).unwrap();
            let mut kept = 0;
            for (row, token) in x.iter().zip(judge) {
                let wanted = book.quantize(token).unwrap();
                kept += wanted.outliers.len();
                assert_eq!(row, reals(&wanted.dequantized().unwrap()), "{bits} bits, {share}, {outliers:?}");
            }
            assert_eq!(model.kept(), kept as f64 / (32.0 * 576.0));
            assert_eq!(share > 0, kept > 0);
            let y = model.linear(14, Projection::O, &rows(judge), &weight).unwrap();
            assert_eq!(y, x.through(found));
        }
        let mut plain = ClusteredModel::weights_only(&weights);
        assert_eq!(plain.linear(14, Projection::O, &rows(judge), &weight).unwrap(), rows(judge).through(found));
        assert!(plain.linear(1, Projection::O, &rows(judge), &weight).is_err());
    }
}
