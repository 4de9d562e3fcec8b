//! Properties of a graph without feedback, shown by trying all of its inputs.
//!
//! In such a graph a property depends on the inputs of a few cycles, and on the start values in the first cycles. It is
//! unrolled for each of the first cycles; later cycles are like the last of these. What remains is logic, and if few
//! inputs enter it, all of their values are tried. A solver may need hours where a chain of subtractions has 20 inputs.

use std::collections::{BTreeMap, BTreeSet};

use super::{Aig, Literal};

/// Values that are tried at once: words of 64.
const WORDS: usize = 4;

/// Inputs whose values are all inside such a block.
const INSIDE: u32 = 6 + WORDS.trailing_zeros();

/// The values of the first six inputs in a word.
const PATTERNS: [u64; 6] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

/// The most inputs.
const INPUTS: usize = 30;

/// The most gates of an unrolled property.
const UNROLLED: usize = 1 << 20;

impl Aig {
    /// Whether all values of the inputs were tried, and no bad literal was 1 in any cycle. If false, nothing is known:
    /// a latch depends on itself, or there is too much to try. `effort` limits the values times the gates that they
    /// pass through. Assumptions are not used.
    #[must_use]
    pub fn holds_for_all_inputs(&self, effort: u64) -> bool {
        let Some(depth) = self.depth() else { return false };
        let mut tried = BTreeSet::new();
        for cycle in 0..=depth {
            let mut logic = Logic::default();
            for &bad in &self.bad {
                let Some(bad) = self.unrolled(&mut logic, bad, cycle) else { return false };
                if !logic.is_never(bad, effort, &mut tried) {
                    return false;
                }
            }
        }
        true
    }

    /// The graph as logic of the inputs of some cycles: its bad literals are 1 in the first cycles, or in the later ones.
    /// With `filled` only later cycles count, in which no start value has any effect. `None`: a latch depends on itself,
    /// or it is too large. Assumptions are left out.
    #[must_use]
    pub fn unrolled_logic(&self, filled: bool) -> Option<Self> {
        let depth = self.depth()?;
        let (mut logic, mut bad) = (Logic::default(), BTreeSet::new());
        for cycle in if filled { depth } else { 0 }..=depth {
            for &literal in &self.bad {
                bad.insert(self.unrolled(&mut logic, literal, cycle)?);
            }
        }
        Some(logic.graph(&bad))
    }

    /// The most latches on a way to a bad literal. `None`: a latch depends on itself.
    fn depth(&self) -> Option<u32> {
        let (first, gates) = (self.inputs + 1, self.inputs + 1 + self.latches.len() as u32);
        // 0: new, 1: open, 2: known.
        let mut state = vec![0u8; gates as usize + self.gates.len()];
        let mut depths = vec![0u32; state.len()];
        let mut stack: Vec<u32> = self.bad.iter().map(|l| l / 2).collect();
        while let Some(&variable) = stack.last() {
            let at = variable as usize;
            let below: Vec<u32> = match variable {
                _ if variable >= gates => {
                    let (a, b) = self.gates[(variable - gates) as usize];
                    vec![a / 2, b / 2]
                }
                _ if variable >= first => vec![self.latches[(variable - first) as usize] / 2],
                _ => vec![],
            };
            match state[at] {
                0 => {
                    state[at] = 1;
                    for variable in below {
                        match state[variable as usize] {
                            0 => stack.push(variable),
                            1 => return None,
                            _ => {}
                        }
                    }
                }
                1 => {
                    let most = below.iter().map(|&variable| depths[variable as usize]).max().unwrap_or(0);
                    depths[at] = most + u32::from((first..gates).contains(&variable));
                    state[at] = 2;
                    stack.pop();
                }
                _ => {
                    stack.pop();
                }
            }
        }
        Some(self.bad.iter().map(|l| depths[(l / 2) as usize]).max().unwrap_or(0))
    }

    /// The value of a literal in a cycle, as logic of the inputs. `None`: it is too large.
    fn unrolled(&self, logic: &mut Logic, literal: Literal, cycle: u32) -> Option<Literal> {
        let (first, gates) = (self.inputs + 1, self.inputs + 1 + self.latches.len() as u32);
        // By variable, and cycles before this one.
        let mut known: BTreeMap<(u32, u32), Literal> = BTreeMap::new();
        let mut stack = vec![(literal / 2, 0u32)];
        while let Some(&(variable, age)) = stack.last() {
            if known.contains_key(&(variable, age)) {
                stack.pop();
                continue;
            }
            let below: Vec<(Literal, u32)> = match variable {
                _ if variable >= gates => {
                    let (a, b) = self.gates[(variable - gates) as usize];
                    vec![(a, age), (b, age)]
                }
                // Latches start at 0.
                _ if variable >= first && age < cycle => vec![(self.latches[(variable - first) as usize], age + 1)],
                _ => vec![],
            };
            let open: Vec<_> =
                below.iter().map(|&(l, age)| (l / 2, age)).filter(|at| !known.contains_key(at)).collect();
            if !open.is_empty() {
                stack.extend(open);
                continue;
            }
            let of = |&(l, age): &(Literal, u32)| known[&(l / 2, age)] ^ (l & 1);
            let value = match &below[..] {
                [a, b] => logic.and(of(a), of(b)),
                [next] => of(next),
                _ if (1..first).contains(&variable) => logic.leaf((variable, age)),
                _ => 0,
            };
            if logic.gates.len() > UNROLLED {
                return None;
            }
            known.insert((variable, age), value);
            stack.pop();
        }
        Some(known[&(literal / 2, 0)] ^ (literal & 1))
    }
}

/// A variable of unrolled logic.
#[derive(Clone, Copy)]
enum Gate {
    /// An input, in one cycle.
    Leaf,
    And(Literal, Literal),
}

/// Logic without latches. Variables are numbered from 1; gates of equal operands are one.
#[derive(Default)]
struct Logic {
    gates: Vec<Gate>,
    leaves: BTreeMap<(u32, u32), Literal>,
    ands: BTreeMap<(Literal, Literal), Literal>,
}

impl Logic {
    fn push(&mut self, gate: Gate) -> Literal {
        self.gates.push(gate);
        2 * self.gates.len() as u32
    }

    fn leaf(&mut self, name: (u32, u32)) -> Literal {
        if let Some(&known) = self.leaves.get(&name) {
            return known;
        }
        let leaf = self.push(Gate::Leaf);
        self.leaves.insert(name, leaf);
        leaf
    }

    fn and(&mut self, a: Literal, b: Literal) -> Literal {
        let (small, large) = (a.min(b), a.max(b));
        match small {
            0 => return 0,
            1 => return large,
            _ if small == large => return small,
            _ if small ^ 1 == large => return 0,
            _ => {}
        }
        if let Some(&known) = self.ands.get(&(small, large)) {
            return known;
        }
        let gate = self.push(Gate::And(small, large));
        self.ands.insert((small, large), gate);
        gate
    }

    fn gate(&self, literal: Literal) -> Gate {
        self.gates[(literal / 2 - 1) as usize]
    }

    /// Whether a literal is 0 for all values of the leaves. `tried` has what earlier calls found to be 0.
    fn is_never(&self, literal: Literal, effort: u64, tried: &mut BTreeSet<Vec<u64>>) -> bool {
        match literal {
            0 => return true,
            1 => return false,
            _ => {}
        }
        // Alternatives that depend on the same leaves are tried together.
        let mut groups: BTreeMap<Vec<u32>, Vec<Literal>> = BTreeMap::new();
        for alternative in self.alternatives(literal) {
            groups.entry(self.cone(&[alternative]).0).or_default().push(alternative);
        }
        groups.into_values().all(|group| {
            let cone = Cone::new(self, &group);
            let name = cone.name();
            if tried.contains(&name) {
                return true;
            }
            let holds = cone.is_never(effort);
            if holds {
                tried.insert(name);
            }
            holds
        })
    }

    /// The literals of which one is 1 where this one is.
    fn alternatives(&self, literal: Literal) -> BTreeSet<Literal> {
        let (mut found, mut seen, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![literal]);
        while let Some(literal) = open.pop() {
            match self.gate(literal) {
                Gate::And(a, b) if literal & 1 == 1 && seen.insert(literal) => open.extend([a ^ 1, b ^ 1]),
                Gate::And(..) if literal & 1 == 1 => {}
                _ => {
                    found.insert(literal);
                }
            }
        }
        found
    }

    /// A graph whose bad literals these are.
    fn graph(&self, bad: &BTreeSet<Literal>) -> Aig {
        let open: Vec<Literal> = bad.iter().copied().filter(|&literal| literal > 1).collect();
        let (leaves, gates) = self.cone(&open);
        let map: BTreeMap<u32, u32> = [0].iter().chain(&leaves).chain(&gates).copied().zip(0..).collect();
        let of = |literal: Literal| (2 * map[&(literal / 2)]) | (literal & 1);
        let both = |&variable: &u32| match self.gate(2 * variable) {
            Gate::And(a, b) => Some((of(a).max(of(b)), of(a).min(of(b)))),
            Gate::Leaf => None,
        };
        Aig {
            inputs: leaves.len() as u32,
            gates: gates.iter().filter_map(both).collect(),
            bad: bad.iter().map(|&literal| of(literal)).collect(),
            ..Aig::default()
        }
    }

    /// The variables of the leaves, and of the gates, that literals depend on; operands before gates.
    fn cone(&self, literals: &[Literal]) -> (Vec<u32>, Vec<u32>) {
        let (mut seen, mut open) = (BTreeSet::new(), literals.iter().map(|l| l / 2).collect::<Vec<_>>());
        while let Some(variable) = open.pop() {
            if seen.insert(variable)
                && let Gate::And(a, b) = self.gate(2 * variable)
            {
                open.extend([a / 2, b / 2]);
            }
        }
        seen.into_iter().partition(|&variable| matches!(self.gate(2 * variable), Gate::Leaf))
    }
}

/// The logic of a group of literals, in the order of its evaluation: leaves first.
struct Cone {
    leaves: usize,
    /// Operands: places of values, each with whether it is inverted.
    gates: Vec<[(u32, bool); 2]>,
    results: Vec<(u32, bool)>,
}

impl Cone {
    fn new(logic: &Logic, literals: &[Literal]) -> Self {
        let (leaves, gates) = logic.cone(literals);
        let places: BTreeMap<u32, u32> =
            leaves.iter().chain(&gates).zip(0..).map(|(&variable, at)| (variable, at)).collect();
        let operand = |literal: Literal| (places[&(literal / 2)], literal & 1 == 1);
        let both = |&variable: &u32| match logic.gate(2 * variable) {
            Gate::And(a, b) => Some([operand(a), operand(b)]),
            Gate::Leaf => None,
        };
        Self {
            leaves: leaves.len(),
            gates: gates.iter().filter_map(both).collect(),
            results: literals.iter().map(|&literal| operand(literal)).collect(),
        }
    }

    /// Equal for cones that are equal but for the names of their leaves.
    fn name(&self) -> Vec<u64> {
        let word = |&(place, inverted): &(u32, bool)| u64::from(place) << 1 | u64::from(inverted);
        let counts = [self.leaves as u64, self.results.len() as u64];
        counts.into_iter().chain(self.gates.iter().flatten().chain(&self.results).map(word)).collect()
    }

    /// Whether all values of the leaves were tried, and none of the results was 1.
    fn is_never(&self, effort: u64) -> bool {
        let blocks = 1u64 << (self.leaves as u32).saturating_sub(INSIDE).min(63);
        let values = blocks.saturating_mul(64 * WORDS as u64);
        if self.leaves > INPUTS || values.saturating_mul(self.gates.len() as u64) > effort {
            return false;
        }
        let mut value = vec![[0u64; WORDS]; self.leaves + self.gates.len()];
        (0..blocks).all(|block| {
            for (leaf, value) in value.iter_mut().enumerate().take(self.leaves) {
                for (word, value) in value.iter_mut().enumerate() {
                    *value = match leaf {
                        0..6 => PATTERNS[leaf],
                        _ => 0u64.wrapping_sub((block << (INSIDE - 6) | word as u64) >> (leaf - 6) & 1),
                    };
                }
            }
            for (at, &[(a, a_inverted), (b, b_inverted)]) in (self.leaves..).zip(&self.gates) {
                let flips = [a_inverted, b_inverted].map(|inverted| 0u64.wrapping_sub(u64::from(inverted)));
                let (a, b) = (value[a as usize], value[b as usize]);
                value[at] = std::array::from_fn(|word| (a[word] ^ flips[0]) & (b[word] ^ flips[1]));
            }
            self.results.iter().all(|&(place, inverted)| {
                let flip = 0u64.wrapping_sub(u64::from(inverted));
                value[place as usize].iter().all(|word| word ^ flip == 0)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFORT: u64 = 1 << 30;

    /// A graph of so many inputs whose latches and bad literals `of` tells, from literals of inputs and a way to make
    /// gates. Latches come before gates.
    fn graph(inputs: u32, latches: u32, of: impl Fn(&mut Aig, &[Literal]) -> (Vec<Literal>, Literal)) -> Aig {
        let mut aig = Aig { inputs, latches: vec![0; latches as usize], ..Aig::default() };
        let leaves: Vec<Literal> = (1..=inputs + latches).map(|variable| 2 * variable).collect();
        let (next, bad) = of(&mut aig, &leaves);
        aig.latches = next;
        aig.bad = vec![bad];
        aig
    }

    fn and(aig: &mut Aig, a: Literal, b: Literal) -> Literal {
        aig.gates.push((a.max(b), a.min(b)));
        2 * (aig.inputs + aig.latches.len() as u32 + aig.gates.len() as u32)
    }

    fn or(aig: &mut Aig, a: Literal, b: Literal) -> Literal {
        and(aig, a ^ 1, b ^ 1) ^ 1
    }

    fn differ(aig: &mut Aig, a: Literal, b: Literal) -> Literal {
        let (one, other) = (and(aig, a, b ^ 1), and(aig, a ^ 1, b));
        or(aig, one, other)
    }

    /// Whether the parity of all inputs from the first one on differs from the one from the last one on, after a latch each.
    /// With `wrong`, not where all inputs are 1.
    fn parities(inputs: u32, wrong: bool) -> Aig {
        graph(inputs, 2, |aig, leaves| {
            let (own, latches) = leaves.split_at(inputs as usize);
            let up = own.iter().copied().reduce(|a, b| differ(aig, a, b)).unwrap();
            let mut down = own.iter().rev().copied().reduce(|a, b| differ(aig, a, b)).unwrap();
            if wrong {
                let all = own.iter().copied().reduce(|a, b| and(aig, a, b)).unwrap();
                down = differ(aig, down, all);
            }
            (vec![up, down], differ(aig, latches[0], latches[1]))
        })
    }

    #[test]
    fn one_value_of_all_shows_a_difference() {
        for inputs in [2, 5, 8, 9, 13] {
            assert!(parities(inputs, false).holds_for_all_inputs(EFFORT), "{inputs}");
            assert!(!parities(inputs, true).holds_for_all_inputs(EFFORT), "{inputs}");
        }
    }

    #[test]
    fn too_much_to_try_is_not_proved() {
        let aig = parities(13, false);
        let all = (1 << 13) * 2 * aig.gates() as u64;
        assert!(aig.holds_for_all_inputs(all));
        assert!(!aig.holds_for_all_inputs(1 << 13));
        assert!(!parities(INPUTS as u32 + 1, false).holds_for_all_inputs(u64::MAX));
    }

    #[test]
    fn start_values_count() {
        // A latch, and the inverse of a latch of the inverse: they differ in the first cycle alone.
        let aig = graph(1, 2, |aig, leaves| (vec![leaves[0], leaves[0] ^ 1], differ(aig, leaves[1], leaves[2] ^ 1)));
        assert!(!aig.holds_for_all_inputs(EFFORT));
        // The same with one more latch after both, and in the cycles after the first ones.
        let late = graph(1, 4, |aig, l| (vec![l[0], l[0] ^ 1, l[1], l[2] ^ 1], differ(aig, l[3], l[4])));
        assert!(!late.holds_for_all_inputs(EFFORT));
    }

    #[test]
    fn values_of_different_cycles_are_different_inputs() {
        // An input, and the input of the cycle before.
        let aig = graph(1, 1, |aig, leaves| (vec![leaves[0]], differ(aig, leaves[0], leaves[1])));
        assert!(!aig.holds_for_all_inputs(EFFORT));
        // Never 1 and 0 at once.
        let aig = graph(1, 1, |aig, leaves| (vec![leaves[0]], and(aig, leaves[1], leaves[1] ^ 1)));
        assert!(aig.holds_for_all_inputs(EFFORT));
    }

    #[test]
    fn feedback_is_not_unrolled() {
        // It stays 0 for ever, but it depends on itself.
        let aig = graph(1, 1, |aig, leaves| (vec![and(aig, leaves[0], leaves[1])], leaves[1]));
        assert!(!aig.holds_for_all_inputs(EFFORT));
        // Without a property that depends on it, it does not matter.
        let beside = graph(1, 1, |aig, leaves| {
            let both = and(aig, leaves[0], leaves[0] ^ 1);
            (vec![and(aig, leaves[0], leaves[1])], both)
        });
        assert!(beside.holds_for_all_inputs(EFFORT));
    }

    /// Whether the logic shows it, for all values of its inputs.
    fn is_proved(aig: &Aig, filled: bool) -> Option<bool> {
        let logic = aig.unrolled_logic(filled)?;
        assert!(logic.latches.is_empty() && Aig::read(&logic.write()).unwrap() == logic);
        Some(logic.holds_for_all_inputs(EFFORT))
    }

    #[test]
    fn unrolled_logic_says_the_same() {
        for inputs in [2, 5, 9] {
            assert_eq!(is_proved(&parities(inputs, false), false), Some(true));
            assert_eq!([false, true].map(|filled| is_proved(&parities(inputs, true), filled)), [Some(false); 2]);
        }
        // A latch, and the inverse of a latch of the inverse: they differ by their start values alone.
        let aig = graph(1, 2, |aig, leaves| (vec![leaves[0], leaves[0] ^ 1], differ(aig, leaves[1], leaves[2] ^ 1)));
        assert_eq!([false, true].map(|filled| is_proved(&aig, filled)), [Some(false), Some(true)]);
        // An input and the input of the cycle before are two inputs.
        let aig = graph(1, 1, |aig, leaves| (vec![leaves[0]], differ(aig, leaves[0], leaves[1])));
        assert_eq!([false, true].map(|filled| is_proved(&aig, filled)), [Some(false); 2]);
        let looped = graph(1, 1, |aig, leaves| (vec![and(aig, leaves[0], leaves[1])], leaves[1]));
        assert_eq!(is_proved(&looped, true), None);
        // Constants: never bad, and always.
        let (never, always) = (graph(1, 0, |_, _| (vec![], 0)), graph(1, 0, |_, _| (vec![], 1)));
        assert_eq!([&never, &always].map(|aig| is_proved(aig, false)), [Some(true), Some(false)]);
    }
}
