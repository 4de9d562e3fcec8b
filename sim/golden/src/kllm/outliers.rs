//! Outliers of a token: the values that stay in fp16.

use super::error::KllmError;
use super::orizuru::{NanPolicy, Pop, top_k};
use crate::format::Format;

/// Which values of a token are outliers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlierRule {
    /// None at all.
    None,
    /// The `per_side` largest and the `per_side` smallest: online detection by Orizuru, the paper's KLLM.
    TopK {
        /// How many on each side.
        per_side: usize,
    },
    /// Values below `low` and above `high`, fp16 bits that calibration fixed: the paper's KLLM-S.
    Thresholds {
        /// The lowest inlier.
        low: u64,
        /// The highest inlier.
        high: u64,
    },
}

/// Outliers to keep on each side, if `share` hundredths of a per cent of `n` values may be outliers on both sides
/// together. This is n * share / 20000, rounded to the nearest, a half up. It is at least 1 if any are requested.
///
/// The paper's 1 % is `share` = 100. [`outliers_per_side`](super::orizuru::outliers_per_side) computes the same from
/// whole thousandths a side, but 0.5 % in total is not a whole number of thousandths.
///
/// # Errors
/// The share is above 10000.
pub fn per_side(n: usize, share: u32) -> Result<usize, KllmError> {
    match share {
        0 => Ok(0),
        1..=10_000 => Ok((((n as u128 * u128::from(share)) + 10_000) / 20_000).max(n.min(1) as u128) as usize),
        _ => {
            let allowed = "0 to 10000".into();
            Err(KllmError::Parameter { name: "outlier share in 0.01 %", value: share.to_string(), allowed })
        }
    }
}

impl OutlierRule {
    /// The outliers of `values` (fp16 bits, finite).
    ///
    /// [`OutlierRule::TopK`] lists the largest values first, then the smallest; a value on both sides is listed once.
    /// The other rules list by index.
    ///
    /// # Errors
    /// There are no values, or a value is not finite.
    pub fn outliers(self, values: &[u64]) -> Result<Vec<Pop>, KllmError> {
        super::fp16::all_units(values, "token")?;
        let key = Format::FP16;
        match self {
            Self::None => Ok(Vec::new()),
            Self::TopK { per_side } => {
                let selected = top_k(values, per_side, per_side, key, NanPolicy::TotalOrder)?;
                let mut taken = vec![false; values.len()];
                let both = selected.max.into_iter().chain(selected.min);
                Ok(both.filter(|pop| !std::mem::replace(&mut taken[pop.index], true)).collect())
            }
            Self::Thresholds { low, high } => {
                let outside =
                    |&(_, &v): &(usize, &u64)| key.total_cmp(v, low).is_lt() || key.total_cmp(v, high).is_gt();
                Ok(values.iter().enumerate().filter(outside).map(|(index, &value)| Pop { index, value }).collect())
            }
        }
    }

    /// Thresholds from calibration over all values of all `tokens` together. The share of [`per_side`] lies above
    /// `high`, and the same share below `low` (except for ties).
    ///
    /// # Errors
    /// As [`per_side`]; or there are no values, a value is not finite, or the share is so large that no inlier remains.
    pub fn calibrate(tokens: &[Vec<u64>], share: u32) -> Result<Self, KllmError> {
        if share == 0 {
            return Ok(Self::None);
        }
        let mut all: Vec<u64> = tokens.concat();
        super::fp16::all_units(&all, "calibration values")?;
        all.sort_by(|&a, &b| Format::FP16.total_cmp(a, b));
        let k = per_side(all.len(), share)?;
        if 2 * k >= all.len() {
            let (value, allowed) = (format!("{share} of {} values", all.len()), "fewer than all values".into());
            return Err(KllmError::Parameter { name: "outlier share in 0.01 %", value, allowed });
        }
        Ok(Self::Thresholds { low: all[k], high: all[all.len() - 1 - k] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kllm::fp16;
    use crate::kllm::orizuru::outliers_per_side;

    fn fp16s(values: &[f64]) -> Vec<u64> {
        values.iter().map(|&v| fp16::from_f64(v)).collect()
    }

    fn indices(rule: OutlierRule, values: &[u64]) -> Vec<usize> {
        rule.outliers(values).unwrap().iter().map(|pop| pop.index).collect()
    }

    #[test]
    fn shares_of_the_papers_table() {
        let of = |share| per_side(4096, share).unwrap();
        assert_eq!([0, 50, 100, 200, 500, 1000].map(of), [0, 10, 20, 41, 102, 205]);
        assert_eq!([0, 1, 2, 10_000].map(|n| per_side(n, 1).unwrap()), [0, 1, 1, 1]);
        assert!(per_side(5, 10_001).unwrap_err().to_string().contains("10001, allowed: 0 to 10000"));
        for n in (1..3000).step_by(17) {
            for permille in 0..=500 {
                assert_eq!(outliers_per_side(n, permille).ok(), per_side(n, permille * 20).ok());
            }
        }
    }

    #[test]
    fn both_rules() {
        let values = fp16s(&[0.5, -3.0, 9.0, 0.25, -8.0, 7.0]);
        assert_eq!(indices(OutlierRule::TopK { per_side: 2 }, &values), [2, 5, 4, 1]);
        // Both sides request all values.
        assert_eq!(indices(OutlierRule::TopK { per_side: 9 }, &values), [2, 5, 0, 3, 1, 4]);
        let [low, high] = [-3.0, 7.0].map(fp16::from_f64);
        assert_eq!(indices(OutlierRule::Thresholds { low, high }, &values), [2, 4]);
        assert!(indices(OutlierRule::None, &values).is_empty());
        assert!(OutlierRule::None.outliers(&[0x7c00]).is_err());
    }

    #[test]
    fn calibration_keeps_the_share_of_the_calibration_tokens() {
        let tokens: Vec<Vec<u64>> =
            (0..4).map(|t| (0..50).map(|i| fp16::from_f64(f64::from(i * 4 + t) - 100.0)).collect()).collect();
        let rule = OutlierRule::calibrate(&tokens, 500).unwrap();
        // 200 values, 5 % in all: 5 a side.
        assert_eq!(tokens.iter().map(|t| rule.outliers(t).unwrap().len()).sum::<usize>(), 10);
        assert_eq!(rule, OutlierRule::Thresholds { low: fp16::from_f64(-95.0), high: fp16::from_f64(94.0) });
        assert_eq!(OutlierRule::calibrate(&tokens, 0).unwrap(), OutlierRule::None);
        assert!(OutlierRule::calibrate(&tokens, 10_000).unwrap_err().to_string().contains("fewer than all"));
    }
}
