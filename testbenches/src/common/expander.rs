//! [`Expander`] against lists, as its counterpart.

use golden::common::expander::expand;
use hdl::blocks::common::Expander;

use super::compactor::masks;

/// The bench of an expander; a vector is one mask with one set of elements.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Expander) -> anyhow::Result<Box<dyn sim::Bench>> {
    let size = (p.lanes as usize, p.width);
    let defined = if p.open {
        |mask: &[bool], got: Vec<u64>| {
            got.into_iter().zip(mask).map(|(x, &placed)| if placed { x } else { 0 }).collect()
        }
    } else {
        |_: &[bool], got| got
    };
    sim::kit::bench(p, move |sim, run| masks(sim, run, size, expand, defined))
}
