//! The accelerator as a driver sees it.

use crate::accelerators::device::{self, Registered};
use crate::accelerators::vector::device::{constant, count, unit};
use crate::common::bus::axi_lite_registers::Field;

use super::{KllmTop, Report};

/// `kllm_top` with its registers.
pub type Device<M> = device::Device<KllmTop, M>;

impl Registered for KllmTop {
    fn data_width(&self) -> u32 {
        self.shape.vector.data_width()
    }

    fn own(&self) -> Vec<(&'static str, Field)> {
        let shape = &self.shape;
        let lanes = [
            ("pe_lanes", constant(0x100, 0, 8, shape.lanes.into())),
            ("columns", constant(0x100, 8, 12, shape.columns.into())),
            ("inputs", constant(0x100, 20, 8, shape.inputs.into())),
            ("centroid_bits", constant(0x104, 0, 5, shape.centroid_bits.into())),
            ("groups", constant(0x104, 8, 6, shape.groups.into())),
            ("buffer", constant(0x104, 16, 16, shape.buffer.into())),
            ("inner", constant(0x108, 0, 32, shape.inner())),
            ("orizuru", constant(0x10c, 0, 16, shape.orizuru.into())),
            ("outliers", constant(0x10c, 16, 16, shape.kmax.into())),
        ];
        let counts = [("overflows", count(0x118)), ("compute", count(0x120)), ("repeats", count(0x128))];
        lanes.into_iter().chain(unit(&shape.vector, 0x110, 0x114)).chain(counts).collect()
    }

    fn counts(&self, report: &Report) -> Vec<(&'static str, u64)> {
        let beats = report.beats();
        vec![("overflows", report.overflows()), ("compute", beats.taken), ("repeats", beats.repeated)]
    }
}
