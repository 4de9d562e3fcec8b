//! `explore`: settings that are best in several ways at once.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use models::calibration::{self, File};
use models::explore::narrowing::Step;
use models::explore::nsga2::{self, nsga2};
use models::explore::{Evaluate, Genes, Objectives, Point, front::hypervolume};
use models::schemes::{Chosen, Given, Learning, Scheme};
use serde_json::Value;

use super::calibration::read_any;
use super::run::chosen::digest_of;
use super::run::failures::{failed, refused};
use crate::catalogue::Catalogue;
use crate::engine::{Engine, Job, Slurm};
use crate::error::{Failure, Result};
use crate::explore::{self, Language, Setting, Spec, Subject, Target, Worth, front, objectives};
use crate::output::{check_place, replace};
use crate::point::{STORE, STORE_LIMIT, Store};
use crate::present::numbers::decimal;
use crate::present::progress::Progress;
use crate::present::report;
use crate::shell::Program;

/// Where settings are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EngineName {
    /// In this program
    Local,
    /// As job arrays of the Slurm cluster that this machine is part of, one for each generation
    Slurm,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Description of the search, see docs/exploration.md
    file: PathBuf,
    /// Model: a GGUF file, or a folder with config.json, safetensors and tokenizer.json [default: of the file, or
    /// SmolLM2-135M, which `scripts/setup full` fetches]
    #[arg(long, value_name = "PATH")]
    model: Option<PathBuf>,
    /// Calibration of the model, which `senbazuru calibrate` wrote: its folder. The settings of layers that it holds are
    /// a setting of the first generation
    #[arg(long, value_name = "FOLDER")]
    calibration: Option<PathBuf>,
    /// Folder for this calibration with the settings that the second stage of the file ends with
    #[arg(short, long, value_name = "FOLDER", requires = "calibration")]
    output: Option<PathBuf>,
    /// Text that is read, in UTF-8; white space at its end is left out [default: of the file, or the opening of "Pride
    /// and Prejudice", which is in this program]
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Read the first N tokens of the text [default: of the file, or 96, or as many as the text or the model's context
    /// has if that is less]
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
    /// Settings of a generation [default: of the file, or 16]
    #[arg(long, value_name = "N")]
    population: Option<u64>,
    /// Generations after the first one [default: of the file, or 12]
    #[arg(long, value_name = "N")]
    generations: Option<u64>,
    /// Seed of all random numbers [default: of the file, or 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Search at random as well, with the same number of settings, and print what share of a box each front dominates
    #[arg(long)]
    random: bool,
    /// Folder of stored results, which sweeps share; what is there is not computed again
    #[arg(long, value_name = "DIR", default_value = STORE)]
    store: PathBuf,
    /// Write the front with all values as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the first two objectives of all settings, and the front, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Settings that are computed in parallel in this program [default: number of processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Where settings are computed
    #[arg(long, value_enum, default_value_t = EngineName::Local)]
    engine: EngineName,
    /// Settings of a Slurm job
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN)]
    together: NonZeroUsize,
    /// Folder for the commands and logs of Slurm [default: target/explore/<name of the file>/slurm]
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
    /// Wait for the Slurm jobs of an interrupted run and take over their results
    #[arg(long)]
    resume: bool,
    /// An option for sbatch, for example `--sbatch=--partition=long`; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// Compute these settings and print nothing: what jobs of a cluster do
    #[arg(long, value_name = "SETTING;..", value_delimiter = ';', hide = true)]
    evaluate: Vec<String>,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let mut spec = Spec::read(&args.file, catalogue)?;
    args.over(&mut spec)?;
    if let Some(folder) = &args.output {
        File::check_place(folder).map_err(refused)?;
        let needs = || Failure::Usage(format!("-o needs a section [narrow] in {}", spec.path.display()));
        spec.narrow.as_ref().ok_or_else(needs)?;
    }
    if args.svg.is_some() && spec.objectives.len() < 2 {
        return Err(Failure::Usage(format!("--svg draws two objectives, {} has one", spec.path.display())));
    }
    args.csv.iter().chain(&args.svg).try_for_each(|path| check_place(path))?;
    let limit = ::sim::held::limit(STORE_LIMIT)?;
    let language = spec.scheme.as_ref().map(|_| spec.text.read()).transpose()?;
    let store = Store::new(&args.store);
    let subject = Subject::new(&spec, catalogue.schemes(), language.as_ref(), &store);
    let threads = args.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    if !args.evaluate.is_empty() {
        let limits = [&subject.space.limits(), &subject.narrow.limits()];
        let settings = args.evaluate.iter().map(|text| Setting::parse(text, limits)).collect::<Result<Vec<_>, _>>();
        return subject.worths(&settings.map_err(Failure::Usage)?, threads, &|| ()).map(drop);
    }
    let given = given(args, catalogue, (&spec, language.as_ref()))?;
    let slurm = args.slurm(&spec)?;
    let progress = Progress::new(1, spec.title.clone());
    let mut searching =
        Searching { args, subject: &subject, slurm, threads, progress: &progress, language: language.as_ref(), given };
    let told = searching.all()?;
    drop(progress);
    limit.map_or(Ok(()), |most| store.shrink(most).map(drop))?;
    report::print(&told)
}

/// The calibration, which one of the schemes takes.
fn given(args: &Args, catalogue: &Catalogue, (spec, language): (&Spec, Option<&Language>)) -> Result<Option<Given>> {
    let Some(path) = &args.calibration else { return Ok(None) };
    let (Some(scheme), Some(language)) = (&spec.scheme, language) else {
        return Err(Failure::Usage(format!("--calibration is of a `scheme`, and {} has none", spec.path.display())));
    };
    let digest = digest_of(spec.text.model.as_deref())?;
    let given = read_any(path, catalogue, (&digest, language.model.config()))?;
    let accelerator = &given.file.origin.accelerator;
    let chosen = Chosen::parse(catalogue.schemes(), &scheme.to_string()).map_err(refused)?;
    if !chosen.takes(accelerator) {
        let wanted: Vec<&str> = chosen.parts().filter_map(|(scheme, _)| scheme.calibrated_by()).collect();
        let wanted = if wanted.is_empty() { "none".to_owned() } else { wanted.join(" or ") };
        let place = given.file.path.display();
        return Err(Failure::Usage(format!("{place}: `accelerator` is {accelerator}, wanted is {wanted}")));
    }
    Ok(Some(given))
}

impl Args {
    /// What the command line says goes before the file.
    fn over(&self, spec: &mut Spec) -> Result<()> {
        let Spec { text, search, .. } = spec;
        for (slot, given) in [(&mut text.model, &self.model), (&mut text.file, &self.text)] {
            *slot = given.clone().or_else(|| slot.take());
        }
        text.tokens = self.tokens.or(text.tokens);
        search.population = self.population.unwrap_or(search.population);
        search.generations = self.generations.unwrap_or(search.generations);
        search.seed = self.seed.unwrap_or(search.seed);
        search.check().map_err(Failure::Usage)
    }

    /// The cluster, if it computes. Jobs of an earlier run that are still in the queue need no second job.
    fn slurm(&self, spec: &Spec) -> Result<Option<Slurm>> {
        if self.engine == EngineName::Local {
            return Ok(None);
        }
        let name = spec.path.file_stem().unwrap_or_default();
        let folder = self.logs.clone().unwrap_or_else(|| Path::new("target/explore").join(name).join("slurm"));
        let (options, resume) = (self.sbatch.clone(), self.resume);
        let slurm = Slurm { folder, options, resume, poll: Duration::from_secs(1) };
        slurm.settle()?;
        Ok(Some(slurm))
    }

    /// The command that computes settings elsewhere.
    fn words(&self, spec: &Spec, settings: &[Setting]) -> Result<Vec<String>> {
        let program = Program::this().map_err(|e| Failure::Check(format!("cannot find senbazuru itself: {e}")))?;
        let path = |path: &Path| {
            let told = || Failure::Usage(format!("{}: the name is not UTF-8", path.display()));
            path.to_str().map(str::to_owned).ok_or_else(told)
        };
        let mut words = program.words;
        words.extend(["explore".to_owned(), path(&self.file)?, "--store".to_owned(), path(&self.store)?]);
        for (option, value) in [("--model", &spec.text.model), ("--text", &spec.text.file)] {
            if let Some(value) = value {
                words.extend([option.to_owned(), path(value)?]);
            }
        }
        words.extend(spec.text.tokens.iter().flat_map(|tokens| ["--tokens".to_owned(), tokens.to_string()]));
        let settings: Vec<String> = settings.iter().map(Setting::to_string).collect();
        words.extend(["--evaluate".to_owned(), settings.join(";")]);
        Ok(words)
    }
}

/// A search that is going on.
struct Searching<'a> {
    args: &'a Args,
    subject: &'a Subject<'a>,
    slurm: Option<Slurm>,
    threads: NonZeroUsize,
    progress: &'a Progress,
    language: Option<&'a Language>,
    given: Option<Given>,
}

impl Searching<'_> {
    fn all(&mut self) -> Result<String> {
        let spec = self.subject.spec;
        let found = self.search(false)?;
        let others = if self.args.random { self.search(true)? } else { Vec::new() };
        let best = front(&found);
        if best.is_empty() {
            return Err(Failure::Check(format!("no setting of {} is possible: {}", found.len(), self.why(&found)?)));
        }
        let mut text = String::new();
        let (steps, told, from) = self.narrowed(&best)?;
        text += &explore::tables(self.subject, &best, &steps);
        text += &format!("\n{} settings, seed {}\n", found.len(), spec.search.seed);
        if !others.is_empty() {
            text += &volumes(&found, &others);
        }
        if let Some(path) = &self.args.csv {
            replace(path, &explore::csv(self.subject, &best)?)?;
        }
        if let Some(path) = &self.args.svg {
            let mut series = vec![("NSGA-II", &found[..])];
            series.extend((!others.is_empty()).then_some(("at random", &others[..])));
            replace(path, explore::drawing(spec, &series)?.as_bytes())?;
        }
        text += &told;
        if let (Some(from), Some(last)) = (from, steps.last()) {
            text += &self.write(from, last)?;
        }
        Ok(text)
    }

    /// Why no setting is possible: what is said of the first one.
    fn why(&self, found: &[Point]) -> Result<String> {
        let Some(first) = found.first() else { return Ok("there is none".to_owned()) };
        let worth = self.subject.worth(&Setting { genes: first.genes.clone(), narrow: None })?;
        Ok(worth.refused.unwrap_or_else(|| "objectives are infinite".to_owned()))
    }

    /// Worths of settings: on the cluster what the store has not, and everything else here.
    fn worths(&self, settings: &[Setting]) -> Result<Vec<Objectives>> {
        if let Some(slurm) = &self.slurm {
            let mut new = Vec::new();
            for setting in settings {
                if !self.subject.is_known(setting)? {
                    new.push(setting.clone());
                }
            }
            let mut jobs = Vec::new();
            for (number, some) in new.chunks(self.args.together.get()).enumerate() {
                let words = self.args.words(self.subject.spec, some)?;
                jobs.push(Job { number, label: some[0].to_string(), words });
            }
            if !jobs.is_empty() {
                slurm.run(&jobs, self.progress)?;
            }
        }
        let all = self.subject.worths(settings, self.threads, &|| ())?;
        Ok(all.into_iter().map(|Worth { objectives, .. }| objectives).collect())
    }

    fn search(&self, at_random: bool) -> Result<Vec<Point>> {
        let spec = self.subject.spec;
        let search = nsga2::Search {
            limits: self.subject.space.limits(),
            population: spec.search.population as usize,
            generations: spec.search.generations as usize,
            seed: spec.search.seed,
            known: self.known()?,
        };
        let what = if at_random { "at random" } else { "NSGA-II" };
        let (budget, mut done) = (search.budget(), 0);
        let mut failure = None;
        let mut evaluate = |genes: &[Genes]| {
            self.progress.message(format!("{what}: {done} of {budget} settings"));
            done += genes.len();
            let settings: Vec<Setting> =
                genes.iter().map(|genes| Setting { genes: genes.clone(), narrow: None }).collect();
            self.worths(&settings).map_err(|e| kept(&mut failure, e))
        };
        let found = if at_random { nsga2::random(&search, &mut evaluate) } else { nsga2(&search, &mut evaluate) };
        found.map_err(|e| failure.unwrap_or_else(|| failed(e)))
    }

    /// The setting that a calibration holds.
    fn known(&self) -> Result<Option<Genes>> {
        let (Some(given), Some(_)) = (&self.given, &self.subject.spec.scheme) else { return Ok(None) };
        let mut held: Vec<(String, Vec<Value>)> = Vec::new();
        for (name, scheme) in self.schemes() {
            for (option, values) in scheme.held(given).map_err(refused)? {
                let values =
                    values.iter().map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()));
                held.push((format!("{name}.{option}"), values.collect()));
            }
        }
        let space = &self.subject.space;
        if !space.variables.iter().any(|variable| held.iter().any(|(name, _)| *name == variable.axis.name)) {
            return Ok(None);
        }
        let of = |name: &str| held.iter().find(|(other, _)| other == name).map(|(_, values)| values.clone());
        let genes = space.genes(&of);
        genes.map(Some).map_err(|e| Failure::Usage(format!("{}: {e}", given.file.path.display())))
    }

    /// The schemes that take the calibration.
    fn schemes(&self) -> Vec<(&'static str, &dyn Scheme)> {
        let Some(given) = &self.given else { return Vec::new() };
        let takes = |scheme: &&Arc<dyn Scheme>| {
            let is_here = self.subject.spec.scheme.as_ref().is_some_and(|written| written.has(scheme.name()));
            is_here && scheme.calibrated_by() == Some(&given.file.origin.accelerator)
        };
        self.subject.registry().iter().filter(takes).map(|scheme| (scheme.name(), scheme.as_ref())).collect()
    }

    /// The second stage: its steps, what is said of them, and the setting that it begins with.
    fn narrowed<'f>(&self, best: &[&'f Point]) -> Result<(Vec<Step>, String, Option<&'f Point>)> {
        let Some(narrow) = &self.subject.spec.narrow else { return Ok(Default::default()) };
        let spec = self.subject.spec;
        let name = &spec.objectives[narrow.keep].name;
        let plain = Setting { genes: vec![0; self.subject.space.limits().len()], narrow: None };
        let plain = self.worths(&[plain])?.swap_remove(0)[narrow.keep];
        let limit = plain * (1.0 + narrow.share);
        let Some(from) = narrow.start(best, limit) else {
            let told = format!("no setting of the front has {name} of {} or less", decimal(limit, 3));
            return match &self.args.output {
                None => Ok((Vec::new(), format!("{told}: nothing becomes smaller\n"), None)),
                Some(folder) => Err(Failure::Check(format!("{told}; {} is not written", folder.display()))),
            };
        };
        self.progress.message("second stage");
        let most = limit * (1.0 + narrow.share);
        let mut failure = None;
        let mut evaluate = |all: &[Genes]| {
            let of = |narrow: &Genes| Setting { genes: from.genes.clone(), narrow: Some(narrow.clone()) };
            let settings: Vec<Setting> = all.iter().map(of).collect();
            self.worths(&settings).map_err(|e| kept(&mut failure, e))
        };
        let evaluate: &mut Evaluate<'_> = &mut evaluate;
        let steps = narrow.steps(&self.subject.narrow, most, evaluate);
        let steps = steps.map_err(|e| failure.unwrap_or(e))?;
        let [plain, start, most] = [plain, from.objectives[narrow.keep], most].map(|x| decimal(x, 3));
        let told = format!("{name} is {plain} with first values; smaller from {start}, up to {most}\n");
        Ok((steps, told, Some(from)))
    }

    /// Writes the calibration with what the search has found, if the user wants it.
    fn write(&self, from: &Point, last: &Step) -> Result<String> {
        let (Some(folder), Some(given), Some(language)) = (&self.args.output, &self.given, self.language) else {
            return Ok(String::new());
        };
        let setting = Setting { genes: from.genes.clone(), narrow: Some(last.genes.clone()) };
        let written = self.subject.scheme(&setting)?.unwrap_or_default();
        let chosen = Chosen::parse(self.subject.registry(), &written).map_err(refused)?;
        let (mut origin, mut arrays) = (given.file.origin.clone(), given.file.arrays.clone());
        let layers = language.model.config().layers;
        for (scheme, settings) in chosen.parts() {
            if scheme.calibrated_by() == Some(&given.file.origin.accelerator) {
                scheme.put(settings, (&mut origin.options, &mut arrays), layers).map_err(refused)?;
            }
        }
        let digest = Learning { windows: vec![language.tokens.clone()] }.fingerprint();
        let (text, tokens) = (language.name.clone(), language.tokens.len());
        origin.explored = Some(calibration::Search { text, tokens, digest });
        File::write(folder, &origin, &arrays).map_err(refused)?;
        let named = |name: &str| self.subject.spec.fixed.iter().any(|(other, ..)| other == name);
        let names = self.subject.space.variables.iter().chain(&self.subject.narrow.variables);
        let names: Vec<&str> = names
            .filter(|variable| matches!(variable.target, Target::Scheme(..)) && !named(&variable.axis.name))
            .map(|variable| variable.axis.name.as_str())
            .collect();
        Ok(format!("{}: {} of {layers} layers\n", folder.display(), names.join(", ")))
    }
}

/// Keeps a failure, whose exit code an error of a search has not.
fn kept(place: &mut Option<Failure>, failure: Failure) -> anyhow::Error {
    let told = anyhow::anyhow!("{failure}");
    *place = Some(failure);
    told
}

/// Shares of the box up to the worst numbers of both fronts.
fn volumes(found: &[Point], others: &[Point]) -> String {
    let both = [front(found), front(others)];
    let count = found.first().map_or(0, |point| point.objectives.len());
    let most = |k: usize| both.iter().flatten().map(|point| point.objectives[k]).fold(0.0, f64::max);
    // The ends of a front count, too.
    let reference: Vec<f64> = (0..count).map(|k| 1.01 * most(k)).collect();
    let [nsga2, random] = [found, others].map(|points| decimal(hypervolume(&objectives(points), &reference), 4));
    format!("hypervolume up to 1.01 of the worst of both fronts: NSGA-II {nsga2}; at random {random}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_by_hand() {
        let point = |objectives: [f64; 2]| Point { genes: vec![], objectives: objectives.to_vec() };
        // Of the box up to 4.04: (4.04 - 1) x (4.04 - 1), and (4.04 - 4) x (4.04 - 4).
        let told = volumes(&[point([1.0, 1.0])], &[point([4.0, 4.0])]);
        assert!(told.ends_with("NSGA-II 0.5662; at random 0.0001\n"), "{told}");
    }
}
