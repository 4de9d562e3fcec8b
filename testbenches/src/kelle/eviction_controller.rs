//! [`EvictionController`] under random walks and insertions, with pauses on all sides, and victims that are wrong.

use golden::kelle::eviction::{Map, StoredAs};
use hdl::blocks::kelle::EvictionController;
use hdl::lang::Block;
use rand::RngExt;
use serde_json::Value;
use sim::stimulus::StimulusRng;
use sim::{In, Out, Run, Sim};

/// The bench of an eviction controller; a vector is one walk or one insertion.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &EvictionController) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    Ok(Box::new(Bench { p: p.clone(), parameters: serde_json::to_value(p)? }))
}

struct Bench {
    p: EvictionController,
    parameters: Value,
}

impl sim::Bench for Bench {
    fn block(&self) -> &str {
        EvictionController::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("tokens");
        let slots = self.p.slots as usize;
        let mut driver = Driver::find(sim)?;
        let count_o = sim.output("count_o")?;
        let mut golden = Map::new(slots, 0, 0);
        let mut hole = false;
        sim.reset(2)?;
        for vector in 0..run.vectors() {
            if vector == 0 || rng.random_range(0..(6 * slots as u32)) == 0 {
                let (sink, window) = (rng.random_range(0..=slots), rng.random_range(0..=slots));
                // Mostly some tokens may go.
                let (sink, window) = if vector % 4 == 3 { (sink, window) } else { (sink / 3, window / 2) };
                driver.clear(sim, sink, window)?;
                golden = Map::new(slots, sink, window);
                hole = false;
            }
            if hole || rng.random_range(0..4u8) == 0 {
                driver.pauses = rng.random();
                let entries = driver.walk(sim, run, &mut rng, golden.entries().len())?;
                for (position, got) in entries.iter().enumerate() {
                    let entry = golden.entries()[position];
                    let last = position + 1 == golden.entries().len();
                    let expected = Entry {
                        slot: entry.slot as u64,
                        recompute: entry.stored_as == StoredAs::X,
                        guarded: golden.is_protected(position),
                        last,
                    };
                    let place = format!("token {position}");
                    run.expect_equal(sim, "entry_slot_o", &place, format!("{expected:?}"), format!("{got:?}"))?;
                }
                hole = false;
                continue;
            }
            let recompute: bool = rng.random();
            let found = rng.random_range(0..8u8) != 0;
            // Any position that the port can carry.
            let victim = rng.random_range(0..1usize << self.p.slot().width);
            let was_full = golden.is_full();
            let stored_as = if recompute { StoredAs::X } else { StoredAs::Kv };
            let expected = golden.insert(found.then_some(victim), stored_as);
            let got = driver.insert(sim, &mut rng, recompute, found, victim)?;
            run.expect_equal(sim, "place_refused_o", "", expected.is_err(), got.refused)?;
            if let Ok(slot) = expected {
                run.expect_equal(sim, "place_slot_o", "", slot as u64, got.slot)?;
                run.expect_equal(sim, "place_evicted_o", "", was_full, got.evicted)?;
                hole = was_full;
            }
            run.expect_u64(sim, count_o, golden.entries().len() as u64)?;
        }
        Ok(())
    }
}

/// An entry of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Slot in the cache.
    pub slot: u64,
    /// Stored as the layer's input.
    pub recompute: bool,
    /// Protected from eviction.
    pub guarded: bool,
    /// The youngest.
    pub last: bool,
}

/// Where a new token went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its slot.
    pub slot: u64,
    /// Another one had to go for it.
    pub evicted: bool,
    /// It was not taken.
    pub refused: bool,
}

/// Operates an eviction controller.
pub struct Driver {
    /// Entries are taken with pauses.
    pub pauses: bool,
    clear: In,
    sink: In,
    window: In,
    walk_valid: In,
    walk_ready: Out,
    entry_valid: Out,
    entry_ready: In,
    entry_slot: Out,
    entry_recompute: Out,
    entry_guarded: Out,
    entry_last: Out,
    insert_valid: In,
    insert_ready: Out,
    insert_recompute: In,
    insert_found: In,
    insert_victim: In,
    place_valid: Out,
    place_ready: In,
    place_slot: Out,
    place_evicted: Out,
    place_refused: Out,
}

/// Cycles without an answer after which the design is stuck.
const PATIENCE: u32 = 100;

impl Driver {
    /// Finds the ports.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn find(sim: &Sim) -> sim::Result<Self> {
        Ok(Self {
            pauses: false,
            clear: sim.input("clear_i")?,
            sink: sim.input("sink_i")?,
            window: sim.input("window_i")?,
            walk_valid: sim.input("walk_valid_i")?,
            walk_ready: sim.output("walk_ready_o")?,
            entry_valid: sim.output("entry_valid_o")?,
            entry_ready: sim.input("entry_ready_i")?,
            entry_slot: sim.output("entry_slot_o")?,
            entry_recompute: sim.output("entry_recompute_o")?,
            entry_guarded: sim.output("entry_guarded_o")?,
            entry_last: sim.output("entry_last_o")?,
            insert_valid: sim.input("insert_valid_i")?,
            insert_ready: sim.output("insert_ready_o")?,
            insert_recompute: sim.input("insert_recompute_i")?,
            insert_found: sim.input("insert_found_i")?,
            insert_victim: sim.input("insert_victim_i")?,
            place_valid: sim.output("place_valid_o")?,
            place_ready: sim.input("place_ready_i")?,
            place_slot: sim.output("place_slot_o")?,
            place_evicted: sim.output("place_evicted_o")?,
            place_refused: sim.output("place_refused_o")?,
        })
    }

    /// Forgets all tokens and sets what is protected.
    ///
    /// # Errors
    /// The simulator's.
    pub fn clear(&self, sim: &mut Sim, sink: usize, window: usize) -> sim::Result<()> {
        sim.poke_u64(self.clear, 1);
        sim.poke_u64(self.sink, sink as u64);
        sim.poke_u64(self.window, window as u64);
        sim.tick()?;
        sim.poke_u64(self.clear, 0);
        Ok(())
    }

    /// Waits until `ready` is high with what is poked, and makes the transfer.
    fn transfer(&self, sim: &mut Sim, ready: Out) -> sim::Result<()> {
        for _ in 0..PATIENCE {
            sim.settle()?;
            let done = sim.peek_u64(ready) != 0;
            sim.tick()?;
            if done {
                return Ok(());
            }
        }
        Err(sim::Error::Unsupported(format!("`{}` stays low", sim.port_of(ready).name)))
    }

    /// One walk: its entries, of which there must be `count`.
    ///
    /// # Errors
    /// The simulator's, a mismatch.
    pub fn walk(&self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng, count: usize) -> sim::Result<Vec<Entry>> {
        sim.poke_u64(self.walk_valid, 1);
        self.transfer(sim, self.walk_ready)?;
        sim.poke_u64(self.walk_valid, 0);
        let mut entries: Vec<Entry> = Vec::new();
        let mut waiting: Option<Entry> = None;
        while entries.len() < count {
            let ready = !self.pauses || rng.random();
            sim.poke_u64(self.entry_ready, ready.into());
            sim.settle()?;
            // One entry a cycle, from the cycle after the start on.
            run.expect_equal(
                sim,
                "entry_valid_o",
                &format!("token {}", entries.len()),
                1,
                sim.peek_u64(self.entry_valid),
            )?;
            let bit = |port| sim.peek_u64(port) != 0;
            let entry = Entry {
                slot: sim.peek_u64(self.entry_slot),
                recompute: bit(self.entry_recompute),
                guarded: bit(self.entry_guarded),
                last: bit(self.entry_last),
            };
            if let Some(waiting) = waiting {
                run.expect_equal(sim, "entry_slot_o", "stays", format!("{waiting:?}"), format!("{entry:?}"))?;
            }
            waiting = (!ready).then_some(entry);
            if ready {
                entries.push(entry);
            }
            sim.tick()?;
        }
        sim.poke_u64(self.entry_ready, 1);
        sim.settle()?;
        run.expect_u64(sim, self.entry_valid, 0)?;
        Ok(entries)
    }

    /// A new token.
    ///
    /// # Errors
    /// The simulator's.
    pub fn insert(
        &self,
        sim: &mut Sim,
        rng: &mut StimulusRng,
        recompute: bool,
        found: bool,
        victim: usize,
    ) -> sim::Result<Place> {
        sim.poke_u64(self.insert_valid, 1);
        sim.poke_u64(self.insert_recompute, recompute.into());
        sim.poke_u64(self.insert_found, found.into());
        sim.poke_u64(self.insert_victim, victim as u64);
        self.transfer(sim, self.insert_ready)?;
        sim.poke_u64(self.insert_valid, 0);
        sim.poke_u64(self.insert_victim, rng.random_range(0..=victim as u64));
        sim.poke_u64(self.place_ready, 0);
        while self.pauses && rng.random() {
            sim.tick()?;
        }
        sim.poke_u64(self.place_ready, 1);
        for _ in 0..PATIENCE {
            sim.settle()?;
            let bit = |port| sim.peek_u64(port) != 0;
            let place = Place {
                slot: sim.peek_u64(self.place_slot),
                evicted: bit(self.place_evicted),
                refused: bit(self.place_refused),
            };
            let valid = bit(self.place_valid);
            sim.tick()?;
            if valid {
                return Ok(place);
            }
        }
        Err(sim::Error::Unsupported("`place_valid_o` stays low".into()))
    }
}
