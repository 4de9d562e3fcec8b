//! The tokens of heads that are kept as the input they came from. Their rows have a score, but no key and no value
//! until these come again.

use super::attention_spec::AttentionSpec;
use crate::accelerators::sizes::fit;
use crate::blocks::common::{Ram, RamImplementation, before};
use crate::lang::{About, Block, In, Module, Out, Signal, Timing, bit, cat, mux, parameters, ports, select, uint};

parameters! {
    /// Elaboration parameters.
    pub struct RecomputeSlots {
        /// Sizes; there are slots.
        spec: AttentionSpec = AttentionSpec { recompute: 8, ..AttentionSpec::default() };
    }
}

ports! {
    /// Ports of [`RecomputeSlots`].
    pub struct RecomputeSlotsPorts(p: &RecomputeSlots) {
        /// The head; steady from freed_i to the next cycle.
        head_i: In = p.spec.head(),
        /// Row of the request, of all rows of the cache, one of that head.
        row_i: In = p.spec.row(),
        /// Slot of the request.
        slot_i: In = p.spec.slot(),
        /// Slots in which the head has a token, in each cycle.
        held_o: Out = uint(p.spec.recompute),
        /// Find the row of the token in `slot_i`.
        find_i: In = bit(),
        /// That row, from the next cycle on up to the next time; of no meaning where the head has no token there.
        row_o: Out = p.spec.row(),
        /// Look at `row_i`.
        look_i: In = bit(),
        /// Its token has a slot, in the next cycle and up to the next look or the next token that goes.
        kept_o: Out = bit(),
        /// That slot, likewise.
        kept_slot_o: Out = p.spec.slot(),
        /// The token of `row_i`, which has none, gets `slot_i`, which is free.
        keep_i: In = bit(),
        /// The token of `row_i` is gone.
        freed_i: In = bit(),
        /// `row_i` is emptied. All rows of a head are emptied, from the first one on, one a cycle, before any other
        /// request for it after a reset.
        wipe_i: In = bit(),
        /// It was the last row of the head, whose slots are free then.
        wiped_i: In = bit(),
    }
}

impl Block for RecomputeSlots {
    type Ports = RecomputeSlotsPorts;
    const ABOUT: About = About {
        name: "recompute_slots",
        summary: "tokens of heads that are kept as x: a slot of each, and its row",
        contract: "One request a cycle. A slot is free for the same head again from the second cycle after freed_i\n\
            on.",
        reference: "Kelle, section 4.1.2",
    };

    fn build(&self, m: &mut Module, io: &RecomputeSlotsPorts) {
        let (spec, slot_ty) = (&self.spec, self.spec.slot());
        let (slots, heads) = (spec.recompute, spec.heads);
        let place_ty = spec.place();
        let place = |slot: Signal| fit(io.head_i * slots, place_ty.width).wrapping_add(fit(slot, place_ty.width));

        m.comment("The row of each slot.");
        let rows =
            m.instance("u_rows", Ram::words((heads * slots).max(2), spec.row().width, RamImplementation::Inferred));
        let here = m.wire("place", place(io.slot_i));
        m.connect(rows.read_i, io.find_i);
        m.connect(rows.read_address_i, here);
        m.connect(rows.write_i, io.keep_i);
        m.connect(rows.write_address_i, here);
        m.connect(rows.data_i, io.row_i);
        m.connect(io.row_o, rows.data_o);

        m.comment(
            "The slot of each row, if it has one: a token that goes is looked at, and forgotten in the next cycle.",
        );
        let of_rows =
            m.instance("u_slots", Ram::words(spec.rows().max(2), slot_ty.width + 1, RamImplementation::Inferred));
        let freed = m.reg_init("freed_q", bit(), 0);
        freed.next(io.freed_i);
        let row = before(m, "row_q", io.row_i);
        m.connect(of_rows.read_i, io.look_i | io.freed_i);
        m.connect(of_rows.read_address_i, io.row_i);
        let writes = m.wire("writes", freed.q | io.keep_i | io.wipe_i);
        m.connect(of_rows.write_i, writes);
        // Rows that are emptied come first: the token's row is among them, where both are.
        m.connect(of_rows.write_address_i, mux(freed.q & !io.wipe_i, row, io.row_i));
        let none = uint(slot_ty.width + 1).lit(0);
        let some = cat(&[bit().lit(1), io.slot_i]);
        m.connect(of_rows.data_i, mux(io.keep_i, some, none));
        let kept = m.wire("kept", of_rows.data_o.bit(slot_ty.width));
        m.connect(io.kept_o, kept);
        let slot = m.wire("freed_slot", of_rows.data_o.slice(0..slot_ty.width));
        m.connect(io.kept_slot_o, slot);

        m.comment("Which slots are in use.");
        let held = m.regs_init("held", bit(), heads * slots, 0);
        let lost = m.wire("lost", freed.q & kept);
        let lost_place = m.wire("lost_place", place(slot));
        m.for_each("heads", heads, |m, h| {
            let mine = m.wire("head_here", io.head_i.eq(h.value(io.head_i.width())));
            m.for_each("slots", slots, |m, k| {
                let at = h * slots + k;
                let this = at.value(place_ty.width);
                let keeps = io.keep_i & here.eq(this);
                let loses = (lost & lost_place.eq(this)) | (io.wiped_i & mine);
                held.next(m, at, (held.q.at(at) & !loses) | keeps);
            });
        });
        let shown = m.nets("held_here", bit(), slots);
        m.for_each("shown", slots, |m, k| {
            let at = m.wire("shown_place", place(k.value(slot_ty.width)));
            m.connect(shown.at(k), held.q.at(at));
        });
        m.connect(io.held_o, shown.packed());
        self.properties(m, io);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl RecomputeSlots {
    /// Whether the head holds a slot.
    pub(super) fn holds(&self, held: Signal, slot: Signal) -> Signal {
        (0..self.spec.recompute).fold(bit().lit(0), |any, k| any | (held.bit(k) & slot.eq(k)))
    }

    /// The section keeps slots in registers, with the rows of their tokens.
    fn properties(&self, m: &mut Module, io: &RecomputeSlotsPorts) {
        let (spec, wide) = (&self.spec, 8);
        let (slots, heads, entries, slot_ty) = (spec.recompute, spec.heads, spec.entries(), spec.slot());
        if spec.rows() > 12 || heads * slots > 8 {
            return;
        }
        m.formal(|m| {
            m.comment("The environment: rows and slots that exist, one thing at a time.");
            let first = m.wire("formal_first", io.head_i.extend(wide) * entries).slice(0..wide);
            let row = io.row_i.extend(wide);
            m.assume("head_exists", io.head_i.lt(heads));
            m.assume("slot_exists", io.slot_i.lt(slots));
            m.assume("row_of_the_head", row.ge(first) & row.lt(first.wrapping_add(entries)));
            let asked = [io.find_i, io.look_i, io.keep_i, io.freed_i, io.wipe_i];
            let times = asked.iter().fold(uint(4).lit(0), |sum, &one| sum.wrapping_add(one.extend(4)));
            m.assume("one_thing", times.le(1));
            let once = |m: &mut Module, name: &str, now: Signal| {
                let kept = m.reg_init(name, bit(), 0);
                kept.next(now);
                kept.q
            };
            let freed = once(m, "formal_freed_q", io.freed_i);
            let head = before(m, "formal_head_q", io.head_i);
            let other = m.wire("formal_other", times.any() & !io.wipe_i);
            m.assume("nothing_behind_a_token_that_goes", !freed | (!other & io.head_i.eq(head)));
            m.comment("Rows of a head are emptied in turn, all of them, before anything is done with it.");
            let last = m.wire("formal_last", row.wrapping_add(1).eq(first.wrapping_add(entries)));
            m.assume("wiped_with_its_last_row", io.wiped_i.eq(io.wipe_i & last));
            let wiping = m.reg_init("formal_wiping_q", bit(), 0);
            wiping.next(io.wipe_i & !io.wiped_i);
            let next = before(m, "formal_next_row_q", row.wrapping_add(1));
            m.assume("in_turn", !io.wipe_i | row.eq(first) | (wiping.q & row.eq(next)));
            m.assume("to_the_end", !wiping.q | io.wipe_i);
            let known = m.regs_init("formal_known", bit(), heads, 0);
            for h in 0..heads {
                let mine = io.head_i.eq(h);
                known.next(m, h, mux(mine & io.wipe_i, io.wiped_i, known.q.at(h)));
            }
            let known = select(&(0..heads).map(|h| (io.head_i.eq(h), known.q.at(h))).collect::<Vec<_>>(), bit().lit(0));
            let known = m.wire("formal_head_is_known", known);
            m.assume("emptied_first", !(io.look_i | io.keep_i | io.freed_i) | known);

            m.comment("What the slots hold.");
            let rows = m.regs("formal_row", spec.row(), heads * slots);
            let held = m.regs_init("formal_held", bit(), heads * slots, 0);
            let mut has = bit().lit(0);
            let mut in_slots = Vec::new();
            let mut free = bit().lit(1);
            for h in 0..heads {
                let mine = io.head_i.eq(h);
                for k in 0..slots {
                    let at = h * slots + k;
                    let here = mine & io.slot_i.eq(k);
                    let this = held.q.at(at) & rows.q.at(at).eq(io.row_i);
                    has = has | this;
                    in_slots.push((mine & this, slot_ty.lit(k)));
                    free = free & !(here & held.q.at(at));
                    let set = m.wire(&format!("formal_set_{at}"), io.keep_i & here);
                    let gone =
                        m.wire(&format!("formal_gone_{at}"), ((io.freed_i | io.wipe_i) & this) | (io.wiped_i & mine));
                    rows.next(m, at, mux(set, io.row_i, rows.q.at(at)));
                    held.next(m, at, set | (held.q.at(at) & !gone));
                }
            }
            let has = m.wire("formal_has", has);
            m.assume("slot_is_free", !io.keep_i | (free & !has));
            for k in 0..slots {
                let mine = select(
                    &(0..heads).map(|h| (io.head_i.eq(h), held.q.at(h * slots + k))).collect::<Vec<_>>(),
                    bit().lit(0),
                );
                let right = m.wire(&format!("formal_right_{k}"), io.held_o.bit(k).eq(mine));
                m.assert_always(&format!("slot_{k}_is_held"), !known | freed | right);
            }
            let looked = once(m, "formal_looked_q", io.look_i);
            let had = before(m, "formal_had_q", has);
            m.assert_always("a_token_that_has_a_slot", !looked | io.kept_o.eq(had));
            let of = before(m, "formal_kept_slot_q", select(&in_slots, slot_ty.lit(0)));
            m.assert_always("the_slot_of_a_token", !(looked & had) | io.kept_slot_o.eq(of));
            let found = once(m, "formal_found_q", io.find_i & !free);
            let places: Vec<_> = (0..heads * slots)
                .map(|at| ((io.head_i.eq(at / slots)) & io.slot_i.eq(at % slots), rows.q.at(at)))
                .collect();
            let row = before(m, "formal_found_row_q", select(&places, spec.row().lit(0)));
            m.assert_always("the_row_is_found", !found | io.row_o.eq(row));
            let lost = m.reg_init("formal_lost_q", bit(), 0);
            lost.next(lost.q | (io.freed_i & has));
            m.cover("a_slot_behind_one_that_was_lost", found & lost.q);
            m.cover("all_slots", io.held_o.all());
        });
    }
}
