//! eDRAM retention: each cell holds its bit for its own time. An older bit reads flipped.
//!
//! The paper's figure 4 is an image. Its text gives these facts (65 nm, 105 degrees). Nothing fails at 45 us. With the
//! intervals 0.36, 1.44, 5.4 and 7.2 ms the failure rate is 2e-3 on average. [`Distribution::tail`] is a monotonic
//! curve through these points. The text also speaks of "an average retention time of 1.05 ms". As the mean of the
//! cells, this would lose nearly all bits at 5.4 ms. [`Distribution::mean_1050`] is that reading: a hard case for
//! tests.

/// Share of cells, as a multiple of 2^-32.
type Share = u32;

/// The distribution of retention times: points of the cumulative failure curve, with straight lines between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// (share of cells that fail up to this time, time in ns), both growing.
    points: Vec<(Share, u64)>,
}

const fn share(millionths: u64) -> Share {
    ((millionths << 32) / 1_000_000) as Share
}

impl Distribution {
    /// A curve through points of (share that fails, time in ns).
    ///
    /// # Errors
    /// There are fewer than two points, the first share is not 0, or points do not grow.
    pub fn new(points: &[(u32, u64)]) -> Result<Self, String> {
        if points.len() < 2 || points[0].0 != 0 {
            return Err("a failure curve starts at share 0 and has at least two points".into());
        }
        if let Some(w) = points.windows(2).find(|w| w[0].0 >= w[1].0 || w[0].1 >= w[1].1) {
            return Err(format!("the failure curve does not grow from {:?} to {:?}", w[0], w[1]));
        }
        Ok(Self { points: points.to_vec() })
    }

    /// The curve of figure 4 as its text describes it; few cells fail within milliseconds.
    #[must_use]
    pub fn tail() -> Self {
        let points = [
            (0, 45_000),
            (20, 180_000),
            (60, 360_000),
            (190, 720_000),
            (510, 1_440_000),
            (1_400, 2_880_000),
            (3_200, 5_400_000),
            (4_230, 7_200_000),
            (7_000, 10_800_000),
            (999_999, 1_000_000_000),
        ];
        Self { points: points.map(|(millionths, ns)| (share(millionths), ns)).to_vec() }
    }

    /// Cells that hold their bit for 1.05 ms on average and for 45 us at least: evenly from 45 us to 2.055 ms.
    #[must_use]
    pub fn mean_1050() -> Self {
        Self { points: vec![(0, 45_000), (u32::MAX, 2_055_000)] }
    }

    /// The same curve with all times divided by `factor`, at least 1 ns apart: for short simulations.
    #[must_use]
    pub fn scaled(&self, factor: u64) -> Self {
        let mut points: Vec<(Share, u64)> = Vec::new();
        for &(share, time) in &self.points {
            let least = points.last().map_or(1, |p| p.1 + 1);
            points.push((share, (time / factor).max(least)));
        }
        Self { points }
    }

    /// The time that a cell of this rank holds its bit, in ns. No cell holds it shorter than the first point.
    #[must_use]
    pub fn time(&self, rank: u32) -> u64 {
        let after = self.points.partition_point(|p| p.0 <= rank);
        let Some(&(high, late)) = self.points.get(after) else { return self.points[after - 1].1 };
        let (low, early) = self.points[after - 1];
        early + (late - early) * u64::from(rank - low) / u64::from(high - low)
    }

    /// The share of cells that have failed after `ns`, in millionths.
    #[must_use]
    pub fn failed(&self, ns: u64) -> f64 {
        let after = self.points.partition_point(|p| p.1 <= ns);
        let millionths = |share: f64| share * 1e6 / (1u64 << 32) as f64;
        match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (None, _) => 0.0,
            (Some((share, _)), None) => millionths(f64::from(share)),
            (Some((low, early)), Some(&(high, late))) => {
                let part = (ns - early) as f64 / (late - early) as f64;
                millionths(f64::from(low) + part * f64::from(high - low))
            }
        }
    }
}

/// A generator of ranks: splitmix64, which its constants define.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ a >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ b >> 31
    }
}

/// A bank of cells: their content, their age, and the results of reads.
///
/// A bit flips when its row is older than its cell's time. A write-back of the read bits makes the flip permanent. The
/// row is then young again, and the same cell may flip back later.
#[derive(Clone, Debug)]
pub struct Bank {
    bits: usize,
    /// Cycles that each cell holds its bit, row by row.
    times: Vec<u32>,
    /// The shortest time of each row.
    weakest: Vec<u32>,
    stored: Vec<Vec<bool>>,
    restored: Vec<u64>,
    flips: u64,
}

impl Bank {
    /// `rows` of `bits` cells with times drawn from `distribution`; a cycle takes a nanosecond.
    #[must_use]
    pub fn sample(seed: u64, rows: usize, bits: usize, distribution: &Distribution) -> Self {
        let mut random = SplitMix(seed);
        let mut time = || u32::try_from(distribution.time((random.next() >> 32) as u32)).unwrap_or(u32::MAX);
        let times: Vec<u32> = (0..rows * bits).map(|_| time()).collect();
        let weakest = times.chunks(bits).map(|row| row.iter().copied().min().unwrap_or(u32::MAX)).collect();
        Self { bits, times, weakest, stored: vec![vec![false; bits]; rows], restored: vec![0; rows], flips: 0 }
    }

    /// Cycles that a cell holds its bit.
    #[must_use]
    pub fn time(&self, row: usize, bit: usize) -> u32 {
        self.times[row * self.bits + bit]
    }

    /// The shortest time of all cells.
    #[must_use]
    pub fn weakest(&self) -> u32 {
        self.weakest.iter().copied().min().unwrap_or(u32::MAX)
    }

    /// Flipped bits returned so far.
    #[must_use]
    pub fn flips(&self) -> u64 {
        self.flips
    }

    /// A write or write-back in cycle `now`.
    pub fn write(&mut self, row: usize, now: u64, value: &[bool]) {
        self.stored[row].copy_from_slice(value);
        self.restored[row] = now;
    }

    /// The result of a read in cycle `now`.
    pub fn read(&mut self, row: usize, now: u64) -> Vec<bool> {
        let age = now - self.restored[row];
        let mut value = self.stored[row].clone();
        if age > u64::from(self.weakest[row]) {
            for (bit, value) in value.iter_mut().enumerate() {
                if age > u64::from(self.times[row * self.bits + bit]) {
                    *value = !*value;
                    self.flips += 1;
                }
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_meets_the_papers_facts() {
        let d = Distribution::tail();
        assert_eq!(d.failed(45_000), 0.0);
        let rates = [360_000, 1_440_000, 5_400_000, 7_200_000].map(|t| d.failed(t));
        assert!((rates.iter().sum::<f64>() / 4.0 - 2000.0).abs() < 1.0, "{rates:?}");
        assert_eq!((d.time(0), d.time(share(60))), (45_000, 360_000));
        let even = Distribution::mean_1050();
        assert_eq!(even.time(1 << 31), 1_050_000);
    }

    #[test]
    fn sampled_cells_follow_the_curve() {
        let d = Distribution::tail();
        let bank = Bank::sample(7, 1000, 200, &d);
        assert!(bank.weakest() >= 45_000);
        let early = (0..200_000).filter(|&i| bank.time(i / 200, i % 200) <= 7_200_000).count();
        // 846 expected; four standard deviations are 116.
        assert!((730..962).contains(&early), "{early}");
        assert_eq!(Bank::sample(7, 1000, 200, &d).times, bank.times, "a function of the seed");
        assert_ne!(Bank::sample(8, 1000, 200, &d).times, bank.times);
    }

    #[test]
    fn flips() {
        let d = Distribution::new(&[(0, 10), (u32::MAX, 30)]).unwrap();
        let mut bank = Bank::sample(1, 2, 16, &d);
        let value = [true; 16];
        bank.write(1, 100, &value);
        assert_eq!(bank.read(1, 110), value, "10 cycles are safe");
        let later = bank.read(1, 120);
        let flipped: Vec<_> = (0..16).filter(|&bit| bank.time(1, bit) < 20).collect();
        assert!(!flipped.is_empty() && flipped.len() < 16);
        assert!((0..16).all(|bit| later[bit] != flipped.contains(&bit)));
        // The refresh came too late, so the flips stay.
        bank.write(1, 121, &later);
        assert_eq!(bank.read(1, 131), later);
        assert_eq!(bank.flips(), flipped.len() as u64);
    }

    #[test]
    fn bad_curves() {
        assert!(Distribution::new(&[(1, 1), (2, 2)]).is_err());
        assert!(Distribution::new(&[(0, 2), (2, 2)]).unwrap_err().contains("does not grow"));
        assert_eq!(Distribution::mean_1050().scaled(1_000_000_000).points, [(0, 1), (u32::MAX, 2)]);
    }
}
