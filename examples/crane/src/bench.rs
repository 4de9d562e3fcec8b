//! The accelerator between a host and a memory: chains of descriptors, right and wrong; stalls, errors, silence and soft
//! resets at any moment.

pub mod row;

use senbazuru::accelerator::jobs::draft::{ALL_FLAGS, Draft};
use senbazuru::accelerator::jobs::draw::{often, size};
use senbazuru::accelerator::jobs::timing::unit;
use senbazuru::accelerator::prelude::*;
use senbazuru::prelude::*;
use senbazuru_host::vector;
use testbenches::accelerators::vector as rows;

use crate::golden::cycles::Timing;
use crate::golden::{Golden, Operation, Shape};
use crate::host::Caps;
use crate::row::DotRow;
use crate::top::{Crane, ROWS};

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

/// How a driver sees it: the array, and the vector unit.
#[must_use]
pub fn caps_of(p: &Crane) -> (Caps, vector::Caps) {
    let (word, array) = (p.products().weights(), &p.array);
    let caps = Caps { rows: array.rows, group: array.group, channels: array.channels, word };
    (caps, rows::caps_of_rows(&rows::shape_of(&p.rows(), &p.bus.axi), ROWS as u8))
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
    let (_, caps) = caps_of(p);
    Facts {
        number: 0x8001,
        constants: vec![
            (0x100, (p.array.rows | p.array.group << 16).into()),
            (0x104, p.array.channels.into()),
            (0x108, (caps.max_beats << 16 | caps.lanes).into()),
            (0x10c, rows::function_register(&p.rows())),
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
    for (field, value) in [
        ("rows", rows),
        ("columns", columns),
        ("channels", channels),
        ("shift", shift),
        ("exact", often(rng, 8).into()),
    ] {
        one.set(field, value);
    }
    one.operand("x", x).operand("weight", weights).operand("out", out).set("exponent_address", of_groups);
    *before = Some(([rows, columns], out));
    one
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use senbazuru::flows::energy::in_cells;
    use senbazuru::flows::liberty;
    use senbazuru::flows::lint::Sources;
    use senbazuru::flows::prove::{Options, prove};
    use senbazuru::hdl::accelerators::vector::VectorParameters;
    use senbazuru::standard::group_rounder::rounded;
    use senbazuru_host::vector::Operand;
    use senbazuru_host::{Allocator, Bus, Chain, Device, Link, Settings, Window};

    use super::*;
    use crate::engine::{ProductEngine, ProductParameters};
    use crate::golden::product::result;
    use crate::host::ProductJob;
    use crate::packing::Packing;
    use crate::registers;

    #[test]
    fn jobs_of_all_configurations() {
        for report in run_all(bench, &options(60)).unwrap() {
            assert!(report.compared > 1000, "{report:?}");
        }
    }

    /// A bench that was never seen to fail proves nothing.
    #[test]
    fn broken_hardware_is_noticed() {
        let fault = |module: &'static str, net: &'static str, by: &'static str| Fault::net(net, by).module(module);
        let faults = [
            ("a sum is not divided", fault("crane_row", "less", "code")),
            ("a product has no part in its sum", fault("crane_row", "product[1]", "11'sd0")),
            ("channels after the last one count", fault("crane_products", "weight[5]", "nibble[5]")),
            ("a row is written whatever row comes", fault("crane_products", "row_0_comes", "x_came_1_q")),
            ("an infinity of a row does not count", fault("crane_products", "strange[1]", "1'b0")),
            ("weights do not wait for the rows", fault("crane_products", "may", "!abort_i")),
        ];
        must_be_noticed(&Crane::configurations().remove(0), bench, 100, &faults);
    }

    /// 2 rows of 8 products on a bus of 4 bytes, with the norm alone: in cells of a library they do the same jobs.
    #[test]
    #[ignore = "minutes: synthesis and simulation of a whole accelerator in cells"]
    fn jobs_in_cells() {
        let mut block = Crane::configurations().remove(0);
        (block.array.channels, block.vector) = (16, VectorParameters { max_beats: 4, ..VectorParameters::default() });
        let library = liberty::open(&["osu018"]).unwrap();
        let (design, cells) = in_cells(&elaborate(&block).unwrap(), &library).unwrap();
        assert!(cells > 10_000, "{cells} cells are no accelerator");
        let report = senbazuru::sim::run(&*bench(&block).unwrap(), &design, &options(40)).unwrap();
        println!("{cells} cells, {} cycles, {} values compared", report.cycles, report.compared);
    }

    /// Rows, weights and results of the engine, whatever comes; the parts that it leaves free have proofs of their own.
    #[test]
    #[ignore = "minutes: proofs"]
    fn the_engine_keeps_its_rules() {
        let axi = AxiSpec { address_width: 32, data_width: 32, id_width: 1 };
        let array = ProductParameters { rows: 2, group: 2, channels: 16, ..ProductParameters::default() };
        let design = elaborate(&ProductEngine { axi, array, ..ProductEngine::default() }).unwrap();
        let (traces, limit) = (std::env::temp_dir().join("crane_proofs"), Duration::from_secs(1800));
        let limits = Options { depth: 8, cover_depth: 24, induction: false, solver: "z3".into(), limit, traces };
        let found = prove(&Sources::from(&design), &limits).unwrap();
        let bad = found.iter().filter(|property| !property.verdict.is_good()).map(|property| &property.name);
        let bad: Vec<_> = bad.collect();
        assert!(bad.is_empty() && found.len() > 20, "{bad:?}");
    }

    /// Software, registers and hardware, as they work together in a system.
    #[test]
    fn a_driver_does_a_product() {
        let (block, config) = (Crane::default(), AxiConfig::ideal(20));
        let window = Window { base: 0x1000, limit: 0xffff, address_width: block.bus.axi.address_width };
        let (caps @ Caps { word, group, .. }, _) = caps_of(&block);
        let (channels, columns) = (40usize, 3);
        // Numbers of fp16: 1, 1.25, 1.5, .. in turn, some of them negative.
        let row: Vec<u16> = (0..channels as u16).map(|k| 0x3c00 + 0x100 * (k % 4) | k % 3 << 15).collect();
        let matrix: Vec<f64> = (0..channels * columns).map(|k| ((k * 7 % 23) as f64 - 11.0) / 64.0).collect();
        let packing = Packing::of(&matrix, group as usize);
        let mut memory = Allocator::new(&window);
        let mut place = |bytes: u64| memory.take(bytes).unwrap();
        let (x, out, weights) = (place(80), place(64), place(64 * columns as u64));
        let exponents = place(columns as u64 * caps.exponent_bytes(channels as u32));
        let operand = |address, stride| Operand { address, stride };
        let job = ProductJob {
            rows: 1,
            columns: columns as u32,
            channels: channels as u32,
            x: operand(x, 0),
            weights: operand(weights, 64),
            exponents,
            out: operand(out, 0),
            shift: packing.shift().unwrap(),
            exact: true,
        };
        let told = ProductJob { rows: 17, ..job }.descriptor(&caps, &window).unwrap_err().to_string();
        assert!(told.contains("rows") && told.contains("17"), "{told}");
        let chain = Chain::new().then(Link::from(job.descriptor(&caps, &window).unwrap()));
        let image = chain.place(place(chain.bytes()), &window, 1).unwrap();
        let packed: Vec<[Vec<u8>; 2]> = matrix.chunks(channels).map(|c| packing.bytes(c, word as usize)).collect();
        on_hardware(&block, &config, |hardware| {
            let mut device = Device::new(hardware);
            device.identify_as(0x8001).unwrap();
            device.configure(&Settings { window, timeout: 0, max_descriptors: 1 }).unwrap();
            let bytes: Vec<u8> = row.iter().flat_map(|x| x.to_le_bytes()).collect();
            device.bus().write_memory(x, &bytes).unwrap();
            let mut of_groups = Vec::new();
            for (at, [integers, exponents]) in (weights..).step_by(64).zip(&packed) {
                device.bus().write_memory(at, integers).unwrap();
                of_groups.extend(exponents);
            }
            device.bus().write_memory(exponents, &of_groups).unwrap();
            device.run(&image, 5000).unwrap();
            let mut got = [0; 6];
            device.bus().read_memory(out, &mut got).unwrap();
            // Rows have an exact sum here, in units that no rounding touches.
            let ours = rounded(&row, group as usize, 8);
            let values = ours.integers.iter().zip((0..).map(|k| ours.exponents[k / group as usize]));
            let values: Vec<f64> = values.map(|(&n, e)| n as f64 * 2f64.powi(e as i32 - 15)).collect();
            for (c, column) in matrix.chunks(channels).enumerate() {
                let sum: f64 = values.iter().zip(packing.rounded(column)).map(|(x, w)| x * w).sum();
                let sum = (sum * 2f64.powi(job.shift as i32)) as i64;
                assert_eq!(u16::from_le_bytes([got[2 * c], got[2 * c + 1]]), result(sum, job.shift), "column {c}");
            }
            assert_eq!(device.read64(registers::OVERFLOWS).unwrap(), 0);
            device.acknowledge().unwrap();
        });
    }

    #[test]
    fn registers_are_those_of_the_hardware() {
        let now = host_constants(&Crane::default()).unwrap();
        assert!(
            include_str!("registers.rs") == now,
            "src/registers.rs is not of this hardware: README.md says how to make it"
        );
    }
}
