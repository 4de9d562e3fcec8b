//! The accelerator as a driver sees it: registers, memory, and jobs that take some time.

use crate::accelerators::device::{self, Registered};
use crate::accelerators::job;
use crate::common::bus::axi_lite_registers::{Field, Kind};
use crate::common::float::Function;

pub use crate::accelerators::device::Delays;

use super::{Operation, Shape, Units, VectorTop};

/// `vector_top` with its registers.
pub type Device<M> = device::Device<VectorTop, M>;

/// A constant field of a register.
#[must_use]
pub fn constant(offset: u32, low: u32, width: u32, value: u64) -> Field {
    Field { offset, low, width, kind: Kind::Constant(value) }
}

/// A count of 64 bits that a job leaves.
#[must_use]
pub fn count(offset: u32) -> Field {
    Field { offset, low: 0, width: 64, kind: Kind::ReadOnly }
}

/// The number of an activation in the register FUNCTION; 255 is no activation of a vector unit.
#[must_use]
pub fn function_number(function: Function) -> u32 {
    match function {
        Function::GeluErf => 0,
        Function::GeluTanh => 1,
        Function::Silu => 2,
        Function::Tanh => 3,
        Function::Relu => 4,
        Function::Sigmoid => 255,
    }
}

/// The two registers of a vector unit. An accelerator with a vector unit has the same two among its own.
pub(in crate::accelerators) fn unit(shape: &Shape, caps: u32, functions: u32) -> [(&'static str, Field); 6] {
    let units = Units::of(shape.steps);
    [
        ("lanes", constant(caps, 0, 16, shape.lanes.into())),
        ("max_beats", constant(caps, 16, 16, shape.max_beats.into())),
        ("function", constant(functions, 0, 8, function_number(shape.function).into())),
        ("softmax", constant(functions, 8, 1, units.softmax.into())),
        ("layer_norm", constant(functions, 9, 1, units.layer_norm.into())),
        ("rotary", constant(functions, 10, 1, units.rotary.into())),
    ]
}

impl Registered for VectorTop {
    fn data_width(&self) -> u32 {
        self.shape.data_width()
    }

    fn own(&self) -> Vec<(&'static str, Field)> {
        unit(&self.shape, 0x100, 0x104).into_iter().chain([("overflows", count(0x108))]).collect()
    }

    fn counts(&self, report: &job::Report<Operation>) -> Vec<(&'static str, u64)> {
        vec![("overflows", report.overflows())]
    }
}
