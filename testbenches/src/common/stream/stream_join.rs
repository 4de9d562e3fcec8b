//! [`StreamJoin`]: random offers and pauses.

use golden::common::stream::stream_join::cycle;
use hdl::blocks::common::StreamJoin;
use rand::RngExt;
use sim::Bits;

/// The bench of a join; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &StreamJoin) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (width, inputs) = (p.width, p.inputs);
    sim::kit::bench(p, move |sim, run| {
        let mut rng = run.rng("join");
        let (valid_i, data_i) = (sim.input("input_valid_i")?, sim.input("input_data_i")?);
        let (ready_i, ready_o) = (sim.input("output_ready_i")?, sim.output("input_ready_o")?);
        let (valid_o, data_o) = (sim.output("output_valid_o")?, sim.output("output_data_o")?);
        for _ in 0..run.vectors() {
            let valid: Vec<bool> = (0..inputs).map(|_| rng.random_range(0..4u8) > 0).collect();
            let ready: bool = rng.random();
            let data = Bits::random(width * inputs, &mut rng);
            sim.poke(valid_i, &Bits::pack(1, valid.iter().map(|&v| v.into())));
            sim.poke(data_i, &data);
            sim.poke_u64(ready_i, ready.into());
            sim.settle()?;
            let (offered, taken) = cycle(&valid, ready);
            run.expect_u64(sim, valid_o, offered.into())?;
            run.expect(sim, ready_o, &Bits::pack(1, (0..inputs).map(|_| taken.into())))?;
            if offered {
                run.expect(sim, data_o, &data)?;
            }
        }
        Ok(())
    })
}
