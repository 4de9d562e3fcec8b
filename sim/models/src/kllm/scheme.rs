//! KLLM's codebooks as a scheme.

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};

use super::calibration::{ACCELERATOR, WEIGHT_BITS, counting, counts, detection, of_arrays, outliers};
use super::language_model::{Books, ClusteredModel, ClusteredWeights, Outliers};
use crate::schemes::{Bench, Choice, Given, Kind, Part, Prepared, Scheme, Settings, Tally};

/// Bits of activations that are not quantized.
const EXACT: u32 = 16;

/// Weights and activations as indices of codebooks.
#[derive(Clone, Copy, Debug)]
pub struct Kllm;

impl Scheme for Kllm {
    fn name(&self) -> &'static str {
        "kllm"
    }

    fn about(&self) -> &'static str {
        "products of all projections in K-Means codebooks, with outliers of activations in binary16"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        vec![
            Choice { name: "weights", default: "4", kind: Kind::Count(1..=8), about: "bits of a weight's index" },
            Choice {
                name: "activations",
                default: "4",
                kind: Kind::Count(1..=u64::from(EXACT)),
                about: "bits of an activation's index, 1 to 8; 16: activations stay as they are",
            },
            outliers(),
            detection(),
            counts(),
        ]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (bits, share) = (settings.count("activations")?, settings.percent("outliers")?);
        ensure!(bits <= 8 || bits == EXACT, "option `activations` is {bits}, allowed: 1 to 8, or {EXACT}");
        let outliers = if settings.word("detection")? == "online" { Outliers::Online } else { Outliers::Offline };
        if let Some(given) = bench.given(ACCELERATOR) {
            return by_given(settings, bench, given, bits);
        }
        let weights = bench.clusters(settings.count("weights")?, counting(settings.word("counting")?))?;
        let learnt = bench.calibration(0)?;
        let model = match bits {
            EXACT => ClusteredModel::weights_only(&weights),
            _ => ClusteredModel::new(&weights, &learnt, bits, share, outliers)?,
        };
        // Codebooks are trained once, and copied for each passage.
        let books = model.books();
        Ok(reader(bench, weights, books))
    }

    fn calibrated_by(&self) -> Option<&'static str> {
        Some(ACCELERATOR)
    }

    fn shared(&self) -> &'static [&'static str] {
        &SHARED
    }

    fn learns(&self, _: &Settings) -> bool {
        true
    }
}

/// Options that a calibration has, too: of weights, then of activations.
const SHARED: [&str; 4] = ["counting", "activations", "outliers", "detection"];

/// With the codebooks of a file.
fn by_given<'a>(settings: &Settings, bench: &'a Bench<'_>, given: &Given, bits: u32) -> Result<Prepared<'a>> {
    let of_weights: u32 = settings.count("weights")?;
    let place = given.file.path.display();
    ensure!(of_weights == WEIGHT_BITS, "option `weights` is {of_weights}, wanted is {WEIGHT_BITS} for {place}");
    given.agrees(settings, if bits == EXACT { &SHARED[..1] } else { &SHARED })?;
    let found = of_arrays(bench.model.config(), &given.settings, &given.file.arrays);
    let (weights, tokens) = given.named(found)?;
    let weights = ClusteredWeights::with_books(bench.model, |layer, projection, _| {
        let found = weights.get(&(layer, projection)).cloned();
        found.with_context(|| format!("no codebook of {projection:?} in layer {layer}"))
    })?;
    let tokens = (bits != EXACT).then(|| Arc::new(tokens));
    Ok(reader(bench, Arc::new(weights), tokens))
}

fn reader<'a>(bench: &'a Bench<'_>, weights: Arc<ClusteredWeights>, books: Option<Arc<Books>>) -> Prepared<'a> {
    Prepared::products(Cow::Borrowed(bench.model), move |_, read| {
        let mut model = ClusteredModel::with_books(&weights, books.clone());
        read(&mut model)?;
        let [kept, all] = model.outliers();
        Ok(if all == 0 { Vec::new() } else { vec![Tally::ratio("kept", [kept, all], 1.0)] })
    })
}
