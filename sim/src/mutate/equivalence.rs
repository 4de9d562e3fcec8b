//! Can a mutant be noticed at all?
//!
//! The design and the mutants become one netlist. Both are side by side with the same inputs, and in reset in the first
//! cycle. A property says that they do the same. For each open mutant the added input becomes a constant. ABC then
//! looks for a run in which both differ, and for a proof that there is no such run.
//!
//! First both are assumed to be in one state: the mutant uses the registers of the design. If no state that the design
//! reaches gives other outputs or another next state, both are in one state for ever. That decides most mutants, often
//! without a solver.
//!
//! "The same" follows the contract of a block:
//!
//! - Outputs are equal, but the fields of a stream are compared only while its valid is high.
//! - Inputs obey the assumptions of the formal section and the rules of the bench.
//! - Registers and memories without a reset start with the same values (zero) in both.

use std::path::Path;

use serde_json::Value;

use super::Mutation;
use super::limits::Limits;
use super::list::Source;
use super::miter::{Closed, Subject, at_once, miter, script};
use super::mutants::Mutants;
use super::parts;
use super::report::Outcome;
use super::side_by_side::{IN_ANY_STATE, IN_ONE_STATE, LARGE, ROUNDS, UNROLLED, answer, side_by_side, stay_equal};
use super::sizes::is_small;
use crate::aig::Aig;
use crate::process::{ProcessError, Tool};
use crate::runner::Contract;
use crate::{Cache, Error, Result};

/// Decides about the mutants with these indices, in this order. Earlier verdicts come from the cache.
pub(super) fn decide(
    mutants: &Mutants,
    contract: &Contract,
    indices: &[usize],
    limits: &Limits,
) -> Result<Vec<Outcome>> {
    let ports = mutants.model.ports();
    let closed = Closed::default();
    let whole = Subject { design: &mutants.design, ports, source: &mutants.source, contract, is_whole: true, closed };
    let mutations: Vec<&Mutation> = indices.iter().map(|&index| &mutants.list[index]).collect();
    let keys = keys(&whole, &mutations, limits)?;
    let mut outcomes: Vec<Option<Outcome>> = keys.iter().map(|key| known(&mutants.cache, key)).collect();
    let open = |outcomes: &[Option<Outcome>]| (0..indices.len()).filter(|&i| outcomes[i].is_none()).collect::<Vec<_>>();
    if let Source::Ir(ir) = &mutants.source {
        let left = open(&outcomes);
        let proved = parts::proved(ir, &whole, &left.iter().map(|&i| mutations[i]).collect::<Vec<_>>(), limits)?;
        for i in left.into_iter().zip(proved).filter(|(_, proved)| *proved).map(|(i, _)| i) {
            store(&mutants.cache, &keys[i], &Outcome::Equivalent)?;
            outcomes[i] = Some(Outcome::Equivalent);
        }
    }
    let left = open(&outcomes);
    if matches!(&mutants.source, Source::Ir(ir) if !is_small(ir)) {
        left.iter().for_each(|&i| outcomes[i] = Some(Outcome::Survived { differs_in: None }));
    } else if !left.is_empty() {
        let miter = side_by_side(&whole, &left.iter().map(|&i| mutations[i]).collect::<Vec<_>>())?;
        for (number, &i) in left.iter().enumerate() {
            let bits = miter.select(number);
            let outcome = match stay_equal(&miter, &bits, limits.time)? {
                true => Outcome::Equivalent,
                false => decide_one(&miter.both.with_constants(&bits), miter.folder.path(), limits)?,
            };
            store(&mutants.cache, &keys[i], &outcome)?;
            outcomes[i] = Some(outcome);
        }
    }
    Ok(outcomes.into_iter().flatten().collect())
}

/// The key of a verdict: the design, the mutation, and the questions about both. The sample does not matter.
fn keys(whole: &Subject, mutations: &[&Mutation], limits: &Limits) -> Result<Vec<String>> {
    let version = Tool::new("yosys").arg("-V").run()?.log();
    let mut common = blake3::Hasher::new();
    let mut add = |text: &str| {
        common.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    };
    for text in [
        &version,
        &format!("{ROUNDS} {LARGE} {IN_ANY_STATE} {IN_ONE_STATE} {UNROLLED} {QUESTIONS:?} {limits:?} {}", parts::RULES),
        &script(whole, &[]),
        &miter(whole, 1),
    ] {
        add(text);
    }
    at_once(&whole.design.files).iter().for_each(|file| add(&file.text));
    let key = |mutation: &&Mutation| {
        let mut own = common.clone();
        own.update(mutation.options.as_bytes());
        own.finalize().to_hex()[..32].to_owned()
    };
    Ok(mutations.iter().map(key).collect())
}

const ANSWER: &str = "answer.json";

/// A proof or a difference that was found before.
fn known(cache: &Cache, key: &str) -> Option<Outcome> {
    let folder = cache.find("equivalence", key)?;
    let text = std::fs::read_to_string(folder.join(ANSWER)).ok()?;
    match serde_json::from_str(&text).ok()? {
        Value::Bool(true) => Some(Outcome::Equivalent),
        Value::Bool(false) => Some(Outcome::Survived { differs_in: None }),
        Value::Number(cycle) => Some(Outcome::Survived { differs_in: Some(cycle.as_u64()?.try_into().ok()?) }),
        _ => None,
    }
}

/// Keeps the verdict of a solver. The death of a solver is not a verdict.
fn store(cache: &Cache, key: &str, outcome: &Outcome) -> Result<()> {
    let value = match outcome {
        Outcome::Equivalent => Value::Bool(true),
        Outcome::Survived { differs_in: None } => Value::Bool(false),
        Outcome::Survived { differs_in: Some(cycle) } => (*cycle).into(),
        Outcome::NoAnswer(_) | Outcome::Killed(_) | Outcome::KilledInPart(_) => return Ok(()),
    };
    cache.entry("equivalence", key, |folder| {
        let path = folder.join(ANSWER);
        std::fs::write(&path, value.to_string()).map_err(Error::io(&path))
    })?;
    Ok(())
}

/// The questions to ABC, quick ones first; `{F}` and `{C}` stand for the limits.
///
/// Most registers of the two designs are equal, which `lcorr` finds at once. Most signals are equal, which `&scorr`
/// finds soon. Then a short search finds easy differences. `scorr` looks for all equal signals, and `pdr` for an
/// invariant. `iprove` proves graphs without a state. It comes last, because it ends the commands if there is a state.
const QUESTIONS: [&str; 2] = [
    "read_aiger open.aig; fold; orpos; strash; scleanup; lcorr; &get; &scorr; &put; dc2; write_aiger reduced.aig; \
     bmc3 -F 20 -C 2000; iprove -C 5000",
    "read_aiger reduced.aig; scorr -C 50; bmc3 -F {F} -C {C}; dc2; pdr -F 10 -C 2000 -D 500; iprove -C {C}",
];

fn decide_one(graph: &Aig, folder: &Path, limits: &Limits) -> Result<Outcome> {
    if graph.is_proved() {
        return Ok(Outcome::Equivalent);
    }
    if graph.gates() > LARGE {
        return Ok(Outcome::Survived { differs_in: None });
    }
    let path = folder.join("open.aig");
    std::fs::write(&path, graph.write()).map_err(Error::io(&path))?;
    let Limits { cycles, conflicts, time } = limits;
    let mut log = String::new();
    for question in &QUESTIONS[..if *conflicts == 0 { 1 } else { QUESTIONS.len() }] {
        let commands = question.replace("{F}", &cycles.to_string()).replace("{C}", &conflicts.to_string());
        let tool = Tool::new("yosys-abc").args(["-c", &commands]).dir(folder).timeout(*time);
        log = match tool.run() {
            Ok(output) => output.log(),
            Err(ProcessError::Timeout { .. }) => return Ok(Outcome::NoAnswer(format!("none in {} s", time.as_secs()))),
            Err(error @ ProcessError::Died { .. }) => return Ok(Outcome::NoAnswer(error.to_string())),
            Err(other) => return Err(other.into()),
        };
        if let Some(answer) = log.lines().find_map(answer) {
            return Ok(answer);
        }
    }
    let open = ["UNDECIDED", "No output asserted in"].iter().any(|sign| log.contains(sign));
    Ok(match open {
        true => Outcome::Survived { differs_in: None },
        false => Outcome::NoAnswer(format!("yosys-abc: {}", log.lines().last().unwrap_or_default())),
    })
}
