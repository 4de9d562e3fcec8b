//! Tables whose words go to registers.

use crate::lang::{Module, Signal, cat, uint};

/// A word of a table, without the bits that all words have in common. Yosys 0.23 makes one memory of a table and the
/// registers at its output. Where such a register has a constant bit, Yosys leaves it without a driver.
pub(super) struct Word {
    /// The bits that differ.
    pub varying: Signal,
    /// Where they belong.
    mask: u64,
    /// The bits that all words have in common.
    common: u64,
    width: u32,
}

/// The word at `index` of `words`, each `width` bits.
#[track_caller]
pub(super) fn look_up(m: &mut Module, name: &str, index: Signal, words: &[u64], width: u32) -> Word {
    let common = words.iter().fold(u64::MAX, |common, word| common & word);
    let any = words.iter().fold(0, |any, word| any | word);
    // One bit at least.
    let mask = (any & !common).max(1);
    let ty = uint(mask.count_ones());
    let packed = |word: &u64| {
        let bits = (0..width).filter(|bit| mask >> bit & 1 == 1);
        ty.lit(bits.zip(0..).fold(0u64, |packed, (bit, at)| packed | (word >> bit & 1) << at))
    };
    let words: Vec<Signal> = words.iter().map(packed).collect();
    Word { varying: m.lookup(name, index, &words), mask, common, width }
}

impl Word {
    /// All its bits.
    pub(super) fn whole(&self) -> Signal {
        let (mut pieces, mut bit, mut at) = (Vec::new(), 0, 0);
        while bit < self.width {
            let varies = |bit: u32| self.mask >> bit & 1 == 1;
            let end = (bit..self.width).find(|&end| varies(end) != varies(bit)).unwrap_or(self.width);
            let count = end - bit;
            if varies(bit) {
                pieces.push(self.varying.slice(at..at + count));
                at += count;
            } else {
                pieces.push(uint(count).lit(self.common >> bit & ((1 << count) - 1)));
            }
            bit = end;
        }
        pieces.reverse();
        cat(&pieces)
    }
}
