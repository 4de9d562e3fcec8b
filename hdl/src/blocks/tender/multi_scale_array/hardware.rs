//! The array put together.

use super::super::tender_pe::Rescale;
use super::{MultiScaleArray, MultiScaleArrayPorts};
use crate::lang::{About, Block, Module, Timing, bit, sint, uint};

impl Block for MultiScaleArray {
    type Ports = MultiScaleArrayPorts;
    const ABOUT: About = About {
        name: "multi_scale_array",
        summary: "output-stationary systolic array with a rescale step between channel groups",
        contract: "A tile is the steps from `first` to `last`. Sum (r, c) starts at 0; a step with rescale = n > 0\n\
            makes it sum x 2^n, any other adds act[r] x weight[c].\n\
            act_signed and weight_signed tell how to read the operands.\n\
            int8: logical operand i is element 2i (low) and 2i + 1 (high); sum (i, j) comes out of row 2i + 1.\n\
            Row r shows its sums in consecutive cycles, last column first; a tile in int8 mode in every second\n\
            cycle. The first one comes r + columns + 1 cycles after the step with `last`. With the parameter int8\n\
            it comes r + columns + 2 cycles after it, and r + columns + 3 if the tile is in int8 mode. With\n\
            pe.pipelined all that is 2 cycles later, 4 with the parameter int8.\n\
            overflow_o: an accumulator of this sum left its range at some step; the sum may be wrong.\n\
            step_ready_o is low while a step would disturb sums that have not left. Double drain holds back a step\n\
            with `last` for columns - 1 cycles after the last one, single drain any step for columns + 1 cycles.\n\
            Results must be taken when valid.\n\
            A tile may be broken off at any time by a step with `first`: none of its sums is shown. Steps that no\n\
            `first` begins, and tiles whose steps differ in int8, have sums without meaning, at the right time.\n\
            They disturb no other tile. Reset drops tiles and sums on their way.",
        reference: "Tender, sections IV-B and VI-E, figures 6(b) and 7",
    };

    fn build(&self, m: &mut Module, io: &MultiScaleArrayPorts) {
        let pe = &self.pe;
        let (rows, columns) = (self.rows, self.columns);
        let operand = sint(pe.operand_width + 1);
        let first = m.grid("first", bit(), rows, columns + 1);
        let last = m.grid("last", bit(), rows, columns + 1);
        let rescale_type = uint(pe.rescale_width());
        let rescale = (pe.rescale != Rescale::None).then(|| m.grid("rescale", rescale_type, rows, columns + 1));
        let act = m.grid("act", operand, rows, columns + 1);
        let weight = m.grid("weight", operand, rows + 1, columns);
        let result = m.grid("result", sint(pe.accumulator_width), rows, columns + 1);
        let overflow = m.grid("overflow", bit(), rows, columns + 1);
        let drain = m.nets("drain", bit(), rows);
        let mesh = super::edges::Mesh { first, last, rescale, act, weight };
        let entry = self.edges(m, io, &mesh);
        m.for_each("row", rows, |m, r| {
            m.connect(result.at((r, 0)), 0);
            m.connect(overflow.at((r, 0)), 0);
            let mut ended = last.at((r, columns));
            if pe.pipelined {
                m.comment("The product of the last step is in a register.");
                let adds = m.reg_init("adds_q", bit(), 0);
                adds.next(ended);
                ended = adds.q;
            }
            m.comment("The last column has its sum: from the next cycle on the row moves.");
            let starts = m.reg_init("starts_q", bit(), 0);
            starts.next(ended);
            m.connect(drain.at(r), starts.q);
            m.for_each("column", columns, |m, c| {
                let u = m.instance("u_pe", pe.clone());
                m.connect(u.first_i, first.at((r, c)));
                m.connect(u.last_i, last.at((r, c)));
                m.connect(u.act_i, act.at((r, c)));
                m.connect(u.weight_i, weight.at((r, c)));
                m.connect(u.drain_i, drain.at(r));
                m.connect(u.result_i, result.at((r, c)));
                m.connect(u.overflow_i, overflow.at((r, c)));
                m.connect(first.at((r, c + 1)), u.first_o);
                m.connect(last.at((r, c + 1)), u.last_o);
                m.connect(act.at((r, c + 1)), u.act_o);
                m.connect(weight.at((r + 1, c)), u.weight_o);
                m.connect(result.at((r, c + 1)), u.result_o);
                m.connect(overflow.at((r, c + 1)), u.overflow_o);
                if let (Some(rescale), Some(input), Some(output)) = (rescale, u.rescale_i, u.rescale_o) {
                    m.connect(input, rescale.at((r, c)));
                    m.connect(rescale.at((r, c + 1)), output);
                }
            });
        });
        let leaving = super::drain::Leaving { result, overflow, starts: drain.at(0) };
        self.results(m, io, &leaving, &entry);
        self.properties(m, io, &mesh, (&leaving, drain));
    }

    fn timing(&self) -> Timing {
        let (rows, columns, late) = (self.rows, self.columns, self.before() + self.behind());
        Timing::new()
            .beat(1)
            .phase("skew", rows + columns - 2, "from a step in the first PE to the same step in the last PE")
            .phase(
                "first_sum",
                columns + 1 + late,
                "from the last step of a tile to its first sum; 1 more in int8 mode",
            )
            .phase("last_sum", rows + 2 * columns - 1 + late, "from the last step of a tile to its last sum")
    }
}
