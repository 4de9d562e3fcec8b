//! Mutants of a block: which of them its bench notices. Those of a small configuration; of an accelerator, those of its controller
//! and of what joins its blocks.

use std::collections::{BTreeMap, BTreeSet};

use hdl::emit::ManifestModule;
use sim::mutate::{self, Limits, Mutations, Report, Sample};
use sim::{BuildOptions, Design, Engine, RunOptions};

use crate::catalogue::{Catalogue, Entry, Params};
use crate::error::{Failure, Result};

/// Cycles, or fours of compared values where there are more of them, that a run on the design as it is may take: a sample of mutants
/// is then run in a second or two.
const WORK: u64 = 60_000;

/// Vectors are doubled from here on as long as they fit into [`WORK`], and halved if these do not.
const VECTORS: u64 = 1000;

/// Vectors of blocks of which a few are far longer than others.
const FIXED: &[(&str, u64)] = &[("execution_controller", 400)];

/// Blocks whose smallest configuration hardly uses what it has, so that most faults are none there, which takes long to
/// prove; with what is changed in it.
const CHANGED: &[(&str, &[(&str, u32)])] = &[
    // Counters of 24 bits do not get far, and proofs take large buffers apart, bit by bit.
    ("axi_read_dma", SMALL_DMA),
    ("axi_write_dma", SMALL_DMA),
    // Two rows without patience are refreshed all the time, and counters of 32 bits do not get far.
    (
        "kv_bank_group",
        &[
            ("refresh.rows", 5),
            ("refresh.interval_width", 6),
            ("refresh.interval", 20),
            ("refresh.patience", 8),
            ("refresh.counter_width", 6),
        ],
    ),
    // Two rows without patience are refreshed all the time.
    (
        "refresh_controller",
        &[
            ("rows", 5),
            ("interval_width", 6),
            ("interval", 20),
            ("patience", 8),
            ("tick_log2", 0),
            ("counter_width", 6),
        ],
    ),
    // Of a group of two tokens with one token half of all elements are never written: they are undefined.
    ("context_memory", &[("tiles", 2), ("tokens", 4)]),
    // One row has no distance to another one.
    ("operand_check", &[("row_width", 3), ("rows_width", 3), ("stride_width", 9)]),
    // With one level nothing is ever extended, and no level opens at its top.
    ("axi_arbiter", &[("axi.address_width", 17)]),
    ("channel_monitor", &[("levels", 2)]),
    ("dequantization_unit", &[("levels", 2)]),
    // With two tiles a word is never read while it is written.
    ("kv_decompressor", &[("tiles", 1), ("levels", 2)]),
    // One input and one output have no tree, and one MU no other that rests.
    ("dcim_macro", &[("input_width", 3), ("cells.inputs", 3), ("cells.outputs", 2), ("cells.weight_width", 3)]),
    (
        "dcim_linear",
        &[
            ("tile.input_width", 2),
            ("tile.cells.inputs", 2),
            ("tile.cells.outputs", 2),
            ("tile.cells.weight_width", 2),
            ("rows", 2),
            ("columns", 3),
            ("load", 1),
            ("drain", 1),
        ],
    ),
    ("computing_engine", &[("vpus", 2), ("units", 2), ("lanes", 2), ("operand_width", 3), ("max_beats", 2)]),
    // Of two tokens one is the first or the last.
    ("eviction_controller", &[("slots", 3)]),
    // A word of one bit has no parts.
    ("double_buffer", &[("ram.depth", 3), ("ram.width", 4), ("ram.granule", 2)]),
    // One layer needs no number.
    ("pruning_unit", &[("layers", 2)]),
    // One row is the victim of each pass.
    ("systolic_evictor", &[("rows", 2), ("score_width", 2), ("amount_width", 3), ("passes", 2)]),
    // Columns of one pair give counts of one.
    ("index_matmul_column", &[("counter.b_bits", 2), ("counter.k", 6)]),
    // With one tile, one level and one token in the buffer most counters stand still.
    ("quantization_unit", &[("tiles", 2), ("levels", 2), ("buffer_tokens", 2)]),
];

const SMALL_DMA: &[(&str, u32)] = &[
    ("axi.address_width", 16),
    ("dma.burst_beats", 4),
    ("dma.outstanding", 2),
    ("dma.row_width", 7),
    ("dma.rows_width", 3),
    ("dma.stride_width", 11),
    ("buffer_beats", 8),
];

/// The configuration whose mutants are tested: the smallest registered one, or one as small that uses what the block has.
///
/// # Errors
/// A block in which there is nothing to mutate.
pub fn configuration(entry: &dyn Entry) -> Result<(Params, Design)> {
    let (mut params, design) = smallest(entry)?;
    let Some((_, changes)) = CHANGED.iter().find(|(block, _)| *block == entry.about().name) else {
        return Ok((params, design));
    };
    for (name, value) in *changes {
        let old = params.insert((*name).to_owned(), (*value).into());
        old.ok_or_else(|| Failure::Check(format!("`{}` has no parameter `{name}`", entry.about().name)))?;
    }
    let design = Design::from(&entry.elaborate(&params)?);
    Ok((params, design))
}

/// What a user sets is taken as it is; else a configuration that is small enough for many runs.
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

/// The modules of an accelerator that no block of the catalogue contains: its controllers, and what joins blocks.
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

/// A sample of the mutations of a configuration; of an accelerator those of its [`glue`]: its blocks have their own. A design
/// without C has those of its netlist, and so has each where `SENBAZURU_ENGINE` names Verilator.
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

/// Runs the bench on a sample of the mutants of a configuration, with so many vectors: without a number, as many as are run in a moment.
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
    let options = |vectors| RunOptions { vectors, patience: 3000, ..RunOptions::default() };
    let vectors = match vectors {
        Some(vectors) => vectors,
        None => self::vectors(entry, |vectors| {
            let effort = mutants.effort(&*bench, &options(vectors))?;
            Ok((effort.cycles, effort.compared))
        })?,
    };
    let options = mutate::Options { run: options(vectors), proof };
    Ok((vectors, mutate::run(&*bench, &mutants, &options)?))
}

/// As many vectors as fit into [`WORK`]; `run` tells the cycles and the compared values of a run with so many.
pub(crate) fn vectors(entry: &dyn Entry, run: impl Fn(u64) -> Result<(u64, u64)>) -> Result<u64> {
    if let Some((_, fixed)) = FIXED.iter().find(|(block, _)| *block == entry.about().name) {
        return Ok(*fixed);
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
