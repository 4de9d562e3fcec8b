//! Importance of a head's tokens, in step with the array that multiplies queries and keys, and the token with the least
//! one.
//!
//! The sums of a panel of tokens leave the array row by row, one a cycle; the tokens' scores in the cache grow by them.
//! The row of a token is read in the list in the cycle of its sum. Its score is read in the next cycle, and written in
//! the cycle after that. With the sums of the last query the evictor looks for the victim: a score is loaded as it is
//! before it grows, and its sum gets there a cycle later. A search for a further victim works in the same way, without
//! sums.

use super::attention_spec::{AttentionSize, AttentionSpec};
use crate::accelerators::sizes::fit;
use crate::blocks::common::before;
use crate::lang::{
    About, Block, In, InArray, InBundle, Module, Out, Signal, bit, bits_for, mux, parameters, ports, select, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ImportanceUnit {
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
    }
}

ports! {
    /// Ports of [`ImportanceUnit`].
    pub struct ImportanceUnitPorts(p: &ImportanceUnit) {
        /// Drops sums and searches under way.
        clear_i: In = bit(),
        /// The products of a token begin.
        begin_i: In = bit(),
        /// Look for a victim without products.
        search_i: In = bit(),
        /// The sizes; steady from begin_i, or search_i, up to the victim.
        size: InBundle<AttentionSize> = p.spec.clone(),
        /// Panels of tokens, with the new token's panel; steady likewise.
        panels_i: In = uint(bits_for(p.spec.panels().into())),
        /// Row i of the array has a sum in this cycle; one row a cycle, from the first one on.
        row_valid_i: InArray = bit().array(p.spec.spec.rows),
        /// The sum.
        row_sum_i: InArray = sint(p.spec.spec.accumulator_width).array(p.spec.spec.rows),
        /// Read a position of the list.
        read_o: Out = bit(),
        /// The position.
        position_o: Out = p.spec.position(),
        /// Its row, in the next cycle.
        row_i: In = p.spec.row(),
        /// Row of the cache whose score is looked at.
        score_row_o: Out = p.spec.row(),
        /// Its score, in the next cycle.
        score_i: In = uint(p.spec.score_width),
        /// Add to the score of the row that `score_row_o` named in the cycle before.
        update_o: Out = bit(),
        /// The amount to add.
        amount_o: Out = sint(p.spec.amount_width),
        /// The victim is known: from then on up to the next beginning or search.
        known_o: Out = bit(),
        /// There is one.
        found_o: Out = bit(),
        /// Its position.
        victim_o: Out = p.spec.position(),
    }
}

impl Block for ImportanceUnit {
    type Ports = ImportanceUnitPorts;
    const ABOUT: About = About {
        name: "importance_unit",
        summary: "scores of tokens grow by the sums of the array, and the least important one is found with the last of them",
        contract: "Each sum of an old token adds sat(sum >> shift) to its score. known_o: the victim is known. It\n\
            is the old token with the least score that is neither among the first `sink` nor the last `window`\n\
            ones, ties to the older.",
        reference: "Kelle, section 5.3, figure 11 (c) and (d)",
    };

    fn build(&self, m: &mut Module, io: &ImportanceUnitPorts) {
        let (spec, size) = (&self.spec, &io.size);
        let (rows, position) = (spec.spec.rows, spec.position());
        let log_rows = rows.trailing_zeros();
        let row_ty = uint(log_rows);
        let begins = m.wire("begins", io.clear_i | io.begin_i);
        let restart = m.wire("restart", begins | io.search_i);

        m.comment(
            "A row a cycle: of the array, or of a search, whose first row comes in the cycle in which it is asked for.",
        );
        let searches = m.reg_init("searches_q", bit(), 0);
        let searching = m.wire("searching", searches.q | io.search_i);
        let comes = m.wire("comes", io.row_valid_i.packed().any() | searching);
        let row = m.reg_init("row_q", row_ty, 0);
        let row_now = m.wire("row_now", mux(io.search_i, row_ty.lit(0), row.q));
        let row_last = m.wire("row_last", row_now.all());
        row.next(mux(begins, row_ty.lit(0), mux(comes, row_now.wrapping_add(1), row.q)));
        let query = m.reg_init("query_q", size.queries.ty(), 0);
        let last_query = m.wire("last_query", searching | query.q.wrapping_add(1).eq(size.queries));
        let wave_ends = m.wire("wave_ends", comes & row_last);
        let zero = query.q.ty().lit(0);
        let next = mux(last_query, zero, query.q.wrapping_add(1));
        query.next(select(&[(restart, zero), (wave_ends, next)], query.q));
        let panel = m.reg_init("panel_q", io.panels_i.ty(), 0);
        let panel_ends = m.wire("panel_ends", wave_ends & last_query);
        let zero = panel.q.ty().lit(0);
        let panel_now = m.wire("panel_now", mux(io.search_i, zero, panel.q));
        panel.next(select(&[(restart, zero), (panel_ends, panel.q.wrapping_add(1))], panel.q));
        let all_end = m.wire("all_end", panel_ends & panel.q.wrapping_add(1).eq(io.panels_i));
        searches.next(!io.clear_i & (io.search_i | (searches.q & !all_end)));
        let sum = m.wire("sum_now", io.row_sum_i.at(row.q).as_uint());
        // Wide enough for places of the last panel that the list does not have.
        let place_ty = uint(bits_for(u64::from(spec.panels() * rows)));
        let first = fit(panel_now.shl(log_rows), place_ty.width);
        let place = m.wire("place", first.wrapping_add(row_now.extend(place_ty.width)));
        m.connect(io.read_o, comes);
        m.connect(io.position_o, fit(place, position.width));

        m.comment("Its row of the cache, whose score is asked for.");
        let there = m.reg_init("there_q", bit(), 0);
        there.next(comes & !begins);
        let there_row = before(m, "there_row_q", row_now);
        let there_place = before(m, "there_place_q", place);
        let there_sum = before(m, "there_sum_q", sum);
        let judges = before(m, "judges_q", last_query);
        let adds = before(m, "adds_q", !searching);
        m.connect(io.score_row_o, io.row_i);
        let wide = place_ty.width.max(17) + 1;
        let (here, old) = (there_place.extend(wide), fit(size.old, wide));
        let is_old = m.wire("is_old", here.lt(old));
        let first = m.wire("is_first", here.lt(size.sink.extend(wide)));
        let recent = here.wrapping_add(size.window.extend(wide));
        let recent = m.wire("is_recent", recent.ge(old));
        let shifted = m.wire("shifted", there_sum.as_sint().shr_by(size.shift));
        let amount = m.wire("amount", shifted.saturate(spec.amount_width));

        m.comment("The score is here: it grows, and the evictor takes it, and in the next cycle its growth.");
        let update = m.reg_init("update_q", bit(), 0);
        update.next(there.q & is_old & adds & !restart);
        let zero = sint(spec.amount_width).lit(0);
        let added = before(m, "amount_q", mux(adds, amount, zero));
        m.connect(io.update_o, update.q);
        m.connect(io.amount_o, added);
        let evictor = m.instance("u_evictor", spec.evictor());
        let load = m.reg_init("load_q", bit(), 0);
        load.next(there.q & judges & !restart);
        let load_row = before(m, "load_row_q", there_row);
        let guarded = before(m, "guarded_q", !is_old | first | recent);
        let pass = m.reg_init("pass_q", bit(), 0);
        pass.next(load.q & !load_row.any() & !restart);
        let passes_by = before(m, "pass_amount_q", added);
        m.for_each("rows", rows, |m, i| {
            m.connect(evictor.load_i.at(i), load.q & load_row.eq(i.value(row_ty.width)));
            m.connect(evictor.load_score_i.at(i), io.score_i);
            m.connect(evictor.load_protected_i.at(i), guarded);
            m.connect(evictor.amount_i.at(i), passes_by);
        });
        m.connect(evictor.pass_i, pass.q);
        m.connect(evictor.clear_i, restart);
        m.unused(evictor.score_o.packed());
        let mut found_panel = io.panels_i.ty().lit(0);
        if let (Some(passes), Some(pass)) = (evictor.passes_i, evictor.victim_pass_o) {
            m.connect(passes, fit(io.panels_i.wrapping_sub(1), passes.width()));
            found_panel = fit(pass, found_panel.width());
        } else {
            m.unused(io.panels_i);
        }
        let known = m.reg_init("known_q", bit(), 0);
        known.next(!restart & (known.q | evictor.victim_valid_o));
        let found = m.reg("found_q", bit());
        found.next_when(evictor.victim_valid_o, evictor.victim_found_o);
        let victim =
            fit(found_panel.shl(log_rows), place_ty.width).wrapping_add(fit(evictor.victim_row_o, place_ty.width));
        let kept = m.reg("victim_q", position);
        kept.next_when(evictor.victim_valid_o, fit(victim, position.width));
        m.connect(io.known_o, known.q);
        m.connect(io.found_o, found.q);
        m.connect(io.victim_o, kept.q);
        m.unused(size.head);
        m.unused(size.slices);
        self.properties(m, io, there_place);
    }
}

impl ImportanceUnit {
    /// Whatever the scores and sums are, and however the sums come, the victim is a token that may go. All old tokens
    /// have grown by the sums of all queries, so that their scores may age.
    fn properties(&self, m: &mut Module, io: &ImportanceUnitPorts, there_place: Signal) {
        let (spec, size) = (&self.spec, &io.size);
        let (rows, wide) = (spec.spec.rows, 18);
        if spec.rows() > 12 {
            return;
        }
        m.formal(|m| {
            m.comment("The environment: waves of all rows, for each panel one of each query; sizes are steady.");
            let starts = m.wire("formal_starts", (io.begin_i | io.search_i) & !io.clear_i);
            let began = m.reg_init("formal_began_q", bit(), 0);
            began.next(!io.clear_i & (began.q | starts));
            for (name, value) in [
                ("queries", size.queries),
                ("old", size.old),
                ("sink", size.sink),
                ("window", size.window),
                ("panels", io.panels_i),
            ] {
                let held = before(m, &format!("formal_{name}_q"), value);
                m.assume(&format!("{name}_steady"), !began.q | starts | value.eq(held));
            }
            m.assume("queries_exist", size.queries.any() & size.queries.le(spec.group));
            m.assume("tokens_exist", size.old.le(spec.slots));
            let tokens = size.old.shr(rows.trailing_zeros()).extend(wide).wrapping_add(1);
            m.assume("panels_of_tokens", tokens.eq(io.panels_i.extend(wide)));
            m.assume("one_start", !(io.begin_i & io.search_i));
            let row = m.reg_init("formal_row_q", uint(wide), 0);
            let wave = m.reg_init("formal_wave_q", uint(wide), 0);
            let zero = uint(wide).lit(0);
            let comes = m.wire("formal_comes", io.row_valid_i.packed().any());
            let ends = m.wire("formal_wave_ends", comes & row.q.eq(rows - 1));
            row.next(mux(starts | io.clear_i | ends, zero, mux(comes, row.q.wrapping_add(1), row.q)));
            let left = mux(
                io.begin_i,
                size.queries * io.panels_i,
                wave.q.slice(0..size.queries.width() + io.panels_i.width()),
            );
            wave.next(mux(
                starts | io.clear_i,
                mux(io.begin_i & !io.clear_i, left.extend(wide), zero),
                mux(ends, wave.q.wrapping_sub(1), wave.q),
            ));
            for i in 0..rows {
                let here = io.row_valid_i.at(i);
                m.assume(&format!("row_{i}_in_turn"), !here | (row.q.eq(i) & wave.q.any() & !starts));
            }
            m.assume("a_wave_goes_on", comes | !row.q.any() | io.clear_i | starts);
            let searches = m.reg_init("formal_searches_q", bit(), 0);
            searches.next(!io.clear_i & mux(starts, io.search_i, searches.q & !io.known_o));
            m.assume("one_after_the_other", !starts | (!wave.q.any() & !searches.q));

            m.comment("Tokens that may go: old tokens, none of the first and none of the last ones.");
            let known = m.wire("formal_known", io.known_o & began.q & !starts);
            let found = m.wire("formal_found", known & io.found_o);
            let victim = io.victim_o.extend(wide);
            m.assert_always("the_victim_is_old", !found | victim.lt(size.old.extend(wide)));
            m.assert_always("the_first_ones_stay", !found | victim.ge(size.sink.extend(wide)));
            let recent = victim.extend(wide + 1).wrapping_add(size.window.extend(wide + 1));
            m.assert_always("the_recent_ones_stay", !found | recent.lt(size.old.extend(wide + 1)));
            let some = size.sink.extend(wide).wrapping_add(size.window.extend(wide)).lt(size.old.extend(wide));
            m.assert_always("there_is_one", !known | !some | io.found_o);
            m.assert_always("known_behind_all_sums", !known | !wave.q.any());

            m.comment("Tokens that have grown: any token, whose position is chosen as its products begin.");
            let watch = m.reg("formal_watch_q", size.shift.ty());
            watch.next_when(starts, size.shift);
            let grown = before(m, "formal_place_q", there_place).extend(wide);
            let here = m.wire("formal_grows", io.update_o & grown.eq(watch.q.extend(wide)));
            let times_ty = uint(size.queries.width() + 1);
            let times = m.reg_init("formal_times_q", times_ty, 0);
            times.next(mux(starts | io.clear_i, times_ty.lit(0), mux(here, times.q.wrapping_add(1), times.q)));
            let products = m.reg_init("formal_products_q", bit(), 0);
            products.next(!io.clear_i & mux(starts, io.begin_i, products.q));
            m.assert_always(
                "only_old_tokens_grow",
                !(io.update_o & began.q & !starts) | grown.lt(size.old.extend(wide)),
            );
            let waited_for = known & products.q & watch.q.extend(wide).lt(size.old.extend(wide));
            let all = times.q.eq(size.queries.extend(times_ty.width));
            m.assert_always("each_old_token_grows", !waited_for | all);
            m.cover("a_later_one_goes", found & victim.any() & size.old.eq(spec.slots));
            m.cover("nobody_may_go", known & !io.found_o);
        });
    }
}
