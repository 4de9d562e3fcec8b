//! A decode trace of a real model through score file, evictor and eviction controller: the victims must be the golden ones.
//!
//! Three models run side by side. The bench stands for the wires between them, and for the array. It hands the products
//! of 8-bit queries and keys to the evictor with the array's skew, and to the score file, one in each cycle.

use golden::kelle::decode::{Hardware, Numbers, budget};
use golden::kelle::eviction_controller::Refusal;
use hdl::blocks::kelle::{EvictionController, ScoreRegisterFile, SystolicEvictor};
use sim::{Bits, BuildOptions, Design, Error, Model, Run, Sim};

use super::eviction_controller::Driver;

/// Rows of the array.
const ROWS: usize = 32;

/// Queries and keys of a text, 8 bits each.
#[derive(Clone, Debug)]
pub struct Text {
    /// A query for each token.
    pub queries: Vec<Vec<i64>>,
    /// Their keys.
    pub keys: Vec<Vec<i64>>,
}

/// The bench of a whole text, for the design of an [`EvictionController`] with `tokens` slots.
///
/// # Errors
/// Blocks that do not elaborate.
pub fn bench(text: Text, tokens: usize, numbers: Numbers) -> anyhow::Result<Box<dyn sim::Bench>> {
    let file = ScoreRegisterFile {
        rows: tokens as u32,
        score_width: numbers.score_width,
        amount_width: numbers.amount_width,
        heads: 1,
    };
    let evictor = SystolicEvictor {
        rows: ROWS as u32,
        score_width: numbers.score_width,
        amount_width: numbers.amount_width,
        passes: tokens.div_ceil(ROWS) as u32,
    };
    let file = Design::from(&hdl::lang::elaborate(&file)?);
    let evictor = Design::from(&hdl::lang::elaborate(&evictor)?);
    let bench = Bench { text, tokens, numbers, file, evictor };
    sim::kit::bench(&EvictionController { slots: tokens as u32 }, move |sim, run| bench.run(sim, run))
}

struct Bench {
    text: Text,
    tokens: usize,
    numbers: Numbers,
    file: Design,
    evictor: Design,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("pauses");
        let budget = budget(self.tokens);
        let Text { queries, keys } = self.text.clone();
        let mut golden = Hardware::new(queries, keys, budget, self.numbers).map_err(Error::Unsupported)?;
        let mut file = Model::build(&self.file, &BuildOptions::default())?.instance()?;
        let mut evictor = Model::build(&self.evictor, &BuildOptions::default())?.instance()?;
        let driver = Driver::find(sim)?;
        for sim in [&mut *sim, &mut file, &mut evictor] {
            run.reset(sim, 2)?;
        }
        driver.clear(sim, budget.sink, budget.window)?;
        for query in 0..self.text.queries.len() {
            let entries = driver.walk(sim, run, &mut rng, golden.tokens().len())?;
            let amounts = golden.amounts(query);
            let slots: Vec<u64> = entries.iter().map(|e| e.slot).collect();
            let scores = read(&mut file, &slots)?;
            for ((slot, score), entry) in slots.iter().zip(&scores).zip(golden.map().entries()) {
                run.expect_equal(sim, "entry_slot_o", "", entry.slot as u64, *slot)?;
                run.expect_equal(&file, "read_score_o", "", golden.score(entry.slot), *score)?;
            }
            let guarded: Vec<bool> = entries.iter().map(|e| e.guarded).collect();
            let found = self.pass(&mut evictor, &mut file, &scores, &guarded, &amounts, &slots)?;
            let expected = golden.step(query);
            let place = driver.insert(sim, &mut rng, false, found.is_some(), found.unwrap_or(0))?;
            let what = format!("step {query}");
            run.expect_equal(sim, "place_refused_o", &what, expected == Err(Refusal::AllProtected), place.refused)?;
            if let Ok(Some(position)) = expected {
                run.expect_equal(
                    &evictor,
                    "victim_row_o",
                    &what,
                    format!("{:?}", Some(position)),
                    format!("{found:?}"),
                )?;
            }
            enter(&mut file, place.slot)?;
        }
        Ok(())
    }
}

/// Reads the scores of some slots.
fn read(file: &mut Sim, slots: &[u64]) -> sim::Result<Vec<i64>> {
    let (row, score) = (file.input("read_row_i")?, file.output("read_score_o")?);
    let mut scores = Vec::new();
    for &slot in slots {
        file.poke_u64(row, slot);
        file.settle()?;
        scores.push(file.peek_u64(score) as i64);
    }
    Ok(scores)
}

/// The new token's row, and the end of the step.
fn enter(file: &mut Sim, slot: u64) -> sim::Result<()> {
    let (set, row, step) = (file.input("set_valid_i")?, file.input("set_row_i")?, file.input("step_i")?);
    file.poke_u64(set, 1);
    file.poke_u64(row, slot);
    file.poke_u64(step, 1);
    file.tick()?;
    file.poke_u64(set, 0);
    file.poke_u64(step, 0);
    Ok(())
}

impl Bench {
    /// All passes of a step, one score a cycle. Returns the victim's position.
    fn pass(
        &self,
        evictor: &mut Sim,
        file: &mut Sim,
        scores: &[i64],
        guarded: &[bool],
        amounts: &[i64],
        slots: &[u64],
    ) -> sim::Result<Option<usize>> {
        let (load, load_score) = (evictor.input("load_i")?, evictor.input("load_score_i")?);
        let (load_protected, pass_i) = (evictor.input("load_protected_i")?, evictor.input("pass_i")?);
        let amount_i = evictor.input("amount_i")?;
        let (valid, found) = (evictor.output("victim_valid_o")?, evictor.output("victim_found_o")?);
        let row_o = evictor.output("victim_row_o")?;
        let (update, update_row) = (file.input("update_valid_i")?, file.input("update_row_i")?);
        let update_amount = file.input("update_amount_i")?;
        let passes = amounts.len().div_ceil(ROWS).max(1);
        let several = self.tokens > ROWS;
        if several {
            let passes_i = evictor.input("passes_i")?;
            evictor.poke_u64(passes_i, passes as u64 - 1);
        }
        let one = |width: u32, row: usize, value: u64| {
            let mut bits = Bits::zero(width * ROWS as u32);
            bits.set_slice(width * row as u32, &Bits::truncated(width, value));
            bits
        };
        let mut victim = None;
        // Row r of pass n works in cycle 32 n + r, and is loaded in the cycle before.
        for cycle in 0..=passes * ROWS {
            let (row, next) = (cycle % ROWS, (cycle + ROWS - 1) % ROWS);
            // Cycle 0 only loads.
            let working = cycle.checked_sub(1);
            let loading = (cycle < passes * ROWS).then_some(cycle);
            evictor.poke(load, &one(1, row, loading.is_some().into()));
            let score = loading.and_then(|p| scores.get(p)).copied().unwrap_or(0);
            evictor.poke(load_score, &one(self.numbers.score_width, row, score as u64));
            let guard = loading.and_then(|p| guarded.get(p)).copied().unwrap_or(true);
            evictor.poke(load_protected, &one(1, row, guard.into()));
            evictor.poke_u64(pass_i, working.is_some_and(|w| w % ROWS == 0).into());
            let amount = working.and_then(|p| amounts.get(p)).copied();
            let mask = (1u64 << self.numbers.amount_width) - 1;
            evictor.poke(amount_i, &one(self.numbers.amount_width, next, amount.unwrap_or(0) as u64 & mask));
            file.poke_u64(update, amount.is_some().into());
            file.poke_u64(update_row, working.and_then(|p| slots.get(p)).copied().unwrap_or(0));
            file.poke_i64(update_amount, amount.unwrap_or(0));
            evictor.tick()?;
            file.tick()?;
            file.poke_u64(update, 0);
        }
        // The cycle after the last row.
        evictor.poke_u64(pass_i, 0);
        evictor.settle()?;
        if evictor.peek_u64(valid) == 0 {
            return Err(Error::Unsupported("the victim is late".into()));
        }
        if evictor.peek_u64(found) != 0 {
            let pass = if several { evictor.peek_u64(evictor.output("victim_pass_o")?) } else { 0 };
            victim = Some(pass as usize * ROWS + evictor.peek_u64(row_o) as usize);
        }
        evictor.tick()?;
        Ok(victim)
    }
}
