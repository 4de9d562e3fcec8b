//! The accelerator as a driver sees it.

use crate::accelerators::device::{self, Registered};
use crate::accelerators::vector::device::{constant, count, unit};
use crate::common::bus::axi_lite_registers::Field;

use super::{KelleTop, Report};

/// `kelle_top` with its registers.
pub type Device<M> = device::Device<KelleTop, M>;

impl Registered for KelleTop {
    fn data_width(&self) -> u32 {
        self.shape.vector.data_width()
    }

    fn own(&self) -> Vec<(&'static str, Field)> {
        let shape = &self.shape;
        let own = [
            ("rows", constant(0x100, 0, 16, shape.rows.into())),
            ("columns", constant(0x100, 16, 16, shape.columns.into())),
            ("tokens", constant(0x104, 0, 16, shape.tokens.into())),
            ("inner", constant(0x104, 16, 16, shape.inner.into())),
            ("heads", constant(0x108, 0, 16, shape.heads.into())),
            ("slots", constant(0x108, 16, 16, shape.slots.into())),
            ("width", constant(0x10c, 0, 16, shape.width.into())),
            ("group", constant(0x10c, 16, 8, shape.group.into())),
            ("score_lanes", constant(0x10c, 24, 8, shape.score_lanes.into())),
            ("score", constant(0x110, 0, 8, shape.score_bits.into())),
            ("amount", constant(0x110, 8, 8, shape.amount_bits.into())),
            ("interval", constant(0x110, 16, 8, shape.interval_bits.into())),
            ("save", constant(0x110, 24, 1, shape.save.into())),
            ("recompute", constant(0x110, 25, 7, shape.recompute.into())),
            ("cache_rows", constant(0x114, 0, 32, shape.cache_rows.into())),
        ];
        let counts = [
            ("overflows", count(0x120)),
            ("saturations", count(0x128)),
            ("evictions", count(0x130)),
            // A model has no time, so both stay 0.
            ("refreshes", count(0x138)),
            ("refresh_stalls", count(0x140)),
        ];
        own.into_iter().chain(unit(&shape.vector, 0x118, 0x11c)).chain(counts).collect()
    }

    fn counts(&self, report: &Report) -> Vec<(&'static str, u64)> {
        let counts = report.counts();
        vec![("overflows", report.overflows()), ("saturations", counts.saturations), ("evictions", counts.evictions)]
    }

    fn soft_reset(&self) {
        KelleTop::soft_reset(self);
    }
}
