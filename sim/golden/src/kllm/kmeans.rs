//! Weighted K-Means on numbers: a seeded k-means++ start, then Lloyd's iterations until nothing changes.
//!
//! This is the offline part of KLLM (section III-A), so it works in f64; results are rounded to fp16 once, in
//! [`Codebook::from_centroids`](super::codebook::Codebook::from_centroids). The points lie on a line, so a cluster is a
//! run of the sorted points and an iteration needs a binary search per cluster: prefix sums do the rest. Nothing depends
//! on the order of the points beyond the rounding of their weights' sums, and equal seeds give equal bits.

use super::error::{KllmError, check_length};

/// Parameters of the training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Training {
    /// Number of clusters.
    pub clusters: usize,
    /// Seed of the k-means++ start.
    pub seed: u64,
    /// Number of starts. The start with the least inertia wins, and the first one among equals.
    pub starts: u32,
    /// Iterations after which a start gives up.
    pub max_iterations: u32,
}

impl Training {
    /// 2^bits clusters, seed 1, 8 starts, at most 1000 iterations.
    pub fn of_bits(bits: u32) -> Self {
        Self { clusters: 1 << bits, seed: 1, starts: 8, max_iterations: 1000 }
    }
}

/// A trained codebook before rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// Exactly `clusters` centroids, ascending. If there are fewer distinct points than clusters, the largest centroid
    /// is repeated.
    pub centroids: Vec<f64>,
    /// Sum over the points of weight times squared distance to the nearest centroid.
    pub inertia: f64,
    /// Iterations of the winning start.
    pub iterations: u32,
    /// Whether the winning start ended because no point changed its cluster.
    pub converged: bool,
    /// Empty clusters that the winning start gave a new place.
    pub reseeded: u32,
}

/// Trains on `points`; `weights` are sample weights, all 1 when absent. Points with weight 0 take no part.
///
/// An empty cluster moves to the point with the largest weighted squared distance to its nearest centroid.
///
/// # Errors
/// No point has a positive weight, a point or weight is not finite, a weight is negative, lengths differ, or there is
/// no cluster or no start.
pub fn train(points: &[f64], weights: Option<&[f64]>, training: Training) -> Result<Trained, KllmError> {
    let line = Line::new(points, weights)?;
    for (name, value) in [("clusters", training.clusters as u64), ("starts", u64::from(training.starts))] {
        if value == 0 {
            return Err(KllmError::Parameter { name, value: "0".into(), allowed: "1 or more".into() });
        }
    }
    if line.x.len() <= training.clusters {
        let mut centroids = line.x.clone();
        centroids.resize(training.clusters, line.x[line.x.len() - 1]);
        return Ok(Trained { centroids, inertia: 0.0, iterations: 0, converged: true, reseeded: 0 });
    }
    let mut random = SplitMix64(training.seed);
    let mut best: Option<Trained> = None;
    for _ in 0..training.starts {
        let start = line.plus_plus(training.clusters, &mut random);
        let trained = line.lloyd(start, training.max_iterations);
        if best.as_ref().is_none_or(|b| trained.inertia < b.inertia) {
            best = Some(trained);
        }
    }
    best.ok_or(KllmError::Parameter { name: "starts", value: "0".into(), allowed: "1 or more".into() })
}

/// The distinct points in order, with their weights.
struct Line {
    x: Vec<f64>,
    w: Vec<f64>,
    /// Sums of w, and of w * x, over the points before each position.
    sum_w: Vec<f64>,
    sum_wx: Vec<f64>,
}

impl Line {
    fn new(points: &[f64], weights: Option<&[f64]>) -> Result<Self, KllmError> {
        let finite = |what, values: &[f64]| match values.iter().position(|v| !v.is_finite()) {
            Some(index) => Err(KllmError::NotFinite { what, index }),
            None => Ok(()),
        };
        finite("points", points)?;
        if let Some(weights) = weights {
            check_length("weights", weights.len(), points.len())?;
            finite("weights", weights)?;
            if let Some(negative) = weights.iter().find(|&&w| w < 0.0) {
                let allowed = "0 or more".into();
                return Err(KllmError::Parameter { name: "sample weight", value: negative.to_string(), allowed });
            }
        }
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let mut order: Vec<usize> = (0..points.len()).filter(|&i| weight(i) > 0.0).collect();
        if order.is_empty() {
            let allowed = "1 or more".into();
            return Err(KllmError::Parameter { name: "points with a weight", value: "0".into(), allowed });
        }
        order.sort_by(|&a, &b| points[a].total_cmp(&points[b]).then(a.cmp(&b)));
        let (mut x, mut w) = (Vec::<f64>::new(), Vec::<f64>::new());
        for i in order {
            match (x.last(), w.last_mut()) {
                // The zeros of both signs are one point.
                (Some(&last), Some(sum)) if last == points[i] => *sum += weight(i),
                _ => {
                    x.push(points[i]);
                    w.push(weight(i));
                }
            }
        }
        let running = |term: &dyn Fn(usize) -> f64| {
            let mut sums = vec![0.0];
            for i in 0..x.len() {
                sums.push(sums[i] + term(i));
            }
            sums
        };
        let (sum_w, sum_wx) = (running(&|i| w[i]), running(&|i| w[i] * x[i]));
        Ok(Self { x, w, sum_w, sum_wx })
    }

    /// k-means++: the first centre is drawn by weight, each further one by weight times squared distance to the nearest
    /// centre.
    fn plus_plus(&self, clusters: usize, random: &mut SplitMix64) -> Vec<f64> {
        let mut centres = vec![self.x[pick(&self.w, random)]];
        let mut cost = vec![f64::INFINITY; self.x.len()];
        while centres.len() < clusters {
            let newest = centres[centres.len() - 1];
            for ((cost, &x), &w) in cost.iter_mut().zip(&self.x).zip(&self.w) {
                *cost = cost.min(w * (x - newest).powi(2));
            }
            centres.push(self.x[pick(&cost, random)]);
        }
        centres.sort_by(f64::total_cmp);
        centres
    }

    /// Iterates until no point changes its cluster.
    fn lloyd(&self, mut centroids: Vec<f64>, max_iterations: u32) -> Trained {
        let (mut iterations, mut converged, mut reseeded) = (0, false, 0);
        let mut clusters: Vec<usize> = Vec::new();
        while iterations < max_iterations && !converged {
            iterations += 1;
            let ends = self.ends(&centroids);
            converged = ends == clusters;
            let mut empty = Vec::new();
            let mut from = 0;
            for (j, &to) in ends.iter().enumerate() {
                if from == to {
                    empty.push(j);
                } else {
                    let mean = (self.sum_wx[to] - self.sum_wx[from]) / (self.sum_w[to] - self.sum_w[from]);
                    // Rounding of the prefix sums must not push a mean out of its cluster.
                    centroids[j] =
                        if mean.is_finite() { mean.clamp(self.x[from], self.x[to - 1]) } else { self.x[from] };
                }
                from = to;
            }
            if !empty.is_empty() {
                reseeded += empty.len() as u32;
                converged = false;
                self.reseed(&mut centroids, &empty);
            }
            clusters = ends;
        }
        let mut inertia = 0.0;
        let mut from = 0;
        for (&to, &c) in self.ends(&centroids).iter().zip(&centroids) {
            inertia += (from..to).map(|i| self.w[i] * (self.x[i] - c).powi(2)).sum::<f64>();
            from = to;
        }
        Trained { centroids, inertia, iterations, converged, reseeded }
    }

    /// The end of each centroid's run of points. A point in the middle of two centroids belongs to the lower one.
    fn ends(&self, centroids: &[f64]) -> Vec<usize> {
        let inner = centroids.windows(2).map(|pair| {
            let middle = f64::midpoint(pair[0], pair[1]);
            self.x.partition_point(|&x| x <= middle)
        });
        inner.chain([self.x.len()]).collect()
    }

    /// Moves the centroids `empty` to the points that cost most.
    fn reseed(&self, centroids: &mut Vec<f64>, empty: &[usize]) {
        let mut live: Vec<f64> =
            centroids.iter().enumerate().filter(|(j, _)| !empty.contains(j)).map(|(_, &c)| c).collect();
        for _ in empty {
            let mut costliest = (0.0, self.x[0]);
            let mut from = 0;
            for (&to, &c) in self.ends(&live).iter().zip(&live) {
                for i in from..to {
                    let cost = self.w[i] * (self.x[i] - c).powi(2);
                    if cost > costliest.0 {
                        costliest = (cost, self.x[i]);
                    }
                }
                from = to;
            }
            let place = live.partition_point(|&c| c < costliest.1);
            live.insert(place, costliest.1);
        }
        *centroids = live;
    }
}

/// A position with a probability in proportion to `cost`.
fn pick(cost: &[f64], random: &mut SplitMix64) -> usize {
    let total: f64 = cost.iter().sum();
    let mut left = random.unit() * total;
    for (i, &c) in cost.iter().enumerate() {
        if c > 0.0 && left < c {
            return i;
        }
        left -= c;
    }
    // Rounding has used up the total: the last position that can be picked.
    cost.iter().rposition(|&c| c > 0.0).unwrap_or(0)
}

/// Steele, Lea and Flood's SplitMix64 (2014): enough randomness for a start, the same on every machine.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests;
