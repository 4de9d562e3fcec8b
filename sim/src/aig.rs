//! And-inverter graphs in the binary AIGER format, as Yosys writes and ABC reads them.

mod enumerate;
mod relate;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Error, Result};

/// A literal: twice the variable, and one if inverted. Variable 0 is constant 0.
pub type Literal = u32;

/// A graph whose latches start at 0. Variables are numbered in the order of the fields, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aig {
    inputs: u32,
    /// The next value of each latch.
    latches: Vec<Literal>,
    /// Bad literals, which must never be 1.
    bad: Vec<Literal>,
    /// Literals that are assumed to be 1.
    constraints: Vec<Literal>,
    /// Operands of each gate: variables of smaller numbers.
    gates: Vec<(Literal, Literal)>,
}

impl Aig {
    /// Reads a file that `write_aiger -zinit` wrote.
    ///
    /// # Errors
    /// The file has another format.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        parse(bytes).ok_or_else(|| Error::Unsupported("Yosys wrote an AIGER file that is not understood".into()))
    }

    /// Gates.
    #[must_use]
    pub fn gates(&self) -> usize {
        self.gates.len()
    }

    /// Constants in the graph show that no bad literal can become 1.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.bad.iter().all(|literal| *literal == 0)
    }

    /// The graph with constants for some of its inputs, by their index. Parts that become equal are merged, and parts
    /// that no property depends on are removed.
    #[must_use]
    pub fn with_constants(&self, constants: &BTreeMap<u32, bool>) -> Self {
        // First the whole graph, with gates of equal operands merged; then the part that the properties need.
        let mut hashed = Builder::default();
        let mut map: Vec<Literal> = vec![0];
        for input in 0..self.inputs {
            let literal = match constants.get(&input) {
                Some(value) => u32::from(*value),
                None => hashed.leaf(),
            };
            map.push(literal);
        }
        let inputs = hashed.leaves;
        map.extend(self.latches.iter().map(|_| hashed.leaf()));
        for &(a, b) in &self.gates {
            let gate = hashed.and(through(&map, a), through(&map, b));
            map.push(gate);
        }
        let all = |literals: &[Literal]| literals.iter().map(|&l| through(&map, l)).collect::<Vec<_>>();
        let whole = Self {
            inputs,
            latches: all(&self.latches),
            bad: all(&self.bad),
            constraints: all(&self.constraints),
            gates: hashed.gates,
        };
        whole.needed()
    }

    /// The graph in which the second latch of each pair always has the value of the first. It is also bad if the next
    /// values of a pair differ. If nothing bad can happen in the new graph, nothing bad can happen in this one. Then
    /// the latches of a pair are equal for ever, because all start at 0.
    #[must_use]
    pub fn in_one_state(&self, pairs: &[(u32, u32)]) -> Self {
        let first = self.inputs + 1;
        let variables = first + self.latches.len() as u32 + self.gates.len() as u32;
        let mut map: Vec<Literal> = (0..variables).map(|variable| 2 * variable).collect();
        for &(one, other) in pairs {
            map[(first + other) as usize] = 2 * (first + one);
        }
        let all = |literals: &[Literal]| literals.iter().map(|&l| through(&map, l)).collect::<Vec<_>>();
        let mut gates: Vec<_> = self.gates.iter().map(|&(a, b)| (through(&map, a), through(&map, b))).collect();
        let (latches, mut bad) = (all(&self.latches), all(&self.bad));
        let mut and = |a: Literal, b: Literal| {
            gates.push((a.max(b), a.min(b)));
            2 * (first + latches.len() as u32 + gates.len() as u32 - 1)
        };
        for &(one, other) in pairs {
            let (a, b) = (latches[one as usize], latches[other as usize]);
            let (only_a, only_b) = (and(a, b ^ 1), and(a ^ 1, b));
            bad.push(and(only_a ^ 1, only_b ^ 1) ^ 1);
        }
        Self { inputs: self.inputs, latches, bad, constraints: all(&self.constraints), gates }
    }

    /// The latch that a literal shows, directly or through the few gates of an asynchronous reset. These gates depend
    /// on no other latch than `reset`.
    #[must_use]
    pub fn latch_behind(&self, literal: u32, reset: Option<u32>) -> Option<u32> {
        let first = self.inputs + 1;
        let (mut open, mut found, mut seen) = (vec![literal / 2], None, 0);
        while let Some(variable) = open.pop() {
            let Some(latch) = variable.checked_sub(first) else { continue };
            let Some(gate) = latch.checked_sub(self.latches.len() as u32) else {
                if found.is_some_and(|other| other != latch) && reset != Some(latch) {
                    return None;
                }
                found = if reset == Some(latch) { found } else { Some(latch) };
                continue;
            };
            seen += 1;
            let &(a, b) = self.gates.get(gate as usize)?;
            if seen > 8 {
                return None;
            }
            open.extend([a / 2, b / 2]);
        }
        found
    }

    /// For each property whether it is known to hold.
    pub fn known(&self) -> impl Iterator<Item = bool> + '_ {
        self.bad.iter().map(|literal| *literal == 0)
    }

    /// The graph without properties that are known to hold.
    #[must_use]
    pub fn with_open_properties(mut self) -> Self {
        self.bad.retain(|literal| *literal != 0);
        self
    }

    /// The graph without latches and gates that no property depends on. Inputs stay.
    fn needed(&self) -> Self {
        let latches = self.inputs + 1;
        let gates = latches + self.latches.len() as u32;
        let mut needed = vec![false; gates as usize + self.gates.len()];
        let mut open: Vec<u32> = self.bad.iter().chain(&self.constraints).map(|l| l / 2).collect();
        while let Some(variable) = open.pop() {
            if std::mem::replace(&mut needed[variable as usize], true) {
                continue;
            }
            if variable >= gates {
                let (a, b) = self.gates[(variable - gates) as usize];
                open.extend([a / 2, b / 2]);
            } else if variable >= latches {
                open.push(self.latches[(variable - latches) as usize] / 2);
            }
        }
        let mut map: Vec<Literal> = vec![0; needed.len()];
        let mut next = 0;
        for variable in 1..needed.len() {
            if variable < latches as usize || needed[variable] {
                next += 1;
                map[variable] = 2 * next;
            }
        }
        let all = |literals: &[Literal]| literals.iter().map(|&l| through(&map, l)).collect::<Vec<_>>();
        let kept = |first: u32| move |index: &usize| first as usize + index;
        let kept_latches = (0..self.latches.len()).filter(|i| needed[kept(latches)(i)]);
        let kept_gates = (0..self.gates.len()).filter(|i| needed[kept(gates)(i)]);
        Self {
            inputs: self.inputs,
            latches: kept_latches.map(|i| through(&map, self.latches[i])).collect(),
            bad: all(&self.bad),
            constraints: all(&self.constraints),
            gates: kept_gates.map(|i| (through(&map, self.gates[i].0), through(&map, self.gates[i].1))).collect(),
        }
    }

    /// The file.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let (latches, gates) = (self.latches.len() as u32, self.gates.len() as u32);
        let variables = self.inputs + latches + gates;
        let (bad, constraints) = (self.bad.len(), self.constraints.len());
        let mut text = format!("aig {variables} {} {latches} 0 {gates} {bad} {constraints}\n", self.inputs);
        for literal in self.latches.iter().chain(&self.bad).chain(&self.constraints) {
            let _ = writeln!(text, "{literal}");
        }
        let mut bytes = text.into_bytes();
        for (index, &(a, b)) in self.gates.iter().enumerate() {
            let gate = 2 * (self.inputs + latches + 1 + index as u32);
            let (large, small) = (a.max(b), a.min(b));
            write_number(&mut bytes, gate - large);
            write_number(&mut bytes, large - small);
        }
        bytes
    }
}

fn through(map: &[Literal], literal: Literal) -> Literal {
    map[(literal / 2) as usize] ^ (literal & 1)
}

/// Gates of equal operands are one.
#[derive(Default)]
struct Builder {
    leaves: u32,
    gates: Vec<(Literal, Literal)>,
    known: BTreeMap<(Literal, Literal), Literal>,
}

impl Builder {
    /// An input or a latch; before the first gate.
    fn leaf(&mut self) -> Literal {
        self.leaves += 1;
        2 * self.leaves
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
        *self.known.entry((small, large)).or_insert_with(|| {
            self.gates.push((large, small));
            2 * (self.leaves + self.gates.len() as u32)
        })
    }
}

fn parse(bytes: &[u8]) -> Option<Aig> {
    let mut rest = bytes;
    let header = line(&mut rest)?;
    let words: Vec<&str> = header.split(' ').collect();
    let mut counts = [0u32; 9];
    if words.first() != Some(&"aig") || words.len() > 10 {
        return None;
    }
    for (count, word) in counts.iter_mut().zip(&words[1..]) {
        *count = word.parse().ok()?;
    }
    let [_, inputs, latches, outputs, gates, bad, constraints, 0, 0] = counts else { return None };
    let mut literals = |count: u32| (0..count).map(|_| line(&mut rest)?.parse().ok()).collect::<Option<Vec<u32>>>();
    // A latch with another start value than 0 would have a second word, which is no number.
    let (latches, _, bad, constraints) =
        (literals(latches)?, literals(outputs)?, literals(bad)?, literals(constraints)?);
    let mut aig = Aig { inputs, latches, bad, constraints, gates: Vec::new() };
    for index in 0..gates {
        let gate = 2 * (inputs + aig.latches.len() as u32 + 1 + index);
        let large = gate.checked_sub(read_number(&mut rest)?)?;
        aig.gates.push((large, large.checked_sub(read_number(&mut rest)?)?));
    }
    Some(aig)
}

fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let end = rest.iter().position(|&byte| byte == b'\n')?;
    let (text, after) = (&rest[..end], &rest[end + 1..]);
    *rest = after;
    std::str::from_utf8(text).ok()
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn read_number(rest: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in (0..32).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn write_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two inputs that must differ, and two latches that no property needs.
    fn example() -> Aig {
        Aig {
            inputs: 2,
            latches: vec![4, 6],
            bad: vec![15],
            constraints: vec![1],
            gates: vec![(4, 2), (5, 3), (13, 11)],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let aig = example();
        assert_eq!(Aig::read(&aig.write()).unwrap(), aig);
        let mut long = aig;
        long.gates.extend((0..400).map(|_| (4, 2)));
        assert_eq!(Aig::read(&long.write()).unwrap(), long);
        assert!(Aig::read(&long.write()[..60]).is_err());
        assert!(Aig::read(b"aag 1 1 0 0 0\n2\n").is_err());
        assert!(Aig::read(b"aig 1 0 1 0 0\n2 1\n").is_err(), "a start value of 1");
    }

    #[test]
    fn latches_of_one_state() {
        // Two latches follow the input, one of them only while the other input is 0. It is bad if they differ.
        let gates = vec![(5, 2), (8, 7), (9, 6), (15, 13)];
        let aig = Aig { inputs: 2, latches: vec![2, 10], bad: vec![17], constraints: vec![1], gates };
        assert_eq!([6, 9, 12, 16, 2].map(|l| aig.latch_behind(l, None)), [Some(0), Some(1), None, None, None]);
        let shared = aig.in_one_state(&[(0, 1)]);
        let equal = shared.with_constants(&BTreeMap::from([(1, false)]));
        assert!(equal.is_proved(), "{equal:?}");
        let differ = shared.with_constants(&BTreeMap::from([(1, true)])).with_open_properties();
        assert_eq!((differ.bad.len(), differ.is_proved()), (1, false), "{differ:?}");
    }

    #[test]
    fn constants_leave_what_depends_on_them() {
        // The gates are the exclusive or of the inputs, and its inverse is bad. With the first input at 1 bad is the
        // second input.
        let one = example().with_constants(&BTreeMap::from([(0, true)]));
        assert_eq!(one, Aig { inputs: 1, latches: vec![], bad: vec![2], constraints: vec![1], gates: vec![] });
        // With the second input at 0 bad is the inverse of the first input.
        let zero = example().with_constants(&BTreeMap::from([(1, false)]));
        assert_eq!((zero.gates(), &zero.bad), (0, &vec![3]));
        assert!(!zero.is_proved());
        let both = example().with_constants(&BTreeMap::from([(0, true), (1, false)]));
        assert!(both.is_proved(), "{both:?}");
    }
}
