//! Numbers with a sign and one of some magnitudes.

/// Magnitudes that codes stand for, in units of a scale.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid(Vec<f64>);

impl Grid {
    /// Magnitudes in any order; 0 is always there.
    pub(super) fn new(magnitudes: impl IntoIterator<Item = f64>) -> Self {
        let mut all: Vec<f64> = magnitudes.into_iter().chain([0.0]).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        Self(all)
    }

    /// The largest magnitude.
    pub(super) fn last(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    /// All magnitudes, the smallest first.
    #[cfg(test)]
    pub(super) fn magnitudes(&self) -> &[f64] {
        &self.0
    }

    /// The nearest number. Between two equally near ones the one with the even place: in floats its last bit is 0.
    pub(super) fn nearest(&self, x: f64) -> f64 {
        let size = x.abs();
        let above = self.0.partition_point(|&known| known < size);
        let place = if above == self.0.len() {
            above - 1
        } else if above == 0 {
            0
        } else {
            let middle = f64::midpoint(self.0[above - 1], self.0[above]);
            let up = size > middle || size == middle && above % 2 == 0;
            if up { above } else { above - 1 }
        };
        self.0[place].copysign(x)
    }

    /// The sum of squared errors of some numbers with a scale.
    pub(super) fn error(&self, values: &[f64], scale: f64) -> f64 {
        values.iter().map(|x| (self.nearest(x / scale) * scale - x).powi(2)).sum()
    }

    /// The best scale of some numbers: the largest magnitude is on a share of `most`, of the shares the one with the
    /// least error; of equal ones the first.
    pub(super) fn fit(&self, values: &[f64], most: f64, shares: &[f64]) -> (f64, f64) {
        let mut best = (1.0, f64::INFINITY);
        for share in shares {
            let scale = most * share / self.last();
            let error = if scale > 0.0 { self.error(values, scale) } else { f64::INFINITY };
            if error < best.1 {
                best = (scale, error);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_numbers() {
        let grid = Grid::new([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        let cases = [(0.2, 0.0), (0.25, 0.0), (0.75, 1.0), (1.25, 1.0), (2.5, 2.0), (3.5, 4.0), (5.0, 4.0), (9.0, 6.0)];
        for (x, wanted) in cases {
            assert_eq!((grid.nearest(x), grid.nearest(-x)), (wanted, -wanted), "{x}");
        }
        assert_eq!(grid.nearest(-5.1), -6.0);
    }

    /// One value of 12 and many of 1: with scale 2 the 12 is exact and ones are lost less than with scale 1.
    #[test]
    fn the_scale_with_the_least_error() {
        let grid = Grid::new([1.0, 2.0, 3.0]);
        let values = [3.0, 1.0, 1.0, 2.0];
        assert_eq!(grid.fit(&values, 3.0, &[0.5, 1.0]), (1.0, 0.0));
        assert_eq!(grid.fit(&values, 6.0, &[0.5, 1.0]), (1.0, 0.0));
        assert_eq!(grid.fit(&[0.0], 0.0, &[1.0]).0, 1.0);
    }
}
