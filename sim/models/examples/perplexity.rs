//! Perplexity of SmolLM2-135M in floats and in the numbers of each accelerator: the tables of docs/perplexity.md.
//!
//! `cargo run --release -p senbazuru-models --example perplexity`, or with some of `tender kllm titanus kelle retention intervals integers combination longer` for these parts
//! alone (`longer` is some rows of each on the longer text; beside others, of these alone: `longer tender kllm`); `--facts FILE` writes the numbers as JSON. Needs the weights, which `scripts/setup full` fetches. Seeds are fixed.

use anyhow::{Result, bail};
use golden::kelle::decode::Numbers;
use golden::kelle::edram_bank::Distribution;
use golden::tender::granularity::Granularity;
use indicatif::{ProgressBar, ProgressStyle};
use models::decoder::calibration::Calibration;
use models::decoder::key_values::RoundedCache;
use models::decoder::perplexity::{perplexity, surprises};
use models::decoder::{Arithmetic, Float, Model, Precision, Tokenizer};
use models::kelle::decode::Policy;
use models::kelle::language_model::{Forgetful, SmallCache, Stored};
use models::kelle::retention::{Refresh, RetainedCache, table_4};
use models::kllm::language_model::{ClusteredModel, ClusteredWeights, Counting, Outliers};
use models::smollm2::open;
use models::smollm2::texts::{self, Text};
use models::tender::language_model::{Activations, IntegerModel, IntegerWeights};
use models::titanus::language_model::{Compressed, Pruning};
use sim::facts::Facts;

const PARTS: [&str; 9] =
    ["tender", "kllm", "titanus", "kelle", "retention", "intervals", "integers", "combination", "longer"];

/// Those of which the longer text has rows.
const ON_LONGER: [&str; 6] = ["kelle", "intervals", "integers", "titanus", "tender", "kllm"];

/// One token of so many becomes a sample for codebooks: 128 of the calibration text.
const SAMPLE_STRIDE: usize = 20;

struct Study {
    model: Model,
    committed: Text,
    longer: Text,
    to_learn: Text,
    learnt: Option<Calibration>,
    /// Whether the longer text is judged.
    on_longer: bool,
    facts: Facts,
    progress: ProgressBar,
}

impl Study {
    fn new(facts: Facts) -> Result<Self> {
        let file = open()?;
        let tokenizer = Tokenizer::read(&file)?;
        let model = Model::read(&file, Precision::Half)?;
        let study = Self {
            committed: texts::committed(&tokenizer)?,
            longer: texts::longer(&tokenizer)?,
            to_learn: texts::calibration(&tokenizer)?,
            learnt: None,
            on_longer: false,
            progress: ProgressBar::new_spinner(),
            model,
            facts,
        };
        study.progress.set_style(ProgressStyle::with_template("{spinner} {pos} passes, {elapsed} {msg}")?);
        study.progress.enable_steady_tick(std::time::Duration::from_millis(200));
        Ok(study)
    }

    /// What is learnt from the calibration text, by those who need it.
    fn learnt(&mut self) -> Result<Calibration> {
        if let Some(learnt) = &self.learnt {
            return Ok(learnt.clone());
        }
        self.progress.set_message("calibration");
        let mut learnt = Calibration::new(SAMPLE_STRIDE);
        for window in &self.to_learn.windows {
            learnt.learn(&self.model, window)?;
            self.progress.inc(1);
        }
        self.learnt = Some(learnt.clone());
        Ok(learnt)
    }

    /// A row of the table, and its fact.
    fn row(&mut self, name: &str, arithmetic: &mut dyn Arithmetic) -> Result<()> {
        self.progress.set_message(name.to_owned());
        let text = if self.on_longer { &self.longer } else { &self.committed };
        let mut all = Vec::new();
        for window in &text.windows {
            all.extend(surprises(&self.model, window, arithmetic)?);
            self.progress.inc(1);
        }
        let (name, perplexity) = (self.called(name), perplexity(&all));
        self.facts.add(&name, perplexity);
        self.progress.suspend(|| println!("| {name} | {} |", number(perplexity)));
        Ok(())
    }

    /// What a row is called among the facts.
    fn called(&self, name: &str) -> String {
        if self.on_longer { format!("longer {name}") } else { name.to_owned() }
    }

    /// Those of both texts, and more on the committed one, which is a quarter as long.
    fn some<T: Clone>(&self, both: &[T], committed: &[T]) -> Vec<T> {
        if self.on_longer { both.to_vec() } else { [both, committed].concat() }
    }

    fn note(&mut self, name: &str, value: f64) {
        let name = self.called(name);
        self.facts.add(&name, value);
        self.progress.suspend(|| println!("| {name} | {value:.4} |"));
    }

    fn tender(&mut self) -> Result<()> {
        let learnt = self.learnt()?;
        for bits in [8, 4] {
            self.progress.set_message("weights in integers");
            let weights = IntegerWeights::new(&self.model, bits)?;
            for (name, granularity) in self
                .some(&[("row", Granularity::Row)], &[("tensor", Granularity::Tensor), ("column", Granularity::Column)])
            {
                let mut model = IntegerModel::new(&weights, bits, Activations::Plain(granularity));
                self.row(&format!("INT{bits} {name}"), &mut model)?;
            }
            if bits == 4 && !self.on_longer {
                let mut model = IntegerModel::new(&weights, 3, Activations::Plain(Granularity::Row));
                self.row("W4A3 row", &mut model)?;
            }
            for name in self.some(&[], &[format!("INT{bits} weights")]) {
                self.row(&name, &mut IntegerModel::new(&weights, bits, Activations::Exact))?;
            }
            for groups in self.some(&[8], &[1, 4, 16]) {
                let name = format!("Tender INT{bits} {groups} groups");
                let mut model = IntegerModel::new(&weights, bits, Activations::TenderOnItself { groups });
                self.row(&format!("{name} on itself"), &mut model)?;
                let mut model = IntegerModel::new(&weights, bits, Activations::Tender { groups, learnt: &learnt });
                self.row(&name, &mut model)?;
                self.note(&format!("{name} bits of a sum"), model.largest_sum.log2());
            }
        }
        Ok(())
    }

    fn kllm(&mut self) -> Result<()> {
        let learnt = self.learnt()?;
        for (counting, name) in self.some(&[], &[(Counting::ByInput, "KLLM W4A16 by input")]) {
            self.progress.set_message("weights in clusters");
            let weights = ClusteredWeights::new(&self.model, (&learnt, None), 4, counting)?;
            self.row(name, &mut ClusteredModel::weights_only(&weights))?;
        }
        self.progress.set_message("weights in clusters");
        let weights = ClusteredWeights::new(&self.model, (&learnt, None), 4, Counting::Alike)?;
        for name in self.some(&[], &["KLLM W4A16"]) {
            self.row(name, &mut ClusteredModel::weights_only(&weights))?;
        }
        let online = self.some(&[0, 100, 1000], &[50, 200, 500]);
        let offline = self.some(&[], &[100]);
        for (outliers, name, shares) in [(Outliers::Online, "KLLM", online), (Outliers::Offline, "KLLM-S", offline)] {
            for bits in self.some(&[4], &[3]) {
                for &share in &shares {
                    let mut model = ClusteredModel::new(&weights, &learnt, bits, share, outliers)?;
                    let name = format!("{name} W4A{bits} {share}");
                    self.row(&name, &mut model)?;
                    self.note(&format!("{name} kept"), model.kept());
                }
            }
        }
        Ok(())
    }

    /// A part on the text that is judged.
    fn part(&mut self, part: &str) -> Result<()> {
        match part {
            "tender" => self.tender(),
            "kllm" => self.kllm(),
            "titanus" => self.titanus(),
            "kelle" => self.kelle(),
            "retention" => self.retention(),
            "intervals" => self.intervals(),
            "integers" => self.integers(),
            "combination" => self.combination(),
            _ => self.longer(&ON_LONGER),
        }
    }

    /// Parts on the longer text.
    fn longer(&mut self, parts: &[&str]) -> Result<()> {
        self.on_longer = true;
        self.row("float", &mut Float)?;
        parts.iter().try_for_each(|part| self.part(part))
    }

    /// Orizuru's outliers beside Tender's groups: 1 % and 3 % of each row multiplied apart. What it is without them is `tender`.
    fn combination(&mut self) -> Result<()> {
        self.progress.set_message("weights in integers");
        let weights = IntegerWeights::new(&self.model, 4)?;
        let model = |activations, share| IntegerModel::new(&weights, 4, activations).outliers_apart(share);
        for share in [100, 300] {
            let row = Activations::Plain(Granularity::Row);
            self.row(&format!("INT4 row without {share}"), &mut model(row, share))?;
            for groups in [1, 4, 8] {
                let mut model = model(Activations::TenderOnItself { groups }, share);
                self.row(&format!("Tender INT4 {groups} groups on itself without {share}"), &mut model)?;
                let used = model.groups.0 as f64 / model.groups.1 as f64;
                self.note(&format!("Tender INT4 {groups} groups used without {share}"), used);
            }
        }
        for share in [100, 300] {
            self.progress.set_message("calibration");
            let mut learnt = Calibration::new(SAMPLE_STRIDE).leaving_out(share);
            for window in &self.to_learn.windows {
                learnt.learn(&self.model, window)?;
            }
            for groups in [1, 4, 8] {
                let another = Activations::Tender { groups, learnt: &learnt };
                let mut model = IntegerModel::new(&weights, 4, another).outliers_apart(share);
                self.row(&format!("Tender INT4 {groups} groups without {share}"), &mut model)?;
            }
        }
        Ok(())
    }

    /// Shares of zeros, which thresholds make, and bits.
    fn titanus(&mut self) -> Result<()> {
        let text = if self.on_longer { &self.longer } else { &self.committed };
        let prefill = text.windows[0].len() / 2;
        let bits = self.some(
            &[("int8", None), ("K3 V3", Some([3, 3]))],
            &[("K4 V4", Some([4, 4])), ("K3 V2", Some([3, 2])), ("K2 V2", Some([2, 2]))],
        );
        for percent in self.some(&[0, 34], &[20, 50]) {
            for (name, bits) in bits.clone() {
                let (pruning, name) = match percent {
                    0 => (Pruning::Threshold(0), name.to_owned()),
                    34 => (Pruning::Share(0.338), format!("pruned 34 {name}")),
                    _ => (Pruning::Share(f64::from(percent) / 100.0), format!("pruned {percent} {name}")),
                };
                self.row(&format!("Titanus {name}"), &mut Compressed::new(pruning, bits, prefill))?;
            }
        }
        Ok(())
    }

    /// Keys and values rounded to integers.
    fn integers(&mut self) -> Result<()> {
        for bits in self.some(&[4], &[8, 3, 2]) {
            self.row(&format!("cache INT{bits}"), &mut RoundedCache { bits })?;
        }
        Ok(())
    }

    fn kelle(&mut self) -> Result<()> {
        for tokens in self.some(&[128], &[16, 32, 64]) {
            for (name, policy) in [
                ("window", Policy::Window),
                ("first and recent", Policy::SinkAndWindow),
                ("AERP", Policy::Softmax),
                ("AERP 8 bits", Policy::Hardware(Numbers::EIGHT_BITS)),
                ("AERP 4 bits", Policy::Hardware(Numbers::FOUR_BITS)),
            ] {
                let is_named = matches!(policy, Policy::SinkAndWindow | Policy::Softmax);
                if is_named || tokens == 64 {
                    self.row(&format!("Kelle {tokens} {name}"), &mut SmallCache { tokens, policy })?;
                }
            }
        }
        Ok(())
    }

    /// N' and refresh intervals together: Table 4 in cells of the golden retention model.
    fn intervals(&mut self) -> Result<()> {
        for tokens in self.some(&[Some(128)], &[None, Some(32), Some(64)]) {
            let name = |refresh: &str| match tokens {
                Some(tokens) => format!("Kelle {tokens} refreshed {refresh}"),
                None => format!("Kelle all refreshed {refresh}"),
            };
            let [short, middle, long] = table_4();
            let columns = self.some(&[middle], &[short, long]);
            let mut one = |refresh, what: &str| -> Result<()> {
                let mut model = RetainedCache::new(tokens.unwrap_or(512), refresh, Distribution::tail(), 1);
                self.row(&name(what), &mut model)?;
                self.note(&format!("{} lost", name(what)), model.reads.1 as f64 / model.reads.0 as f64 * 1e6);
                Ok(())
            };
            one(Refresh::uniform(45_000), "safe")?;
            for (interval, uniform, by_class) in columns {
                one(uniform, &format!("uniform {interval}"))?;
                one(by_class, &format!("2DRP {interval}"))?;
            }
        }
        Ok(())
    }

    fn retention(&mut self) -> Result<()> {
        for (name, stored, high, low) in [
            ("half both 1e-3", Stored::Half, 1e-3, 1e-3),
            ("integer both 1e-3", Stored::Integer, 1e-3, 1e-3),
            ("integer both 2e-3", Stored::Integer, 2e-3, 2e-3),
            ("integer low 4e-3", Stored::Integer, 0.0, 4e-3),
            ("integer high 4e-3", Stored::Integer, 4e-3, 0.0),
        ] {
            self.row(&format!("Kelle flips {name}"), &mut Forgetful::new(stored, high, low, 1))?;
        }
        Ok(())
    }
}

/// Three digits behind the point, or none where they say nothing.
fn number(x: f64) -> String {
    if x < 1000.0 { format!("{x:.3}") } else { format!("{x:.0}") }
}

fn main() -> Result<()> {
    let (facts, arguments) = Facts::from_args()?;
    if let Some(unknown) = arguments.iter().find(|a| !PARTS.contains(&a.as_str())) {
        bail!("there is no part `{unknown}`; parts are: {}", PARTS.join(", "));
    }
    let asked = |part: &str| arguments.iter().any(|a| a == part);
    let mut study = Study::new(facts)?;
    println!("| numbers | {} |\n| --- | ---: |", study.committed.name);
    study.row("float", &mut Float)?;
    if asked("longer") && arguments.len() > 1 {
        let parts: Vec<&str> = arguments.iter().map(String::as_str).filter(|&part| part != "longer").collect();
        if let Some(part) = parts.iter().find(|part| !ON_LONGER.contains(part)) {
            bail!("the longer text has no rows of `{part}`; it has those of {}", ON_LONGER.join(", "));
        }
        study.longer(&parts)?;
    } else {
        let mut parts = PARTS.into_iter().filter(|part| arguments.is_empty() || asked(part));
        parts.try_for_each(|part| study.part(part))?;
    }
    study.progress.finish_and_clear();
    Ok(study.facts.write()?)
}
