//! The catalogue entries of [`MultiScaleArrayOf`], a PE each.

use super::MultiScaleArrayOf;
use crate::blocks::tender::mesh_pe::MeshPe;
use crate::blocks::tender::tender_pe::{Drain, Multiplier, Overflow, Rescale, TenderPe};
use crate::lang::{CatalogBlock, Proof};

/// A PE whose arrays are in a catalogue.
pub trait ArrayedPe: MeshPe {
    /// The arrays that every check runs on, besides the default. Without an own list: one PE, a row, a column, a mesh
    /// whose sides differ, and where operands are integers a mesh of bytes; all with the default PE.
    fn arrays() -> Vec<MultiScaleArrayOf<Self>> {
        let set = |rows, columns, int8| MultiScaleArrayOf { rows, columns, int8, ..MultiScaleArrayOf::default() };
        let bytes = Self::default().has_integers_only().then(|| set(4, 2, true));
        [(1, 1), (1, 4), (3, 1), (5, 3)].map(|(r, c)| set(r, c, false)).into_iter().chain(bytes).collect()
    }

    /// The runs of `prove`.
    fn array_proofs() -> Vec<Proof<MultiScaleArrayOf<Self>>> {
        Vec::new()
    }
}

impl<P: ArrayedPe> CatalogBlock for MultiScaleArrayOf<P> {
    fn configurations() -> Vec<Self> {
        P::arrays()
    }

    fn proofs() -> Vec<Proof<Self>> {
        P::array_proofs()
    }
}

impl ArrayedPe for TenderPe {
    fn arrays() -> Vec<MultiScaleArrayOf<Self>> {
        let pe = Self::default;
        let set = |rows, columns, int8, pe| MultiScaleArrayOf { rows, columns, pe, int8, skew_in_memory: false };
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
            MultiScaleArrayOf { skew_in_memory: true, ..set(4, 10, true, pe()) },
        ]
    }

    fn array_proofs() -> Vec<Proof<MultiScaleArrayOf<Self>>> {
        let proof = |rows, columns, int8, drain| {
            let pe = TenderPe { operand_width: 2, accumulator_width: 11, drain, ..TenderPe::default() };
            Proof {
                block: MultiScaleArrayOf { rows, columns, pe, int8, skew_in_memory: false },
                depth: 8,
                cover_depth: 12,
                induction: true,
            }
        };
        let pipelined = |p: Proof<MultiScaleArrayOf<Self>>| {
            let pe = TenderPe { pipelined: true, ..p.block.pe };
            Proof { block: MultiScaleArrayOf { pe, ..p.block }, cover_depth: p.cover_depth + 4, ..p }
        };
        let in_memory = |p: Proof<MultiScaleArrayOf<Self>>| Proof {
            block: MultiScaleArrayOf { skew_in_memory: true, ..p.block },
            ..p
        };
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
