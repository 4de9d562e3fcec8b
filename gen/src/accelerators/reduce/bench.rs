//! `reduce_top` between a host and a memory: chains of descriptors, right and wrong ones; see [`player::bench`].

use ::golden::accelerators::job::Report;
use jobs::draft::Operations;
use jobs::player::{self, Counter, Facts, register};
use jobs::program::Program;
use jobs::timing;
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::golden::{Operation, ReduceTop as Golden, Timing};
use super::{ReduceTop, RowReducer};

/// Random jobs, and the cycles of right ones with an ideal memory. A vector is a job.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ReduceTop) -> anyhow::Result<Box<dyn sim::Bench>> {
    player::bench(p, golden_of(p), facts, 3, draw, timing)
}

/// The recurrence of its cycles. Memory answers after `latency` cycles.
#[must_use]
pub fn timing(p: &ReduceTop, latency: u32) -> Timing {
    Timing { shell: timing::shell(p, latency), reducer: p.engine.reducer().latency().into() }
}

/// Its golden model.
#[must_use]
pub fn golden_of(p: &ReduceTop) -> Golden {
    let axi = &p.engine.bus.axi;
    Golden { max_columns: p.engine.operation.max_columns, bus: [axi.data_width, axi.address_width] }
}

fn facts(p: &ReduceTop) -> Facts<Operation> {
    let RowReducer { lanes } = p.engine.reducer();
    let beats = move |report: &Report<Operation>| {
        report.executed.iter().map(|e| e.operation.x.rows * (e.operation.x.row_bytes / 2).div_ceil(lanes.into())).sum()
    };
    Facts {
        number: 6,
        constants: vec![(0x100, p.engine.operation.max_columns.into())],
        counters: vec![
            Counter { name: "COMPUTE_CYCLES", register: register::COMPUTE_CYCLES, expected: Box::new(beats) },
            Counter { name: "OVERFLOWS", register: 0x108, expected: Box::new(Report::overflows) },
        ],
        kept: Vec::new(),
        waits: timing::Waits::default(),
    }
}

/// A chain of up to `most` descriptors over rows of all lengths; some of them break a rule.
fn draw(rng: &mut StimulusRng, (operations, golden): (&Operations, &Golden), most: u32) -> Program {
    Program::draw(rng, golden.bus[1], most, &(), |rng, program, ()| {
        let longest = u64::from(golden.max_columns).min(program.left() / 16);
        let columns = if rng.random() { rng.random_range(1..=longest) } else { longest.min(rng.random_range(1..=20)) };
        let stride = (2 * columns).next_multiple_of(64) + 64 * rng.random_range(0..2u64);
        let most = if rng.random_range(0..8u8) == 0 { 200 } else { 6 };
        let rows = rng.random_range(1..=(program.left() / 8 / (stride + 64)).clamp(1, most));
        let (x, out) = (program.take(rng, rows * stride), program.take(rng, rows * 128));
        let mut draft = operations.drawn(rng, program, "reduce");
        for (field, value) in [
            ("rows", rows),
            ("columns", columns),
            ("exact", u64::from(rng.random_range(0..8u8) == 0)),
            ("x_stride", if rng.random_range(0..5u8) == 0 { 0 } else { stride }),
            ("out_stride", 64 * rng.random_range(1..3u64)),
            ("x_address", x),
            ("out_address", out),
        ] {
            draft.set(field, value);
        }
        // Infinities and NaNs, seldom.
        if rng.random_range(0..4u8) == 0 {
            let special = [0x7c00u16, 0xfc00, 0x7e00, 0xffff][rng.random_range(0..4usize)];
            program.put(x + 2 * rng.random_range(0..columns), &special.to_le_bytes());
        }
        draft.seldom(rng, program, &[]).bytes()
    })
}
