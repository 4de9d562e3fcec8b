//! Random operations against a second computation from the bytes in memory: big integers, the library's floats, and
//! f64.

use num_bigint::BigInt;
use proptest::prelude::*;

use super::random::{ADDENDS, CODEBOOK, CONSTANTS, Case, OUT, PANELS, TOKENS, WIDE, X, product, quantize};
use super::*;
use crate::common::float::Float;
use crate::format::FloatFormat::{Fp16, Fp32};

const SINGLE: Float = Float::ieee(Fp32);

impl Case {
    fn byte(&self, at: u64) -> u8 {
        self.memory.bytes(at, 1)[0]
    }

    fn half(&self, at: u64) -> u16 {
        u16::from_le_bytes([self.byte(at), self.byte(at + 1)])
    }

    fn word(&self, at: u64) -> u32 {
        u32::from(self.half(at)) | u32::from(self.half(at + 2)) << 16
    }

    fn field(&self, at: usize) -> u64 {
        u32::from_le_bytes(self.descriptor.0[at..at + 4].try_into().unwrap()).into()
    }

    /// The index that is nibble `at` of an area.
    fn nibble(&self, area: u64, at: u64) -> u64 {
        u64::from(self.byte(area + at / 2) >> (if at % 2 == 1 { 4 } else { 0 }) & 15)
    }

    fn centroid(&self, table: u64, index: u64) -> i64 {
        (self.half(CODEBOOK + table + 2 * index) as i16).into()
    }

    /// The weight of a channel at a position, by groups, lanes, columns and beats.
    fn weight(&self, channel: u64, position: u64) -> i64 {
        let (lanes, columns, inputs) =
            (u64::from(self.shape.lanes), u64::from(self.shape.columns), u64::from(self.shape.inputs));
        let groups = u64::from(self.shape.groups);
        let (of_group, lane, column) = (lanes / groups, channel / columns % lanes, channel % columns);
        let (group, lane) = (lane / of_group, lane % of_group);
        let panel = PANELS + (channel / (lanes * columns) * groups + group) * self.field(56);
        let word = (position / inputs * of_group + lane) * (columns * inputs / 2);
        self.centroid(96, self.nibble(panel + word + column * inputs / 2, position % inputs))
    }
}

/// The number that is `integer` 2^-24.
fn scaled(integer: &BigInt) -> f64 {
    integer.to_string().parse::<f64>().unwrap() * 2f64.powi(-24)
}

/// A result, the value that it should be near, and how far it may be from it.
fn expected(case: &Case, row: u64, channel: u64) -> (u16, Option<(f64, f64)>) {
    let (token, inner) = (TOKENS + row * case.field(52), case.field(40));
    let (scale, count) = (case.half(token), u64::from(case.half(token + 2)));
    let records = token + 64 + inner.div_ceil(2).div_ceil(64) * 64;
    let outliers: Vec<(u64, u16)> =
        (0..count).map(|k| (case.half(records + 4 * k).into(), case.half(records + 4 * k + 2))).collect();
    let mut dense = BigInt::from(0);
    for k in (0..inner).filter(|k| outliers.iter().all(|(position, _)| position != k)) {
        dense += BigInt::from(case.centroid(64, case.nibble(token + 64, k))) * case.weight(channel, k);
    }
    let mut sparse = BigInt::from(0);
    let mut special = !f64::from(half::f16::from_bits(scale)).is_finite();
    for &(position, value) in &outliers {
        let value = f64::from(half::f16::from_bits(value));
        special |= !value.is_finite();
        // An integer below 2^41, or nothing.
        sparse += BigInt::from((value * 2f64.powi(24)) as i64) * case.weight(channel, position);
    }
    let constants = CONSTANTS + 8 * channel;
    let [c, c_sparse] = [0, 4].map(|at| u64::from(case.word(constants + at)));
    let single = |integer: &BigInt| SINGLE.from_int(i128::try_from(integer).unwrap()).bits;
    let s_a = Float::ieee(Fp16).convert(scale.into(), Fp32).bits;
    let d = SINGLE.mul(single(&dense), SINGLE.mul(s_a, c).bits).bits;
    let s = SINGLE.mul(single(&sparse), c_sparse).bits;
    let mut y = if special { 0x7e00 } else { SINGLE.convert(SINGLE.add(d, s).bits, Fp16).bits };
    let value = |bits: u64| f64::from(f32::from_bits(bits as u32));
    let parts =
        [value(s_a) * scaled(&dense) * 2f64.powi(24) * value(c), scaled(&sparse) * 2f64.powi(24) * value(c_sparse)];
    let mut about = parts[0] + parts[1];
    // Roundings to fp32 of each part, then to fp16; subnormals.
    let mut slack = (parts[0].abs() + parts[1].abs()) * 2f64.powi(-21) + about.abs() * 2f64.powi(-11) + 2f64.powi(-24);
    if case.field(48) == 1 {
        let stride = case.field(112);
        let base = if case.descriptor.0[104..108] == (OUT as u32).to_le_bytes() { OUT } else { ADDENDS };
        let addend = case.half(base + row * stride + 2 * channel);
        y = Float::ieee(Fp16).add(y, addend.into()).bits;
        about += f64::from(half::f16::from_bits(addend));
        slack += about.abs() * 2f64.powi(-11);
    }
    let normal = !special
        && about.is_finite()
        && about.abs() < 60_000.0
        && [s_a, c, c_sparse].iter().all(|&x| {
            let x = value(x).abs();
            x == 0.0 || (1e-20..1e20).contains(&x)
        });
    (y as u16, normal.then_some((about, slack)))
}

proptest! {
    #![proptest_config(seeds::proptest(300))]

    #[test]
    fn products(seed in any::<u64>()) {
        let case = product(seed);
        let mut memory = case.memory.clone();
        let report = top_of(case.shape).run(WIDE, 0x1000, &mut memory);
        prop_assert_eq!(report.end.code, 0);
        prop_assert!(report.executed[0].defined);
        let (rows, channels, inner) = (case.field(32), case.field(36), case.field(40));
        let mut overflows = 0;
        // All results of a small product, some results of a large one.
        for row in 0..rows {
            for channel in 0..channels {
                let at = OUT + row * case.field(60) + 2 * channel;
                let found = u16::from_le_bytes(memory.bytes(at, 2).try_into().unwrap());
                overflows += u64::from(found & 0x7c00 == 0x7c00);
                if channels > 100 && channel % 7 != seed % 7 && channel + 2 < channels {
                    continue;
                }
                let (y, about) = expected(&case, row, channel);
                prop_assert_eq!(found, y, "{} {}", row, channel);
                if let Some((about, slack)) = about {
                    let y = f64::from(half::f16::from_bits(y));
                    prop_assert!((y - about).abs() <= slack, "{} is not about {} +- {}", y, about, slack);
                }
            }
        }
        prop_assert_eq!(report.overflows(), overflows);
        // Beats by their number in each token.
        let (inputs, panels) = (u64::from(case.shape.inputs), channels.div_ceil(case.shape.channels()));
        let (mut taken, mut repeated) = (0, 0);
        for row in 0..rows {
            let token = TOKENS + row * case.field(52);
            let records = token + 64 + inner.div_ceil(2).div_ceil(64) * 64;
            for beat in 0..inner.div_ceil(inputs) {
                let here = |k: &u64| u64::from(case.half(records + 4 * k)) / inputs == beat;
                let outliers = (0..u64::from(case.half(token + 2))).filter(here).count() as u64;
                taken += outliers.max(1);
                repeated += outliers.saturating_sub(1);
            }
        }
        prop_assert_eq!(report.beats(), Beats { taken: panels * taken, repeated: panels * repeated });
        // Nothing else was written.
        prop_assert_eq!(memory.bytes(TOKENS, 0x5_0000), case.memory.bytes(TOKENS, 0x5_0000));
    }

    #[test]
    fn tokens(seed in any::<u64>()) {
        let case = quantize(seed);
        let mut memory = case.memory.clone();
        let report = top_of(case.shape).run(WIDE, 0x1000, &mut memory);
        prop_assert_eq!(report.end.code, 0);
        let (rows, n, three) = (case.field(32), case.field(36), case.field(40) == 1);
        let k = [case.field(44) & 0xffff, case.field(44) >> 16];
        let segment = u64::from(case.shape.orizuru);
        let segments = n.div_ceil(segment);
        let midpoints: Vec<f64> =
            (0..if three { 7 } else { 15 }).map(|m| f64::from(f32::from_bits(case.word(CODEBOOK + 4 * m)))).collect();
        let mut overflows = 0;
        for row in 0..rows {
            let x: Vec<u16> = (0..n).map(|k| case.half(X + row * case.field(48) + 2 * k)).collect();
            // All numbers in ascending order, as integers.
            let key = |x: u16| if x >> 15 == 1 { -1 - i32::from(x & 0x7fff) } else { x.into() };
            let mut outlier = vec![false; n as usize];
            for s in 0..segments {
                let here: Vec<u64> = (s * segment..n.min((s + 1) * segment)).collect();
                for (sign, k) in [(-1, k[0]), (1, k[1])] {
                    let mut order = here.clone();
                    order.sort_by_key(|&at| (sign * key(x[at as usize]), at));
                    let share = k * (s + 1) / segments - k * s / segments;
                    order.into_iter().take(share as usize).for_each(|at| outlier[at as usize] = true);
                }
            }
            let scale = (0..n as usize).filter(|&k| !outlier[k]).map(|k| x[k] & 0x7fff).max().unwrap_or(0);
            let mut token = vec![0u8; token_bytes(n, k[0] + k[1]) as usize];
            token[..2].copy_from_slice(&scale.to_le_bytes());
            token[4] = if three { 3 } else { 4 };
            let mut records: Vec<u8> = Vec::new();
            for (k, &bits) in x.iter().enumerate() {
                let value = f64::from(half::f16::from_bits(bits));
                if outlier[k] {
                    records.extend((k as u16).to_le_bytes().into_iter().chain(bits.to_le_bytes()));
                    continue;
                }
                overflows += u64::from(!value.is_finite());
                // Exact: 24 and 11 bits. Nothing is rounded at all.
                let s = f64::from(half::f16::from_bits(scale));
                let index = midpoints.iter().filter(|&&m| s * m < value).count();
                if s.is_finite() {
                    token[64 + k / 2] |= (index as u8) << (4 * (k % 2));
                }
            }
            token[2..4].copy_from_slice(&(records.len() as u16 / 4).to_le_bytes());
            let first = 64 + n.div_ceil(2).div_ceil(64) as usize * 64;
            token[first..first + records.len()].copy_from_slice(&records);
            let at = TOKENS + row * case.field(52);
            let mut found = memory.bytes(at, token.len());
            if scale & 0x7c00 == 0x7c00 {
                // Indices of a token without a valid scale have no meaning. Tests by hand cover them.
                found[64..first].fill(0);
            }
            prop_assert_eq!(found, token);
        }
        prop_assert_eq!(report.overflows(), overflows);
    }
}
