//! What is proved of Orizuru (`ifdef FORMAL`), against a shadow copy of the vector.
//!
//! While a side offers a value: it is available, the best, the lowest index among equals, no better than the one before;
//! so no index leaves twice, the sentinel never leaves, and all N pops in a row are sorted.

use super::structure::Load;
use super::{Orizuru, OrizuruPorts, Pop};
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
            for offer in &offers {
                self.sequence(m, load, offer);
            }
            m.cover("both_sides_delivered", io.done_o & io.outlier_o.at(0));
        });
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
                present.next(mux(here, load.present.at(lane), present.q & !load.first));
                for offer in offers {
                    let name = |what: &str| format!("{}_{what}", offer.side.name());
                    let popped = m.reg_init(&name("shadow_popped_q"), bit(), 0);
                    let named = m.wire(&name("shadow_named"), offer.index.eq(place));
                    popped.next((popped.q | (offer.port.fire() & named)) & !here & !load.first);
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
        started.next((started.q | fire) & !load.first);
        let in_order = match offer.side {
            Side::Max => offer.key.le(previous.q),
            Side::Min => offer.key.ge(previous.q),
        };
        m.assert_always(&name("pops_are_sorted"), !(offer.valid & started.q) | in_order);
        let ended = m.reg_init(&name("ended_q"), bit(), 0);
        ended.next((ended.q | (fire & offer.port.last)) & !load.first);
        m.assert_always(&name("nothing_after_last"), !(offer.valid & ended.q));
        // Valid and data stay until taken.
        let waiting = m.reg_init(&name("waiting_q"), bit(), 0);
        waiting.next(offer.valid & !fire);
        let held = m.reg(&name("held_index_q"), offer.index.ty());
        held.next(offer.index);
        m.assert_always(&name("offer_stays"), !waiting.q | (offer.valid & offer.index.eq(held.q)));
        m.cover(&name("every_value_popped"), ended.q);
    }
}
