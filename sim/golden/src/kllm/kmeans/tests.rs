use proptest::prelude::*;

use super::*;

fn training(clusters: usize) -> Training {
    Training { clusters, ..Training::of_bits(0) }
}

/// Least inertia of all partitions into runs, by trying them all (dynamic programming over prefixes).
fn least_inertia(points: &[f64], weights: &[f64], clusters: usize) -> f64 {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| points[a].total_cmp(&points[b]));
    let cost = |from: usize, to: usize| {
        let run = &order[from..to];
        let w: f64 = run.iter().map(|&i| weights[i]).sum();
        let mean = run.iter().map(|&i| weights[i] * points[i]).sum::<f64>() / w;
        run.iter().map(|&i| weights[i] * (points[i] - mean).powi(2)).sum::<f64>()
    };
    let n = points.len();
    let mut best: Vec<f64> = (0..=n).map(|to| if to == 0 { 0.0 } else { cost(0, to) }).collect();
    for _ in 1..clusters {
        let previous = best.clone();
        for to in 1..=n {
            best[to] = (0..to).map(|from| previous[from] + cost(from, to)).fold(previous[to], f64::min);
        }
    }
    best[n]
}

fn inertia(points: &[f64], weights: &[f64], centroids: &[f64]) -> f64 {
    let distance = |x: f64| centroids.iter().map(|c| (x - c).powi(2)).fold(f64::INFINITY, f64::min);
    points.iter().zip(weights).map(|(&x, w)| w * distance(x)).sum()
}

#[test]
fn worked_example() {
    // Three groups with means 1, 10 and 21.
    let points = [0.0, 22.0, 1.0, 10.0, 2.0, 20.0, 9.0, 11.0];
    let trained = train(&points, None, training(3)).unwrap();
    assert_eq!(trained.centroids, [1.0, 10.0, 21.0]);
    assert_eq!((trained.inertia, trained.converged), (6.0, true));
    // Weight draws the lowest centroid to 2; a point without weight does not count, far away as it is.
    let points = [0.0, 22.0, 1000.0, 10.0, 3.0, 20.0, 9.0, 11.0];
    let trained = train(&points, Some(&[1.0, 1.0, 0.0, 1.0, 2.0, 1.0, 1.0, 1.0]), training(3)).unwrap();
    assert_eq!(trained.centroids, [2.0, 10.0, 21.0]);
}

#[test]
fn fewer_points_than_clusters() {
    let trained = train(&[3.0, -1.0, 3.0, 0.0, -0.0], None, training(5)).unwrap();
    assert_eq!(trained.centroids, [-1.0, 0.0, 3.0, 3.0, 3.0]);
    assert_eq!((trained.inertia, trained.converged), (0.0, true));
    assert_eq!(train(&[7.5], None, training(2)).unwrap().centroids, [7.5, 7.5]);
}

#[test]
fn a_cluster_that_runs_empty_moves_to_the_costliest_point() {
    // The middle centroid starts on {-2, 2}; both of its points then go to the neighbours, which moved towards them.
    let points = [-10.0, -4.0, -2.0, 2.0, 4.0, 10.0];
    let line = Line::new(&points, None).unwrap();
    let trained = line.lloyd(vec![-7.0, 0.0, 7.0], 100);
    assert!(trained.converged);
    // Directly: nothing is nearest to 5, so it moves to the point that costs most, which is 10.
    let mut centroids = vec![-3.0, 3.0, 5.0, 100.0];
    line.reseed(&mut centroids, &[2, 3]);
    assert_eq!(centroids, [-10.0, -3.0, 3.0, 10.0]);
    // And through the iterations: the two centroids on the far right own nothing.
    let trained = line.lloyd(vec![0.0, 500.0, 1000.0], 100);
    assert!(trained.reseeded >= 2 && trained.converged, "{trained:?}");
    assert!(line.ends(&trained.centroids).windows(2).all(|pair| pair[0] < pair[1]), "{trained:?}");
}

#[test]
fn the_seed_decides_and_the_order_of_the_points_does_not() {
    let points: Vec<f64> = (0..500u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761) % 9973)).collect();
    let reversed: Vec<f64> = points.iter().rev().copied().collect();
    let options = Training { clusters: 16, seed: 3, starts: 1, max_iterations: 1000 };
    let trained = train(&points, None, options).unwrap();
    assert_eq!(train(&points, None, options).unwrap(), trained);
    assert_eq!(train(&reversed, None, options).unwrap(), trained);
    assert_ne!(train(&points, None, Training { seed: 4, ..options }).unwrap().centroids, trained.centroids);
}

#[test]
fn bad_input_is_refused_by_name() {
    let error = |points: &[f64], weights: Option<&[f64]>, clusters| {
        train(points, weights, training(clusters)).unwrap_err().to_string()
    };
    assert!(error(&[], None, 2).contains("points with a weight is 0"));
    assert!(error(&[1.0], Some(&[0.0]), 2).contains("points with a weight is 0"));
    assert!(error(&[1.0, f64::NAN], None, 2).contains("points[1]"));
    assert!(error(&[1.0], Some(&[f64::INFINITY]), 2).contains("weights[0]"));
    assert!(error(&[1.0], Some(&[-1.0]), 2).contains("sample weight is -1"));
    assert!(error(&[1.0], Some(&[]), 2).contains("0 elements, expected 1"));
    assert!(error(&[1.0], None, 0).contains("clusters is 0"));
}

proptest! {
    #[test]
    fn converges_to_means_and_near_the_optimum(
        samples in prop::collection::vec((-50i32..50, 1u32..5), 1..40),
        clusters in 1usize..7,
        seed in any::<u64>(),
    ) {
        let points: Vec<f64> = samples.iter().map(|s| f64::from(s.0)).collect();
        let weights: Vec<f64> = samples.iter().map(|s| f64::from(s.1)).collect();
        let options = Training { clusters, seed, starts: 16, max_iterations: 1000 };
        let trained = train(&points, Some(&weights), options).unwrap();
        prop_assert!(trained.converged);
        prop_assert_eq!(trained.centroids.len(), clusters);
        prop_assert!(trained.centroids.is_sorted());

        // Every centroid is the mean of the points nearest to it (lower index on a tie).
        let mut sums = vec![(0.0, 0.0); clusters];
        for (x, w) in points.iter().zip(&weights) {
            let distance = |j: &usize| (x - trained.centroids[*j]).abs();
            let nearest = (0..clusters).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap();
            sums[nearest].0 += w;
            sums[nearest].1 += w * x;
        }
        for (c, (w, wx)) in trained.centroids.iter().zip(sums) {
            prop_assert!(w == 0.0 || (c - wx / w).abs() < 1e-9, "{} is not {}", c, wx / w);
        }
        let found = inertia(&points, &weights, &trained.centroids);
        prop_assert!((found - trained.inertia).abs() < 1e-6);
        let least = least_inertia(&points, &weights, clusters);
        prop_assert!(found >= least - 1e-6);
        // Lloyd ends in a local minimum: of 16 starts the best is never far from the least.
        prop_assert!(found <= 1.5 * least + 1e-6, "{} against {}", found, least);
    }
}
