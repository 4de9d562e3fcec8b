//! Multi-scale systolic array: a matrix product whose channel groups have different scales, in one pass.
//!
//! Output stationary: activations move right, weights down, each PE keeps one sum. A step of the tile is one channel
//! (a column of activations and a row of weights), or a rescale: all sums are doubled, each PE when the wavefront
//! reaches it. The edges skew; the controller sends what belongs together in one beat.
//!
//! In INT8 mode 2 x 2 PEs make one product of bytes: even rows hold the low nibble of an activation, odd ones the high
//! nibble, and so do the columns for weights. Low nibbles are unsigned. The four sums meet where rows leave the array.
//!
//! Files: `edges.rs` is what surrounds the mesh, `drain.rs` how sums leave, `properties.rs` what is proved.

use serde::{Deserialize, Serialize};

use super::tender_pe::{Drain, Overflow, Rescale, TenderPe};
use crate::lang::{
    About, Block, Module, OldInStream, OutArray, ParamError, bit, ensure_param, old_parameters, ports, sint, stream,
    uint,
};

mod catalog;
mod drain;
mod edges;
mod properties;

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultiScaleArray {
    /// Rows of PEs.
    pub rows: u32,
    /// Columns of PEs.
    pub columns: u32,
    /// Operand width of a PE in bits.
    pub operand_width: u32,
    /// Accumulator width of a PE in bits.
    pub accumulator_width: u32,
    /// Whether 2 x 2 PEs can work as one of twice the operand width, chosen at run time.
    pub int8: bool,
    /// How accumulators are rescaled.
    pub rescale: Rescale,
    /// Largest shift of one bubble.
    pub max_shift: u32,
    /// What a sum does that does not fit its accumulator.
    pub overflow: Overflow,
    /// Whether the next tile runs while sums leave.
    pub drain: Drain,
}

ports! {
    /// Ports of [`MultiScaleArray`].
    pub struct MultiScaleArrayPorts(p: &MultiScaleArray) {
        /// Steps of tiles.
        step: OldInStream = p.step_type(),
        /// Row r shows a sum.
        result_valid_o: OutArray = bit().array(p.rows),
        /// The sums.
        result_o: OutArray = sint(p.result_width()).array(p.rows),
        /// The sum went through an accumulator that overflowed.
        overflow_o: OutArray = bit().array(p.rows),
    }
}

impl MultiScaleArray {
    /// Width of a result: with `int8`, wide enough for any four accumulators.
    #[must_use]
    pub fn result_width(&self) -> u32 {
        // hh x 2^2b + (hl + lh) x 2^b + ll, each of W bits: at most (2^b + 1)^2 x 2^(W-1).
        if self.int8 { self.accumulator_width + 2 * self.operand_width + 1 } else { self.accumulator_width }
    }

    /// The PE.
    #[must_use]
    pub fn pe(&self) -> TenderPe {
        TenderPe {
            operand_width: self.operand_width,
            accumulator_width: self.accumulator_width,
            rescale: self.rescale,
            max_shift: self.max_shift,
            overflow: self.overflow,
            drain: self.drain,
        }
    }

    fn step_type(&self) -> crate::lang::OldStreamType {
        let nibble = uint(self.operand_width);
        let mut step = stream().field("first", bit()).field("last", bit());
        if self.rescale != Rescale::None {
            step = step.field("rescale", uint(self.pe().rescale_width()));
        }
        if self.int8 {
            step = step.field("int8", bit());
        }
        step.field("act_signed", bit())
            .field("weight_signed", bit())
            .array("act", nibble.array(self.rows))
            .array("weight", nibble.array(self.columns))
    }

    /// Cycles from the last step of a tile (that one not counted) to the first in which row 0 shows a sum.
    #[must_use]
    pub fn drain_delay(&self) -> u32 {
        self.columns + 1 + u32::from(self.int8)
    }

    /// Cycles from the first step of a tile of `steps` steps to its last sum, both counted, without pauses.
    #[must_use]
    pub fn tile_cycles(&self, steps: u64) -> u64 {
        steps + u64::from(self.rows - 1) + u64::from(self.columns - 1) + u64::from(self.columns) + self.extra_cycles()
    }

    /// Cycles from the first step of a tile to the first step of the next one, without pauses.
    #[must_use]
    pub fn tile_period(&self, steps: u64) -> u64 {
        match self.drain {
            Drain::Single => steps + u64::from(self.columns) + 1,
            Drain::Double => steps.max(self.columns.into()),
        }
    }

    /// One from the last sum to the start of the drain, one more behind the combination of nibbles.
    fn extra_cycles(&self) -> u64 {
        1 + u64::from(self.int8)
    }
}

old_parameters!(MultiScaleArray);

impl Block for MultiScaleArray {
    type Ports = MultiScaleArrayPorts;
    const ABOUT: About = About {
        name: "multi_scale_array",
        summary: "output-stationary systolic array with a rescale step between channel groups",
        contract: "A tile is the steps from `first` to `last`. Sum (r, c) starts at 0; a step with rescale = n > 0 makes it \
            sum x 2^n, any other adds act[r] x weight[c].\n\
            act_signed and weight_signed tell how to read the operands.\n\
            int8: logical operand i is element 2i (low) and 2i + 1 (high); sum (i, j) comes out of row 2i + 1.\n\
            Row r shows its sums in consecutive cycles, last column first; in int8 mode in every second cycle.\n\
            The first one comes r + columns + 1 cycles after the step with `last`; 1 more with the parameter int8, \
            2 more in int8 mode.\n\
            overflow_o: an accumulator of this sum left its range at some step; the sum may be wrong.\n\
            step_ready_o is low while a step would disturb sums that have not left. Results must be taken when valid.",
        reference: "Tender, sections IV-B and VI-E, figures 6(b) and 7",
    };

    fn module_name(&self) -> String {
        let pe = self.pe().module_name();
        let pe = pe.trim_start_matches("tender_pe_");
        let int8 = if self.int8 { "_int8" } else { "" };
        format!("multi_scale_array_{}x{}_{pe}{int8}", self.rows, self.columns)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("rows", self.rows, 1..=256)?;
        ensure_param("columns", self.columns, 1..=256)?;
        if self.int8 {
            for (name, value) in [("rows", self.rows), ("columns", self.columns)] {
                if value % 2 != 0 {
                    return Err(ParamError::new(name, value, "with int8 = true: even, from 2 to 256"));
                }
            }
        }
        if self.rescale == Rescale::Factor {
            return Err(ParamError::new("rescale", "factor", "none, adder, shifter (factor: only in tender_pe)"));
        }
        self.pe().old_check()
    }

    fn build(&self, m: &mut Module, io: &MultiScaleArrayPorts) {
        let pe = self.pe();
        let (rows, columns) = (self.rows, self.columns);
        let operand = sint(self.operand_width + 1);
        let first = m.grid("first", bit(), rows, columns + 1);
        let last = m.grid("last", bit(), rows, columns + 1);
        let rescale_type = uint(pe.rescale_width());
        let rescale = (self.rescale != Rescale::None).then(|| m.grid("rescale", rescale_type, rows, columns + 1));
        let act = m.grid("act", operand, rows, columns + 1);
        let weight = m.grid("weight", operand, rows + 1, columns);
        let result = m.grid("result", sint(self.accumulator_width), rows, columns + 1);
        let overflow = m.grid("overflow", bit(), rows, columns + 1);
        let drain = m.nets("drain", bit(), rows);
        let mesh = edges::Mesh { first, last, rescale, act, weight };
        let entry = self.edges(m, io, &mesh);
        m.for_each("row", rows, |m, r| {
            m.connect(result.at((r, 0)), 0);
            m.connect(overflow.at((r, 0)), 0);
            m.comment("The last column has its sum: from the next cycle on the row moves.");
            let starts = m.reg_init("starts_q", bit(), 0);
            starts.next(last.at((r, columns)));
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
        let leaving = drain::Leaving { result, overflow, starts: drain.at(0) };
        self.results(m, io, &leaving, &entry);
        self.properties(m, io, &mesh, &entry);
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        let skew = u64::from(self.rows - 1) + u64::from(self.columns - 1);
        vec![
            ("steps of a tile: channels + rescales".into(), 1),
            ("skew".into(), skew),
            ("drain".into(), u64::from(self.columns) + self.extra_cycles()),
        ]
    }
}
