//! The accelerator as a driver sees it.

use crate::accelerators::device::{self, Registered};
use crate::accelerators::vector::device::{constant, count, unit};
use crate::common::bus::axi_lite_registers::{Field, Kind};

use super::{Report, TitanusCore};

/// `titanus_core` with its registers.
pub type Device<M> = device::Device<TitanusCore, M>;

fn read_only(offset: u32, low: u32, width: u32) -> Field {
    Field { offset, low, width, kind: Kind::ReadOnly }
}

impl Registered for TitanusCore {
    fn data_width(&self) -> u32 {
        self.shape.vector.data_width()
    }

    fn own(&self) -> Vec<(&'static str, Field)> {
        let shape = &self.shape;
        let caps = [
            ("rows", constant(0x100, 0, 8, shape.rows.into())),
            ("columns", constant(0x100, 8, 12, shape.columns.into())),
            ("inputs", constant(0x104, 0, 16, shape.inputs.into())),
            ("outputs", constant(0x104, 16, 16, shape.outputs.into())),
            ("constants", constant(0x108, 0, 32, shape.constants.into())),
            ("tile_lanes", constant(0x10c, 0, 8, shape.lanes.into())),
            ("tiles", constant(0x10c, 8, 16, shape.tiles.into())),
            ("levels", constant(0x10c, 24, 8, u64::from(shape.levels) % 256)),
            ("context", constant(0x110, 0, 16, shape.context.into())),
            ("buffer", constant(0x110, 16, 16, shape.buffer.into())),
        ];
        let counts = [
            ("overflows", count(0x120)),
            ("multiplications", count(0x128)),
            ("skipped", count(0x130)),
            ("cache_tokens", read_only(0x138, 0, 16)),
            ("cache_keys", read_only(0x138, 16, 1)),
            ("cache_values", read_only(0x138, 17, 1)),
            ("stream_read", count(0x140)),
            ("stream_written", count(0x148)),
            ("damage", read_only(0x150, 0, 8)),
            ("damage_values", read_only(0x150, 8, 1)),
            ("damage_where", count(0x158)),
            ("link_waiting", read_only(0x160, 0, 16)),
            ("link_ended", read_only(0x160, 16, 1)),
            ("link_linked", constant(0x160, 31, 1, shape.links.into())),
        ];
        caps.into_iter().chain(unit(&shape.vector, 0x114, 0x118)).chain(counts).collect()
    }

    fn counts(&self, report: &Report) -> Vec<(&'static str, u64)> {
        let counts = report.counts();
        let damage = report.damage();
        vec![
            ("overflows", report.overflows()),
            ("multiplications", counts.multiplications),
            ("skipped", counts.skipped),
            ("stream_read", counts.read),
            ("stream_written", counts.written),
            ("damage", damage.map_or(0, |damage| damage.kind.into())),
            ("damage_values", damage.map_or(0, |damage| damage.values.into())),
            ("damage_where", damage.map_or(0, |damage| damage.area)),
        ]
    }

    fn live(&self) -> Vec<(&'static str, u64)> {
        let (tokens, [keys, values]) = self.state.borrow().cached();
        let (waiting, ended) = self.waiting();
        vec![
            ("cache_tokens", tokens.into()),
            ("cache_keys", keys.into()),
            ("cache_values", values.into()),
            ("link_waiting", waiting as u64),
            ("link_ended", ended.into()),
        ]
    }

    fn soft_reset(&self) {
        self.state.borrow_mut().empty();
    }
}
