//! After the array: sums of queries and keys become scores and probabilities, sums of probabilities and values become
//! results.

use super::activation_memory::ActivationMemory;
use super::attention_spec::AttentionSpec;
use super::integer_lanes::{IntegerLane, IntegerLanes};
use super::panel_pages::PanelPages;
use super::sum_lanes::{SumLane, SumLanes};
use crate::accelerators::sizes::fit;
use crate::blocks::common::stream::Word;
use crate::blocks::kelle::ArrayResult;
use crate::lang::{
    About, Block, In, InStream, Module, Out, OutArray, OutStream, bit, bits_for, connect_all, index_width, mux,
    parameters, ports, select, uint,
};

/// 2^15, fp32: probabilities are integers of 16 bits, 1 is 2^15.
const ONE: u32 = 0x4700_0000;

parameters! {
    /// Elaboration parameters.
    pub struct AttentionSums {
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
        /// How a probability becomes an integer.
        integer: IntegerLane = IntegerLane::default();
        /// How a sum becomes an fp16 number; as wide as the array's sums.
        sum: SumLane = SumLane::default();
    }
    rules = |p, rules| {
        let width = p.spec.spec.accumulator_width;
        rules.demand(p.sum.width == width, "sum.width", p.sum.width, format!("accumulator_width = {width}"));
        rules.part("sum", &p.lanes());
        rules.part("integer", &p.integers());
        rules.part("spec", &p.scores());
        rules.part("spec", &p.results());
        rules.part("spec", &p.probabilities());
    };
}

impl AttentionSums {
    fn lanes(&self) -> SumLanes {
        SumLanes { lanes: self.spec.spec.lanes(), lane: self.sum.clone() }
    }

    fn integers(&self) -> IntegerLanes {
        let lane = IntegerLane { unsigned: true, ..self.integer.clone() };
        IntegerLanes { lanes: self.spec.spec.lanes(), lane }
    }

    /// Scores of all queries.
    fn scores(&self) -> PanelPages {
        let (spec, rows) = (&self.spec, self.spec.spec.rows);
        PanelPages { lanes: spec.spec.lanes(), columns: rows, panel: spec.panels() * rows, rows: spec.group }
    }

    /// Results of all queries.
    fn results(&self) -> PanelPages {
        let spec = &self.spec;
        PanelPages { lanes: spec.spec.lanes(), columns: spec.spec.columns, panel: spec.width, rows: spec.group }
    }

    fn probabilities(&self) -> ActivationMemory {
        let (spec, tile) = (&self.spec, self.spec.spec.rows);
        ActivationMemory { lanes: spec.spec.lanes(), tile, rows: spec.group, inner: spec.panels() * tile }
    }
}

ports! {
    /// Ports of [`AttentionSums`].
    pub struct AttentionSumsPorts(p: &AttentionSums) {
        /// Drops everything.
        clear_i: In = bit(),
        /// Products with keys begin.
        keys_i: In = bit(),
        /// Products with values begin.
        values_i: In = bit(),
        /// The sums that come are products with values.
        valued_i: In = bit(),
        /// Queries; steady from keys_i up to the last result, as the other sizes.
        queries_i: In = p.spec.groups(),
        /// Slices of a vector.
        slices_i: In = uint(bits_for(p.spec.slices().into())),
        /// Tokens before the new one.
        old_i: In = p.spec.count(),
        /// Panels of tokens.
        panels_i: In = uint(bits_for(p.spec.panels().into())),
        /// A score is a product times this, fp32.
        score_scale_i: In = uint(32),
        /// A result is a sum of values times this, fp32.
        result_scale_i: In = uint(32),
        /// Results of the array.
        result: InStream<ArrayResult> = p.spec.spec.array(),
        /// Probabilities of all queries are here.
        probabilities_o: Out = bit(),
        /// Read a tile of them.
        read_i: In = bit(),
        /// Its query.
        query_i: In = uint(index_width(p.spec.group.into())),
        /// Its panel of tokens.
        panel_i: In = uint(bits_for(p.spec.panels().into())),
        /// The tile, from the next cycle on and up to the next read.
        tile_o: OutArray = uint(16).array(p.spec.spec.rows),
        /// All results have left.
        empty_o: Out = bit(),
        /// Results: of all queries, side by side.
        output: OutStream<Word> = p.spec.spec.axi.data_width,
        /// Scores and results of this cycle that are infinite or no number.
        overflows_o: Out = uint(bits_for(p.spec.spec.lanes().into())),
    }
}

impl Block for AttentionSums {
    type Ports = AttentionSumsPorts;
    const ABOUT: About = About {
        name: "attention_sums",
        summary: "scores, softmax and results of attention from the sums of the array",
        contract: "Scores are fp16(fp32(sum) * score_scale), probabilities the softmax of a query's scores, times\n\
            2^15 as integers; results are fp16(fp32(sum) * result_scale).",
        reference: "Kelle, section 5",
    };

    fn build(&self, m: &mut Module, io: &AttentionSumsPorts) {
        let (spec, lanes) = (&self.spec, self.spec.spec.lanes());
        let (log_lanes, log_rows) = (lanes.trailing_zeros(), spec.spec.rows.trailing_zeros());
        m.comment("Scores of a beat that exist: the scores of the tokens up to the new one.");
        let wide = bits_for(u64::from(spec.panels() + 1) * u64::from(spec.spec.rows));
        let panel = m.reg("panel_q", io.panels_i.ty());
        let last_query = fit(io.result.index, io.queries_i.width() + 1).wrapping_add(1);
        let last_query = last_query.eq(io.queries_i.extend(io.queries_i.width() + 1));
        let moves = m.wire("panel_ends", io.result.fire() & io.result.last & last_query);
        let zero = panel.q.ty().lit(0);
        panel.next(select(&[(io.keys_i, zero), (moves, panel.q.wrapping_add(1))], panel.q));
        let first = fit(panel.q.shl(log_rows), wide).wrapping_add(fit(io.result.group.shl(log_lanes), wide));
        let first = m.wire("first", first);
        let count = m.wire("count", fit(io.old_i, wide).wrapping_add(1));
        let behind = m.wire("behind", first.ge(count));
        let left = m.wire("left", count.wrapping_sub(first));

        let sums = m.instance("u_lanes", self.lanes());
        m.connect(sums.clear_i, io.clear_i);
        m.connect_handshake(&sums.input, &io.result);
        m.connect_each("sum", sums.input.sum, io.result.sum);
        let scale = m.wire("scale", mux(io.valued_i, io.result_scale_i, io.score_scale_i));
        m.for_each("scales", lanes, |m, k| {
            m.connect(sums.input.scale.at(k), scale);
            m.connect(sums.input.bias.at(k), 0);
        });
        let used_ty = sums.input.used.ty();
        let all = used_ty.lit(lanes);
        let some = select(&[(behind, used_ty.lit(0)), (left.ge(lanes), all)], fit(left, used_ty.width));
        m.connect(sums.input.used, mux(io.valued_i, all, some));
        m.connect(io.overflows_o, sums.overflows_o);
        m.unused(io.result.overflow.packed());
        m.unused(io.result.transposed);
        m.unused(io.result.used);

        m.comment("Scores come panel by panel and leave query by query.");
        let scores = m.instance("u_scores", self.scores());
        let results = m.instance("u_results", self.results());
        for pages in [&scores, &results] {
            m.connect(pages.clear_i, io.clear_i);
            m.connect(pages.rows_i, io.queries_i);
            m.connect_each("halves", pages.input.values, sums.output.values);
        }
        m.connect(scores.begin_i, io.keys_i);
        m.connect(scores.columns_i, count.extend(16));
        m.connect(scores.groups_i, io.panels_i.extend(16));
        m.connect(results.begin_i, io.values_i);
        m.connect(results.columns_i, fit(io.slices_i.shl(spec.spec.columns.trailing_zeros()), 16));
        m.connect(results.groups_i, io.slices_i.extend(16));
        m.connect(scores.input.valid, sums.output.valid & !io.valued_i);
        m.connect(results.input.valid, sums.output.valid & io.valued_i);
        m.connect(sums.output.ready, mux(io.valued_i, results.input.ready, scores.input.ready));
        m.unused(scores.empty_o);
        m.connect(io.empty_o, results.empty_o);
        m.connect_stream(&io.output, &results.output);

        m.comment("Rows of the softmax.");
        let softmax = m.instance("u_softmax", spec.softmax());
        m.connect(softmax.clear_i, io.clear_i);
        m.connect(softmax.length_i, fit(count, softmax.length_i.width()));
        let beat = m.reg_init("beat_q", uint(wide), 0);
        let past = m.wire("past", beat.q.wrapping_add(lanes));
        let ends = m.wire("row_ends", past.ge(count));
        let feeds = m.wire("feeds", softmax.input.fire());
        let next = mux(ends, uint(wide).lit(0), past);
        beat.next(select(&[(io.keys_i | io.clear_i, uint(wide).lit(0)), (feeds, next)], beat.q));
        m.connect_handshake(&softmax.input, &scores.output);
        let values = m.split("score", scores.output.data.data, uint(16).array(lanes));
        m.connect_each("score_values", softmax.input.values, values);
        let used_ty = softmax.input.used.ty();
        let rest = fit(count.wrapping_sub(beat.q), used_ty.width);
        m.connect(softmax.input.used, mux(ends, rest, used_ty.lit(lanes)));
        m.connect(softmax.input.last, ends);

        m.comment("Probabilities.");
        let integers = m.instance("u_integers", self.integers());
        let memory = m.instance("u_memory", self.probabilities());
        m.connect(integers.clear_i, io.clear_i);
        m.connect(integers.quantizer_i, ONE);
        m.connect_handshake(&integers.input, &softmax.output);
        m.connect_each("share", integers.input.values, softmax.output.values);
        connect_all!(m, integers.input, softmax.output, [used, last]);
        for unused in [softmax.output.error, softmax.output.undefined, softmax.output.empty] {
            m.unused(unused);
        }
        m.unused(integers.saturations_o);
        m.connect(memory.clear_i, io.clear_i | io.keys_i);
        m.connect_stream(&memory.input, &integers.output);
        m.connect(io.probabilities_o, memory.rows_o.eq(io.queries_i));
        m.connect(memory.read_i, io.read_i);
        m.connect(memory.row_i, io.query_i);
        m.connect(memory.tile_i, fit(io.panel_i, memory.tile_i.width()));
        m.connect_each("tile", io.tile_o, memory.tile_o);
    }
}
