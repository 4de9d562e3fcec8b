//! The best of a set of points with two objectives.

use super::point::Objectives;

/// `a` is at least as good as `b` both ways, and better in one.
#[must_use]
pub fn dominates(a: Objectives, b: Objectives) -> bool {
    let no_worse = (0..2).all(|k| a[k].total_cmp(&b[k]).is_le());
    no_worse && (0..2).any(|k| a[k].total_cmp(&b[k]).is_lt())
}

/// For each point the number of its front. Front 0 are the points that no point dominates, front 1 the points that only
/// points of front 0 dominate, and so on.
#[must_use]
pub fn ranks(points: &[Objectives]) -> Vec<usize> {
    // In this order only earlier points can dominate a point. With two objectives, the last point of a front has the
    // smallest second objective of the front. A point belongs to the first front whose last point does not dominate it.
    let mut order: Vec<usize> = (0..points.len()).collect();
    let by = |k: usize, a: usize, b: usize| points[a][k].total_cmp(&points[b][k]);
    order.sort_by(|&a, &b| by(0, a, b).then_with(|| by(1, a, b)));
    let mut ranks = vec![0; points.len()];
    let mut ends: Vec<usize> = Vec::new();
    for point in order {
        let rank = ends.iter().position(|&end| !dominates(points[end], points[point])).unwrap_or(ends.len());
        match ends.get_mut(rank) {
            Some(end) => *end = point,
            None => ends.push(point),
        }
        ranks[point] = rank;
    }
    ranks
}

/// For each point of a front, the distance between its two neighbours in both objectives; infinite at the ends.
#[must_use]
pub fn crowding(points: &[Objectives]) -> Vec<f64> {
    let mut distance = vec![0.0; points.len()];
    for k in 0..2 {
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| points[a][k].total_cmp(&points[b][k]));
        let (Some(&first), Some(&last)) = (order.first(), order.last()) else { continue };
        let span = points[last][k] - points[first][k];
        distance[first] = f64::INFINITY;
        distance[last] = f64::INFINITY;
        for three in order.windows(3) {
            let apart = (points[three[2]][k] - points[three[0]][k]) / span;
            distance[three[1]] += if apart.is_nan() { 0.0 } else { apart };
        }
    }
    distance
}

/// The indices of the points that no other point dominates, by the first objective; of equal points the first.
#[must_use]
pub fn best(points: &[Objectives]) -> Vec<usize> {
    let ranks = ranks(points);
    let mut best: Vec<usize> = (0..points.len()).filter(|&n| ranks[n] == 0).collect();
    best.sort_by(|&a, &b| points[a][0].total_cmp(&points[b][0]));
    best.dedup_by(|b, a| points[*a] == points[*b]);
    best
}

/// The share of the rectangle from 0 to `reference` that the points dominate.
#[must_use]
pub fn hypervolume(points: &[Objectives], reference: Objectives) -> f64 {
    let (mut area, mut top) = (0.0, reference[1]);
    for n in best(points) {
        let [x, y] = points[n];
        if x < reference[0] && y < top {
            area += (reference[0] - x) * (top - y);
            top = y;
        }
    }
    area / (reference[0] * reference[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [Objectives; 7] =
        [[1.0, 4.0], [2.0, 2.0], [4.0, 1.0], [2.0, 4.0], [3.0, 3.0], [4.0, 4.0], [f64::NAN, 0.5]];

    #[test]
    fn ranks_by_hand() {
        assert_eq!(ranks(&POINTS), [0, 0, 0, 1, 1, 2, 0]);
        assert_eq!(ranks(&[[1.0, 1.0]; 3]), [0, 0, 0]);
        assert_eq!(best(&[[1.0, 1.0], [0.0, 2.0], [1.0, 1.0]]), [1, 0]);
    }

    /// By definition: front after front is taken away.
    #[test]
    fn ranks_by_definition() {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 28)
        };
        let points: Vec<Objectives> = (0..200).map(|_| [next(), next()]).collect();
        let found = ranks(&points);
        let mut left: Vec<usize> = (0..points.len()).collect();
        let mut rank = 0;
        while !left.is_empty() {
            let free = |&n: &usize| !left.iter().any(|&other| dominates(points[other], points[n]));
            let front: Vec<usize> = left.iter().copied().filter(free).collect();
            assert!(front.iter().all(|&n| found[n] == rank));
            left.retain(|n| !front.contains(n));
            rank += 1;
        }
    }

    #[test]
    fn crowding_by_hand() {
        let found = crowding(&[[0.0, 4.0], [1.0, 2.0], [4.0, 0.0]]);
        assert_eq!(found, [f64::INFINITY, 2.0, f64::INFINITY]);
        assert_eq!(crowding(&[[1.0, 1.0]; 3])[1], 0.0);
        assert!(crowding(&[]).is_empty());
    }

    #[test]
    fn hypervolume_by_hand() {
        // 3 x 1, then 2 x 2 less what was counted, then 1 x 1 less that.
        let area = hypervolume(&POINTS, [5.0, 5.0]) * 25.0;
        assert!((area - (4.0 + 3.0 * 2.0 + 1.0)).abs() < 1e-12, "{area}");
        assert_eq!(hypervolume(&[[6.0, 0.0]], [5.0, 5.0]), 0.0);
        assert_eq!(hypervolume(&[], [5.0, 5.0]), 0.0);
    }
}
