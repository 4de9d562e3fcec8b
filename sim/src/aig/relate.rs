//! Two designs in one graph whose states are related: what is left when the registers of one are functions of those of the other.

use super::{Aig, Builder, Literal, through};

impl Aig {
    /// What is assumed of the state, by name of a register: a latch, that of the other design, or a constant, straight or inverted.
    /// `literal` is what the register's net shows: the latch behind a few gates of an asynchronous reset, which depend on
    /// inputs and on the latch `reset` alone.
    #[must_use]
    pub fn state_behind(&self, literal: Literal, reset: Option<u32>) -> Option<Literal> {
        if literal < 2 {
            return Some(literal);
        }
        let latch = self.latch_behind(literal, reset)?;
        let variable = self.inputs + 1 + latch;
        // While nothing resets, which is one of the two, the net follows the latch.
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

    /// The latch of a literal that is one, by its number.
    #[must_use]
    pub fn latch_of(&self, literal: Literal) -> Option<u32> {
        let latch = (literal / 2).checked_sub(self.inputs + 1)?;
        (latch < self.latches.len() as u32).then_some(latch)
    }

    /// A literal when one variable has a value and all other leaves another.
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

    /// The graph without a state: the first latch of each pair is the function beside it, all other latches are inputs. Bad is
    /// what was, and that the next value of a first latch is not that function of the next state. If nothing bad can happen,
    /// the relation holds for ever once it holds, and no property fails while it does.
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

    /// The graph without a state: all latches are inputs. Bad, in one property, is what was while all that is assumed holds. If
    /// that cannot happen, no property fails in any state.
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

    /// A graph without a state as a circuit whose outputs are what is bad: what `cec` reads.
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

    /// Two latches that follow the input, the second one inverted and behind a reset; bad is that the first is not the inverse
    /// of the second.
    fn example() -> Aig {
        // Variables: inputs 1 (data) and 2 (reset, low), latches 3 and 4, gate 5 = what is shown of latch 4, gates 6 to 8 exclusive or.
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
        // Not where what they show is assumed to be equal, or nothing is.
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
        // The constant that it never keeps.
        assert_eq!(aig.related(&[(0, 0)]).bad, vec![2]);
        let text = String::from_utf8_lossy(&wrong.write_outputs()).into_owned();
        assert_eq!(text, "aig 4 4 0 1 0\n1\n");
    }
}
