//! Accelerators whose memory has a whole model: what commands and tests ask of any of them.
//!
//! [`Decoder`] is a decoder on such an accelerator: norms, projections, attention, residual sums, several texts,
//! accelerators side by side. A crate with an accelerator says what its products are ([`Products`]), how matrices get
//! into memory ([`Images`]), and what a model needs of it ([`ModelLowering`]). [`OnDevice`] is its hardware,
//! [`InSoftware`] its golden model.

mod decoder;
mod device;
mod executor;
mod kept;
mod outputs;
mod placer;
mod record;
mod steps;
mod team;
mod through;

use std::borrow::Cow;

use anyhow::{Result, ensure};
use half::f16;
use host::Window;
use host::vector::Operand;
use models::calibration::Calibrates;
use models::decoder::{Config, Model};
use models::schemes::Settings;

pub use decoder::{Decoder, HEAD_UNIT, Images, Matrices, Products, Seen, Shape, Stored, equal_shares};
pub use device::{InSoftware, Kind, MAX_DESCRIPTORS, OnDevice, Overflows, Since, Times};
pub use executor::{Checked, Executor, Golden, Move, Spent, Written};
pub use kept::{Got, Policy};
pub use outputs::{Output, Outputs};
pub use placer::{Affine, Placer, columns_from, half, rows_from};
pub use record::{Recorded, Recorder};
pub use steps::{Order, Place, Steps};
pub use team::{Orders, Team};

use crate::learn::Learnt;
use crate::needs::{Asked, Needs, Room};
use crate::pass::Rows;

/// What there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Tokens of a pass, at most.
    pub rows: usize,
    /// Texts, and tokens of each.
    pub room: Room,
}

impl Sizes {
    /// One text, a token at a time.
    #[must_use]
    pub fn one_by_one(tokens: usize) -> Self {
        Self { rows: 1, room: Room::for_one(tokens) }
    }
}

/// A model on its way into memory: all of it, or a layer.
pub struct Source<'a> {
    /// Embedding, and what comes after the layers.
    pub model: &'a Model,
    /// Layers with their numbers.
    pub layers: Box<dyn Iterator<Item = (usize, Cow<'a, Model>)> + 'a>,
    /// Whether the last norm and the last product go into memory, too.
    pub is_whole: bool,
}

impl<'a> Source<'a> {
    /// All of a model.
    #[must_use]
    pub fn whole(model: &'a Model) -> Self {
        let layers = (0..model.config().layers).map(|number| (number, Cow::Borrowed(model)));
        Self { model, layers: Box::new(layers), is_whole: true }
    }

    /// All of a model whose layers are [apart](Model::apart): each gives its memory back as soon as it was used.
    ///
    /// # Errors
    /// There are more layers than the model has, or fewer.
    pub fn apart(model: &'a Model, layers: Vec<Model>) -> Result<Self> {
        let (found, wanted) = (layers.len(), model.config().layers);
        ensure!(found == wanted, "{found} layers, the model has {wanted}");
        Ok(Self { model, layers: Box::new(layers.into_iter().map(Cow::Owned).enumerate()), is_whole: true })
    }

    /// A layer alone.
    ///
    /// # Errors
    /// The model has no such layer.
    pub fn layer(model: &'a Model, number: usize) -> Result<Self> {
        let layers = model.config().layers;
        ensure!(number < layers, "there is no layer {number}: the model has {layers}, from 0");
        Ok(Self { model, layers: Box::new(std::iter::once((number, Cow::Borrowed(model)))), is_whole: false })
    }
}

/// How a model becomes chains of an accelerator, or of several side by side, which have all of it in memory.
pub trait ModelLowering: Calibrates {
    /// Refuses a model without equal shares for so many accelerators side by side.
    ///
    /// # Errors
    /// The message says which numbers are no multiple of what.
    fn shares(&self, config: &Config, parts: usize) -> Result<()>;

    /// Parameters that must have other values for this model, with these options of its calibration.
    ///
    /// # Errors
    /// An option is missing.
    fn needs(&self, asked: &Asked<'_>, settings: &Settings) -> Result<Needs>;

    /// What the host does between jobs, for a report: besides embeddings and the choice of a token.
    fn host_work(&self) -> &'static str;

    /// Puts a model, or a layer of it, into the memory of an accelerator, which may touch the bytes of a window.
    ///
    /// # Errors
    /// The accelerator or the window has no room for the model; what it has learnt is of another model.
    fn model_with(
        &self,
        window: &Window,
        source: Source<'_>,
        learnt: Learnt<'_>,
        sizes: Sizes,
        memory: &mut dyn Executor,
    ) -> Result<Box<dyn DecoderModel>>;
}

/// A model in memory, with the keys and values of texts.
pub trait DecoderModel: Send + Sync {
    /// Tokens of a text so far.
    fn tokens(&self, text: usize) -> usize;

    /// Jobs of a pass. Chains that are longer than a job may be are several jobs, which do not count here.
    fn jobs(&self) -> usize;

    /// The rows of the residual stream in memory: before a pass, and after it.
    fn residual(&self) -> Operand;

    /// Passes the next tokens of some texts, as rows of the residual stream, through all layers. Returns the logits of
    /// the token after the last one of each, if they are wanted. `done` is called after each job.
    ///
    /// # Errors
    /// No row; a text that is not there, or comes twice; more tokens than there is room for; the executor fails. The
    /// texts must not go on then.
    fn pass(
        &mut self,
        on: &mut dyn Executor,
        texts: (&[(usize, Rows)], bool),
        done: &mut dyn FnMut(&Spent) -> Result<()>,
    ) -> Result<Vec<Vec<f16>>>;

    /// The same model and texts, for a copy of the memory.
    fn duplicate(&self) -> Box<dyn DecoderModel>;
}
