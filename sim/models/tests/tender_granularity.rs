//! What docs/blocks/tender-quantization.md says of the real model's tensors.

use models::tender::granularity::{GROUPS, table};

/// Per-column quality at per-tensor cost: the claim behind Table I of the paper, on squared errors of products.
#[test]
fn groups_are_nearly_as_good_as_columns() {
    let table = table().unwrap();
    assert_eq!((table.len(), GROUPS), (24, [1, 2, 4, 8, 14]));
    for line in table {
        let [tensor, row, column, biased] = line.baselines;
        let [one, _, four, eight, fourteen] = line.tender;
        assert!(fourteen < 2.0 * column && eight < 5.0 * column, "{line:?}");
        assert!(10.0 * fourteen < tensor && 4.0 * fourteen < row, "{line:?}");
        // A scale for every channel is the bound: a group's is less than twice as large.
        assert!(biased < fourteen && fourteen < 4.0 * biased, "{line:?}");
        assert!(4.0 * fourteen < one, "{line:?}");
        // Four groups do, but for the widest tensors.
        let wide = ["2 down", "28 down"].contains(&line.name);
        assert_eq!(four > 2.5 * fourteen, wide, "{line:?}");
        // The bias alone does not help where one token holds an outlier.
        if line.bits == 4 {
            assert_eq!(one > 2.0 * tensor, wide, "{line:?}");
        }
    }
}
