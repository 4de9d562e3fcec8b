//! A model as an accelerator computes it: in the golden model of a block, as `run --golden` does.

use std::sync::Arc;

use anyhow::{Context, Result};
use host::Window;
use lower::layer::Layer;
use lower::needs::{Asked, Needs, Room};
use lower::pass::{LayerLowering, Rows, logits};
use lower::tender::{Decoder, InSoftware, Sizes, needs};
use models::calibration::Source;
use models::decoder::perplexity::surprise;
use models::decoder::{Config, Model, Tokenizer};
use models::schemes::{Bench, Choice, Found, Learning, Passage, Reader, Scheme, Settings, Tally};
use models::tender::groups::Groups;
use testbenches::accelerators::decoding::{Machine, window};
use testbenches::accelerators::tender::decoding::OnTender;

use super::super::calibration::{LEARNING, Learnt};
use super::super::run::work::Accelerator;
use super::{failed, refused};
use crate::error::{Failure, Result as Told};
use crate::present::progress::Progress;

/// Tokens that pass through a layer together, after the prompt. Each has the numbers that it has alone.
const TOGETHER: usize = 32;

/// What is read at most: tokens of a passage, and of its prompt.
pub(super) type Longest = [usize; 2];

/// An accelerator, and what it has learnt.
pub(super) struct OnAccelerator {
    name: &'static str,
    machine: Arc<Machine>,
    learnt: Arc<Learnt>,
    longest: Longest,
}

impl OnAccelerator {
    /// Refuses a model that does not fit, and learns what a calibration does not say: from `learning`, or from the text
    /// in this program.
    pub fn new(
        on: Accelerator,
        known: Option<Learnt>,
        (model, tokenizer): (&Model, &Tokenizer),
        learning: Option<&Learning>,
        longest: Longest,
    ) -> Told<Self> {
        let (name, calibrates, config) = (on.entry.about().name, on.machine.calibrates(), model.config());
        let defaults = calibrates.defaults().map_err(refused)?;
        let settings = known.as_ref().map_or(&defaults, |known| &known.settings);
        needed(&on.machine, config, (longest, settings)).and_then(|needs| needs.refuse(name)).map_err(refused)?;
        let progress = Progress::new(1, LEARNING.to_owned());
        let learnt = match (known, learning) {
            (None, Some(learning)) => {
                let arrays = calibrates.learn(&Source { model, learning }, &defaults, &mut |_| ());
                Learnt { arrays: arrays.map_err(|e| failed(&e, Failure::Check))?, settings: defaults }
            }
            (known, _) => Learnt::known_or_new(known, calibrates, (model, tokenizer), &progress)?,
        };
        Ok(Self { name, machine: Arc::new(on.machine), learnt: Arc::new(learnt), longest })
    }
}

/// What the accelerator needs for passages of such lengths.
fn needed(machine: &Machine, config: &Config, ([tokens, prompt], settings): (Longest, &Settings)) -> Result<Needs> {
    let room = Room::for_one(tokens);
    Ok(match machine {
        Machine::Whole(on) => needs(&on.caps(), &Asked { config, room, prompt: 1 }, settings.count("groups")?),
        Machine::Layers(on) => on.lowering().needs(&Asked { config, room, prompt }),
    })
}

impl Scheme for OnAccelerator {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        "the golden model of the accelerator"
    }

    fn choices(&self) -> Vec<Choice> {
        Vec::new()
    }

    fn prepare<'a>(&self, _: &Settings, bench: &'a Bench<'_>) -> Result<Box<dyn Reader + 'a>> {
        let model = bench.model;
        match &*self.machine {
            Machine::Whole(on) => Ok(Box::new(Whole::new(model, on, &self.learnt, self.longest[0])?)),
            Machine::Layers(on) => {
                let window = window(on.address_width());
                let (machine, learnt) = (self.machine.clone(), self.learnt.clone());
                Ok(Box::new(ByLayer { model, machine, window, learnt }))
            }
        }
    }
}

/// Surprises of the tokens that count, and words of results that left the range of the calibration.
fn found(surprises: Vec<f64>, saturated: u64) -> Found {
    Found { surprises, tallies: vec![Tally::count("words that left the range", saturated)] }
}

/// The whole model in the memory of the accelerator, a token at a time.
struct Whole<'a> {
    model: &'a Model,
    /// Before the first token of a passage.
    decoder: Decoder,
    golden: InSoftware,
}

impl<'a> Whole<'a> {
    fn new(model: &'a Model, on: &OnTender, learnt: &Learnt, tokens: usize) -> Result<Self> {
        let (window, groups) =
            (window(on.address_width()), Groups::of_arrays(model.config(), &learnt.settings, &learnt.arrays)?);
        let mut golden = on.untimed(&window)?;
        let decoder = Decoder::new((model, &groups), (&on.caps(), &window), Sizes::one_by_one(tokens), &mut golden)?;
        Ok(Self { model, decoder, golden })
    }
}

impl Reader for Whole<'_> {
    fn read(&self, passage: &Passage<'_>) -> Result<Found> {
        let (mut decoder, mut golden) = (self.decoder.clone(), self.golden.clone());
        let (mut surprises, mut saturated) = (Vec::new(), 0);
        let first = passage.tokens.len() - passage.scored;
        for (place, pair) in (1..).zip(passage.tokens.windows(2)) {
            let row = self.model.embed(&pair[..1], place - 1)?.values;
            let logits = decoder.token(&mut golden, (row, place >= first), &mut |spent| {
                saturated += spent.overflows;
                Ok(())
            })?;
            if place >= first {
                let logits: Vec<f64> = logits.iter().map(|x| x.to_f64()).collect();
                surprises.push(surprise(&logits, pair[1]));
            }
        }
        Ok(found(surprises, saturated))
    }
}

/// Each layer on an accelerator. A passage goes layer by layer, since a layer depends only on its input: so one layer is
/// in memory at a time.
struct ByLayer<'a> {
    model: &'a Model,
    machine: Arc<Machine>,
    window: Window,
    learnt: Arc<Learnt>,
}

impl ByLayer<'_> {
    /// The residual stream after a layer, and words of results that left the range.
    fn layer(&self, on: &dyn LayerLowering, number: usize, (x, prompt): (&Rows, usize)) -> Result<(Rows, u64)> {
        let of = Layer::of_model(self.model, number, on.head_unit())?;
        let learnt = self.learnt.layer(number)?;
        let mut layer = on.layer_with(&self.window, &of, learnt.borrowed(), Room::for_one(x.len()))?;
        layer.without_images();
        let mut rows = Rows::new();
        let others = (prompt..x.len()).step_by(TOGETHER).map(|first| first..x.len().min(first + TOGETHER));
        for part in std::iter::once(0..prompt).chain(others) {
            rows.extend(layer.pass(&[(0, x[part].to_vec())])?.rows);
        }
        Ok((rows, layer.overflows()))
    }
}

impl Reader for ByLayer<'_> {
    fn read(&self, passage: &Passage<'_>) -> Result<Found> {
        let Machine::Layers(on) = &*self.machine else { anyhow::bail!("the accelerator has the whole model") };
        let count = passage.tokens.len() - 1;
        let prompt = passage.prompt.clamp(1, count);
        let mut x: Rows = self.model.embed(&passage.tokens[..count], 0)?.iter().map(<[f64]>::to_vec).collect();
        let mut saturated = 0;
        for number in 0..self.model.config().layers {
            let (rows, more) =
                self.layer(on.lowering(), number, (&x, prompt)).with_context(|| format!("layer {number}"))?;
            (x, saturated) = (rows, saturated + more);
        }
        // The last norm and the last product are the host's.
        let scored = x.iter().zip(&passage.tokens[1..]).skip(count - passage.scored);
        let surprises = scored.map(|(row, &next)| Ok(surprise(&logits(self.model, row)?, next)));
        Ok(found(surprises.collect::<Result<_>>()?, saturated))
    }
}
