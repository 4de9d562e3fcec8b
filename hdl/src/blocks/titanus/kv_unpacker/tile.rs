//! The chunks of a tile, and the way of its parts to their lanes.

use super::super::format::{by_width, first_records};
use super::super::{RANGE_BITS, RECORD_BITS, ones_in};
use super::chunk::Chunk;
use super::control::Control;
use super::window::Window;
use super::{KvUnpacker, KvUnpackerPorts};
use crate::blocks::common::{Expander, ExpanderPorts};
use crate::lang::{Fsm, Module, Signal, bit, cat, mux};

/// A register that takes `value` where `load` is high.
#[track_caller]
fn held(m: &mut Module, name: &str, load: Signal, value: Signal) -> Signal {
    let register = m.reg(name, value.ty());
    register.next_when(load, value);
    register.q
}

/// `value`, or 0 where `gate` is low.
fn gated(value: Signal, gate: Signal) -> Signal {
    value & gate.repeat(value.width())
}

impl KvUnpacker {
    /// Keeps the chunks of a tile, then brings its parts to their lanes.
    pub(super) fn assemble(
        &self,
        m: &mut Module,
        io: &KvUnpackerPorts,
        fsm: &Fsm,
        view: &Window,
        chunk: &Chunk,
        control: &Control,
    ) {
        let (lanes, window) = (self.lanes, view.bits);
        let [token, levels, more] = ["Token", "Levels", "MoreLevels"]
            .map(|s| m.wire(&format!("cut_{}", s.to_lowercase()), control.cut & chunk.of_tile & fsm.is(s)));
        let is_token = chunk.kind.bit(0);
        let begins = m.wire("begins_beat", token | control.close);
        // The fields of a beat that carries no tile.
        let tile = m.wire("is_tile", !control.close);
        let first = held(m, "first_q", begins, mux(control.close, control.close_first, control.fresh));
        let initial = held(m, "initial_q", begins, !is_token & tile);
        let bits = held(m, "tile_bits_q", begins, gated(chunk.bits, tile));
        let index = held(m, "index_q", begins, gated(window.slice(2..2 + lanes), is_token & tile));
        let body = held(m, "body_q", token, window.slice(2 + lanes..2 + 10 * lanes));
        // A token without new levels has an empty mask.
        let opens = held(m, "opens_q", begins | levels, gated(window.slice(0..lanes), levels));
        let split = first_records(lanes);
        let head = held(m, "records_q", levels, window.slice(lanes..lanes + split * RECORD_BITS));
        let tail = held(m, "more_records_q", more, window.slice(0..(lanes - split) * RECORD_BITS));

        let full = m.reg_init("tile_valid_q", bit(), 0);
        m.connect(control.accepts, !full.q | io.tile.ready);
        let load = m.wire("tile_load", control.complete & control.known & control.accepts);
        full.next(load | (full.q & !io.tile.ready));
        m.connect(io.tile.valid, full.q);
        let out = &io.tile;
        let flags =
            [("first", first, out.first), ("last", control.last, out.last), ("error", control.is_closing, out.error)];
        for (name, value, port) in
            flags.into_iter().chain([("initial", initial, out.initial), ("bits", bits, out.bits)])
        {
            let value = held(m, &format!("{name}_out_q"), load, value);
            m.connect(port, value);
        }
        let labels: ExpanderPorts = m.instance("u_labels", Expander { lanes, width: 1, open: false });
        let records: ExpanderPorts = m.instance("u_records", Expander { lanes, width: RECORD_BITS, open: false });
        m.connect(labels.mask_i.packed(), index);
        m.connect(labels.data_i.packed(), body.slice(0..lanes));
        m.connect(records.mask_i.packed(), opens);
        m.connect(records.data_i.packed(), cat(&[tail, head]));
        let elements = m.wire("tile_elements", labels.count_o);
        let label = m.wire("label", labels.data_o.packed());
        for (name, value, port) in [("index", index, out.index), ("label", label, out.label), ("open", opens, out.open)]
        {
            let value = held(m, &format!("{name}_out_q"), load, value);
            m.connect(port.packed(), value);
        }
        let nonzero = ones_in(m, "tile_nonzero", label);
        let dense = m.wire("dense_values", body.shr_by(elements).slice(0..8 * lanes));
        m.for_each("lanes", lanes, |m, lane| {
            let value = by_width(m, "value", bits, |b| dense.slice_at(lane * i64::from(b), b).extend(8));
            let value = gated(value, nonzero.gt(lane.value(nonzero.width())));
            let value = held(m, "value_q", load, value);
            m.connect(out.values.at(lane), value);
            let record = held(m, "record_q", load, records.data_o.at(lane));
            m.connect(out.range.at(lane), record.slice(0..RANGE_BITS));
            m.connect(out.zero.at(lane), record.slice(RANGE_BITS..RECORD_BITS).as_sint());
        });
    }
}
