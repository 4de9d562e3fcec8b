//! [`TenderPe`] as the PE of an array.

use super::{Drain, Rescale, TenderPe, TenderPePorts};
use crate::blocks::tender::mesh_pe::{MeshPe, MeshPorts};
use crate::lang::{About, Rules};

impl MeshPe for TenderPe {
    const ARRAY: About = About {
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

    fn operand_bits(&self) -> u32 {
        self.operand_width
    }

    fn sum_bits(&self) -> u32 {
        self.accumulator_width
    }

    fn max_rescale(&self) -> u32 {
        if self.rescale == Rescale::None { 0 } else { self.max_shift }
    }

    fn drain(&self) -> Drain {
        self.drain
    }

    fn ranks(&self) -> u32 {
        self.pipelined.into()
    }

    fn assumes(&self) -> bool {
        self.has_properties()
    }

    fn mesh_ports(io: &TenderPePorts) -> MeshPorts {
        MeshPorts {
            first: (io.first_i, io.first_o),
            last: (io.last_i, io.last_o),
            rescale: io.rescale_i.zip(io.rescale_o),
            act: vec![(io.act_i, io.act_o)],
            weight: vec![(io.weight_i, io.weight_o)],
            drain: io.drain_i,
            result: (io.result_i, io.result_o),
            overflow: (io.overflow_i, io.overflow_o),
        }
    }

    fn demand_in_array(&self, rules: &mut Rules) {
        // Its multiplication by alpha takes several cycles, and a port that the array does not have.
        let allowed = "none, adder, shifter (factor: only in tender_pe)";
        rules.demand(self.rescale != Rescale::Factor, "pe.rescale", "factor", allowed);
    }
}
