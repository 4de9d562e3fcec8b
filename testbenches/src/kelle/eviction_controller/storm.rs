//! Everything at once: an offer at the wrong time must wait, and a clear or a reset may come in any cycle.

use golden::kelle::eviction_controller::{Map, StoredAs};
use hdl::blocks::kelle::EvictionController;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Run, Sim};

use super::driver::Place;
use super::ports::Ports;

/// A token that is offered.
#[derive(Clone, Copy)]
struct Offer {
    recompute: bool,
    found: bool,
    victim: usize,
}

/// The current work of the controller.
#[derive(Clone, Copy)]
enum Work {
    Nothing,
    /// The token at this position is at the port.
    Walk(usize),
    /// The place is at the port after so many cycles.
    Place(u32, Place),
}

pub(super) struct Storm {
    slots: usize,
    places: usize,
    ports: Ports,
    rng: StimulusRng,
    golden: Map,
    work: Work,
    /// A token went, and no walk has closed its gap.
    hole: bool,
    walk: bool,
    offer: Option<Offer>,
    /// Odds of a consumer's ready, in eighths.
    eager: u8,
    seen: Seen,
}

/// Moments in which a clear came.
#[derive(Debug, Default)]
struct Seen {
    in_a_walk: u64,
    in_a_walk_with_a_hole: u64,
    before_a_place: u64,
    with_an_offer: u64,
}

impl Storm {
    pub(super) fn new(p: &EvictionController, sim: &Sim, run: &Run) -> sim::Result<Self> {
        let slots = p.slots as usize;
        Ok(Self {
            slots,
            places: slots.next_power_of_two(),
            ports: Ports::find(sim)?,
            rng: run.rng("storm"),
            golden: Map::new(slots, 0, 0),
            work: Work::Nothing,
            hole: false,
            walk: false,
            offer: None,
            eager: 8,
            seen: Seen::default(),
        })
    }

    pub(super) fn run(mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        run.reset(sim, 1)?;
        for _ in 0..4 * run.vectors() {
            if self.one_in(60 * self.slots) {
                run.reset(sim, 1)?;
                self.forget();
            }
            let clear = self.one_in(12 * self.slots);
            self.cycle(sim, run, clear)?;
        }
        let seen = &self.seen;
        if run.vectors() >= 500 * self.slots as u64 {
            let all = [seen.in_a_walk, seen.in_a_walk_with_a_hole, seen.before_a_place, seen.with_an_offer];
            run.expect_equal(sim, "clear_i", &format!("clears at all moments: {seen:?}"), true, !all.contains(&0))?;
        }
        Ok(())
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.rng.random_range(0..n) == 0
    }

    fn forget(&mut self) {
        self.golden.clear();
        (self.work, self.hole) = (Work::Nothing, false);
    }

    fn cycle(&mut self, sim: &mut Sim, run: &mut Run, clear: bool) -> sim::Result<()> {
        if !matches!(self.work, Work::Walk(_)) && self.one_in(4 * self.slots) {
            let most = self.rng.random_range(0..=self.slots);
            self.golden.protect(self.rng.random_range(0..=most / 2), self.rng.random_range(0..=most));
        }
        if self.one_in(50) {
            self.eager = [1, 4, 8][self.rng.random_range(0..3usize)];
        }
        // An offer stays until it is taken.
        self.walk |= self.one_in(if self.hole { 2 } else { 16 });
        if self.offer.is_none() && self.one_in(2) {
            let found = !self.one_in(8);
            self.offer =
                Some(Offer { recompute: self.rng.random(), found, victim: self.rng.random_range(0..self.places) });
        }
        let (entry_ready, place_ready) =
            (self.rng.random_range(0..8) < self.eager, self.rng.random_range(0..8) < self.eager);
        self.poke(sim, clear, entry_ready, place_ready);
        sim.settle()?;
        self.compare(sim, run, clear)?;
        sim.tick()?;
        self.follow(clear, entry_ready, place_ready);
        Ok(())
    }

    fn poke(&mut self, sim: &mut Sim, clear: bool, entry_ready: bool, place_ready: bool) {
        let (sink, window) = self.golden.protection();
        let ports = &self.ports;
        sim.poke_u64(ports.clear, clear.into());
        sim.poke_u64(ports.sink, sink as u64);
        sim.poke_u64(ports.window, window as u64);
        sim.poke_u64(ports.walk_valid, self.walk.into());
        sim.poke_u64(ports.insert_valid, self.offer.is_some().into());
        let noise = Offer {
            recompute: self.rng.random(),
            found: self.rng.random(),
            victim: self.rng.random_range(0..self.places),
        };
        let offer = self.offer.unwrap_or(noise);
        sim.poke_u64(ports.insert_recompute, offer.recompute.into());
        sim.poke_u64(ports.insert_found, offer.found.into());
        sim.poke_u64(ports.insert_victim, offer.victim as u64);
        sim.poke_u64(ports.entry_ready, entry_ready.into());
        sim.poke_u64(ports.place_ready, place_ready.into());
    }

    fn compare(&mut self, sim: &Sim, run: &mut Run, clear: bool) -> sim::Result<()> {
        let ports = &self.ports;
        let open = matches!(self.work, Work::Nothing) && !clear;
        run.expect_u64(sim, ports.walk_ready, open.into())?;
        run.expect_u64(sim, ports.insert_ready, (open && !self.hole && !self.walk).into())?;
        run.expect_u64(sim, ports.count, self.golden.entries().len() as u64)?;
        let walk = if let Work::Walk(position) = self.work { Some(position) } else { None };
        run.expect_u64(sim, ports.entry_valid, walk.is_some().into())?;
        if let Some(position) = walk {
            let entry = self.golden.entries()[position];
            run.expect_u64(sim, ports.entry_slot, entry.slot as u64)?;
            run.expect_u64(sim, ports.entry_recompute, (entry.stored_as == StoredAs::X).into())?;
            run.expect_u64(sim, ports.entry_guarded, self.golden.is_protected(position).into())?;
            run.expect_u64(sim, ports.entry_last, (position + 1 == self.golden.entries().len()).into())?;
        }
        let place = if let Work::Place(0, place) = self.work { Some(place) } else { None };
        run.expect_u64(sim, ports.place_valid, place.is_some().into())?;
        if let Some(place) = place {
            run.expect_u64(sim, ports.place_refused, place.refused.into())?;
            run.expect_u64(sim, ports.place_evicted, place.evicted.into())?;
            if !place.refused {
                run.expect_u64(sim, ports.place_slot, place.slot)?;
            }
        }
        Ok(())
    }

    /// The effects of the edge.
    fn follow(&mut self, clear: bool, entry_ready: bool, place_ready: bool) {
        if clear {
            self.seen.in_a_walk += u64::from(matches!(self.work, Work::Walk(p) if p > 0));
            self.seen.in_a_walk_with_a_hole += u64::from(self.hole && matches!(self.work, Work::Walk(p) if p > 0));
            self.seen.before_a_place += u64::from(matches!(self.work, Work::Place(..)));
            self.seen.with_an_offer += u64::from(self.offer.is_some());
            self.forget();
            return;
        }
        match self.work {
            Work::Nothing if self.walk => {
                self.walk = false;
                self.work = if self.golden.entries().is_empty() { Work::Nothing } else { Work::Walk(0) };
            }
            Work::Nothing if !self.hole => {
                if let Some(offer) = self.offer.take() {
                    self.insert(offer);
                }
            }
            Work::Walk(position) if entry_ready => {
                let ends = position + 1 == self.golden.entries().len();
                self.work = if ends { Work::Nothing } else { Work::Walk(position + 1) };
                self.hole &= !ends;
            }
            Work::Place(0, _) if place_ready => self.work = Work::Nothing,
            Work::Place(left, place) if left > 0 => self.work = Work::Place(left - 1, place),
            _ => {}
        }
    }

    fn insert(&mut self, offer: Offer) {
        let was_full = self.golden.is_full();
        let stored_as = if offer.recompute { StoredAs::X } else { StoredAs::Kv };
        let slot = self.golden.insert(offer.found.then_some(offer.victim), stored_as).ok();
        self.hole = was_full && slot.is_some();
        let place = Place { slot: slot.unwrap_or(0) as u64, evicted: self.hole, refused: slot.is_none() };
        self.work = Work::Place(self.hole.into(), place);
    }
}
