//! Mutants of a block: which of them does its bench notice? The mutants are drawn from a small configuration. An
//! accelerator has mutants only in its controller and in the glue logic between its blocks.

use std::collections::{BTreeMap, BTreeSet};

use hdl::emit::{Manifest, ManifestModule};
use sim::mutate::{self, Limits, Mutants, Mutations, Outcome, Report, Sample};
use sim::{BuildOptions, Design, Engine, RunOptions};

use crate::catalogue::{Catalogue, Entry, Params};
use crate::error::{Failure, Result};

/// The most cycles of a run on the unchanged design, or a quarter of the compared values where that is more. A sample
/// of mutants then runs in a second or two.
const WORK: u64 = 60_000;

/// Vectors are doubled from here on as long as they fit into [`WORK`], and halved if these do not.
const VECTORS: u64 = 1000;

/// The configuration whose mutants are tested: the smallest registered one, or one as small that uses all features of
/// the block.
///
/// # Errors
/// A block in which there is nothing to mutate.
pub fn configuration(entry: &dyn Entry) -> Result<(Params, Design)> {
    let (mut params, design) = smallest(entry)?;
    if entry.sample().is_empty() {
        return Ok((params, design));
    }
    for (name, value) in entry.sample() {
        let old = params.insert((*name).to_owned(), (*value).into());
        old.ok_or_else(|| Failure::Check(format!("`{}` has no parameter `{name}`", entry.about().name)))?;
    }
    let design = Design::from(&entry.elaborate(&params)?);
    Ok((params, design))
}

/// Parameters that a user sets, as they are; else a configuration that is small enough for many runs.
pub(crate) fn resolved(entry: &dyn Entry, params: Params, is_default: bool) -> Result<(Params, Design)> {
    if is_default {
        return configuration(entry);
    }
    let design = Design::from(&entry.elaborate(&params)?);
    Ok((params, design))
}

/// The smallest registered configuration in which there is something to mutate, by the amount of Verilog and the width of
/// the ports.
fn smallest(entry: &dyn Entry) -> Result<(Params, Design)> {
    let mut designs = Vec::new();
    for params in entry.configurations() {
        let design = Design::from(&entry.elaborate(&params)?);
        designs.push((params, design));
    }
    designs.sort_by_key(|(_, design)| {
        let text: usize = design.files.iter().map(|file| file.text.len()).sum();
        text * design.ports.iter().map(|port| port.width as usize).sum::<usize>()
    });
    for (params, design) in designs {
        // There is always something in an accelerator, and to list it takes minutes.
        if entry.is_accelerator() || has_mutations(entry, &params, &design)? {
            return Ok((params, design));
        }
    }
    Err(Failure::Check(format!("no configuration of `{}` has anything to mutate", entry.about().name)))
}

/// The modules of an accelerator that no block of the catalogue contains: its controllers and its glue logic.
fn glue(catalogue: &Catalogue, design: &hdl::lang::Design) -> BTreeSet<String> {
    let manifest = design.manifest();
    let modules: BTreeMap<&str, &ManifestModule> = manifest.modules.iter().map(|m| (m.name.as_str(), m)).collect();
    let (mut found, mut left) = (BTreeSet::new(), vec![manifest.top.as_str()]);
    while let Some(name) = left.pop() {
        if found.insert(name.to_owned()) {
            let children = modules[name].children.keys().map(String::as_str);
            left.extend(children.filter(|child| catalogue.get(&modules[child].block).is_none()));
        }
    }
    found
}

/// Whether there is anything to mutate in a block that is no accelerator.
fn has_mutations(entry: &dyn Entry, params: &Params, design: &Design) -> Result<bool> {
    Ok(mutations(&Catalogue::empty(), entry, params, design, Sample { count: 1, seed: 1 })?.available > 0)
}

/// A sample of the mutations of a configuration. An accelerator has mutations in its [`glue`] only, since its blocks
/// have their own. A design without C has mutations of its netlist, and so has each design where `SENBAZURU_ENGINE`
/// names Verilator.
fn mutations(
    catalogue: &Catalogue,
    entry: &dyn Entry,
    params: &Params,
    design: &Design,
    sample: Sample,
) -> Result<Mutations> {
    let elaborated = entry.elaborate(params)?;
    let glue = entry.is_accelerator().then(|| glue(catalogue, &elaborated));
    let is_wanted = |module: &str| glue.as_ref().is_none_or(|glue| glue.contains(module));
    if design.native.is_some() && Engine::usual()? == Engine::Native {
        let mutations = mutate::list_ir(&elaborated, sample, is_wanted);
        if mutations.available > 0 {
            return Ok(mutations);
        }
    }
    if glue.is_none() {
        return Ok(mutate::list(design, sample)?);
    }
    let mut mutations = mutate::list(design, Sample { count: usize::MAX, ..sample })?;
    mutations.chosen.retain(|mutation| is_wanted(&mutation.module));
    mutations.available = mutations.chosen.len();
    mutations.chosen.truncate(sample.count);
    Ok(mutations)
}

/// Runs the bench on a sample of the mutants of a configuration, with so many vectors; without a number, as many as run
/// in a moment.
///
/// # Errors
/// A tool that dies; a bench that fails on the design as it is.
pub fn test(
    catalogue: &Catalogue,
    entry: &dyn Entry,
    params: &Params,
    design: &Design,
    sample: Sample,
    vectors: Option<u64>,
    proof: Option<Limits>,
) -> Result<(u64, Report)> {
    let mutations = mutations(catalogue, entry, params, design, sample)?;
    let mutants = mutate::build(mutations, &BuildOptions::default())?;
    let bench = entry.bench(params)?;
    let vectors = match vectors {
        Some(vectors) => vectors,
        None => self::vectors(entry, |vectors| {
            let effort = mutants.effort(&*bench, &options(vectors))?;
            Ok((effort.cycles, effort.compared))
        })?,
    };
    let mut report = mutate::run(&*bench, &mutants, &mutate::Options { run: options(vectors), proof })?;
    ask_parts(catalogue, &entry.elaborate(params)?.manifest(), &mutants, &mut report)?;
    Ok((vectors, report))
}

fn options(vectors: u64) -> RunOptions {
    RunOptions { vectors, patience: 3000, ..RunOptions::default() }
}

/// Runs the benches of the blocks inside on faults that the whole's bench does not notice. A late digit of a divider
/// decides one result in a million: what surrounds the divider seldom shows it, and the divider's own bench does.
fn ask_parts(catalogue: &Catalogue, whole: &Manifest, mutants: &Mutants, report: &mut Report) -> Result<()> {
    let made_of = |module: &str| {
        let module = whole.modules.iter().find(|m| m.name == module && m.name != whole.top)?;
        let params: Params = serde_json::from_value(module.parameters.clone()).ok()?;
        catalogue.get(&module.block).map(|entry| (entry, params))
    };
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, tested) in report.tested.iter().enumerate() {
        if matches!(tested.outcome, Outcome::Survived { .. } | Outcome::NoAnswer(_))
            && let Some(module) = mutants.module_around(at, |module| made_of(module).is_some())
        {
            groups.entry(module).or_default().push(at);
        }
    }
    for (module, which) in groups {
        let Some((entry, params)) = made_of(&module) else { continue };
        // A bench may be for some parameters only.
        let Ok(bench) = entry.bench(&params) else { continue };
        let part = mutants.part(&module, &which)?;
        let vectors = vectors(&**entry, |vectors| {
            let effort = part.effort(&*bench, &options(vectors))?;
            Ok((effort.cycles, effort.compared))
        })?;
        let found = mutate::run(&*bench, &part, &mutate::Options { run: options(vectors), proof: None })?;
        report.run_seconds += found.run_seconds;
        for (at, tested) in which.into_iter().zip(found.tested) {
            if matches!(tested.outcome, Outcome::Killed(_)) {
                report.tested[at].outcome = Outcome::KilledInPart(entry.about().name.to_owned());
            }
        }
    }
    Ok(())
}

/// As many vectors as fit into [`WORK`]; `run` tells the cycles and the compared values of a run with so many.
pub(crate) fn vectors(entry: &dyn Entry, run: impl Fn(u64) -> Result<(u64, u64)>) -> Result<u64> {
    if let Some(fixed) = entry.sample_vectors() {
        return Ok(fixed);
    }
    let fits = |vectors| run(vectors).map(|(cycles, compared)| cycles.max(compared / 4) <= WORK);
    let mut vectors = VECTORS;
    while vectors > 8 && !fits(vectors)? {
        vectors /= 2;
    }
    while (VECTORS..WORK).contains(&vectors) && fits(2 * vectors)? {
        vectors *= 2;
    }
    Ok(vectors)
}
