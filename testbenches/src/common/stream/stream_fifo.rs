//! [`StreamFifo`] cycle by cycle.

use golden::common::stream::stream_fifo::StreamFifo as Golden;
use golden::common::stream::{Inputs, Queue, Shown};
use hdl::blocks::common::StreamFifo;
use hdl::blocks::common::stream::FifoStorage;
use sim::Bits;

/// The bench of a FIFO; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &StreamFifo) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let memory = p.storage != FifoStorage::Registers;
        let mut model = Golden::new(p.depth as usize, memory);
        super::queue(sim, run, p.width, &mut model, true)?;
        almost_full(sim, run, &p, &mut Golden::new(p.depth as usize, memory))
    })
}

/// Fills it beat by beat, and empties it.
fn almost_full(sim: &mut sim::Sim, run: &mut sim::Run, p: &StreamFifo, model: &mut dyn Queue<Bits>) -> sim::Result<()> {
    let (valid_i, ready_i) = (sim.input("input_valid_i")?, sim.input("output_ready_i")?);
    let (clear_i, data_i) = (sim.input("clear_i")?, sim.input("input_data_i")?);
    let almost_full_o = sim.output("almost_full_o")?;
    sim.poke_u64(clear_i, 0);
    run.reset(sim, 1)?;
    for cycle in 0..2 * u64::from(p.depth) + 4 {
        let fill = cycle < u64::from(p.depth) + 2;
        let data = Bits::zero(p.width);
        let now = Inputs { clear: false, offer: fill.then(|| data.clone()), ready: !fill };
        sim.poke_u64(valid_i, fill.into());
        sim.poke(data_i, &data);
        sim.poke_u64(ready_i, (!fill).into());
        sim.settle()?;
        let Shown { level, .. } = model.show(&now);
        run.expect_u64(sim, almost_full_o, (level as u64 + u64::from(p.slack) >= u64::from(p.depth)).into())?;
        model.edge(&now);
        sim.tick()?;
    }
    Ok(())
}
