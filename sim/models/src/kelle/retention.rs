//! A whole language model whose heads keep few tokens in eDRAM that is refreshed too seldom (Table 4): AERP and 2DRP
//! together.
//!
//! Keys and values are integers of 16 bits with a scale for each head. They are in the slots of a bank, whose cells the
//! golden retention model samples: each cell holds its bit for a time of its own. A bit reads flipped while that time
//! is shorter than the refresh interval, which depends on the byte and on the token's class. So a token that becomes
//! important has its bits back: the class alone decides, as in the paper's failure rates.

use anyhow::Result;
use golden::kelle::aerp::{Head, softmax};
use golden::kelle::decode::budget;
use golden::kelle::edram_bank::{Bank, Distribution};
use golden::kelle::refresh_controller::Intervals;

use crate::decoder::Matrix;
use crate::decoder::arithmetic::Group;
use crate::decoder::key_values::{Cached, KeyValues};

/// Refresh intervals in ns, for the upper and for the lower bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// Bits 15 to 8.
    pub msb: Intervals,
    /// Bits 7 to 0.
    pub lsb: Intervals,
}

impl Refresh {
    /// The same for all rows and both bytes.
    #[must_use]
    pub const fn uniform(interval: u64) -> Self {
        let both = Intervals { high: interval, low: interval };
        Self { msb: both, lsb: both }
    }

    /// Intervals for high tokens and for low tokens, upper byte and lower byte each, in microseconds as in Table 4.
    #[must_use]
    pub fn by_class(high: [u64; 2], low: [u64; 2]) -> Self {
        let of = |byte: usize| Intervals { high: high[byte] * 1000, low: low[byte] * 1000 };
        Self { msb: of(0), lsb: of(1) }
    }

    fn of(&self, is_high: bool, bit: usize) -> u64 {
        let byte = if bit >= 8 { self.msb } else { self.lsb };
        if is_high { byte.high } else { byte.low }
    }

    /// The uniform interval with the same number of refreshes, if half of the rows are high.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let all = [self.msb.high, self.msb.low, self.lsb.high, self.lsb.low];
        4.0 / all.iter().map(|&interval| 1.0 / interval as f64).sum::<f64>()
    }
}

/// The columns of Table 4: name, a uniform interval, and the intervals of 2DRP with the same number of refreshes.
#[must_use]
pub fn table_4() -> [(&'static str, Refresh, Refresh); 3] {
    [
        ("540", Refresh::uniform(540_000), Refresh::by_class([180, 3600], [720, 5400])),
        ("1050", Refresh::uniform(1_050_000), Refresh::by_class([360, 5400], [1440, 7200])),
        ("2062", Refresh::uniform(2_062_000), Refresh::by_class([720, 9000], [2880, 10_800])),
    ]
}

/// A model whose heads keep so many tokens, in cells that forget.
#[derive(Clone, Debug)]
pub struct RetainedCache {
    /// Tokens a head keeps (N').
    tokens: usize,
    refresh: Refresh,
    curve: Distribution,
    seed: u64,
    /// Bits that were read, and how many of them had flipped.
    pub reads: (u64, u64),
}

impl RetainedCache {
    /// N' tokens a head. The cells' times follow from curve and seed alone, so runs with other intervals have the same
    /// cells.
    #[must_use]
    pub fn new(tokens: usize, refresh: Refresh, curve: Distribution, seed: u64) -> Self {
        Self { tokens, refresh, curve, seed, reads: (0, 0) }
    }

    fn head(&mut self, group: Group<'_>, head: usize, q: &Matrix) -> Result<Matrix> {
        let width = group.width();
        let scale = (width as f64).sqrt();
        let tokens = self.tokens.min(q.rows());
        let seed = self.seed ^ ((group.layer as u64) << 32 | (group.head as u64) << 16 | head as u64);
        let mut slots = Slots::new(tokens, width, &self.curve, self.refresh, seed, group);
        let mut kept = Head::new(budget(tokens));
        // The slot of each cached token, in order of age.
        let mut places: Vec<usize> = Vec::new();
        let mut result = Matrix::zeros(0, width);
        for query in 0..q.rows() {
            let high = high(&kept.kept().iter().map(|k| k.score).collect::<Vec<f64>>());
            let mut products: Vec<f64> = places
                .iter()
                .zip(&high)
                .map(|(&slot, &high)| dot(q.row(query), slots.keys(slot, high)) / scale)
                .collect();
            products.push(dot(q.row(query), group.keys.row(query)) / scale);
            let attention = softmax(&products);
            let mut output = vec![0.0; width];
            let mut add = |weight: f64, row: &[f64]| output.iter_mut().zip(row).for_each(|(sum, v)| *sum += weight * v);
            for ((&slot, &high), &weight) in places.iter().zip(&high).zip(&attention) {
                add(weight, slots.values(slot, high));
                self.reads.0 += 32 * width as u64;
                self.reads.1 += slots.lost(slot, high);
            }
            add(attention[places.len()], group.values.row(query));
            result.values.extend(output);
            kept.attend(&attention[..places.len()]);
            let position = |token: usize, kept: &Head<f64>| kept.kept().iter().position(|k| k.token == token);
            let before = kept.clone();
            let evicted =
                kept.insert().map_err(|_| anyhow::anyhow!("a cache of {tokens} tokens protects all of them"))?;
            let slot = match evicted.and_then(|token| position(token, &before)) {
                Some(position) => places.remove(position),
                None => places.len(),
            };
            slots.write(slot, query);
            places.push(slot);
        }
        Ok(result)
    }
}

impl KeyValues for RetainedCache {
    fn attend(&mut self, cached: &Cached<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        cached.is_whole()?;
        queries.iter().enumerate().map(|(head, q)| self.head(cached.group, head, q)).collect()
    }
}

/// Which tokens are important: the better half, which the paper's mean intervals suppose.
fn high(scores: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut high = vec![false; scores.len()];
    order.iter().take(scores.len().div_ceil(2)).for_each(|&token| high[token] = true);
    high
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The data that a slot returns to a token of one class: keys, then values; and the number of flipped bits.
#[derive(Clone, Default)]
struct Read {
    row: Vec<f64>,
    lost: u64,
}

/// The memory of a head: keys and values of a token in a row of cells.
struct Slots<'a> {
    group: Group<'a>,
    width: usize,
    /// Units of keys and of values.
    units: [f64; 2],
    /// For each row the cells that lose their bit under some interval: element, bit, and for which class, high or low.
    weak: Vec<Vec<(usize, usize, [bool; 2])>>,
    /// The data that a row returns, by class: low, high.
    rows: Vec<[Read; 2]>,
}

impl<'a> Slots<'a> {
    fn new(tokens: usize, width: usize, curve: &Distribution, refresh: Refresh, seed: u64, group: Group<'a>) -> Self {
        let bits = 2 * width * 16;
        let bank = Bank::sample(seed, tokens, bits, curve);
        let weak = |row: usize| {
            let cells = (0..bits).map(|cell| (cell / 16, cell % 16, bank.time(row, cell)));
            let classes = cells.map(|(element, bit, time)| {
                (element, bit, [false, true].map(|high| u64::from(time) < refresh.of(high, bit)))
            });
            classes.filter(|(_, _, lost)| lost[0] || lost[1]).collect()
        };
        let unit = |x: &Matrix| x.values.iter().fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs())) / 32767.0;
        Self {
            width,
            units: [unit(group.keys), unit(group.values)],
            weak: (0..tokens).map(weak).collect(),
            rows: vec![[Read::default(), Read::default()]; tokens],
            group,
        }
    }

    /// Keys and values of a token enter a slot.
    fn write(&mut self, slot: usize, token: usize) {
        let units = self.units;
        let codes = |x: &Matrix, unit: f64| -> Vec<u16> {
            x.row(token).iter().map(|x| (x / unit).round_ties_even() as i16 as u16).collect()
        };
        let written = [codes(self.group.keys, units[0]), codes(self.group.values, units[1])].concat();
        for class in [0, 1] {
            let mut codes = written.clone();
            let lost = self.weak[slot].iter().filter(|cell| cell.2[class]);
            lost.clone().for_each(|&(element, bit, _)| codes[element] ^= 1 << bit);
            let value = |(i, &code): (usize, &u16)| f64::from(code as i16) * units[usize::from(i >= self.width)];
            let row = codes.iter().enumerate().map(value).collect();
            self.rows[slot][class] = Read { row, lost: lost.count() as u64 };
        }
    }

    fn keys(&self, slot: usize, high: bool) -> &[f64] {
        &self.rows[slot][usize::from(high)].row[..self.width]
    }

    fn values(&self, slot: usize, high: bool) -> &[f64] {
        &self.rows[slot][usize::from(high)].row[self.width..]
    }

    fn lost(&self, slot: usize, high: bool) -> u64 {
        self.rows[slot][usize::from(high)].lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::{Arithmetic, Float};
    use crate::kelle::decode::{Policy, Trace};
    use crate::kelle::language_model::SmallCache;

    /// A recorded head: its queries, keys and values.
    fn trace(layer: u32) -> [Matrix; 3] {
        let Trace { q, k, v, .. } = Trace::read(layer, 0).unwrap();
        [q, k, v].map(|rows| Matrix::from_rows(&rows).unwrap())
    }

    fn attention(arithmetic: &mut dyn Arithmetic, [q, keys, values]: &[Matrix; 3]) -> Matrix {
        let group = Group { layer: 0, head: 0, past: 0, keys, values };
        arithmetic.attention(group, std::slice::from_ref(q)).unwrap().remove(0)
    }

    fn distance(a: &Matrix, b: &Matrix) -> f64 {
        let of = |f: &dyn Fn(usize) -> f64| (0..a.values.len()).map(|i| f(i).powi(2)).sum::<f64>();
        (of(&|i| a.values[i] - b.values[i]) / of(&|i| b.values[i])).sqrt()
    }

    /// Refreshed in time, the memory equals the small cache except for the rounding to 16 bits. No choice of a victim
    /// may depend on that rounding.
    #[test]
    fn safe_intervals_lose_nothing() {
        let trace = trace(14);
        for tokens in [64, 384] {
            let safe = Refresh::uniform(45_000);
            let mut cache = RetainedCache::new(tokens, safe, Distribution::tail(), 1);
            let ours = attention(&mut cache, &trace);
            let small = attention(&mut SmallCache { tokens, policy: Policy::Softmax }, &trace);
            assert!(distance(&ours, &small) < 1e-3, "{tokens}: {}", distance(&ours, &small));
            assert_eq!(cache.reads.1, 0);
        }
    }

    /// As many bits flip as the golden curve says, for each byte and class.
    #[test]
    fn bits_are_lost_at_the_rates_of_the_golden_model() {
        let trace = trace(14);
        let rates = |refresh: Refresh| {
            let mut cache = RetainedCache::new(384, refresh, Distribution::tail(), 3);
            attention(&mut cache, &trace);
            cache.reads.1 as f64 / cache.reads.0 as f64 * 1e6
        };
        let curve = Distribution::tail();
        for (name, uniform, by_class) in table_4() {
            let expected = curve.failed(uniform.msb.high);
            let found = rates(uniform);
            // Some 786,000 cells, each read many times: few of them are weak.
            assert!((found / expected - 1.0).abs() < 0.2, "{name}: {found}, the curve has {expected}");
            let of = |i: Intervals| (curve.failed(i.high) + curve.failed(i.low)) / 2.0;
            let expected = (of(by_class.msb) + of(by_class.lsb)) / 2.0;
            let found = rates(by_class);
            assert!((found / expected - 1.0).abs() < 0.2, "{name}: {found}, the curve has {expected}");
        }
    }

    /// Table 4's uniform intervals have as many refreshes as 2DRP.
    #[test]
    fn columns_of_table_4_refresh_alike() {
        for (name, uniform, by_class) in table_4() {
            let ratio = by_class.mean() / uniform.mean();
            assert!((ratio - 1.0).abs() < 0.01, "{name}: {ratio}");
        }
    }

    /// With as many refreshes, two dimensions lose less of the attention than a uniform interval, in the mean of seeds.
    #[test]
    fn two_dimensions_are_better_than_one() {
        let trace = trace(14);
        let full = attention(&mut Float, &trace);
        let error = |refresh: Refresh| {
            let of = |seed| {
                distance(&attention(&mut RetainedCache::new(384, refresh, Distribution::tail(), seed), &trace), &full)
            };
            (0..4).map(of).sum::<f64>() / 4.0
        };
        let errors: Vec<[f64; 2]> =
            table_4().iter().map(|(_, uniform, class)| [error(*uniform), error(*class)]).collect();
        assert!(errors.iter().all(|[uniform, class]| class < uniform), "{errors:?}");
        assert!(errors.windows(2).all(|w| w[0][0] < w[1][0] && w[0][1] < w[1][1]), "{errors:?}");
    }

    #[test]
    fn the_better_half_is_high() {
        assert_eq!(high(&[0.0, 3.0, 1.0, 0.5]), [false, true, true, false]);
        assert_eq!(high(&[1.0, 1.0, 1.0]), [true, true, false]);
        assert!(high(&[]).is_empty());
    }
}
