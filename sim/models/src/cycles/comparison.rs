//! Accelerators on the same layer, tokens, memory and clock, at equal area of logic. Which one is faster at which
//! bandwidth, batch and context?
//!
//! Each accelerator is a [`Machine`], and each machine a row. Machines smaller than the largest get copies until the
//! areas are equal, fractions too, and copies share the work evenly. Memory moves so many bytes a cycle while the
//! machine computes.

use std::fmt::Write;

use anyhow::{Context, Result};

use super::shapes::{Model, model};
use super::{Cost, Work};

/// The cost of a layer of a model, for some work.
pub type Layer<'a> = Box<dyn Fn(&Model, Work) -> Result<Cost> + 'a>;

/// An accelerator in a comparison.
pub struct Machine<'a> {
    /// Name and parameters.
    pub name: &'static str,
    /// Logic, in square millimetres of one library.
    pub area: f64,
    /// Memory, in Mbit.
    pub memory: f64,
    /// Multiply-accumulates a cycle, if no multiplier ever waits.
    pub peak: u64,
    /// Perplexity of SmolLM2-135M with these numbers (docs/perplexity.md).
    pub perplexity: &'static str,
    /// Tokens that a sequence may have. With more tokens the machine has no entry.
    pub most: u64,
    /// The source of area and memory.
    pub source: &'static str,
    /// Computes the cost of a layer.
    pub layer: Layer<'a>,
}

/// Bytes a cycle of memory.
pub const BANDWIDTHS: [f64; 3] = [16.0, 64.0, 256.0];
/// Model whose layer is compared.
const MODEL: &str = "Llama-2-7B";
/// Sequences side by side, and tokens that each sequence sees.
const BATCHES: [u64; 4] = [1, 4, 16, 64];
const CONTEXTS: [u64; 3] = [128, 1024, 4096];

/// Cycles of a layer on all copies of a machine.
#[must_use]
pub fn time(cost: Cost, copies: f64, bandwidth: f64) -> f64 {
    (cost.cycles as f64 / copies).max(cost.bytes as f64 / bandwidth)
}

/// Costs of a decoding step for each batch and context, machine by machine; then of prompts of each length. None if a
/// machine has no room for so many tokens.
pub struct Costs {
    copies: Vec<f64>,
    decoding: Vec<Vec<Vec<Option<Cost>>>>,
    prompts: Vec<Vec<Option<Cost>>>,
}

impl Costs {
    /// All layers.
    ///
    /// # Errors
    /// A layer that does not fit on a machine.
    pub fn new(machines: &[Machine<'_>]) -> Result<Self> {
        let model = model(MODEL).context("the model of the comparison")?;
        let largest = machines.iter().map(|machine| machine.area).fold(0.0, f64::max);
        let of = |machine: &Machine<'_>, work: Work| {
            let layer = || (machine.layer)(&model, work).with_context(|| format!("{} at {work:?}", machine.name));
            (work.context <= machine.most).then(layer).transpose()
        };
        let decoding = machines.iter().map(|machine| {
            let row = |&sequences: &u64| {
                CONTEXTS.iter().map(|&context| of(machine, Work { sequences, tokens: 1, context })).collect()
            };
            BATCHES.iter().map(row).collect()
        });
        let prompts = machines.iter().map(|machine| {
            CONTEXTS.iter().map(|&tokens| of(machine, Work { sequences: 1, tokens, context: tokens })).collect()
        });
        Ok(Self {
            copies: machines.iter().map(|machine| largest / machine.area).collect(),
            decoding: decoding.collect::<Result<_>>()?,
            prompts: prompts.collect::<Result<_>>()?,
        })
    }

    /// The fastest machine, and how many times as long the next one takes: infinity if there is no other machine. None
    /// if both are within 1 %.
    fn fastest(&self, of: impl Fn(usize) -> Option<Cost>, bandwidth: f64) -> (Option<usize>, f64) {
        let of = |k: usize| Some((time(of(k)?, self.copies[k], bandwidth), k));
        let mut times: Vec<(f64, usize)> = (0..self.copies.len()).filter_map(of).collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some(&(least, first)) = times.first() else { return (None, 1.0) };
        let ratio = times.get(1).map_or(f64::INFINITY, |next| next.0 / least);
        ((ratio > 1.01).then_some(first), ratio)
    }

    /// Cycles of a step of decoding over bandwidth, a curve a machine: one sequence, the middle context.
    #[must_use]
    pub fn curves(&self, machines: &[Machine<'_>]) -> Vec<(&'static str, Vec<[f64; 2]>)> {
        let places: Vec<f64> = (0..=24).map(|k| 4.0 * 2f64.powf(f64::from(k) / 2.4)).collect();
        let curve = |k: usize| {
            let costs = self.decoding[k][0][1].into_iter();
            costs.flat_map(|cost| places.iter().map(move |&x| [x, time(cost, self.copies[k], x)])).collect()
        };
        machines.iter().enumerate().map(|(k, machine)| (machine.name, curve(k))).collect()
    }

    /// The tables of docs/comparison.md.
    #[must_use]
    pub fn markdown(&self, machines: &[Machine<'_>]) -> String {
        let mut text = "| accelerator | logic, mm² | copies | memory of one, Mbit | products a cycle of one | perplexity of SmolLM2-135M | from |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |\n".to_owned();
        for (machine, copies) in machines.iter().zip(&self.copies) {
            let Machine { name, area, memory, peak, perplexity, source, .. } = machine;
            let _ =
                writeln!(text, "| {name} | {area:.0} | {copies:.2} | {memory:.1} | {peak} | {perplexity} | {source} |");
        }
        let _ = write!(text, "\n| a layer of {MODEL} | accelerator | cycles of one | MB moved | busy |");
        for bandwidth in BANDWIDTHS {
            let _ = write!(text, " {bandwidth} B |");
        }
        let _ = writeln!(text, "\n| --- | --- | ---: | ---: | ---: |{}", " ---: |".repeat(BANDWIDTHS.len()));
        let mut rows = |what: String, of: &dyn Fn(usize) -> Option<Cost>| {
            for (k, machine) in machines.iter().enumerate() {
                let what = if k == 0 { what.as_str() } else { "" };
                let Some(cost) = of(k) else {
                    let _ = writeln!(text, "| {what} | {} |{}", machine.name, " - |".repeat(3 + BANDWIDTHS.len()));
                    continue;
                };
                let busy = cost.products as f64 / cost.cycles as f64 / machine.peak as f64;
                let _ = write!(
                    text,
                    "| {what} | {} | {} | {:.1} | {busy:.2} |",
                    machine.name,
                    cost.cycles,
                    cost.bytes as f64 / 1e6
                );
                for bandwidth in BANDWIDTHS {
                    let _ = write!(text, " {:.0} |", time(cost, self.copies[k], bandwidth));
                }
                text.push('\n');
            }
        };
        rows(format!("a token after {}", CONTEXTS[1] - 1), &|k| self.decoding[k][0][1]);
        rows(format!("{} such tokens, one of each sequence", BATCHES[2]), &|k| self.decoding[k][2][1]);
        rows(format!("a prompt of {}", CONTEXTS[1]), &|k| self.prompts[k][1]);
        let _ = write!(text, "\n| fastest, and by how much | context |");
        for bandwidth in BANDWIDTHS {
            let _ = write!(text, " {bandwidth} B a cycle |");
        }
        let _ = writeln!(text, "\n| --- | ---: |{}", " --- |".repeat(BANDWIDTHS.len()));
        let mut wins = |what: String, context: u64, of: &dyn Fn(usize) -> Option<Cost>| {
            let _ = write!(text, "| {what} | {context} |");
            for bandwidth in BANDWIDTHS {
                let (first, ratio) = self.fastest(of, bandwidth);
                let _ = match first {
                    Some(first) if ratio.is_infinite() => write!(text, " {} alone |", machines[first].name),
                    Some(first) => write!(text, " {} {ratio:.2} |", machines[first].name),
                    None => write!(text, " as fast |"),
                };
            }
            text.push('\n');
        };
        for (b, batch) in BATCHES.iter().enumerate() {
            for (c, &context) in CONTEXTS.iter().enumerate() {
                let what = if c == 0 { format!("decoding, {batch} side by side") } else { String::new() };
                wins(what, context, &|k| self.decoding[k][b][c]);
            }
        }
        for (c, &context) in CONTEXTS.iter().enumerate() {
            wins(if c == 0 { "a prompt".into() } else { String::new() }, context, &|k| self.prompts[k][c]);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One machine computes twice as fast on twice the area, the other one moves half of the bytes.
    #[test]
    fn equal_area_and_bandwidth_decide() {
        let machine = |name, area, cycles, bytes, most| Machine {
            name,
            area,
            memory: 1.0,
            peak: 1,
            perplexity: "-",
            most,
            source: "-",
            layer: Box::new(move |_: &Model, _| Ok(Cost { cycles, bytes, products: cycles })),
        };
        let machines = [machine("large", 200.0, 1_000, 100_000, 4096), machine("small", 100.0, 2_000, 50_000, 128)];
        let costs = Costs::new(&machines).unwrap();
        assert_eq!(costs.copies, [1.0, 2.0]);
        let of = |k: usize| costs.decoding[k][0][0];
        assert_eq!(costs.fastest(of, 16.0), (Some(1), 2.0));
        assert_eq!(costs.fastest(of, 1024.0), (None, 1.0));
        assert_eq!(time(of(1).unwrap(), 2.0, 16.0), 3125.0);
        // The small one has no room for more tokens, so there is no next one.
        assert_eq!(costs.decoding[1][0][1], None);
        assert_eq!(costs.fastest(|k| costs.decoding[k][0][1], 16.0), (Some(0), f64::INFINITY));
        let text = costs.markdown(&machines);
        assert!(text.contains("| decoding, 1 side by side | 128 | small 2.00 |"), "{text}");
        assert!(text.contains("| large | 200 | 1.00 | 1.0 | 1 | - | - |"), "{text}");
        assert!(text.contains("|  | small | - | - | - | - | - | - |"), "{text}");
        assert!(text.contains("|  | 1024 | large alone |"), "{text}");
        let curves = costs.curves(&machines);
        assert_eq!((curves[0].1[0], curves[1].1.len()), ([4.0, 25_000.0], 0));
    }
}
