//! [`PartSums`]: columns of parts at any distance, sums at the ends of their range, and clears at random moments.

use std::collections::{BTreeMap, VecDeque};

use hdl::accelerators::tender::PartSums;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, Run, Sim};

/// The bench; a vector is a tile.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &PartSums) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let mut rng = run.rng("tiles");
        run.only_while("column_valid_o", &["column_sums_o", "column_overflow_o"]);
        let mut sums = Sums { p: &p, kept: BTreeMap::new(), expected: VecDeque::new(), writes: None };
        sums.offer(sim, None, &mut rng)?;
        run.reset(sim, 2)?;
        for _ in 0..run.vectors() {
            sums.tile(sim, run, &mut rng)?;
        }
        for _ in 0..4 {
            sums.cycle(sim, run, &mut rng, None, true, false)?;
        }
        run.expect_equal(sim, "column", "columns that are missing", 0, sums.expected.len())
    })
}

/// A column of sums, with whether each overflowed.
type Column = Vec<(i64, bool)>;

/// A column of a part.
#[derive(Clone)]
struct Part {
    sums: Column,
    doubles: bool,
    begins: bool,
    ends: bool,
    place: u32,
}

struct Sums<'a> {
    p: &'a PartSums,
    /// The sums of the parts so far, by column.
    kept: BTreeMap<u32, Column>,
    expected: VecDeque<Column>,
    /// The column whose sums are written in this cycle.
    writes: Option<u32>,
}

impl Sums<'_> {
    fn tile(&mut self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
        let columns = if rng.random_range(0..3u8) == 0 { 1 } else { rng.random_range(1..=self.p.columns) };
        let parts = rng.random_range(1..=5u32);
        let (offers, takes) = (rng.random_range(2..=8u8), rng.random_range(1..=8u8));
        let mut clear_after = (rng.random_range(0..5u8) == 0).then(|| rng.random_range(0..=parts * columns));
        // Small numbers too, so that sums come back from where they nearly left their range.
        let most =
            if rng.random() { i64::MAX >> (64 - self.p.width) } else { 100.min(i64::MAX >> (64 - self.p.width)) };
        for k in 0..parts {
            let doubles = rng.random();
            for place in 0..columns {
                let sums = (0..self.p.rows).map(|_| (number(rng, most), rng.random_range(0..64u8) == 0)).collect();
                let part = Part { sums, doubles, begins: k == 0, ends: k + 1 == parts, place };
                loop {
                    let clear = clear_after == Some(0);
                    clear_after = clear_after.and_then(|left| left.checked_sub(1));
                    let offer = (rng.random_range(0..8) < offers).then(|| part.clone());
                    let ready = rng.random_range(0..8) < takes;
                    let taken = self.cycle(sim, run, rng, offer, ready, clear)?;
                    if clear {
                        return Ok(());
                    }
                    if taken {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Shows a part, or noise.
    fn offer(&self, sim: &mut Sim, part: Option<&Part>, rng: &mut StimulusRng) -> sim::Result<()> {
        let width = self.p.width;
        sim.poke_u64(sim.input("part_valid_i")?, part.is_some().into());
        let noise = Part {
            sums: (0..self.p.rows).map(|_| (number(rng, i64::MAX >> (64 - width)), rng.random())).collect(),
            doubles: rng.random(),
            begins: rng.random(),
            ends: rng.random(),
            place: rng.random_range(0..self.p.columns),
        };
        let part = part.unwrap_or(&noise);
        let (sums, flags) = bits(&part.sums, width);
        sim.poke(sim.input("part_sums_i")?, &sums);
        sim.poke(sim.input("part_overflow_i")?, &flags);
        sim.poke_u64(sim.input("part_doubles_i")?, part.doubles.into());
        sim.poke_u64(sim.input("part_begins_i")?, part.begins.into());
        sim.poke_u64(sim.input("part_ends_i")?, part.ends.into());
        sim.poke_u64(sim.input("part_place_i")?, part.place.into());
        Ok(())
    }

    /// One cycle; whether the part was taken.
    fn cycle(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        rng: &mut StimulusRng,
        part: Option<Part>,
        ready: bool,
        clear: bool,
    ) -> sim::Result<bool> {
        self.offer(sim, part.as_ref(), rng)?;
        sim.poke_u64(sim.input("clear_i")?, clear.into());
        sim.poke_u64(sim.input("column_ready_i")?, ready.into());
        sim.settle()?;
        let shown = sim.output("column_valid_o")?;
        run.expect_u64(sim, shown, (!self.expected.is_empty()).into())?;
        let stalled = !self.expected.is_empty() && !ready;
        if let Some(column) = self.expected.front() {
            let (sums, flags) = bits(column, self.p.width);
            run.expect(sim, sim.output("column_sums_o")?, &sums)?;
            run.expect(sim, sim.output("column_overflow_o")?, &flags)?;
            if ready {
                self.expected.pop_front();
            }
        }
        // Only a clear, a column that nobody takes, and the same column again make a part wait.
        let writes = self.writes.take();
        if let Some(part) = &part {
            let waits = clear || stalled || writes == Some(part.place);
            run.expect_u64(sim, sim.output("part_ready_o")?, (!waits).into())?;
        }
        let taken = part.is_some() && sim.peek_u64(sim.output("part_ready_o")?) == 1;
        if let Some(part) = part.filter(|_| taken) {
            self.take(&part);
        }
        if clear {
            self.expected.clear();
            self.kept.clear();
            self.writes = None;
        }
        sim.tick()?;
        Ok(taken)
    }

    fn take(&mut self, part: &Part) {
        let width = self.p.width;
        let before = self.kept.remove(&part.place).filter(|_| !part.begins);
        let before = before.unwrap_or_else(|| vec![(0, false); part.sums.len()]);
        let add = |(&(sum, flag), (kept, kept_flag)): (&(i64, bool), (i64, bool))| {
            let total = i128::from(sum) + (i128::from(kept) << u32::from(part.doubles));
            let wrapped = (total << (128 - width)) >> (128 - width);
            (wrapped as i64, flag || kept_flag || wrapped != total)
        };
        let column: Column = part.sums.iter().zip(before).map(add).collect();
        if part.ends {
            self.expected.push_back(column);
        } else {
            self.kept.insert(part.place, column);
            self.writes = Some(part.place);
        }
    }
}

/// A number up to `most`, often one of its ends.
fn number(rng: &mut StimulusRng, most: i64) -> i64 {
    match rng.random_range(0..4u8) {
        0 => [most, -most - 1, most / 2, -most / 2 - 1][rng.random_range(0..4usize)],
        _ => rng.random_range(-most - 1..=most),
    }
}

fn bits(column: &[(i64, bool)], width: u32) -> (Bits, Bits) {
    let mask = u64::MAX >> (64 - width);
    let sums = Bits::pack(width, column.iter().map(|&(sum, _)| sum as u64 & mask));
    (sums, Bits::pack(1, column.iter().map(|&(_, flag)| flag.into())))
}
