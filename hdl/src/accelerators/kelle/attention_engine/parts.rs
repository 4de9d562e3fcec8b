//! Parts of the attention engine that its operations share: the array, rows to memory, refresh.

use super::super::attention_sequencer::AttentionSequencerPorts;
use super::super::attention_sums::AttentionSumsPorts;
use super::super::head_reader::HeadReaderPorts;
use super::super::importance_unit::ImportanceUnitPorts;
use super::super::recompute_slots::{RecomputeSlots, RecomputeSlotsPorts};
use super::super::token_list::TokenListPorts;
use super::super::token_loader::TokenLoaderPorts;
use super::super::token_restorer::{TokenRestorer, TokenRestorerPorts};
use super::super::token_saver::{SLOT, TokenSaverPorts};
use super::asked::Asked;
use super::ends::Keeper;
use super::{AttentionEngine, AttentionEnginePorts};
use crate::accelerators::engine::fork_all;
use crate::accelerators::sizes::fit;
use crate::blocks::common::shell::OperationControllerPorts;
use crate::blocks::common::{Ram, RamImplementation};
use crate::blocks::kelle::KvCachePorts;
use crate::lang::{Module, Signal, bit, connect_all, mux, select, uint};

/// The tokens of a head, as the array takes them.
#[derive(Clone, Copy)]
pub(super) struct Panels {
    /// Panels of tokens.
    pub(super) panels: Signal,
    /// Tokens of the last one.
    pub(super) rest: Signal,
    /// Drops all of it.
    pub(super) clear: Signal,
}

/// The part that brings saved tokens back.
pub(super) struct Restorer {
    pub(super) ports: TokenRestorerPorts,
    /// It works.
    pub(super) works: Signal,
    /// For one cycle: a token is in the cache.
    pub(super) enters: Signal,
}

impl AttentionEngine {
    /// Saved tokens come back: their rows go to the restorer, their vectors to the loader's registers.
    pub(super) fn bring_back(
        &self,
        m: &mut Module,
        (asked, controller): (&Asked, &OperationControllerPorts),
        io: &AttentionEnginePorts,
        (loader, written): (&TokenLoaderPorts, Signal),
    ) -> Option<Restorer> {
        let reads = (io.shell.read.at(0), loader.rows.at(0));
        let Some((restores, restore)) = &asked.restores else {
            m.connect_stream(&reads.1, &reads.0);
            return None;
        };
        m.comment("Saved tokens come back.");
        let ports = m.instance("u_restorer", TokenRestorer { spec: self.spec.clone() });
        let works = m.wire("restoring", !ports.done_o);
        fork_all(m, "saved_row", &[works], &reads.0, &[ports.rows.clone(), reads.1]);
        let begins = m.wire("restore_begins", controller.begin_o & *restores);
        m.connect(ports.clear_i, io.shell.abort_i | controller.failed_o);
        m.connect(ports.begin_i, begins);
        m.connect(ports.first_i, fit(restore.first, ports.first_i.width()));
        m.connect(ports.tokens_i, fit(restore.tokens, ports.tokens_i.width()));
        m.connect(ports.slices_i, asked.slices);
        m.connect(ports.written_i, written);
        m.connect_option(loader.restores_i, Some(begins));
        for (to, from) in [
            (loader.vector_valid_i, ports.vector_valid_o),
            (loader.vector_value_i, ports.vector_value_o),
            (loader.vector_beat_i, ports.vector_beat_o),
            (loader.vector_data_i, ports.vector_data_o),
        ] {
            m.connect_option(to, Some(from));
        }
        let enters = m.wire("token_is_back", ports.write_o & written);
        Some(Restorer { ports, works, enters })
    }

    /// Rows of weights and vectors to the array.
    pub(super) fn product(
        &self,
        m: &mut Module,
        io: &AttentionEnginePorts,
        asked: &Asked,
        sequencer: &AttentionSequencerPorts,
        Panels { panels, rest, clear }: Panels,
        (loader, reader, sums): (&TokenLoaderPorts, &HeadReaderPorts, &AttentionSumsPorts),
    ) {
        let spec = &self.spec;
        let valued = sequencer.valued_o;
        let walk = m.instance("u_walk", spec.walk());
        let size = &walk.size;
        m.connect(walk.clear_i, clear);
        m.connect(walk.begin_i, sequencer.keys_o | sequencer.values_o);
        m.connect(size.vectors, asked.attention.group);
        m.connect(size.groups, mux(valued, asked.slices.extend(16), panels.extend(16)));
        let width = size.tiles.width();
        m.connect(size.tiles, mux(valued, fit(panels, width), fit(asked.slices, width)));
        m.connect(size.rest, rest);
        let one = bit().lit(1);
        m.connect_option(size.transposed, Some(!valued));
        m.connect_option(size.wide, Some(one));
        m.connect_option(size.unsigned, Some(valued));
        m.connect_stream(&walk.weights, &reader.weights);
        m.connect_stream(&io.load, &walk.load);
        m.connect_stream(&io.step, &walk.step);
        m.connect(walk.here_i, 1);
        m.unused(walk.done_o);

        m.comment("Vectors are queries, or probabilities.");
        m.connect(loader.read_i, walk.read_o & !valued);
        let place = fit(walk.vector_o * asked.slices, loader.tile_i.width());
        m.connect(loader.tile_i, place.wrapping_add(fit(walk.tile_o, loader.tile_i.width())));
        m.connect(sums.read_i, walk.read_o & valued);
        m.connect(sums.query_i, walk.vector_o);
        m.connect(sums.panel_i, fit(walk.tile_o, sums.panel_i.width()));
        let lanes = spec.spec.array().lanes();
        let (rows, columns) = (spec.spec.rows, spec.spec.columns);
        let both = rows.min(columns);
        m.for_each("tile", both, |m, i| {
            m.connect(walk.tile_i.at(i), mux(valued, sums.tile_o.at(i), loader.tile_o.at(i)));
        });
        m.for_each("tile_beyond", lanes - both, |m, i| {
            let from = if rows > columns { sums.tile_o.at(i + both) } else { loader.tile_o.at(i + both) };
            m.connect(walk.tile_i.at(i + both), from);
        });
    }

    /// Sums of the array become scores, probabilities, results.
    pub(super) fn scores(
        &self,
        m: &mut Module,
        io: &AttentionEnginePorts,
        (asked, sequencer): (&Asked, &AttentionSequencerPorts),
        Panels { panels, clear, .. }: Panels,
        sums: &AttentionSumsPorts,
    ) {
        m.comment("Sums become scores, probabilities, results.");
        let work = &asked.attention;
        m.connect_pairs([
            (sums.clear_i, clear),
            (sums.keys_i, sequencer.keys_o),
            (sums.values_i, sequencer.values_o),
            (sums.valued_i, sequencer.valued_o),
            (sums.queries_i, work.group),
            (sums.slices_i, asked.slices),
            (sums.old_i, sequencer.old_o),
            (sums.panels_i, panels),
            (sums.score_scale_i, work.score_scale),
            (sums.result_scale_i, work.result_scale),
            (sequencer.probabilities_i, sums.probabilities_o),
            (sequencer.results_i, sums.empty_o),
            (io.shell.overflows_o, sums.overflows_o),
        ]);
        m.connect_stream(&sums.result, &io.result);
    }

    /// Importance of tokens, and the token that has to go.
    pub(super) fn importance(
        &self,
        m: &mut Module,
        io: &AttentionEnginePorts,
        (asked, sequencer): (&Asked, &AttentionSequencerPorts),
        Panels { panels, clear, .. }: Panels,
        (importance, list): (&ImportanceUnitPorts, &TokenListPorts),
    ) {
        m.comment("Importance, and the token that has to go.");
        let (work, size) = (&asked.attention, &importance.size);
        connect_all!(m, size, work, [head, sink, window, shift]);
        m.connect_pairs([
            (importance.clear_i, clear),
            (importance.begin_i, sequencer.keys_o),
            (importance.search_i, sequencer.search_o),
            (size.queries, work.group),
            (size.slices, asked.slices),
            (size.old, sequencer.old_o),
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
        ]);
        m.connect_each("row_valid", importance.row_valid_i, io.row_valid_i);
        m.connect_each("row_sum", importance.row_sum_i, io.row_sum_i);
    }

    /// Tokens that come again. Returns the numbers that saturate; a slot without a token does not count.
    pub(super) fn slots(
        &self,
        m: &mut Module,
        (keeper, sequencer): (&Keeper, &AttentionSequencerPorts),
        (loader, slots): (&TokenLoaderPorts, &RecomputeSlotsPorts),
        (saver, restorer): (Option<&TokenSaverPorts>, Option<&Restorer>),
        head: Signal,
    ) -> Signal {
        let sequence = (sequencer.slot_o, sequencer.fetches_o, sequencer.place_o, sequencer.held_i);
        let (Some(slot), Some(fetches), Some(place), Some(held_i)) = sequence else { return loader.saturations_o };
        m.comment("Tokens that come again.");
        m.connect(slots.head_i, head);
        m.connect(slots.find_i, place);
        let held = m.wire("slot_is_held", RecomputeSlots { spec: self.spec.clone() }.holds(slots.held_o, slot));
        m.connect(held_i, held);
        m.connect_option(loader.again_i, Some(fetches));
        m.connect(slots.look_i, saver.map_or(keeper.look, |saver| keeper.look | saver.access.valid));
        let mut wanted = mux(keeper.keep, keeper.slot, slot);
        let mut keeps = keeper.keep;
        if let Some((keep, of)) = restorer.and_then(|restorer| restorer.ports.keep_o.zip(restorer.ports.slot_o)) {
            (keeps, wanted) = (keeps | keep, mux(keep, of, wanted));
        }
        m.connect(slots.keep_i, keeps);
        m.connect(slots.slot_i, wanted);
        if let Some(to) = saver.and_then(|saver| saver.slot_i) {
            let counted = slots.kept_slot_o.extend(SLOT).wrapping_add(1);
            m.connect(to, mux(slots.kept_o, counted, counted.ty().lit(0)));
        }
        m.connect_option(restorer.and_then(|restorer| restorer.ports.held_i), Some(slots.held_o));
        let nobody = m.wire("nobody_comes", fetches & !held);
        let none = loader.saturations_o.ty().lit(0);
        m.wire("saturations", mux(nobody, none, loader.saturations_o))
    }

    /// The number of each token: how many came to its head before it. A saved token brings its own; the next one counts
    /// on from it.
    pub(super) fn numbers(
        &self,
        m: &mut Module,
        sequencer: &AttentionSequencerPorts,
        (saver, restorer): (&TokenSaverPorts, &Restorer),
        head: Signal,
        wiped: Signal,
        row: Signal,
    ) {
        let (Some(number), Some(restored), spec) = (saver.number_i, restorer.ports.number_o, &self.spec) else {
            return;
        };
        m.comment("Numbers of tokens.");
        let ty = number.ty();
        let entered = m.regs_init("entered", ty, spec.heads, 0);
        m.for_each("heads_entered", spec.heads, |m, h| {
            let changes = wiped | sequencer.end_o | restorer.enters;
            let here = m.wire("entered_here", head.eq(h.value(head.width())) & changes);
            let before = mux(restorer.works, restored, entered.q.at(h));
            entered.next_when(m, h, here, mux(wiped, ty.lit(0), before.wrapping_add(1)));
        });
        let numbers = m.instance("u_numbers", Ram::words(spec.rows().max(2), ty.width, RamImplementation::Inferred));
        m.connect(numbers.write_i, (sequencer.write_o & !sequencer.again_o) | restorer.ports.write_o);
        m.connect(numbers.write_address_i, row);
        m.connect(numbers.data_i, mux(restorer.works, restored, entered.q.at(head)));
        m.connect(numbers.read_i, saver.access.valid);
        m.connect(numbers.read_address_i, row);
        m.connect(number, numbers.data_o);
    }

    /// New refresh intervals, and what is refreshed. Returns the lowest high score.
    pub(super) fn intervals(
        &self,
        m: &mut Module,
        io: &AttentionEnginePorts,
        (asked, controller): (&Asked, &OperationControllerPorts),
        cache: &KvCachePorts,
    ) -> Signal {
        m.comment("Refresh.");
        let sets = m.wire("sets_intervals", controller.runs_o & asked.sets & !io.shell.abort_i);
        let threshold = m.reg_init("threshold_q", uint(self.spec.score_width), u64::from(self.threshold));
        threshold.next_when(sets, asked.refresh.threshold);
        m.connect(cache.threshold_i, threshold.q);
        m.connect(cache.config_valid_i, sets);
        let (to, from) = (&cache.config, &asked.refresh);
        connect_all!(m, to, from, [high_msb, high_lsb, low_msb, low_lsb]);
        m.unused(cache.config_refused_o);
        m.connect(io.stalls_o, cache.stalls_o);
        // Keys and values, high bytes and low ones.
        let [high, low] = [0, 1].map(|k| cache.refresh_write_o.at(k));
        let rows = select(&[(high & low, uint(3).lit(4)), (high | low, uint(3).lit(2))], uint(3).lit(0));
        m.connect(io.refreshes_o, rows);
        threshold.q
    }
}
