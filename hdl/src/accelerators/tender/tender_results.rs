//! What goes in and out of the lanes for results: records of constants, rows through the turn buffer, words of panels.

use super::engine_pe::EnginePe;
use super::result_stage::ResultStagePorts;
use super::strip_walker::StripWalkerPorts;
use super::tender_engine::{RECORD, TenderEngineOf, TenderEnginePorts};
use super::tender_places::Fields;
use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::{StreamFifo, StreamWidthConverter, StreamWidthConverterPorts, Word};
use crate::lang::{Module, Signal, Stream, mux, uint};

impl<P: EnginePe> TenderEngineOf<P> {
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
        let words = panel_words(m, (&self.axi, io.shell.abort_i), stage, (fields.of.int8, fields.of.columns, begin));
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

/// Words of panels from columns of integers: what comes in waits for `input.valid`, which the caller connects.
pub(super) fn panel_words(
    m: &mut Module,
    (axi, abort): (&AxiSpec, Signal),
    stage: &ResultStagePorts,
    (int8, columns, begin): (Signal, Signal, Signal),
) -> StreamWidthConverterPorts {
    let results = stage.result.values;
    let rows = results.count();
    let width = 4 * rows;
    let block = StreamWidthConverter { input_width: width, output_width: axi.data_width, granule: 8 };
    let words = m.instance("u_words", block);
    m.connect(words.clear_i, abort);
    let nibble = m.nets("low_nibble", uint(4), rows);
    let byte = m.nets("low_byte", uint(8), rows / 2);
    m.for_each("nibble", rows, |m, i| m.connect(nibble.at(i), results.at(i).slice(0..4)));
    m.for_each("byte", rows / 2, |m, i| m.connect(byte.at(i), results.at(i).slice(0..8)));
    m.connect(words.input.data.data, mux(int8, byte.packed(), nibble.packed()));
    m.connect(words.input.strobe, uint(1).lit(1).repeat(width / 8));
    let ends = panel_ends(m, columns, abort | begin, stage.result.fire());
    m.connect(words.input.last, ends);
    m.unused(words.output.strobe);
    m.unused(words.output.last);
    words
}

/// Records of constants on their way to the lanes.
pub(super) fn records(
    m: &mut Module,
    (axi, abort): (&AxiSpec, Signal),
    rows: &Stream<RowBeat>,
    stage: &ResultStagePorts,
) {
    m.comment("Constants.");
    let block = StreamWidthConverter { input_width: axi.data_width, output_width: 8 * RECORD, granule: 8 };
    let records = m.instance("u_records", block);
    m.connect(records.clear_i, abort);
    rows_to_words(m, "record", rows, &records);
    m.unused(records.output.strobe);
    m.unused(records.output.last);
    let kept = StreamFifo::registers(96, 4);
    let fifo = m.instance("u_record_fifo", kept);
    m.connect(fifo.clear_i, abort);
    m.connect_handshake(&fifo.input, &records.output);
    m.connect(fifo.input.data.data, records.output.data.data.slice(0..96));
    m.unused(fifo.level_o);
    m.unused(fifo.almost_full_o);
    let record = m.wire("record", fifo.output.data.data);
    m.connect_handshake(&stage.constants, &fifo.output);
    m.connect(stage.constants.scale, record.slice(0..32));
    m.connect(stage.constants.bias, record.slice(32..64));
    m.connect(stage.constants.quantizer, record.slice(64..96));
}

/// The result that leaves is the last one of its panel.
fn panel_ends(m: &mut Module, columns: Signal, begins: Signal, moves: Signal) -> Signal {
    let zero = uint(16).lit(0);
    let column = m.reg_init("panel_column_q", uint(16), 0);
    let last = m.wire("panel_ends", column.q.wrapping_add(1).eq(columns));
    let next = mux(last, zero, column.q.wrapping_add(1));
    column.next(mux(begins, zero, mux(moves, next, column.q)));
    last
}
