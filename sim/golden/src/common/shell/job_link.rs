//! An operation that takes tokens from the accelerator before, and gives tokens to the next one.

use std::collections::VecDeque;

use super::job_controller::code;

/// The largest numbers that the block counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Tokens of an operation, and tokens that wait.
    pub tokens: u32,
    /// Cycles to wait.
    pub patience: u32,
}

impl Most {
    /// The numbers of a core's link.
    pub const OF_CORES: Self = Self::of(16, 32);

    /// The numbers for counters of so many bits.
    #[must_use]
    pub const fn of(token_bits: u32, patience_bits: u32) -> Self {
        Self { tokens: u32::MAX >> (32 - token_bits), patience: u32::MAX >> (32 - patience_bits) }
    }
}

/// A token; `true` for the last token of a piece of work.
pub type Token = bool;

/// An operation whose fields are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Tokens that it takes.
    pub awaited: u32,
    /// Tokens that it then gives.
    pub given: u32,
    /// The most cycles that it waits for each token; 0: the host's limit.
    pub patience: u32,
    /// Whether the last token that it takes is marked as last. All others are not.
    pub last_awaited: bool,
    /// Whether the last token that it gives is marked as last.
    pub last_given: bool,
}

/// The result of taking tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// All awaited tokens were taken.
    All,
    /// Tokens are missing.
    Missing,
    /// A token was taken whose mark differs from the operation's.
    OtherMark,
}

impl Link {
    /// The operation in the words after a header.
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

    /// Takes the tokens that it awaits.
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

    /// The tokens that it gives.
    pub fn tokens(&self) -> impl Iterator<Item = Token> + use<> {
        let (given, last) = (self.given, self.last_given);
        (1..=given).map(move |number| last && number == given)
    }

    /// Cycles from the one in which it is taken to the first cycle of its end, if all tokens are there and are taken at
    /// once.
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
