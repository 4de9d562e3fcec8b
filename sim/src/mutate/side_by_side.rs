//! Design and mutants in one graph, and the proof that both stay in one state.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::Mutation;
use super::list::Source;
use super::miter::{CLOSED, MUTATED, STARTED, Subject, at_once, miter, script};
use super::report::Outcome;
use super::select::{SELECT, select_width, with_faults};
use crate::aig::Aig;
use crate::files::{self, Scratch};
use crate::lint::{folder_of, is_verilog, open_boxes, yosys_in};
use crate::process::{ProcessError, Tool};
use crate::{Design, Error, Result, SourceFile};

/// The question about both in one state: is there an invariant that says why the mutated logic does not matter?
pub(super) const IN_ONE_STATE: &str = "read_aiger shared.aig; fold; orpos; strash; scleanup; dc2; write_aiger shared.aig; \
     pdr -F 20 -C 5000 -D 2000; iprove -C 5000";

/// The first question about both in one state: does any state show a difference, even a state that never occurs?
pub(super) const IN_ANY_STATE: &str = "read_aiger any.aig; strash; iprove -C 2000";

/// With more gates a proof over more than one cycle takes minutes, and is not tried.
pub(super) const LARGE: usize = 15_000;

/// Rounds in which pairs of registers are separated.
pub(super) const ROUNDS: usize = 3;

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

pub(super) fn is_proved(shared: &Aig, folder: &Path, time: Duration, is_large: bool) -> Result<bool> {
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

/// The question about logic that a graph without feedback unrolls to.
pub(super) const UNROLLED: &str = "read_aiger unrolled.aig; strash; iprove -C 100000";

/// Whether a graph without feedback is proved as logic of the inputs of some cycles. If false, nothing is known.
fn is_proved_unrolled(graph: &Aig, filled: bool, folder: &Path, time: Duration) -> Result<bool> {
    let Some(logic) = graph.unrolled_logic(filled) else { return Ok(false) };
    if logic.is_proved() {
        return Ok(true);
    }
    let path = folder.join("unrolled.aig");
    std::fs::write(&path, logic.in_any_state().write()).map_err(Error::io(&path))?;
    match Tool::new("yosys-abc").args(["-c", UNROLLED]).dir(folder).timeout(time).run() {
        Ok(output) => Ok(output.log().lines().find_map(answer) == Some(Outcome::Equivalent)),
        Err(ProcessError::Timeout { .. } | ProcessError::Died { .. }) => Ok(false),
        Err(other) => Err(other.into()),
    }
}

/// An answer in a line of ABC's log: `Output 0 of miter "reduced" was asserted in frame 7.`
pub(super) fn answer(line: &str) -> Option<Outcome> {
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
    pub(super) both: Aig,
    /// The inputs that choose the mutant: the bit in its number, and the input.
    select: Pairs,
    /// Latches of the design, each with the mutants' latch.
    pairs: Pairs,
    pub(super) folder: Scratch,
}

impl Miter {
    /// Whether the chosen mutant does the same for all values of the inputs, which are all tried. If false, nothing is
    /// known.
    pub fn is_equal_for_all_inputs(&self, select: &BTreeMap<u32, bool>, effort: u64) -> bool {
        self.both.with_constants(select).holds_for_all_inputs(effort)
    }

    /// Whether the chosen mutant is proved to do the same, as [`is_proved_unrolled`] does it.
    pub fn is_equal_unrolled(&self, select: &BTreeMap<u32, bool>, filled: bool, time: Duration) -> Result<bool> {
        is_proved_unrolled(&self.both.with_constants(select), filled, self.folder.path(), time)
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
