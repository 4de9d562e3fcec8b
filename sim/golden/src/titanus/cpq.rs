//! Cascade pruning-quantization (CPQ) of a sequence of tokens, with hierarchical quantization extension (HQE).
//!
//! Titanus, section 3. Tokens of the prefill give each channel its level 0; afterwards a value outside of the tolerance
//! range of its channel's level opens a new level, for itself and all that follow. Each token is quantized once.

use super::level::{Level, dequantize};

/// Parameters that are fixed for a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Width of a quantized value, 2 to 8.
    pub bits: u32,
    /// Levels that a channel may have; at least 1.
    pub max_levels: usize,
}

/// A channel and its levels so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// All levels, oldest first; none until the channel has seen an element.
    pub levels: Vec<Level>,
}

/// One element of an encoded token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Whether the pruned value is not 0.
    pub index: bool,
    /// Whether the quantized value is not 0; false if `index` is.
    pub label: bool,
    /// The quantized value; 0 where `index` is false.
    pub q: u8,
    /// The channel's level after this token, from 0; `None` while it has none.
    pub level: Option<usize>,
    /// Whether this element opened the level.
    pub opened: bool,
    /// Whether it was out of tolerance and no level was left.
    pub overflow: bool,
}

/// One encoded token, an element per channel.
pub type Token = Vec<Element>;

/// An encoded sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Bits and levels.
    pub config: Config,
    /// Level 0 of the channels after the prefill. `None` for a channel without an element, and for all channels without
    /// a prefill.
    pub initial: Vec<Option<Level>>,
    /// Whether there was a prefill, so that `initial` is sent.
    pub prefilled: bool,
    /// All tokens, the tokens of the prefill first.
    pub tokens: Vec<Token>,
    /// The channels at the end.
    pub channels: Vec<Channel>,
}

impl Channel {
    fn encode(&mut self, x: i8, config: Config) -> Element {
        let mut element = Element { level: self.levels.len().checked_sub(1), ..Element::default() };
        if x == 0 {
            return element;
        }
        let x = i32::from(x);
        let next = match self.levels.last() {
            None => Some(Level::spanning(x, x, config.bits)),
            Some(level) if level.tolerates(x) => None,
            Some(level) => Some(level.extended(x)),
        };
        match next {
            Some(level) if self.levels.len() < config.max_levels => {
                self.levels.push(level);
                element.opened = true;
            }
            Some(_) => element.overflow = true,
            None => {}
        }
        let last = self.levels.len() - 1;
        element.index = true;
        element.q = self.levels[last].quantize(x);
        element.label = element.q != 0;
        element.level = Some(last);
        element
    }
}

impl Sequence {
    /// Encodes pruned tokens, all of one width: `prefill` of them give level 0 of each channel before the first is quantized.
    pub fn encode(config: Config, tokens: &[Vec<i8>], prefill: usize) -> Self {
        let width = tokens.first().map_or(0, Vec::len);
        let prefill = prefill.min(tokens.len());
        let mut channels = vec![Channel::default(); width];
        for (c, channel) in channels.iter_mut().enumerate() {
            // The paper's initialisers; an empty channel keeps rmax < rmin.
            let (mut rmax, mut rmin) = (-128, 127);
            for x in tokens[..prefill].iter().map(|t| i32::from(t[c])).filter(|&x| x != 0) {
                (rmax, rmin) = (rmax.max(x), rmin.min(x));
            }
            if rmax >= rmin {
                channel.levels.push(Level::spanning(rmin, rmax, config.bits));
            }
        }
        let initial = channels.iter().map(|c| c.levels.first().copied()).collect();
        Self { initial, prefilled: prefill > 0, ..Self::continued(config, channels, tokens) }
    }

    /// Encodes further pruned tokens of channels that have levels already.
    pub fn continued(config: Config, mut channels: Vec<Channel>, tokens: &[Vec<i8>]) -> Self {
        let encode = |t: &Vec<i8>| t.iter().zip(&mut channels).map(|(&x, c)| c.encode(x, config)).collect();
        let tokens = tokens.iter().map(encode).collect();
        Self { config, initial: Vec::new(), prefilled: false, tokens, channels }
    }

    /// All tokens as the accelerator restores them.
    pub fn decode(&self) -> Vec<Vec<i8>> {
        self.tokens.iter().map(|t| t.iter().zip(&self.channels).map(|(e, c)| self.value(e, c)).collect()).collect()
    }

    fn value(&self, e: &Element, channel: &Channel) -> i8 {
        match e.level {
            Some(level) if e.index => {
                let level = channel.levels[level];
                dequantize(level.range, level.zero_point(), self.config.bits, e.q)
            }
            _ => 0,
        }
    }

    /// Levels of all channels together.
    pub fn levels(&self) -> usize {
        self.channels.iter().map(|c| c.levels.len()).sum()
    }

    /// Whether any value was out of tolerance with no level left.
    pub fn overflowed(&self) -> bool {
        self.tokens.iter().flatten().any(|e| e.overflow)
    }

    /// Counts of the ways in which the dequantizer gets its values.
    pub fn dequantizer_work(&self) -> Work {
        let mut work = Work::default();
        for token in &self.tokens {
            for (e, channel) in token.iter().zip(&self.channels) {
                match e.level {
                    Some(level) if e.index => match (e.label, i32::from(e.q) == channel.levels[level].zero_point()) {
                        (false, _) => work.label_skips += 1,
                        (true, true) => work.zero_point_skips += 1,
                        (true, false) => work.multiplications += 1,
                    },
                    _ => work.index_skips += 1,
                }
            }
        }
        work
    }
}

/// Elements by the dequantizer's way to their value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Pruned: 0.
    pub index_skips: u64,
    /// Quantized to 0: the level's constant.
    pub label_skips: u64,
    /// Quantized to the zero point: 0.
    pub zero_point_skips: u64,
    /// The rest.
    pub multiplications: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO_BITS: Config = Config { bits: 2, max_levels: 3 };

    /// The course of figure 2: a prefill, tokens inside, a break point, tokens of the new level.
    #[test]
    fn levels_by_hand() {
        let tokens: Vec<Vec<i8>> = [-10, 20, 15, 25, 26, 20, -28, 0, 60].map(|x| vec![x]).into();
        let sequence = Sequence::encode(TWO_BITS, &tokens, 2);
        let level = |lo, range| Level { lo, range, bits: 2 };
        assert_eq!(sequence.initial, [Some(level(-10, 30))]);
        // 25 is tolerated (half a step is 5), 26 is not; from -10 to 26 half a step is 6, so -28 is out; 60 finds no level left.
        assert_eq!(sequence.channels[0].levels, [level(-10, 30), level(-10, 36), level(-28, 54)]);
        let seen = |t: &Token| (t[0].level, t[0].opened, t[0].q);
        let got: Vec<_> = sequence.tokens.iter().map(seen).collect();
        let (a, b, c) = (Some(0), Some(1), Some(2));
        let expected = [
            (a, false, 0),
            (a, false, 3),
            (a, false, 3),
            (a, false, 3),
            (b, true, 3),
            (b, false, 3),
            (c, true, 0),
            (c, false, 0),
            (c, false, 3),
        ];
        assert_eq!(got, expected);
        assert!(sequence.tokens[8][0].overflow && sequence.overflowed());
        assert_eq!((sequence.tokens[6][0].index, sequence.tokens[6][0].label), (true, false));
        assert!(!sequence.tokens[7][0].index);
        let decoded: Vec<i8> = sequence.decode().into_iter().map(|t| t[0]).collect();
        // Zero points 1, 1, 2: 36 (3 - 1) / 3 is 24; 54 (0 - 2) / 3 is -36.
        assert_eq!(decoded, [-10, 20, 20, 20, 24, 24, -36, 0, 18]);
    }

    #[test]
    fn empty_channels_start_at_their_first_element() {
        let tokens: Vec<Vec<i8>> = [[0, 5], [0, 9], [-7, 5]].map(Vec::from).into();
        let sequence = Sequence::encode(TWO_BITS, &tokens, 2);
        assert_eq!(sequence.initial[0], None);
        assert_eq!(sequence.tokens[1][0].level, None);
        let first = sequence.tokens[2][0];
        assert_eq!((first.opened, first.level, first.q), (true, Some(0), 0));
        assert_eq!(sequence.decode()[2], [-7, 5]);
        // Without a prefill all channels start that way.
        let sequence = Sequence::encode(TWO_BITS, &tokens, 0);
        assert!(!sequence.prefilled && sequence.tokens[0][1].opened && sequence.initial == [None, None]);
        assert!(Sequence::encode(TWO_BITS, &[], 4).tokens.is_empty());
    }

    fn tokens() -> impl Strategy<Value = (Vec<Vec<i8>>, usize)> {
        (1usize..6, 1usize..30).prop_flat_map(|(width, count)| {
            let token = prop::collection::vec(prop_oneof![any::<i8>(), -9..9i8, Just(0)], width);
            (prop::collection::vec(token, count), 0..=count)
        })
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        #[test]
        fn zeros_stay_and_errors_are_bounded((tokens, prefill) in tokens(), bits in 2u32..=8) {
            let sequence = Sequence::encode(Config { bits, max_levels: 64 }, &tokens, prefill);
            let decoded = sequence.decode();
            for (t, token) in tokens.iter().enumerate() {
                for (c, &x) in token.iter().enumerate() {
                    let e = sequence.tokens[t][c];
                    prop_assert_eq!(e.index, x != 0);
                    prop_assert!(!e.overflow);
                    if x == 0 {
                        prop_assert_eq!(decoded[t][c], 0);
                        continue;
                    }
                    let level = sequence.channels[c].levels[e.level.unwrap()];
                    let error = (i32::from(decoded[t][c]) - i32::from(x)).abs();
                    prop_assert!(2 * level.steps() * error <= 2 * level.range + level.steps());
                    prop_assert!(level.range <= 510 && level.lo >= -128);
                    // An element that opens a level is at one of its ends.
                    prop_assert!(!e.opened || e.q == 0 || i32::from(e.q) == level.steps());
                }
            }
            // Levels only grow.
            for channel in &sequence.channels {
                for pair in channel.levels.windows(2) {
                    prop_assert!(pair[1].lo <= pair[0].lo && pair[1].hi() >= pair[0].hi() && pair[1] != pair[0]);
                }
            }
        }
    }
}
