//! [`PriorityEncoder`] of words of all kinds.

use golden::common::arith::priority_encoder::lowest;
use hdl::blocks::common::PriorityEncoder;

/// The bench of a priority encoder; a vector is a word.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &PriorityEncoder) -> anyhow::Result<Box<dyn sim::Bench>> {
    let width = p.width;
    sim::kit::bench(p, move |sim, run| {
        let (data_i, found_o, index_o) = (sim.input("data_i")?, sim.output("found_o")?, sim.output("index_o")?);
        for word in super::words(width, run.vectors(), &mut run.rng("words")) {
            sim.poke(data_i, &word);
            sim.settle()?;
            let found = lowest(&super::bits(&word));
            run.expect_u64(sim, found_o, found.is_some().into())?;
            run.expect_u64(sim, index_o, found.unwrap_or(0) as u64)?;
        }
        Ok(())
    })
}
