//! [`StreamFork`] cycle by cycle: takers of different speed, clears at random moments.

use golden::common::stream::stream_fork::StreamFork as Golden;
use hdl::blocks::common::StreamFork;
use rand::RngExt;
use sim::Bits;

/// The bench of a fork; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &StreamFork) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (width, outputs) = (p.width, p.outputs as usize);
    sim::kit::bench(p, move |sim, run| {
        let mut rng = run.rng("fork");
        let mut model = Golden::new(outputs);
        let (clear_i, valid_i, data_i) =
            (sim.input("clear_i")?, sim.input("input_valid_i")?, sim.input("input_data_i")?);
        let (ready_i, ready_o) = (sim.input("output_ready_i")?, sim.output("input_ready_o")?);
        let (valid_o, data_o) = (sim.output("output_valid_o")?, sim.output("output_data_o")?);
        let mut offer: Option<Bits> = None;
        let mut speed = vec![8; outputs];
        sim.poke_u64(clear_i, 0);
        // A beat that an output takes during a reset does not count.
        for _ in 0..32 {
            run.reset(sim, 1)?;
            sim.poke_u64(valid_i, 1);
            sim.settle()?;
            run.expect(sim, valid_o, &Bits::ones(outputs as u32))?;
        }
        for cycle in 0..run.vectors() {
            if cycle % 64 == 63 {
                speed.iter_mut().for_each(|s| *s = rng.random_range(1..=8));
            }
            if offer.is_none() && rng.random_range(0..4u8) > 0 {
                offer = Some(Bits::random(width, &mut rng));
            }
            let ready: Vec<bool> = speed.iter().map(|&s| rng.random_range(0..8) < s).collect();
            let clear = rng.random_range(0..64u8) == 0;
            sim.poke_u64(clear_i, clear.into());
            sim.poke_u64(valid_i, offer.is_some().into());
            sim.poke(data_i, offer.as_ref().unwrap_or(&Bits::random(width, &mut rng)));
            sim.poke(ready_i, &Bits::pack(1, ready.iter().map(|&r| r.into())));
            sim.settle()?;
            let (done, shown) = model.cycle(clear, offer.is_some(), &ready);
            run.expect_u64(sim, ready_o, done.into())?;
            run.expect(sim, valid_o, &Bits::pack(1, shown.iter().map(|&s| s.into())))?;
            if let Some(beat) = offer.clone().filter(|_| shown.contains(&true)) {
                run.expect(sim, data_o, &beat)?;
            }
            if done {
                offer = None;
            }
            sim.tick()?;
        }
        Ok(())
    })
}
