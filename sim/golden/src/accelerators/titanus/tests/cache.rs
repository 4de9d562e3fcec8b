//! Appends and restores without errors.

use proptest::prelude::*;

use super::*;
use crate::titanus::cpq::{Config, Sequence};
use crate::titanus::kv_packer::packed;
use crate::titanus::pruning_unit::prune;

/// Tokens as the accelerator restores them, and their packing.
fn encoded(tokens: &[Vec<i8>], bits: u32, threshold: u32, prefill: usize) -> Sequence {
    let pruned: Vec<Vec<i8>> = tokens.iter().map(|t| t.iter().map(|&x| prune(x, threshold)).collect()).collect();
    Sequence::encode(Config { bits, max_levels: 3 }, &pruned, prefill)
}

/// The example of the byte format, up to the part on the chip.
#[test]
fn a_token_by_hand() {
    let core = core_of(Shape { tiles: 1, ..SHAPE });
    let mut memory = SparseMemory::new();
    memory.store(0x2000, &[5, 0]);
    let report = run(&core, &mut memory, &[append(1, 0).word(36, 2)]);
    assert_eq!((report.end.code, report.counts()), (0, Counts::default()));
    assert_eq!(memory.bytes(AREAS[0], 64), [0; 64], "no block is full");
    let state = core.state.borrow();
    let [keys, values] = state.streams().unwrap();
    assert_eq!(keys.tail()[..8], [0x13, 2, 0xa7, 3, 0xfb, 1, 0, 0]);
    assert_eq!((keys.tail().len(), keys.blocks(), keys.crc()), (64, 0, crate::common::crc32::crc32(&keys.tail())));
    // Values without bits: header, kind, index.
    assert_eq!(values.tail()[..4], [0x12, 2, 1, 0]);
}

#[test]
fn rows_come_back() {
    let core = core();
    let mut memory = with_tokens();
    let tokens = many_tokens(24);
    let begin = append(24, 0).word(48, 3 | LINES << 16);
    let report = run(&core, &mut memory, &[begin, restore_rows(24)]);
    assert_eq!((report.end.code, core.cache_tokens(), core.context_tokens()), (0, 24, 0));
    // A whole block of keys, none of values.
    assert_eq!((report.counts().written, report.counts().read), (1, 1));
    for (k, (bits, threshold)) in [(3, 2), (2, 3)].into_iter().enumerate() {
        let sequence = encoded(&tokens[k], bits, threshold, 3);
        assert_eq!(rows_of(&memory, [0x6000, 0x7000][k], 24, 4), sequence.decode());
        let whole = [64, 0][k];
        assert_eq!(memory.bytes(AREAS[k], whole), packed(&sequence, 2, 64)[..whole]);
        assert_eq!(memory.bytes(AREAS[k] + whole as u64, 64), [0; 64], "the open block stays on the chip");
    }
    // Six of them as the context; restores change nothing.
    let report = run(&core, &mut memory, &[append(6, 0).word(48, 3 | LINES << 16), restore(6), restore(6)]);
    assert_eq!((report.end.code, core.context_tokens()), (0, 6));
    let state = core.state.borrow();
    assert_eq!(state.context().unwrap().keys, encoded(&tokens[0][..6], 3, 2, 3).decode());
    assert_eq!(state.context().unwrap().values, encoded(&tokens[1][..6], 2, 3, 3).decode());
}

#[test]
fn fewer_channels() {
    let core = core();
    let mut memory = with_tokens();
    memory.store(0x6000, &[0x55; 8]);
    let report = run(&core, &mut memory, &[append(2, 0).word(36, 3), restore_rows(2), restore_rows(2).word(36, 2)]);
    assert_eq!(report.end.code, 0);
    assert_eq!(rows_of(&memory, 0x6000, 2, 4)[1][3], 0, "the fourth was not taken");
}

#[test]
fn a_level_too_many() {
    let core = core();
    let mut memory = SparseMemory::new();
    let keys: Vec<Vec<i8>> = [1, 10, 30, 70, 127].map(|x| vec![x, 0, 0, 0]).to_vec();
    put_rows(&mut memory, ROWS[0], &keys);
    let begin = |exact| append(5, 0).words(&[(44, exact), (52, 0x0203_0000)]);
    assert_eq!(run(&core, &mut memory, &[begin(0), restore_rows(5)]).end.code, 0);
    assert_eq!(rows_of(&memory, 0x6000, 5, 1)[4], [29]);
    // The mark stays as long as the cache does.
    let marks =
        |core: &TitanusCore| core.state.borrow().streams().map(|streams| streams.each_ref().map(|s| s.overflow()));
    assert_eq!(marks(&core), Some([true, false]));
    assert_eq!(run(&core, &mut memory, &[append(1, 5)]).end.code, 0);
    assert_eq!(marks(&core), Some([true, false]));
    assert_eq!(Device::new(core.clone(), 4, 16, memory.clone()).read(0x138).unwrap(), 6 | 1 << 16);
    assert_eq!(run(&core, &mut memory, &[append(1, 6).word(44, EXACT)]).end.code, code::OVERFLOW);
    assert_eq!(marks(&core), None);
    assert_eq!(run(&core, &mut memory, &[begin(EXACT)]).end.code, code::OVERFLOW);
    run(&core, &mut memory, &[begin(0), append(1, 0)]);
    assert_eq!(marks(&core), Some([false, false]));
}

proptest! {
    #![proptest_config(seeds::proptest(128))]

    /// Blocks are equal byte by byte, however tokens are split into appends. Restored tokens are the algorithm's.
    #[test]
    fn one_by_one_or_at_once(
        tokens in (1usize..30).prop_flat_map(|n| prop::collection::vec(prop::collection::vec(any::<i8>(), 4), n)),
        parts in prop::collection::vec(1usize..6, 30),
        (bits, threshold, prefill) in (2u32..=8, 0u32..20, 0usize..5),
    ) {
        let (one, other) = (core(), core());
        let prefill = prefill.min(tokens.len());
        let word = threshold | threshold << 8 | bits << 16 | bits << 24;
        let append = |count: usize, position: usize| {
            let begin: [u32; 2] = if position == 0 { [prefill as u32, word] } else { [0, 0] };
            append(count as u32, position as u32)
                .words(&[(48, begin[0] | 20 << 16), (52, begin[1])])
                .longs(&[(72, 0x2000 + 64 * position as u64)])
        };
        let mut once = SparseMemory::new();
        put_rows(&mut once, 0x2000, &tokens);
        let mut apart = once.clone();
        let report = run(&one, &mut once, &[append(tokens.len(), 0)]);
        prop_assert_eq!(report.end.code, 0);
        let sequence = encoded(&tokens, bits, threshold, prefill);
        let stream = packed(&sequence, 2, 64);
        let (mut position, mut written) = (0, 0);
        for part in parts {
            let count = part.min(tokens.len() - position);
            if count == 0 {
                break;
            }
            written += run(&other, &mut apart, &[append(count, position)]).counts().written;
            position += count;
            prop_assert_eq!(other.is_filling(), position < prefill);
            if position < prefill {
                let report = run(&other.clone(), &mut apart.clone(), &[restore_rows(position as u32).word(48, 20 << 16)]);
                prop_assert_eq!((report.end.code, written), (code::SIZE, 0));
                continue;
            }
            let report = run(&other, &mut apart, &[restore_rows(position as u32).word(48, 20 << 16)]);
            prop_assert_eq!((report.end.code, report.damage(), report.counts().read), (0, None, written));
        }
        prop_assert_eq!(position, tokens.len());
        prop_assert_eq!(report.counts().written, written, "each block is written once");
        let whole = 32 * written as usize;
        for area in AREAS {
            prop_assert_eq!(&once.bytes(area, whole), &stream[..whole]);
            prop_assert_eq!(&apart.bytes(area, whole), &stream[..whole]);
        }
        let streams = |core: &TitanusCore| core.state.borrow().streams().cloned();
        prop_assert_eq!(streams(&one), streams(&other));
        let expected = sequence.decode();
        prop_assert_eq!(&rows_of(&apart, 0x6000, tokens.len(), 4), &expected);
        prop_assert_eq!(&rows_of(&apart, 0x7000, tokens.len(), 4), &expected);
    }
}
