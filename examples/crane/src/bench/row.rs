//! The bench of a row: what a job shows in one result of a thousand, it shows at once.

use std::collections::BTreeMap;

use senbazuru::prelude::*;
use senbazuru::sim::stimulus::StimulusRng;

use crate::golden::product::result;
use crate::row::{DotRow, EXPONENT};

/// Columns with pauses and without, while words of the row are written; ports hold noise where nothing is read. A vector
/// is a column.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &DotRow) -> anyhow::Result<Box<dyn Bench>> {
    let block = p.clone();
    senbazuru::prelude::bench(p, move |sim, run| {
        let mut rng = run.rng("columns");
        let groups = (vec![0; block.weights as usize], vec![0; block.groups() as usize]);
        let mut row = Row { block: block.clone(), words: vec![groups; block.words as usize], ..Row::default() };
        for number in 0..run.vectors() {
            if number % 16 == 0 {
                row.settle(sim, run, &mut rng)?;
            }
            row.column(sim, run, &mut rng)?;
        }
        row.settle(sim, run, &mut rng)
    })
}

/// A row at work.
#[derive(Default)]
struct Row {
    block: DotRow,
    cycle: u64,
    /// Integers and exponents of each word.
    words: Vec<(Vec<i64>, Vec<u32>)>,
    /// What ports get in a cycle, and what the result is in a cycle.
    ports: BTreeMap<(u64, &'static str), Bits>,
    results: BTreeMap<u64, u16>,
    /// Exponents of the row and of weights are from here on, up to so many more.
    exponents: [u32; 2],
    spread: u32,
    shift: u32,
    special: bool,
}

impl Row {
    /// After all results, other exponents, another shift, and new words.
    fn settle(&mut self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> senbazuru::sim::Result<()> {
        for _ in 0..=DotRow::LATENCY {
            self.cycle(sim, run, rng)?;
        }
        self.exponents = [rng.random_range(0..25), rng.random_range(0..16)];
        self.spread = [0, 1, 4, 24][rng.random_range(0..4usize)];
        let around = (self.exponents[0] + self.exponents[1] + rng.random_range(0..30u32)).saturating_sub(6);
        self.shift = if rng.random_range(0..8u8) == 0 { rng.random_range(0..97) } else { around };
        self.special = rng.random_range(0..8u8) == 0;
        for word in 0..self.block.words {
            for quarter in 0..4 {
                self.write(rng, word, 1 << quarter);
                self.cycle(sim, run, rng)?;
            }
        }
        Ok(())
    }

    /// Writes these quarters of a word in this cycle.
    fn write(&mut self, rng: &mut StimulusRng, word: u32, quarters: u64) {
        let (weights, groups) = (self.block.weights as usize / 4, self.block.groups() as usize / 4);
        let small = rng.random_range(0..3u8) == 0;
        let integer = |rng: &mut StimulusRng| rng.random_range(if small { -1..=1 } else { -127..=127i64 });
        let integers: Vec<i64> = (0..weights).map(|_| integer(rng)).collect();
        let exponent = |rng: &mut StimulusRng| (self.exponents[0] + rng.random_range(0..=self.spread)).min(24);
        let exponents: Vec<u32> = (0..groups).map(|_| exponent(rng)).collect();
        for quarter in (0..4).filter(|quarter| quarters >> quarter & 1 == 1) {
            let (all, of_groups) = &mut self.words[word as usize];
            all[quarter * weights..][..weights].copy_from_slice(&integers);
            of_groups[quarter * groups..][..groups].copy_from_slice(&exponents);
        }
        let ports = [
            ("write_i", Bits::truncated(4, quarters)),
            ("write_address_i", Bits::truncated(self.block.memories()[0].address().width, word.into())),
            ("integers_i", Bits::pack(8, integers.iter().map(|&n| n as u64 & 255))),
            ("exponents_i", Bits::pack(5, exponents.iter().map(|&e| e.into()))),
        ];
        self.ports.extend(ports.map(|(name, bits)| ((self.cycle, name), bits)));
    }

    /// The words of a column, in any order.
    fn column(&mut self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> senbazuru::sim::Result<()> {
        let (words, mut sum) = (rng.random_range(1..=self.block.words), 0);
        let (pauses, kind) = ([0, 3][rng.random_range(0..2usize)], rng.random_range(0..3u8));
        for k in 0..words {
            while rng.random_range(0..4u8) < pauses {
                self.cycle(sim, run, rng)?;
            }
            let word = rng.random_range(0..self.block.words);
            // All, few, or a 1 in each group: sums of few bits far apart, which show a tie and the bit after it.
            let weight = |k: u32| match kind {
                0 => rng.random_range(-8..8i64),
                1 => [rng.random_range(-8..8i64), 0, 0, 0][rng.random_range(0..4usize)],
                _ => (k % self.block.group == 0).into(),
            };
            let weights: Vec<i64> = (0..self.block.weights).map(weight).collect();
            let exponent = |rng: &mut StimulusRng| (self.exponents[1] + rng.random_range(0..=self.spread)).min(15);
            let exponents: Vec<u32> = (0..self.block.groups()).map(|_| exponent(rng)).collect();
            let (integers, own) = &self.words[word as usize];
            for (k, (n, w)) in integers.iter().zip(&weights).enumerate() {
                let group = k / self.block.group as usize;
                sum += n * w << (own[group] + exponents[group]);
            }
            let of_column = [
                (0, "step_i", Bits::ones(1)),
                (0, "address_i", Bits::truncated(self.block.memories()[0].address().width, word.into())),
                (1, "weights_i", Bits::pack(4, weights.iter().map(|&w| w as u64 & 15))),
                (DotRow::TO_EXPONENTS, "weight_exponents_i", Bits::pack(EXPONENT, exponents.iter().map(|&e| e.into()))),
                (DotRow::TO_FIRST, "adds_i", Bits::ones(1)),
                (DotRow::TO_FIRST, "first_i", Bits::truncated(1, (k == 0).into())),
            ];
            self.ports.extend(of_column.map(|(after, name, bits)| ((self.cycle + u64::from(after), name), bits)));
            if k == words - 1 {
                let bits = if self.special { 0x7e00 } else { result(sum, self.shift) };
                self.results.insert(self.cycle + u64::from(DotRow::LATENCY), bits);
            }
            // A write in the same cycle does not show.
            if rng.random_range(0..4u8) == 0 {
                let (word, quarters) = (rng.random_range(0..self.block.words), rng.random_range(1..16));
                self.write(rng, word, quarters);
            }
            self.cycle(sim, run, rng)?;
        }
        Ok(())
    }

    /// A cycle: noise on ports that nobody reads.
    fn cycle(&mut self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> senbazuru::sim::Result<()> {
        let (weights, groups) = (self.block.weights, self.block.groups());
        let place = self.block.memories()[0].address().width;
        let noise = [("write_address_i", place), ("integers_i", 2 * weights), ("exponents_i", 5 * groups / 4)];
        let more = [
            ("address_i", place),
            ("weights_i", 4 * weights),
            ("weight_exponents_i", EXPONENT * groups),
            ("first_i", 1),
        ];
        let noise = noise.into_iter().chain(more).map(|(name, width)| (name, Bits::random(width, rng)));
        let steady = [
            ("shift_i", Bits::truncated(7, self.shift.into())),
            ("special_i", Bits::truncated(1, self.special.into())),
        ];
        let quiet = [("write_i", 4), ("step_i", 1), ("adds_i", 1)].map(|(name, width)| (name, Bits::zero(width)));
        for (name, bits) in noise.chain(steady).chain(quiet) {
            let bits = self.ports.remove(&(self.cycle, name)).unwrap_or(bits);
            sim.poke(sim.input(name)?, &bits);
        }
        sim.tick()?;
        self.cycle += 1;
        match self.results.remove(&self.cycle) {
            Some(bits) => run.expect_u64(sim, sim.output("result_o")?, bits.into()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_as_their_contract_says() {
        run_all(bench, &options(1000)).unwrap();
    }
}
