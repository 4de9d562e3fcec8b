//! [`EventCounters`] under rare and dense events, with clears at any time.

use golden::common::shell::event_counters::EventCounter;
use hdl::blocks::common::EventCounters;
use rand::RngExt;
use sim::Bits;

/// The bench of the counters; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &EventCounters) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (counters, width, segment, most) = (p.counters as usize, p.width, p.segment, p.most);
    sim::kit::bench(p, move |sim, run| {
        let mut rng = run.rng("events");
        let event_width = u32::BITS - most.leading_zeros();
        let mut golden = vec![EventCounter::new(width, segment); counters];
        let (clear_i, event_i, count_o) = (sim.input("clear_i")?, sim.input("event_i")?, sim.output("count_o")?);
        sim.reset(1)?;
        for _ in 0..run.vectors() {
            let clear = rng.random_range(0..400u16) == 0;
            let mut events = || if rng.random_range(0..8u8) == 0 { 0 } else { rng.random_range(1..=u64::from(most)) };
            let events: Vec<u64> = (0..counters).map(|_| events()).collect();
            sim.poke_u64(clear_i, clear.into());
            sim.poke(event_i, &Bits::pack(event_width, events.iter().copied()));
            sim.tick()?;
            golden.iter_mut().zip(&events).for_each(|(counter, &events)| counter.cycle(clear, events));
            let expected = Bits::pack(width, golden.iter().map(EventCounter::shown));
            run.expect(sim, count_o, &expected)?;
        }
        Ok(())
    })
}
