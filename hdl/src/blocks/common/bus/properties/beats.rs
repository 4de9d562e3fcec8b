//! Beats of a command, counted: they connect the bursts of a DMA with its rows.

use super::NewBurst;
use crate::blocks::common::bus::axi::AxiSpec;
use crate::blocks::common::bus::dma::{DmaSpec, UNIT};
use crate::blocks::common::bus::resize::resize;
use crate::lang::{Module, Signal, Type, bits_for, mux, uint};

/// Counts beats in formal sections of DMAs that are small enough.
pub(in super::super) struct Beats {
    /// Bytes of a beat, as a power of two.
    size: u32,
    row: Type,
    all: Type,
}

/// A command whose bursts begin.
pub(in super::super) struct Load {
    pub(in super::super) load: Signal,
    /// Its beats.
    pub(in super::super) total: Signal,
}

impl Beats {
    /// For the narrow buses and short commands of proofs: they contain a product.
    pub fn of(axi: &AxiSpec, dma: &DmaSpec) -> Option<Self> {
        let (bytes, rows) = (axi.bytes(), dma.rows_width);
        let most = (1u64 << dma.row_width.min(16)).div_ceil(bytes.into());
        let small = bytes <= UNIT && rows <= 4 && dma.row_width <= 10;
        let row = uint(bits_for(most));
        small.then(|| Self { size: axi.size(), row, all: uint(bits_for(most << rows)) })
    }

    /// Beats of a row.
    fn row(&self, bytes: Signal) -> Signal {
        let more = bytes.slice(0..self.size).any();
        resize(bytes.shr(self.size) + more, self.row.width)
    }

    /// Beats of a command.
    pub fn beats(&self, rows: Signal, row_bytes: Signal) -> Signal {
        resize(rows * self.row(row_bytes), self.all.width)
    }

    /// Remaining beats: `now` in this row, the first of `rows_left` rows. None when not `active`.
    pub fn of_walk(&self, active: Signal, rows_left: Signal, row_bytes: Signal, now: Signal) -> Signal {
        let others = rows_left.wrapping_sub(1) * self.row(row_bytes);
        mux(active, resize(others + now, self.all.width), self.all.lit(0))
    }

    /// Remaining beats, from bytes.
    pub fn of_bytes(&self, active: Signal, rows_left: Signal, row_bytes: Signal, now: Signal) -> Signal {
        self.of_walk(active, rows_left, row_bytes, self.row(now))
    }

    /// Beats, of the command whose bursts are shown, that no burst has requested yet: known from outside.
    pub fn left(
        &self,
        m: &mut Module,
        Load { load, total }: Load,
        burst: NewBurst,
        clear: Signal,
        stop: Signal,
    ) -> Signal {
        let left = m.reg_init("formal_beats_left_q", self.all, 0);
        let fewer = left.q.wrapping_sub(mux(burst.begins, resize(burst.len + 1, self.all.width), self.all.lit(0)));
        let now = mux(stop, self.all.lit(0), fewer);
        left.next(mux(clear, self.all.lit(0), mux(load, total, now)));
        left.q
    }
}
