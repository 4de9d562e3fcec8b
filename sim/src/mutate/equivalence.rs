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

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::list::Source;
use super::miter::{CLOSED, Closed, MUTATED, STARTED, Subject, at_once, miter, script};
use super::parts;
use super::report::Outcome;
use super::run::{SELECT, select_width, with_faults};
use super::sizes::is_small;
use super::{Mutants, Mutation};
use crate::aig::Aig;
use crate::files::Scratch;
use crate::lint::{folder_of, is_verilog, open_boxes, yosys_in};
use crate::process::{ProcessError, Tool};
use crate::runner::Contract;
use crate::{Cache, Design, Error, Result, SourceFile, files};

/// The effort to decide about a mutant. All limits except the time mean the same on all machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Length of the runs in which ABC looks for a difference.
    pub cycles: u32,
    /// Conflicts that the solver may meet in one question. With 0 only questions of a second or two are asked.
    pub conflicts: u32,
    /// Time for each attempt, which also limits the work that the other limits do not count.
    pub time: Duration,
}

impl Limits {
    /// Little effort: hard mutants stay open. The time is only a guard: a slow machine decides the same.
    pub const QUICK: Self = Self { cycles: 20, conflicts: 0, time: Duration::from_secs(600) };
}

impl Default for Limits {
    fn default() -> Self {
        Self { cycles: 40, conflicts: 10_000, time: Duration::from_secs(10) }
    }
}

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
        &format!("{ROUNDS} {LARGE} {IN_ANY_STATE} {IN_ONE_STATE} {QUESTIONS:?} {limits:?} {}", parts::RULES),
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
        Outcome::NoAnswer(_) | Outcome::Killed(_) => return Ok(()),
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

/// The question about both in one state: is there an invariant that says why the mutated logic does not matter?
const IN_ONE_STATE: &str = "read_aiger shared.aig; fold; orpos; strash; scleanup; dc2; write_aiger shared.aig; \
     pdr -F 20 -C 5000 -D 2000; iprove -C 5000";

/// The first question about both in one state: does any state show a difference, even a state that never occurs?
const IN_ANY_STATE: &str = "read_aiger any.aig; strash; iprove -C 2000";

/// With more gates a proof over more than one cycle takes minutes, and is not tried.
const LARGE: usize = 15_000;

/// Rounds in which pairs of registers are separated.
const ROUNDS: usize = 3;

/// Whether both are proved to stay in one state, or in states whose difference has no effect. Registers that may get
/// other values are separated in the next round. If false, nothing is known.
pub(super) fn stay_equal(miter: &Miter, bits: &BTreeMap<u32, bool>, time: Duration) -> Result<bool> {
    let mut pairs = miter.pairs.clone();
    let is_large = miter.both.gates() > LARGE;
    for _ in 0..if is_large { 1 } else { ROUNDS } {
        let shared = miter.both.in_one_state(&pairs).with_constants(bits);
        // Properties of the graph come before properties of the pairs.
        let known: Vec<bool> = shared.known().collect();
        let own = known.len() - pairs.len();
        let kept: Pairs = pairs.iter().zip(&known[own..]).filter(|(_, known)| **known).map(|(pair, _)| *pair).collect();
        if is_proved(&shared.with_open_properties(), miter.folder.path(), time, is_large)? {
            return Ok(true);
        }
        if kept.len() == pairs.len() {
            break;
        }
        pairs = kept;
    }
    Ok(false)
}

fn is_proved(shared: &Aig, folder: &Path, time: Duration, is_large: bool) -> Result<bool> {
    if shared.is_proved() {
        return Ok(true);
    }
    let asked = [("any.aig", shared.in_any_state(), IN_ANY_STATE), ("shared.aig", shared.clone(), IN_ONE_STATE)];
    for (name, graph, commands) in &asked[..if is_large { 1 } else { 2 }] {
        let path = folder.join(name);
        std::fs::write(&path, graph.write()).map_err(Error::io(&path))?;
        let tool = Tool::new("yosys-abc").args(["-c", commands]).dir(folder).timeout(time);
        match tool.run() {
            Ok(output) if output.log().lines().find_map(answer) == Some(Outcome::Equivalent) => return Ok(true),
            Ok(_) | Err(ProcessError::Timeout { .. } | ProcessError::Died { .. }) => {}
            Err(other) => return Err(other.into()),
        }
    }
    Ok(false)
}

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

/// An answer in a line of ABC's log: `Output 0 of miter "reduced" was asserted in frame 7.`
fn answer(line: &str) -> Option<Outcome> {
    if let Some((_, rest)) = line.split_once("was asserted in frame ") {
        let frame = rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok());
        return Some(Outcome::Survived { differs_in: frame });
    }
    let word = line.split_whitespace().next()?;
    match word {
        "SATISFIABLE" => Some(Outcome::Survived { differs_in: Some(0) }),
        "UNSATISFIABLE" => Some(Outcome::Equivalent),
        _ => line.starts_with("Property proved.").then_some(Outcome::Equivalent),
    }
}

/// Pairs of numbers.
type Pairs = Vec<(u32, u32)>;

/// Design and mutants in one graph.
pub(super) struct Miter {
    both: Aig,
    /// The inputs that choose the mutant: the bit in its number, and the input.
    select: Pairs,
    /// Latches of the design, each with the mutants' latch.
    pairs: Pairs,
    folder: Scratch,
}

impl Miter {
    /// Whether the chosen mutant does the same for all values of the inputs, which are all tried. If false, nothing is
    /// known.
    pub fn is_equal_for_all_inputs(&self, select: &BTreeMap<u32, bool>, effort: u64) -> bool {
        self.both.with_constants(select).holds_for_all_inputs(effort)
    }

    /// The inputs that choose the mutant at this place of the list.
    pub fn select(&self, at: usize) -> BTreeMap<u32, bool> {
        self.select.iter().map(|&(bit, input)| (input, (at + 1) >> bit & 1 == 1)).collect()
    }
}

pub(super) fn side_by_side(subject: &Subject, mutations: &[&Mutation]) -> Result<Miter> {
    let folder = folder_of(&at_once(&subject.design.files))?;
    let miter = miter(subject, select_width(mutations.len()));
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).map_err(Error::io(&path))
    };
    match subject.source {
        Source::Netlist(netlist) => write("netlist.il", netlist)?,
        Source::Ir(ir) => {
            let mutated = open_boxes(&Design::from(&with_faults(ir, mutations.iter().copied())));
            let of = |closed: bool| -> String {
                let is_closed =
                    |f: &SourceFile| f.name.strip_suffix(".v").is_some_and(|m| subject.closed.modules.contains(m));
                let files = mutated.files.iter().filter(|f| is_verilog(f) && is_closed(f) == closed);
                files.map(|f| f.text.as_str()).collect()
            };
            write(MUTATED, &of(false))?;
            write(CLOSED, &of(true))?;
        }
    }
    write("senbazuru_miter.v", &miter)?;
    yosys_in(folder.path(), &script(subject, mutations))?;
    let read = |name: &str| {
        let path = folder.path().join(name);
        files::read_regular(&path).map_err(Error::io(path))
    };
    let both = Aig::read(&read("both.aig")?)?;
    let map = String::from_utf8_lossy(&read("both.map")?).into_owned();
    let (select, pairs) = select_and_pairs(&both, &map);
    Ok(Miter { both, select, pairs, folder })
}

/// `input 12 0 senbazuru_select_i`: number of the input, bit, name. `wire 24 0 u_right.count_q`: literal, bit, name.
fn select_and_pairs(both: &Aig, map: &str) -> (Pairs, Pairs) {
    let mut select = Vec::new();
    let mut started = None;
    let (mut right, mut mutated) = (BTreeMap::new(), BTreeMap::new());
    for line in map.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind, number, bit, name] = words[..] else { continue };
        let (Ok(number), Ok(bit)) = (number.parse::<u32>(), bit.parse::<u32>()) else { continue };
        if (kind, name) == ("input", SELECT) {
            select.push((bit, number));
        }
        if (kind, name) == ("wire", STARTED) {
            started = both.latch_behind(number, None);
        }
        for (prefix, names) in [("u_right.", &mut right), ("u_mutated.", &mut mutated)] {
            if let Some(name) = name.strip_prefix(prefix).filter(|_| kind == "wire") {
                names.insert((name, bit), number);
            }
        }
    }
    let mut pairs = BTreeMap::new();
    for (name, &literal) in &right {
        let latch = both.latch_behind(literal, started);
        let other = mutated.get(name).and_then(|&literal| both.latch_behind(literal, started));
        if let (Some(one), Some(other)) = (latch, other)
            && one != other
        {
            pairs.entry(other).or_insert(one);
        }
    }
    // The first latch of a pair is in no other pair as the second.
    let seconds: Vec<u32> = pairs.keys().copied().collect();
    let pairs = pairs.into_iter().filter(|(_, one)| seconds.binary_search(one).is_err());
    (select, pairs.map(|(other, one)| (one, other)).collect())
}
