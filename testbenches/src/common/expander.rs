//! [`Expander`] against lists, as its counterpart.

use golden::common::expander::expand;
use hdl::blocks::common::Expander;

use super::compactor::masks;

/// The bench of an expander; a vector is one mask with one set of elements.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Expander) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (lanes, width) = (p.lanes, p.width);
    sim::kit::bench(p, move |sim, run| masks(sim, run, lanes as usize, width, expand))
}
