use proptest::prelude::*;

use super::*;

fn training(clusters: usize) -> Training {
    Training { clusters, ..Training::of_bits(0) }
}

/// Least inertia of all partitions into runs, by dynamic programming over prefixes.
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
    // Weight draws the lowest centroid to 2. A point without weight does not count, however far away it is.
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
    // The middle centroid starts on {-2, 2}. Both of its points then go to the neighbours, which moved towards them.
    let points = [-10.0, -4.0, -2.0, 2.0, 4.0, 10.0];
    let line = Line::new(&points, None).unwrap();
    let trained = line.lloyd(vec![-7.0, 0.0, 7.0], 100);
    assert!(trained.converged);
    // Directly: no point is nearest to 5, so the centroid moves to the point with the largest cost, 10.
    let mut centroids = vec![-3.0, 3.0, 5.0, 100.0];
    line.reseed(&mut centroids, &[2, 3]);
    assert_eq!(centroids, [-10.0, -3.0, 3.0, 10.0]);
    // In the iterations: the two centroids on the far right have no points.
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

/// The centroid nearest to x. In the middle of two centroids, rounding may decide for either. The upper centroid then
/// gets the point if `upper` has the bit of the lower one.
fn nearest(x: f64, centroids: &[f64], upper: usize) -> usize {
    (1..centroids.len()).fold(0, |best, j| {
        let closer = (x - centroids[best]).abs() - (x - centroids[j]).abs();
        // Means of small integers are either equally far or differ by more than 1e-6.
        if closer > 1e-9 || (closer > -1e-9 && upper >> best & 1 == 1) { j } else { best }
    })
}

/// Whether each centroid is the mean of the points that go to it.
fn are_means(points: &[f64], weights: &[f64], centroids: &[f64], upper: usize) -> bool {
    let mut sums = vec![(0.0, 0.0); centroids.len()];
    for (x, w) in points.iter().zip(weights) {
        let sum = &mut sums[nearest(*x, centroids, upper)];
        *sum = (sum.0 + w, sum.1 + w * x);
    }
    centroids.iter().zip(sums).all(|(c, (w, wx))| w == 0.0 || (c - wx / w).abs() < 1e-9)
}

/// 33 lies in the middle of 348 / 15 and 856 / 20, and belongs to the lower one: only then are both centroids means. In
/// f64 the distances are 9.8 and slightly less.
#[test]
fn a_point_in_the_middle_belongs_to_the_lower_cluster() {
    let samples = [
        (0, 1),
        (49, 1),
        (41, 3),
        (43, 3),
        (1, 2),
        (15, 2),
        (43, 3),
        (20, 1),
        (-4, 3),
        (33, 2),
        (39, 2),
        (27, 3),
        (-47, 1),
        (-14, 2),
        (36, 1),
        (16, 4),
        (42, 4),
        (9, 3),
        (29, 3),
        (48, 3),
        (2, 3),
    ];
    let points = samples.map(|s: (i32, i32)| f64::from(s.0));
    let weights = samples.map(|s| f64::from(s.1));
    let options = Training { clusters: 4, seed: 2_753_689_144_532_885_608, starts: 16, max_iterations: 1000 };
    let trained = train(&points, Some(&weights), options).unwrap();
    assert_eq!(trained.centroids, [-47.0, -5.0 / 14.0, 348.0 / 15.0, 856.0 / 20.0]);
    assert!(trained.converged);
    assert!(are_means(&points, &weights, &trained.centroids, 0b000));
    assert!(!are_means(&points, &weights, &trained.centroids, 0b100));
}

/// Lloyd's iterations end in a local minimum, without a bound on its distance from the optimum. For these points the
/// best of 16 starts is close.
#[test]
fn the_best_of_some_starts_is_near_the_optimum() {
    let mut random = SplitMix64(1);
    for seed in 0..300 {
        let mut below = |n: u64| random.next() % n;
        let count = 1 + below(39);
        let points: Vec<f64> = (0..count).map(|_| below(100) as f64 - 50.0).collect();
        let weights: Vec<f64> = (0..count).map(|_| 1.0 + below(4) as f64).collect();
        let clusters = 1 + below(6) as usize;
        let options = Training { clusters, seed, starts: 16, max_iterations: 1000 };
        let found = train(&points, Some(&weights), options).unwrap().inertia;
        let least = least_inertia(&points, &weights, clusters);
        assert!(found <= 1.5 * least + 1e-6, "{found} against {least}: {points:?} {weights:?} {clusters}");
    }
}

proptest! {
    #![proptest_config(seeds::proptest(256))]

    #[test]
    fn converges_to_means(
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
        let mut ties = 0..1 << (clusters - 1);
        prop_assert!(
            ties.any(|upper| are_means(&points, &weights, &trained.centroids, upper)),
            "{:?} are no means", trained.centroids
        );
        let found = inertia(&points, &weights, &trained.centroids);
        prop_assert!((found - trained.inertia).abs() < 1e-6);
        prop_assert!(found >= least_inertia(&points, &weights, clusters) - 1e-6);
    }
}
