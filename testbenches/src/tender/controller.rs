//! The testbench as the controller of a [`MultiScaleArray`]: feeds tiles, foretells the cycle and the value of every
//! sum, and compares.

use std::collections::BTreeMap;

use golden::tender::array::{Accumulators, Beat, narrow, wide};
use hdl::blocks::tender::{MultiScaleArray, Rescale};
use hdl::lang::{Block, Parameters};
use rand::RngExt;
use serde_json::Value;
use sim::stimulus::StimulusRng;
use sim::{Bench, Bits, Error, In, Out, Run, Sim};

use super::tender_pe::policy;

/// A tile: its steps, and how to read the operands.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Operands as numbers, one for each row and column of the mode: half as many as PEs in INT8 mode.
    pub beats: Vec<Beat>,
    /// Operands are of twice the PE's width.
    pub int8: bool,
    /// Activations have a sign.
    pub act_signed: bool,
    /// Weights have a sign.
    pub weight_signed: bool,
}

/// When a tile was fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fed {
    /// Which tile, from 0.
    pub number: usize,
    /// Cycle of its first step.
    pub first: u64,
    /// Cycle of its last step.
    pub last: u64,
}

/// A bench made of what a test wants the controller to do.
pub struct Session<F> {
    p: MultiScaleArray,
    parameters: Value,
    work: F,
}

impl<F: Fn(&mut Controller<'_>) -> sim::Result<()>> Session<F> {
    /// A session on an array that was just reset; sums that are outstanding at its end are awaited.
    ///
    /// # Errors
    /// Parameters that the block refuses.
    pub fn new(p: &MultiScaleArray, work: F) -> anyhow::Result<Self> {
        p.check()?;
        Ok(Self { p: p.clone(), parameters: serde_json::to_value(p)?, work })
    }
}

impl<F: Fn(&mut Controller<'_>) -> sim::Result<()>> Bench for Session<F> {
    fn block(&self) -> &str {
        MultiScaleArray::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        sim.reset(2)?;
        let mut controller = Controller::new(self.p.clone(), sim, run)?;
        (self.work)(&mut controller)?;
        controller.finish()?;
        Ok(())
    }
}

/// A sum that row `row` must show: of which tile, and where.
struct Shown {
    row: u32,
    tile: usize,
    place: (usize, usize),
    sum: (i128, bool),
}

/// The controller; see the module's documentation.
pub struct Controller<'a> {
    p: MultiScaleArray,
    sim: &'a mut Sim,
    run: &'a mut Run,
    ports: Ports,
    garbage: StimulusRng,
    /// Cycles since the reset.
    cycle: u64,
    expected: BTreeMap<u64, Vec<Shown>>,
    /// What the hardware showed, tile by tile.
    sums: Vec<Vec<Vec<i128>>>,
    overflows: u64,
}

struct Ports {
    valid: In,
    ready: Out,
    first: In,
    last: In,
    rescale: Option<In>,
    int8: Option<In>,
    act_signed: In,
    weight_signed: In,
    act: In,
    weight: In,
    result_valid: Out,
    result: Out,
    overflow: Out,
}

impl<'a> Controller<'a> {
    fn new(p: MultiScaleArray, sim: &'a mut Sim, run: &'a mut Run) -> sim::Result<Self> {
        let optional = |name: &str, there: bool| if there { sim.input(name).map(Some) } else { Ok(None) };
        let ports = Ports {
            valid: sim.input("step_valid_i")?,
            ready: sim.output("step_ready_o")?,
            first: sim.input("step_first_i")?,
            last: sim.input("step_last_i")?,
            rescale: optional("step_rescale_i", p.rescale != Rescale::None)?,
            int8: optional("step_int8_i", p.int8)?,
            act_signed: sim.input("step_act_signed_i")?,
            weight_signed: sim.input("step_weight_signed_i")?,
            act: sim.input("step_act_i")?,
            weight: sim.input("step_weight_i")?,
            result_valid: sim.output("result_valid_o")?,
            result: sim.output("result_o")?,
            overflow: sim.output("overflow_o")?,
        };
        let garbage = run.rng("garbage");
        Ok(Self { p, sim, run, ports, garbage, cycle: 0, expected: BTreeMap::new(), sums: Vec::new(), overflows: 0 })
    }

    /// The array's parameters.
    #[must_use]
    pub fn array(&self) -> &MultiScaleArray {
        &self.p
    }

    /// Random numbers of this run.
    #[must_use]
    pub fn rng(&self, label: &str) -> StimulusRng {
        self.run.rng(label)
    }

    /// Vectors asked for.
    #[must_use]
    pub fn vectors(&self) -> u64 {
        self.run.vectors()
    }

    /// Rows and columns of operands in a mode.
    #[must_use]
    pub fn extent(&self, int8: bool) -> (usize, usize) {
        let share = if int8 { 2 } else { 1 };
        (self.p.rows as usize / share, self.p.columns as usize / share)
    }

    /// Cycles since the reset.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Sums so far whose flag was up.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// What the hardware showed for a tile; complete after [`Self::finish`].
    #[must_use]
    pub fn sums(&self, tile: usize) -> &[Vec<i128>] {
        &self.sums[tile]
    }

    /// Feeds a tile; before each step the controller pauses for as long as `pause` says so.
    ///
    /// # Errors
    /// A mismatch, or an array that never becomes ready.
    pub fn tile(&mut self, tile: &Tile, mut pause: impl FnMut() -> bool) -> sim::Result<Fed> {
        let number = self.sums.len();
        let (rows, columns) = self.extent(tile.int8);
        self.sums.push(vec![vec![0; columns]; rows]);
        let mut fed = Fed { number, first: 0, last: 0 };
        for (i, beat) in tile.beats.iter().enumerate() {
            while pause() {
                self.idle()?;
            }
            let last = i + 1 == tile.beats.len();
            self.poke(tile, beat, i == 0, last);
            let mut waited = 0;
            while !self.step()? {
                waited += 1;
                if waited > 4 * u64::from(self.p.columns) + 16 {
                    return Err(Error::Unsupported(format!("the array refuses a step for {waited} cycles")));
                }
            }
            if i == 0 {
                fed.first = self.cycle - 1;
            }
        }
        fed.last = self.cycle - 1;
        self.foretell(tile, number, fed.last)?;
        Ok(fed)
    }

    /// One cycle without a step; all other inputs are random.
    ///
    /// # Errors
    /// A mismatch.
    pub fn idle(&mut self) -> sim::Result<()> {
        let rng = &mut self.garbage;
        self.sim.poke_u64(self.ports.valid, 0);
        for port in [self.ports.first, self.ports.last, self.ports.act_signed, self.ports.weight_signed] {
            self.sim.poke_u64(port, rng.random_range(0..2));
        }
        if let Some(rescale) = self.ports.rescale {
            self.sim.poke_u64(rescale, rng.random_range(0..=u64::from(self.p.max_shift)));
        }
        if let Some(int8) = self.ports.int8 {
            self.sim.poke_u64(int8, rng.random_range(0..2));
        }
        self.sim.poke(self.ports.act, &Bits::random(self.p.rows * self.p.operand_width, rng));
        self.sim.poke(self.ports.weight, &Bits::random(self.p.columns * self.p.operand_width, rng));
        self.step().map(|_| ())
    }

    /// Waits until all sums of all tiles have been shown; returns the cycle of the last one.
    ///
    /// # Errors
    /// A mismatch.
    pub fn finish(&mut self) -> sim::Result<u64> {
        let end = self.expected.keys().next_back().copied().unwrap_or(self.cycle);
        while self.cycle <= end {
            self.idle()?;
        }
        Ok(end)
    }

    fn poke(&mut self, tile: &Tile, beat: &Beat, first: bool, last: bool) {
        let width = self.p.operand_width;
        let (sim, ports) = (&mut *self.sim, &self.ports);
        sim.poke_u64(ports.valid, 1);
        sim.poke_u64(ports.first, first.into());
        sim.poke_u64(ports.last, last.into());
        sim.poke_u64(ports.act_signed, tile.act_signed.into());
        sim.poke_u64(ports.weight_signed, tile.weight_signed.into());
        if let Some(int8) = ports.int8 {
            sim.poke_u64(int8, tile.int8.into());
        }
        // An operand of twice the width is two neighbouring elements of the port, the low one first.
        let wide = if tile.int8 { 2 * width } else { width };
        let amount = match beat {
            Beat::Multiply { act, weight } => {
                sim.poke(ports.act, &Bits::pack(wide, act.iter().map(|&x| x as u64)));
                sim.poke(ports.weight, &Bits::pack(wide, weight.iter().map(|&x| x as u64)));
                0
            }
            Beat::Rescale(places) => {
                // The array empties the bubble by itself.
                sim.poke(ports.act, &Bits::random(self.p.rows * width, &mut self.garbage));
                sim.poke(ports.weight, &Bits::random(self.p.columns * width, &mut self.garbage));
                *places
            }
        };
        if let Some(rescale) = ports.rescale {
            sim.poke_u64(rescale, amount.into());
        }
    }

    /// One cycle with the inputs as they are; returns whether a step was taken.
    fn step(&mut self) -> sim::Result<bool> {
        self.sim.settle()?;
        let shown = self.expected.remove(&self.cycle).unwrap_or_default();
        let mut valid = Bits::zero(self.p.rows);
        for sum in &shown {
            valid.set_bit(sum.row, true);
        }
        self.run.expect(self.sim, self.ports.result_valid, &valid)?;
        if !shown.is_empty() {
            let width = self.p.result_width();
            let mut results = self.sim.peek(self.ports.result);
            let mut overflow = self.sim.peek(self.ports.overflow);
            for sum in &shown {
                let got = results.slice(sum.row * width, width);
                self.sums[sum.tile][sum.place.0][sum.place.1] = signed(&got);
                let words: Vec<u32> = (0..4).map(|word| (sum.sum.0 >> (32 * word)) as u32).collect();
                results.set_slice(sum.row * width, &Bits::from_words(width, &words));
                overflow.set_bit(sum.row, sum.sum.1);
                self.overflows += u64::from(sum.sum.1);
            }
            self.run.expect(self.sim, self.ports.result, &results)?;
            self.run.expect(self.sim, self.ports.overflow, &overflow)?;
        }
        let taken = self.sim.peek_u64(self.ports.ready) == 1;
        self.sim.tick()?;
        self.cycle += 1;
        Ok(taken)
    }

    /// Notes when and where the sums of a tile appear whose last step was taken in cycle `last`.
    fn foretell(&mut self, tile: &Tile, number: usize, last: u64) -> sim::Result<()> {
        let (rows, columns) = self.extent(tile.int8);
        let accumulators = Accumulators { width: self.p.accumulator_width, policy: policy(self.p.overflow) };
        // The last column of row 0 has its sum, and the row starts to move.
        let starts = last + u64::from(self.p.columns) + 1;
        for r in 0..rows {
            for c in 0..columns {
                let sum = if tile.int8 {
                    wide(&tile.beats, r, c, self.p.operand_width, accumulators)
                } else {
                    narrow(&tile.beats, r, c, accumulators)
                };
                let sum = sum.map_err(Error::Unsupported)?;
                let turn = (columns - 1 - c) as u64;
                let (row, cycle) = if tile.int8 {
                    // The row pair's later row, the column pair's later column.
                    let row = 2 * r as u32 + 1;
                    (row, starts + u64::from(row) + 2 * turn + 2)
                } else {
                    (r as u32, starts + r as u64 + turn + u64::from(self.p.int8))
                };
                self.expected.entry(cycle).or_default().push(Shown { row, tile: number, place: (r, c), sum });
            }
        }
        Ok(())
    }
}

fn signed(bits: &Bits) -> i128 {
    let value = bits.words().iter().rev().fold(0u128, |value, word| value << 32 | u128::from(*word));
    let unused = 128 - bits.width();
    (value << unused) as i128 >> unused
}
