//! From sums of lanes to rows of fp16 in memory: factors, addends, beats of the bus.

use super::factor_ring::FactorRing;
use super::kllm_spec::{KllmSpec, ProductSize};
use super::panel_walk::PanelWalk;
use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::arith::popcount;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::row::{Section, later};
use crate::blocks::common::stream::{StreamFifo, StreamWidthConverter, Word};
use crate::blocks::kllm::{ColumnSums, ScaledResults};
use crate::lang::{
    About, Block, Bundle, In, InBundle, InStream, Module, Out, OutStream, Stream, Timing, bit, bits_for, cat, mux,
    parameters, ports, uint,
};

/// Tokens that are on their way from the reader to their last result, and a few more.
const TOKENS: u32 = 8;

parameters! {
    /// Elaboration parameters.
    pub struct KllmResults {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// The lanes.
        spec: KllmSpec = KllmSpec::default();
    }
    rules = |p, rules| {
        rules.part("spec.outputs", &p.addends());
        rules.part("spec.outputs", &p.factors());
    };
}

impl KllmResults {
    fn bits(&self) -> u32 {
        16 * self.spec.outputs
    }

    fn addends(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: self.bits(), granule: 8 }
    }

    fn rows(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.bits(), output_width: self.axi.data_width, granule: 8 }
    }

    fn factors(&self) -> FactorRing {
        FactorRing { axi: self.axi.clone(), spec: self.spec.clone() }
    }
}

ports! {
    /// Ports of [`KllmResults`].
    pub struct KllmResultsPorts(p: &KllmResults) {
        /// Drops everything.
        clear_i: In = bit(),
        /// The product; steady from clear_i on.
        size: InBundle<ProductSize> = (),
        /// Sums of the channels of a panel, token after token; last with the last ones.
        sums: InStream<ColumnSums> = p.spec.lane(),
        /// Scales of the tokens.
        scale: InStream<Word> = 16,
        /// Factors of the channels: one row.
        constants: InStream<RowBeat> = p.axi.clone(),
        /// Addends, if there are any: of each panel, for each token a row of the panel's channels.
        addends: InStream<RowBeat> = p.axi.clone(),
        /// Results: rows like the rows of the addends.
        write: OutStream<Word> = p.axi.data_width,
        /// Results that are infinite or no number in this cycle.
        overflows_o: Out = uint(bits_for(p.spec.outputs.into())),
        /// For one cycle: a lane says that its sums are wrong.
        error_o: Out = bit(),
    }
}

impl Block for KllmResults {
    type Ports = KllmResultsPorts;
    const ABOUT: About = About {
        name: "kllm_results",
        summary: "sums of lanes become rows of results",
        contract: "Results are the results of scaling_unit, plus addends if there are any, rounded to fp16. Sums\n\
            after the last channel are dropped.",
        reference: "KLLM, section III-D",
    };

    fn build(&self, m: &mut Module, io: &KllmResultsPorts) {
        let clear = io.clear_i;
        let scaled = self.scaled(m, io);
        let (results, row_last) = self.added(m, io, &scaled);
        m.comment("Rows.");
        let rows = m.instance("u_rows", self.rows());
        m.connect(rows.clear_i, clear);
        m.connect_handshake(&rows.input, &results);
        let outputs = self.spec.outputs;
        let word = m.wire("result", results.data.data);
        let values = m.split("value", word.slice(0..self.bits()), uint(16).array(outputs));
        let there = m.split("there", word.slice(self.bits()..self.bits() + outputs), bit().array(outputs));
        let (strobe, special) = (m.nets("strobe", uint(2), outputs), m.nets("special", bit(), outputs));
        m.for_each("results", outputs, |m, i| {
            m.connect(strobe.at(i), there.at(i).repeat(2));
            m.connect(special.at(i), there.at(i) & values.at(i).slice(10..15).all());
        });
        m.connect(rows.input.data.data, word.slice(0..self.bits()));
        m.connect(rows.input.strobe, strobe.packed());
        m.connect(rows.input.last, row_last);
        let count = popcount::ones(m, "specials", &special.elements());
        m.connect(io.overflows_o, count & results.fire().repeat(count.width()));
        m.connect_handshake(&io.write, &rows.output);
        m.connect(io.write.data.data, rows.output.data.data);
        m.unused(rows.output.strobe);
        m.unused(rows.output.last);
    }

    fn timing(&self) -> Timing {
        let scaling = self.spec.scaling().cycles(0);
        // To a register and a FIFO after each; a word of a row is there a cycle later.
        Timing::pipeline(scaling + u64::from(self.spec.adding()) + 2)
    }
}

impl KllmResults {
    /// Sums with their token's scale and their channels' factors.
    fn scaled(&self, m: &mut Module, io: &KllmResultsPorts) -> Stream<ScaledResults> {
        let (clear, outputs) = (io.clear_i, self.spec.outputs);
        m.comment("Scales of tokens on their way.");
        let scales = m.instance("u_scales", StreamFifo::registers(16, TOKENS));
        m.connect(scales.clear_i, clear);
        m.connect_stream(&scales.input, &io.scale);
        m.unused(scales.level_o);
        m.unused(scales.almost_full_o);
        m.comment("Factors.");
        let ring = m.instance("u_factors", self.factors());
        m.connect(ring.clear_i, clear);
        ring.size.drive(m, "factor_size", &io.size);
        m.connect_stream(&ring.rows, &io.constants);

        let scaling = m.instance("u_scaling", self.spec.scaling());
        m.connect(scaling.clear_i, clear);
        // The sums after the last channel.
        let over = m.reg_init("over_q", bit(), 0);
        let goes = m.wire("goes", io.sums.valid & scales.output.valid & !over.q);
        m.connect(scaling.sums.valid, goes);
        let moves = m.wire("moves", scaling.sums.fire());
        let walk = PanelWalk::new(m, "sum", &self.spec, &io.size, (clear, moves));
        m.unused(walk.token_last);
        m.connect(io.sums.ready, over.q | (scales.output.valid & scaling.sums.ready));
        let ends = m.wire("ends", moves & walk.row_last);
        m.connect(scales.output.ready, moves & walk.row_last);
        let drops = m.wire("drops", io.sums.fire() & io.sums.last);
        over.next(((ends | over.q) & !drops) & !clear);
        m.for_each("sums", outputs, |m, i| {
            m.connect(scaling.sums.dense.at(i), io.sums.sum.at(i));
            if let Some(outliers) = io.sums.outliers {
                m.connect(scaling.sums.outliers.at(i), outliers.at(i));
            }
        });
        if let Some(special) = io.sums.special {
            m.connect(scaling.sums.special, special);
        }
        m.connect(scaling.sums.scale, scales.output.data.data);
        m.connect(scaling.sums.error, io.sums.error);
        m.connect(scaling.sums.last, walk.row_last);
        m.connect(io.error_o, io.sums.fire() & io.sums.error);
        m.comment(
            "Integers have no outliers: their second factor, which a host need not write, is 0 whatever memory holds.",
        );
        m.connect_handshake(&scaling.factors, &ring.factors);
        let named = m.wire("names_outliers", !io.size.integers);
        m.for_each("factors", outputs, |m, i| {
            m.connect(scaling.factors.dense.at(i), ring.factors.dense.at(i));
            let second = ring.factors.outliers.at(i);
            m.connect(scaling.factors.outliers.at(i), second & named.repeat(second.width()));
        });
        scaling.results
    }

    /// Results with their addends. Above them, which of them exist, and whether they are the last ones of their row.
    fn added(
        &self,
        m: &mut Module,
        io: &KllmResultsPorts,
        scaled: &Stream<ScaledResults>,
    ) -> (Stream<Word>, crate::lang::Signal) {
        m.comment("Addends.");
        let (clear, outputs, bits) = (io.clear_i, self.spec.outputs, self.bits());
        let addends = m.instance("u_addends", self.addends());
        m.connect(addends.clear_i, clear);
        rows_to_words(m, "addend", &io.addends, &addends);
        m.unused(addends.output.strobe);
        m.unused(addends.output.last);
        let add = io.size.add;
        let latency = self.spec.adding();
        let section = Section::new(m, "add", (latency, bits + outputs + 1), clear);
        let free = m.wire("addend_there", !add | addends.output.valid);
        let begins = m.wire("add_begins", scaled.valid & free & section.room);
        m.connect(scaled.ready, free & section.room);
        m.connect(addends.output.ready, add & scaled.valid & section.room);
        m.connect(section.enters, begins);
        let walk = PanelWalk::new(m, "result", &self.spec, &io.size, (clear, begins));
        m.unused(walk.token_last);
        m.unused(scaled.error);
        m.unused(scaled.overflow.packed());
        let others = m.split("addend_value", addends.output.data.data, uint(16).array(outputs));
        let (values, there) = (m.nets("added", uint(16), outputs), m.nets("is_there", bit(), outputs));
        m.for_each("add", outputs, |m, i| {
            let u = m.instance("u_add", self.spec.adder());
            m.connect(u.valid_i, 1);
            m.connect(u.a_i, scaled.values.at(i));
            m.connect(u.b_i, others.at(i));
            m.unused(u.valid_o);
            let plain = later(m, "plain", scaled.values.at(i), latency - 1);
            let value = later(m, "sum", mux(add, u.result_o, plain), 1);
            m.connect(values.at(i), value);
            m.connect(there.at(i), walk.rest.gt(i.value(walk.rest.width())));
        });
        let marks = later(m, "marks", cat(&[scaled.last, there.packed()]), latency);
        section.catch(m, "add", begins, cat(&[marks, values.packed()]), clear);
        let fifo = &section.fifo;
        let leaves = m.wire("sum_leaves", fifo.output.fire());
        m.connect(section.leaves, leaves);
        (fifo.output.clone(), fifo.output.data.data.msb())
    }
}
