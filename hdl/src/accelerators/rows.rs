//! Rows of memory as words of another width.

use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::StreamWidthConverterPorts;
use crate::lang::{Module, Signal, Stream, bit, bits_for, mux, uint};

/// Beats of rows for a converter: the bytes in use, and where a row ends.
pub fn rows_to_words(m: &mut Module, name: &str, rows: &Stream<RowBeat>, words: &StreamWidthConverterPorts) {
    m.connect_handshake(&words.input, rows);
    m.connect(words.input.data.data, rows.data.data);
    let strobe = m.nets(&format!("{name}_strobe"), bit(), rows.data.data.width() / 8);
    m.for_each(&format!("{name}_byte"), strobe.count(), |m, i| {
        m.connect(strobe.at(i), rows.bytes.gt(i.value(rows.bytes.width())));
    });
    m.connect(words.input.strobe, strobe.packed());
    m.connect(words.input.last, rows.row_last);
    m.unused(rows.last);
}

/// The same for the first `bytes` bytes of each row, from 1 up to all of them; later bytes are dropped, beat by beat.
/// `bytes` is steady from `clear` on.
pub fn starts_to_words(
    m: &mut Module,
    name: &str,
    rows: &Stream<RowBeat>,
    (bytes, clear): (Signal, Signal),
    words: &StreamWidthConverterPorts,
) {
    let (ty, beat) = (bytes.ty(), rows.data.data.width() / 8);
    let left = m.reg(&format!("{name}_left_q"), ty);
    let begins = m.reg_init(&format!("{name}_begins_q"), bit(), 1);
    let here = m.wire(&format!("{name}_left"), mux(begins.q, bytes, left.q));
    let some = m.wire(&format!("{name}_some"), here.any());
    m.connect(words.input.valid, rows.valid & some);
    m.connect(rows.ready, mux(some, words.input.ready, !clear));
    m.connect(words.input.data.data, rows.data.data);
    let strobe = m.nets(&format!("{name}_strobe"), bit(), beat);
    m.for_each(&format!("{name}_byte"), beat, |m, i| {
        m.connect(strobe.at(i), here.gt(i.value(ty.width)));
    });
    m.connect(words.input.strobe, strobe.packed());
    m.connect(words.input.last, here.le(beat));
    let moves = m.wire(&format!("{name}_moves"), rows.fire());
    begins.next(clear | mux(moves, rows.row_last, begins.q));
    left.next_when(moves, mux(here.gt(beat), here.wrapping_sub(beat), ty.lit(0)));
    m.unused(rows.bytes);
    m.unused(rows.last);
}

/// A stream of rows that is driven later.
pub fn rows_of(m: &mut Module, name: &str, axi: &AxiSpec) -> Stream<RowBeat> {
    let mut net = |what: &str, ty| -> Signal { m.net(&format!("{name}_{what}"), ty) };
    let (valid, ready) = (net("valid", bit()), net("ready", bit()));
    let data = RowBeat {
        data: net("data", uint(axi.data_width)),
        bytes: net("bytes", uint(bits_for(axi.bytes().into()))),
        row_last: net("row_last", bit()),
        last: net("last", bit()),
    };
    Stream::new(name, valid, ready, data)
}
