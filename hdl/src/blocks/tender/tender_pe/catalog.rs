//! The catalogue entry of [`TenderPe`].

use super::{Drain, Multiplier, Overflow, Rescale, TenderPe};
use crate::lang::{CatalogBlock, Proof};

impl CatalogBlock for TenderPe {
    fn configurations() -> Vec<Self> {
        use Drain::{Double, Single};
        use Overflow::{Saturate, Wrap};
        let set = |operand_width, accumulator_width, rescale, max_shift, overflow, drain| Self {
            operand_width,
            accumulator_width,
            rescale,
            max_shift,
            overflow,
            drain,
            ..Self::default()
        };
        let tree = |block| Self { multiplier: Multiplier::Tree, ..block };
        let array = |block| Self { multiplier: Multiplier::Array, ..block };
        let pipelined = |block| Self { pipelined: true, ..block };
        vec![
            set(2, 6, Rescale::Adder, 1, Wrap, Single),
            set(4, 24, Rescale::None, 1, Saturate, Double),
            set(3, 11, Rescale::Adder, 1, Saturate, Single),
            set(8, 32, Rescale::Shifter, 7, Wrap, Double),
            set(5, 13, Rescale::Shifter, 3, Saturate, Single),
            set(4, 32, Rescale::Factor, 1, Wrap, Double),
            set(3, 12, Rescale::Factor, 1, Saturate, Single),
            array(set(4, 32, Rescale::Adder, 1, Wrap, Single)),
            array(set(7, 24, Rescale::Shifter, 2, Wrap, Double)),
            tree(set(4, 16, Rescale::Factor, 1, Wrap, Single)),
            tree(set(5, 13, Rescale::Shifter, 3, Saturate, Single)),
            pipelined(tree(set(4, 32, Rescale::Adder, 1, Wrap, Double))),
            pipelined(set(5, 14, Rescale::Shifter, 3, Saturate, Single)),
            pipelined(array(set(3, 11, Rescale::None, 1, Saturate, Single))),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |rescale, max_shift, overflow, drain| Proof {
            block: Self {
                operand_width: 2,
                accumulator_width: 6,
                rescale,
                max_shift,
                overflow,
                drain,
                ..Self::default()
            },
            depth: 6,
            cover_depth: 14,
            induction: true,
        };
        let pipelined = |p: Proof<Self>| Proof { block: Self { pipelined: true, ..p.block }, ..p };
        let rows = |multiplier, p: Proof<Self>| Proof { block: Self { multiplier, ..p.block }, ..p };
        let nibbles = Self { accumulator_width: 10, ..Self::default() };
        let nibbles = Proof { block: nibbles, depth: 4, cover_depth: 4, induction: true };
        vec![
            nibbles.clone(),
            rows(Multiplier::Tree, nibbles),
            proof(Rescale::Adder, 1, Overflow::Saturate, Drain::Single),
            proof(Rescale::Shifter, 3, Overflow::Wrap, Drain::Single),
            proof(Rescale::Factor, 1, Overflow::Saturate, Drain::Double),
            rows(Multiplier::Array, proof(Rescale::Adder, 1, Overflow::Wrap, Drain::Single)),
            pipelined(proof(Rescale::Adder, 1, Overflow::Wrap, Drain::Double)),
            pipelined(rows(Multiplier::Tree, proof(Rescale::Adder, 1, Overflow::Saturate, Drain::Single))),
        ]
    }
}
