//! [`KelleTop`] between a host and a memory: see [`player::bench`].

use golden::accelerators::kelle::{Report, Work};
use hdl::accelerators::kelle::KelleTop;

use super::model::golden_of;
use super::program;
use super::timing::{REFRESH_STALLS, timing, waits};
use crate::accelerators::vector::function_register;
use jobs::player::{self, Counter, Facts};

/// The bench of the accelerator; a vector is a job.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KelleTop) -> anyhow::Result<Box<dyn sim::Bench>> {
    player::bench(p, golden_of(p)?, facts, 4, program::draw, timing)
}

/// Registers of its own.
fn facts(block: &KelleTop) -> Facts<Work> {
    let (spec, heads, unit) = (&block.spec, &block.attention, block.vector());
    let lanes = spec.lanes();
    let sizes = heads.score_width | heads.amount_width << 8 | heads.interval_width << 16;
    let scores = sizes | u32::from(heads.save) << 24 | heads.recompute << 25;
    Facts {
        number: 5,
        constants: vec![
            (0x100, (spec.columns << 16 | spec.rows).into()),
            (0x104, (spec.inner << 16 | spec.tokens).into()),
            (0x108, (heads.slots << 16 | heads.heads).into()),
            (0x10c, (lanes << 24 | heads.group << 16 | heads.width).into()),
            (0x110, scores.into()),
            (0x114, heads.rows().into()),
            (0x118, (block.vector.max_beats << 16 | lanes).into()),
            (0x11c, function_register(&unit)),
        ],
        counters: vec![
            Counter { name: "OVERFLOWS", register: 0x120, expected: Box::new(Report::overflows) },
            Counter {
                name: "SATURATIONS",
                register: 0x128,
                expected: Box::new(|report: &Report| report.counts().saturations),
            },
            Counter {
                name: "EVICTIONS",
                register: 0x130,
                expected: Box::new(|report: &Report| report.counts().evictions),
            },
        ],
        kept: vec![("REFRESHES", 0x138), REFRESH_STALLS],
        waits: waits(block),
    }
}
