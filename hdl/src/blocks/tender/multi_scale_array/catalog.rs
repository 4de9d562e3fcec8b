//! The catalogue entry of [`MultiScaleArray`].

use super::MultiScaleArray;
use crate::blocks::tender::tender_pe::{Drain, Multiplier, Overflow, Rescale, TenderPe};
use crate::lang::{CatalogBlock, Proof};

impl CatalogBlock for MultiScaleArray {
    fn configurations() -> Vec<Self> {
        let pe = TenderPe::default;
        let set = |rows, columns, int8, pe| Self { rows, columns, pe, int8, skew_in_memory: false };
        let short = TenderPe { operand_width: 2, accumulator_width: 6, ..pe() };
        let plain = TenderPe { drain: Drain::Single, rescale: Rescale::None, ..pe() };
        let saturating = TenderPe { overflow: Overflow::Saturate, ..pe() };
        let shifting = TenderPe { drain: Drain::Single, rescale: Rescale::Shifter, max_shift: 3, ..pe() };
        let pipelined = |pe| TenderPe { pipelined: true, ..pe };
        vec![
            set(1, 1, false, short),
            set(1, 1, false, plain),
            set(5, 3, false, TenderPe { accumulator_width: 11, ..saturating.clone() }),
            set(2, 7, false, shifting),
            set(2, 4, true, TenderPe { accumulator_width: 12, drain: Drain::Single, ..pe() }),
            set(6, 2, true, TenderPe { accumulator_width: 24, ..saturating.clone() }),
            set(4, 6, true, pipelined(TenderPe { multiplier: Multiplier::Tree, ..pe() })),
            set(2, 2, true, pipelined(TenderPe { accumulator_width: 11, drain: Drain::Single, ..pe() })),
            set(3, 1, false, pipelined(saturating)),
            Self { skew_in_memory: true, ..set(4, 10, true, pe()) },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |rows, columns, int8, drain| {
            let pe = TenderPe { operand_width: 2, accumulator_width: 11, drain, ..TenderPe::default() };
            Proof {
                block: Self { rows, columns, pe, int8, skew_in_memory: false },
                depth: 8,
                cover_depth: 12,
                induction: true,
            }
        };
        let pipelined = |p: Proof<Self>| {
            let pe = TenderPe { pipelined: true, ..p.block.pe };
            Proof { block: Self { pe, ..p.block }, cover_depth: p.cover_depth + 4, ..p }
        };
        let in_memory = |p: Proof<Self>| Proof { block: Self { skew_in_memory: true, ..p.block }, ..p };
        vec![
            proof(2, 2, true, Drain::Double),
            proof(3, 2, false, Drain::Double),
            proof(1, 3, false, Drain::Single),
            pipelined(proof(2, 2, true, Drain::Double)),
            pipelined(proof(2, 2, false, Drain::Single)),
            in_memory(proof(1, 3, false, Drain::Single)),
        ]
    }
}
