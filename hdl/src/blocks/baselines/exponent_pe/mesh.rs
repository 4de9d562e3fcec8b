//! [`ExponentPe`] as the PE of an array.

use super::{ExponentPe, ExponentPePorts};
use crate::blocks::tender::{ArrayedPe, Drain, MeshPe, MeshPorts, MultiScaleArrayOf, array_of};
use crate::lang::{About, Proof};

impl MeshPe for ExponentPe {
    const ARRAY: About = array_of(
        "exponent_array",
        "output-stationary systolic array of the processing elements of ANT and OliVe",
        "OliVe and ANT, their systolic arrays; Tender, section V-C",
    );

    fn operand_bits(&self) -> u32 {
        self.operand_width + self.exponent_width
    }

    fn integer_bits(&self) -> u32 {
        self.operand_width
    }

    fn sum_bits(&self) -> u32 {
        self.accumulator_width
    }

    fn drain(&self) -> Drain {
        self.drain
    }

    fn assumes(&self) -> bool {
        self.has_properties()
    }

    fn mesh_ports(io: &ExponentPePorts) -> MeshPorts {
        MeshPorts {
            first: (io.first_i, io.first_o),
            last: (io.last_i, io.last_o),
            rescale: None,
            act: vec![(io.act_i, io.act_o), (io.act_exponent_i, io.act_exponent_o)],
            weight: vec![(io.weight_i, io.weight_o), (io.weight_exponent_i, io.weight_exponent_o)],
            drain: io.drain_i,
            result: (io.result_i, io.result_o),
            overflow: (io.overflow_i, io.overflow_o),
        }
    }
}

impl ArrayedPe for ExponentPe {
    fn arrays() -> Vec<MultiScaleArrayOf<Self>> {
        let set = |rows, columns, pe| MultiScaleArrayOf { rows, columns, pe, ..MultiScaleArrayOf::default() };
        let narrow = Self { operand_width: 2, exponent_width: 1, accumulator_width: 12, ..Self::default() };
        let wide = Self { operand_width: 8, accumulator_width: 64, ..Self::default() };
        vec![
            set(1, 1, Self::default()),
            set(1, 4, narrow.clone()),
            set(3, 1, wide),
            set(5, 3, Self { drain: Drain::Single, ..narrow }),
            MultiScaleArrayOf { skew_in_memory: true, ..set(2, 6, Self::default()) },
        ]
    }

    fn array_proofs() -> Vec<Proof<MultiScaleArrayOf<Self>>> {
        let proof = |rows, columns, drain| {
            let pe = Self { operand_width: 2, exponent_width: 1, accumulator_width: 12, drain };
            let block = MultiScaleArrayOf { rows, columns, pe, ..MultiScaleArrayOf::default() };
            Proof { block, depth: 8, cover_depth: 12, induction: true }
        };
        vec![proof(3, 2, Drain::Double), proof(2, 2, Drain::Single)]
    }
}
