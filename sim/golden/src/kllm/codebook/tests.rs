use proptest::prelude::*;

use super::*;

fn fp16s(values: &[f64]) -> Vec<u64> {
    values.iter().map(|&v| fp16::from_f64(v)).collect()
}

#[test]
fn nearest_with_ties_to_the_lower_index() {
    let codebook = Codebook::new(2, fp16s(&[-1.0, 0.0, 0.5, 1.0])).unwrap();
    let index = |x, scale| codebook.nearest(fp16::from_f64(x), fp16::from_f64(scale)).unwrap();
    assert_eq!([-3.0, -0.5, -0.49, 0.25, 0.26, 0.75, 0.76, 9.0].map(|x| index(x, 1.0)), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!([-1.0, 0.5, 1.5, 1.6].map(|x| index(x, 2.0)), [0, 1, 2, 3]);
    assert_eq!(codebook.thresholds(fp16::from_f64(2.0)).unwrap(), fp16s(&[-1.0, 0.5, 1.5]));
}

#[test]
fn bad_codebooks_are_refused() {
    assert!(Codebook::new(0, vec![0]).unwrap_err().to_string().contains("codebook bits is 0, allowed: 1 to 16"));
    assert!(Codebook::new(17, vec![]).is_err());
    assert!(Codebook::new(1, vec![0]).unwrap_err().to_string().contains("1 elements, expected 2"));
    assert!(Codebook::new(1, vec![0, 0x7c00]).unwrap_err().to_string().contains("codebook[1] is not finite"));
    assert!(Codebook::from_centroids(1, &[1.0, 0.0]).unwrap_err().to_string().contains("ascending"));
    assert!(Codebook::from_centroids(1, &[1.0, 1e6]).is_err());
    let unsorted = Codebook::new(1, fp16s(&[1.0, 0.0])).unwrap();
    assert!(unsorted.thresholds(fp16::ONE).unwrap_err().to_string().contains("ascending"));
    let sorted = Codebook::new(1, fp16s(&[0.0, 1.0])).unwrap();
    assert!(sorted.thresholds(0xbc00).unwrap_err().to_string().contains("scale is -1"));
    assert!(sorted.nearest(0x7c00, fp16::ONE).is_err());
}

#[test]
fn products_are_rounded_once_and_found_by_concatenation() {
    let a = Codebook::new(1, fp16s(&[-0.1, 3.0])).unwrap();
    let w = Codebook::new(2, fp16s(&[-2.0, 0.001, 0.3, 7.0])).unwrap();
    let product = a.product(&w).unwrap();
    assert_eq!((product.bits(), product.values().len()), (3, 8));
    for i in 0..2 {
        for j in 0..4 {
            // A product of two fp16 numbers is exact in f64, so this rounds once too.
            let exact = fp16::value(a.value(i)) * fp16::value(w.value(j));
            assert_eq!(product.value(concat(i, j, 2)), fp16::from_f64(exact));
        }
    }
    let large = Codebook::new(1, fp16s(&[0.0, 60000.0])).unwrap();
    assert!(large.product(&w).unwrap_err().to_string().contains("codebook[4] is not finite"));
}

#[test]
fn map_replaces_values_and_keeps_indices() {
    let codebook = Codebook::new(1, fp16s(&[-2.0, 3.0])).unwrap();
    let negated = codebook.map(|v| v ^ 0x8000).unwrap();
    assert_eq!(negated.values(), fp16s(&[2.0, -3.0]));
    assert!(codebook.is_ascending() && !negated.is_ascending());
    assert!(codebook.map(|_| 0x7e00).is_err());
}

/// Any finite fp16 number; half of them in [-1, 1], the range of normalised codebooks.
fn finite() -> impl Strategy<Value = u64> {
    prop_oneof![(0u64..0x10000).prop_filter("finite", |&b| fp16::is_finite(b)), (-1.0f64..1.0).prop_map(fp16::from_f64),]
}

proptest! {
    #![proptest_config(seeds::proptest(256))]

    /// The thresholds give the nearest value for *every* fp16 number.
    #[test]
    fn thresholds_are_exact(mut values in prop::collection::vec(finite(), 8), scale in finite()) {
        values.sort_by(|&a, &b| fp16::value(a).total_cmp(&fp16::value(b)));
        let codebook = Codebook::new(3, values).unwrap();
        let scale = scale & 0x7fff;
        let thresholds = codebook.thresholds(scale).unwrap();
        // Every 7th number and the neighbourhood of every threshold.
        let near = thresholds.iter().flat_map(|&t| [t.saturating_sub(1), t, t + 1]);
        for x in (0..0x10000).step_by(7).chain(near).filter(|&x| fp16::is_finite(x)) {
            let (found, nearest) = (cluster(&thresholds, x), codebook.nearest(x, scale).unwrap());
            if scale == 0 {
                // All values are at the same distance. Any index will do, because the product with the scale is 0.
                continue;
            }
            let equal = fp16::value(codebook.value(found)) == fp16::value(codebook.value(nearest));
            prop_assert!(found == nearest || equal, "x = {}: {} for {}", fp16::value(x), found, nearest);
        }
    }
}
