//! Counters of events, wide and fast: in segments whose carries are registered.

use crate::lang::{
    About, Block, CatalogBlock, In, InArray, Module, OutArray, Proof, Timing, bit, bits_for, mux, parameters, ports,
    uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct EventCounters {
        /// Counters.
        counters: u32 = 6, in 1..=64, tag "n";
        /// Bits of a counter.
        width: u32 = 64, in 1..=64, tag "w";
        /// Bits that are added in one cycle.
        segment: u32 = 16, in 1..=64, tag "s";
        /// Most events of a counter in one cycle.
        most: u32 = 1, in 1..=65535, note "they fit in a segment", tag "m", named "when set";
    }
    rules = |p, rules| {
        // All segments are whole except the last one, which has the remaining bits of the counter.
        let fits = p.event_width() <= p.segment.min(p.width);
        rules.demand(fits, "most", p.most, format!("a number of {} bits", p.segment.min(p.width)));
    };
}

ports! {
    /// Ports of [`EventCounters`].
    pub struct EventCountersPorts(p: &EventCounters) {
        /// Sets all counters to 0. Events of this cycle, and events still on their way, are not counted.
        clear_i: In = bit(),
        /// Per counter: events in this cycle.
        event_i: InArray = uint(p.event_width()).array(p.counters),
        /// Per counter: events since the last clear, modulo 2^width. Events of the last cycles are not counted yet; see
        /// latency.
        count_o: OutArray = uint(p.width).array(p.counters),
    }
}

impl EventCounters {
    /// Cycles until an event shows.
    pub(super) fn latency(&self) -> u32 {
        self.segments()
    }

    fn segments(&self) -> u32 {
        self.width.div_ceil(self.segment)
    }

    fn event_width(&self) -> u32 {
        bits_for(self.most.into())
    }
}

impl Block for EventCounters {
    type Ports = EventCountersPorts;
    const ABOUT: About = About {
        name: "event_counters",
        summary: "counters of events, in segments that carry one cycle later",
        contract: "count_o = events from the last clear_i or reset on, up to latency cycles before. All bits of a\n\
            count belong to the same moment.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &EventCountersPorts) {
        let segments = self.segments();
        m.for_each("counters", self.counters, |m, n| {
            let mut carry = m.wire("carry_0", io.event_i.at(n));
            let mut parts = Vec::new();
            for s in 0..segments {
                let width = self.segment.min(self.width - s * self.segment);
                let count = m.reg_init(&format!("count_{s}_q"), uint(width), 0);
                let sum = m.wire(&format!("sum_{s}"), count.q + carry);
                count.next(mux(io.clear_i, uint(width).lit(0), sum.truncate(width)));
                // A segment waits for the segments above it, so that all of them show the same moment.
                let mut shown = count.q;
                for stage in s + 1..segments {
                    let late = m.reg_init(&format!("count_{s}_{stage}_q"), uint(width), 0);
                    late.next(mux(io.clear_i, uint(width).lit(0), shown));
                    shown = late.q;
                }
                parts.push(shown);
                if s + 1 < segments {
                    let next = m.reg_init(&format!("carry_{}_q", s + 1), bit(), 0);
                    next.next(sum.msb() & !io.clear_i);
                    carry = next.q;
                } else {
                    m.unused(sum);
                }
            }
            parts.reverse();
            m.connect(io.count_o.at(n), crate::lang::cat(&parts));
        });
        m.formal(|m| {
            // A plain counter, late by as much.
            let plain = m.reg_init("formal_plain_q", uint(self.width), 0);
            let counted = plain.q.wrapping_add(io.event_i.at(0).extend(self.width));
            plain.next(mux(io.clear_i, uint(self.width).lit(0), counted));
            let mut late = plain.q;
            for stage in 1..segments {
                let register = m.reg_init(&format!("formal_late_{stage}_q"), uint(self.width), 0);
                register.next(mux(io.clear_i, uint(self.width).lit(0), late));
                late = register.q;
            }
            m.assert_always("counts", io.count_o.at(0).eq(late));
            m.cover("carries", io.count_o.at(0).msb());
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}

impl CatalogBlock for EventCounters {
    fn configurations() -> Vec<Self> {
        let set = |counters, width, segment| Self { counters, width, segment, ..Self::default() };
        vec![
            set(1, 1, 1),
            set(3, 7, 2),
            set(2, 8, 64),
            set(1, 20, 5),
            Self { most: 3, ..set(2, 7, 2) },
            Self { most: 5, ..set(3, 64, 16) },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let one = Self { counters: 1, width: 4, segment: 2, most: 1 };
        let three = Self { most: 3, ..one.clone() };
        [one, three].map(|block| Proof { block, depth: 14, cover_depth: 16, induction: true }).into()
    }
}
