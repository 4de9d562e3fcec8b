//! What the accelerator learns: quantizers of activations, and how long tokens stay.

use anyhow::{Context, Result, ensure};
use host::Window;
use host::kelle::{Caps, Intervals, Quantizers, RefreshJob};
use models::calibration::{Arrays, Asked, Calibrates, Kind, Source, Wanted};
use models::decoder::calibration::Input;
use models::kelle::calibration::{self, BUDGET, IMPORTANCE, INTERVALS};
use models::schemes::{Choice, Settings};

use super::{OnKelle, quantizer};
use crate::exact::{Exact, part};
use crate::layer::Layer;
use crate::learn::by_layer;

/// Quantizers of a layer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scales {
    /// Of inputs, in the order of [`Input::ALL`].
    pub inputs: [f32; 4],
    /// Of each head of keys and values.
    pub heads: Vec<Quantizers>,
}

impl Scales {
    /// For activations like those of the float layer, and so many heads of keys and values.
    pub fn of(layer: &Layer, all: &Exact, heads: usize) -> Self {
        let (group, width) = (layer.heads.queries / heads, layer.heads.width);
        let of_head = |number: usize| {
            let stored = number * layer.heads.keys / heads;
            let queries = (number * group..(number + 1) * group).flat_map(|head| part(&all.queries, head, width));
            Quantizers {
                queries: quantizer(&queries.collect::<Vec<_>>()),
                keys: quantizer(&part(&all.keys, stored, width)),
                values: quantizer(&part(&all.values, stored, width)),
            }
        };
        let inputs = [&all.attended, &all.attention, &all.normed, &all.gated].map(|rows| quantizer(rows));
        Self { inputs, heads: (0..heads).map(of_head).collect() }
    }

    pub fn of_arrays(arrays: &Arrays) -> Result<Self> {
        let all = |name: &str| -> Result<Vec<f32>> {
            let found = arrays.all::<f32>(name)?;
            let positive = found.iter().all(|&x| x > 0.0);
            ensure!(positive, "array `{name}` has numbers that are 0 or less, wanted are larger ones");
            Ok(found)
        };
        let mut inputs = [0.0; 4];
        for (input, to) in Input::ALL.into_iter().zip(&mut inputs) {
            let found = all(&name(input.name()))?;
            ensure!(found.len() == 1, "array `{}` has {} numbers for a layer", name(input.name()), found.len());
            *to = found[0];
        }
        let [queries, keys, values] = HEADS.map(|head| all(&name(head)));
        let heads = queries?.into_iter().zip(keys?).zip(values?);
        let heads = heads.map(|((queries, keys), values)| Quantizers { queries, keys, values }).collect();
        Ok(Self { inputs, heads })
    }
}

/// What a head quantizes.
const HEADS: [&str; 3] = ["queries", "keys", "values"];

fn name(of: &str) -> String {
    format!("quantizer.{of}")
}

/// How long tokens stay.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    /// Tokens of each head after each step.
    pub budgets: Vec<u16>,
    /// How often rows are refreshed, where this is set.
    pub refresh: Option<RefreshJob>,
}

impl Kept {
    pub fn of_arrays(arrays: &Arrays, caps: &Caps) -> Result<Self> {
        let budgets = arrays.all::<u16>(BUDGET)?;
        if let Some(&most) = budgets.iter().max().filter(|&&most| u32::from(most) > caps.slots) {
            anyhow::bail!("array `{BUDGET}` has {most}: attention.slots must be {most}, and is {}", caps.slots);
        }
        ensure!(budgets.iter().all(|&budget| budget > 1), "array `{BUDGET}` has budgets below 2, wanted are 2 or more");
        let refresh = match arrays.all::<u32>(INTERVALS)?[..] {
            [0, 0, 0, 0] => None,
            [high_msb, high_lsb, low_msb, low_lsb] => Some(RefreshJob {
                threshold: arrays.one(IMPORTANCE)?,
                high: Intervals { msb: high_msb, lsb: high_lsb },
                low: Intervals { msb: low_msb, lsb: low_lsb },
            }),
            _ => anyhow::bail!("array `{INTERVALS}` has not 4 intervals for a layer"),
        };
        Ok(Self { budgets, refresh })
    }
}

/// Arrays of a layer. Heads keep `usual` tokens where the settings say nothing.
pub(super) fn arrays(scales: &Scales, settings: &Settings, usual: u16) -> Result<Arrays> {
    let mut all = Arrays::new();
    for (input, quantizer) in Input::ALL.into_iter().zip(scales.inputs) {
        all.add(name(input.name()), &[], [quantizer])?;
    }
    let heads = scales.heads.len();
    let of: [fn(&Quantizers) -> f32; 3] = [|head| head.queries, |head| head.keys, |head| head.values];
    for (head, of) in HEADS.into_iter().zip(of) {
        all.add(name(head), &[heads], scales.heads.iter().map(of))?;
    }
    let budget = match settings.count("budget")? {
        0 => usual,
        budget => budget,
    };
    all.add(BUDGET, &[heads], vec![budget; heads])?;
    all.add(INTERVALS, &[4], calibration::intervals(settings)?)?;
    all.add(IMPORTANCE, &[], [settings.count::<u32>("importance")?])?;
    Ok(all)
}

impl Calibrates for OnKelle {
    fn choices(&self) -> Vec<Choice> {
        calibration::choices()
    }

    fn window(&self) -> usize {
        crate::learn::WINDOW
    }

    fn wanted(&self, asked: &Asked<'_>) -> Result<Vec<Wanted>> {
        let (layers, heads) = (asked.config.layers, [asked.config.layers, asked.config.kv_heads]);
        let inputs = Input::ALL.map(|input| Wanted::new(name(input.name()), Kind::Float32, &[layers]));
        let of_heads = HEADS.map(|head| Wanted::new(name(head), Kind::Float32, &heads));
        let kept = [
            Wanted::new(BUDGET, Kind::Uint16, &heads),
            Wanted::new(INTERVALS, Kind::Uint32, &[layers, 4]),
            Wanted::new(IMPORTANCE, Kind::Uint32, &[layers]),
        ];
        Ok(inputs.into_iter().chain(of_heads).chain(kept).collect())
    }

    fn runs_with(&self, asked: &Asked<'_>, arrays: &Arrays) -> Result<()> {
        // Its address plays no part in a refresh.
        let anywhere = Window { base: 0, limit: 0xfff, address_width: 32 };
        for layer in 0..asked.config.layers {
            let arrays = arrays.layer(layer)?;
            Scales::of_arrays(&arrays)?;
            if let Some(refresh) = Kept::of_arrays(&arrays, &self.caps)?.refresh {
                refresh.build(&self.caps, &anywhere).with_context(|| format!("array `{INTERVALS}`"))?;
            }
        }
        Ok(())
    }

    fn learn(&self, from: &Source<'_>, settings: &Settings, done: &mut dyn FnMut(usize)) -> Result<Arrays> {
        by_layer(self, from, settings, done)
    }
}
