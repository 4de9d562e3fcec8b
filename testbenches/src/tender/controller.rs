//! The testbench as the controller of a [`MultiScaleArrayOf`] any PE with a model: feeds tiles, foretells the cycle and the value of every
//! sum, and compares.

use std::collections::BTreeMap;

use golden::tender::cycles::ArrayCycles;
use golden::tender::multi_scale_array::{Beat, narrow, wide};
use hdl::blocks::tender::{MultiScaleArrayOf, TenderPe, TileStep};
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Driver, Error, Out, Run, Sim, StreamMonitor, Values};

use super::mesh_pe::{Operand, PeBench};
use super::tender_pe::drain;

/// A tile: its steps, and how to read the operands.
#[derive(Clone, Debug)]
pub struct Tile<O = i64> {
    /// Operands as numbers, one for each row and column of the mode: half as many as PEs in INT8 mode.
    pub beats: Vec<Beat<O>>,
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

/// A bench that lets a test drive the controller on an array that was just reset. At the end it waits for outstanding
/// sums.
///
/// # Errors
/// Parameters that the block refuses.
pub fn session<'a, P: PeBench>(
    p: &MultiScaleArrayOf<P>,
    work: impl Fn(&mut Controller<'_, P>) -> sim::Result<()> + 'a,
) -> anyhow::Result<Box<dyn sim::Bench + 'a>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| {
        run.reset(sim, 2)?;
        let mut controller = Controller::new(block.clone(), sim, run)?;
        work(&mut controller)?;
        controller.finish()?;
        Ok(())
    })
}

/// The cycles of an array, by its golden model.
#[must_use]
pub fn cycles<P: PeBench>(p: &MultiScaleArrayOf<P>) -> ArrayCycles {
    let (rows, columns) = (p.rows.into(), p.columns.into());
    ArrayCycles { rows, columns, int8: p.int8, drain: drain(p.pe.drain()), ranks: p.pe.ranks().into() }
}

/// A sum that row `row` must show: of which tile, and where.
struct Shown {
    row: u32,
    tile: usize,
    place: (usize, usize),
    /// `None`: it comes, but means nothing.
    sum: Option<(i128, bool)>,
}

/// The controller; see the module's documentation.
pub struct Controller<'a, P: PeBench = TenderPe> {
    p: MultiScaleArrayOf<P>,
    /// A sum that is 0.
    fresh: P::Sum,
    sim: &'a mut Sim,
    run: &'a mut Run,
    steps: Driver<TileStep<Values>>,
    result_valid: Out,
    result: Out,
    overflow: Out,
    /// Operands of rescales.
    garbage: StimulusRng,
    /// Cycles since the reset.
    cycle: u64,
    expected: BTreeMap<u64, Vec<Shown>>,
    /// Results of the hardware, tile by tile.
    sums: Vec<Vec<Vec<i128>>>,
    overflows: u64,
}

impl<'a, P: PeBench> Controller<'a, P> {
    fn new(p: MultiScaleArrayOf<P>, sim: &'a mut Sim, run: &'a mut Run) -> sim::Result<Self> {
        let steps = run.driver_of(sim, "step", Stall::Never)?;
        let [result_valid, result, overflow] =
            ["result_valid_o", "result_o", "overflow_o"].map(|name| sim.output(name));
        let (result_valid, result, overflow) = (result_valid?, result?, overflow?);
        run.only_while("result_valid_o", &["result_o", "overflow_o"]);
        let garbage = run.rng("garbage");
        let (expected, sums) = (BTreeMap::new(), Vec::new());
        let fresh = p.pe.fresh().map_err(Error::Unsupported)?;
        Ok(Self {
            p,
            fresh,
            sim,
            run,
            steps,
            result_valid,
            result,
            overflow,
            garbage,
            cycle: 0,
            expected,
            sums,
            overflows: 0,
        })
    }

    /// The array's parameters.
    #[must_use]
    pub fn array(&self) -> &MultiScaleArrayOf<P> {
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

    /// Results of the hardware for a tile; complete after [`Self::finish`].
    #[must_use]
    pub fn sums(&self, tile: usize) -> &[Vec<i128>] {
        &self.sums[tile]
    }

    /// Feeds a tile; before each step the controller pauses for as long as `pause` says so.
    ///
    /// # Errors
    /// A mismatch, or an array that never becomes ready.
    pub fn tile(&mut self, tile: &Tile<Operand<P>>, pause: impl FnMut() -> bool) -> sim::Result<Fed> {
        let fed = self.feed(tile, (true, true), tile.beats.len(), pause)?;
        self.foretell(tile, fed)?;
        Ok(fed)
    }

    /// Begins a tile and breaks off after `steps` steps: nothing of it may be seen.
    ///
    /// # Errors
    /// As [`Self::tile`].
    pub fn abort(&mut self, tile: &Tile<Operand<P>>, steps: usize) -> sim::Result<()> {
        self.feed(tile, (true, false), steps, || false).map(|_| ())
    }

    /// Steps that no tile begins: with `ends` their sums come at the right time, and mean nothing.
    ///
    /// # Errors
    /// As [`Self::tile`].
    pub fn stray(&mut self, tile: &Tile<Operand<P>>, ends: bool) -> sim::Result<()> {
        let fed = self.feed(tile, (false, ends), tile.beats.len(), || false)?;
        if ends {
            self.foretell(tile, fed)?;
            for sum in self.expected.values_mut().flatten().filter(|sum| sum.tile == fed.number) {
                sum.sum = None;
            }
        }
        Ok(())
    }

    /// A reset of some cycles: sums on their way are lost.
    ///
    /// # Errors
    /// An error of the simulator.
    pub fn reset(&mut self, cycles: u32) -> sim::Result<()> {
        self.expected.clear();
        self.run.reset(self.sim, cycles.into())
    }

    /// Feeds the first `count` steps; `ends` says whether the first one and the last one are marked.
    fn feed(
        &mut self,
        tile: &Tile<Operand<P>>,
        ends: (bool, bool),
        count: usize,
        mut pause: impl FnMut() -> bool,
    ) -> sim::Result<Fed> {
        let number = self.sums.len();
        let (rows, columns) = self.extent(tile.int8);
        self.sums.push(vec![vec![0; columns]; rows]);
        let mut fed = Fed { number, first: 0, last: 0 };
        for (i, beat) in tile.beats.iter().take(count).enumerate() {
            while pause() {
                self.idle()?;
            }
            let beat = self.beat(tile, beat, (ends.0 && i == 0, ends.1 && i + 1 == count));
            self.steps.push(beat)?;
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
        Ok(fed)
    }

    /// One cycle without a step; all other inputs are random.
    ///
    /// # Errors
    /// A mismatch.
    pub fn idle(&mut self) -> sim::Result<()> {
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

    fn beat(
        &mut self,
        tile: &Tile<Operand<P>>,
        beat: &Beat<Operand<P>>,
        (first, last): (bool, bool),
    ) -> TileStep<Values> {
        let pe = &self.p.pe;
        let flag = |flag: bool| Bits::truncated(1, flag.into());
        // An operand of twice the width is two neighbouring elements of the port, the low one first.
        let width = if tile.int8 { 2 * pe.operand_bits() } else { pe.operand_bits() };
        let pack = |operands: &[Operand<P>]| Bits::pack(width, operands.iter().map(|&x| pe.bits(x)));
        let (amount, act, weight) = match beat {
            Beat::Multiply { act, weight } => (0, pack(act), pack(weight)),
            // The array empties the bubble by itself.
            Beat::Rescale(places) => {
                let mut random = |lanes| Bits::random(lanes * pe.operand_bits(), &mut self.garbage);
                (*places, random(self.p.rows), random(self.p.columns))
            }
        };
        TileStep {
            first: flag(first),
            last: flag(last),
            rescale: pe.amount_bits().map(|width| Bits::truncated(width, amount.into())),
            int8: self.p.int8.then(|| flag(tile.int8)),
            act_signed: flag(tile.act_signed),
            weight_signed: flag(tile.weight_signed),
            act,
            weight,
        }
    }

    /// One cycle; returns whether a step was taken.
    fn step(&mut self) -> sim::Result<bool> {
        let shown = self.expected.remove(&self.cycle).unwrap_or_default();
        let mut valid = Bits::zero(self.p.rows);
        for sum in &shown {
            valid.set_bit(sum.row, true);
        }
        self.run.expect(self.sim, self.result_valid, &valid)?;
        if !shown.is_empty() {
            let width = self.p.result_width();
            let mut results = self.sim.peek(self.result);
            let mut overflow = self.sim.peek(self.overflow);
            for shown in &shown {
                let Some((sum, flag)) = shown.sum else { continue };
                let got = results.slice(shown.row * width, width);
                self.sums[shown.tile][shown.place.0][shown.place.1] = signed(&got);
                let words: Vec<u32> = (0..4).map(|word| (sum >> (32 * word)) as u32).collect();
                results.set_slice(shown.row * width, &Bits::from_words(width, &words));
                overflow.set_bit(shown.row, flag);
                self.overflows += u64::from(flag);
            }
            self.run.expect(self.sim, self.result, &results)?;
            self.run.expect(self.sim, self.overflow, &overflow)?;
        }
        let taken = self.run.cycle(self.sim, &mut [&mut self.steps], &mut [] as &mut [StreamMonitor])?;
        self.cycle += 1;
        Ok(taken)
    }

    /// Notes when and where the sums of a tile appear.
    fn foretell(&mut self, tile: &Tile<Operand<P>>, fed: Fed) -> sim::Result<()> {
        let (rows, columns) = self.extent(tile.int8);
        for r in 0..rows {
            for c in 0..columns {
                let sum = if tile.int8 {
                    wide(&tile.beats, r, c, self.p.pe.operand_bits(), &self.fresh).map_err(Error::Unsupported)?
                } else {
                    narrow(&tile.beats, r, c, &self.fresh)
                };
                let (row, cycle) = cycles(&self.p).sum(fed.last, (r as u64, c as u64), tile.int8);
                let shown = Shown { row: row as u32, tile: fed.number, place: (r, c), sum: Some(sum) };
                self.expected.entry(cycle).or_default().push(shown);
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
