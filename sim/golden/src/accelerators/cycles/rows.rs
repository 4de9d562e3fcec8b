//! Steps on rows: a line of ways, one after the other, each with a number of places.

use super::bus::Turns;
use super::dmas::Dmas;
use super::flow::{Course, Flow};
use super::shell::Shell;
use super::stream::{Converter, Way};
use super::times::{Times, extend, latest};
use crate::accelerators::vector::Operation;
use crate::common::row::vector_unit::{Norm, Output};

/// Operands of an operation on rows: four that are read, and the results.
const ROW_OPERANDS: u64 = 5;
/// Operands that are read: the numbers, addends, factors, gains.
const X: usize = 0;
const ADDENDS: usize = 1;
const FACTORS: usize = 2;
const GAINS: usize = 3;

/// The frame of a norm: a row waits here until the analysis has seen all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Beats that have room.
    pub beats: u64,
    /// Cycles from a beat to the memory that keeps it.
    pub preparation: u64,
    /// Cycles from the last beat of a row to the answer.
    pub analysis: u64,
    /// Cycles of a beat in the lanes after the answer.
    pub scaling: u64,
}

/// Cycles that a beat is in a FIFO in a memory.
const FIFO: u64 = 2;

impl Frame {
    /// The way of a beat up to the answer.
    pub(in crate::accelerators) fn kept(&self) -> Way {
        Way { cycles: 1 + self.preparation + FIFO, places: self.beats as i64 }
    }

    /// The way of a beat after the answer.
    pub(in crate::accelerators) fn lanes(&self) -> Way {
        Way { cycles: 1 + self.scaling + FIFO, places: (self.scaling + FIFO + 2) as i64 }
    }

    /// Cycles from the last beat of a row to its first beat that leaves with the answer.
    pub(in crate::accelerators) fn answer(&self) -> u64 {
        1 + self.analysis + FIFO
    }
}

/// The vector unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Cycles of the steps on elements.
    pub steps: u64,
    /// Whether a register of two places follows the steps.
    pub apart: bool,
    /// Cycles of the rotation of pairs.
    pub rotary: u64,
    /// The frames of RMS norm, softmax and layer norm.
    pub frames: [Frame; 3],
    /// Cycles of the last step.
    pub requantize: u64,
}

impl Shell {
    /// Steps on rows that are handed over in cycle `now`.
    pub(in crate::accelerators) fn rows(&self, unit: &Unit, operation: &Operation, now: u64, turns: &Turns) -> Course {
        let used = operation.sources().count() as u64 + 1;
        let begin = now + self.checks(used, ROW_OPERANDS) + self.waits();
        let mut dmas = self.dmas(turns);
        let rows = Rows::new((self, unit), operation, begin, &mut dmas);
        Course::new(begin, dmas, rows).making(operation.events(8 * self.bus_bytes))
    }
}

/// An operation on rows, in flight.
#[derive(Clone, Debug)]
pub(in crate::accelerators) struct Rows {
    /// Beats of a row.
    beats: i64,
    ways: Vec<Way>,
    /// When each beat passes from each way to the next way.
    passed: Vec<Times>,
    /// At which pass each operand is taken.
    takes: Vec<(usize, usize)>,
    /// The pass that waits for the answer to its row, and the cycles from the last beat at the pass before to the
    /// answer.
    answer: Option<(usize, u64)>,
    /// The pass at which gains are taken that come as pairs with biases.
    pairs: Option<usize>,
    packer: Converter,
}

impl Rows {
    /// An operation whose commands are offered in the cycle after `begin`.
    pub fn new((shell, unit): (&Shell, &Unit), operation: &Operation, begin: u64, dmas: &mut Dmas) -> Self {
        let steps = &operation.steps;
        let rows = operation.x.rows;
        let gains = operation.gains.map(|gains| crate::common::bus::Command { rows, ..gains });
        let operands = [Some(operation.x), operation.addends, operation.factors, gains];
        for (reader, command) in dmas.readers.iter_mut().zip(operands) {
            if let Some(command) = command {
                reader.offer(&command, begin + 1);
            }
        }
        dmas.writer.offer(&operation.out, begin + 1);

        let mut takes = vec![(0, X)];
        takes.extend(steps.add.then_some((0, ADDENDS)));
        takes.extend(steps.multiply.then_some((0, FACTORS)));
        let mut ways = vec![Way::section(unit.steps)];
        ways.extend(unit.apart.then_some(Way::REGISTER));
        if steps.rotate {
            takes.push((ways.len(), FACTORS));
            ways.push(Way::section(unit.rotary));
        }
        let (mut answer, mut pairs) = (None, None);
        if steps.norm {
            let frame = &unit.frames[match steps.kind {
                Norm::RmsNorm => 0,
                Norm::Softmax => 1,
                Norm::LayerNorm => 2,
            }];
            let enters = ways.len();
            match (steps.gain, steps.kind) {
                (true, Norm::LayerNorm) => pairs = Some(enters),
                (true, _) => takes.push((enters, GAINS)),
                (false, _) => {}
            }
            answer = Some((enters + 1, frame.answer()));
            ways.extend([frame.kept(), frame.lanes()]);
        }
        ways.push(Way::section(unit.requantize));
        let bus = 8 * shell.bus_bytes;
        let beats = (16 * operation.columns).div_ceil(bus);
        // A row of narrow results comes in as many beats as a row of fp16.
        let share = match steps.output {
            Output::Fp16 => 1,
            Output::Int8 => 2,
            Output::Int4 => 4,
        };
        let packer = Converter::new(bus / share, bus, beats * bus / share);
        let passed = vec![Times::default(); ways.len() + 1];
        Self { beats: beats as i64, ways, passed, takes, answer, pairs, packer }
    }

    /// When beat `n` of an operand is there.
    fn shown(&self, dmas: &Dmas, operand: usize, n: i64) -> Option<u64> {
        dmas.readers[operand].shown(n)
    }

    /// The beat of pairs that holds the last gains for beat `n`.
    fn pair_end(&self, dmas: &Dmas, n: i64) -> i64 {
        let per_row = dmas.readers[GAINS].beats() / (dmas.readers[X].beats() / self.beats);
        n / self.beats * per_row + (2 * (n % self.beats) + 1).min(per_row - 1)
    }

    /// A beat passes when three things hold: it has gone through the way before, its operands are there, and the next
    /// way has a place.
    fn next(&self, dmas: &Dmas, pass: usize) -> Option<u64> {
        let n = self.passed[pass].known();
        let mut time = match pass.checked_sub(1) {
            Some(before) => self.passed[before].behind(n, self.ways[before].cycles)?,
            None => 0,
        };
        for &(at, operand) in &self.takes {
            if at == pass {
                time = time.max(self.shown(dmas, operand, n)?);
            }
        }
        if self.pairs == Some(pass) {
            // The first half of the pairs is taken when it comes.
            let last = self.pair_end(dmas, n);
            if dmas.readers[GAINS].left.known() < last {
                return None;
            }
            time = time.max(self.shown(dmas, GAINS, last)?);
        }
        if let Some((at, cycles)) = self.answer
            && at == pass
        {
            time = time.max(self.passed[pass - 1].behind((n / self.beats + 1) * self.beats - 1, cycles)?);
        }
        let free = match self.ways.get(pass) {
            Some(way) => self.passed[pass + 1].behind(n - way.places, 1),
            None => self.packer.free(n, &dmas.writer.came),
        };
        latest([Some(time), self.passed[pass].behind(n - 1, 1), free])
    }

    /// Takes the first halves of pairs.
    fn halves(&mut self, dmas: &mut Dmas) -> bool {
        let Some(pass) = self.pairs else { return false };
        let mut moved = false;
        loop {
            let n = dmas.readers[GAINS].left.known();
            let beat = self.passed[pass].known();
            // If the next half completes the gains of the next beat, the beat itself takes it.
            match self.shown(dmas, GAINS, n) {
                Some(time) if n < self.pair_end(dmas, beat) => dmas.readers[GAINS].left.push(time),
                _ => return moved,
            }
            moved = true;
        }
    }
}

impl Flow for Rows {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = self.halves(dmas);
        for pass in 0..self.passed.len() {
            while let Some(time) = self.next(dmas, pass) {
                self.passed[pass].push(time);
                for &(at, operand) in &self.takes {
                    if at == pass {
                        dmas.readers[operand].left.push(time);
                    }
                }
                if self.pairs == Some(pass) {
                    dmas.readers[GAINS].left.push(time);
                    self.halves(dmas);
                }
                moved = true;
            }
        }
        extend!(moved, dmas.writer.came, {
            let n = dmas.writer.came.known();
            let last = &self.passed[self.passed.len() - 1];
            latest([self.packer.shown(n, last), dmas.writer.free(n)])
        });
        moved
    }
}
