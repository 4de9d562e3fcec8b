//! `explore`: settings of an algorithm that are best in two ways at once.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use models::calibration::{self, File};
use models::decoder::{Precision, Tokenizer};
use models::default_model::texts;
use models::explore::front::{best, hypervolume};
use models::explore::nsga2::{Search, nsga2, random};
use models::explore::store::Store;
use models::explore::{Explored, Genes, Headings, Objectives, Point, Step, Subject};
use models::schemes::{Given, Learning};

use super::calibrate::{file_name, tokens};
use super::calibration::read_any;
use super::run::chosen::{Source, digest_of};
use super::run::failures::{failed, refused};
use crate::catalogue::{Catalogue, similar};
use crate::error::{Failure, Result};
use crate::output::{check_place, replace};
use crate::present::numbers::{counted, decimal};
use crate::present::page;
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::table::Table;

/// Hypervolumes are shares of the area below this point: twice the perplexity of int8, and the bytes of int8 with
/// indices.
const WORST: Objectives = [2.0, 1.125];

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to explore: a subject of the catalogue; a wrong name tells all of them
    subject: String,
    /// Model: a GGUF file, or a folder with config.json, safetensors and tokenizer.json [default: SmolLM2-135M, which
    /// `scripts/setup full` fetches]
    #[arg(long, value_name = "PATH")]
    model: Option<PathBuf>,
    /// Calibration of the model, which `senbazuru calibrate` wrote: its folder. Its thresholds, if it has some, are a
    /// setting of the first generation
    #[arg(long, value_name = "FOLDER")]
    calibration: Option<PathBuf>,
    /// Folder for this calibration with the thresholds and widths that --widths ends with
    #[arg(short, long, value_name = "FOLDER", requires = "calibration", requires = "widths")]
    output: Option<PathBuf>,
    /// Text that is read, in UTF-8; white space at its end is left out [default: the opening of "Pride and Prejudice",
    /// which is in this program]
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Read the first N tokens of the text, half of them as prefill [default: 96, or as many as the text or the model's
    /// context has if that is less]
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
    /// Settings of a generation
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(2..=1000))]
    population: u64,
    /// Generations after the first one
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    generations: u64,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Search with N seeds, from --seed on, and at random as well; print median hypervolumes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Search at random as well, with the same number of settings
    #[arg(long)]
    random: bool,
    /// Then choose widths of numbers. The start is the setting with the fewest bytes whose perplexity exceeds the one
    /// of int8 by at most this share; widths may add the same share once more
    #[arg(long, value_name = "SHARE")]
    widths: Option<f64>,
    /// Keep computed settings in a file, so that the same command goes on after a stop
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Write the front with all thresholds as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw all settings and the front, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Settings that are computed in parallel [default: number of processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let subjects = catalogue.subjects();
    let Some(subject) = subjects.iter().find(|subject| subject.name() == args.subject) else {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.name()).collect();
        let near = similar(&args.subject, &names);
        let hint = near.first().map(|name| format!(" did you mean {name}?")).unwrap_or_default();
        let known: Vec<_> =
            subjects.iter().map(|subject| format!("{} ({})", subject.name(), subject.about())).collect();
        let known = known.join(", ");
        return Err(Failure::Usage(format!("nothing to explore in `{}`;{hint} subjects are: {known}", args.subject)));
    };
    if args.widths.is_some_and(|share| !(share >= 0.0 && share.is_finite())) {
        return Err(Failure::Usage(
            "--widths is the share by which perplexity may rise: 0 or more, for example 0.05".into(),
        ));
    }
    if let Some(folder) = &args.output {
        File::check_place(folder).map_err(refused)?;
    }
    args.csv.iter().chain(&args.svg).try_for_each(|path| check_place(path))?;
    let Source { tokenizer, read, name } = Source::of(args.model.as_deref(), Precision::Half)?;
    let progress = Progress::new(1, format!("reading the weights of {name}"));
    let model = read()?;
    let read = |path: &PathBuf| read_any(path, catalogue, (&digest_of(args.model.as_deref())?, model.config()));
    let given = args.calibration.as_ref().map(read).transpose()?;
    let known = given.as_ref().map(|given| {
        let (place, accelerator) = (given.file.path.display(), &given.file.origin.accelerator);
        let wanted = subject.accelerator();
        if accelerator != wanted {
            return Err(Failure::Usage(format!("{place}: `accelerator` is {accelerator}, wanted is {wanted}")));
        }
        subject.known(&given.settings, &given.file.arrays).map_err(refused)
    });
    let known = known.transpose()?.flatten();
    let text = args.read(&tokenizer, model.config().context)?;
    let tokens = &text.tokens;
    let problem = subject.problem(&model, tokens);
    let store = args.store.as_deref().map(|path| Store::open(path, &problem)).transpose().map_err(refused)?;
    let threads = args.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let exploration = subject.on(&model, tokens, threads, store).map_err(failed)?;
    let told = Told { args, subject: &**subject, exploration, progress: &progress, done: 0, given, known, text: &text };
    let told = { told }.all()?;
    drop(progress);
    report::print(&told)
}

/// Tokens where nobody says how many.
const TOKENS: usize = 96;

/// What is read.
struct Text {
    name: String,
    tokens: Vec<u32>,
}

impl Args {
    /// The text that is read, as far as it is.
    fn read(&self, tokenizer: &Tokenizer, context: usize) -> Result<Text> {
        let (name, mut all) = match &self.text {
            Some(path) => (file_name(path), tokens(path, tokenizer)?),
            None => (texts::OPENING.to_owned(), texts::opening(tokenizer).map_err(refused)?),
        };
        let (has, most) = (all.len(), context.min(all.len()));
        if most < 2 {
            return Err(Failure::Usage(format!("--text: {name} has {}, wanted are 2 or more", counted(has, "token"))));
        }
        let count = self.tokens.unwrap_or_else(|| TOKENS.min(most));
        if !(2..=most).contains(&count) {
            let why = format!("{name} has {has}, the model's context is {context}");
            return Err(Failure::Usage(format!("--tokens is {count}, allowed: 2 to {most}; {why}")));
        }
        all.truncate(count);
        Ok(Text { name, tokens: all })
    }
}

/// A search that is going on.
struct Told<'a> {
    args: &'a Args,
    subject: &'a dyn Subject,
    exploration: Box<dyn Explored + 'a>,
    progress: &'a Progress,
    done: usize,
    given: Option<Given>,
    /// Thresholds of it.
    known: Option<Genes>,
    text: &'a Text,
}

impl Told<'_> {
    fn all(&mut self) -> Result<String> {
        let layers = self.exploration.layers();
        let plain = self.exploration.thresholds(&[vec![0; 2 * layers]]).map_err(failed)?[0];
        let reference = [WORST[0] * plain[0], WORST[1]];
        let with_random = self.args.random || self.args.seeds > 1;
        let (mut first, mut volumes) = (None, Vec::new());
        for seed in (self.args.seed..).take(self.args.seeds as usize) {
            let found = self.search(seed, false)?;
            let others = if with_random { self.search(seed, true)? } else { Vec::new() };
            volumes.push([&found, &others].map(|points| hypervolume(&objectives(points), reference)));
            first.get_or_insert((found, others));
        }
        let (found, others) = first.unwrap_or_default();
        let front: Vec<&Point> = best(&objectives(&found)).into_iter().map(|n| &found[n]).collect();
        let mut text = self.front(&front, plain);
        text += &self.volumes(&volumes, with_random);
        if let Some(path) = &self.args.csv {
            replace(path, csv(&front, self.subject.headings().columns).as_bytes())?;
        }
        if let Some(path) = &self.args.svg {
            self.draw(path, &found, &others, reference)?;
        }
        if let Some(share) = self.args.widths {
            text += &self.widths(&front, plain, share)?;
        }
        Ok(text)
    }

    fn search(&mut self, seed: u64, at_random: bool) -> Result<Vec<Point>> {
        let search = Search {
            limits: self.exploration.limits(),
            population: self.args.population as usize,
            generations: self.args.generations as usize,
            seed,
            known: self.known.clone(),
        };
        self.done = 0;
        let Self { exploration, progress, done, .. } = self;
        let what = if at_random { "at random" } else { "NSGA-II" };
        let mut evaluate = |genes: &[Vec<u32>]| {
            let all = exploration.thresholds(genes)?;
            *done += genes.len();
            let least = all.iter().map(|worth| worth[0]).fold(f64::INFINITY, f64::min);
            let budget = search.budget();
            progress
                .message(format!("seed {seed}, {what}: {done} of {budget} settings, perplexity from {least:.2} on"));
            Ok(all)
        };
        let search = &search;
        if at_random { random(search, &mut evaluate) } else { nsga2(search, &mut evaluate) }.map_err(failed)
    }

    /// The settings that were found, as a table.
    fn front(&self, front: &[&Point], plain: Objectives) -> String {
        let Headings { numbers: [one, other], zeros, .. } = self.subject.headings();
        let mut table = Table::new(["perplexity", "bytes an element", one, other]);
        for point in front {
            let range = |side: usize| {
                let of_side = || point.genes.iter().skip(side).step_by(2);
                let (low, high) = (of_side().min().copied().unwrap_or(0), of_side().max().copied().unwrap_or(0));
                let mean = of_side().map(|&t| f64::from(t)).sum::<f64>() / (point.genes.len() / 2).max(1) as f64;
                format!("{low} to {high}, mean {}", decimal(mean, 1))
            };
            let [perplexity, bytes] = point.objectives;
            table.row([decimal(perplexity, 3), decimal(bytes, 4), range(0), range(1)]);
        }
        let tokens = self.text.tokens.len();
        let plain = decimal(plain[0], 3);
        format!(
            "{}\n{} settings of {tokens} tokens; {zeros}: perplexity {plain}, 1 byte an element\n",
            report::table(&table),
            self.args.population * (self.args.generations + 1)
        )
    }

    fn volumes(&self, volumes: &[[f64; 2]], with_random: bool) -> String {
        let median = |n: usize| {
            let mut all: Vec<f64> = volumes.iter().map(|both| both[n]).collect();
            all.sort_by(f64::total_cmp);
            let middle = all.len() / 2;
            let pair = [all.get(middle.saturating_sub(1 - all.len() % 2)), all.get(middle)];
            decimal(pair.iter().flatten().copied().sum::<f64>() / 2.0, 4)
        };
        let of = if volumes.len() > 1 { format!("median of {} seeds, ", volumes.len()) } else { String::new() };
        let random = if with_random { format!("; at random {}", median(1)) } else { String::new() };
        format!("hypervolume (twice the perplexity of int8, 1.125 bytes): {of}NSGA-II {}{random}\n", median(0))
    }

    fn draw(&self, path: &Path, found: &[Point], others: &[Point], worst: Objectives) -> Result<()> {
        // Settings that are broken anyway would leave no room for the others.
        let shown = |points: &[Point]| -> Vec<Objectives> {
            objectives(points).into_iter().filter(|worth| worth[0] < worst[0]).collect()
        };
        let mut series = vec![("NSGA-II", shown(found))];
        if !others.is_empty() {
            series.push(("at random", shown(others)));
        }
        let title = self.subject.headings().title;
        replace(path, page::front(title, ["perplexity", "bytes an element"], &series)?.as_bytes())
    }

    /// The second stage.
    fn widths(&mut self, front: &[&Point], plain: Objectives, share: f64) -> Result<String> {
        let limit = plain[0] * (1.0 + share);
        let within = front.iter().rev().find(|point| point.objectives[0] <= limit);
        let Some(from) = within else {
            let told = format!("widths: no setting of the front has a perplexity of {} or less", decimal(limit, 3));
            return match &self.args.output {
                None => Ok(told + "\n"),
                Some(folder) => Err(Failure::Check(format!("{told}; {} is not written", folder.display()))),
            };
        };
        let most = limit * (1.0 + share);
        self.progress.message("widths of numbers");
        let steps = self.exploration.choose_widths(&from.genes, most).map_err(failed)?;
        let [one, other] = self.subject.headings().widths;
        let mut table = Table::new(["widths", "perplexity", "bytes an element", one, other]);
        let row = |step: &Step| {
            let mean = |side: usize| {
                let sum: u32 = step.widths.iter().map(|width| width[side]).sum();
                decimal(f64::from(sum) / step.widths.len().max(1) as f64, 2)
            };
            [step.what.clone(), decimal(step.worth[0], 3), decimal(step.worth[1], 4), mean(0), mean(1)]
        };
        steps.iter().for_each(|step| table.row(row(step)));
        let written = self.write(&from.genes, steps.last())?;
        let from = decimal(from.objectives[0], 3);
        let most = decimal(most, 3);
        Ok(format!("\nfrom the setting with perplexity {from}, up to {most}:\n{}{written}", report::table(&table)))
    }

    /// Writes the calibration with thresholds and widths, if the user wants it.
    fn write(&self, thresholds: &Genes, last: Option<&Step>) -> Result<String> {
        let (Some(folder), Some(given), Some(last)) = (&self.args.output, &self.given, last) else {
            return Ok(String::new());
        };
        let (mut origin, mut arrays) = (given.file.origin.clone(), given.file.arrays.clone());
        let pairs: Vec<[u32; 2]> = thresholds.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        self.subject.put(&mut origin.options, &mut arrays, [&pairs, &last.widths]).map_err(failed)?;
        let Text { name, tokens } = self.text;
        let digest = Learning { windows: vec![tokens.clone()] }.fingerprint();
        origin.explored = Some(calibration::Search { text: name.clone(), tokens: tokens.len(), digest });
        File::write(folder, &origin, &arrays).map_err(refused)?;
        Ok(format!("\n{}: thresholds and widths of {} layers\n", folder.display(), pairs.len()))
    }
}

fn objectives(points: &[Point]) -> Vec<Objectives> {
    points.iter().map(|point| point.objectives).collect()
}

/// A line for each setting: its two figures, and both numbers layer by layer, in columns of these names.
fn csv(front: &[&Point], [one, other]: [&str; 2]) -> String {
    let layers = front.first().map_or(0, |point| point.genes.len() / 2);
    let names = (0..layers).flat_map(|layer| [format!("{one}_{layer}"), format!("{other}_{layer}")]);
    let head: Vec<String> =
        ["perplexity".to_owned(), "bytes_per_element".to_owned()].into_iter().chain(names).collect();
    let line = |point: &&Point| {
        let worth = point.objectives.iter().map(f64::to_string);
        worth.chain(point.genes.iter().map(u32::to_string)).collect::<Vec<_>>().join(",")
    };
    let lines: Vec<String> = front.iter().map(line).collect();
    format!("{}\n{}\n", head.join(","), lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_by_hand() {
        let points = [
            Point { genes: vec![1, 2, 3, 4], objectives: [16.5, 0.25] },
            Point { genes: vec![5, 6, 7, 8], objectives: [17.0, 0.125] },
        ];
        let expected = "perplexity,bytes_per_element,a_0,b_0,a_1,b_1\n\
                        16.5,0.25,1,2,3,4\n17,0.125,5,6,7,8\n";
        assert_eq!(csv(&points.iter().collect::<Vec<_>>(), ["a", "b"]), expected);
    }
}
