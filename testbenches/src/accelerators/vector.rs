//! [`VectorTop`] between a host and a memory: chains of descriptors, right and wrong ones, over rows of all shapes; see
//! [`player::bench`].

pub mod program;
mod timing;

use golden::accelerators::vector::cycles::Timing;
use golden::accelerators::vector::device::function_number;
use golden::accelerators::vector::{Executed, Operation, Report, Shape, Units, VectorTop as Golden};
use hdl::accelerators::vector::{VectorEngine, VectorTop};
use hdl::blocks::common::AxiSpec;
use hdl::blocks::common::row::RowUnits;
use host::vector;
use jobs::player::{self, Counter, Facts, register};
use jobs::timing::{Waits, shell, unit};

pub use timing::Job;

use crate::common::float::table::function;

/// The bench of the accelerator; a vector is a job.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &VectorTop) -> anyhow::Result<Box<dyn sim::Bench>> {
    player::bench(p, golden_of(p), facts, 3, program::draw, timing)
}

/// How long the parts of a block take with a memory that answers after `latency` cycles.
#[must_use]
pub fn timing(block: &VectorTop, latency: u32) -> Timing {
    Timing { shell: shell(block, latency), unit: unit(&block.engine().unit()) }
}

/// Registers of its own.
fn facts(block: &VectorTop) -> Facts<Operation> {
    let lanes = u64::from(block.engine().lanes());
    let caps = u64::from(block.vector.max_beats) << 16 | lanes;
    let beats = move |report: &Report| {
        let of = |e: &Executed| e.operation.x.rows * e.operation.columns.div_ceil(lanes);
        report.executed.iter().map(of).sum()
    };
    Facts {
        number: 1,
        constants: vec![(0x100, caps), (0x104, function_register(&block.engine()))],
        counters: vec![
            Counter { name: "COMPUTE_CYCLES", register: register::COMPUTE_CYCLES, expected: Box::new(beats) },
            Counter { name: "OVERFLOWS", register: 0x108, expected: Box::new(Report::overflows) },
        ],
        kept: Vec::new(),
        waits: Waits::default(),
    }
}

/// The value of register FUNCTION: the activation, and the steps that not every build has.
#[must_use]
pub fn function_register(engine: &VectorEngine) -> u64 {
    let Units { softmax, layer_norm, rotary } = units_of(engine);
    let units = [softmax, layer_norm, rotary].iter().rev().fold(0, |word, &unit| word << 1 | u64::from(unit));
    units << 8 | engine.unit().lane.function as u64
}

/// Steps of an engine that not every build has.
fn units_of(engine: &VectorEngine) -> Units {
    let RowUnits { softmax, layer_norm, rotary } = engine.units;
    Units { softmax, layer_norm, rotary }
}

/// The golden model of an accelerator.
#[must_use]
pub fn golden_of(block: &VectorTop) -> Golden {
    Golden::new(shape_of(&block.engine(), &block.bus.axi))
}

/// The values of the registers for an accelerator's vector engine, one of several engines.
#[must_use]
pub fn rows_of(engine: &VectorEngine) -> vector::Caps {
    let unit = engine.unit();
    let RowUnits { softmax, layer_norm, rotary } = engine.units;
    let units = vector::Units { softmax, layer_norm, rotary };
    let (lanes, max_beats) = (engine.lanes(), unit.max_beats);
    vector::Caps { opcode: 3, lanes, max_beats, function: unit.lane.function as u32, units }
}

/// What a driver reads of a vector engine of a shape, whose descriptors have this opcode.
#[must_use]
pub fn caps_of_rows(shape: &Shape, opcode: u8) -> vector::Caps {
    let Units { softmax, layer_norm, rotary } = Units::of(shape.steps);
    let function = function_number(shape.function);
    let units = vector::Units { softmax, layer_norm, rotary };
    vector::Caps { opcode, lanes: shape.lanes, max_beats: shape.max_beats, function, units }
}

/// The shape of a vector engine on a bus, for the model.
#[must_use]
pub fn shape_of(engine: &VectorEngine, axi: &AxiSpec) -> Shape {
    let unit = engine.unit();
    let function = function(unit.lane.function);
    let (lanes, max_beats) = (engine.lanes(), unit.max_beats);
    Shape { lanes, max_beats, function, address_width: axi.address_width, steps: units_of(engine).steps() }
}
