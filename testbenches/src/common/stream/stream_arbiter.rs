//! [`StreamArbiter`] cycle by cycle: all streams at once, pauses within packets, clears at random moments.

use golden::common::stream::stream_arbiter::{Rules, StreamArbiter as Golden};
use hdl::blocks::common::StreamArbiter;
use hdl::blocks::common::stream::Arbitration;
use rand::RngExt;
use sim::Bits;

/// The bench of an arbiter; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &StreamArbiter) -> anyhow::Result<Box<dyn sim::Bench>> {
    let rules = Rules { round_robin: p.arbitration == Arbitration::RoundRobin, packets: p.packets };
    let (width, inputs) = (p.width, p.inputs as usize);
    sim::kit::bench(p, move |sim, run| {
        let mut rng = run.rng("arbiter");
        let mut model = Golden::new(inputs, rules);
        let (clear_i, valid_i, data_i) =
            (sim.input("clear_i")?, sim.input("input_valid_i")?, sim.input("input_data_i")?);
        let (last_i, ready_i) = (sim.input("input_last_i")?, sim.input("output_ready_i")?);
        let (ready_o, valid_o) = (sim.output("input_ready_o")?, sim.output("output_valid_o")?);
        let (data_o, index_o) = (sim.output("output_data_o")?, sim.output("output_index_o")?);
        let last_o = sim.output("output_last_o")?;
        let mut offers: Vec<Option<(Bits, bool)>> = vec![None; inputs];
        let mut density = 8;
        run.only_while("output_valid_o", &["output_data_o", "output_index_o", "output_last_o"]);
        sim.poke_u64(clear_i, 0);
        run.reset(sim, 2)?;
        for cycle in 0..run.vectors() {
            if cycle % 64 == 63 {
                density = rng.random_range(1..=8);
            }
            for offer in &mut offers {
                if offer.is_none() && rng.random_range(0..8) < density {
                    *offer = Some((Bits::random(width, &mut rng), rng.random_range(0..3u8) == 0));
                }
            }
            let ready = rng.random_range(0..4u8) > 0;
            let clear = rng.random_range(0..100u8) == 0;
            sim.poke_u64(clear_i, clear.into());
            sim.poke_u64(ready_i, ready.into());
            sim.poke(valid_i, &Bits::pack(1, offers.iter().map(|o| o.is_some().into())));
            // Noise where nothing is offered.
            let mut data = Bits::random(width * inputs as u32, &mut rng);
            let mut last = Bits::random(inputs as u32, &mut rng);
            for (k, (bits, ends)) in offers.iter().enumerate().filter_map(|(k, o)| Some((k as u32, o.as_ref()?))) {
                data.set_slice(k * width, bits);
                last.set_bit(k, *ends);
            }
            sim.poke(data_i, &data);
            sim.poke(last_i, &last);
            sim.settle()?;
            let ends: Vec<Option<bool>> = offers.iter().map(|o| o.as_ref().map(|o| o.1)).collect();
            let shown = model.cycle(clear, &ends, ready);
            run.expect_u64(sim, valid_o, shown.is_some().into())?;
            let taken = shown.filter(|_| ready);
            run.expect(sim, ready_o, &Bits::pack(1, (0..inputs).map(|k| (taken == Some(k)).into())))?;
            if let Some((k, (bits, ends))) = shown.and_then(|k| Some((k, offers[k].clone()?))) {
                run.expect(sim, data_o, &bits)?;
                run.expect_u64(sim, index_o, k as u64)?;
                run.expect_u64(sim, last_o, ends.into())?;
            }
            if let Some(k) = taken {
                offers[k] = None;
            }
            sim.tick()?;
        }
        Ok(())
    })
}
