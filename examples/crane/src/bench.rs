//! The accelerator between a host and a memory: chains of descriptors, right and wrong; stalls, errors, silence and soft
//! resets at any moment.

use senbazuru::accelerator::jobs::draft::{ALL_FLAGS, Draft};
use senbazuru::accelerator::jobs::draw::{often, size};
use senbazuru::accelerator::jobs::timing::unit;
use senbazuru::accelerator::prelude::*;
use senbazuru::prelude::*;
use testbenches::accelerators::vector as rows;

use crate::golden::cycles::Timing;
use crate::golden::{Golden, Operation, Shape};
use crate::row::DotRow;
use crate::top::Crane;

/// Random jobs, and the cycles of right ones with an ideal memory. A vector is a job.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Crane) -> anyhow::Result<Box<dyn Bench>> {
    bench_of_jobs(p, golden_of(p), facts, 4, draw, timing)
}

/// How long its parts take with a memory that answers after `latency` cycles.
#[must_use]
pub fn timing(p: &Crane, latency: u32) -> Timing {
    Timing {
        shell: shell_of(p, latency),
        unit: unit(&p.rows().unit()),
        latency: DotRow::LATENCY.into(),
        strip: p.array.strip.into(),
    }
}

/// Its golden model.
#[must_use]
pub fn golden_of(p: &Crane) -> Golden {
    let array = &p.array;
    Golden::new(Shape {
        rows: array.rows,
        group: array.group,
        channels: array.channels,
        vector: rows::shape_of(&p.rows(), &p.bus.axi),
        overlaps: p.bus.overlaps,
    })
}

/// What the player of jobs cannot know.
fn facts(p: &Crane) -> Facts<Operation> {
    let shape = *golden_of(p).shape();
    let lanes = u64::from(shape.vector.lanes);
    let computing = move |report: &Report<Operation>| {
        let of = |operation: &Operation| match operation {
            Operation::Rows(rows) => rows.x.rows * rows.columns.div_ceil(lanes),
            Operation::Product(product) => product.steps(&shape),
        };
        report.executed.iter().map(|executed| of(&executed.operation)).sum()
    };
    let caps = rows::caps_of_rows(&shape.vector, 1);
    let units = [caps.units.softmax, caps.units.layer_norm, caps.units.rotary];
    let units = units.iter().rev().fold(0, |word, &unit| word << 1 | u64::from(unit));
    Facts {
        number: 0x8001,
        constants: vec![
            (0x100, (p.array.rows | p.array.group << 16).into()),
            (0x104, p.array.channels.into()),
            (0x108, (caps.max_beats << 16 | caps.lanes).into()),
            (0x10c, units << 8 | u64::from(caps.function)),
        ],
        counters: vec![
            Counter { name: "COMPUTE_CYCLES", register: register::COMPUTE_CYCLES, expected: Box::new(computing) },
            Counter { name: "OVERFLOWS", register: 0x110, expected: Box::new(Report::overflows) },
        ],
        kept: Vec::new(),
        waits: Waits::default(),
    }
}

/// Rows of fp16 that an operation has written: rows, columns, place.
type Before = Option<([u32; 2], (u64, u32))>;

/// A chain of up to `most` descriptors over all sizes; some of them break a rule.
fn draw(rng: &mut StimulusRng, (operations, golden): (&Operations, &Golden), most: u32) -> Program {
    let shape = golden.shape();
    Program::draw(rng, shape.vector.address_width, most, &None, |rng, program, before| {
        if often(rng, 3) {
            let one = rows::program::descriptor(rng, program, (operations, &shape.vector));
            let results = ([one.word("rows"), one.word("columns")], one.place("out"));
            *before = (!one.is("format")).then_some(results);
            return rows::program::seldom(rng, program, one).bytes();
        }
        let one = product(rng, program, (operations, shape), before);
        one.seldom(rng, program, &[]).bytes()
    })
}

/// A product. Its rows are the results before, now and then.
fn product(
    rng: &mut StimulusRng,
    program: &mut Program,
    (operations, shape): (&Operations, &Shape),
    before: &mut Before,
) -> Draft {
    let mut one = operations.draft("product");
    let fits = |&([rows, columns], _): &([u32; 2], _)| rows <= shape.rows && columns <= shape.channels;
    let taken = before.filter(fits).filter(|_| often(rng, 2));
    one.draw_header(rng, program, if taken.is_some() { ALL_FLAGS & !0b1110 } else { ALL_FLAGS });
    let [rows, channels] = taken.map_or_else(|| [size(rng, shape.rows), size(rng, shape.channels)], |(sizes, _)| sizes);
    let (x_row, column) = ((2 * channels).next_multiple_of(64), channels.div_ceil(2).next_multiple_of(64));
    let exponents = (shape.words(channels.into()) * shape.exponent_bytes()) as u32;
    let share = (program.left() / 4) as u32;
    let most = (share.saturating_sub(rows * x_row + 64 * rows + 512) / (column + exponents + 2 * rows)).max(1);
    let columns = size(rng, 100).min(most);
    let mut place = |rng: &mut StimulusRng, count: u32, bytes: u32| {
        let stride = bytes.next_multiple_of(64) + 64 * rng.random_range(0..2u32);
        (program.take(rng, u64::from(count * stride)), stride)
    };
    let x = taken.map_or_else(|| place(rng, rows, x_row), |(_, place)| place);
    let (weights, out) = (place(rng, columns, column), place(rng, rows, 2 * columns));
    let of_groups = program.take(rng, u64::from(columns * exponents));
    let bits: Vec<u8> = (0..columns * exponents).map(|_| rng.random()).collect();
    program.put(of_groups, &bits);
    for c in 0..columns {
        let bits: Vec<u8> = (0..channels.div_ceil(2)).map(|_| rng.random()).collect();
        program.put(weights.0 + u64::from(c * weights.1), &bits);
    }
    // Results of all sizes, and seldom none that is finite.
    let shift = if often(rng, 8) { [0, 1, 95, 96][rng.random_range(0..4usize)] } else { rng.random_range(28..64u32) };
    for (field, value) in
        [("rows", rows), ("columns", columns), ("channels", channels), ("shift", shift), ("exact", often(rng, 8).into())]
    {
        one.set(field, value);
    }
    one.operand("x", x).operand("weight", weights).operand("out", out).set("exponent_address", of_groups);
    *before = Some(([rows, columns], out));
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_all_configurations() {
        for report in run_all(bench, &options(60)).unwrap() {
            assert!(report.compared > 1000, "{report:?}");
        }
    }
}
