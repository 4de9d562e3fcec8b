//! The catalogue entry of [`MultiScaleArray`].

use super::MultiScaleArray;
use crate::blocks::tender::tender_pe::{Drain, Overflow, Rescale};
use crate::lang::{CatalogBlock, OldParameter, Proof};

impl Default for MultiScaleArray {
    fn default() -> Self {
        Self {
            rows: 16,
            columns: 16,
            operand_width: 4,
            accumulator_width: 32,
            int8: true,
            rescale: Rescale::Adder,
            max_shift: 1,
            overflow: Overflow::Wrap,
            drain: Drain::Double,
        }
    }
}

impl CatalogBlock for MultiScaleArray {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "rows", allowed: "1 to 256; with int8 even", meaning: "rows of PEs" },
        OldParameter { name: "columns", allowed: "1 to 256; with int8 even", meaning: "columns of PEs" },
        OldParameter {
            name: "operand_width",
            allowed: "2 to 16",
            meaning: "activation and weight width of a PE, bits; int8 mode doubles it",
        },
        OldParameter {
            name: "accumulator_width",
            allowed: "2 x operand_width + 2 to 64",
            meaning: "accumulator width of a PE, bits, signed",
        },
        OldParameter {
            name: "int8",
            allowed: "true, false",
            meaning: "run-time mode in which 2 x 2 PEs multiply operands of twice the width",
        },
        OldParameter {
            name: "rescale",
            allowed: "none, adder, shifter",
            meaning: "no rescale; acc + acc; acc << n in one step",
        },
        OldParameter {
            name: "max_shift",
            allowed: "1; with rescale = shifter 1 to 7",
            meaning: "largest shift of one step, places",
        },
        OldParameter { name: "overflow", allowed: "wrap, saturate", meaning: "what a sum does that does not fit" },
        OldParameter {
            name: "drain",
            allowed: "single, double",
            meaning: "whether the next tile runs while sums leave",
        },
    ];

    fn configurations() -> Vec<Self> {
        let small = Self { rows: 1, columns: 1, int8: false, ..Self::default() };
        vec![
            Self { operand_width: 2, accumulator_width: 6, ..small.clone() },
            Self { drain: Drain::Single, rescale: Rescale::None, ..small.clone() },
            Self { rows: 5, columns: 3, accumulator_width: 11, overflow: Overflow::Saturate, ..small.clone() },
            Self { rows: 2, columns: 7, drain: Drain::Single, rescale: Rescale::Shifter, max_shift: 3, ..small },
            Self { rows: 2, columns: 4, accumulator_width: 12, drain: Drain::Single, ..Self::default() },
            Self { rows: 6, columns: 2, accumulator_width: 24, overflow: Overflow::Saturate, ..Self::default() },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |rows, columns, int8, drain| Proof {
            block: Self { rows, columns, operand_width: 2, accumulator_width: 11, int8, drain, ..Self::default() },
            depth: 8,
            cover_depth: 12,
            induction: true,
        };
        vec![proof(2, 2, true, Drain::Double), proof(3, 2, false, Drain::Double), proof(1, 3, false, Drain::Single)]
    }
}
