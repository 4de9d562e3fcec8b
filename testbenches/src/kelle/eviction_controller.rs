//! [`EvictionController`] under random walks and insertions, with pauses on all sides, and victims that are wrong.
//!
//! First one operation after the other, then a storm: walks and tokens are offered all the time, and everything is
//! cleared or reset at random moments.

mod driver;
mod ports;
mod storm;

pub use driver::{Driver, Entry, Place};
use golden::kelle::eviction_controller::{Map, StoredAs};
use hdl::blocks::kelle::EvictionController;
use rand::RngExt;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Wanted};
use sim::stimulus::StimulusRng;
use sim::{Run, Sim};

/// The bench of an eviction controller; a vector is one walk or one insertion, and then four cycles of the storm.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &EvictionController) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone() };
    sim::kit::bench(p, move |sim, run| {
        bench.run(sim, run)?;
        storm::Storm::new(&bench.p, sim, run)?.run(sim, run)
    })
}

/// Tokens of a user, one after the other; a vector is one.
pub const TENSORS: FromTensors<EvictionController> = FromTensors {
    wanted: |p| {
        let tokens = vec![Extent::Named("tokens")];
        let slots = i64::from(p.slots);
        let of = |name, meaning, range, shape| Wanted { name, meaning, numbers: Numbers::Integers(range), shape };
        Ok(vec![
            of("protected", "protected tokens: the first ones, the last ones", 0..=slots, vec![Extent::Exactly(2)]),
            of("recompute", "1 for a token that is stored as the layer's input", 0..=1, tokens.clone()),
            of("victims", "position of the token that goes for each token, -1 without one", -1..=slots - 1, tokens),
        ])
    },
    bench: |p, tensors| {
        let slots = p.slots as usize;
        let only = |name| tensors.integers(name).concat();
        let protected = only("protected");
        let recompute = only("recompute");
        let victims = only("victims");
        let (sink, window) = (protected[0] as usize, protected[1] as usize);
        // Without a victim its position means nothing.
        let victim = |&victim: &i64| (victim >= 0, victim.max(0) as usize);
        let tokens: Vec<(bool, (bool, usize))> =
            recompute.iter().map(|&one| one == 1).zip(victims.iter().map(victim)).collect();
        let count = tokens.len() as u64;
        let bench = sim::kit::bench(p, move |sim, run| {
            let mut rng = run.rng("noise");
            let mut driver = Driver::find(sim)?;
            let mut golden = Map::new(slots, sink, window);
            run.reset(sim, 2)?;
            driver.clear(sim, sink, window)?;
            for &(recompute, victim) in &tokens {
                if insert(&mut golden, (sim, run), (&driver, &mut rng), recompute, victim)? {
                    walk(&golden, (sim, run), (&mut driver, &mut rng))?;
                }
            }
            walk(&golden, (sim, run), (&mut driver, &mut rng))
        })?;
        Ok((bench, count))
    },
};

/// A walk over all tokens, and what it must show.
fn walk(
    golden: &Map,
    (sim, run): (&mut Sim, &mut Run),
    (driver, rng): (&mut Driver, &mut StimulusRng),
) -> sim::Result<()> {
    driver.pauses = rng.random();
    let entries = driver.walk(sim, run, rng, golden.entries().len())?;
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
    Ok(())
}

/// A new token with its victim, if one was `found`, and where it must go. Returns whether one left for it: a walk must
/// follow.
fn insert(
    golden: &mut Map,
    (sim, run): (&mut Sim, &mut Run),
    (driver, rng): (&Driver, &mut StimulusRng),
    recompute: bool,
    (found, victim): (bool, usize),
) -> sim::Result<bool> {
    let was_full = golden.is_full();
    let stored_as = if recompute { StoredAs::X } else { StoredAs::Kv };
    let expected = golden.insert(found.then_some(victim), stored_as);
    let got = driver.insert(sim, rng, recompute, found, victim)?;
    run.expect_equal(sim, "place_refused_o", "", expected.is_err(), got.refused)?;
    if let Ok(slot) = expected {
        run.expect_equal(sim, "place_slot_o", "", slot as u64, got.slot)?;
        run.expect_equal(sim, "place_evicted_o", "", was_full, got.evicted)?;
    }
    let count_o = sim.output("count_o")?;
    run.expect_u64(sim, count_o, golden.entries().len() as u64)?;
    Ok(expected.is_ok() && was_full)
}

struct Bench {
    p: EvictionController,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("tokens");
        let slots = self.p.slots as usize;
        let mut driver = Driver::find(sim)?;
        let mut golden = Map::new(slots, 0, 0);
        let mut hole = false;
        run.reset(sim, 2)?;
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
                walk(&golden, (sim, run), (&mut driver, &mut rng))?;
                hole = false;
                continue;
            }
            let recompute: bool = rng.random();
            let found = rng.random_range(0..8u8) != 0;
            // Any position that the port can carry.
            let victim = rng.random_range(0..1usize << self.p.slot().width);
            hole |= insert(&mut golden, (sim, run), (&driver, &mut rng), recompute, (found, victim))?;
        }
        Ok(())
    }
}
