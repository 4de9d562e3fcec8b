//! An operation that takes tokens of the accelerator before this one, and gives tokens to the one behind.

use std::collections::VecDeque;

use super::job_controller::code;

/// The largest numbers that the block can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Tokens of an operation, and tokens that wait.
    pub tokens: u32,
    /// Cycles to wait.
    pub patience: u32,
}

impl Most {
    /// Those of an accelerator's link.
    pub const OF_CORES: Self = Self::of(16, 32);

    /// Of counters of so many bits.
    #[must_use]
    pub const fn of(token_bits: u32, patience_bits: u32) -> Self {
        Self { tokens: u32::MAX >> (32 - token_bits), patience: u32::MAX >> (32 - patience_bits) }
    }
}

/// Something is there; `true` for the last one of a piece of work.
pub type Token = bool;

/// An operation whose fields are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Tokens that it takes.
    pub awaited: u32,
    /// Tokens that it gives then.
    pub given: u32,
    /// Cycles that it waits for each of them at most; 0: what the host says.
    pub patience: u32,
    /// The last token that it takes is a last one; all others are not.
    pub last_awaited: bool,
    /// So is the last one that it gives.
    pub last_given: bool,
}

/// What is taken of tokens that come: how many, and whether that is all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// All that were awaited.
    All,
    /// There are no more of them.
    Missing,
    /// One, which is taken too, is a last one, or is not, against what the operation says.
    OtherMark,
}

impl Link {
    /// The operation in the words behind a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than four words.
    pub fn check(words: &[u32], most: &Most) -> Result<Self, u8> {
        let [awaited, given, patience, options] = [0, 1, 2, 3].map(|at| words[at]);
        let [last_awaited, last_given] = [0, 1].map(|bit| options >> bit & 1 == 1);
        let reserved = options > 3 || words[4..].iter().any(|&word| word != 0);
        if reserved || (last_awaited && awaited == 0) || (last_given && given == 0) {
            return Err(code::RESERVED);
        }
        if awaited.max(given) > most.tokens || patience > most.patience || (awaited, given) == (0, 0) {
            return Err(code::SIZE);
        }
        Ok(Self { awaited, given, patience, last_awaited, last_given })
    }

    /// Takes what it awaits.
    pub fn take(&self, waiting: &mut VecDeque<Token>) -> Taken {
        for left in (1..=self.awaited).rev() {
            match waiting.pop_front() {
                None => return Taken::Missing,
                Some(mark) if mark != (self.last_awaited && left == 1) => return Taken::OtherMark,
                Some(_) => {}
            }
        }
        Taken::All
    }

    /// What it gives.
    pub fn tokens(&self) -> impl Iterator<Item = Token> + use<> {
        let (given, last) = (self.given, self.last_given);
        (1..=given).map(move |number| last && number == given)
    }

    /// Cycles from the one in which it is taken to the first one of its end, where all tokens are there, and are taken at once.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        u64::from(self.awaited) + u64::from(self.given) + 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: [u32; 6]) -> Result<Link, u8> {
        Link::check(&words, &Most::OF_CORES)
    }

    #[test]
    fn fields() {
        let link = Link { awaited: 2, given: 65_535, patience: 9, last_awaited: true, last_given: false };
        assert_eq!(check([2, 65_535, 9, 1, 0, 0]), Ok(link));
        assert_eq!(link.cycles(), 65_541);
        for words in [[0, 0, 0, 0, 0, 0], [65_536, 1, 0, 0, 0, 0], [1, 1 << 31, 0, 0, 0, 0]] {
            assert_eq!(check(words), Err(code::SIZE), "{words:?}");
        }
        for words in
            [[1, 1, 0, 4, 0, 0], [1, 1, 0, 0, 0, 1], [0, 1, 0, 1, 0, 0], [1, 0, 0, 2, 0, 0], [0, 0, 0, 1 << 31, 0, 0]]
        {
            assert_eq!(check(words), Err(code::RESERVED), "{words:?}");
        }
    }

    #[test]
    fn counters_of_few_bits() {
        let few = |words: [u32; 4]| Link::check(&words, &Most::of(2, 4));
        assert!(few([3, 3, 15, 0]).is_ok());
        for words in [[4, 1, 0, 0], [1, 4, 0, 0], [1, 1, 16, 0]] {
            assert_eq!(few(words), Err(code::SIZE), "{words:?}");
        }
    }

    #[test]
    fn tokens_and_their_marks() {
        let link = check([2, 2, 0, 3, 0, 0]).unwrap();
        assert_eq!(link.tokens().collect::<Vec<_>>(), [false, true]);
        let take = |tokens: &[bool], link: Link| {
            let mut waiting: VecDeque<Token> = tokens.iter().copied().collect();
            (link.take(&mut waiting), waiting.len())
        };
        assert_eq!(take(&[false, true, false], link), (Taken::All, 1));
        assert_eq!(take(&[false], link), (Taken::Missing, 0));
        assert_eq!(take(&[true, false], link), (Taken::OtherMark, 1));
        assert_eq!(take(&[false, false], link), (Taken::OtherMark, 0));
        let open = Link { last_awaited: false, ..link };
        assert_eq!(take(&[false, false], open), (Taken::All, 0));
        assert_eq!(take(&[false, true], open), (Taken::OtherMark, 0));
    }
}
