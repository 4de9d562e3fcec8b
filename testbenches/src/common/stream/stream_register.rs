//! [`StreamRegister`] cycle by cycle.

use golden::common::stream::stream_register::{Cut as GoldenCut, StreamRegister as Golden};
use hdl::blocks::common::StreamRegister;
use hdl::blocks::common::stream::Cut;

/// The bench of a register slice; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &StreamRegister) -> anyhow::Result<Box<dyn sim::Bench>> {
    let width = p.width;
    let cut = match p.cut {
        Cut::Forward => GoldenCut::Forward,
        Cut::Backward => GoldenCut::Backward,
        Cut::Both => GoldenCut::Both,
    };
    sim::kit::bench(p, move |sim, run| super::queue(sim, run, width, &mut Golden::new(cut), false))
}
