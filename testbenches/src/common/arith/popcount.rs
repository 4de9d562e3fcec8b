//! [`Popcount`] of words of all kinds.

use golden::common::arith::popcount::popcount;
use hdl::blocks::common::Popcount;

/// The bench of `popcount`; a vector is a word.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Popcount) -> anyhow::Result<Box<dyn sim::Bench>> {
    let width = p.width;
    sim::kit::bench(p, move |sim, run| {
        let (data_i, count_o) = (sim.input("data_i")?, sim.output("count_o")?);
        for word in super::words(width, run.vectors(), &mut run.rng("words")) {
            sim.poke(data_i, &word);
            sim.settle()?;
            run.expect_u64(sim, count_o, popcount(&super::bits(&word)) as u64)?;
        }
        Ok(())
    })
}
