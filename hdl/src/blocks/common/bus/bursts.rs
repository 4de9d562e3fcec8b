//! From commands to bursts: checks a command and walks over its rows.

use super::axi::AxiSpec;
use super::dma::{Burst, Checked, DmaCommand, DmaSpec, Rows, UNIT, demand_bursts, dma_error};
use super::properties::{Beats, Load, NewBurst};
use crate::lang::{
    About, Block, Bundle, In, InStream, Module, Out, OutStream, Signal, bit, bits_for, cat, mux, parameters, ports,
    select, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct AxiBursts {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// The DMA.
        dma: DmaSpec = DmaSpec::default();
    }
    rules = |p, rules| demand_bursts(&p.axi, &p.dma, rules);
}

impl AxiBursts {
    fn spec(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }
}

ports! {
    /// Ports of [`AxiBursts`].
    pub struct AxiBurstsPorts(p: &AxiBursts) {
        /// Forgets all commands at the coming edge; nothing is taken in this cycle.
        clear_i: In = bit(),
        /// Drops the remaining bursts of the command whose bursts are shown.
        stop_i: In = bit(),
        /// Commands.
        command: InStream<DmaCommand> = p.spec(),
        /// Every command, once it is checked; its bursts follow.
        checked: OutStream<Checked> = p.spec(),
        /// Bursts, none of a command that is refused.
        burst: OutStream<Burst> = p.spec(),
        /// A command is being checked.
        checking_o: Out = bit(),
    }
}

impl Block for AxiBursts {
    type Ports = AxiBurstsPorts;
    const ABOUT: About = About {
        name: "axi_bursts",
        summary: "the bursts of a DMA's commands",
        contract: "checked shows a command two cycles after it was taken, when its bursts can begin or it is\n\
            refused. Its first burst is shown in the cycle after checked was taken; then comes one burst a cycle.\n\
            Bursts are INCR, as long as possible, and end at multiples of burst_beats beats and at the ends of rows.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &AxiBurstsPorts) {
        let full = m.reg_init("full_q", bit(), 0);
        let checked = m.reg_init("checked_q", bit(), 0);
        m.connect(io.command.ready, !full.q & !io.clear_i);
        let take = m.wire("take", io.command.fire());
        let held = io.command.hold(m, "held", take);
        let leave = m.wire("leave", io.checked.fire());
        full.next((take | (full.q & !leave)) & !io.clear_i);
        checked.next(full.q & !leave & !io.clear_i);
        let refusal = self.refusal(m, &held);
        let refused = m.wire("refused", refusal.any());
        let free = m.net("free", bit());
        m.connect(io.checked.valid, checked.q & (refused | free) & !io.clear_i);
        m.connect(io.checked.refusal, refusal);
        m.connect(io.checked.address, held.address);
        let (odd, alternates) = if self.axi.bytes() > UNIT {
            (held.address.bit(6), held.stride.bit(6))
        } else {
            (bit().lit(0), bit().lit(0))
        };
        let rows = Rows { row_bytes: held.row_bytes, rows: held.rows, odd, alternates };
        m.connect(io.checked.rows, rows.pack());
        let load = m.wire("load", leave & !refused);
        let work = Beats::of(&self.axi, &self.dma);
        let left = self.walk(m, io, &held, (load, free), work.as_ref());
        m.connect(io.checking_o, full.q);
        if let (Some(work), Some((left, has_work))) = (&work, left) {
            m.formal(|m| {
                let issued = NewBurst { begins: io.burst.fire(), len: io.burst.len };
                let total = work.beats(held.rows, held.row_bytes);
                let known = work.left(m, Load { load, total }, issued, io.clear_i, io.stop_i);
                m.assert_always("beats_left", known.eq(left));
                m.assert_always("walk_has_work", has_work);
            });
        }
    }
}

impl AxiBursts {
    /// Why a command is refused. The product has a cycle of its own.
    fn refusal(&self, m: &mut Module, held: &DmaCommand) -> Signal {
        let ty = uint(3);
        let low = |s: Signal| s.slice(0..6).any();
        let units = held.stride.slice(6..self.dma.stride_width);
        let distance = m.reg("distance_q", uint(self.dma.rows_width + units.width()));
        distance.next(held.rows.wrapping_sub(1) * units);
        let span_end = m.wire("span_end", held.address + distance.q.shl(6) + held.row_bytes);
        // The byte after the last one may be the first byte without an address.
        let whole = num_bigint::BigInt::from(1) << self.axi.address_width;
        let beyond = span_end.gt(whole);
        let code = |code: u32| ty.lit(code);
        let choices = [
            (low(held.address), code(dma_error::ADDRESS)),
            (!held.row_bytes.any() | !held.rows.any(), code(dma_error::EMPTY)),
            (low(held.stride), code(dma_error::STRIDE)),
            (beyond, code(dma_error::OVERFLOW)),
        ];
        m.wire("refusal", select(&choices, code(dma_error::NONE)))
    }

    /// Beats that the bytes of a row touch.
    fn beats(&self, row_bytes: Signal, odd: Signal) -> Signal {
        let bytes = self.axi.bytes();
        let most = (1u64 << self.dma.row_width) - 1 + if bytes > UNIT { u64::from(UNIT) } else { 0 };
        let width = bits_for(most.div_ceil(bytes.into())).max(self.dma.beats_width());
        let sum = if bytes > UNIT {
            // The unit in front of the row in its first beat counts.
            row_bytes + cat(&[odd, uint(6).lit(0)]) + (bytes - 1)
        } else {
            row_bytes + (bytes - 1)
        };
        let beats = sum.shr(self.axi.size());
        if beats.width() < width { beats.extend(width) } else { beats.truncate(width) }
    }

    /// Address in beats of a row whose address in units is `row`.
    fn place(&self, row: Signal) -> Signal {
        let size = self.axi.size();
        if size > 6 { row.shr(size - 6) } else { row.shl(6 - size) }
    }

    /// Shows the bursts of the command that `load` takes. Returns how many of their beats remain by `work`, and whether
    /// any do.
    fn walk(
        &self,
        m: &mut Module,
        io: &AxiBurstsPorts,
        held: &DmaCommand,
        (load, free): (Signal, Signal),
        work: Option<&Beats>,
    ) -> Option<(Signal, Signal)> {
        let dma = &self.dma;
        let size = self.axi.size();
        let active = m.reg_init("active_q", bit(), 0);
        let unit_ty = uint(self.axi.address_width - 6);
        let row = m.reg("row_q", unit_ty);
        let stride = m.reg("stride_q", uint(dma.stride_width - 6));
        let bytes = m.reg("row_bytes_q", uint(dma.row_width));
        let rows_left = m.reg("rows_left_q", uint(dma.rows_width));
        let at = m.reg("at_q", uint(self.axi.address_width - size));
        let first = m.reg("first_q", bit());

        let row_start = m.wire("row_start", held.address.slice(6..self.axi.address_width));
        let row_next = m.wire("row_next", row.q.wrapping_add(stride.q));
        let row_load = m.wire("row_load", mux(load, row_start, row_next));
        let odd = if self.axi.bytes() > UNIT { row_load.bit(0) } else { bit().lit(0) };
        let row_bytes = m.wire("row_bytes", mux(load, held.row_bytes, bytes.q));
        let row_beats = m.wire("row_beats", self.beats(row_bytes, odd));
        let left = m.reg("left_q", row_beats.ty());

        // Up to the next multiple of the longest burst.
        let width = dma.beats_width();
        let room = if dma.burst_beats == 1 {
            uint(width).lit(1)
        } else {
            uint(width).lit(dma.burst_beats).wrapping_sub(at.q.truncate(dma.burst_beats.trailing_zeros()).extend(width))
        };
        let room = m.wire("room", room);
        let ends_row = m.wire("ends_row", left.q.le(room));
        let beats = m.wire("beats", mux(ends_row, left.q.truncate(width), room));
        let ends = m.wire("ends", ends_row & rows_left.q.eq(1));
        let goes = m.wire("goes", io.burst.fire());
        m.connect(io.burst.valid, active.q & !io.clear_i);
        m.connect(io.burst.address, at.q.shl(size));
        m.connect(io.burst.len, beats.wrapping_sub(1).truncate(dma.len_width()));
        m.connect(io.burst.first, first.q);
        m.connect(io.burst.last, ends);
        m.connect(free, !active.q | (goes & ends));
        active.next((load | (active.q & !io.stop_i & !(goes & ends))) & !io.clear_i);
        let turn = m.wire("turn", load | (goes & ends_row));
        row.next_when(turn, row_load);
        at.next_when(load | goes, mux(turn, self.place(row_load), at.q.wrapping_add(beats)));
        left.next_when(load | goes, mux(turn, row_beats, left.q.wrapping_sub(beats)));
        rows_left.next_when(turn, mux(load, held.rows, rows_left.q.wrapping_sub(1)));
        stride.next_when(load, held.stride.slice(6..dma.stride_width));
        bytes.next_when(load, held.row_bytes);
        first.next_when(load | goes, load);
        let has_work = left.q.any() & rows_left.q.any() & bytes.q.any();
        work.map(|work| (work.of_walk(active.q, rows_left.q, bytes.q, left.q), !active.q | has_work))
    }
}
