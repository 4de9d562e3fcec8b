//! The engine for heads, between the shell's streams: controller, sequencer, cache, lists, evictor, softmax, and the
//! array.

mod parts;

use super::attention_controller::{AttentionController, READERS};
use super::attention_sequencer::AttentionSequencer;
use super::attention_spec::AttentionSpec;
use super::attention_sums::AttentionSums;
use super::head_reader::HeadReader;
use super::head_wiper::HeadWiper;
use super::importance_unit::ImportanceUnit;
use super::integer_lanes::IntegerLane;
use super::linear_controller::WORDS;
use super::recompute_slots::RecomputeSlots;
use super::retention_ports::RetentionPorts;
use super::sum_lanes::SumLane;
use super::token_list::TokenList;
use super::token_loader::TokenLoader;
use super::token_saver::TokenSaver;
use super::walk::fit;
use crate::accelerators::engines::merge;
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::blocks::kelle::{ArrayResult, ArrayRow, ArrayStep, KvAccess};
use crate::lang::{
    About, Block, Group, In, InArray, InStream, InStreams, Module, Out, OutStream, OutStreams, Signal, Stream, bit,
    bits_for, mux, parameters, ports, select, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct AttentionEngine {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
        /// Lowest high score after a reset.
        threshold: u32 = 16, in 0..=65_535, note "below 2^spec.score_width", tag "t";
        /// How an fp16 number becomes an integer.
        integer: IntegerLane = IntegerLane::default();
        /// How a sum becomes an fp16 number; as wide as the array's sums.
        sum: SumLane = SumLane::default();
    }
    rules = |p, rules| {
        let top = (1u64 << p.spec.score_width) - 1;
        rules.demand(u64::from(p.threshold) <= top, "threshold", p.threshold, format!("0 to {top}"));
        rules.part("spec", &p.controller());
        rules.part("spec", &p.spec.walk());
        rules.part("sum", &p.sums());
    };
}

impl AttentionEngine {
    fn controller(&self) -> AttentionController {
        AttentionController { dma: self.dma.clone(), spec: self.spec.clone() }
    }

    fn sums(&self) -> AttentionSums {
        AttentionSums { spec: self.spec.clone(), integer: self.integer.clone(), sum: self.sum.clone() }
    }
}

ports! {
    /// Ports of [`AttentionEngine`].
    pub struct AttentionEnginePorts(p: &AttentionEngine) {
        /// Drops everything; the head of an operation of attention is emptied.
        abort_i: In = bit(),
        /// Empties all heads.
        forget_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// The array is to be cleared.
        clear_array_o: Out = bit(),
        /// Numbers that were saturated in this cycle.
        saturations_o: Out = uint(bits_for(p.spec.spec.lanes().into())),
        /// Scores and results of this cycle that are infinite or no number.
        overflows_o: Out = uint(bits_for(p.spec.spec.lanes().into())),
        /// For one cycle: a token had to go.
        evicts_o: Out = bit(),
        /// Rows that were refreshed in this cycle, of all groups of banks.
        refreshes_o: Out = uint(3),
        /// An access to the cache waits for a refresh in this cycle.
        stalls_o: Out = bit(),
        /// Retention model: the cells, and the accesses to them.
        retention: Group<RetentionPorts, AttentionSpec> = p.spec.clone(),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// Rows of weights to the array.
        load: OutStream<ArrayRow> = p.spec.spec.array(),
        /// Steps of the array.
        step: OutStream<ArrayStep> = p.spec.spec.array(),
        /// Results of the array.
        result: InStream<ArrayResult> = p.spec.spec.array(),
        /// A row of the array has a sum.
        row_valid_i: InArray = bit().array(p.spec.spec.rows),
        /// The sum.
        row_sum_i: InArray = sint(p.spec.spec.accumulator_width).array(p.spec.spec.rows),
        /// What to read: queries, keys, values.
        read_command: OutStreams<DmaCommand> = (READERS, (p.spec.spec.axi.clone(), p.dma.clone())),
        /// The rows.
        read: InStreams<RowBeat> = (READERS, p.spec.spec.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (READERS, p.spec.spec.axi.clone()),
        /// Where to write.
        write_command: OutStreams<DmaCommand> = (1, (p.spec.spec.axi.clone(), p.dma.clone())),
        /// The rows.
        write: OutStreams<Word> = (1, p.spec.spec.axi.data_width),
        /// How writing ended.
        write_end: InStreams<DmaCompletion> = (1, p.spec.spec.axi.clone()),
    }
}

impl Block for AttentionEngine {
    type Ports = AttentionEnginePorts;
    const ABOUT: About = About {
        name: "attention_engine",
        summary: "heads whose keys and values stay in eDRAM: tokens enter, queries attend, the least important token goes",
        contract: "Operations as attention_controller describes them; docs/blocks/kelle-top-reference.md says what\n\
            they compute. forget_i, or a reset, empties all heads. An operation that fails or is dropped empties\n\
            its own head.",
        reference: "Kelle, sections 4 and 5",
    };

    fn build(&self, m: &mut Module, io: &AttentionEnginePorts) {
        let spec = &self.spec;
        let controller = m.instance("u_controller", self.controller());
        let sequencer = m.instance("u_sequencer", AttentionSequencer { spec: spec.clone() });
        for (to, from) in [
            (controller.abort_i, io.abort_i),
            (controller.window_base_i, io.window_base_i),
            (controller.window_limit_i, io.window_limit_i),
            (io.idle_o, controller.idle_o),
        ] {
            m.connect(to, from);
        }
        m.connect_stream(&controller.operation, &io.operation);
        m.connect_stream(&io.operation_end, &controller.operation_end);
        io.read_command.connect(m, &controller.read_command);
        controller.read_end.connect(m, &io.read_end);
        m.connect_stream(&io.write_command.at(0), &controller.write_command);
        m.connect_stream(&controller.write_end, &io.write_end.at(0));
        let work = &controller.work;
        // State of an operation that failed.
        let clear = m.wire("clear", io.abort_i | controller.failed_o | controller.begin_o);
        m.connect(io.clear_array_o, clear);
        m.connect(sequencer.clear_i, io.abort_i | controller.failed_o);
        m.connect(sequencer.begin_i, controller.begin_o);
        m.connect(sequencer.tokens_i, work.tokens);
        m.connect(sequencer.budget_i, work.budget);
        m.connect(sequencer.late_i, work.late);
        if let (Some(to), Some(from)) = (sequencer.again_i, work.again) {
            m.connect(to, from);
        }
        m.connect(controller.scores_i, sequencer.keys_o);

        m.comment("Heads: how many tokens each has, and lists of them.");
        let wiper = m.instance("u_wiper", HeadWiper { spec: spec.clone() });
        m.connect(wiper.all_i, io.forget_i);
        m.connect(wiper.start_i, controller.wipe_o & !io.forget_i);
        m.connect(wiper.first_i, controller.wipe_head_o);
        m.connect(wiper.count_i, controller.wipe_heads_o);
        m.connect(controller.wiping_i, wiper.busy_o);
        let head = m.wire("head", mux(wiper.busy_o, wiper.head_o, work.head));
        let counts = m.regs_init("count", spec.count(), spec.heads, 0);
        let count = m.wire("tokens_of_head", counts.q.at(head));
        m.connect(sequencer.count_i, count);
        m.connect(controller.count_i, count);
        let wiped = m.wire("wiped", wiper.busy_o & wiper.last_o);
        let more = sequencer.old_o.wrapping_add(1);
        m.for_each("heads", spec.heads, |m, h| {
            let here = m.wire("head_here", head.eq(h.value(head.width())) & (wiped | sequencer.end_o));
            counts.next_when(m, h, here, mux(wiped, spec.count().lit(0), more));
        });

        let list = m.instance("u_list", TokenList { spec: spec.clone() });
        let loader = m.instance("u_loader", TokenLoader { spec: spec.clone(), integer: self.integer.clone() });
        let reader = m.instance("u_reader", HeadReader { spec: spec.clone() });
        let importance = m.instance("u_importance", ImportanceUnit { spec: spec.clone() });
        let sums = m.instance("u_sums", self.sums());
        let cache = m.instance("u_cache", spec.cache());

        m.comment("Panels of tokens, with the new one.");
        let count_width = spec.count().width + 1;
        let old = sequencer.old_o.extend(count_width);
        let log_rows = spec.spec.rows.trailing_zeros();
        let all = old.wrapping_add(spec.spec.rows);
        let panels = if all.width() > log_rows { all.slice(log_rows..all.width()) } else { uint(1).lit(1) };
        let panels = m.wire("panels", fit(panels, reader.panels_i.width()));
        let rest = fit(fit(old, log_rows), reader.rest_i.width()).wrapping_add(1);
        let rest = m.wire("rest", rest);

        m.comment("A token enters.");
        m.connect(loader.clear_i, clear);
        m.connect(loader.begin_i, sequencer.load_o);
        m.connect(loader.quantizer_i, work.quantizers);
        loader.rows.connect(m, &io.read);
        m.connect(loader.late_i, work.late);
        m.connect(loader.value_i, sequencer.keys_o);
        m.connect(sequencer.loaded_i, loader.done_o);
        m.connect(sequencer.value_loaded_i, loader.value_done_o);
        m.connect(list.head_i, head);
        let saver = spec.save.then(|| m.instance("u_saver", TokenSaver { spec: spec.clone() }));
        let youngest = fit(sequencer.old_o, spec.position().width);
        let seek = controller.seek_o.map(|seek| (seek, controller.save_first_o));
        let saves = saver.iter().map(|saver| (saver.read_o, saver.position_o));
        let places = [(sequencer.find_o, youngest)].into_iter().chain(saves).chain(seek);
        let places: Vec<(Signal, Signal)> = places.collect();
        let reads = places.iter().fold(reader.read_o, |all, place| all | place.0);
        let reads = m.wire("list_reads", reads);
        m.connect(list.read_i, reads);
        m.connect(list.position_i, select(&places, reader.position_o));
        m.connect(list.reset_i, wiper.busy_o);
        m.connect(list.entry_i, wiper.entry_o);

        m.comment("Its products.");
        m.connect(reader.clear_i, clear);
        m.connect(reader.begin_i, sequencer.keys_o | sequencer.values_o);
        m.connect(reader.values_i, sequencer.valued_o);
        m.connect(reader.slices_i, work.slices);
        m.connect(reader.panels_i, panels);
        m.connect(reader.rest_i, rest);
        m.connect(reader.row_i, list.row_o);
        self.product(m, io, &controller, &sequencer, (panels, rest, clear), (&loader, &reader, &sums));

        m.comment("Sums become scores, probabilities, results.");
        m.connect(sums.clear_i, clear);
        for (to, from) in [
            (sums.keys_i, sequencer.keys_o),
            (sums.values_i, sequencer.values_o),
            (sums.valued_i, sequencer.valued_o),
            (sums.queries_i, work.queries),
            (sums.slices_i, work.slices),
            (sums.old_i, sequencer.old_o),
            (sums.panels_i, panels),
            (sums.score_scale_i, work.score_scale),
            (sums.result_scale_i, work.result_scale),
            (sequencer.probabilities_i, sums.probabilities_o),
            (sequencer.results_i, sums.empty_o),
            (io.overflows_o, sums.overflows_o),
        ] {
            m.connect(to, from);
        }
        m.connect_stream(&sums.result, &io.result);

        m.comment("Importance, and the token that has to go.");
        m.connect(importance.clear_i, clear);
        m.connect(importance.begin_i, sequencer.keys_o);
        m.connect(importance.search_i, sequencer.search_o);
        for (to, from) in [
            (importance.size.head, work.head),
            (importance.size.queries, work.queries),
            (importance.size.slices, work.slices),
            (importance.size.old, sequencer.old_o),
            (importance.size.sink, work.sink),
            (importance.size.window, work.window),
            (importance.size.shift, work.shift),
            (importance.panels_i, panels),
            (sequencer.known_i, importance.known_o),
            (sequencer.found_i, importance.found_o),
            (list.other_read_i, importance.read_o),
            (list.other_position_i, importance.position_o),
            (importance.row_i, list.other_row_o),
            (list.remove_i, sequencer.remove_o),
            (list.victim_i, importance.victim_o),
            (sequencer.moving_i, list.busy_o),
            (io.evicts_o, sequencer.remove_o),
        ] {
            m.connect(to, from);
        }
        m.connect_each("row_valid", importance.row_valid_i, io.row_valid_i);
        m.connect_each("row_sum", importance.row_sum_i, io.row_sum_i);
        // While tokens move up the sequencer counts one less already.
        let last = m.reg("youngest_q", spec.position());
        last.next_when(sequencer.remove_o, youngest);
        m.connect(list.youngest_i, mux(sequencer.remove_o, youngest, last.q));

        let slots = (spec.recompute > 0).then(|| m.instance("u_slots", RecomputeSlots { spec: spec.clone() }));
        let saturations = match &slots {
            Some(slots) => self.slots(m, (&controller, &sequencer), (&loader, slots), head),
            None => loader.saturations_o,
        };
        m.connect(io.saturations_o, saturations);
        m.connect(controller.inexact_i, sums.overflows_o.any() | saturations.any());

        m.comment("The cache.");
        let put = sequencer.put_o;
        let writes = put.map_or(sequencer.write_o, |put| m.wire("cache_writes", sequencer.write_o | put));
        m.connect(cache.access.write, writes);
        // The new token's row: meanwhile the list is read for other tokens.
        let entered = m.reg("entered_row_q", spec.row());
        entered.next_when(sequencer.write_o & !sequencer.again_o, list.row_o);
        let mut row = mux(sequencer.again_o, entered.q, list.row_o);
        if let (Some(put), Some(slots)) = (put, &slots) {
            row = mux(put, slots.row_o, row);
        }
        let row = m.wire("access_row", row);
        m.connect(cache.access.row, row);
        let access = |from: &Stream<KvAccess>| [from.valid, from.value, from.high, from.low];
        let ready = m.wire("access_ready", cache.access.ready & !writes);
        m.connect(reader.access.ready, ready);
        m.unused(reader.access.row);
        m.unused(reader.access.write);
        let mut asks = access(&reader.access);
        let mut score_row = importance.score_row_o;
        let output = io.write.at(0);
        match &saver {
            None => {
                m.connect(controller.tokens_done_i, sequencer.done_o);
                m.connect_stream(&output, &sums.output);
            }
            Some(saver) => {
                let saves = m.wire("saves", !saver.done_o);
                m.connect(saver.access.ready, ready);
                m.unused(saver.access.row);
                m.unused(saver.access.write);
                for (ask, other) in asks.iter_mut().zip(access(&saver.access)) {
                    *ask = mux(saves, other, *ask);
                }
                score_row = mux(saves, list.row_o, score_row);
                self.save(m, io, &controller, saver);
                self.numbers(m, &sequencer, saver, (head, wiped, list.row_o));
                m.connect(controller.tokens_done_i, sequencer.done_o & saver.done_o);
                m.connect(saver.row_i, list.row_o);
                m.connect(saver.score_i, cache.score_o);
                m.connect(saver.data_valid_i, cache.data_valid_o);
                m.connect_each("saved", saver.data_i, cache.data_o);
                merge(m, ("output_word", &spec.spec.axi.data_width), saves, &output, (&saver.output, &sums.output));
            }
        }
        if let Some(look) = controller.look_o {
            score_row = mux(look, list.row_o, score_row);
        }
        let [valid, value, high, low] = asks;
        let asked = writes | valid;
        m.connect(cache.access.valid, asked);
        m.connect(cache.access.value, value);
        m.connect(cache.access.high, high);
        m.connect(cache.access.low, low);
        m.connect(sequencer.written_i, cache.access.ready);
        m.connect_each("key", cache.key_i, loader.key_o);
        m.connect_each("value", cache.value_i, loader.value_o);
        m.connect(reader.data_valid_i, cache.data_valid_o);
        m.connect_each("cached", reader.data_i, cache.data_o);
        let row_width = spec.row().width;
        let first = fit(wiper.head_o * spec.entries(), row_width);
        let wiped_row = m.wire("wiped_row", first.wrapping_add(fit(wiper.entry_o, row_width)));
        let evicts = [wiper.busy_o | list.freed_o, mux(wiper.busy_o, wiped_row, list.freed_row_o)];
        m.connect(cache.evict_valid_i, evicts[0]);
        m.connect(cache.evict_row_i, evicts[1]);
        if let Some(slots) = &slots {
            let of_evicted = mux(evicts[0], evicts[1], list.row_o);
            for (to, from) in [
                (slots.row_i, of_evicted),
                (slots.freed_i, list.freed_o & !wiper.busy_o),
                (slots.wipe_i, wiper.busy_o),
                (slots.wiped_i, wiped),
            ] {
                m.connect(to, from);
            }
        }
        for (to, from) in [(cache.keep_i, put), (cache.drop_valid_i, controller.keep_o)] {
            if let (Some(to), Some(from)) = (to, from) {
                m.connect(to, from);
            }
        }
        m.connect(cache.update_valid_i, importance.update_o);
        m.connect(cache.update_amount_i, importance.amount_o);
        m.connect(cache.score_row_i, score_row);
        m.connect(importance.score_i, cache.score_o);
        // A head that is emptied has no mark any more.
        let step = m.wire("step", sequencer.end_o | wiped);
        m.connect(cache.step_i, step);
        if let Some(step_head) = cache.step_head_i {
            m.connect(step_head, head);
        }
        let threshold = self.refresh(m, io, &controller, &cache);
        let made = [asked & cache.access.ready, writes, value, high, low, row];
        let scored = [importance.update_o, score_row, importance.amount_o, step, head, threshold];
        io.retention.of_cache(m, &cache, (made, evicts, scored), [put, controller.keep_o]);
    }
}
