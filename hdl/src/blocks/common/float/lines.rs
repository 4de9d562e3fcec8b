//! Falling lines whose truncated values are given integers, each for a range of arguments.

/// Places of a slope below the last place of a height.
pub(super) const SLOPE_PLACES: u32 = 3;

/// Lines for all arguments; the highest bits of an argument are the number of its line.
pub(super) struct Lines {
    /// Bits of the fraction that are in the number of a line.
    pub index: u32,
    /// Places of a height below the last place of a result.
    pub guard: u32,
    /// Heights and slopes: at `low` bits of the argument, the result is
    /// (height * 2^[`SLOPE_PLACES`] - slope * low) / 2^([`SLOPE_PLACES`] + guard), truncated.
    pub lines: Vec<(u64, u64)>,
}

impl Lines {
    /// Bits of the steepest slope.
    pub(super) fn slope_width(&self) -> u32 {
        self.lines.iter().map(|line| u64::BITS - line.1.leading_zeros()).max().unwrap_or(0).max(1)
    }
}

/// As few lines as possible for `result` of arguments with `f` bits of fraction and `above` more bits.
pub(super) fn fit(f: u32, above: u32, result: &dyn Fn(u64) -> u64) -> Lines {
    let guard = 4;
    for index in 0..f {
        let lines: Option<Vec<_>> = (0..1 << (above + index)).map(|line| one(line, f - index, guard, result)).collect();
        if let Some(lines) = lines {
            return Lines { index, guard, lines };
        }
    }
    // A height for each argument.
    let lines = (0..1 << (above + f)).map(|x| (result(x) << guard, 0)).collect();
    Lines { index: f, guard, lines }
}

/// The line for arguments that are `line` followed by any `low` bits, if there is one: with the least possible slope.
fn one(line: u64, low: u32, guard: u32, result: &dyn Fn(u64) -> u64) -> Option<(u64, u64)> {
    let results: Vec<u64> = (0..1 << low).map(|x| result(line << low | x)).collect();
    let unit = 1u64 << (guard + SLOPE_PLACES);
    // A step of the results, twice over, is steeper than any line can be.
    let steepest = results.windows(2).map(|pair| pair[0].abs_diff(pair[1]) + 1).max().unwrap_or(0) * unit;
    (0..=steepest).find_map(|slope| {
        let falls = results.iter().zip(0..).map(|(result, x)| result * unit + slope * x);
        let least = falls.clone().max()?;
        let most = falls.map(|least| least + unit - 1).min()?;
        let height = least.div_ceil(1 << SLOPE_PLACES);
        (height << SLOPE_PLACES <= most).then_some((height, slope))
    })
}

#[cfg(test)]
mod tests {
    use super::{SLOPE_PLACES, fit};

    #[test]
    fn lines_give_the_results() {
        let result = |x: u64| 4000 - x * x / 64;
        let lines = fit(6, 1, &result);
        assert!(lines.index < 6);
        for x in 0..128 {
            let (height, slope) = lines.lines[(x >> (6 - lines.index)) as usize];
            let low = x % (1 << (6 - lines.index));
            assert_eq!(((height << SLOPE_PLACES) - slope * low) >> (SLOPE_PLACES + lines.guard), result(x), "{x}");
        }
    }
}
