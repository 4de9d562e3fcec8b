//! [`LeadingZeros`] of words of all kinds.

use golden::common::arith::leading_zeros::leading_zeros;
use hdl::blocks::common::LeadingZeros;

/// The bench of `leading_zeros`; a vector is a word.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &LeadingZeros) -> anyhow::Result<Box<dyn sim::Bench>> {
    let width = p.width;
    sim::kit::bench(p, move |sim, run| {
        let (data_i, count_o) = (sim.input("data_i")?, sim.output("count_o")?);
        for word in super::words(width, run.vectors(), &mut run.rng("words")) {
            sim.poke(data_i, &word);
            sim.settle()?;
            run.expect_u64(sim, count_o, leading_zeros(&super::bits(&word)) as u64)?;
        }
        Ok(())
    })
}
