//! Plays steps on an array, and compares its sums.

use std::collections::VecDeque;

use golden::kelle::reconfigurable_array::{Array, Edge, Step, Sum};
use hdl::blocks::kelle::ReconfigurableArray;
use hdl::lang::index_width;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

/// A result that is due.
struct Due {
    transposed: bool,
    index: usize,
    sums: Vec<Option<Sum>>,
    exists: bool,
}

pub(super) struct Player {
    pub(super) p: ReconfigurableArray,
    golden: Array,
    edge: Edge,
    pub(super) rng: StimulusRng,
    ports: Ports,
    pub(super) cycle: u64,
    /// Results on their way, the oldest first, and the beat that is next of it.
    due: VecDeque<Due>,
    group: u32,
    /// Sums of rows that are due: cycle, row, sum.
    taps: VecDeque<(u64, usize, Option<Sum>)>,
    /// Sums that were taken, the oldest first.
    pub(super) taken: VecDeque<Vec<Option<Sum>>>,
    /// The offers.
    pub(super) row: Option<(usize, Vec<u64>)>,
    pub(super) step: Option<Step>,
    /// Odds that results are taken, in eighths.
    pub(super) takes: u8,
}

impl Player {
    pub(super) fn new(p: &ReconfigurableArray, golden: Array, sim: &Sim, run: &Run) -> sim::Result<Self> {
        Ok(Self {
            golden,
            edge: Edge::new((p.rows.into(), p.columns.into()), p.results as usize),
            rng: run.rng("array"),
            ports: Ports::find(sim)?,
            cycle: 0,
            due: VecDeque::new(),
            group: 0,
            taps: VecDeque::new(),
            taken: VecDeque::new(),
            row: None,
            step: None,
            takes: 8,
            p: p.clone(),
        })
    }

    fn byte(&mut self) -> u64 {
        let top = (1u64 << self.p.operand_width) - 1;
        match self.rng.random_range(0..8u8) {
            0 => top,
            1 => top / 2,
            2 => top / 2 + 1,
            _ => self.rng.random_range(0..=top),
        }
    }

    fn bytes(&mut self, count: u32) -> Vec<u64> {
        (0..count).map(|_| self.byte()).collect()
    }

    /// Rows and steps in any order.
    pub(super) fn disorder(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let lanes = self.p.lanes();
        let (rows, depth) = (1usize << index_width(self.p.rows.into()), 1usize << index_width(self.p.depth.into()));
        let (pauses, loads) = (self.rng.random_range(0..6u8), self.rng.random_range(1..8u8));
        self.takes = self.rng.random_range(1..=8);
        // Sums of a number that never begins anew leave their range.
        let rarely = self.rng.random_range(1..20u8);
        for _ in 0..80 + 20 * lanes {
            if self.row.is_none() && self.rng.random_range(0..8u8) < loads {
                self.row = Some((self.rng.random_range(0..rows), self.bytes(self.p.columns)));
            }
            if self.step.is_none() && self.rng.random_range(0..8u8) >= pauses {
                self.step = Some(Step {
                    swap: self.rng.random_range(0..4u8) == 0,
                    transposed: self.rng.random(),
                    first: self.rng.random_range(0..rarely) == 0,
                    last: self.rng.random_range(0..3u8) == 0,
                    place: self.rng.random_range(0..4),
                    index: self.rng.random_range(0..depth),
                    signed: (self.rng.random(), self.rng.random()),
                    acts: self.bytes(lanes),
                });
            }
            match self.rng.random_range(0..60 * lanes) {
                0 => {
                    self.forget();
                    (self.row, self.step) = (None, None);
                    run.reset(sim, 1)?;
                }
                1 | 2 => self.cycle(sim, run, true)?,
                _ => self.cycle(sim, run, false)?,
            }
        }
        self.takes = 8;
        self.drain(sim, run)
    }

    /// Runs until all offers and all results are taken.
    pub(super) fn drain(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        while self.row.is_some() || self.step.is_some() || !self.due.is_empty() {
            self.cycle(sim, run, false)?;
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.golden.clear();
        self.edge.clear();
        self.due.clear();
        self.taps.clear();
        self.group = 0;
    }

    /// One cycle: makes the offers and compares the outputs.
    pub(super) fn cycle(&mut self, sim: &mut Sim, run: &mut Run, clear: bool) -> sim::Result<()> {
        let takes = self.rng.random_range(0..8u8) < self.takes;
        self.poke(sim, clear, takes);
        sim.settle()?;
        let ports = &self.ports;

        // Checks who is ready, and compares the outputs.
        let step_ready = !clear && self.step.as_ref().is_none_or(|step| !step.last || self.edge.room());
        if self.step.is_some() || clear {
            run.expect_u64(sim, ports.step_ready, step_ready.into())?;
        }
        let step = if step_ready { self.step.take() } else { None };
        let swaps = step.as_ref().is_some_and(|step| step.swap);
        let row = self.row.as_ref().map_or(0, |row| row.0 as u64);
        let row_ready = !clear && self.edge.takes(row, self.cycle, swaps);
        if self.row.is_some() || clear {
            run.expect_u64(sim, ports.load_ready, row_ready.into())?;
        }
        let row = if row_ready { self.row.take() } else { None };
        self.compare_rows(sim, run)?;
        run.expect_u64(sim, self.ports.result_valid, self.edge.valid().into())?;
        let mut leaves = false;
        if self.edge.valid() {
            let last = self.compare_beat(sim, run)?;
            if takes {
                self.group += 1;
                leaves = last;
            }
        }

        // A row of this cycle comes after a swap of this cycle.
        if let Some(step) = &step {
            self.take(step);
        }
        if let Some((row, weights)) = row {
            self.golden.load(row, weights);
        }
        if leaves {
            self.group = 0;
            self.taken.extend(self.due.pop_front().map(|due| due.sums));
        }
        let ends = step.as_ref().is_some_and(|step| step.last);
        self.edge.cycle(self.cycle, (ends, swaps, leaves));
        if clear {
            self.forget();
        }
        sim.tick()?;
        self.cycle += 1;
        Ok(())
    }

    fn take(&mut self, step: &Step) {
        let Some(sums) = self.golden.step(step) else { return };
        if step.transposed {
            for (row, &sum) in sums.iter().enumerate() {
                self.taps.push_back((self.edge.lane(self.cycle, row as u64), row, sum));
            }
        }
        let exists = self.golden.exists(step.index);
        self.due.push_back(Due { transposed: step.transposed, index: step.index, sums, exists });
    }

    fn compare_rows(&mut self, sim: &Sim, run: &mut Run) -> sim::Result<()> {
        let width = self.p.accumulator_width;
        let mut valid = Bits::zero(self.p.rows);
        let mut shown = sim.peek(self.ports.row_sum);
        for &(_, row, sum) in self.taps.iter().filter(|tap| tap.0 == self.cycle) {
            valid.set_bit(row as u32, true);
            if let Some(sum) = sum {
                shown.set_slice(row as u32 * width, &bits(width, sum.value));
            }
        }
        self.taps.retain(|tap| tap.0 > self.cycle);
        run.expect(sim, self.ports.row_valid, &valid)?;
        run.expect(sim, self.ports.row_sum, &shown)
    }

    /// Returns whether the beat is the last one of its result.
    fn compare_beat(&self, sim: &Sim, run: &mut Run) -> sim::Result<bool> {
        let (ports, beat, width) = (&self.ports, self.p.beat, self.p.accumulator_width);
        let due = &self.due[0];
        let used = (due.sums.len() as u32 - self.group * beat).min(beat);
        let last = (self.group + 1) * beat >= due.sums.len() as u32;
        run.expect_u64(sim, ports.transposed, due.transposed.into())?;
        run.expect_u64(sim, ports.index, due.index as u64)?;
        run.expect_u64(sim, ports.group, self.group.into())?;
        run.expect_u64(sim, ports.used, used.into())?;
        run.expect_u64(sim, ports.last, last.into())?;
        let (mut sums, mut flags) = (sim.peek(ports.sum), sim.peek(ports.overflow));
        for k in 0..used {
            let sum = due.sums[(self.group * beat + k) as usize];
            if !due.exists {
                flags.set_bit(k, true);
            } else if let Some(Sum { value, overflow }) = sum {
                sums.set_slice(k * width, &bits(width, value));
                flags.set_bit(k, overflow);
            }
        }
        run.expect(sim, ports.sum, &sums)?;
        run.expect(sim, ports.overflow, &flags)?;
        Ok(last)
    }

    fn poke(&mut self, sim: &mut Sim, clear: bool, takes: bool) {
        let p = self.p.clone();
        let noise = Step {
            swap: self.rng.random(),
            transposed: self.rng.random(),
            first: self.rng.random(),
            last: self.rng.random(),
            place: self.rng.random_range(0..4),
            index: self.rng.random_range(0..p.depth as usize),
            signed: (self.rng.random(), self.rng.random()),
            acts: self.bytes(p.lanes()),
        };
        let step = self.step.as_ref().unwrap_or(&noise);
        let ports = &self.ports;
        sim.poke_u64(ports.clear, clear.into());
        sim.poke_u64(ports.result_ready, takes.into());
        sim.poke_u64(ports.step_valid, self.step.is_some().into());
        for (port, value) in ports.kind.iter().zip([
            step.swap.into(),
            step.transposed.into(),
            step.first.into(),
            step.last.into(),
            step.place.into(),
            step.index as u64,
            step.signed.0.into(),
            step.signed.1.into(),
        ]) {
            sim.poke_u64(*port, value);
        }
        sim.poke(ports.act, &Bits::pack(p.operand_width, step.acts.iter().copied()));
        sim.poke_u64(ports.load_valid, self.row.is_some().into());
        if let Some((row, weights)) = &self.row {
            sim.poke_u64(ports.load_row, *row as u64);
            sim.poke(ports.weight, &Bits::pack(p.operand_width, weights.iter().copied()));
        }
    }
}

/// The low bits of a number.
pub(super) fn bits(width: u32, value: i128) -> Bits {
    Bits::pack(1, (0..width).map(|i| (value >> i) as u64 & 1))
}

struct Ports {
    clear: In,
    load_valid: In,
    load_ready: Out,
    load_row: In,
    pub(super) weight: In,
    step_valid: In,
    step_ready: Out,
    /// swap, transposed, first, last, place, index, signs of activations and weights.
    kind: [In; 8],
    pub(super) act: In,
    result_valid: Out,
    result_ready: In,
    transposed: Out,
    index: Out,
    group: Out,
    used: Out,
    last: Out,
    sum: Out,
    overflow: Out,
    row_valid: Out,
    row_sum: Out,
}

impl Ports {
    fn find(sim: &Sim) -> sim::Result<Self> {
        let kind = |name: &str| sim.input(&format!("step_{name}_i"));
        Ok(Self {
            clear: sim.input("clear_i")?,
            load_valid: sim.input("load_valid_i")?,
            load_ready: sim.output("load_ready_o")?,
            load_row: sim.input("load_row_i")?,
            weight: sim.input("load_weight_i")?,
            step_valid: sim.input("step_valid_i")?,
            step_ready: sim.output("step_ready_o")?,
            kind: [
                kind("swap")?,
                kind("transposed")?,
                kind("first")?,
                kind("last")?,
                kind("place")?,
                kind("index")?,
                kind("act_signed")?,
                kind("weight_signed")?,
            ],
            act: sim.input("step_act_i")?,
            result_valid: sim.output("result_valid_o")?,
            result_ready: sim.input("result_ready_i")?,
            transposed: sim.output("result_transposed_o")?,
            index: sim.output("result_index_o")?,
            group: sim.output("result_group_o")?,
            used: sim.output("result_used_o")?,
            last: sim.output("result_last_o")?,
            sum: sim.output("result_sum_o")?,
            overflow: sim.output("result_overflow_o")?,
            row_valid: sim.output("row_valid_o")?,
            row_sum: sim.output("row_sum_o")?,
        })
    }
}
