//! Perplexity of SmolLM2-135M in the golden models of the four accelerators, as `senbazuru run` computes: the table `accelerators` of
//! docs/perplexity.md.
//!
//! `cargo run --release -p senbazuru-testbenches --example accelerator_perplexity` computes all rows. Arguments select
//! some of `float tender kllm kelle titanus`, or rows of the table (`"kelle all tokens"`). `--facts FILE` writes the
//! numbers as JSON. Needs the weights, which `scripts/setup full` fetches. Nothing is drawn.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use host::Window;
use host::kllm::Bits;
use indicatif::{ProgressBar, ProgressStyle};
use lower::layer::Layer;
use lower::needs::Room;
use lower::pass::{Rows, logits};
use lower::tender::{Decoder, InSoftware, Sizes};
use lower::titanus::Compression;
use models::decoder::perplexity::{perplexity, surprise, surprises};
use models::decoder::residual::ahead_of_layers;
use models::decoder::{Float, Model, Precision, Tokenizer};
use models::smollm2::{open, texts};
use models::tender::groups::Groups;
use sim::facts::Facts;
use testbenches::accelerators::decoding::LayerAccelerator;
use testbenches::accelerators::kelle::layer::decoding::{BUDGET, OnKelle};
use testbenches::accelerators::kllm::layer::decoding::OnKllm;
use testbenches::accelerators::tender::decoding::for_decoding;
use testbenches::accelerators::tender::{caps_of, golden_of};
use testbenches::accelerators::titanus::layer::decoding::{COMPRESSION, OnTitanus};

/// Windows of the text, each read without the others: as long as the context of Titanus, which is the shortest.
const WINDOWS: [Range<usize>; 3] = [0..128, 128..256, 256..384];

// As `run` has them (gen/src/commands/run).

/// Memory that an accelerator may touch.
const WIDE: Window = Window { base: 0x10_0000, limit: 0x1fff_ffff, address_width: 40 };
/// The same for Tender.
const NARROW: Window = Window { address_width: 32, ..WIDE };
/// Tokens that Tender has room for.
const CONTEXT: usize = 256;
/// Columns of its PEs.
const COLUMNS: u32 = 128;
/// Tokens of each window of the calibration text of the others.
const WINDOW_TOKENS: usize = 32;

/// After the first tokens, so many come together: weights are looked up once for them.
const TOGETHER: usize = 32;

/// Who computes.
enum On {
    Float,
    Tender,
    /// So many first tokens come at once. All others come as if one by one. Several may come together where that gives
    /// the same numbers: `tests/accelerators/decoding.rs` checks it.
    Layers(Box<dyn LayerAccelerator>, usize),
}

/// A row of the table.
struct Row {
    name: &'static str,
    on: On,
    /// Scales and codebooks come from the window itself, as the float model reads it. So the cost of another text is
    /// not included.
    on_itself: bool,
}

/// The result of reading a window.
struct Found {
    surprises: Vec<f64>,
    /// Words of results that left the range of the calibration.
    saturated: u64,
}

fn rows() -> Result<Vec<Row>> {
    let row = |name, on| Row { name, on, on_itself: false };
    let on_itself = |name, on| Row { name, on, on_itself: true };
    let one = |on: Box<dyn LayerAccelerator>| On::Layers(on, 1);
    let half = |on: Box<dyn LayerAccelerator>| On::Layers(on, WINDOWS[0].len() / 2);
    // Nothing is lost but where a token lies below all of the prompt: that makes a level wider than 256 integers.
    let wide = Compression { sparsity: 0.0, bits: [8, 8] };
    Ok(vec![
        row("float", On::Float),
        row("tender", On::Tender),
        row("kllm", one(Box::new(OnKllm::with(Bits::Four)?))),
        row("kllm W4A3", one(Box::new(OnKllm::with(Bits::Three)?))),
        on_itself("kllm on itself", one(Box::new(OnKllm::with(Bits::Four)?))),
        row("kelle", one(Box::new(OnKelle::keeping(BUDGET)?))),
        row("kelle all tokens", one(Box::new(OnKelle::keeping(WINDOWS[0].len() as u16)?))),
        row("titanus", half(Box::new(OnTitanus::keeping(COMPRESSION)?))),
        row("titanus of one token", one(Box::new(OnTitanus::keeping(COMPRESSION)?))),
        row("titanus 8 bits", half(Box::new(OnTitanus::keeping(wide)?))),
        on_itself("titanus on itself", half(Box::new(OnTitanus::keeping(COMPRESSION)?))),
    ])
}

struct Study {
    model: Model,
    text: Vec<u32>,
    /// The input of each layer, for the texts that scales and codebooks are fitted to.
    learnt: Vec<Vec<Rows>>,
    tender: Option<(Decoder, InSoftware)>,
    progress: ProgressBar,
}

impl Study {
    fn new(progress: ProgressBar, rows: &[Row]) -> Result<Self> {
        let file = open()?;
        let (tokenizer, model) = (Tokenizer::read(&file)?, Model::read(&file, Precision::File)?);
        let text = texts::committed(&tokenizer)?.windows.remove(0);
        let mut learnt = vec![Vec::new(); model.config().layers];
        if rows.iter().any(|row| matches!(row.on, On::Layers(..))) {
            progress.set_message("calibrating");
            for window in texts::calibration(&tokenizer)?.windows {
                let ahead = ahead_of_layers(&model, &window[..WINDOW_TOKENS.min(window.len())])?;
                learnt.iter_mut().zip(ahead).for_each(|(all, rows)| all.push(rows));
            }
        }
        let tender = match rows.iter().any(|row| matches!(row.on, On::Tender)) {
            true => {
                progress.set_message("putting Tender's weights into memory");
                let (learnt, block) = (Groups::of_texts(&model, &tokenizer, CONTEXT)?, for_decoding(COLUMNS));
                let mut golden = InSoftware::new(golden_of(&block)?, &NARROW);
                Some((
                    Decoder::new(
                        (&model, &learnt),
                        (&caps_of(&block), &NARROW),
                        Sizes::one_by_one(CONTEXT),
                        &mut golden,
                    )?,
                    golden,
                ))
            }
            false => None,
        };
        Ok(Self { model, text, learnt, tender, progress })
    }

    /// Reads a window; the last token is not read, since nothing follows.
    fn read(&self, row: &Row, window: Range<usize>) -> Result<Found> {
        let tokens = &self.text[window];
        match &row.on {
            On::Float => {
                let surprises = surprises(&self.model, tokens, &mut Float)?;
                self.progress.inc(self.steps(tokens.len() - 1));
                Ok(Found { surprises, saturated: 0 })
            }
            On::Tender => self.on_tender(tokens),
            On::Layers(on, prompt) => {
                let own: Option<Vec<Vec<Rows>>> = match row.on_itself {
                    true => Some(ahead_of_layers(&self.model, tokens)?.into_iter().map(|rows| vec![rows]).collect()),
                    false => None,
                };
                self.on_layers((on.as_ref(), *prompt), own.as_ref().unwrap_or(&self.learnt), tokens)
            }
        }
    }

    /// A step is a token in a layer.
    fn steps(&self, tokens: usize) -> u64 {
        (tokens * self.model.config().layers) as u64
    }

    fn on_tender(&self, tokens: &[u32]) -> Result<Found> {
        let (mut decoder, mut on) = self.tender.clone().context("Tender has no weights")?;
        let mut found = Found { surprises: Vec::new(), saturated: 0 };
        for pair in tokens.windows(2) {
            let row = self.model.embed(&pair[..1], 0)?.values;
            let logits = decoder.token(&mut on, (row, true), &mut |spent| {
                found.saturated += spent.overflows;
                Ok(())
            })?;
            let logits: Vec<f64> = logits.iter().map(|x| x.to_f64()).collect();
            found.surprises.push(surprise(&logits, pair[1]));
            self.progress.inc(self.steps(1));
        }
        Ok(found)
    }

    /// Goes layer by layer, which gives the same as token by token, since a layer depends only on its input. So one
    /// layer is in memory at a time.
    fn on_layers(
        &self,
        (on, prompt): (&dyn LayerAccelerator, usize),
        learnt: &[Vec<Rows>],
        tokens: &[u32],
    ) -> Result<Found> {
        let count = tokens.len() - 1;
        let mut x: Rows = self.model.embed(&tokens[..count], 0)?.iter().map(<[f64]>::to_vec).collect();
        let mut saturated = 0;
        for (number, texts) in learnt.iter().enumerate() {
            let of = Layer::of_model(&self.model, number, on.lowering().head_unit())?;
            let layer = on.lowering().layer(&WIDE, &of, texts, Room::for_one(count));
            let mut layer = layer.with_context(|| format!("layer {number}"))?;
            let mut behind = Rows::new();
            let others = (prompt..count).step_by(TOGETHER).map(|first| first..count.min(first + TOGETHER));
            for part in std::iter::once(0..prompt).chain(others) {
                let place = || format!("layer {number}, token {}", part.start);
                behind.extend(layer.pass(&[(0, x[part.clone()].to_vec())]).with_context(place)?.rows);
                self.progress.inc(part.len() as u64);
            }
            saturated += layer.overflows();
            x = behind;
        }
        let mut surprises = Vec::new();
        for (row, &next) in x.iter().zip(&tokens[1..]) {
            // The last norm and the last product are the host's.
            surprises.push(surprise(&logits(&self.model, row)?, next));
        }
        Ok(Found { surprises, saturated })
    }

    /// All windows of all rows, on all cores: by row and window.
    fn all(&self, rows: &[Row]) -> Result<BTreeMap<(usize, usize), Found>> {
        let jobs: Vec<(usize, usize)> =
            (0..rows.len()).flat_map(|row| (0..WINDOWS.len()).map(move |window| (row, window))).collect();
        self.progress.set_length(jobs.iter().map(|&(_, window)| self.steps(WINDOWS[window].len() - 1)).sum());
        let (next, all) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let work = || -> Result<()> {
            while let Some(&(row, window)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (name, range, clock) = (rows[row].name, WINDOWS[window].clone(), Instant::now());
                self.progress.set_message(format!("{name}, tokens {range:?}"));
                let found = self.read(&rows[row], range.clone()).with_context(|| format!("{name}, {range:?}"))?;
                let (seconds, result) = (clock.elapsed().as_secs(), perplexity(&found.surprises));
                self.progress.suspend(|| println!("{name}, tokens {range:?}: {result:.3}, {seconds} s"));
                all.lock().unwrap_or_else(PoisonError::into_inner).insert((row, window), found);
            }
            Ok(())
        };
        thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = (0..thread::available_parallelism()?.get()).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a thread panicked"))?)
        })?;
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

fn main() -> Result<()> {
    let (mut facts, arguments) = Facts::from_args()?;
    let mut rows = rows()?;
    // An accelerator, or one of its rows.
    let is = |row: &Row, asked: &String| row.name == asked || row.name.split(' ').next() == Some(asked.as_str());
    if let Some(unknown) = arguments.iter().find(|asked| !rows.iter().any(|row| is(row, asked))) {
        let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
        bail!("there is no row `{unknown}`; rows are: {}", names.join(", "));
    }
    rows.retain(|row| arguments.is_empty() || arguments.iter().any(|asked| is(row, asked)));
    let progress = ProgressBar::new(1);
    progress
        .set_style(ProgressStyle::with_template("{spinner} [{wide_bar}] {percent} %, {elapsed}, {eta} left {msg}")?);
    progress.enable_steady_tick(Duration::from_millis(200));
    let study = Study::new(progress, &rows)?;
    let (tokens, wanted) = (study.text.len(), WINDOWS[WINDOWS.len() - 1].end);
    ensure!(tokens == wanted, "a text of {tokens} tokens, windows are of {wanted}");
    let all = study.all(&rows)?;
    study.progress.finish_and_clear();
    println!("| computed by | perplexity | saturated |\n| --- | ---: | ---: |");
    for (number, Row { name, .. }) in rows.iter().enumerate() {
        let found = || all.range((number, 0)..(number + 1, 0)).map(|(_, found)| found);
        let surprises: Vec<f64> = found().flat_map(|found| &found.surprises).copied().collect();
        let (perplexity, saturated) = (perplexity(&surprises), found().map(|found| found.saturated).sum::<u64>());
        println!("| {name} | {perplexity:.3} | {saturated} |");
        facts.add(name, perplexity);
        facts.add(&format!("{name} saturated"), saturated as f64);
    }
    Ok(facts.write()?)
}
