//! Proofs of Orizuru (`ifdef FORMAL`), against a shadow copy of the vector.
//!
//! While a side offers a value, the value is available, the best, the lowest index among equals, and no better than the
//! value before. So no index leaves twice, the sentinel never leaves, and all N pops in a row are sorted.

use super::structure::Load;
use super::{Orizuru, OrizuruPorts, Pop};
use crate::blocks::common::NanPolicy;
use crate::blocks::common::arith::popcount;
use crate::blocks::kllm::orizuru_tree::Side;
use crate::lang::{Module, Signal, Stream, bit, bits_for, mux, uint};

/// One side's offer.
struct Offer<'a> {
    side: Side,
    port: &'a Stream<Pop>,
    valid: Signal,
    index: Signal,
    key: Signal,
}

impl Orizuru {
    pub(super) fn properties(&self, m: &mut Module, io: &OrizuruPorts, load: &Load) {
        m.formal(|m| {
            let load = &self.beats_as_seen(m, io, load);
            let offers = [(Side::Max, &io.max), (Side::Min, &io.min)].map(|(side, port)| {
                let name = side.name();
                Offer {
                    side,
                    port,
                    valid: port.valid,
                    index: m.wire(&format!("{name}_offered"), port.index),
                    key: m.wire(&format!("{name}_offered_key"), self.format.to_key(port.value)),
                }
            });
            self.shadow(m, load, &offers);
            for (offer, wanted) in offers.iter().zip([io.k_max_i, io.k_min_i]) {
                self.sequence(m, load, offer);
                self.number(m, io, load, offer, wanted);
            }
            let cleared = m.reg_init("cleared_q", bit(), 0);
            cleared.next(io.clear_i);
            let free = m.wire("free", io.load.ready & !io.max.valid & !io.min.valid & !io.done_o);
            m.assert_always("clear_makes_room", !cleared.q | free);
            let waits = m.wire("waits", io.max.valid | io.min.valid);
            m.assert_always("no_pops_while_loading", !(io.load.ready & waits));
            let waited = m.reg_init("waited_q", bit(), 0);
            waited.next(waits);
            m.cover("cleared_while_serving", cleared.q & waited.q);
            m.cover("both_sides_delivered", io.done_o & io.outlier_o.at(0));
        });
    }

    /// Which beat of a vector comes, counted apart from the hardware.
    fn beats_as_seen(&self, m: &mut Module, io: &OrizuruPorts, load: &Load) -> Load {
        let fire = m.wire("seen_fire", io.load.fire() & !io.clear_i);
        let beat = m.reg_init("seen_beat_q", load.beat.ty(), 0);
        let first = m.wire("seen_first", fire & beat.q.eq(0));
        let whole = beat.q.eq(self.beats() - 1);
        let last = m.wire("seen_last", fire & io.load.last.map_or(whole, |last| whole | last));
        let next = mux(last | io.clear_i, beat.q.ty().lit(0), beat.q.wrapping_add(1));
        beat.next_when(fire | io.clear_i, next);
        let clear = m.wire("seen_clear", first | io.clear_i);
        Load { fire, clear, first, last, beat: beat.q, keys: load.keys, present: load.present }
    }

    /// As many pops as were asked for with the first beat, while the vector has values; `last` marks the final one.
    fn number(&self, m: &mut Module, io: &OrizuruPorts, load: &Load, offer: &Offer<'_>, wanted: Signal) {
        if self.nan != NanPolicy::TotalOrder {
            return;
        }
        let name = |what: &str| format!("{}_{what}", offer.side.name());
        let ty = uint(bits_for(u64::from(self.n).max((1 << wanted.width()) - 1)));
        let due = if self.masked {
            // Asked for with the first beat; who takes part is known with the last one.
            let asked = m.reg(&name("seen_asked_q"), ty);
            asked.next_when(load.first, wanted.extend(ty.width));
            let there = m.reg(&name("seen_there_q"), ty);
            let now = popcount::ones(m, &name("seen_now"), &load.present.elements()).extend(ty.width);
            let before = mux(load.first, ty.lit(0), there.q);
            there.next_when(load.fire, before.wrapping_add(now));
            m.wire(&name("seen_due"), mux(asked.q.gt(there.q), there.q, asked.q))
        } else {
            let all = mux(wanted.gt(self.n), ty.lit(self.n), wanted.extend(ty.width));
            let due = m.reg(&name("due_q"), ty);
            due.next_when(load.first, all);
            due.q
        };
        let pops = m.reg_init(&name("pops_q"), ty, 0);
        let more = mux(offer.port.fire(), pops.q.wrapping_add(1), pops.q);
        pops.next(mux(load.clear, ty.lit(0), more));
        m.assert_always(&name("no_pop_too_many"), !offer.valid | pops.q.lt(due));
        let last = pops.q.wrapping_add(1).eq(due);
        m.assert_always(&name("last_marks_the_final_one"), !offer.valid | offer.port.last.eq(last));
        m.assert_always(&name("done_after_all_pops"), !io.done_o | pops.q.eq(due));
    }

    /// Per value: a copy, what has left, and that an offer is consistent with it.
    fn shadow(&self, m: &mut Module, load: &Load, offers: &[Offer; 2]) {
        let places = self.beats() * self.lanes;
        let width = bits_for(u64::from(places));
        m.for_each("shadow_beats", self.beats(), |m, beat| {
            m.for_each("shadow_lanes", self.lanes, |m, lane| {
                let place = (beat * self.lanes + lane).value(width);
                let here = m.wire("shadow_here", load.fire & load.beat.eq(beat.value(load.beat.width())));
                let key = m.reg("shadow_key_q", uint(self.format.width()));
                key.next_when(here, load.keys.at(lane));
                let present = m.reg_init("shadow_present_q", bit(), 0);
                present.next(mux(here, load.present.at(lane), present.q & !load.clear));
                for offer in offers {
                    let name = |what: &str| format!("{}_{what}", offer.side.name());
                    let popped = m.reg_init(&name("shadow_popped_q"), bit(), 0);
                    let named = m.wire(&name("shadow_named"), offer.index.eq(place));
                    popped.next((popped.q | (offer.port.fire() & named)) & !here & !load.clear);
                    let available = m.wire(&name("shadow_available"), present.q & !popped.q);
                    let rival = m.wire(&name("shadow_rival"), offer.valid & available);
                    let right = available & key.q.eq(offer.key);
                    m.assert_always(&name("offer_is_available"), !(offer.valid & named) | right);
                    let no_better = match offer.side {
                        Side::Max => key.q.le(offer.key),
                        Side::Min => key.q.ge(offer.key),
                    };
                    m.assert_always(&name("offer_is_best"), !rival | no_better);
                    m.assert_always(&name("tie_to_lower"), !(rival & key.q.eq(offer.key)) | offer.index.le(place));
                }
            });
        });
    }

    /// Order of the pops, protocol of the stream, and its end.
    fn sequence(&self, m: &mut Module, load: &Load, offer: &Offer<'_>) {
        let name = |what: &str| format!("{}_{what}", offer.side.name());
        let fire = m.wire(&name("popped_now"), offer.port.fire());
        let previous = m.reg(&name("previous_key_q"), offer.key.ty());
        previous.next_when(fire, offer.key);
        let started = m.reg_init(&name("started_q"), bit(), 0);
        started.next((started.q | fire) & !load.clear);
        let in_order = match offer.side {
            Side::Max => offer.key.le(previous.q),
            Side::Min => offer.key.ge(previous.q),
        };
        m.assert_always(&name("pops_are_sorted"), !(offer.valid & started.q) | in_order);
        let ended = m.reg_init(&name("ended_q"), bit(), 0);
        ended.next((ended.q | (fire & offer.port.last)) & !load.clear);
        m.assert_always(&name("nothing_after_last"), !(offer.valid & ended.q));
        // Valid and data stay until taken.
        let waiting = m.reg_init(&name("waiting_q"), bit(), 0);
        waiting.next(offer.valid & !fire & !load.clear);
        let held = m.reg(&name("held_index_q"), offer.index.ty());
        held.next(offer.index);
        m.assert_always(&name("offer_stays"), !waiting.q | (offer.valid & offer.index.eq(held.q)));
        m.cover(&name("every_value_popped"), ended.q);
    }
}
