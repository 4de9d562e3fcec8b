//! Two designs in one graph whose states are related: registers of one design are functions of registers of the other.

use super::{Aig, Builder, Literal, through};

impl Aig {
    /// The state that the net of a register shows: a latch, straight or inverted, or a constant. `literal` is the value of
    /// the net: the latch through a few gates of an asynchronous reset. These gates depend only on inputs and on the latch
    /// `reset`.
    #[must_use]
    pub fn state_behind(&self, literal: Literal, reset: Option<u32>) -> Option<Literal> {
        if literal < 2 {
            return Some(literal);
        }
        let latch = self.latch_behind(literal, reset)?;
        let variable = self.inputs + 1 + latch;
        // All other leaves are 1, or all are 0. One of both means no reset, and then the net follows the latch.
        [true, false].into_iter().find_map(|others| {
            let [low, high] = [false, true].map(|value| self.value(literal, variable, value, others));
            (low != high).then_some(2 * variable + u32::from(low))
        })
    }

    /// The literal of a latch.
    #[must_use]
    pub fn latch(&self, number: u32) -> Literal {
        2 * (self.inputs + 1 + number)
    }

    /// The number of the latch, if the literal is one.
    #[must_use]
    pub fn latch_of(&self, literal: Literal) -> Option<u32> {
        let latch = (literal / 2).checked_sub(self.inputs + 1)?;
        (latch < self.latches.len() as u32).then_some(latch)
    }

    /// The value of a literal if one variable has a value and all other leaves have another value.
    fn value(&self, literal: Literal, variable: u32, value: bool, others: bool) -> bool {
        let first = self.inputs + 1 + self.latches.len() as u32;
        let positive = match (literal / 2).checked_sub(first) {
            _ if literal < 2 => false,
            _ if literal / 2 == variable => value,
            None => others,
            Some(gate) => {
                let (a, b) = self.gates[gate as usize];
                self.value(a, variable, value, others) && self.value(b, variable, value, others)
            }
        };
        positive ^ (literal & 1 == 1)
    }

    /// The graph without a state: the first latch of each pair is replaced by its function, and all other latches are
    /// inputs. The bad literals stay. It is also bad if the next value of a first latch is not its function of the next
    /// state. If nothing bad can happen, the relation holds for ever once it holds, and no property fails while it
    /// holds.
    #[must_use]
    pub fn related(&self, pairs: &[(u32, Literal)]) -> Self {
        let mut hashed = Builder::default();
        let mut map: Vec<Literal> = vec![0];
        map.extend((0..self.inputs).map(|_| hashed.leaf()));
        map.extend(self.latches.iter().map(|_| hashed.leaf()));
        let first = self.inputs + 1;
        for &(latch, literal) in pairs {
            map[(first + latch) as usize] = literal;
        }
        for &(a, b) in &self.gates {
            let gate = hashed.and(through(&map, a), through(&map, b));
            map.push(gate);
        }
        let mut bad: Vec<Literal> = self.bad.iter().map(|&l| through(&map, l)).collect();
        for &(latch, literal) in pairs {
            let next = through(&map, self.latches[latch as usize]);
            let other = match self.latch_of(literal) {
                Some(other) => through(&map, self.latches[other as usize]) ^ (literal & 1),
                None => literal,
            };
            let (only, rest) = (hashed.and(next, other ^ 1), hashed.and(next ^ 1, other));
            bad.push(hashed.and(only ^ 1, rest ^ 1) ^ 1);
        }
        let constraints = self.constraints.iter().map(|&l| through(&map, l)).collect();
        let inputs = self.inputs + self.latches.len() as u32;
        Self { inputs, latches: Vec::new(), bad, constraints, gates: hashed.gates }.needed()
    }

    /// The graph without a state: all latches are inputs. It has one property: any bad literal is 1 while all
    /// assumptions hold. If this cannot happen, no property fails in any state.
    #[must_use]
    pub fn in_any_state(&self) -> Self {
        let mut hashed = Builder::default();
        let mut map: Vec<Literal> = vec![0];
        map.extend((0..self.inputs).map(|_| hashed.leaf()));
        map.extend(self.latches.iter().map(|_| hashed.leaf()));
        for &(a, b) in &self.gates {
            let gate = hashed.and(through(&map, a), through(&map, b));
            map.push(gate);
        }
        let mut none = 1;
        for &bad in &self.bad {
            none = hashed.and(none, through(&map, bad) ^ 1);
        }
        let mut bad = none ^ 1;
        for &assumed in &self.constraints {
            bad = hashed.and(bad, through(&map, assumed));
        }
        let inputs = self.inputs + self.latches.len() as u32;
        Self { inputs, latches: vec![], bad: vec![bad], constraints: vec![], gates: hashed.gates }.needed()
    }

    /// A graph without a state as a circuit whose outputs are the bad literals, for `cec`.
    #[must_use]
    pub fn write_outputs(&self) -> Vec<u8> {
        debug_assert!(self.latches.is_empty() && self.constraints.is_empty());
        let bytes = self.write();
        let header = bytes.iter().position(|&b| b == b'\n').unwrap_or(0);
        let (gates, bad) = (self.gates.len() as u32, self.bad.len());
        let variables = self.inputs + gates;
        let mut out = format!("aig {variables} {} 0 {bad} {gates}", self.inputs).into_bytes();
        out.extend(&bytes[header..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two latches that follow the input. The second one is inverted and has a reset. It is bad if the first latch is
    /// not the inverse of the second.
    fn example() -> Aig {
        // Variables: inputs 1 (data) and 2 (reset, low); latches 3 and 4; gate 5: the net of latch 4; gates 6 to 8:
        // exclusive or.
        let gates = vec![(8, 4), (10, 6), (11, 7), (15, 13)];
        Aig { inputs: 2, latches: vec![2, 3], bad: vec![17], constraints: vec![], gates }
    }

    #[test]
    fn a_net_shows_its_register_or_the_inverse() {
        let aig = example();
        assert_eq!([6, 7, 10, 11, 0, 1].map(|l| aig.state_behind(l, None)), [6, 7, 8, 9, 0, 1].map(Some));
        assert_eq!(aig.state_behind(16, None), None, "of two latches");
        assert_eq!([8, 9].map(|l| aig.latch_of(l)), [Some(1); 2]);
    }

    #[test]
    fn what_no_state_shows() {
        // Both latches are free: they may differ.
        let free = example().in_any_state();
        assert_eq!((free.inputs, free.latches.len(), free.bad.len(), free.is_proved()), (4, 0, 1, false));
        // They cannot differ if their nets are assumed to be equal, or if nothing satisfies the assumptions.
        for assumed in [16, 0] {
            let mut aig = example();
            aig.constraints = vec![assumed];
            assert!(aig.in_any_state().is_proved(), "{assumed}");
        }
    }

    #[test]
    fn a_relation_that_holds_for_ever_and_one_that_does_not() {
        let mut aig = example();
        aig.bad = vec![];
        // Always inverses, and never equal.
        assert!(aig.related(&[(0, 9)]).is_proved());
        let wrong = aig.related(&[(0, 8)]);
        assert_eq!(wrong.bad, vec![1]);
        // The relation to a constant, which the latch does not keep.
        assert_eq!(aig.related(&[(0, 0)]).bad, vec![2]);
        let text = String::from_utf8_lossy(&wrong.write_outputs()).into_owned();
        assert_eq!(text, "aig 4 4 0 1 0\n1\n");
    }
}
