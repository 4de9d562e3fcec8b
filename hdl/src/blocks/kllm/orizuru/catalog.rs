//! Orizuru in the catalogue: parameters, the sets it is checked with, its proofs.

use super::Orizuru;
use crate::blocks::common::number_format::{NanPolicy, NumberFormat};
use crate::blocks::kllm::orizuru_tree::{Comparators, NodeState};
use crate::lang::{CatalogBlock, OldParameter, Proof};

impl CatalogBlock for Orizuru {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "n", allowed: "1 to 65536", meaning: "values of a vector" },
        OldParameter { name: "k_max", allowed: "1 to n", meaning: "largest number of maxima that can be asked for" },
        OldParameter { name: "k_min", allowed: "1 to n", meaning: "largest number of minima that can be asked for" },
        OldParameter { name: "format", allowed: NumberFormat::ALLOWED, meaning: "format of the values" },
        OldParameter {
            name: "nan",
            allowed: "total_order, never_selected",
            meaning: "NaNs lie beyond the infinities, or are never picked",
        },
        OldParameter { name: "radix", allowed: "a power of two from 2 to 4096", meaning: "inputs of a unit" },
        OldParameter {
            name: "lanes",
            allowed: "a power of two from 1 to min(radix, n rounded up to a power of two)",
            meaning: "values that enter in one beat",
        },
        OldParameter {
            name: "comparators",
            allowed: "parallel, shared",
            meaning: "one comparator a node, or one a level used by its nodes in turn",
        },
        OldParameter {
            name: "levels_per_cycle",
            allowed: "1 to log2 radix; 1 unless parallel and value",
            meaning: "tree levels settled in one cycle",
        },
        OldParameter {
            name: "node_state",
            allowed: "pointer, value",
            meaning: "a node remembers one bit (the paper), or its winner",
        },
        OldParameter {
            name: "count_comparisons",
            allowed: "true, false",
            meaning: "adds comparisons_o, for measurements",
        },
    ];

    fn configurations() -> Vec<Self> {
        use Comparators::{Parallel, Shared};
        use NodeState::{Pointer, Value};
        let set = |n: u32, k: u32, format, radix: u32, lanes, (comparators, node_state, levels_per_cycle)| Self {
            n,
            k_max: k.min(n),
            k_min: k.min(n),
            format,
            nan: NanPolicy::TotalOrder,
            radix,
            lanes,
            comparators,
            levels_per_cycle,
            node_state,
            count_comparisons: true,
        };
        let (fp16, bf16) = (NumberFormat::FP16, NumberFormat::BF16);
        let (int8, int16) = (NumberFormat::Int { bits: 8 }, NumberFormat::Int { bits: 16 });
        let uint = |bits| NumberFormat::Uint { bits };
        let mut list = vec![
            set(1, 1, uint(1), 2, 1, (Parallel, Value, 1)),
            set(2, 2, int8, 2, 2, (Parallel, Pointer, 1)),
            set(3, 3, int8, 2, 1, (Shared, Value, 1)),
            set(5, 5, uint(3), 4, 2, (Shared, Pointer, 1)),
            set(17, 9, fp16, 16, 16, (Parallel, Value, 4)),
            set(33, 4, bf16, 4, 4, (Parallel, Pointer, 1)),
            set(100, 100, int16, 8, 2, (Parallel, Value, 2)),
            set(96, 7, uint(12), 16, 8, (Shared, Value, 1)),
            set(64, 3, NumberFormat::FP32, 64, 64, (Parallel, Value, 3)),
            set(256, 13, fp16, 16, 16, (Shared, Pointer, 1)),
        ];
        let no_nan = |s: Self| Self { nan: NanPolicy::NeverSelected, ..s };
        list.push(no_nan(set(16, 16, fp16, 16, 16, (Parallel, Value, 4))));
        list.push(no_nan(set(50, 11, bf16, 8, 8, (Shared, Pointer, 1))));
        list
    }

    fn proofs() -> Vec<Proof<Self>> {
        let base = Self {
            n: 4,
            k_max: 4,
            k_min: 4,
            format: NumberFormat::Uint { bits: 2 },
            radix: 4,
            lanes: 4,
            levels_per_cycle: 2,
            ..Self::default()
        };
        let one_level = Self { levels_per_cycle: 1, ..base.clone() };
        let prove = |block| Proof { block, depth: 8, cover_depth: 40, induction: true };
        vec![
            prove(base.clone()),
            // Padding, two tiers.
            prove(Self { n: 5, k_max: 5, k_min: 5, lanes: 2, ..base.clone() }),
            prove(Self { node_state: NodeState::Pointer, ..one_level.clone() }),
            prove(Self {
                n: 3,
                k_max: 3,
                k_min: 3,
                radix: 2,
                lanes: 1,
                comparators: Comparators::Shared,
                ..one_level.clone()
            }),
            prove(Self { comparators: Comparators::Shared, node_state: NodeState::Pointer, ..one_level }),
            prove(Self { format: NumberFormat::Int { bits: 3 }, n: 3, k_max: 2, k_min: 3, ..base }),
        ]
    }
}
