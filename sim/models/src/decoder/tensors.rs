//! From the tensors of a file to the parts of a model. Each tensor of the file must find its place.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::arithmetic::{Norm, Projection};
use super::config::{Config, Family, Positions};
use super::model::{Model, Parts, Precision};
use super::weight::Weight;
use crate::gguf::Elements;

/// Tensors by name: a GGUF file, or a folder of safetensors.
pub(super) trait Source {
    /// Its name in messages.
    fn name(&self) -> String;
    fn tensors(&self) -> Vec<&str>;
    fn shape(&self, name: &str) -> Option<&[usize]>;
    fn read(&self, name: &str, shape: &[usize]) -> sim::Result<Elements>;
}

/// Adds a path to an error that does not have it yet.
pub(super) fn located<T>(path: &Path, result: Result<T>) -> Result<T> {
    let path = path.display().to_string();
    result.map_err(|e| if format!("{e:#}").contains(&path) { e } else { e.context(path) })
}

/// How a kind of file names its tensors.
pub(super) struct Names {
    /// Ahead of the number of a layer, such as `blk.`.
    pub layer: String,
    /// Q, K and V in one tensor, if they are; rows of Q come first.
    pub joined: Option<&'static str>,
    /// By projection, without `.weight`.
    pub projections: &'static [(Projection, &'static str)],
    /// Norms of a layer: attention, feed-forward.
    pub norms: [&'static str; 2],
    pub output_norm: String,
    pub embedding: String,
    pub positions: String,
    /// The last product of its own, without `.weight`.
    pub output: String,
    /// Divisors of rotary frequencies.
    pub divisors: Option<&'static str>,
    /// Tensors of a layer that every program computes anew: masks and the like.
    pub derived: &'static [&'static str],
}

/// What a file says beyond [`Config`].
pub(super) struct Layout {
    pub names: Names,
    /// Weights of projections are stored [in, out].
    pub transposed: bool,
    /// Elements i and `i + width / 2` of a head turn together, and not 2i and 2i + 1.
    pub split_halves: bool,
    /// Whether the last product has the embedding's weights; `None` if the tensors say it.
    pub tied: Option<bool>,
    /// Projections with biases; `None` if the tensors say it.
    pub biases: Option<Vec<Projection>>,
}

struct Reader<'a> {
    source: &'a dyn Source,
    config: &'a Config,
    layout: &'a Layout,
    precision: Precision,
    read: RefCell<BTreeSet<String>>,
}

/// Reads all parts of a model.
pub(super) fn read(source: &dyn Source, config: Config, layout: &Layout, precision: Precision) -> Result<Model> {
    let reader = Reader { source, config: &config, layout, precision, read: RefCell::default() };
    let parts = reader.parts()?;
    reader.finish()?;
    Model::from_parts(config, parts)
}

impl Reader<'_> {
    fn parts(&self) -> Result<Parts> {
        let (c, names, mut parts) = (self.config, &self.layout.names, Parts::default());
        for layer in 0..c.layers {
            let name = |part: &str| format!("{}{layer}.{part}", names.layer);
            if let Some(joined) = names.joined {
                self.joined(&mut parts, layer, &name(joined))?;
            }
            for &(projection, part) in names.projections.iter().filter(|(p, _)| c.projections().contains(p)) {
                let key = (layer, projection);
                parts.weights.insert(key, self.projection(&name(part), projection)?);
                if let Some(bias) = self.bias(&name(part), projection)? {
                    parts.biases.insert(key, bias);
                }
            }
            for (norm, part) in [Norm::Attention, Norm::FeedForward].into_iter().zip(names.norms) {
                self.norm(&mut parts, (layer, norm), &name(part))?;
            }
        }
        self.norm(&mut parts, (c.layers, Norm::Output), &names.output_norm)?;
        let embedding = self.weight(&format!("{}.weight", names.embedding), c.shape(Projection::Logits))?;
        let own = format!("{}.weight", names.output);
        let has_own = self.source.shape(&own).is_some();
        let logits = match self.layout.tied {
            Some(false) => Some(self.weight(&own, c.shape(Projection::Logits))?),
            None if has_own => Some(self.weight(&own, c.shape(Projection::Logits))?),
            _ if has_own => {
                // Some programs store tied weights twice.
                let copy = self.weight(&own, c.shape(Projection::Logits))?;
                ensure!(
                    copy == embedding,
                    "`{own}` differs from the embedding, and the configuration says that they are tied"
                );
                None
            }
            _ => None,
        };
        let key = (c.layers, Projection::Logits);
        match logits {
            Some(logits) => {
                parts.weights.insert(key, logits);
                parts.embedding = Some(embedding);
            }
            None => drop(parts.weights.insert(key, embedding)),
        }
        if let Positions::Learned { offset } = c.positions {
            let shape = [c.context + offset, c.width];
            parts.positions = Some(self.weight(&format!("{}.weight", names.positions), shape)?);
        }
        if let Some(divisors) = names.divisors.filter(|name| self.source.shape(name).is_some()) {
            parts.divisors = Some(self.take(divisors, &[c.head_width / 2])?);
        }
        Ok(parts)
    }

    fn elements(&self, name: &str, shape: &[usize]) -> Result<Elements> {
        let elements = self.source.read(name, shape)?;
        self.read.borrow_mut().insert(name.to_owned());
        Ok(elements)
    }

    fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        Ok(self.elements(name, shape)?.values())
    }

    fn weight(&self, name: &str, shape: [usize; 2]) -> Result<Weight> {
        let weight = Weight::stored(shape, self.elements(name, &shape)?);
        match self.precision {
            Precision::File => Ok(weight),
            Precision::Half => weight
                .rounded()
                .with_context(|| format!("{}: weights of `{name}` are beyond binary16", self.source.name())),
        }
    }

    /// A weight as it is stored, a row for each output.
    fn stored(&self, name: &str, [outputs, inputs]: [usize; 2]) -> Result<Weight> {
        if !self.layout.transposed {
            return self.weight(name, [outputs, inputs]);
        }
        Ok(self.weight(name, [inputs, outputs])?.transposed())
    }

    fn projection(&self, part: &str, projection: Projection) -> Result<Weight> {
        let weight = self.stored(&format!("{part}.weight"), self.config.shape(projection))?;
        Ok(match self.order(projection) {
            Some(order) => weight.chosen(order.into_iter()),
            None => weight,
        })
    }

    fn bias(&self, part: &str, projection: Projection) -> Result<Option<Vec<f32>>> {
        let name = format!("{part}.bias");
        let stored = || self.source.shape(&name).is_some();
        if !self.layout.biases.as_ref().map_or_else(stored, |all| all.contains(&projection)) {
            return Ok(None);
        }
        let bias = self.take(&name, &[self.config.shape(projection)[0]])?;
        Ok(Some(match self.order(projection) {
            Some(order) => order.iter().map(|&row| bias[row]).collect(),
            None => bias,
        }))
    }

    /// The order of outputs in which pairs are neighbours, if it is not the file's.
    fn order(&self, projection: Projection) -> Option<Vec<usize>> {
        let turns = matches!(projection, Projection::Q | Projection::K);
        if !(turns && self.layout.split_halves) {
            return None;
        }
        let width = self.config.head_width;
        let within = |i: usize| i / 2 + if i.is_multiple_of(2) { 0 } else { width / 2 };
        Some((0..self.config.shape(projection)[0]).map(|i| i / width * width + within(i % width)).collect())
    }

    /// Q, K and V below each other.
    fn joined(&self, parts: &mut Parts, layer: usize, part: &str) -> Result<()> {
        let all = [Projection::Q, Projection::K, Projection::V];
        let sizes = all.map(|projection| self.config.shape(projection)[0]);
        let (outputs, inputs) = (sizes.iter().sum(), self.config.width);
        let weight = self.stored(&format!("{part}.weight"), [outputs, inputs])?;
        let bias = self.take(&format!("{part}.bias"), &[outputs])?;
        let mut from = 0;
        for (projection, size) in all.into_iter().zip(sizes) {
            parts.weights.insert((layer, projection), weight.chosen(from..from + size));
            parts.biases.insert((layer, projection), bias[from..from + size].to_vec());
            from += size;
        }
        Ok(())
    }

    fn norm(&self, parts: &mut Parts, key: (usize, Norm), part: &str) -> Result<()> {
        let shape = [self.config.width];
        parts.gains.insert(key, self.take(&format!("{part}.weight"), &shape)?);
        if self.config.family == Family::Gpt {
            parts.shifts.insert(key, self.take(&format!("{part}.bias"), &shape)?);
        }
        Ok(())
    }

    /// Refuses tensors that found no place.
    fn finish(&self) -> Result<()> {
        let (read, names) = (self.read.borrow(), &self.layout.names);
        for name in self.source.tensors() {
            let in_layer = name.strip_prefix(&names.layer).and_then(|rest| rest.split_once('.'));
            let derived = in_layer.is_some_and(|(layer, part)| {
                layer.parse().is_ok_and(|layer: usize| layer < self.config.layers) && names.derived.contains(&part)
            });
            if !derived && !read.contains(name) {
                bail!(
                    "{}: tensor `{name}` has no place in this model of the family {:?}",
                    self.source.name(),
                    self.config.family
                );
            }
        }
        Ok(())
    }
}
