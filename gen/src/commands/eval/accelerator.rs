//! A model as an accelerator computes it: in the golden model of a block, as `run --golden` does.

use std::sync::Arc;

use anyhow::{Context, Result};
use lower::layer::Layer;
use lower::needs::{Asked, Needs, Room};
use lower::pass::{Rows, logits};
use lower::whole::{DecoderModel, Golden, Sizes, Source as Weights};
use models::calibration::Source;
use models::decoder::perplexity::surprise;
use models::decoder::{Config, Model, Tokenizer};
use models::default_model::texts;
use models::schemes::{Bench, Choice, Found, Learning, Part, Passage, Prepared, Reader, Scheme, Settings, Tally};
use testbenches::accelerators::decoding::{LayerAccelerator, Machine, WholeAccelerator, window};

use super::super::calibration::{LEARNING, Learnt};
use super::super::run::chosen::Accelerator;
use super::super::run::failures::{failed, refused};
use crate::error::Result as Told;
use crate::present::progress::Progress;

/// Tokens that pass through a layer together, after the prompt. Each has the numbers that it has alone.
const TOGETHER: usize = 32;

/// What is read at most: tokens of a passage, and of its prompt.
pub(in crate::commands) type Longest = [usize; 2];

/// What an accelerator learns from.
pub(super) enum From<'a> {
    /// Nothing: a calibration says it.
    Known(Learnt),
    /// A text.
    Text(&'a Learning),
    /// The text in this program.
    Program(&'a Tokenizer),
    /// Each passage from itself.
    Itself,
}

/// An accelerator, and what it has learnt.
#[derive(Clone)]
pub(super) struct OnAccelerator {
    name: &'static str,
    machine: Arc<Machine>,
    settings: Settings,
    /// Of all passages, unless each is learnt from itself.
    learnt: Option<Arc<Learnt>>,
    longest: Longest,
}

impl OnAccelerator {
    /// Refuses a model that does not fit, and learns what a calibration does not say, with these options.
    pub fn new(on: Accelerator, model: &Model, (from, options): (From<'_>, &str), longest: Longest) -> Told<Self> {
        let (name, calibrates, config) = (on.entry.about().name, on.machine.calibrates(), model.config());
        let settings = match (&from, options) {
            (From::Known(known), _) => known.settings.clone(),
            (_, "") => calibrates.defaults().map_err(refused)?,
            (_, options) => Settings::parse(&calibrates.choices(), options).map_err(refused)?,
        };
        needed(&on.machine, config, (longest, &settings)).and_then(|needs| needs.refuse(name)).map_err(refused)?;
        let progress = Progress::new(1, LEARNING.to_owned());
        let learn = |learning: &Learning| learnt(&on.machine, (model, learning), &settings);
        let learnt = match from {
            From::Known(known) => Ok(Some(known)),
            From::Text(learning) => learn(learning).map(Some),
            From::Program(tokenizer) => {
                let length = calibrates.window().min(config.context);
                texts::learning(tokenizer, length).and_then(|learning| learn(&learning)).map(Some)
            }
            From::Itself => Ok(None),
        };
        let learnt = learnt.map_err(failed)?.map(Arc::new);
        drop(progress);
        Ok(Self { name, machine: Arc::new(on.machine), settings, learnt, longest })
    }

    /// What is learnt of a passage.
    fn of_passage(&self, model: &Model, tokens: &[u32]) -> Result<Arc<Learnt>> {
        if let Some(learnt) = &self.learnt {
            return Ok(learnt.clone());
        }
        let learning = Learning { windows: vec![tokens.to_vec()] };
        learnt(&self.machine, (model, &learning), &self.settings).map(Arc::new)
    }
}

/// What an accelerator learns from a text, and can run with.
fn learnt(machine: &Machine, (model, learning): (&Model, &Learning), settings: &Settings) -> Result<Learnt> {
    let (calibrates, from) = (machine.calibrates(), Source { model, learning });
    let arrays = calibrates.learn(&from, settings, &mut |_| ())?;
    calibrates.runs_with(&from.asks(settings), &arrays)?;
    Ok(Learnt { arrays, settings: settings.clone() })
}

/// What the accelerator needs for passages of such lengths.
pub(in crate::commands) fn needed(
    machine: &Machine,
    config: &Config,
    ([tokens, prompt], settings): (Longest, &Settings),
) -> Result<Needs> {
    let room = Room::for_one(tokens);
    Ok(match machine {
        Machine::Whole(on) => on.lowering().needs(&Asked { config, room, prompt: 1 }, settings)?,
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

    fn part(&self) -> Part {
        Part::Whole
    }

    fn choices(&self) -> Vec<Choice> {
        Vec::new()
    }

    fn prepare<'a>(&self, _: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (model, on) = (bench.model, self.clone());
        let on_whole = match (&*on.machine, &on.learnt) {
            (Machine::Whole(whole), Some(learnt)) => Some(Whole::new(model, whole.as_ref(), learnt, on.longest[0])?),
            _ => None,
        };
        Ok(Prepared::Whole(Box::new(OnPassages { model, on, on_whole })))
    }
}

/// Reads passages on an accelerator.
struct OnPassages<'a> {
    model: &'a Model,
    on: OnAccelerator,
    /// The whole model in memory, where it is the same for all passages.
    on_whole: Option<Whole>,
}

impl Reader for OnPassages<'_> {
    fn read(&self, passage: &Passage<'_>) -> Result<Found> {
        let model = self.model;
        if let Some(whole) = &self.on_whole {
            return whole.read(model, passage);
        }
        let learnt = self.on.of_passage(model, passage.tokens)?;
        match &*self.on.machine {
            Machine::Whole(on) => Whole::new(model, on.as_ref(), &learnt, self.on.longest[0])?.read(model, passage),
            Machine::Layers(on) => by_layer(on.as_ref(), (model, &learnt), passage),
        }
    }
}

/// Surprises of the tokens that count, and words of results that left the range of the calibration.
fn found(surprises: Vec<f64>, saturated: u64) -> Found {
    Found { surprises, tallies: vec![Tally::count("words that left the range", saturated)] }
}

/// The whole model in the memory of the accelerator, before the first token of a passage. Tokens come one by one.
struct Whole {
    decoder: Box<dyn DecoderModel>,
    golden: Box<dyn Golden>,
}

impl Whole {
    fn new(model: &Model, on: &dyn WholeAccelerator, learnt: &Learnt, tokens: usize) -> Result<Self> {
        let window = window(on.address_width());
        let mut golden = on.golden(&window, None)?;
        let (weights, sizes) = (Weights::whole(model), Sizes::one_by_one(tokens));
        let decoder = on.lowering().model_with(&window, weights, learnt.borrowed(), sizes, &mut golden)?;
        Ok(Self { decoder, golden })
    }

    fn read(&self, model: &Model, passage: &Passage<'_>) -> Result<Found> {
        let (mut decoder, mut golden) = (self.decoder.duplicate(), self.golden.duplicate());
        let (mut surprises, mut saturated) = (Vec::new(), 0);
        let first = passage.tokens.len() - passage.scored;
        for (place, pair) in (1..).zip(passage.tokens.windows(2)) {
            let row = model.embed(&pair[..1], place - 1)?.values;
            let wanted = place >= first;
            let logits = decoder.pass(&mut golden, (&[(0, vec![row])], wanted), &mut |spent| {
                saturated += spent.overflows;
                Ok(())
            })?;
            if wanted {
                let logits = logits.first().context("a text has logits")?;
                let logits: Vec<f64> = logits.iter().map(|x| x.to_f64()).collect();
                surprises.push(surprise(&logits, pair[1]));
            }
        }
        Ok(found(surprises, saturated))
    }
}

/// Each layer on an accelerator. A passage goes layer by layer, since a layer depends only on its input: so one layer is
/// in memory at a time.
fn by_layer(on: &dyn LayerAccelerator, (model, learnt): (&Model, &Learnt), passage: &Passage<'_>) -> Result<Found> {
    let count = passage.tokens.len() - 1;
    let prompt = passage.prompt.clamp(1, count);
    let mut x: Rows = model.embed(&passage.tokens[..count], 0)?.iter().map(<[f64]>::to_vec).collect();
    let mut saturated = 0;
    for number in 0..model.config().layers {
        let (rows, more) =
            through(on, (model, learnt), number, (&x, prompt)).with_context(|| format!("layer {number}"))?;
        (x, saturated) = (rows, saturated + more);
    }
    // The last norm and the last product are the host's.
    let scored = x.iter().zip(&passage.tokens[1..]).skip(count - passage.scored);
    let surprises = scored.map(|(row, &next)| Ok(surprise(&logits(model, row)?, next)));
    Ok(found(surprises.collect::<Result<_>>()?, saturated))
}

/// The residual stream after a layer, and words of results that left the range.
fn through(
    on: &dyn LayerAccelerator,
    (model, learnt): (&Model, &Learnt),
    number: usize,
    (x, prompt): (&Rows, usize),
) -> Result<(Rows, u64)> {
    let (window, lowering) = (window(on.address_width()), on.lowering());
    let of = Layer::of_model(model, number, lowering.head_unit())?;
    let learnt = learnt.layer(number)?;
    let mut layer = lowering.layer_with(&window, &of, learnt.borrowed(), Room::for_one(x.len()))?;
    layer.without_images();
    let mut rows = Rows::new();
    let others = (prompt..x.len()).step_by(TOGETHER).map(|first| first..x.len().min(first + TOGETHER));
    for part in std::iter::once(0..prompt).chain(others) {
        rows.extend(layer.pass(&[(0, x[part].to_vec())])?.rows);
    }
    Ok((rows, layer.overflows()))
}
