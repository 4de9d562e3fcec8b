//! The paper's search for thresholds and widths (Titanus, section 5.1): thresholds of each layer first, by NSGA-II;
//! then widths.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail, ensure};

use super::calibration;
use super::language_model::{Compressed, Pruning, Setting};
use crate::calibration::Arrays;
use crate::decoder::Model;
use crate::decoder::perplexity::{perplexity, surprises};
use crate::explore::store::Store;
use crate::explore::{Explored, Genes, Headings, Objectives, Step, Subject};
use crate::schemes::{Settings, is_surprise};

/// The largest threshold that is tried: a quarter of the largest magnitude. Models break with twice this threshold.
pub const LARGEST_THRESHOLD: u32 = 32;

/// Widths of quantized numbers. The search begins with the first one.
const WIDTHS: [u32; 7] = [8, 7, 6, 5, 4, 3, 2];

/// Integers of a layer's setting: threshold and width of keys, of values. A width of 0 leaves int8.
const OF_LAYER: usize = 4;

/// The pruning thresholds of all layers.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds;

impl Subject for Thresholds {
    fn name(&self) -> &'static str {
        "titanus"
    }

    fn about(&self) -> &'static str {
        "its thresholds of each layer: perplexity against bytes of keys and values"
    }

    fn headings(&self) -> Headings {
        Headings {
            zeros: "int8 without pruning",
            numbers: ["thresholds of keys", "of values"],
            columns: ["threshold_k", "threshold_v"],
            widths: ["bits of keys, mean", "of values"],
            title: "Thresholds by layer: perplexity, bytes of keys and values",
        }
    }

    fn accelerator(&self) -> &'static str {
        calibration::ACCELERATOR
    }

    fn known(&self, settings: &Settings, arrays: &Arrays) -> Result<Option<Genes>> {
        calibration::thresholds(settings, arrays)
    }

    fn put(&self, options: &mut BTreeMap<String, String>, arrays: &mut Arrays, all: [&[[u32; 2]]; 2]) -> Result<()> {
        calibration::put(options, arrays, all)
    }

    fn on<'a>(
        &self,
        model: &'a Model,
        tokens: &'a [u32],
        threads: NonZeroUsize,
        store: Option<Store>,
    ) -> Result<Box<dyn Explored + 'a>> {
        Ok(Box::new(Exploration::new(model, tokens, threads, store)?))
    }
}

/// A model that reads a text with compressed keys and values.
#[derive(Debug)]
pub struct Exploration<'a> {
    model: &'a Model,
    tokens: &'a [u32],
    threads: NonZeroUsize,
    store: Option<Store>,
}

/// The worth of a setting of all layers.
#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    objectives: Objectives,
    spread: Vec<[f64; 2]>,
}

impl Explored for Exploration<'_> {
    fn layers(&self) -> usize {
        self.model.config().layers
    }

    fn limits(&self) -> Vec<u32> {
        vec![LARGEST_THRESHOLD; 2 * self.layers()]
    }

    /// Keys and values stay int8.
    fn thresholds(&mut self, genes: &[Genes]) -> Result<Vec<Objectives>> {
        let all: Vec<Genes> = genes.iter().map(|genes| whole(genes, &vec![[0; 2]; genes.len() / 2])).collect();
        self.worth(&all)
    }

    /// Each step must keep perplexity within `limit`:
    ///
    /// 1. One width for all keys and values, as small as possible.
    /// 2. The width of all keys or of all values becomes one smaller, whichever does less harm, as long as possible.
    /// 3. The widths of keys and of values in single layers become one smaller, in order of the widest span of their
    ///    channels.
    fn choose_widths(&mut self, thresholds: &Genes, limit: f64) -> Result<Vec<Step>> {
        let layers = self.layers();
        let mut steps: Vec<Step> = Vec::new();
        let mut widths = vec![[WIDTHS[0]; 2]; layers];
        for width in WIDTHS {
            let tried = vec![[width; 2]; layers];
            let worth = self.step(thresholds, &tried)?;
            if worth[0] > limit {
                ensure!(width < WIDTHS[0], "perplexity {:.2} with eight bits, beyond {limit:.2}", worth[0]);
                break;
            }
            widths = tried;
            steps.push(Step { what: format!("all {width}"), widths: widths.clone(), worth });
        }
        loop {
            let lower = |side: usize| -> Option<Vec<[u32; 2]>> {
                let mut lower = widths.clone();
                lower.iter_mut().for_each(|width| width[side] -= 1);
                lower.iter().all(|width| width[side] >= 2).then_some(lower)
            };
            let mut best: Option<Step> = None;
            for (side, name) in [(0, "keys"), (1, "values")] {
                let Some(tried) = lower(side) else { continue };
                let worth = self.step(thresholds, &tried)?;
                if worth[0] <= limit && best.as_ref().is_none_or(|best| worth[0] < best.worth[0]) {
                    best = Some(Step { what: format!("{name} {}", tried[0][side]), widths: tried, worth });
                }
            }
            let Some(best) = best else { break };
            widths = best.widths.clone();
            steps.push(best);
        }
        let spread = outcome(self.model, self.tokens, &whole(thresholds, &widths))?.spread;
        let mut order: Vec<(usize, usize)> = (0..layers).flat_map(|layer| [(layer, 0), (layer, 1)]).collect();
        order.sort_by(|&(a, s), &(b, t)| spread[a][s].total_cmp(&spread[b][t]));
        for (layer, side) in order {
            let mut tried = widths.clone();
            tried[layer][side] -= 1;
            if tried[layer][side] < 2 {
                continue;
            }
            let worth = self.step(thresholds, &tried)?;
            if worth[0] <= limit {
                widths = tried;
                let name = ["keys", "values"][side];
                let what = format!("{name} of layer {layer}: {}", widths[layer][side]);
                steps.push(Step { what, widths: widths.clone(), worth });
            }
        }
        Ok(steps)
    }
}

impl<'a> Exploration<'a> {
    /// A search on a text. The first half of the text is prefill. Results are kept in `store`.
    ///
    /// # Errors
    /// There are fewer than two tokens.
    pub fn new(model: &'a Model, tokens: &'a [u32], threads: NonZeroUsize, store: Option<Store>) -> Result<Self> {
        ensure!(tokens.len() > 1, "perplexity needs a text of 2 tokens, this one has {}", tokens.len());
        Ok(Self { model, tokens, threads, store })
    }

    /// Perplexity and bytes with widths of keys and values in each layer.
    ///
    /// # Errors
    /// The model fails.
    pub fn widths(&mut self, thresholds: &Genes, widths: &[Vec<[u32; 2]>]) -> Result<Vec<Objectives>> {
        let all: Vec<Genes> = widths.iter().map(|widths| whole(thresholds, widths)).collect();
        self.worth(&all)
    }

    /// Worth of whole settings. Known settings come from the store, and the others are computed side by side.
    fn worth(&mut self, settings: &[Genes]) -> Result<Vec<Objectives>> {
        let known = |setting: &Genes| self.store.as_ref().and_then(|store| store.get(setting));
        let new: Vec<&Genes> = settings.iter().filter(|setting| known(setting).is_none()).collect();
        let (next, threads) = (AtomicUsize::new(0), self.threads.get().min(new.len()));
        let (sender, results) = std::sync::mpsc::channel();
        let (model, tokens) = (self.model, self.tokens);
        let mut computed = vec![None; new.len()];
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next, new) = (sender.clone(), &next, &new);
                scope.spawn(move || {
                    while let number = next.fetch_add(1, Ordering::Relaxed)
                        && let Some(setting) = new.get(number)
                    {
                        let outcome = outcome(model, tokens, setting).map(|outcome| outcome.objectives);
                        if sender.send((number, outcome)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            // Keep each result at once: the next one may be interrupted.
            for (number, objectives) in results {
                let objectives = objectives?;
                computed[number] = Some(objectives);
                if let Some(store) = &mut self.store {
                    store.add(new[number], objectives)?;
                }
            }
            anyhow::Ok(())
        })?;
        let mut computed = new.iter().zip(computed);
        let mut of = |setting: &Genes| match self.store.as_ref().and_then(|store| store.get(setting)) {
            Some(objectives) => Ok(objectives),
            None => match computed.next() {
                Some((_, Some(objectives))) => Ok(objectives),
                _ => bail!("a setting was not computed"),
            },
        };
        settings.iter().map(&mut of).collect()
    }

    fn step(&mut self, thresholds: &Genes, widths: &[[u32; 2]]) -> Result<Objectives> {
        let worth = self.widths(thresholds, &[widths.to_vec()])?;
        Ok(worth[0])
    }
}

/// Thresholds and widths of all layers in one list.
fn whole(thresholds: &Genes, widths: &[[u32; 2]]) -> Genes {
    thresholds.chunks(2).zip(widths).flat_map(|(t, w)| [t[0], w[0], t[1], w[1]]).collect()
}

fn outcome(model: &Model, tokens: &[u32], setting: &Genes) -> Result<Outcome> {
    let of_layer = |setting: &[u32]| match *setting {
        [k, bits_k, v, bits_v] => Ok(Setting {
            pruning: [Pruning::Threshold(k), Pruning::Threshold(v)],
            bits: (bits_k > 0 && bits_v > 0).then_some([bits_k, bits_v]),
        }),
        _ => bail!("{} integers, {OF_LAYER} a layer", setting.len()),
    };
    let settings = setting.chunks(OF_LAYER).map(of_layer).collect::<Result<Vec<_>>>()?;
    ensure!(settings.len() == model.config().layers, "{} settings, {} layers", settings.len(), model.config().layers);
    let mut compressed = Compressed::by_layer(settings, tokens.len() / 2);
    let surprises = surprises(model, tokens, &mut compressed)?;
    let perplexity = perplexity(&surprises);
    ensure!(is_surprise(perplexity), "perplexity {perplexity} with the setting {setting:?}, wanted is a number");
    let bytes = compressed.moved_bits() as f64 / 8.0 / compressed.elements().max(1) as f64;
    Ok(Outcome { objectives: [perplexity, bytes], spread: compressed.spread().to_vec() })
}
