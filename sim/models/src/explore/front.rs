//! The best of a set of points with any number of objectives.

use super::point::Objectives;

/// `a` is at least as good as `b` in all objectives, and better in one.
#[must_use]
pub fn dominates(a: &[f64], b: &[f64]) -> bool {
    let no_worse = a.iter().zip(b).all(|(a, b)| a.total_cmp(b).is_le());
    no_worse && a.iter().zip(b).any(|(a, b)| a.total_cmp(b).is_lt())
}

/// For each point the number of its front. Front 0 are the points that no point dominates, front 1 the points that only
/// points of front 0 dominate, and so on.
#[must_use]
pub fn ranks(points: &[Objectives]) -> Vec<usize> {
    // In this order only earlier points can dominate a point, so a point belongs to the first front without such a one.
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| compared(&points[a], &points[b]));
    let mut ranks = vec![0; points.len()];
    let mut fronts: Vec<Vec<usize>> = Vec::new();
    for point in order {
        // The last points of a front are the nearest ones.
        let free = |front: &Vec<usize>| !front.iter().rev().any(|&other| dominates(&points[other], &points[point]));
        let rank = fronts.iter().position(free).unwrap_or(fronts.len());
        match fronts.get_mut(rank) {
            Some(front) => front.push(point),
            None => fronts.push(vec![point]),
        }
        ranks[point] = rank;
    }
    ranks
}

/// By the first objective, then by the second one, and so on.
fn compared(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let mut each = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
    each.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}

/// For each point of a front, the distance between its two neighbours, summed over all objectives; infinite for the
/// ends of each.
#[must_use]
pub fn crowding(points: &[Objectives]) -> Vec<f64> {
    let mut distance = vec![0.0; points.len()];
    for k in 0..points.first().map_or(0, Vec::len) {
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
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| compared(&points[a], &points[b]));
    let mut best: Vec<usize> = Vec::new();
    for point in order {
        if !best.iter().rev().any(|&other| dominates(&points[other], &points[point])) {
            best.push(point);
        }
    }
    best.dedup_by(|b, a| points[*a] == points[*b]);
    best
}

/// The share of the box from 0 to `reference` that the points dominate.
#[must_use]
pub fn hypervolume(points: &[Objectives], reference: &[f64]) -> f64 {
    let inside = |point: &&Objectives| point.iter().zip(reference).all(|(x, most)| x < most);
    let inside: Vec<Objectives> = points.iter().filter(inside).cloned().collect();
    // What another point dominates adds nothing.
    let front = best(&inside).into_iter().map(|number| inside[number].as_slice()).collect();
    volume(front, reference) / reference.iter().product::<f64>()
}

/// The volume between points and `reference`: in slices along the last objective, each as thick as two neighbours are
/// apart.
fn volume(mut points: Vec<&[f64]>, reference: &[f64]) -> f64 {
    let Some((&top, rest)) = reference.split_last() else { return 0.0 };
    let last = rest.len();
    if last == 0 {
        return top - points.iter().map(|point| point[0]).fold(top, f64::min);
    }
    points.sort_by(|a, b| a[last].total_cmp(&b[last]));
    let ends = points.iter().skip(1).map(|point| point[last]).chain([top]).collect::<Vec<_>>();
    if let [width] = *rest {
        let mut least = width;
        let strip = |(point, end): (&&[f64], f64)| {
            least = least.min(point[0]);
            (end - point[1]) * (width - least)
        };
        return points.iter().zip(ends).map(strip).sum();
    }
    let slice = |(number, end): (usize, f64)| {
        let thick = end - points[number][last];
        if thick > 0.0 { thick * volume(points[..=number].to_vec(), rest) } else { 0.0 }
    };
    ends.into_iter().take(points.len()).enumerate().map(slice).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<Objectives> {
        [[1.0, 4.0], [2.0, 2.0], [4.0, 1.0], [2.0, 4.0], [3.0, 3.0], [4.0, 4.0], [f64::NAN, 0.5]].map(Into::into).into()
    }

    #[test]
    fn ranks_by_hand() {
        assert_eq!(ranks(&points()), [0, 0, 0, 1, 1, 2, 0]);
        assert_eq!(ranks(&vec![vec![1.0, 1.0]; 3]), [0, 0, 0]);
        assert_eq!(best(&[vec![1.0, 1.0], vec![0.0, 2.0], vec![1.0, 1.0]]), [1, 0]);
        // The third objective alone tells two points apart.
        let three = [vec![1.0, 1.0, 2.0], vec![1.0, 1.0, 1.0], vec![0.0, 2.0, 3.0], vec![1.0, 2.0, 3.0]];
        assert_eq!((ranks(&three), best(&three)), (vec![1, 0, 0, 2], vec![2, 1]));
    }

    /// By definition: front after front is taken away.
    #[test]
    fn ranks_by_definition() {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 28)
        };
        for objectives in 1..=4 {
            let points: Vec<Objectives> = (0..200).map(|_| (0..objectives).map(|_| next()).collect()).collect();
            let found = ranks(&points);
            let mut left: Vec<usize> = (0..points.len()).collect();
            let mut rank = 0;
            while !left.is_empty() {
                let free = |&n: &usize| !left.iter().any(|&other| dominates(&points[other], &points[n]));
                let front: Vec<usize> = left.iter().copied().filter(free).collect();
                assert!(front.iter().all(|&n| found[n] == rank), "{objectives} objectives, front {rank}");
                left.retain(|n| !front.contains(n));
                rank += 1;
            }
        }
    }

    #[test]
    fn crowding_by_hand() {
        let found = crowding(&[vec![0.0, 4.0], vec![1.0, 2.0], vec![4.0, 0.0]]);
        assert_eq!(found, [f64::INFINITY, 2.0, f64::INFINITY]);
        assert_eq!(crowding(&vec![vec![1.0, 1.0]; 3])[1], 0.0);
        assert!(crowding(&[]).is_empty());
        // The last point is in the middle of each objective: 4 of 4, 3 of 4 and 2 of 4 between its neighbours.
        let three = [vec![0.0, 4.0, 1.0], vec![4.0, 1.0, 4.0], vec![4.0, 0.0, 0.0], vec![1.0, 2.0, 2.0]];
        assert_eq!(crowding(&three)[3], 4.0 / 4.0 + 3.0 / 4.0 + 3.0 / 4.0);
    }

    #[test]
    fn hypervolume_by_hand() {
        // 3 x 1, then 2 x 2 less what was counted, then 1 x 1 less that.
        let area = hypervolume(&points(), &[5.0, 5.0]) * 25.0;
        assert!((area - (4.0 + 3.0 * 2.0 + 1.0)).abs() < 1e-12, "{area}");
        assert_eq!(hypervolume(&[vec![6.0, 0.0]], &[5.0, 5.0]), 0.0);
        assert_eq!(hypervolume(&[], &[5.0, 5.0]), 0.0);
        // Two boxes, 2 x 2 x 1 and 1 x 1 x 2, share 1 x 1 x 1; a third one lies in the first.
        let three = [vec![1.0, 1.0, 2.0], vec![2.0, 2.0, 1.0], vec![2.0, 2.0, 2.0]];
        assert!((hypervolume(&three, &[3.0; 3]) * 27.0 - 5.0).abs() < 1e-12);
        assert!((hypervolume(&[vec![1.0], vec![2.0]], &[4.0]) - 0.75).abs() < 1e-12);
    }
}
