//! Layers of a running model on `kllm_top`: W4A4 or W4A3. Keys and values of texts are in panels that the accelerator
//! fills itself.

mod attention;
pub mod builder;
pub mod cache;
mod calibrates;
mod learnt;

use anyhow::{Result, ensure};
use golden::accelerators::kllm::KllmTop;
use golden::kllm::codebook::Codebook as GoldenCodebook;
use host::kllm::operations::{append, matmul, quantize, scores, vector};
use host::kllm::{Bits, Caps};
use host::layout::header;
use host::{ALIGNMENT, Descriptor, Window};
use models::calibration::Arrays;
use models::decoder::arithmetic::Projection as Name;
use models::schemes::Settings;

use crate::chain::{ChainBuilder, Floats, Seen};
use crate::exact::Exact;
use crate::fresh::Fresh;
use crate::layer::{Activation, Heads, Layer, Norm, Turns};
use crate::learn::Learnt;
use crate::needs::{Asked, Needs, Room};
use crate::order::Cost;
use crate::pass::{DecoderLayer, LayerLowering, Pass, Rows, Shares};
use builder::{Builder, Quantized, Weights};
pub use builder::{SHARE, outliers};
use cache::{Cache, Codebooks};
use learnt::Books;
pub use learnt::bits_of;

/// Channels that the codebook of a matrix is trained on: all would take ten times as long and change little.
const TRAINING: usize = 64;

/// About how many cycles an operation takes.
fn cycles(descriptor: &Descriptor, caps: &Caps) -> u64 {
    let get = |field| descriptor.get(field);
    let beats = |elements: u64| elements.div_ceil(caps.vector.lanes.into());
    match get(header::OPCODE) as u8 {
        matmul::OPCODE | scores::OPCODE => {
            let panels = get(matmul::CHANNELS).div_ceil(u64::from(caps.lanes * caps.columns));
            get(matmul::TOKENS) * panels * get(matmul::INNER).div_ceil(caps.inputs.into())
        }
        // The outliers of a row leave one by one.
        quantize::OPCODE => get(quantize::ROWS) * (2 * beats(get(quantize::COLUMNS)) + 4 * get(quantize::LARGEST)),
        append::OPCODE => get(append::ELEMENTS),
        _ => 2 * get(vector::ROWS) * beats(get(vector::COLUMNS)),
    }
}

/// An accelerator, and the bits of indices of activations.
#[derive(Clone, Debug)]
pub struct OnKllm {
    /// The capabilities that a driver reads.
    pub caps: Caps,
    /// Its golden model.
    pub golden: Fresh<KllmTop>,
    /// Bits of activations where a calibration does not say. Weights, keys and values have 4 bits.
    pub bits: Bits,
}

/// Keys and values of a head in each text.
#[derive(Clone, Debug)]
struct Group {
    /// Codebook of the queries' tokens.
    queries: GoldenCodebook,
    /// By text.
    caches: Vec<Cache>,
}

/// All of a layer that stays from pass to pass: weights in memory, codebooks of tokens, the caches of its heads.
#[derive(Clone, Debug)]
pub struct Kept {
    norms: [Norm; 2],
    epsilon: f64,
    heads: Heads,
    turns: Option<Turns>,
    q: Weights,
    k: Weights,
    v: Weights,
    o: Weights,
    gate: Option<Weights>,
    up: Weights,
    down: Weights,
    /// Codebooks of tokens before the attention, its output projection, the feed-forward network, and its last
    /// projection.
    tokens: [GoldenCodebook; 4],
    groups: Vec<Group>,
}

/// The results of a pass in memory.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// Results of all heads, side by side.
    pub attention: Floats,
    /// Input of the last projection.
    pub gated: Floats,
    /// The residual stream.
    pub out: Floats,
}

/// How a layer begins.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// The layer.
    pub layer: &'a Layer,
    /// Numbers that codebooks are trained on.
    pub like: &'a Exact,
    /// Channels of a matrix that its codebook is trained on, about.
    pub training: usize,
    /// Texts and their tokens that there is room for.
    pub room: Room,
}

impl Kept {
    /// The layer; `before` are the keys, turned, and the values of a head that its cache has from the beginning, in each
    /// text.
    ///
    /// # Errors
    /// No numbers to train codebooks on; no room.
    pub fn new<'a>(
        b: &mut Builder<'_>,
        begin: &Begin<'_>,
        before: impl Fn(usize) -> [&'a [Vec<f64>]; 2],
    ) -> Result<Self> {
        let Begin { layer, like, training, room } = *begin;
        Self::with(b, (layer, &Books::of(layer, like, (b.bits, b.share), training)?), room, before)
    }

    fn with<'a>(
        b: &mut Builder<'_>,
        (layer, books): (&Layer, &Books),
        room: Room,
        before: impl Fn(usize) -> [&'a [Vec<f64>]; 2],
    ) -> Result<Self> {
        let mut weights = |of, name| b.projection_with(of, books.weight(name)?.clone());
        let (q, k) = (weights(&layer.q, Name::Q)?, weights(&layer.k, Name::K)?);
        let (v, o) = (weights(&layer.v, Name::V)?, weights(&layer.o, Name::O)?);
        let gate = match &layer.activation {
            Activation::GatedSilu(gate) => Some(weights(gate, Name::Gate)?),
            _ => None,
        };
        let (up, down) = (weights(&layer.up, Name::Up)?, weights(&layer.down, Name::Down)?);
        let (heads, mut groups, tokens) = (layer.heads, Vec::new(), books.tokens.clone());
        let found = books.heads.len();
        ensure!(found == heads.keys, "codebooks of {found} key heads, wanted are {}", heads.keys);
        for (number, of) in books.heads.iter().enumerate() {
            let codebooks = Codebooks::of_head(of, (heads.scale(), b.caps.centroid_bits))?;
            let cache = |_| Cache::new(b, codebooks.clone(), before(number), (heads.width, room.tokens));
            let caches = (0..room.texts).map(cache).collect::<Result<_>>()?;
            groups.push(Group { queries: of.queries.clone(), caches });
        }
        let (norms, epsilon, turns) = (layer.norms.clone(), layer.epsilon, layer.turns.clone());
        Ok(Self { norms, epsilon, heads, turns, q, k, v, o, gate, up, down, tokens, groups })
    }

    /// The layer for rows of texts.
    ///
    /// # Errors
    /// More tokens than there is room for.
    pub fn pass(&mut self, b: &mut Builder<'_>, (residual, shares): (&Floats, &Shares)) -> Result<Passed> {
        let normed = b.b.norm("normalised", residual, (&self.norms[0], self.epsilon))?;
        let x = b.tokens_by("tokens", &normed, &self.tokens[0])?;
        let q = b.multiply("queries", &x, &self.q, 1.0)?;
        let k = b.multiply("keys", &x, &self.k, 1.0)?;
        let v = b.multiply("values", &x, &self.v, 1.0)?;
        if let Some(turns) = &self.turns {
            let turns = b.b.angles(turns, self.heads.queries, &shares.positions())?;
            b.b.rotate(&q, &turns)?;
            b.b.rotate(&k, &turns)?;
        }
        let attention = b.b.floats("attention", residual.rows, q.columns)?;
        for number in 0..self.groups.len() {
            for share in shares.all() {
                let rows = |of: &Floats| of.some_rows(share.row, share.rows);
                self.group(b, (number, share.text), [&q, &k, &v].map(rows), &rows(&attention))?;
            }
        }
        let x = b.tokens_by("tokens of the attention", &attention, &self.tokens[1])?;
        let hidden = b.add_projection("behind the attention", &x, &self.o, residual)?;
        let normed = b.b.norm("normalised again", &hidden, (&self.norms[1], self.epsilon))?;
        let x = b.tokens_by("tokens again", &normed, &self.tokens[2])?;
        let gate = self.gate.as_ref().map(|gate| b.multiply("gate", &x, gate, 1.0)).transpose()?;
        let up = b.multiply("up", &x, &self.up, 1.0)?;
        let gated = match &gate {
            Some(gate) => b.b.gate(gate, &up)?,
            None => b.b.activate("gated", &up)?,
        };
        let x = b.tokens_by("tokens of the gated", &gated, &self.tokens[3])?;
        let out = b.add_projection("behind the layer", &x, &self.down, &hidden)?;
        Ok(Passed { attention, gated, out })
    }

    /// Attention of a group in a text: keys and values are added after the cached ones, and the queries meet all of
    /// them.
    fn group(
        &mut self,
        b: &mut Builder<'_>,
        (number, text): (usize, usize),
        [q, k, v]: [Floats; 3],
        out: &Floats,
    ) -> Result<()> {
        let (width, shared) = (self.heads.width, self.heads.shared());
        let Group { queries: codebook, caches } = &mut self.groups[number];
        let cache = &mut caches[text];
        cache.append(b, &k.slice(number * width, width)?, &v.slice(number * width, width)?)?;
        for head in number * shared..(number + 1) * shared {
            let queries = b.tokens_by("tokens of queries", &q.slice(head * width, width)?, codebook)?;
            b.attend(&queries, cache, Seen::Before, &out.slice(head * width, width)?)?;
        }
        Ok(())
    }
}

impl Builder<'_> {
    /// Rows become tokens.
    ///
    /// # Errors
    /// The sizes do not fit; no room.
    pub fn tokens(&mut self, name: &'static str, x: &Floats, like: &[Vec<f64>]) -> Result<Quantized> {
        self.quantize(name, x, outliers(x.columns, self.share)?, like)
    }

    fn tokens_by(&mut self, name: &'static str, x: &Floats, codebook: &GoldenCodebook) -> Result<Quantized> {
        let outliers = outliers(x.columns, self.share)?;
        self.quantize_with(name, x, (self.bits, outliers), codebook.clone())
    }
}

impl LayerLowering for OnKllm {
    fn head_unit(&self) -> usize {
        ALIGNMENT as usize / 2
    }

    fn needs(&self, asked: &Asked<'_>) -> Needs {
        let (c, caps, heads) = (asked.config, &self.caps, asked.heads(self.head_unit()));
        let (inputs, all) = (caps.inputs as usize, heads.queries * heads.width);
        let longest = [c.width, c.ffn_width, all, asked.room.tokens].into_iter().max().unwrap_or_default();
        let mut needs = Needs::default();
        let depth = caps.inner as usize / inputs;
        needs.at_least("product.depth", depth, longest.div_ceil(inputs), "beats of the longest token");
        // The share of a calibration is looked at with its options.
        let of = |positions| outliers(positions, SHARE).unwrap_or(positions);
        let most = [c.width, c.ffn_width, all].map(of).into_iter().max().unwrap_or_default();
        needs.at_least("product.kmax", caps.outliers as usize, most, "outliers of a token on a side");
        if caps.segment == 0 {
            let whole = c.width.max(c.ffn_width).max(all).next_power_of_two();
            needs.must_be("orizuru", 0, whole, "values among which outliers are found, so that rows become tokens");
        }
        if !caps.appends() {
            let (channels, least) = (caps.panel_channels(), 128 / inputs.min(128));
            let wanted = channels.next_multiple_of(least).div_ceil(caps.lanes.max(1) as usize);
            needs.must_be("product.columns", caps.columns, wanted, "lines of panels that the accelerator fills");
        }
        let row = c.width.max(heads.width).max(asked.room.tokens);
        needs.activation(&caps.vector, c.activation);
        needs.vector(&caps.vector, (c, row), true);
        needs
    }

    fn learn_layer(&self, layer: &Layer, texts: &[Rows], settings: &Settings) -> Result<Arrays> {
        let tokens = (self.bits_with(settings), settings.percent("outliers")?);
        Books::of(layer, &Exact::of_texts(layer, texts)?, tokens, TRAINING)?.arrays()
    }

    fn layer_with<'a>(
        &'a self,
        window: &Window,
        layer: &Layer,
        learnt: Learnt<'_>,
        room: Room,
    ) -> Result<Box<dyn DecoderLayer + 'a>> {
        room.check()?;
        let mut b = ChainBuilder::new(self.caps.vector, window, self.golden.copy())?;
        b.saturate();
        let caps = self.caps;
        b.order_by(Cost(Box::new(move |descriptor| cycles(descriptor, &caps))));
        let bits = bits_of(learnt.settings)?;
        let mut b = Builder { caps: &self.caps, bits, share: learnt.settings.percent("outliers")?, b };
        let books = Books::of_arrays(learnt.arrays, bits)?;
        let kept = Kept::with(&mut b, (layer, &books), room, |_| [&[], &[]])?;
        Ok(Box::new(OnLayer { b, kept, room: room.tokens, tokens: vec![0; room.texts] }))
    }
}

struct OnLayer<'a> {
    b: Builder<'a>,
    kept: Kept,
    room: usize,
    /// By text.
    tokens: Vec<usize>,
}

impl DecoderLayer for OnLayer<'_> {
    fn pass(&mut self, texts: &[(usize, Rows)]) -> Result<Pass> {
        let (rows, shares) = Shares::of(texts, &self.tokens, self.room)?;
        let rows = self.b.b.given(&rows)?;
        let out = self.kept.pass(&mut self.b, (&rows, &shares))?.out;
        shares.add_to(&mut self.tokens);
        Pass::of(&mut self.b.b, rows, out)
    }

    fn without_images(&mut self) {
        self.b.b.without_images();
    }

    fn overflows(&self) -> u64 {
        self.b.b.overflows()
    }
}
