//! Layers of a running model on `titanus_core`: weights in its macros, keys and values of a text as compressed streams.
//! Keys and values of all heads are side by side in one cache. Texts take turns in a chain, and the core has the cache of
//! one of them.

mod attention;
pub mod builder;
mod calibrates;
mod compression;
mod feed;
mod learnt;
pub mod linked;
pub mod parts;

use anyhow::{Result, ensure};
use golden::accelerators::titanus::TitanusCore;
use host::titanus::Caps;
use host::{ALIGNMENT, Window};
use models::calibration::Arrays;
use models::decoder::arithmetic::Projection as Name;
use models::decoder::{Activation, Config};
use models::schemes::Settings;

use crate::chain::Floats;
use crate::exact::Exact;
use crate::fresh::Fresh;
use crate::layer::{Heads, Layer};
use crate::learn::Learnt;
use crate::needs::{Asked, Needs, Room};
use crate::pass::{DecoderLayer, LayerLowering, Pass, Rows, Share, Shares};
use attention::Attention;
use builder::{Builder, columns_of_store, order_of};
pub use compression::{Begun, Compression, Prompt, Turn};
use feed::Feed;
use learnt::Scales;

/// All of a layer that stays from job to job.
#[derive(Clone, Debug)]
pub struct Held {
    attention: Attention,
    feed: Feed,
}

impl Held {
    /// Loads a layer. Scales of integers fit the float layer's numbers.
    ///
    /// # Errors
    /// The layer does not fit on the core.
    pub fn load(b: &mut Builder<'_>, layer: &Layer, exact: &Exact, room: Room) -> Result<Self> {
        Self::load_by(b, layer, &Scales::of(layer, exact), room)
    }

    fn load_by(b: &mut Builder<'_>, layer: &Layer, scales: &Scales, room: Room) -> Result<Self> {
        let (found, wanted) = (b.caps.channels() as usize, layer.k.outputs());
        ensure!(found >= wanted, "a token has {wanted} channels, the cache {found}");
        let attention = Attention::load(b, layer, &scales.attention, room)?;
        Ok(Self { attention, feed: Feed::load(b, layer, &scales.feed)? })
    }

    /// The layer for the next tokens of a text, from rows of the residual stream to other rows; the prompt has so many
    /// tokens. Returns thresholds of a cache that it has begun.
    ///
    /// # Errors
    /// More tokens than there is room for; an error of the host crate.
    pub fn pass(
        &mut self,
        b: &mut Builder<'_>,
        ([rows, out], turn): ([&Floats; 2], Turn),
        prompt: (usize, Prompt),
        how: Compression,
    ) -> Result<Option<Begun>> {
        let (hidden, begun) = self.attention.pass(b, (rows, turn), prompt, how)?;
        self.feed.pass(b, &hidden, out)?;
        Ok(begun)
    }
}

/// A core, and how it keeps keys and values.
#[derive(Clone, Debug)]
pub struct OnTitanus {
    /// The capabilities that a driver reads.
    pub caps: Caps,
    /// Its golden model.
    pub golden: Fresh<TitanusCore>,
    /// How keys and values are kept.
    pub compression: Compression,
}

/// Columns and rows of macros, and constants, that a layer takes.
struct Store {
    rows: u32,
    columns: u32,
    constants: usize,
}

impl OnTitanus {
    fn store(&self, c: &Config, heads: Heads) -> Store {
        let (caps, all, keys) = (&self.caps, heads.queries * heads.width, heads.keys * heads.width);
        let size = |name: &Name| match name {
            Name::Q => (c.width, all),
            Name::K | Name::V => (c.width, keys),
            Name::O => (all, c.width),
            Name::Gate | Name::Up => (c.width, c.ffn_width),
            Name::Down => (c.ffn_width, c.width),
            Name::Logits => (c.width, c.vocabulary),
        };
        let sizes: Vec<(usize, usize)> = c.projections().iter().map(size).collect();
        // The attention is loaded before the feed-forward network.
        let (attention, feed) = sizes.split_at(4);
        let ordered = |part: &[(usize, usize)]| -> Vec<(u32, u32)> {
            order_of(part).into_iter().map(|n| (part[n].0 as u32, part[n].1 as u32)).collect()
        };
        let in_order = [ordered(attention), ordered(feed)].concat();
        let highest = sizes.iter().map(|size| size.0).max().unwrap_or_default() as u32;
        let rows = caps.rows.max(highest.div_ceil(caps.inputs.max(1)));
        let columns = columns_of_store(rows, [caps.inputs.max(1), caps.outputs.max(1)], &in_order);
        // One of scores, and one for each element of the results of the heads.
        let constants = sizes.iter().map(|size| size.1).sum::<usize>() + 1 + all;
        Store { rows, columns: columns.unwrap_or_default(), constants }
    }
}

impl LayerLowering for OnTitanus {
    /// Whole tiles of the cache, at aligned places.
    fn head_unit(&self) -> usize {
        let (lanes, aligned) = (self.caps.lanes.max(1) as usize, ALIGNMENT as usize);
        (1..=lanes).map(|n| n * aligned).find(|unit| unit.is_multiple_of(lanes)).unwrap_or(aligned)
    }

    fn needs(&self, asked: &Asked<'_>) -> Needs {
        let (c, caps, heads) = (asked.config, &self.caps, asked.heads(self.head_unit()));
        let (store, mut needs) = (self.store(c, heads), Needs::default());
        needs.at_least("spec.store.rows", caps.rows as usize, store.rows as usize, "rows of macros for the weights");
        let columns = store.columns as usize;
        needs.at_least("spec.store.columns", caps.columns as usize, columns, "columns of macros for the weights");
        needs.at_least("spec.constants", caps.constants as usize, store.constants, "constants of results");
        let tiles = (heads.keys * heads.width).div_ceil(caps.lanes.max(1) as usize);
        needs.at_least("spec.tiles", caps.tiles as usize, tiles, "tiles of the keys of a token");
        needs.at_least("spec.context", caps.context as usize, asked.room.tokens, "tokens of a text");
        let row = c.width.max(heads.width).max(asked.room.tokens);
        // ReLU is part of the product.
        if c.activation != Activation::Relu {
            needs.activation(&caps.vector, c.activation);
        }
        needs.vector(&caps.vector, (c, row), true);
        needs
    }

    fn learn_layer(&self, layer: &Layer, texts: &[Rows], settings: &Settings) -> Result<Arrays> {
        learnt::arrays(layer, &Exact::of_texts(layer, texts)?, settings)
    }

    fn layer_with<'a>(
        &'a self,
        window: &Window,
        layer: &Layer,
        learnt: Learnt<'_>,
        room: Room,
    ) -> Result<Box<dyn DecoderLayer + 'a>> {
        room.check()?;
        let context = self.caps.context as usize;
        ensure!(room.tokens <= context, "room for {} tokens, a core has {context}", room.tokens);
        let mut b = Builder::new(&self.caps, window, self.golden.copy())?;
        b.b.saturate();
        let held = Held::load_by(&mut b, layer, &Scales::of_layer(layer, learnt.arrays)?, room)?;
        let (compression, comes) = learnt::kept(learnt)?;
        Ok(Box::new(OnLayer { b, held, compression, comes, room: room.tokens, tokens: vec![0; room.texts] }))
    }
}

struct OnLayer<'a> {
    b: Builder<'a>,
    held: Held,
    compression: Compression,
    comes: Prompt,
    room: usize,
    /// By text.
    tokens: Vec<usize>,
}

impl DecoderLayer for OnLayer<'_> {
    fn pass(&mut self, texts: &[(usize, Rows)]) -> Result<Pass> {
        let (rows, shares) = Shares::of(texts, &self.tokens, self.room)?;
        let rows = self.b.b.given(&rows)?;
        let out = self.b.b.floats("residual stream", rows.rows, rows.columns)?;
        for &Share { text, row, rows: count, first } in shares.all() {
            // The first tokens are the prompt; all others come after it.
            let prompt = if first == 0 { count } else { first };
            let of_text = [&rows, &out].map(|all| all.some_rows(row, count));
            let pass = (of_text.each_ref(), Turn { text, first });
            self.held.pass(&mut self.b, pass, (prompt, self.comes), self.compression)?;
        }
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
