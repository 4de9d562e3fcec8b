//! The catalogue entry of [`DenseSparseProduct`].

use super::DenseSparseProduct;
use crate::lang::{CatalogBlock, Proof};

impl CatalogBlock for DenseSparseProduct {
    fn configurations() -> Vec<Self> {
        let set =
            |rows, columns, channels, lanes, outliers, [activation_width, operand_width, shift_width]: [u32; 3]| Self {
                rows,
                columns,
                channels,
                lanes,
                outliers,
                activation_width,
                operand_width,
                shift_width,
            };
        vec![
            set(2, 2, 3, 2, 1, [4, 2, 1]),
            set(1, 1, 3, 2, 3, [2, 2, 1]),
            set(3, 5, 7, 4, 2, [9, 3, 2]),
            set(5, 3, 17, 2, 17, [6, 4, 3]),
            set(1, 7, 33, 32, 3, [12, 8, 4]),
            set(16, 16, 96, 8, 2, [12, 4, 3]),
        ]
    }
    fn proofs() -> Vec<Proof<Self>> {
        let proof = |rows, columns, depth| {
            let block = Self {
                rows,
                columns,
                channels: 3,
                lanes: 2,
                outliers: 1,
                activation_width: 3,
                operand_width: 2,
                shift_width: 1,
            };
            Proof { block, depth, cover_depth: 13, induction: false }
        };
        vec![proof(2, 1, 10), proof(1, 2, 12)]
    }
}
