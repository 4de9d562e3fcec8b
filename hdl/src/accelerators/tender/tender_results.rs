//! What goes in and out of the lanes for results: records of constants, rows through the turn buffer, words of panels.

use super::engine_pe::EnginePe;
use super::result_stage::ResultStagePorts;
use super::strip_walker::StripWalkerPorts;
use super::tender_engine::{READS_CONSTANTS, RECORD, TenderEngineOf, TenderEnginePorts};
use super::tender_places::Fields;
use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::{StreamFifo, StreamWidthConverter, StreamWidthConverterPorts, Word};
use crate::lang::{Array, Module, Signal, Stream, bit, mux, uint};

/// Bits of a record that mean something: scale, bias, quantizer.
const CONSTANTS: u32 = 96;

impl<P: EnginePe> TenderEngineOf<P> {
    /// Constants of columns, or of rows, for the lanes.
    pub(super) fn constants(&self, m: &mut Module, io: &TenderEnginePorts, stage: &ResultStagePorts) {
        let records = records(m, (&self.axi, io.shell.abort_i), &io.shell.read.at(READS_CONSTANTS), 1);
        let record = m.wire("constants", records.data.data);
        let to = &stage.constants;
        m.connect_handshake(to, &records);
        for (k, to) in (0..).zip([to.scale, to.bias, to.quantizer]) {
            m.connect(to, record.slice(32 * k..32 * (k + 1)));
        }
    }

    /// Rows to be packed go through the turn buffer to the lanes, fp16 results through it to memory.
    pub(super) fn turned(
        &self,
        m: &mut Module,
        io: &TenderEnginePorts,
        fields: &Fields,
        begin: Signal,
        stage: &ResultStagePorts,
        (strips, a_ready): (&StripWalkerPorts, Signal),
    ) {
        let (rows, lanes, integers, results) = (self.array.rows, self.lanes(), fields.integers, stage.result.values);
        let packs = m.wire("packs", !fields.product);
        let turn = m.instance("u_turn", self.turn());
        m.connect(turn.clear_i, io.shell.abort_i);
        m.connect(turn.by_rows_i, packs);
        m.connect_stream(&turn.page, &strips.page);
        let source = io.shell.read.at(0);
        for unused in [source.bytes, source.row_last, source.last] {
            m.unused(unused);
        }
        m.connect(source.ready, mux(packs, turn.fill.ready, a_ready));
        let numbers = (!self.overlaps).then(|| m.split("packed_row", source.data.data, uint(16).array(lanes)));
        let halves = m.wire("halves", !integers);
        m.connect(turn.fill.valid, mux(packs, source.valid, stage.result.valid & halves));
        // Both begin at element 0.
        let both = rows.min(lanes);
        let fill = turn.fill.values;
        m.for_each("fill", both, |m, i| {
            let result = results.at(i);
            m.connect(fill.at(i), numbers.map_or(result, |numbers| mux(packs, numbers.at(i), result)));
        });
        m.for_each("fill_results", rows - both, |m, i| m.connect(fill.at(i + both), results.at(i + both)));
        m.for_each("fill_numbers", lanes - both, |m, i| match numbers {
            Some(numbers) => m.connect(fill.at(i + both), numbers.at(i + both)),
            None => m.connect(fill.at(i + both), 0),
        });
        m.connect(stage.number.valid, turn.output.valid & packs);
        m.for_each("number", rows, |m, i| m.connect(stage.number.values.at(i), turn.output.values.at(i)));

        m.comment("Words of panels, or rows, on their way to memory.");
        let low = m.nets("low_byte", uint(8), rows);
        m.for_each("low", rows, |m, i| m.connect(low.at(i), results.at(i).slice(0..8)));
        let ends =
            PanelEnds { columns: fields.of.columns, begins: io.shell.abort_i | begin, moves: stage.result.fire() };
        let words = panel_words(m, (&self.axi, io.shell.abort_i), (low, 1), fields.of.int8, &ends);
        m.connect(words.input.valid, stage.result.valid & integers);
        let write: Stream<Word> = io.shell.write.at(0);
        let row = m.nets("row", uint(16), lanes);
        m.for_each("row", lanes, |m, i| m.connect(row.at(i), turn.output.values.at(i)));
        m.connect(write.valid, mux(integers, words.output.valid, turn.output.valid & halves));
        m.connect(write.data.data, mux(integers, words.output.data.data, row.packed()));
        m.connect(words.output.ready, write.ready & integers);
        m.connect(turn.output.ready, mux(packs, stage.number.ready, write.ready & halves));
        m.connect(stage.result.ready, mux(integers, words.input.ready, turn.fill.ready & halves));
    }
}

/// Where panels of results end.
pub(super) struct PanelEnds {
    /// Columns of a panel; steady.
    pub columns: Signal,
    /// An operation begins.
    pub begins: Signal,
    /// The next columns leave.
    pub moves: Signal,
}

/// From so many results to beats.
pub(super) fn words_of(axi: &AxiSpec, results: u32) -> StreamWidthConverter {
    StreamWidthConverter { input_width: 4 * results, output_width: axi.data_width, granule: 8 }
}

/// From beats to the records of so many columns.
pub(super) fn records_of(axi: &AxiSpec, group: u32) -> StreamWidthConverter {
    StreamWidthConverter { input_width: axi.data_width, output_width: 8 * RECORD * group, granule: 8 }
}

/// Words of panels from `group` columns of integers a beat: what comes in waits for `input.valid`, which the caller
/// connects.
pub(super) fn panel_words(
    m: &mut Module,
    (axi, abort): (&AxiSpec, Signal),
    (integers, group): (Array, u32),
    int8: Signal,
    panel: &PanelEnds,
) -> StreamWidthConverterPorts {
    let (all, rows) = (integers.count(), integers.count() / group);
    let words = m.instance("u_words", words_of(axi, all));
    m.connect(words.clear_i, abort);
    let nibble = m.nets("word_nibble", uint(4), all);
    m.for_each("nibble", all, |m, i| m.connect(nibble.at(i), integers.at(i).slice(0..4)));
    let byte = m.nets("word_byte", uint(8), all / 2);
    m.for_each("byte_column", group, |m, g| {
        m.for_each("byte", rows / 2, |m, i| m.connect(byte.at(g * (rows / 2) + i), integers.at(g * rows + i)));
    });
    m.connect(words.input.data.data, mux(int8, byte.packed(), nibble.packed()));
    let column = m.reg_init("panel_column_q", uint(16), 0);
    let next = m.wire("panel_next", column.q.extend(17).wrapping_add(group));
    let columns = panel.columns.extend(17);
    let ends = m.wire("panel_ends", next.ge(columns));
    let zero = uint(16).lit(0);
    let moved = mux(panel.moves, mux(ends, zero, next.slice(0..16)), column.q);
    column.next(mux(panel.begins, zero, moved));
    let strobe = m.nets("word_strobe", uint(rows / 2), group);
    m.for_each("strobe", group, |m, g| {
        let here = column.q.extend(17).wrapping_add(g.value(17)).lt(columns);
        m.connect(strobe.at(g), if group == 1 { bit().lit(1) } else { here }.repeat(rows / 2));
    });
    m.connect(words.input.strobe, strobe.packed());
    m.connect(words.input.last, ends);
    m.unused(words.output.strobe);
    m.unused(words.output.last);
    words
}

/// Records of constants on their way to the lanes, `group` at a time.
pub(super) fn records(
    m: &mut Module,
    (axi, abort): (&AxiSpec, Signal),
    rows: &Stream<RowBeat>,
    group: u32,
) -> Stream<Word> {
    m.comment("Constants.");
    let records = m.instance("u_records", records_of(axi, group));
    m.connect(records.clear_i, abort);
    rows_to_words(m, "record", rows, &records);
    m.unused(records.output.strobe);
    m.unused(records.output.last);
    let kept = StreamFifo::registers(CONSTANTS * group, 4);
    let fifo = m.instance("u_record_fifo", kept);
    m.connect(fifo.clear_i, abort);
    m.connect_handshake(&fifo.input, &records.output);
    let used = m.nets("record", uint(CONSTANTS), group);
    m.for_each("record", group, |m, g| {
        m.connect(used.at(g), records.output.data.data.slice_at(g * (8 * RECORD), CONSTANTS));
    });
    m.connect(fifo.input.data.data, used.packed());
    m.unused(fifo.level_o);
    m.unused(fifo.almost_full_o);
    fifo.output
}
