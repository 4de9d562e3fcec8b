//! The reconfigurable array: weights that wait and weights in use, sums of products of bytes in both directions, and
//! the cycles in which sums are known ([`Edge`]).

use std::collections::VecDeque;

/// A vector to multiply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whether the rows loaded before come into use.
    pub swap: bool,
    /// Whether there is a sum for each row; otherwise one for each column.
    pub transposed: bool,
    /// Whether the sums begin.
    pub first: bool,
    /// Whether the sums leave.
    pub last: bool,
    /// Products count 2^(operand width x place) times.
    pub place: u32,
    /// Number of the sums.
    pub index: usize,
    /// Whether activations, and whether weights, are signed.
    pub signed: (bool, bool),
    /// Activations by row, or by column, as raw bits.
    pub acts: Vec<u64>,
}

/// A sum, and whether an earlier step of it was not exact or its number does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Wrapped.
    pub value: i128,
    /// The overflow flag.
    pub overflow: bool,
}

/// The array. A value that was never given is `None`.
#[derive(Clone, Debug)]
pub struct Array {
    rows: usize,
    columns: usize,
    operand_width: u32,
    width: u32,
    waiting: Vec<Option<Vec<u64>>>,
    working: Vec<Option<Vec<u64>>>,
    /// Sums by number and lane.
    sums: Vec<Vec<Option<Sum>>>,
}

impl Array {
    /// An array after a reset: `depth` sums of `width` bits a lane.
    ///
    /// # Errors
    /// There are no rows, columns or sums, or a width does not fit.
    pub fn new((rows, columns): (usize, usize), operand_width: u32, width: u32, depth: usize) -> Result<Self, String> {
        if rows == 0 || columns == 0 || depth == 0 {
            return Err(format!("{rows} rows, {columns} columns, {depth} sums: none may be 0"));
        }
        if !(2..=16).contains(&operand_width) || !(9..=96).contains(&width) {
            return Err(format!("operands of {operand_width} bits, sums of {width}: allowed are 2 to 16, and 9 to 96"));
        }
        let lanes = rows.max(columns);
        Ok(Self {
            rows,
            columns,
            operand_width,
            width,
            waiting: vec![None; rows],
            working: vec![None; rows],
            sums: vec![vec![None; lanes]; depth],
        })
    }

    /// Clears all weights and sums.
    pub fn clear(&mut self) {
        self.waiting.fill(None);
        self.working.fill(None);
        self.sums.iter_mut().for_each(|lanes| lanes.fill(None));
    }

    /// Loads weights of a row, which then wait. A row that does not exist changes nothing.
    pub fn load(&mut self, row: usize, weights: Vec<u64>) {
        if let Some(waiting) = self.waiting.get_mut(row) {
            *waiting = Some(weights);
        }
    }

    /// The number that a byte stands for.
    fn number(&self, byte: u64, signed: bool) -> i128 {
        let half = 1i128 << (self.operand_width - 1);
        let byte = i128::from(byte);
        if signed && byte >= half { byte - 2 * half } else { byte }
    }

    fn product(&self, r: usize, c: usize, act: u64, signed: (bool, bool)) -> Option<i128> {
        let weight = self.working[r].as_ref()?[c];
        Some(self.number(act, signed.0) * self.number(weight, signed.1))
    }

    /// A vector passes the array. If it is the last one of its sums, returns the sum of each lane that has one.
    pub fn step(&mut self, step: &Step) -> Option<Vec<Option<Sum>>> {
        if step.swap {
            self.working.clone_from(&self.waiting);
        }
        let used = if step.transposed { self.rows } else { self.columns };
        let half = 1i128 << (self.width - 1);
        let mut shown = Vec::new();
        for lane in 0..self.rows.max(self.columns) {
            let y: Option<i128> = match (lane < used, step.transposed) {
                (false, _) => None,
                (true, true) => (0..self.columns).map(|c| self.product(lane, c, step.acts[c], step.signed)).sum(),
                (true, false) => (0..self.rows).map(|r| self.product(r, lane, step.acts[r], step.signed)).sum(),
            };
            let kept = self.sums.get(step.index).and_then(|lanes| lanes[lane]);
            let before = if step.first { Some(Sum { value: 0, overflow: false }) } else { kept };
            let sum = y.zip(before).map(|(y, before)| {
                let exact = before.value + (y << (self.operand_width * step.place.min(2)));
                let value = (exact + half).rem_euclid(2 * half) - half;
                Sum { value, overflow: before.overflow || value != exact }
            });
            if let Some(lanes) = self.sums.get_mut(step.index) {
                lanes[lane] = sum;
            }
            if lane < used {
                shown.push(sum);
            }
        }
        step.last.then_some(shown)
    }

    /// Whether there is a sum of this number.
    #[must_use]
    pub fn exists(&self, index: usize) -> bool {
        index < self.sums.len()
    }
}

/// When results can leave, and when a step or a row must wait. Cycles count up, and [`Edge::cycle`] takes each cycle
/// once.
#[derive(Clone, Debug)]
pub struct Edge {
    rows: u64,
    lanes: u64,
    results: usize,
    inside: usize,
    /// Cycles in which results in flight are complete.
    coming: VecDeque<u64>,
    /// Whether the oldest result is at the port.
    there: bool,
    /// Cycle of the last swap.
    swap: Option<u64>,
}

impl Edge {
    /// The edge of an array that keeps `results` results.
    #[must_use]
    pub fn new((rows, columns): (u64, u64), results: usize) -> Self {
        let lanes = rows.max(columns);
        Self { rows, lanes, results, inside: 0, coming: VecDeque::new(), there: false, swap: None }
    }

    /// The cycle in which lane `lane` has its sum of a step in cycle `step`.
    #[must_use]
    pub fn lane(&self, step: u64, lane: u64) -> u64 {
        step + self.lanes + lane + 1
    }

    /// Whether a step with `last` is taken.
    #[must_use]
    pub fn room(&self) -> bool {
        self.inside < self.results
    }

    /// Whether a row is taken in `cycle`. `swaps`: a step of this cycle swaps.
    #[must_use]
    pub fn takes(&self, row: u64, cycle: u64, swaps: bool) -> bool {
        let since = if swaps { Some(0) } else { self.swap.map(|swap| cycle - swap) };
        since.is_none_or(|since| since >= row.min(self.rows - 1))
    }

    /// Whether a beat of a result is at the port.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.there
    }

    /// The events of `cycle`: whether a last step is taken, whether a step swaps, and whether the last beat of a result
    /// is taken.
    pub fn cycle(&mut self, cycle: u64, (ends, swaps, leaves): (bool, bool, bool)) {
        let due = self.coming.front().is_some_and(|&complete| complete <= cycle);
        let fetches = due && (!self.there || leaves);
        if fetches {
            self.coming.pop_front();
        }
        self.there = fetches || (self.there && !leaves);
        if ends {
            // One cycle after the last lane.
            self.coming.push_back(self.lane(cycle, self.lanes - 1) + 1);
            self.inside += 1;
        }
        self.inside -= usize::from(leaves);
        if swaps {
            self.swap = Some(cycle);
        }
    }

    /// Clears all state.
    pub fn clear(&mut self) {
        (self.inside, self.there, self.swap) = (0, false, None);
        self.coming.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(transposed: bool, [first, last, swap]: [bool; 3], acts: &[u64]) -> Step {
        Step { swap, transposed, first, last, place: 0, index: 0, signed: (true, true), acts: acts.to_vec() }
    }

    #[test]
    fn both_directions_of_a_stored_matrix() {
        let mut array = Array::new((2, 3), 8, 32, 2).unwrap();
        let sums = |shown: Option<Vec<Option<Sum>>>| -> Vec<Option<i128>> {
            shown.unwrap().into_iter().map(|sum| sum.map(|sum| sum.value)).collect()
        };
        array.load(0, vec![1, 2, 3]);
        array.load(1, vec![4, 5, 0xff]);
        array.load(2, vec![9, 9, 9]);
        let all = [true; 3];
        assert_eq!(sums(array.step(&step(false, all, &[1, 10, 77]))), [Some(41), Some(52), Some(-7)]);
        assert_eq!(sums(array.step(&step(true, all, &[1, 0xfe, 3]))), [Some(1 - 4 + 9), Some(4 - 10 - 3)]);
        // Weights that wait are not in use yet. A row that is not loaded stays.
        array.load(0, vec![0, 0, 1]);
        assert_eq!(sums(array.step(&step(true, [true, true, false], &[1, 1, 1]))), [Some(6), Some(8)]);
        assert_eq!(sums(array.step(&step(true, [false, true, true], &[1, 1, 1]))), [Some(7), Some(16)]);
        array.clear();
        assert_eq!(sums(array.step(&step(true, all, &[1, 1, 1]))), [None, None]);
    }

    #[test]
    fn four_steps_are_a_product_of_two_bytes() {
        let values = [-32768i64, -32767, -257, -256, -255, -1, 0, 1, 127, 128, 255, 256, 32767];
        for a in values {
            for w in values {
                let mut array = Array::new((1, 1), 8, 40, 1).unwrap();
                let byte = |value: i64, place: u32| (value >> (8 * place)) as u64 & 0xff;
                let mut shown = None;
                for (k, (p, q)) in [(1, 1), (0, 1), (1, 0), (0, 0)].into_iter().enumerate() {
                    array.load(0, vec![byte(w, q)]);
                    let acts = vec![byte(a, p)];
                    let ends = (k == 0, k == 3);
                    shown = array.step(&Step {
                        swap: true,
                        transposed: k.is_multiple_of(2),
                        first: ends.0,
                        last: ends.1,
                        place: p + q,
                        index: 0,
                        signed: (p == 1, q == 1),
                        acts,
                    });
                }
                let sum = Sum { value: i128::from(a * w), overflow: false };
                assert_eq!(shown, Some(vec![Some(sum)]), "{a} x {w}");
            }
        }
    }

    #[test]
    fn results_wait_for_places() {
        let mut edge = Edge::new((2, 3), 2);
        assert_eq!((edge.lane(10, 0), edge.lane(10, 2)), (14, 16));
        edge.cycle(10, (true, true, false));
        edge.cycle(11, (true, false, false));
        assert!(!edge.room() && edge.takes(1, 12, false) && !edge.takes(1, 12, true) && edge.takes(0, 12, true));
        let valid: Vec<bool> = (12..20)
            .map(|cycle| {
                let valid = edge.valid();
                edge.cycle(cycle, (false, false, valid));
                valid
            })
            .collect();
        // Lane 2 at 16, complete at 17, at the port at 18.
        assert_eq!(valid, [false, false, false, false, false, false, true, true]);
        assert!(edge.room());
    }
}
