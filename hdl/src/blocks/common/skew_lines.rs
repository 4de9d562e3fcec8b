//! Skew lines: lane i of a systolic array's edge is delayed by i cycles, or, to undo that, by lanes - 1 - i.
//!
//! Every lane moves in every cycle. The registers have no reset: the output is undefined until the first value has
//! passed. They are a triangle of lanes x (lanes - 1) / 2 registers without any logic, and all of them change in every
//! cycle.
//!
//! In memories, a lane that waits two cycles or longer is written at one place and read at another, and nothing else
//! changes: a wide array switches less, and a simulator has less to do. The place where lanes are written is reset, and
//! values on their way are lost at a reset.
//!
//! The triangle is folded into a rectangle, so that it is one loop: a long lane and a short one share a line of registers
//! that is as long as the longest lane. The first registers delay the short lane, the others the long one.

use crate::lang::{
    About, Block, CatalogBlock, InArray, Index, Module, OutArray, Timing, bit, choices, index_width, mux, parameters,
    ports, uint,
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
        /// Lanes wait in memories of one write and one read port, not in lines of registers.
        in_memory: bool = false, tag "memory";
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
    /// The place at the ports of the lane that waits `delay` cycles.
    fn lane(&self, delay: impl Into<Index>) -> Index {
        match self.direction {
            SkewDirection::Skew => delay.into(),
            SkewDirection::Deskew => Index::from(self.lanes - 1) - delay.into(),
        }
    }

    fn registers(&self, m: &mut Module, io: &SkewLinesPorts) {
        let ty = uint(self.width);
        let pairs = self.lanes / 2;
        // With an odd number of lanes, the lane that does not wait is alone.
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
            "Two lanes share a line of registers: the lane with the shorter delay leaves where the other enters.",
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

    fn memories(&self, m: &mut Module, io: &SkewLinesPorts) {
        let ty = uint(self.width);
        m.connect(io.data_o.at(self.lane(0)), io.data_i.at(self.lane(0)));
        if self.lanes > 1 {
            let next = m.reg("next_q", ty);
            next.next(io.data_i.at(self.lane(1)));
            m.connect(io.data_o.at(self.lane(1)), next.q);
        }
        if self.lanes < 3 {
            return;
        }
        let depth = (self.lanes - 1).next_power_of_two();
        let place = m.reg_init("place_q", uint(index_width(depth.into())), 0);
        place.next(place.q.wrapping_add(1));
        m.comment("The read register of the memory is one cycle of a lane's delay.");
        m.for_each("lane", self.lanes - 2, |m, i| {
            let line = m.memory("line", depth, self.width, self.width);
            line.write(bit().lit(1), place.q, io.data_i.at(self.lane(i + 2)));
            let from = m.wire("from", place.q.wrapping_sub((i + 1).value(place.q.width())));
            m.connect(io.data_o.at(self.lane(i + 2)), line.read("line_q", bit().lit(1), from));
        });
    }
}

impl Block for SkewLines {
    type Ports = SkewLinesPorts;
    const ABOUT: About = About {
        name: "skew_lines",
        summary: "lanes delayed by 0, 1, 2, ... cycles: the edge of a systolic array",
        contract: "data_o[i] = data_i[i] of d cycles before; d = i (skew) or lanes - 1 - i (deskew). Nothing stalls. \
            There is no reset: values on their way come out. With in_memory a reset loses them: lanes are unknown for \
            their d cycles.",
        reference: "Tender, section IV-B and figure 6(b)",
    };

    fn build(&self, m: &mut Module, io: &SkewLinesPorts) {
        if self.in_memory {
            self.memories(m, io);
        } else {
            self.registers(m, io);
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().beat(1).phase(
            "longest_lane",
            self.lanes - 1,
            "from a value to the same value in the lane that waits longest",
        )
    }
}

impl CatalogBlock for SkewLines {
    fn configurations() -> Vec<Self> {
        use SkewDirection::{Deskew, Skew};
        let set = |lanes, width, direction, in_memory| Self { lanes, width, direction, in_memory };
        vec![
            set(1, 1, Skew, false),
            set(5, 3, Deskew, false),
            set(2, 70, Skew, false),
            set(1, 3, Skew, true),
            set(2, 4, Deskew, true),
            set(3, 1, Skew, true),
            set(18, 5, Skew, true),
            set(6, 70, Deskew, true),
        ]
    }
}
