//! Sums of columns that leave while the next ones are made.

use crate::lang::{About, Block, In, InArray, Module, OutArray, Timing, bit, mux, parameters, ports, sint};

parameters! {
    /// Elaboration parameters.
    pub struct LaneDrain {
        /// Columns.
        columns: u32 = 8, in 1..=1024, tag "c";
        /// Width of a sum in bits, signed.
        width: u32 = 40, in 2..=128, tag "w";
        /// Sums that leave at once.
        outputs: u32 = 1, in 1..=1024, note "a divisor of columns", tag "o";
    }
}

ports! {
    /// Ports of [`LaneDrain`].
    pub struct LaneDrainPorts(p: &LaneDrain) {
        /// The sums of all columns are copied.
        copy_i: In = bit(),
        /// The first ones leave. Not in a cycle with copy_i, unless these are the last ones.
        leaves_i: In = bit(),
        /// The sums of all columns.
        sums_i: InArray = sint(p.width).array(p.columns),
        /// The next ones of the copy.
        next_o: OutArray = sint(p.width).array(p.outputs),
    }
}

impl Block for LaneDrain {
    type Ports = LaneDrainPorts;
    const ABOUT: About = About {
        name: "lane_drain",
        summary: "a copy of the sums of a lane's columns, which moves down as sums leave",
        contract: "From the cycle after copy_i on next_o has the sums of the first columns. Each leaves_i brings\n\
            the sums of the next columns, and 0 after the last.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &LaneDrainPorts) {
        let ty = sint(self.width);
        let kept = m.regs("kept", ty, self.columns);
        // Zeros follow the last sums.
        let all = m.nets("behind", ty, self.columns + self.outputs);
        m.for_each("kept", self.columns, |m, c| m.connect(all.at(c), kept.q.at(c)));
        m.for_each("zeros", self.outputs, |m, o| m.connect(all.at(o + self.columns), 0));
        m.for_each("moves", self.columns, |m, c| {
            let next = mux(io.copy_i, io.sums_i.at(c), all.at(c + self.outputs));
            kept.next_when(m, c, io.copy_i | io.leaves_i, next);
        });
        m.for_each("next", self.outputs, |m, o| m.connect(io.next_o.at(o), kept.q.at(o)));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
