//! What the accelerator learns: quantizers of activations, and how long tokens stay.

use anyhow::{Result, ensure};
use host::kelle::{Caps, Intervals, Quantizers, RefreshJob};
use models::calibration::Arrays;
use models::decoder::calibration::Input;
use models::kelle::calibration::{self, BUDGET, IMPORTANCE, INTERVALS};
use models::schemes::Settings;

use crate::exact::{Exact, part};
use crate::layer::Layer;

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
pub(super) const HEADS: [&str; 3] = ["queries", "keys", "values"];

pub(super) fn name(of: &str) -> String {
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

/// The largest integer of a calibrated activation: half of the range, since evictions change later activations.
const LARGEST: f64 = 16_000.0;

/// The quantizer of activations like these.
#[must_use]
pub fn quantizer(like: &[Vec<f64>]) -> f32 {
    (LARGEST / most(like)) as f32
}

pub(super) fn most(rows: &[Vec<f64>]) -> f64 {
    rows.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()))
}
