//! Skew lines: lane i of a systolic array's edge is delayed by i cycles, or, to undo that, by lanes - 1 - i.
//!
//! Every lane moves in every cycle. The registers have no reset: what comes out before the first value has passed is
//! not defined. A triangle of lanes x (lanes - 1) / 2 registers, without any logic.
//!
//! The triangle is folded into a rectangle, so that it is one loop: a long lane and a short one share a line of registers
//! that is as long as the longest lane. The first ones delay the short lane, the others the long one.

use crate::lang::{
    About, Block, CatalogBlock, InArray, Index, Module, OutArray, Timing, choices, index_width, mux, parameters, ports,
    uint,
};

choices! {
    /// Which lanes wait.
    pub enum SkewDirection {
        /// Lane i by i cycles: from a column of values to a wavefront.
        Skew,
        /// Lane i by lanes - 1 - i cycles: from a wavefront to a column.
        Deskew,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct SkewLines {
        /// Lanes.
        lanes: u32 = 16, in 1..=1024, tag "n";
        /// Width of a lane in bits.
        width: u32 = 8, in 1..=256, tag "w";
        /// Lane i waits i cycles (skew), or lanes - 1 - i cycles (deskew).
        direction: SkewDirection = SkewDirection::Skew, tag "";
    }
}

ports! {
    /// Ports of [`SkewLines`].
    pub struct SkewLinesPorts(p: &SkewLines) {
        /// Values that enter together (`skew`), or a wavefront (`deskew`).
        data_i: InArray = uint(p.width).array(p.lanes),
        /// The same values, each lane late by its delay; unknown until the first value has passed the lane.
        data_o: OutArray = uint(p.width).array(p.lanes),
    }
}

impl SkewLines {
    /// Of a lane that waits `delay` cycles: its place at the ports.
    fn lane(&self, delay: impl Into<Index>) -> Index {
        match self.direction {
            SkewDirection::Skew => delay.into(),
            SkewDirection::Deskew => Index::from(self.lanes - 1) - delay.into(),
        }
    }
}

impl Block for SkewLines {
    type Ports = SkewLinesPorts;
    const ABOUT: About = About {
        name: "skew_lines",
        summary: "lanes delayed by 0, 1, 2, ... cycles: the edge of a systolic array",
        contract: "data_o[i] = data_i[i] of d cycles before; d = i (skew) or lanes - 1 - i (deskew). Nothing stalls, and there \
            is no reset: what is on its way comes out.",
        reference: "Tender, section IV-B and figure 6(b)",
    };

    fn build(&self, m: &mut Module, io: &SkewLinesPorts) {
        let ty = uint(self.width);
        let pairs = self.lanes / 2;
        // With an odd number of lanes, the one that does not wait is alone.
        let alone = self.lanes % 2;
        if alone == 1 {
            m.connect(io.data_o.at(self.lane(0)), io.data_i.at(self.lane(0)));
        }
        if pairs == 0 {
            return;
        }
        let length = self.lanes - 1 + alone;
        let line = m.grid("line", ty, pairs, length + 1);
        m.comment(
            "Two lanes share a line of registers: the one that waits shorter leaves it where the other one enters.",
        );
        m.for_each("pair", pairs, |m, i| {
            let short = i + alone;
            let long = Index::from(length) - short;
            m.connect(line.at((i, 0)), io.data_i.at(self.lane(short)));
            m.connect(io.data_o.at(self.lane(short)), line.at((i, short)));
            m.connect(io.data_o.at(self.lane(long)), line.at((i, length)));
            m.for_each("stage", length, |m, j| {
                let width = index_width(length.into());
                let enters = j.value(width).eq(short.value(width));
                let line_q = m.reg("line_q", ty);
                line_q.next(mux(enters, io.data_i.at(self.lane(long)), line.at((i, j))));
                m.connect(line.at((i, j + 1)), line_q.q);
            });
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().beat(1u32).phase(
            "longest_lane",
            self.lanes - 1,
            "from a value to the same value in the lane that waits longest",
        )
    }
}

impl CatalogBlock for SkewLines {
    fn configurations() -> Vec<Self> {
        let set = |lanes, width, direction| Self { lanes, width, direction };
        vec![set(1, 1, SkewDirection::Skew), set(5, 3, SkewDirection::Deskew), set(2, 70, SkewDirection::Skew)]
    }
}
