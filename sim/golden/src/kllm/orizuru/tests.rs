use proptest::prelude::*;

use super::*;

const BOTH: [Side; 2] = [Side::Max, Side::Min];
const UINT8: Format = Format::Uint { bits: 8 };

/// Small whole numbers as fp16 bits.
fn fp16(values: &[f32]) -> Vec<u64> {
    values.iter().map(|&value| u64::from(half::f16::from_f32(value).to_bits())).collect()
}

fn drain(tree: &mut Tree, side: Side, k: usize) -> Vec<Pop> {
    (0..k).map_while(|_| tree.pop(side)).collect()
}

/// Maintenance comparisons of popping `index`, from the availability alone. Each enclosing aligned block counts one if
/// both of its halves still have an available leaf.
fn pop_cost(available: &[bool], index: usize) -> u64 {
    let padded = available.len().next_power_of_two();
    let any = |from: usize, to: usize| (from..to).any(|i| available.get(i) == Some(&true));
    let mut cost = 0;
    let mut size = 2;
    while size <= padded {
        let start = index / size * size;
        let middle = start + size / 2;
        cost += u64::from(any(start, middle) && any(middle, start + size));
        size *= 2;
    }
    cost
}

/// Figure 7: N = 8, the maximum 9 sits at node 14, its path is "110", and popping it flips node 7 to its neighbour.
/// After the top 3, both children of node 7 are popped, and node 7 puts out the sentinel. The scan has lost the other
/// values, so they are chosen to fit the text.
#[test]
fn worked_example_of_figure_7() {
    let values = fp16(&[3.0, 1.0, 7.0, 2.0, 0.0, 5.0, 9.0, 8.0]);
    let mut tree = Tree::new(&values, Format::FP16, NanPolicy::TotalOrder).unwrap();
    assert_eq!(tree.init_count(), InitCount { max: 7, min: 3 });

    assert_eq!(tree.path(Side::Max), [true, true, false]);
    assert_eq!(tree.bit(Side::Max, 7), Some(false));
    let first = tree.pop_max().unwrap();
    assert_eq!(8 + first.index, 14);
    assert_eq!(Format::FP16.value(first.value), 9.0);
    assert_eq!(tree.bit(Side::Max, 7), Some(true));
    assert_eq!(tree.leaf(6), Some(values[6]), "the stored value stays");
    assert!(!tree.is_available(Side::Max, 6) && tree.is_available(Side::Min, 6));
    // Node 3 and node 1 compare; node 7 is decided by the mask.
    assert_eq!(tree.pop_count(Side::Max), 2);

    assert_eq!(tree.pop_max().unwrap().index, 7);
    assert_eq!(tree.bit(Side::Max, 3), Some(false), "node 7 is a sentinel now");
    // Only the root compares.
    assert_eq!(tree.pop_count(Side::Max), 3);
    assert_eq!(tree.pop_max().unwrap().index, 2);

    assert_eq!(tree.path(Side::Min), [true, false, false]);
    let order: Vec<usize> = drain(&mut tree, Side::Min, 9).iter().map(|pop| pop.index).collect();
    assert_eq!(order, [4, 1, 3, 0, 5, 2, 7, 6]);
    let order: Vec<usize> = drain(&mut tree, Side::Max, 9).iter().map(|pop| pop.index).collect();
    assert_eq!(order, [5, 0, 3, 1, 4]);
    assert_eq!(tree.pop_max(), None);
}

#[test]
fn init_count_is_exact() {
    for log in 0..=12 {
        let n = 1usize << log;
        let values: Vec<u64> = (0..n as u64).map(|i| i * 40503 % 65536).collect();
        let tree = Tree::new(&values, Format::FP16, NanPolicy::TotalOrder).unwrap();
        let n = n as u64;
        assert_eq!(tree.init_count().max, n - 1);
        assert_eq!(tree.init_count().min, (n / 2).saturating_sub(1));
    }
    // Padding costs nothing: every comparison merges two subtrees with available leaves.
    for n in 1..=130u64 {
        let values = vec![7; n as usize];
        let tree = Tree::new(&values, UINT8, NanPolicy::TotalOrder).unwrap();
        assert_eq!(tree.init_count(), InitCount { max: n - 1, min: n - 1 - n / 2 }, "n = {n}");
    }
}

/// Hard and random orders, up to the paper's N = 4096.
#[test]
fn bound_holds() {
    let signed = Format::Int { bits: 16 };
    for n in [1u64, 2, 3, 5, 16, 17, 100, 1023, 1024, 1025, 4095, 4096] {
        let patterns: [(&str, Vec<u64>); 5] = [
            ("sorted", (0..n).collect()),
            ("reversed", (0..n).rev().collect()),
            ("equal", vec![0x8000; n as usize]),
            ("alternating", (0..n).map(|i| if i % 2 == 0 { 0x7fff } else { 0x8000 }).collect()),
            ("scattered", (0..n).map(|i| (i * 40503) ^ (i >> 3)).map(|v| v & 0xffff).collect()),
        ];
        for (name, values) in patterns {
            let n = values.len();
            for (k_max, k_min) in [(0, 0), (1, 1), (20, 20), (3, 40), (n / 2, n / 2), (n, n)] {
                let mut tree = Tree::new(&values, signed, NanPolicy::TotalOrder).unwrap();
                let max = drain(&mut tree, Side::Max, k_max);
                let min = drain(&mut tree, Side::Min, k_min);
                let expected = top_k(&values, k_max, k_min, signed, NanPolicy::TotalOrder).unwrap();
                assert_eq!((max, min), (expected.max, expected.min), "{name} n = {n}");
                let bound = comparison_bound(n, k_max.min(n), k_min.min(n));
                assert!(tree.total_count() <= bound, "{name} n = {n} k = {k_max}, {k_min}");
            }
        }
    }
}

proptest! {
    #![proptest_config(seeds::proptest(32))]
    #[test]
    fn bound_holds_for_random_vectors(
        values in prop::collection::vec(0u64..=0xffff, 1..=4096),
        k_max in 0usize..=4096,
        k_min in 0usize..=64,
    ) {
        let n = values.len();
        let (k_max, k_min) = (k_max.min(n), k_min.min(n));
        let order = NanPolicy::TotalOrder;
        let trace = Trace::new(&values, k_max, k_min, Format::FP16, order).unwrap();
        let total = trace.comparisons_after(k_max, k_min).unwrap();
        prop_assert!(total <= comparison_bound(n, k_max, k_min), "{total}");
    }
}

#[test]
fn bound_is_the_papers() {
    // 1.5 * 4096 + 2 * 20 * 12.
    assert_eq!(comparison_bound(4096, 20, 20), 6144 + 480);
    assert_eq!(comparison_bound(8, 1, 2), 12 + 9);
    assert_eq!(comparison_bound(5, 1, 0), 7 + 3);
    assert_eq!(comparison_bound(1, 1, 1), 1);
    assert_eq!(comparison_bound(usize::MAX, usize::MAX, 1), u64::MAX);
}

/// While no subtree is exhausted a pop takes exactly log2 N - 1 comparisons.
#[test]
fn pop_count_is_exact_while_subtrees_last() {
    // The largest of each pair sits at an even index, so 8 pops leave every pair one leaf.
    let values: Vec<u64> = (0..16).map(|i| if i % 2 == 0 { 100 + i } else { i }).collect();
    let trace = Trace::new(&values, 9, 9, UINT8, NanPolicy::TotalOrder).unwrap();
    for beats in [&trace.max, &trace.min] {
        assert!(beats[..8].iter().all(|beat| beat.comparisons == 3), "{beats:?}");
        assert_eq!(beats[8].comparisons, 2);
        assert_eq!(beats[8].cumulative, 26);
    }
    assert_eq!(trace.init.total(), 22);
    assert_eq!(trace.comparisons_after(0, 0), Some(22));
    assert_eq!(trace.comparisons_after(9, 2), Some(22 + 26 + 6));
    assert_eq!(trace.comparisons_after(10, 0), None);
}

#[test]
fn ties_go_to_the_lower_index_on_both_sides() {
    let selected = top_k(&[5; 6], 3, 2, UINT8, NanPolicy::TotalOrder).unwrap();
    assert_eq!(selected.max.iter().map(|pop| pop.index).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(selected.min.iter().map(|pop| pop.index).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(selected.mask, [true, true, true, false, false, false]);
}

#[test]
fn nan_policies_and_zeros() {
    // -0, +0, +NaN, -NaN, +inf, -inf.
    let values = [0x8000, 0x0000, 0x7e00, 0xfe00, 0x7c00, 0xfc00];
    let indices = |nan| {
        let selected = top_k(&values, 6, 6, Format::FP16, nan).unwrap();
        let list = |pops: &[Pop]| pops.iter().map(|pop| pop.index).collect::<Vec<_>>();
        (list(&selected.max), list(&selected.min))
    };
    assert_eq!(indices(NanPolicy::TotalOrder), (vec![2, 4, 1, 0, 5, 3], vec![3, 5, 0, 1, 4, 2]));
    assert_eq!(indices(NanPolicy::NeverSelected), (vec![4, 1, 0, 5], vec![5, 0, 1, 4]));

    let never = NanPolicy::NeverSelected;
    let trace = Trace::new(&[0x7e00, 0xfe00], 1, 1, Format::FP16, never).unwrap();
    assert!(trace.max.is_empty() && trace.min.is_empty());
    assert_eq!((trace.init.total(), trace.mask), (0, vec![false, false]));
}

/// Every vector of 4 (and of 3 and 1, padded) over a small alphabet with equal, opposite and NaN
/// members.
#[test]
fn exhaustive_small_vectors() {
    let floats = [0x8000u64, 0x0000, 0x3c00, 0xbc00, 0x7e00, 0xfe00];
    let integers = [0u64, 1, 7, 8, 15];
    let cases: [(Format, &[u64]); 3] =
        [(Format::FP16, &floats), (Format::Int { bits: 4 }, &integers), (Format::Uint { bits: 4 }, &integers)];
    for (format, alphabet) in cases {
        for n in [1u32, 2, 3, 4] {
            for code in 0..alphabet.len().pow(n) {
                let values: Vec<u64> =
                    (0..n).map(|digit| alphabet[code / alphabet.len().pow(digit) % alphabet.len()]).collect();
                for nan in [NanPolicy::TotalOrder, NanPolicy::NeverSelected] {
                    check_against_sorting(&values, format, nan, &[false, true, true, false]);
                }
            }
        }
    }
}

/// Drains a tree and checks every pop against sorting, and every count against the availability alone. `sides` has the
/// order of the sides (true = min).
fn check_against_sorting(values: &[u64], format: Format, nan: NanPolicy, sides: &[bool]) {
    let n = values.len();
    let expected = top_k(values, n, n, format, nan).unwrap();
    let trace = Trace::new(values, n, n, format, nan).unwrap();
    let mut tree = Tree::new(values, format, nan).unwrap();
    let start: Vec<bool> = values.iter().map(|&raw| nan.admits(format, raw)).collect();

    let alive = start.iter().filter(|&&available| available).count() as u64;
    let shared = start.chunks(2).filter(|pair| **pair == [true, true]).count() as u64;
    let merges = alive.saturating_sub(1);
    assert_eq!(tree.init_count(), InitCount { max: merges, min: merges - shared });

    let mut available = [start.clone(), start];
    let mut popped = [0usize; 2];
    for step in 0.. {
        let random = usize::from(sides[step % sides.len()]);
        // When one side is empty, the other is drained.
        let s = if tree.remaining(BOTH[random]) > 0 { random } else { 1 - random };
        let list = [&expected.max, &expected.min][s];
        let before = tree.pop_count(BOTH[s]);
        let other = tree.pop_count(BOTH[1 - s]);
        let Some(pop) = tree.pop(BOTH[s]) else {
            assert_eq!(popped, [expected.max.len(), expected.min.len()]);
            break;
        };
        assert_eq!(pop, list[popped[s]], "{format} {nan:?} {values:x?}");
        available[s][pop.index] = false;
        let cost = tree.pop_count(BOTH[s]) - before;
        assert_eq!(cost, pop_cost(&available[s], pop.index), "{format} {nan:?} {values:x?}");
        assert!(cost <= u64::from(n.next_power_of_two().trailing_zeros()));
        assert_eq!(tree.pop_count(BOTH[1 - s]), other);
        let beat = [&trace.max, &trace.min][s][popped[s]];
        assert_eq!((beat.pop, beat.comparisons), (pop, cost));
        assert_eq!(beat.last, tree.remaining(BOTH[s]) == 0);
        popped[s] += 1;
        assert_eq!(trace.comparisons_after(popped[0], popped[1]), Some(tree.total_count()));
        assert!(tree.total_count() <= comparison_bound(n, popped[0], popped[1]));
    }
    assert!(BOTH.iter().all(|&side| tree.peek(side).is_none()));
}

fn any_format() -> impl Strategy<Value = Format> {
    prop_oneof![
        Just(Format::FP16),
        Just(Format::BF16),
        Just(Format::FP32),
        Just(Format::Float(crate::format::FloatFormat::E5m2)),
        (1u32..=32).prop_map(|bits| Format::Int { bits }),
        (1u32..=32).prop_map(|bits| Format::Uint { bits }),
    ]
}

/// Vectors of 1 to 300 raw values: any bits, few distinct ones (ties), or around the special floats.
fn any_vector() -> impl Strategy<Value = (Format, Vec<u64>)> {
    any_format().prop_flat_map(|format| {
        let mask = format.mask();
        let sign = 1 << (format.width() - 1);
        let infinity = match format {
            Format::Float(float) => float.infinity(false),
            Format::Int { .. } | Format::Uint { .. } => 0x7f80_0000 & mask,
        };
        let special = vec![0, 1, infinity, infinity.saturating_sub(1), infinity + 1, sign - 1];
        let value = prop_oneof![
            any::<u64>(),
            0u64..4,
            (proptest::sample::select(special), any::<bool>()).prop_map(move |(bits, negative)| if negative {
                bits | sign
            } else {
                bits
            }),
        ];
        let values = prop::collection::vec(value.prop_map(move |raw| raw & mask), 1..=300);
        (Just(format), values)
    })
}

proptest! {
    #![proptest_config(seeds::proptest(256))]

    #[test]
    fn tree_equals_sorting(
        (format, values) in any_vector(),
        never: bool,
        sides in prop::collection::vec(any::<bool>(), 1..64),
    ) {
        let nan = if never { NanPolicy::NeverSelected } else { NanPolicy::TotalOrder };
        check_against_sorting(&values, format, nan, &sides);
    }

    /// The selection by its definition, without sorting: the position of an element is the number of available elements
    /// that beat it.
    #[test]
    fn position_is_rank(
        (format, values) in any_vector(),
        never: bool,
        k_max in 0usize..320,
        k_min in 0usize..320,
    ) {
        let nan = if never { NanPolicy::NeverSelected } else { NanPolicy::TotalOrder };
        let trace = Trace::new(&values, k_max, k_min, format, nan).unwrap();
        let mut mask = vec![false; values.len()];
        let alive: Vec<usize> =
            (0..values.len()).filter(|&i| !never || !format.is_nan(values[i])).collect();
        for (beats, k, max) in [(&trace.max, k_max, true), (&trace.min, k_min, false)] {
            prop_assert_eq!(beats.len(), k.min(alive.len()));
            for &i in &alive {
                let beats_i = |&&j: &&usize| {
                    let order = format.total_cmp(values[j], values[i]);
                    if order.is_eq() { j < i } else { order.is_gt() == max }
                };
                let rank = alive.iter().filter(beats_i).count();
                if rank < k {
                    prop_assert_eq!(beats[rank].pop, Pop { index: i, value: values[i] });
                    prop_assert_eq!(beats[rank].last, rank + 1 == k.min(alive.len()));
                    mask[i] = true;
                }
            }
        }
        prop_assert_eq!(trace.mask, mask);
    }

    #[test]
    fn outliers_are_the_nearest_number(n in 0usize..100_000, permille in 1u32..=1000) {
        let k = outliers_per_side(n, permille).unwrap();
        let exact = n as i64 * i64::from(permille);
        let error = 1000 * k as i64 - exact;
        prop_assert!((-500 < error && error <= 500) || (k == 1 && exact < 500));
        prop_assert!(k <= n && (k > 0 || n == 0));
    }
}

#[test]
fn outliers_of_the_paper() {
    assert_eq!(outliers_per_side(4096, 5), Ok(20));
    assert_eq!(outliers_per_side(11008, 5), Ok(55));
    assert_eq!(outliers_per_side(100, 5), Ok(1), "a half rounds up");
    assert_eq!(outliers_per_side(300, 5), Ok(2), "a half rounds up");
    assert_eq!(outliers_per_side(16, 5), Ok(1), "at least one");
    assert_eq!(outliers_per_side(4096, 0), Ok(0));
    assert_eq!(outliers_per_side(0, 5), Ok(0));
    assert_eq!(outliers_per_side(usize::MAX, 1000), Ok(usize::MAX));
    let error = outliers_per_side(4096, 1001).unwrap_err();
    assert_eq!(error.to_string(), "outlier share 1001 per mille: expected 0 to 1000");
}

#[test]
fn bad_input_is_named() {
    let text = |values: &[u64], format| {
        let error = top_k(values, 1, 1, format, NanPolicy::TotalOrder).unwrap_err();
        let tree = Tree::new(values, format, NanPolicy::TotalOrder).unwrap_err();
        assert_eq!(error, tree);
        error.to_string()
    };
    assert_eq!(text(&[], UINT8), "Orizuru input is empty: expected at least 1 value");
    assert_eq!(
        text(&[1, 256], UINT8),
        "Orizuru input[1]: raw value 0x100 does not fit uint8: \
         the largest pattern of 8 bits is 0xff"
    );
    assert_eq!(
        text(&[1], Format::Int { bits: 40 }),
        "Orizuru format: number format `int40`: an integer has 1 to 32 bits"
    );
}
