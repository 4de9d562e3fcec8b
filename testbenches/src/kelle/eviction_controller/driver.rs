//! Operates an eviction controller.

use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Out, Run, Sim};

use super::ports::Ports;

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
    pub(super) ports: Ports,
}

/// Cycles without an answer after which the design is stuck.
const PATIENCE: u32 = 100;

impl Driver {
    /// Finds the ports.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn find(sim: &Sim) -> sim::Result<Self> {
        Ok(Self { pauses: false, ports: Ports::find(sim)? })
    }

    /// Forgets all tokens and sets the protected ones.
    ///
    /// # Errors
    /// The simulator's.
    pub fn clear(&self, sim: &mut Sim, sink: usize, window: usize) -> sim::Result<()> {
        sim.poke_u64(self.ports.clear, 1);
        sim.poke_u64(self.ports.sink, sink as u64);
        sim.poke_u64(self.ports.window, window as u64);
        sim.tick()?;
        sim.poke_u64(self.ports.clear, 0);
        Ok(())
    }

    /// Waits until `ready` is high with the poked values, and makes the transfer.
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

    /// Returns the entries of one walk; there must be `count`.
    ///
    /// # Errors
    /// The simulator's, a mismatch.
    pub fn walk(&self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng, count: usize) -> sim::Result<Vec<Entry>> {
        sim.poke_u64(self.ports.walk_valid, 1);
        self.transfer(sim, self.ports.walk_ready)?;
        sim.poke_u64(self.ports.walk_valid, 0);
        let mut entries: Vec<Entry> = Vec::new();
        let mut waiting: Option<Entry> = None;
        while entries.len() < count {
            let ready = !self.pauses || rng.random();
            sim.poke_u64(self.ports.entry_ready, ready.into());
            sim.settle()?;
            // One entry a cycle, from the cycle after the start on.
            run.expect_equal(
                sim,
                "entry_valid_o",
                &format!("token {}", entries.len()),
                1,
                sim.peek_u64(self.ports.entry_valid),
            )?;
            let bit = |port| sim.peek_u64(port) != 0;
            let entry = Entry {
                slot: sim.peek_u64(self.ports.entry_slot),
                recompute: bit(self.ports.entry_recompute),
                guarded: bit(self.ports.entry_guarded),
                last: bit(self.ports.entry_last),
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
        sim.poke_u64(self.ports.entry_ready, 1);
        sim.settle()?;
        run.expect_u64(sim, self.ports.entry_valid, 0)?;
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
        sim.poke_u64(self.ports.insert_valid, 1);
        sim.poke_u64(self.ports.insert_recompute, recompute.into());
        sim.poke_u64(self.ports.insert_found, found.into());
        sim.poke_u64(self.ports.insert_victim, victim as u64);
        self.transfer(sim, self.ports.insert_ready)?;
        sim.poke_u64(self.ports.insert_valid, 0);
        sim.poke_u64(self.ports.insert_victim, rng.random_range(0..=victim as u64));
        sim.poke_u64(self.ports.place_ready, 0);
        while self.pauses && rng.random() {
            sim.tick()?;
        }
        sim.poke_u64(self.ports.place_ready, 1);
        for _ in 0..PATIENCE {
            sim.settle()?;
            let bit = |port| sim.peek_u64(port) != 0;
            let place = Place {
                slot: sim.peek_u64(self.ports.place_slot),
                evicted: bit(self.ports.place_evicted),
                refused: bit(self.ports.place_refused),
            };
            let valid = bit(self.ports.place_valid);
            sim.tick()?;
            if valid {
                return Ok(place);
            }
        }
        Err(sim::Error::Unsupported("`place_valid_o` stays low".into()))
    }
}
