//! Decoder layers on accelerators that go on from pass to pass. One after the other, they make a running model.

use anyhow::{Result, ensure};
use golden::accelerators::job::Accelerator;
use half::f16;
use host::{Bus, Counters, Device, Window};
use models::calibration::{Arrays, Calibrates};
use models::decoder::arithmetic::{Norm, layer_norm, rms_norm};
use models::decoder::{Family, Float, Matrix, Model};
use models::schemes::Settings;

use crate::chain::{ChainBuilder, Floats, Job};
use crate::layer::Layer;
use crate::learnt::Learnt;
use crate::needs::{Asked, Needs, Room};

/// Rows of the residual stream, one for each token.
pub type Rows = Vec<Vec<f64>>;

/// How layers of a model become chains of an accelerator, which has one layer at a time.
pub trait LayerLowering: Calibrates {
    /// Elements of a head in rows are a multiple of this.
    fn head_unit(&self) -> usize;

    /// Tokens of a text that no parameter raises.
    fn most_tokens(&self) -> usize {
        usize::MAX
    }

    /// Parameters that must have other values for this model.
    fn needs(&self, asked: &Asked<'_>) -> Needs;

    /// What a layer learns from the numbers that the float layer has for `texts`.
    ///
    /// # Errors
    /// No text; numbers that no scale or codebook fits.
    fn learn_layer(&self, layer: &Layer, texts: &[Rows], settings: &Settings) -> Result<Arrays>;

    /// A layer on an accelerator that may touch the memory of a window, with what it has learnt.
    ///
    /// # Errors
    /// No room; what it has learnt is of another layer; an error of the host crate.
    fn layer_with<'a>(
        &'a self,
        window: &Window,
        layer: &Layer,
        learnt: Learnt<'_>,
        room: Room,
    ) -> Result<Box<dyn DecoderLayer + 'a>>;

    /// The same, with what it learns from `texts` where nobody sets an option.
    ///
    /// # Errors
    /// The errors of [`learn_layer`](Self::learn_layer) and [`layer_with`](Self::layer_with).
    fn layer<'a>(
        &'a self,
        window: &Window,
        layer: &Layer,
        texts: &[Rows],
        room: Room,
    ) -> Result<Box<dyn DecoderLayer + 'a>> {
        let settings = self.defaults()?;
        let arrays = self.learn_layer(layer, texts, &settings)?;
        self.layer_with(window, layer, Learnt { settings: &settings, arrays: &arrays }, room)
    }
}

/// A decoder layer whose keys and values stay from pass to pass, wherever the accelerator keeps them.
pub trait DecoderLayer: Send {
    /// Passes the next tokens of some texts, after all earlier passes, through the layer in the golden model. Each text
    /// has its number, and rows of the residual stream.
    ///
    /// # Errors
    /// No row; a text that is not there, or comes twice; more tokens than there is room for; an error of the host
    /// crate.
    fn pass(&mut self, texts: &[(usize, Rows)]) -> Result<Pass>;

    /// From here on passes are for the golden model alone: their jobs have no images, and no device can run them. All
    /// memory that only images need is given back.
    fn without_images(&mut self);

    /// Words of results of all passes with a number that was saturated, or is infinite or none.
    fn overflows(&self) -> u64;
}

/// The last norm and the last product of a row, which are the host's: numbers of the next token.
///
/// # Errors
/// A row of another length.
pub fn logits(model: &Model, row: &[f64]) -> Result<Vec<f64>> {
    let config = model.config();
    let (layers, epsilon) = (config.layers, config.norm_eps);
    ensure!(row.len() == config.width, "a row of {}, the model has {}", row.len(), config.width);
    let row = Matrix::from_rows(&[row.to_vec()])?;
    let gain = model.gain(layers, Norm::Output)?;
    let normed = match config.family {
        Family::Llama => rms_norm(&row, gain, epsilon),
        Family::Gpt => layer_norm(&row, [gain, model.shift(layers, Norm::Output)?], epsilon),
    };
    Ok(model.logits(&normed, &mut Float)?.values)
}

/// Rows of a text among the rows of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of the text.
    pub text: usize,
    /// Its first row.
    pub row: usize,
    /// Its rows.
    pub rows: usize,
    /// Tokens of the text before them.
    pub first: usize,
}

/// The rows of a pass, text after text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares(Vec<Share>);

impl Shares {
    /// Rows of one text after the first tokens.
    #[must_use]
    pub fn one(first: usize, rows: usize) -> Self {
        Self(vec![Share { text: 0, row: 0, rows, first }])
    }

    /// Rows of texts that have so many `tokens` by now, and their shares.
    ///
    /// # Errors
    /// No row; a text that is not there, or comes twice; more tokens than there is room for.
    pub fn of(texts: &[(usize, Rows)], tokens: &[usize], room: usize) -> Result<(Rows, Self)> {
        let (mut all, mut shares) = (Rows::new(), Vec::<Share>::new());
        for (text, rows) in texts {
            let text = *text;
            ensure!(text < tokens.len(), "text {text}: there is room for {} texts, from 0", tokens.len());
            ensure!(shares.iter().all(|share| share.text != text), "text {text} comes twice in a pass");
            ensure!(!rows.is_empty(), "text {text} has no rows");
            ensure!(tokens[text] + rows.len() <= room, "text {text}: there is room for {room} tokens");
            shares.push(Share { text, row: all.len(), rows: rows.len(), first: tokens[text] });
            all.extend(rows.iter().cloned());
        }
        ensure!(!shares.is_empty(), "a pass of no text");
        Ok((all, Self(shares)))
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Share] {
        &self.0
    }

    /// The position of each row in its text.
    #[must_use]
    pub fn positions(&self) -> Vec<usize> {
        self.0.iter().flat_map(|share| share.first..share.first + share.rows).collect()
    }

    /// Counts them.
    pub fn add_to(&self, tokens: &mut [usize]) {
        self.0.iter().for_each(|share| tokens[share.text] += share.rows);
    }
}

/// A pass of tokens: a chain for the accelerator, and its results.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The chain. Its device has done the chains of all earlier passes, and nothing else since a reset.
    pub job: Job,
    /// The residual stream after the layer, as the golden model has it.
    pub rows: Rows,
    /// Where the residual stream is before the layer.
    pub input: Floats,
    /// Where it is after the layer.
    pub out: Floats,
}

impl Pass {
    /// All that a chain has done up to now; `out` is the residual stream after the layer.
    ///
    /// # Errors
    /// There is no room for the descriptors, or there is none of them.
    pub fn of<A: Accelerator>(b: &mut ChainBuilder<A>, input: Floats, out: Floats) -> Result<Self> {
        Ok(Self { job: b.job()?, rows: b.values(&out), input, out })
    }

    /// Does the pass on a device that is ready for it. Returns the residual stream after the layer from the device's
    /// memory, and the counters. The pass must take `cycles`.
    ///
    /// # Errors
    /// The device fails; a byte that it has written is not the golden model's; the pass takes another number of cycles.
    pub fn run_on<B: Bus>(&self, device: &mut Device<B>, cycles: u64) -> Result<(Rows, Counters)> {
        let counters = self.job.run(device)?;
        let (job, taken) = (self.job.address, counters.cycles);
        ensure!(taken == cycles, "the job at {job:#x} takes {taken} cycles, in the golden model {cycles}");
        let mut rows = Rows::new();
        for row in 0..self.out.rows as u64 {
            let mut bytes = vec![0; 2 * self.out.columns];
            device.bus().read_memory(self.out.at.address + row * u64::from(self.out.at.stride), &mut bytes)?;
            rows.push(bytes.chunks(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f64()).collect());
        }
        Ok((rows, counters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_texts() {
        let row = |x: f64| vec![x; 2];
        let texts = [(2, vec![row(0.0), row(1.0)]), (0, vec![row(2.0)])];
        let (rows, shares) = Shares::of(&texts, &[3, 0, 1], 4).unwrap();
        assert_eq!(rows, [row(0.0), row(1.0), row(2.0)]);
        let wanted = [Share { text: 2, row: 0, rows: 2, first: 1 }, Share { text: 0, row: 2, rows: 1, first: 3 }];
        assert_eq!((shares.all(), shares.positions()), (&wanted[..], vec![1, 2, 3]));
        let mut tokens = [3, 0, 1];
        shares.add_to(&mut tokens);
        assert_eq!(tokens, [4, 0, 3]);
        let refused = |texts: &[(usize, Rows)]| Shares::of(texts, &[3, 0], 4).unwrap_err().to_string();
        assert_eq!(refused(&[]), "a pass of no text");
        assert_eq!(refused(&[(2, vec![row(0.0)])]), "text 2: there is room for 2 texts, from 0");
        assert_eq!(refused(&[(1, Rows::new())]), "text 1 has no rows");
        assert_eq!(refused(&[(1, vec![row(0.0)]), (1, vec![row(0.0)])]), "text 1 comes twice in a pass");
        assert_eq!(refused(&[(0, vec![row(0.0), row(0.0)])]), "text 0: there is room for 4 tokens");
    }
}
