//! Cycles of jobs with a memory that never pauses, against the golden recurrence.

use golden::accelerators::kelle::cycles::{Array, Timing};
use hdl::accelerators::kelle::{AttentionSpec, KelleTop};
use host::Window;

use super::model::golden_of;
use super::program;
use crate::accelerators::clock::Clock;
use jobs::timing::{self, Waits, frame, shell, unit};

/// Its register REFRESH_STALLS: the recurrence knows of no access that waits for a refresh.
pub(super) const REFRESH_STALLS: (&str, u64) = ("REFRESH_STALLS", 0x140);

/// Heads are emptied after a reset, a row a cycle, and operations on heads wait for it.
pub(super) fn waits(block: &KelleTop) -> Waits {
    Waits { registers: vec![REFRESH_STALLS], never: false, ready: block.attention.rows().into() }
}

/// How long the parts of a block take with a memory that answers after `latency` cycles.
#[must_use]
pub fn timing(block: &KelleTop, latency: u32) -> Timing {
    let spec = &block.spec;
    let array = spec.array();
    let sum = block.sum.times().result;
    Timing {
        shell: shell(block, latency),
        array: Array { rows: array.rows.into(), columns: array.columns.into(), results: array.results.into() },
        weights: spec.weights.into(),
        integer: block.integer.latency().into(),
        sum: sum.into(),
        softmax: frame(block.attention.softmax().frame()),
        unit: unit(&block.vector().unit()),
    }
}

/// The same block with a long patience, so that refreshes always find a cycle in which nobody wants the banks.
#[must_use]
pub fn patient(block: KelleTop) -> KelleTop {
    let attention = AttentionSpec { interval_width: 20, interval: 500_000, patience: 60_000, ..block.attention };
    KelleTop { attention, ..block }
}

/// Cycles of jobs with a memory that answers after `latency` cycles. The first job begins when all heads are empty,
/// `cache_rows` cycles after the reset.
///
/// # Errors
/// Parameters that the model refuses.
pub fn clock((block, latency): (&KelleTop, u32), window: &Window) -> anyhow::Result<Clock> {
    Ok(Clock::of(golden_of(block)?, window, timing(block, latency)))
}

/// Random chains that are right, each with an ideal memory of some latency; a vector is such a chain.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KelleTop) -> anyhow::Result<Box<dyn sim::Bench>> {
    timing::bench(p, (golden_of(p)?, waits(p)), 4, program::draw, timing)
}
