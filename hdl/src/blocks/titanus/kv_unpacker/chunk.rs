//! The chunk in the window: its kind, its length, and its errors.

use super::super::format::{HEADER_BITS, VERSION, by_width, chunk_bits, first_records, length_type, resized};
use super::super::{RANGE_BITS, RECORD_BITS, bits_type, ones_in, steps_of};
use super::KvUnpacker;
use super::window::Window;
use crate::lang::{Fsm, Module, Signal, bit, mux, select, uint};

/// The chunk at the start of the window. Its fields have a meaning when the window has enough bits.
pub(super) struct Chunk {
    pub(super) length: Signal,
    /// Of a tile: bit 0 a token, bit 1 levels.
    pub(super) kind: Signal,
    /// It belongs to a tile.
    pub(super) of_tile: Signal,
    /// It is the last one of its tile.
    pub(super) completes: Signal,
    /// Records follow in another chunk.
    pub(super) more: Signal,
    /// Width of a value.
    pub(super) bits: Signal,
    /// The stream is damaged here.
    pub(super) damaged: Signal,
    /// It is damaged if it ends with this chunk.
    pub(super) bad_end: Signal,
    /// It is padding, up to the end of the stream, which is not damaged.
    pub(super) padding_ends: Signal,
}

impl KvUnpacker {
    pub(super) fn parse(&self, m: &mut Module, fsm: &Fsm, view: &Window) -> Chunk {
        let (lanes, window) = (self.lanes, view.bits);
        let length_type = length_type(lanes);
        let fit = |s: Signal| resized(s, length_type.width);
        let [is_header, is_token] = ["Header", "Token"].map(|s| m.wire(&format!("in_{}", s.to_lowercase()), fsm.is(s)));
        let (is_levels, is_more) = (fsm.is("Levels"), fsm.is("MoreLevels"));

        let kind = m.wire("kind", window.slice(0..2));
        let padding = m.wire("padding", (is_token & !kind.any()) | fsm.is("Padding"));
        let elements = ones_in(m, "elements", window.slice(2..2 + lanes));
        // Labels beyond the number of elements are values already.
        let ramp = uint(lanes + 1).lit(1).shl_by(elements);
        let inside = m.wire("inside_labels", ramp.wrapping_sub(1).truncate(lanes));
        let labels = m.wire("labels", window.slice(2 + lanes..2 + 2 * lanes) & inside);
        let nonzero = ones_in(m, "nonzero", labels);
        let bits = m.reg("bits_q", bits_type());
        // The header lasts until it is complete, so that the last value seen is the right one.
        bits.next_when(is_header, window.slice(0..4));
        let value_bits = by_width(m, "value_bits", bits.q, |b| fit((nonzero * b).extend(nonzero.width() + 4)));
        let token_length = fit(elements).wrapping_add(value_bits).wrapping_add(2 + lanes);

        let first = first_records(lanes);
        let opened = ones_in(m, "opened", window.slice(0..lanes));
        let more = m.wire("more_records", opened.gt(first));
        let shown = m.wire("first_records", mux(more, opened.ty().lit(first), opened));
        let left = m.reg("records_left_q", opened.ty());
        left.next_when(is_levels, opened.wrapping_sub(first));
        let records = |s: Signal| fit((s * RECORD_BITS).extend(s.width() + 5));
        let length = select(
            &[
                (is_header, length_type.lit(HEADER_BITS)),
                (padding, length_type.lit(chunk_bits(lanes))),
                (is_token & kind.bit(0), token_length),
                (is_token, length_type.lit(2)),
                (is_levels, records(shown).wrapping_add(lanes)),
            ],
            records(left.q),
        );
        let length = m.wire("length", length);
        let completes = (is_token & kind.eq(1)) | (is_levels & !more) | is_more;
        let completes = m.wire("completes", completes);

        m.comment("Errors of the chunk, whatever it is.");
        let token_seen = m.reg_init("token_seen_q", bit(), 0);
        let has_token = m.wire("has_token", token_seen.q | (is_token & kind.bit(0)));
        token_seen.next(!view.over & mux(view.cut, has_token, token_seen.q));
        let widths = bits_type();
        let width = window.slice(0..widths.width);
        let expected = uint(12).lit(VERSION | lanes << 4);
        let bad_header =
            m.wire("bad_header", is_header & (width.lt(2) | width.gt(8) | window.slice(4..16).ne(expected)));
        let late_levels = m.wire("late_levels", is_token & kind.eq(2) & token_seen.q);
        let steps = steps_of(m, "steps", bits.q);
        let low = low_range(m, "low", (window, lanes), first, shown, steps);
        let more_low = low_range(m, "more_low", (window, 0), lanes - first, left.q, steps);
        let low_range = m.wire("low_range", (is_levels & low) | (is_more & more_low));
        // Parts that are not whole at the end: header, tile, or the tiles without their levels.
        let cut_short = m.wire("cut_short", view.last & !padding & (view.beyond | (view.reaches & !completes)));
        let bad_end = m.wire("ends_badly", !has_token | view.bad_checksum);
        let padding_bad = window.any() | !view.last | (view.reaches & bad_end);
        let padding_bad = m.wire("padding_bad", padding & padding_bad);
        let damaged = m.wire("chunk_damaged", bad_header | late_levels | low_range | cut_short | padding_bad);
        Chunk {
            length,
            kind,
            of_tile: m.wire("of_tile", !is_header & !padding),
            completes,
            more,
            bits: bits.q,
            damaged,
            bad_end,
            padding_ends: m.wire("padding_ends", padding & !padding_bad & view.reaches),
        }
    }
}

/// Whether any of the first `count` of `most` records has a range below the number of steps. The records are in a
/// vector, from a given bit on.
fn low_range(
    m: &mut Module,
    name: &str,
    (bits, from): (Signal, u32),
    most: u32,
    count: Signal,
    steps: Signal,
) -> Signal {
    let low = m.nets(&format!("{name}_ranges"), bit(), most);
    m.for_each(&format!("{name}_ranges"), most, |m, i| {
        let range = bits.slice_at(i * i64::from(RECORD_BITS) + i64::from(from), RANGE_BITS);
        m.connect(low.at(i), count.gt(i.value(count.width())) & range.lt(steps));
    });
    m.wire(name, low.packed().any())
}
