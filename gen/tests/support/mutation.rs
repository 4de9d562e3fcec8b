//! Runs a block's bench on mutants of its smallest configuration.

use senbazuru::registry::{Entry, Params};
use sim::mutate::{self, Limits, Report, Sample};
use sim::{BuildOptions, Design, RunOptions};

/// Cycles, or compared values where there are more of them, that a run on the design as it is may take: a sample of mutants
/// is then run in a second or two.
const WORK: u64 = 60_000;

/// Vectors are doubled from here on as long as they fit into [`WORK`], and halved if these do not.
const VECTORS: u64 = 1000;

/// The smallest registered configuration in which there is something to mutate, by the amount of Verilog and the width of
/// the ports.
pub fn smallest(entry: &dyn Entry) -> Result<(Params, Design), String> {
    let mut designs = Vec::new();
    for params in entry.configurations() {
        let design = Design::from(&entry.elaborate(&params).map_err(|e| e.to_string())?);
        designs.push((params, design));
    }
    designs.sort_by_key(|(_, design)| {
        let text: usize = design.files.iter().map(|file| file.text.len()).sum();
        text * design.ports.iter().map(|port| port.width as usize).sum::<usize>()
    });
    for (params, design) in designs {
        if mutate::list(&design, Sample::ALL).map_err(|e| e.to_string())?.available > 0 {
            return Ok((params, design));
        }
    }
    Err("no configuration has anything to mutate".to_owned())
}

/// Runs the bench on a sample of the mutants of a configuration. Without `vectors`, as many as are ordinary.
pub fn test(
    entry: &dyn Entry,
    params: &Params,
    design: &Design,
    sample: Sample,
    vectors: Option<u64>,
    proof: Option<Limits>,
) -> Result<(u64, Report), String> {
    let mutations = mutate::list(design, sample).map_err(|e| e.to_string())?;
    let mutants = mutate::build(mutations, &BuildOptions::default()).map_err(|e| e.to_string())?;
    let bench = entry.bench(params).map_err(|e| e.to_string())?;
    let options = |vectors| RunOptions { vectors, patience: 3000, ..RunOptions::default() };
    let work = |vectors| -> Result<u64, String> {
        let effort = mutants.effort(&*bench, &options(vectors)).map_err(|e| e.to_string())?;
        Ok(effort.cycles.max(effort.compared))
    };
    let vectors = match vectors {
        Some(vectors) => vectors,
        None => {
            let mut vectors = VECTORS;
            while vectors > 8 && work(vectors)? > WORK {
                vectors /= 2;
            }
            while (VECTORS..WORK).contains(&vectors) && work(2 * vectors)? <= WORK {
                vectors *= 2;
            }
            vectors
        }
    };
    let options = mutate::Options { run: options(vectors), proof };
    mutate::run(&*bench, &mutants, &options).map(|report| (vectors, report)).map_err(|e| e.to_string())
}
