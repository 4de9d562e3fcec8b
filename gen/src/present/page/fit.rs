//! Growth laws fitted to a curve.

/// How a number grows with another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Law {
    /// `y = factor * x^exponent`
    Power { factor: f64, exponent: f64 },
    /// `y = offset + slope * log2 x`
    Logarithm { offset: f64, slope: f64 },
    /// `y = value`
    Constant { value: f64 },
}

/// A law and how well it describes the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    pub(super) law: Law,
    /// Coefficient of determination of `ln y`, for every law, so that they can be compared; 1 is exact.
    pub(super) r2: f64,
}

impl Law {
    /// The value at `x`.
    pub(super) fn at(&self, x: f64) -> f64 {
        match *self {
            Self::Power { factor, exponent } => factor * x.powf(exponent),
            Self::Logarithm { offset, slope } => offset + slope * x.log2(),
            Self::Constant { value } => value,
        }
    }
}

/// The better of a power law (least squares of the logarithms) and a logarithm (least squares of the values). Two
/// points lie on every law: with fewer than three different `x`, or with values that have no logarithm, there is none.
pub(super) fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    if points.iter().any(|&(x, y)| x <= 0.0 || y <= 0.0) {
        return None;
    }
    let mut different: Vec<f64> = points.iter().map(|p| p.0).collect();
    different.sort_by(f64::total_cmp);
    different.dedup();
    if different.len() < 3 {
        return None;
    }
    let first = points[0].1;
    if points.iter().all(|p| p.1 == first) {
        return Some(Fit { law: Law::Constant { value: first }, r2: 1.0 });
    }
    let (intercept, exponent) = line(points.iter().map(|&(x, y)| (x.ln(), y.ln())));
    let power = Law::Power { factor: intercept.exp(), exponent };
    let (offset, slope) = line(points.iter().map(|&(x, y)| (x.log2(), y)));
    let logarithm = Law::Logarithm { offset, slope };
    let laws = [power, logarithm].into_iter().filter(|law| points.iter().all(|&(x, _)| law.at(x) > 0.0));
    laws.map(|law| Fit { law, r2: determination(&law, points) }).max_by(|a, b| a.r2.total_cmp(&b.r2))
}

/// Intercept and slope by least squares.
fn line(points: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let n = points.clone().count() as f64;
    let (sx, sy) = points.clone().fold((0.0, 0.0), |(sx, sy), (x, y)| (sx + x, sy + y));
    let (mx, my) = (sx / n, sy / n);
    let (sxx, sxy) =
        points.fold((0.0, 0.0), |(sxx, sxy), (x, y)| (sxx + (x - mx) * (x - mx), sxy + (x - mx) * (y - my)));
    let slope = sxy / sxx;
    (my - slope * mx, slope)
}

fn determination(law: &Law, points: &[(f64, f64)]) -> f64 {
    let mean = points.iter().map(|p| p.1.ln()).sum::<f64>() / points.len() as f64;
    let total: f64 = points.iter().map(|p| (p.1.ln() - mean).powi(2)).sum();
    let rest: f64 = points.iter().map(|p| (p.1.ln() - law.at(p.0).ln()).powi(2)).sum();
    1.0 - rest / total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(law: impl Fn(f64) -> f64) -> Fit {
        let points: Vec<_> = [2.0, 4.0, 8.0, 16.0, 64.0].map(|x| (x, law(x))).into();
        fit(&points).unwrap()
    }

    #[test]
    fn known_laws_are_found() {
        let found = sampled(|x| 3.0 * x.powf(1.5));
        let Law::Power { factor, exponent } = found.law else { panic!("{found:?}") };
        assert!((factor - 3.0).abs() < 1e-9 && (exponent - 1.5).abs() < 1e-9 && found.r2 > 1.0 - 1e-12);

        let found = sampled(|x| 5.0 + 4.0 * x.log2());
        let Law::Logarithm { offset, slope } = found.law else { panic!("{found:?}") };
        assert!((offset - 5.0).abs() < 1e-9 && (slope - 4.0).abs() < 1e-9 && found.r2 > 1.0 - 1e-12);

        assert_eq!(sampled(|_| 7.0), Fit { law: Law::Constant { value: 7.0 }, r2: 1.0 });
    }

    #[test]
    fn noise_lowers_the_determination() {
        let found = fit(&[(1.0, 1.0), (2.0, 9.0), (4.0, 2.0), (8.0, 11.0)]).unwrap();
        assert!(found.r2 > 0.0 && found.r2 < 0.8, "{found:?}");
    }

    #[test]
    fn too_little_for_a_law() {
        assert_eq!(fit(&[(1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(fit(&[(1.0, 2.0), (2.0, 3.0), (2.0, 4.0)]), None);
        assert_eq!(fit(&[(1.0, 2.0), (2.0, 3.0), (3.0, 0.0)]), None);
        assert_eq!(fit(&[]), None);
    }
}
