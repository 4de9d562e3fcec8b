//! `QuaRot` (Ashkboos et al. 2024): activations are rotated, so that no channel has large values, and weights so that
//! nothing changes in exact arithmetic.
//!
//! The residual stream is rotated by a Hadamard matrix with random signs. Weights take that in, and the gains of norms
//! (section 4, stage 1a). The inputs of the output projection and of the last projection of the feed-forward network
//! are rotated when they come (stage 1b, 1c). The rotated cache is a scheme of its own.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use rand::RngExt;
use sim::stimulus::rng_for;

use super::hadamard::Rotation;
use super::integers::{Columns, Integers};
use super::options::{activations, clip, damping, inputs, order, solve, solver, weights};
use super::products::{Change, Form, Rounded, rows_of};
use crate::WrongRequest;
use crate::decoder::arithmetic::{Norm, Projection};
use crate::decoder::calibration::Input;
use crate::decoder::{Family, Matrix, Model, Parts, Weight};
use crate::schemes::{Bench, Choice, Kind, Part, Prepared, Scheme, Settings};

/// A model with the same results whose residual stream is rotated. Its norms have no gains.
///
/// # Errors
/// The model's norms subtract means (family GPT): they do not commute with rotations.
pub fn rotated(model: &Model, rotation: &Rotation) -> Result<Model> {
    let config = model.config();
    let told = || {
        let found = config.family;
        WrongRequest(format!("rotations of the residual stream are for the family Llama, this model is {found:?}"))
    };
    ensure!(config.family == Family::Llama, told());
    let parts = model.parts();
    let (mut weights, mut biases) = (BTreeMap::new(), parts.biases.clone());
    for (&(layer, projection), weight) in &parts.weights {
        let mut rows = rows_of(weight);
        let norm = match projection {
            Projection::Q | Projection::K | Projection::V => Some(Norm::Attention),
            Projection::Gate | Projection::Up => Some(Norm::FeedForward),
            Projection::Logits => Some(Norm::Output),
            Projection::O | Projection::Down => None,
        };
        if let Some(norm) = norm {
            let gain = model.gain(layer, norm)?;
            for row in rows.iter_mut() {
                row.iter_mut().zip(gain).for_each(|(w, &gain)| *w *= f64::from(gain));
                rotation.turn(row);
            }
        } else {
            // Outputs are added to the residual stream.
            let mut columns = rows.transposed();
            columns.iter_mut().for_each(|column| rotation.turn(column));
            rows = columns.transposed();
            if let Some(bias) = biases.get_mut(&(layer, projection)) {
                let mut row: Vec<f64> = bias.iter().map(|&b| b.into()).collect();
                rotation.turn(&mut row);
                *bias = row.into_iter().map(|b| b as f32).collect();
            }
        }
        weights.insert((layer, projection), floats(&rows));
    }
    let mut embedding = rows_of(model.embedding()?);
    embedding.iter_mut().for_each(|row| rotation.turn(row));
    let gains = parts.gains.iter().map(|(&key, gain)| (key, vec![1.0; gain.len()])).collect();
    let Parts { shifts, positions, divisors, .. } = parts.clone();
    let embedding = Some(floats(&embedding));
    Model::from_parts(*config, Parts { weights, biases, gains, shifts, embedding, positions, divisors })
}

fn floats(rows: &Matrix) -> Weight {
    let values: Vec<f32> = rows.values.iter().map(|&w| w as f32).collect();
    Weight::new([rows.rows(), rows.columns], &values)
}

/// Integers after rotations.
#[derive(Clone, Copy, Debug)]
pub struct QuaRot;

impl Scheme for QuaRot {
    fn name(&self) -> &'static str {
        "quarot"
    }

    fn about(&self) -> &'static str {
        "integers to the nearest, after residual stream and inputs are rotated by Hadamard matrices (QuaRot)"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        let about = "seed of the signs of the residual stream's rotation";
        let seed = Choice { name: "seed", default: "1", kind: Kind::Count(0..=u64::MAX), about };
        let clip = clip("clip", "0.9", "share of a token's largest magnitude beyond which activations saturate");
        vec![weights("4"), activations("4"), clip, seed, solve("gptq"), damping(), order()]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let bits = settings.count("weights")?;
        let (clip, config) = (settings.number("clip")?, *bench.model.config());
        let mut rng = rng_for(settings.count("seed")?, "signs of a rotation");
        let signs = (0..config.width).map(|_| if rng.random_range(0..2) == 0 { 1.0 } else { -1.0 }).collect();
        let model = rotated(bench.model, &Rotation::new(config.width, Some(signs)))?;
        let turns: Vec<Arc<Rotation>> = [Input::AttentionOut, Input::Down]
            .map(|input| Arc::new(Rotation::new(input.channels(&config), None)))
            .to_vec();
        let solver = match self.learns(settings) {
            true => Some(solver(settings, bench.learning()?)?),
            false => None,
        };
        let rounded = Rounded::new(&model, solver, |_, input| {
            let width = input.channels(&config);
            let change = match input {
                Input::Attention | Input::FeedForward => Change::None,
                Input::AttentionOut => Change::Rotate(turns[0].clone()),
                Input::Down => Change::Rotate(turns[1].clone()),
            };
            let outputs = Box::new(Columns::new(width, 0, Integers::symmetric(bits)));
            Ok(Form { change, inputs: inputs(settings, width, 0, clip)?, outputs })
        })?;
        Ok(rounded.prepared(Cow::Owned(model)))
    }

    fn learns(&self, settings: &Settings) -> bool {
        settings.word("solve").is_ok_and(|solve| solve == "gptq")
    }
}
