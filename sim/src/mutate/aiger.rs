//! And-inverter graphs in the binary AIGER format, as far as it takes to set some inputs to constants.
//!
//! The file is a header `aig M I L O A B C ..`, one line for each latch, output, property and constraint, then two numbers
//! for each AND gate, then names. Numbers of signals are implied by the order: inputs, latches, gates. The lowest bit of a
//! literal inverts it; 0 is false, 1 is true.

use std::fmt::Write as _;

/// A graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Aiger {
    header: Vec<u64>,
    /// Words of the lines between header and gates; the first of each is a literal.
    lines: Vec<Vec<u64>>,
    /// Both operands of each gate.
    gates: Vec<(u64, u64)>,
    /// Names of inputs by position.
    inputs: Vec<(usize, String)>,
}

impl Aiger {
    /// Reads a file; `None` when it is not complete.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut at = 0;
        let mut line = || {
            let end = at + bytes.get(at..)?.iter().position(|&b| b == b'\n')?;
            let text = std::str::from_utf8(&bytes[at..end]).ok()?;
            at = end + 1;
            Some(text)
        };
        let numbers = |text: &str| text.split(' ').map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>();
        let header = numbers(line()?.strip_prefix("aig ")?)?;
        let [_, inputs, latches, outputs, gates, ref more @ ..] = header[..] else { return None };
        let count = latches + outputs + more.iter().sum::<u64>();
        let lines = (0..count).map(|_| numbers(line()?)).collect::<Option<Vec<_>>>()?;
        let mut byte = || {
            at += 1;
            bytes.get(at - 1).copied()
        };
        let mut delta = || {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = byte()?;
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    return Some(value);
                }
            }
        };
        let mut pairs = Vec::new();
        for gate in 0..gates {
            let own = 2 * (inputs + latches + gate + 1);
            let high = own.checked_sub(delta()?)?;
            pairs.push((high, high.checked_sub(delta()?)?));
        }
        let names = std::str::from_utf8(bytes.get(at..)?).ok()?;
        let input = |line: &str| {
            let (position, name) = line.strip_prefix('i')?.split_once(' ')?;
            Some((position.parse().ok()?, name.to_owned()))
        };
        let inputs = names.lines().take_while(|line| *line != "c").filter_map(input).collect();
        Some(Self { header, lines, gates: pairs, inputs })
    }

    /// The same graph with constants in the place of the inputs `name[0]`, `name[1]`, ..: the bits of `value`.
    pub fn with_constant(&self, name: &str, value: u64) -> Self {
        let mut constants = vec![None; self.header[1] as usize + 1];
        for (position, input) in &self.inputs {
            let bit = match input.strip_prefix(name) {
                Some("") => Some(0),
                Some(rest) => rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')).and_then(|r| r.parse().ok()),
                None => None,
            };
            if let Some(bit) = bit {
                constants[position + 1] = Some(value >> bit & 1);
            }
        }
        let replace = |literal: u64| {
            let constant = constants.get((literal / 2) as usize).copied().flatten();
            constant.map_or(literal, |constant| constant ^ (literal & 1))
        };
        let mut graph = self.clone();
        for line in &mut graph.lines {
            line[0] = replace(line[0]);
        }
        for gate in &mut graph.gates {
            let (a, b) = (replace(gate.0), replace(gate.1));
            *gate = (a.max(b), a.min(b));
        }
        graph
    }

    /// The file, without names.
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = |line: &[u64]| line.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let mut text = format!("aig {}\n", words(&self.header));
        for line in &self.lines {
            let _ = writeln!(text, "{}", words(line));
        }
        let mut bytes = text.into_bytes();
        let mut push = |mut value: u64| {
            while value >= 0x80 {
                bytes.push(value as u8 | 0x80);
                value >>= 7;
            }
            bytes.push(value as u8);
        };
        for (index, &(high, low)) in self.gates.iter().enumerate() {
            let own = 2 * (self.header[1] + self.header[2] + index as u64 + 1);
            push(own - high);
            push(high - low);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two inputs `s[0]` and `a`, a latch that takes their AND, an output that is the latch, inverted.
    const SMALL: &[u8] = b"aig 4 2 1 1 1\n8\n7\n\x04\x02i0 s[0]\ni1 a\n";

    #[test]
    fn what_is_read_is_written() {
        let graph = Aiger::parse(SMALL).unwrap();
        assert_eq!(graph.gates, [(4, 2)]);
        assert_eq!(graph.to_bytes(), &SMALL[..SMALL.len() - 13]);
    }

    #[test]
    fn a_truncated_file_is_refused() {
        for length in [0, 5, 14, 18] {
            assert_eq!(Aiger::parse(&SMALL[..length]), None, "{length}");
        }
    }

    #[test]
    fn inputs_become_constants() {
        let graph = Aiger::parse(SMALL).unwrap();
        assert_eq!(graph.with_constant("s", 0).gates, [(4, 0)]);
        assert_eq!(graph.with_constant("s", 1).gates, [(4, 1)]);
        assert_eq!(graph.with_constant("t", 1), graph);
    }

    #[test]
    fn deltas_beyond_seven_bits() {
        let gates = (0..300).map(|i| if i == 299 { (4, 2) } else { (2 * (i + 3) - 2, 2) }).collect::<Vec<_>>();
        let graph = Aiger { header: vec![302, 2, 0, 0, 300], lines: vec![], gates, inputs: vec![] };
        assert_eq!(Aiger::parse(&graph.to_bytes()), Some(graph));
    }
}
