//! Proofs of the clustering unit (`ifdef FORMAL`), without registers between the levels.
//!
//! Three steps, which together say that the index is the number of written midpoints below the value. Keys are in the
//! order of the numbers: compared with IEEE 754's order by sign and magnitude. The table holds the keys of the
//! midpoints that were written: a shadow follows any one place of it. And the search finds the number of keys in the
//! table below the value's key.

use super::{ClusteringUnit, ClusteringUnitPorts, FORMAT, midpoint_key, value_key};
use crate::blocks::common::arith::popcount;
use crate::lang::{Array, Module, Signal, bit, mux, uint};

/// a < b in IEEE 754: false where one is a NaN, and between the zeros.
fn less(a: Signal, b: Signal) -> Signal {
    let magnitude = |x: Signal| x.slice(0..15);
    let (left, right) = (magnitude(a), magnitude(b));
    let zeros = !(left.any() | right.any());
    let both_negative = a.msb() & b.msb();
    let ordered = mux(a.msb().eq(b.msb()), mux(both_negative, right.lt(left), left.lt(right)), a.msb());
    ordered & !zeros & !FORMAT.is_nan(a) & !FORMAT.is_nan(b)
}

impl ClusteringUnit {
    pub(super) fn properties(&self, m: &mut Module, io: &ClusteringUnitPorts, midpoints: Array, enable: Signal) {
        m.formal(|m| {
            let value = io.values.value.at(0);
            let key = m.wire("seen_midpoint_key", midpoint_key(io.midpoint_i));
            let below = m.wire("seen_below", less(io.midpoint_i, value));
            m.assert_always("keys_are_in_the_order_of_numbers", below.eq(key.lt(value_key(value))));

            // Chosen by the solver in the first cycle. (A register that only holds would be optimised away.)
            let chosen = m.reg_init("chosen_q", bit(), 0);
            chosen.next(true);
            let choice = m.reg("choice_q", uint(self.bits));
            choice.next_when(!chosen.q, io.write_index_i);
            let watched = m.wire("watched", mux(chosen.q, choice.q, io.write_index_i));
            let here = m.wire("written_here", io.write_i & io.write_index_i.eq(watched));
            let (shadow, known) = (m.reg("shadow_q", uint(16)), m.reg_init("known_q", bit(), 0));
            shadow.next_when(here, key);
            known.next(known.q | here);
            // All ones names no midpoint.
            let kept = m.wire("table_at_watched", midpoints.at(watched).eq(shadow.q) | watched.all());
            m.assert_always("table_is_what_was_written", !known.q | kept);

            let midpoints: Vec<Signal> = (0..(1_u32 << self.bits) - 1).map(|i| midpoints.at(i)).collect();
            for (i, pair) in midpoints.windows(2).enumerate() {
                m.assume(&format!("ascends_{i}"), pair[0].le(pair[1]));
            }
            let below: Vec<Signal> = midpoints.iter().map(|m| m.lt(value_key(value))).collect();
            let number = m.reg("number_below_q", uint(self.bits));
            let below = popcount::ones(m, "formal_number_below", &below);
            number.next_when(enable, below);
            let is_nan = m.reg("value_is_nan_q", bit());
            is_nan.next_when(enable, FORMAT.is_nan(value));
            let index = io.indices.index.at(0);
            let shown = m.wire("index_shown", io.indices.valid);
            m.assert_always("index_is_the_number_below", !shown | index.eq(number.q));
            m.assert_always("nan_gets_index_0", !(shown & is_nan.q) | index.eq(0));
            let cleared = m.reg_init("cleared_q", bit(), 0);
            cleared.next(io.clear_i);
            m.assert_always("nothing_after_a_clear", !(cleared.q & shown));
            m.cover("highest_index", shown & index.all());
            m.cover("written_and_kept", known.q & !here);
        });
    }
}
