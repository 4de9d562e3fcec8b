//! [`ScoreRegisterFile`] under all its operations at once, with amounts that saturate often, and resets at any moment.

use golden::kelle::score_register_file::ScoreFile;
use hdl::blocks::kelle::ScoreRegisterFile;
use rand::RngExt;
use sim::{Bits, Run, Sim};

/// The bench of a score file; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ScoreRegisterFile) -> anyhow::Result<Box<dyn sim::Bench>> {
    let golden = ScoreFile::new(p.rows as usize, p.score_width).map_err(anyhow::Error::msg)?;
    let bench = Bench { p: p.clone(), golden };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    p: ScoreRegisterFile,
    golden: ScoreFile,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("scores");
        let mut golden = self.golden.clone();
        let input = |name: &str| sim.input(name);
        let (set_valid, set_row) = (input("set_valid_i")?, input("set_row_i")?);
        let (clear_valid, clear_row) = (input("clear_valid_i")?, input("clear_row_i")?);
        let (update_valid, update_row) = (input("update_valid_i")?, input("update_row_i")?);
        let (update_amount, step_i) = (input("update_amount_i")?, input("step_i")?);
        let (threshold_i, read_row) = (input("threshold_i")?, input("read_row_i")?);
        let (read_score, valid_o) = (sim.output("read_score_o")?, sim.output("valid_o")?);
        let (high_o, saturated_o) = (sim.output("high_o")?, sim.output("saturated_o")?);
        let (promoted_valid, promoted_row) = (sim.output("promoted_valid_o")?, sim.output("promoted_row_o")?);
        let step_head = (self.p.heads > 1).then(|| input("step_head_i")).transpose()?;
        let rows = self.p.rows as usize;
        let part = rows / self.p.heads as usize;
        let places = 1u64 << self.p.row().width;
        let top = (1i64 << self.p.score_width) - 1;
        let half = 1i64 << (self.p.amount_width - 1);
        let mut threshold = top / 2;
        run.reset(sim, 2)?;
        let mut since = 0;
        for _ in 0..run.vectors() {
            if rng.random_range(0..(10 * rows).max(500)) == 0 {
                run.reset(sim, 1)?;
                golden = self.golden.clone();
                since = 0;
                run.expect_u64(sim, promoted_valid, 0)?;
            }
            let row = |rng: &mut sim::stimulus::StimulusRng| rng.random_range(0..places) as usize;
            let (set, clear, update) = (row(&mut rng), row(&mut rng), row(&mut rng));
            let is_set = since < 2 * rows || rng.random_range(0..16u8) == 0;
            since += 1;
            let is_clear = rng.random_range(0..64u8) == 0;
            let is_update = rng.random_range(0..8u8) != 0;
            let step = rng.random_range(0..24u8) == 0;
            let amount = match rng.random_range(0..8u8) {
                0 => half - 1,
                1 => -half,
                2 => rng.random_range(-half..half),
                _ => rng.random_range(0..=(top / 4).clamp(1, half - 1)),
            };
            if rng.random_range(0..64u8) == 0 {
                threshold = rng.random_range(0..=top);
            }
            let read = rng.random_range(0..rows);
            let head = rng.random_range(0..self.p.heads as usize);
            if let Some(step_head) = step_head {
                sim.poke_u64(step_head, head as u64);
            }
            sim.poke_u64(set_valid, is_set.into());
            sim.poke_u64(set_row, set as u64);
            sim.poke_u64(clear_valid, is_clear.into());
            sim.poke_u64(clear_row, clear as u64);
            sim.poke_u64(update_valid, is_update.into());
            sim.poke_u64(update_row, update as u64);
            sim.poke_i64(update_amount, amount);
            sim.poke_u64(step_i, step.into());
            sim.poke_u64(threshold_i, threshold as u64);
            sim.poke_u64(read_row, read as u64);
            sim.settle()?;
            if let Some(score) = golden.score(read) {
                run.expect_u64(sim, read_score, score as u64)?;
            }
            let bits = |f: &dyn Fn(usize) -> bool| Bits::pack(1, (0..rows).map(|r| f(r).into()));
            run.expect(sim, valid_o, &bits(&|r| golden.score(r).is_some()))?;
            run.expect(sim, high_o, &bits(&|r| golden.is_high(r, threshold)))?;
            run.expect_u64(sim, saturated_o, golden.saturated().into())?;
            sim.tick()?;
            let mut promoted = false;
            if is_update && update < rows && golden.score(update).is_some() {
                let before = golden.is_high(update, threshold);
                golden.add(update, amount);
                promoted = !before && golden.is_high(update, threshold);
            }
            if is_clear && clear < rows {
                golden.clear(clear);
            }
            if is_set && set < rows {
                golden.set(set);
            }
            if step {
                golden.step_of(head * part..(head + 1) * part);
            }
            run.expect_u64(sim, promoted_valid, promoted.into())?;
            if promoted {
                run.expect_u64(sim, promoted_row, update as u64)?;
            }
        }
        Ok(())
    }
}
