//! Rows of a user, rows one at a time, and rows together.

use golden::common::row::vector_unit::{Norm, Scalars, Steps};
use hdl::blocks::common::row::NormKind;
use rand::RngExt;
use sim::{Run, Sim};

use super::operands::Given;
use super::player::Player;

impl Player {
    /// Random rows with random steps, or rows that are `given`, with their steps and without clears.
    pub(super) fn play(&mut self, sim: &mut Sim, run: &mut Run, given: Option<&Given>) -> sim::Result<()> {
        let flags = ["used", "last", "error", "overflow"].map(|flag| format!("output_{flag}_o"));
        run.only_while("output_valid_o", &flags.each_ref().map(String::as_str));
        run.only_while("output_valid_o", &["output_values_o"]);
        sim.poke_u64(self.clear_i, 0);
        run.reset(sim, 2)?;
        if let Some(given) = given {
            self.now = given.steps;
            self.drive_steps(sim);
            given.rows.iter().for_each(|row| self.offer(row, false));
            self.together(sim, run, false)?;
        } else {
            self.single_rows(sim, run)?;
        }
        let mut left = if given.is_some() { 0 } else { run.vectors() };
        while left > 0 {
            self.choose(sim);
            let rows = left.min(self.rng.random_range(1..=32));
            left -= rows;
            let sharp = self.now.0.norm && self.rng.random_range(0..3u8) == 0;
            for number in 0..rows {
                let elements = self.any_length();
                if sharp {
                    self.sharp_row(sim, elements, number == 0);
                } else {
                    let broken = self.rng.random_range(0..10u8) == 0;
                    self.row(elements, broken);
                }
            }
            self.together(sim, run, true)?;
        }
        // Nothing more comes.
        for _ in 0..2 * self.latency() {
            self.cycle(sim, run, &[false, false, false, false, true], false)?;
        }
        Ok(())
    }

    /// All offered rows, with pauses.
    fn together(&mut self, sim: &mut Sim, run: &mut Run, may_clear: bool) -> sim::Result<()> {
        // Of 8 cycles: some, most, all; from the beginning, or so late that everything before is full.
        let latency = u64::from(self.latency());
        let mut paces = Vec::new();
        for _ in 0..5 {
            let late = [0, 0, 0, latency + 60][self.rng.random_range(0..4usize)];
            paces.push(([1, 4, 7, 8][self.rng.random_range(0..4usize)], late));
        }
        if self.rng.random_range(0..3u8) == 0 {
            // All wait for one operand.
            let used: Vec<usize> = (0..4).filter(|&k| self.streams[k].used).collect();
            let slow = used[self.rng.random_range(0..used.len())];
            paces = (0..5).map(|k| (if k == slow { 1 } else { 8 }, 0)).collect();
        }
        let clears = may_clear && self.rng.random_range(0..3u8) == 0;
        let most = 20 * (self.streams[0].offered.len() as u64 + latency + 60);
        let begin = sim.cycle_count();
        while !(self.expected.is_empty() && self.streams.iter().all(|s| s.offered.is_empty())) {
            let passed = sim.cycle_count() - begin;
            let mut go = |&(pace, late): &(u8, u64)| passed >= late && self.rng.random_range(0..8) < pace;
            let offers: Vec<bool> = paces.iter().map(&mut go).collect();
            let clear = clears && self.rng.random_range(0..2 * latency) == 0;
            self.cycle(sim, run, &offers, clear)?;
            if sim.cycle_count() - begin > most {
                let missing = self.expected.len();
                return run.expect_equal(sim, "output", "beats that are missing", 0, missing);
            }
        }
        Ok(())
    }

    /// Cycles that the longest way takes.
    fn latency(&self) -> u32 {
        let kinds = self.kinds();
        kinds.into_iter().map(|kind| self.block.cycles(1, kind, self.block.units.rotary)).max().unwrap_or(0)
    }

    /// The norms that the unit has; none stands for a row without a norm.
    pub(super) fn kinds(&self) -> Vec<Option<NormKind>> {
        let units = &self.block.units;
        let mut kinds = vec![None, Some(NormKind::Rms)];
        kinds.extend(units.softmax.then_some(Some(NormKind::Softmax)));
        kinds.extend(units.layer_norm.then_some(Some(NormKind::Layer)));
        kinds
    }

    /// One row of each kind without pauses.
    fn single_rows(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let most = self.block.lanes * self.block.max_beats;
        let turns: &[bool] = if self.block.units.rotary { &[false, true] } else { &[false] };
        let combinations = self.kinds().into_iter().flat_map(|kind| turns.iter().map(move |&turn| (kind, turn)));
        let combinations: Vec<_> =
            combinations.filter(|&(kind, turn)| kind != Some(NormKind::Softmax) || !turn).collect();
        for (kind, rotate) in combinations {
            for elements in [1, self.block.lanes + 1, most] {
                let elements = if rotate { elements.next_multiple_of(2) } else { elements };
                let norm = kind.is_some();
                let gain = norm && kind != Some(NormKind::Softmax);
                let kind_of = match kind {
                    Some(NormKind::Softmax) => Norm::Softmax,
                    Some(NormKind::Layer) => Norm::LayerNorm,
                    _ => Norm::RmsNorm,
                };
                let steps =
                    Steps { norm, kind: kind_of, gain, add: true, multiply: !rotate, rotate, ..Steps::default() };
                self.now = (steps, Scalars { scale: 0x3c00, quantizer: 0x3c00, epsilon: 1 });
                self.drive_steps(sim);
                self.row(elements as usize, false);
                let begin = sim.cycle_count();
                let expected = self.block.cycles(elements.min(most), kind, rotate);
                while !self.expected.is_empty() && sim.cycle_count() - begin < u64::from(2 * expected) {
                    self.cycle(sim, run, &[true; 5], false)?;
                }
                let took = sim.cycle_count() - begin;
                run.expect_equal(sim, "output", "cycles of a row", u64::from(expected), took)?;
            }
        }
        Ok(())
    }

    fn any_length(&mut self) -> usize {
        let lanes = self.block.lanes as usize;
        // Only the norm keeps rows.
        let most = lanes * self.block.max_beats as usize;
        match self.rng.random_range(0..5u8) {
            0 => 1,
            1 => most,
            2 => self.rng.random_range(1..=lanes),
            3 if !self.now.0.norm => self.rng.random_range(most..=2 * most),
            _ => self.rng.random_range(1..=most),
        }
    }
}
