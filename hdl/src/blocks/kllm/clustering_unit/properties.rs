//! What is proved of the clustering unit (`ifdef FORMAL`), without registers between the levels.
//!
//! A shadow of the table keeps what was written, bit by bit; numbers are compared by sign and magnitude, as IEEE 754 says,
//! and not by the keys that the search uses. The search finds the number of midpoints below the value, wherever they lie.

use super::{ClusteringUnit, ClusteringUnitPorts, FORMAT, midpoint_key};
use crate::blocks::common::number_format::count_ones;
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
            let count = (1 << self.bits) - 1;
            let table = m.nets("written", uint(16), count);
            let known = m.nets("known", bit(), count);
            m.for_each("shadow", count, |m, i| {
                let (written, once) = (m.reg("written_q", uint(16)), m.reg_init("known_q", bit(), 0));
                let here = m.wire("written_here", io.write_i & io.write_index_i.eq(i.value(self.bits)));
                written.next_when(here, io.midpoint_i);
                once.next(once.q | here);
                m.connect(table.at(i), written.q);
                m.connect(known.at(i), once.q);
                // Holds in every cycle; helps the prover.
                let same = midpoints.at(i).eq(midpoint_key(written.q));
                m.assert_always("table_is_what_was_written", !once.q | same);
            });
            let ascends: Vec<Signal> = (1..count).map(|i| !less(table.at(i), table.at(i - 1))).collect();
            // NaNs stand at the end.
            let nan = |i: u32| FORMAT.is_nan(table.at(i));
            let ends: Vec<Signal> = (1..count).map(|i| !nan(i - 1) | nan(i)).collect();
            let in_order = ascends.into_iter().chain(ends).fold(known.packed().all(), |all, one| all & one);
            let in_order = m.wire("table_in_order", in_order);
            let value = io.values.value.at(0);
            let below: Vec<Signal> = table.elements().iter().map(|&midpoint| less(midpoint, value)).collect();
            let number = m.reg("number_below_q", uint(self.bits));
            number.next_when(enable, count_ones(&below));
            let (sure, is_nan) = (m.reg_init("sure_q", bit(), 0), m.reg("value_is_nan_q", bit()));
            sure.next_when(enable, in_order);
            is_nan.next_when(enable, FORMAT.is_nan(value));
            let index = io.indices.index.at(0);
            let shown = m.wire("index_shown", io.indices.valid);
            m.assert_always("index_is_the_number_below", !(shown & sure.q) | index.eq(number.q));
            m.assert_always("nan_gets_index_0", !(shown & is_nan.q) | index.eq(0));
            m.cover("highest_index", shown & sure.q & index.all());
        });
    }
}
