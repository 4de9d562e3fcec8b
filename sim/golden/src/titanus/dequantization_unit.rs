//! Tiles from memory become values again. The order of tiles and levels can show damage.

use super::kv_unpacker::{Damage, Parsed};
use super::level::dequantize;

/// A tile of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Whether it is the first tile of its stream.
    pub first: bool,
    /// Whether it is the last one.
    pub last: bool,
    /// Whether the stream is damaged. The tile then carries nothing.
    pub error: bool,
    /// Values; 0 where `index` is false.
    pub x: Vec<i8>,
    /// For each lane, whether the element was not pruned.
    pub index: Vec<bool>,
    /// For each lane, the number of the channel's level; 0 without a level.
    pub level: Vec<usize>,
}

/// Values of a stream, and its first damage. A token has so many `tiles`, and a channel at most so many `levels`. After
/// the damage each beat is in error. Each stream has exactly one last beat.
pub fn restore(parsed: &Parsed, lanes: usize, tiles: usize, levels: usize) -> (Vec<Restored>, Option<Damage>) {
    let ends = parsed.damage.is_none().then_some(parsed.tiles.len());
    let (mut beats, damage) = restore_open(parsed, lanes, tiles, levels, ends);
    if parsed.damage.is_some() {
        beats.push(Restored { first: beats.is_empty(), last: true, ..Restored::empty(lanes, true) });
    }
    (beats, damage.or(parsed.damage))
}

/// The same for the tiles alone. The tile before number `ends` is the last one.
pub fn restore_open(
    parsed: &Parsed,
    lanes: usize,
    tiles: usize,
    levels: usize,
    ends: Option<usize>,
) -> (Vec<Restored>, Option<Damage>) {
    let mut channels: Vec<Vec<(i32, i32)>> = vec![Vec::new(); lanes * tiles];
    let mut beats: Vec<Restored> = Vec::new();
    let mut damage = None;
    for (number, tile) in parsed.tiles.iter().enumerate() {
        let last = ends == Some(number + 1);
        let before = number.checked_sub(1).map(|n| &parsed.tiles[n]);
        let mut note = |found| damage = damage.or(Some(found));
        if !(2..=8).contains(&parsed.bits) {
            note(Damage::Width(parsed.bits));
        }
        if tile.initial && before.is_some_and(|t| !t.initial) {
            note(Damage::LateLevels { tile: number });
        }
        if tile.initial && number >= tiles {
            note(Damage::TooManyInitial { tile: number });
        }
        let place = number % tiles;
        let half = !tile.initial && place != 0 && before.is_some_and(|t| t.initial);
        if half || last && place + 1 != tiles {
            note(Damage::HalfToken { tile: number });
        }
        if last && tile.initial {
            note(Damage::NoToken);
        }
        for lane in 0..lanes {
            let channel = &mut channels[place * lanes + lane];
            match tile.records[lane] {
                Some(_) if channel.len() == levels => note(Damage::TooManyLevels { tile: number }),
                record => channel.extend(record),
            }
            if tile.index[lane] && channel.is_empty() {
                note(Damage::NoLevel { tile: number });
            }
            if let Some((range, zero)) = tile.records[lane] {
                let steps = (1 << parsed.bits.min(8)) - 1;
                if tile.label[lane] && i32::from(tile.values[lane]) != steps {
                    note(Damage::Within { tile: number });
                }
                // Half a step more than 255, all times 2L.
                if 2 * range * zero.abs() > (2 * 255 + 1) * steps {
                    note(Damage::FarLevel { tile: number });
                }
            }
        }
        if tile.initial && !last {
            continue;
        }
        let mut beat = Restored { first: beats.is_empty(), last, ..Restored::empty(lanes, damage.is_some()) };
        for lane in (0..lanes).filter(|_| damage.is_none()) {
            let channel = &channels[place * lanes + lane];
            beat.index[lane] = tile.index[lane];
            beat.level[lane] = channel.len().saturating_sub(1);
            if let Some(&(range, zero)) = channel.last().filter(|_| tile.index[lane]) {
                beat.x[lane] = dequantize(range, zero, parsed.bits, tile.values[lane]);
            }
        }
        beats.push(beat);
    }
    (beats, damage)
}

impl Restored {
    fn empty(lanes: usize, error: bool) -> Self {
        let (x, index, level) = (vec![0; lanes], vec![false; lanes], vec![0; lanes]);
        Self { error, x, index, level, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpq::{Config, Sequence};
    use super::super::format::tiles;
    use super::super::kv_packer::packed;
    use super::super::kv_unpacker::parse;
    use super::*;
    use proptest::prelude::*;

    fn sequence() -> Sequence {
        let tokens = [[9, 0, 5], [9, 0, 5], [40, -7, 5]].map(Vec::from);
        Sequence::encode(Config { bits: 3, max_levels: 2 }, &tokens, 1)
    }

    fn damage(change: impl Fn(&mut Parsed), levels: usize) -> (Vec<bool>, Option<Damage>) {
        let mut parsed = Parsed { bits: 3, tiles: tiles(&sequence(), 2), damage: None };
        change(&mut parsed);
        let (beats, damage) = restore(&parsed, 2, 2, levels);
        assert!(beats.iter().enumerate().all(|(n, b)| b.first == (n == 0) && b.last == (n + 1 == beats.len())));
        assert!(beats.iter().filter(|b| b.error).all(|b| b.x.iter().all(|&x| x == 0)));
        (beats.iter().map(|b| b.error).collect(), damage)
    }

    #[test]
    fn each_kind_of_damage_by_hand() {
        let errors = |n: usize, of: usize| (0..of).map(|i| i >= n).collect::<Vec<_>>();
        assert_eq!(damage(|_| {}, 2), (errors(6, 6), None));
        assert_eq!(damage(|p| drop(p.tiles.pop()), 2), (errors(4, 5), Some(Damage::HalfToken { tile: 6 })));
        // One tile of initial levels is missing.
        assert_eq!(damage(|p| drop(p.tiles.remove(1)), 2).1, Some(Damage::HalfToken { tile: 1 }));
        assert_eq!(damage(|_| {}, 1), (errors(4, 6), Some(Damage::TooManyLevels { tile: 6 })));
        assert_eq!(damage(|p| p.tiles.insert(2, p.tiles[1].clone()), 2).1, Some(Damage::TooManyInitial { tile: 2 }));
        assert_eq!(damage(|p| p.tiles[4] = p.tiles[0].clone(), 2).1, Some(Damage::LateLevels { tile: 4 }));
        assert_eq!(damage(|p| p.tiles[3].index[1] = true, 2), (errors(1, 6), Some(Damage::NoLevel { tile: 3 })));
        assert_eq!(damage(|p| p.tiles.truncate(2), 2), (errors(0, 1), Some(Damage::NoToken)));
        // -7 is the low end of the level that it opens, and 40 is the top of its level: q is 0 and 7.
        assert_eq!(damage(|p| p.tiles[6].values[0] = 6, 2), (errors(4, 6), Some(Damage::Within { tile: 6 })));
        // Range 38, or 40 - -7 = 47: steps of less than 7.
        let zero = |zero| move |p: &mut Parsed| p.tiles[6].records[0] = Some((35, zero));
        assert_eq!(damage(zero(-51), 2), (errors(6, 6), None));
        assert_eq!(damage(zero(52), 2), (errors(4, 6), Some(Damage::FarLevel { tile: 6 })));
        let cut = Damage::Cut { bit: 99 };
        assert_eq!(damage(|p| p.damage = Some(cut), 2), (errors(6, 7), Some(cut)));
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        /// Undamaged streams give the same values as the decoded sequence.
        #[test]
        fn as_the_sequence(
            tokens in (1usize..9).prop_flat_map(|w| prop::collection::vec(prop::collection::vec(any::<i8>(), w), 1..12)),
            bits in 2u32..=8, prefill in 0usize..8, lanes in 1usize..7,
        ) {
            let sequence = Sequence::encode(Config { bits, max_levels: 4 }, &tokens, prefill);
            let per_token = tokens[0].len().div_ceil(lanes);
            let parsed = parse(&packed(&sequence, lanes, 64), lanes, 64, None);
            let (beats, damage) = restore(&parsed, lanes, per_token, 4);
            prop_assert_eq!(damage, None);
            for (token, beats) in sequence.decode().iter().zip(beats.chunks(per_token)) {
                let got: Vec<i8> = beats.iter().flat_map(|b| b.x.clone()).collect();
                prop_assert_eq!(&got[..token.len()], &token[..]);
                prop_assert!(got[token.len()..].iter().all(|&x| x == 0));
            }
            let numbers: Vec<_> = sequence.tokens.iter().flatten().map(|e| e.level.unwrap_or(0)).collect();
            let width = tokens[0].len();
            let got = |i: usize| beats[i / width * per_token + i % width / lanes].level[i % width % lanes];
            prop_assert!(numbers.iter().enumerate().all(|(i, &n)| got(i) == n));
        }
    }
}
