//! The accelerator between a host and a memory: chains of descriptors, right and wrong; stalls, errors, silence and soft
//! resets at any moment. And the host's side of it, as a driver would use it.

use senbazuru::accelerator::prelude::*;
use senbazuru::prelude::*;

use crate::golden::{Golden, Operation, Timing};
use crate::top::{{ type }};

/// Random jobs, and the cycles of right ones with an ideal memory. A vector is a job.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &{{ type }}) -> anyhow::Result<Box<dyn Bench>> {
    bench_of_jobs(p, golden_of(p), facts, 3, draw, |p, latency| Timing { shell: shell_of(p, latency) })
}

fn golden_of(p: &{{ type }}) -> Golden {
    Golden { max_columns: p.operation.max_columns, bus: [p.bus.axi.data_width, p.bus.axi.address_width] }
}

/// What the player of jobs cannot know.
fn facts(p: &{{ type }}) -> Facts<Operation> {
    let bus_bytes = u64::from(p.bus.axi.data_width / 8);
    let beats = move |report: &Report<Operation>| {
        let of = |operation: &Operation| operation.x.rows * operation.x.row_bytes.div_ceil(bus_bytes);
        report.executed.iter().map(|executed| of(&executed.operation)).sum()
    };
    Facts {
        number: 0x8000,
        constants: vec![(0x100, p.operation.max_columns.into())],
        counters: vec![
            Counter { name: "COMPUTE_CYCLES", register: register::COMPUTE_CYCLES, expected: Box::new(beats) },
            Counter { name: "CLIPPED", register: 0x108, expected: Box::new(Report::overflows) },
        ],
        kept: Vec::new(),
        waits: Waits::default(),
    }
}

/// A chain of up to `most` descriptors over rows of all lengths; some of them break a rule.
fn draw(rng: &mut StimulusRng, (operations, golden): (&Operations, &Golden), most: u32) -> Program {
    Program::draw(rng, golden.bus[1], most, &(), |rng, program, ()| {
        let longest = u64::from(golden.max_columns).min(program.left() / 16);
        let columns = if rng.random() { rng.random_range(1..=longest) } else { longest.min(rng.random_range(1..=20)) };
        let stride = (2 * columns).next_multiple_of(64) + 64 * rng.random_range(0..2u64);
        let rows = rng.random_range(1..=(program.left() / 8 / (2 * stride)).clamp(1, 6));
        let (x, out) = (program.take(rng, rows * stride), program.take(rng, rows * stride));
        let mut draft = operations.drawn(rng, program, "add");
        for (field, value) in [
            ("rows", rows),
            ("columns", columns),
            ("addend", [rng.random_range(0..1 << 16), 0, 1, 0x7fff, 0x8000][rng.random_range(0..5usize)]),
            ("exact", u64::from(rng.random_range(0..8u8) == 0)),
            ("x_stride", if rng.random_range(0..5u8) == 0 { 0 } else { stride }),
            ("out_stride", stride),
            ("x_address", x),
            ("out_address", out),
        ] {
            draft.set(field, value);
        }
        draft.seldom(rng, program, &[]).bytes()
    })
}

#[cfg(test)]
mod tests {
    use senbazuru_host::vector::Operand;
    use senbazuru_host::{Allocator, Bus, Chain, Device, Link, Settings, Window};

    use super::*;
    use crate::host::Job;
    use crate::registers;

    #[test]
    fn jobs_of_all_configurations() {
        for report in run_all(bench, &options(100)).unwrap() {
            assert!(report.compared > 1000, "{report:?}");
        }
    }

    /// A bench that was never seen to fail proves nothing.
    #[test]
    fn broken_hardware_is_noticed() {
        let engine = "{{ name }}_engine";
        let faults = [
            ("an element is the sum of its neighbour", Fault::net("result[1]", "result[0]").module(engine)),
            ("a clipped element does not count", Fault::net("clips[1]", "1'b0").module(engine)),
            ("every beat counts", Fault::net("clipped", "read_valid_i & write_ready_i").module(engine)),
        ];
        must_be_noticed(&{{ type }}::configurations().remove(1), bench, 200, &faults);
    }

    /// Software, registers and hardware, as they work together in a system.
    #[test]
    fn a_driver_does_a_job() {
        let (block, config) = ({{ type }}::default(), AxiConfig::ideal(20));
        let window = Window { base: 0x1000, limit: 0xffff, address_width: block.bus.axi.address_width };
        let (numbers, addend) = ([1i16, -2, 32767].map(i16::to_le_bytes).concat(), 10);
        let mut memory = Allocator::new(&window);
        let mut place = |bytes: u64| memory.take(bytes).unwrap();
        let (x, out) = (place(6), place(6));
        let operand = |address| Operand { address, stride: 0 };
        let max_columns = block.operation.max_columns;
        let job = Job { rows: 1, columns: 3, x: operand(x), out: operand(out), addend, exact: false };
        let chain = Chain::new().then(Link::from(job.descriptor(max_columns, &window).unwrap()));
        let image = chain.place(place(chain.bytes()), &window, 1).unwrap();
        on_hardware(&block, &config, |hardware| {
            let mut device = Device::new(hardware);
            device.identify_as(0x8000).unwrap();
            device.configure(&Settings { window, timeout: 0, max_descriptors: 1 }).unwrap();
            device.bus().write_memory(x, &numbers).unwrap();
            device.run(&image, 1000).unwrap();
            let mut got = [0; 6];
            device.bus().read_memory(out, &mut got).unwrap();
            assert_eq!(got.to_vec(), [11i16, 8, 32767].map(i16::to_le_bytes).concat());
            assert_eq!(device.read64(registers::CLIPPED).unwrap(), 1);
            device.acknowledge().unwrap();
        });
    }

    #[test]
    fn registers_are_those_of_the_hardware() {
        let now = host_constants(&{{ type }}::default()).unwrap();
        assert!(include_str!("registers.rs") == now, "src/registers.rs is not of this hardware: README.md says how to make it");
    }
}
