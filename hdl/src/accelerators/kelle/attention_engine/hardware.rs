//! The hardware of the engine.

use super::super::attention_sequencer::AttentionSequencer;
use super::super::head_reader::HeadReader;
use super::super::head_wiper::HeadWiper;
use super::super::importance_unit::ImportanceUnit;
use super::super::recompute_slots::RecomputeSlots;
use super::super::retention_ports::CacheWork;
use super::super::token_list::TokenList;
use super::super::token_loader::TokenLoader;
use super::super::token_saver::TokenSaver;
use super::{AttentionEngine, AttentionEnginePorts, parts};
use crate::accelerators::engine::merge_all;
use crate::accelerators::sizes::fit;
use crate::blocks::kelle::KvAccess;
use crate::lang::{About, Block, Module, Signal, Stream, bit, cat, mux, or_all, select, uint};

impl Block for AttentionEngine {
    type Ports = AttentionEnginePorts;
    const ABOUT: About = About {
        name: "attention_engine",
        summary: "heads whose keys and values stay in eDRAM: tokens enter, queries attend, the least important token goes",
        contract: "An operation has the fields of attention_operation or of one of the operations on heads, and is\n\
            checked and done as operation_controller says. docs/blocks/kelle-top-reference.md says what it computes.\n\
            ERROR_FIELD (15) refuses an operation that does not exist, before all other errors. It refuses a token\n\
            with a slot that does not come again, a second slot for a token, and a slot that is not free, after all\n\
            other checks. The first error of a DMA ends attention and empties its head, as an abort does, and as\n\
            they do where saved tokens come back. With the option exact a number that is saturated, infinite or no\n\
            number is ERROR_OVERFLOW (14). A saved row that this build would not write is ERROR_FIELD (15).\n\
            forget_i, or a reset, empties all heads. No operation is taken while heads are emptied.",
        reference: "Kelle, sections 4 and 5",
    };

    fn build(&self, m: &mut Module, io: &AttentionEnginePorts) {
        let (spec, shell) = (&self.spec, &io.shell);
        let controller = m.instance("u_controller", self.controller());
        let sequencer = m.instance("u_sequencer", AttentionSequencer { spec: spec.clone() });
        let wiper = m.instance("u_wiper", HeadWiper { spec: spec.clone() });
        let asked = self.ask(m, shell);
        let work = &asked.attention;
        m.connect(shell.idle_o, controller.idle_o);
        m.connect(shell.computing_o, io.step.fire());
        // Heads may still be emptied: operations on heads wait for that, others do not.
        shell.control_while(m, &controller, !wiper.busy_o);
        self.place(m, (&asked, shell), sequencer.keys_o, &controller);
        let begins = m.wire("begins", controller.begin_o & asked.attends);
        // State of an operation that failed.
        let clear = m.wire("clear", shell.abort_i | controller.failed_o | begins);
        m.connect_option(io.clear_array_o, (!self.overlaps).then_some(clear));
        shell.uses(m, (io.takes_o, io.leaves_o), asked.attends);
        m.connect(sequencer.clear_i, shell.abort_i | controller.failed_o);
        m.connect(sequencer.begin_i, begins);
        m.connect(sequencer.tokens_i, work.tokens.extend(16));
        m.connect(sequencer.budget_i, work.budget.extend(16));
        m.connect(sequencer.late_i, work.late);
        if let Some(to) = sequencer.again_i {
            m.connect(to, work.again);
        }

        m.comment("Heads: how many tokens each has, and lists of them.");
        self.wipe(m, io, (&asked, &controller), &wiper);
        let head = m.wire("head", mux(wiper.busy_o, wiper.head_o, asked.head));
        let counts = m.regs_init("count", spec.count(), spec.heads, 0);
        let count = m.wire("tokens_of_head", counts.q.at(head));
        m.connect(sequencer.count_i, count);
        self.refuse(m, &asked, count, &controller);
        let wiped = m.wire("wiped", wiper.busy_o & wiper.last_o);
        let list = m.instance("u_list", TokenList { spec: spec.clone() });
        let loader = m.instance("u_loader", TokenLoader { spec: spec.clone(), integer: self.integer.clone() });
        let reader = m.instance("u_reader", HeadReader { spec: spec.clone() });
        let importance = m.instance("u_importance", ImportanceUnit { spec: spec.clone() });
        let sums = m.instance("u_sums", self.sums());
        let cache = m.instance("u_cache", spec.cache());

        let restorer = self.bring_back(m, (&asked, &controller), io, (&loader, cache.access.ready));
        m.comment("How many tokens each head has.");
        let old = match &restorer {
            None => sequencer.old_o,
            Some(restorer) => mux(restorer.works, restorer.ports.position_o.extend(count.width()), sequencer.old_o),
        };
        let more = m.wire("a_token_more", old.wrapping_add(1));
        let enters = restorer.as_ref().map_or(sequencer.end_o, |restorer| sequencer.end_o | restorer.enters);
        m.for_each("heads", spec.heads, |m, h| {
            let here = m.wire("head_here", head.eq(h.value(head.width())) & (wiped | enters));
            counts.next_when(m, h, here, mux(wiped, spec.count().lit(0), more));
        });

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
        let quantizers = cat(&[work.value_quantizer, work.key_quantizer, work.query_quantizer]);
        m.connect(loader.quantizer_i, quantizers);
        for k in 1..Self::READERS {
            m.connect_stream(&loader.rows.at(k), &shell.read.at(k));
        }
        m.connect(loader.late_i, work.late);
        m.connect(loader.value_i, sequencer.keys_o);
        m.connect(sequencer.loaded_i, loader.done_o);
        m.connect(sequencer.value_loaded_i, loader.value_done_o);
        m.connect(list.head_i, head);
        let saver = spec.save.then(|| m.instance("u_saver", TokenSaver { spec: spec.clone() }));
        let youngest = fit(sequencer.old_o, spec.position().width);
        let slots = self.recompute().map(|_| m.instance("u_slots", RecomputeSlots { spec: spec.clone() }));
        let keeper = slots.as_ref().and_then(|slots| self.keep(m, &asked, (&controller, shell.abort_i), slots));
        let seek = keeper.as_ref().map(|keeper| (keeper.seek, fit(keeper.position, youngest.width())));
        let saves = saver.iter().map(|saver| (saver.read_o, saver.position_o));
        let backs = restorer.iter().map(|restorer| (restorer.ports.read_o, restorer.ports.position_o));
        let places = [(sequencer.find_o, youngest)].into_iter().chain(saves).chain(backs).chain(seek);
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
        m.connect(reader.slices_i, asked.slices);
        m.connect(reader.panels_i, panels);
        m.connect(reader.rest_i, rest);
        m.connect(reader.row_i, list.row_o);
        let panels = parts::Panels { panels, rest, clear };
        self.product(m, io, &asked, &sequencer, panels, (&loader, &reader, &sums));

        self.scores(m, io, (&asked, &sequencer), panels, &sums);
        self.importance(m, io, (&asked, &sequencer), panels, (&importance, &list));
        // While tokens move up the sequencer counts one less already.
        let last = m.reg("youngest_q", spec.position());
        last.next_when(sequencer.remove_o, youngest);
        m.connect(list.youngest_i, mux(sequencer.remove_o, youngest, last.q));

        let mut saturations = loader.saturations_o;
        if let (Some(slots), Some(keeper)) = (&slots, &keeper) {
            let tokens = (saver.as_ref(), restorer.as_ref());
            saturations = self.slots(m, (keeper, &sequencer), (&loader, slots), tokens, head);
        }
        m.connect(io.saturations_o, saturations);
        m.connect(controller.overflow_i, sums.overflows_o.any() | saturations.any());

        m.comment("The cache.");
        let put = sequencer.put_o;
        let writers = [Some(sequencer.write_o), put, restorer.as_ref().map(|restorer| restorer.ports.write_o)];
        let writers: Vec<Signal> = writers.into_iter().flatten().collect();
        let writes = m.wire("cache_writes", or_all(bit(), &writers));
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
        let output = shell.write.at(0);
        let mut done = sequencer.done_o;
        match saver.iter().zip(&asked.saves).next() {
            None => m.connect_stream(&output, &sums.output),
            Some((saver, (saves, save))) => {
                let saving = m.wire("saving", !saver.done_o);
                m.connect(saver.access.ready, ready);
                m.unused(saver.access.row);
                m.unused(saver.access.write);
                for (ask, other) in asks.iter_mut().zip(access(&saver.access)) {
                    *ask = mux(saving, other, *ask);
                }
                score_row = mux(saving, list.row_o, score_row);
                m.connect(saver.clear_i, shell.abort_i | controller.failed_o);
                m.connect(saver.begin_i, controller.begin_o & *saves);
                m.connect(saver.first_i, save.first.extend(saver.first_i.width()));
                m.connect(saver.tokens_i, save.tokens.extend(saver.tokens_i.width()));
                m.connect(saver.slices_i, asked.slices);
                if let Some(restorer) = &restorer {
                    self.numbers(m, &sequencer, (saver, restorer), head, wiped, list.row_o);
                }
                done = done & saver.done_o;
                m.connect(saver.row_i, list.row_o);
                m.connect(saver.score_i, cache.score_o);
                m.connect(saver.data_valid_i, cache.data_valid_o);
                m.connect_each("saved", saver.data_i, cache.data_o);
                let outputs = [saver.output.clone(), sums.output.clone()];
                merge_all(m, ("output_word", &spec.spec.axi.data_width), &[saving], &output, &outputs);
            }
        }
        let mut new_score = None;
        if let Some(restorer) = &restorer {
            // The epoch of the head is the epoch of the row whose score is looked at.
            score_row = mux(restorer.works, list.row_o, score_row);
            done = done & !restorer.works;
            let none = restorer.ports.score_o.ty().lit(0);
            new_score = Some(m.wire("new_score", mux(restorer.works, restorer.ports.score_o, none)));
        }
        m.connect_option(cache.new_score_i, new_score);
        if let Some(keeper) = &keeper {
            score_row = mux(keeper.look, list.row_o, score_row);
        }
        let [valid, value, high, low] = asks;
        let accesses = writes | valid;
        m.connect(cache.access.valid, accesses);
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
        let evict = wiper.busy_o | list.freed_o;
        let evict_row = mux(wiper.busy_o, wiped_row, list.freed_row_o);
        m.connect(cache.evict_valid_i, evict);
        m.connect(cache.evict_row_i, evict_row);
        if let Some(slots) = &slots {
            let of_evicted = mux(evict, evict_row, list.row_o);
            m.connect_pairs([
                (slots.row_i, of_evicted),
                (slots.freed_i, list.freed_o & !wiper.busy_o),
                (slots.wipe_i, wiper.busy_o),
                (slots.wiped_i, wiped),
            ]);
        }
        let of_saved = restorer.as_ref().and_then(|restorer| restorer.ports.keep_o);
        let kept = keeper.as_ref().map(|keeper| of_saved.map_or(keeper.keep, |keep| keeper.keep | keep));
        m.connect_option(cache.keep_i, put);
        m.connect_option(cache.drop_valid_i, kept);
        m.connect(cache.update_valid_i, importance.update_o);
        m.connect(cache.update_amount_i, importance.amount_o);
        m.connect(cache.score_row_i, score_row);
        m.connect(importance.score_i, cache.score_o);
        // A head that is emptied has no mark any more.
        let step = m.wire("step", sequencer.end_o | wiped);
        m.connect(cache.step_i, step);
        m.connect_option(cache.step_head_i, Some(head));
        let threshold = self.intervals(m, io, (&asked, &controller), &cache);
        let work = CacheWork {
            access: accesses & cache.access.ready,
            write: writes,
            value,
            high,
            low,
            row,
            score: new_score,
            evict,
            evict_row,
            update: importance.update_o,
            score_row,
            amount: importance.amount_o,
            step,
            step_head: head,
            threshold,
            keep: put,
            drop: kept,
        };
        let strange = restorer.as_ref().map(|restorer| restorer.ports.wrong_o);
        self.end(m, (&asked, &controller), (done, wiper.busy_o, strange), slots.as_ref().zip(keeper.as_ref()));
        io.retention.of_cache(m, &cache, &work);
    }
}
