//! AERP: eviction by accumulated attention, and recomputation of popular tokens (section 4.1).
//!
//! The importance of a cached token is the sum of the attention scores that later queries gave it. The algorithm takes
//! the scores after the softmax, and the hardware takes the products q.k before it. So the type of a score is a
//! parameter here.

use std::cmp::Ordering;
use std::ops::AddAssign;

/// How many tokens a head keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Tokens in the cache (N').
    pub tokens: usize,
    /// First tokens of the sequence, which are never evicted.
    pub sink: usize,
    /// Most recent tokens, which are not evicted.
    pub window: usize,
}

/// All cached tokens are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllProtected;

/// A token in the cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept<S> {
    /// Its position in the sequence.
    pub token: usize,
    /// Its importance.
    pub score: S,
}

/// The cache of one head, the oldest token first.
#[derive(Clone, Debug, PartialEq)]
pub struct Head<S> {
    budget: Budget,
    kept: Vec<Kept<S>>,
    inserted: usize,
}

impl<S: Copy + Default + PartialOrd + AddAssign> Head<S> {
    /// An empty cache.
    #[must_use]
    pub fn new(budget: Budget) -> Self {
        Self { budget, kept: Vec::new(), inserted: 0 }
    }

    /// The cached tokens, the oldest first.
    #[must_use]
    pub fn kept(&self) -> &[Kept<S>] {
        &self.kept
    }

    /// A query has given these attention scores to the cached tokens, in their order.
    ///
    /// # Panics
    /// The number of scores differs from the number of tokens.
    pub fn attend(&mut self, scores: &[S]) {
        assert_eq!(scores.len(), self.kept.len(), "one score for each cached token");
        self.kept.iter_mut().zip(scores).for_each(|(kept, &score)| kept.score += score);
    }

    /// The token to evict for a new one: the least important token that is neither one of the first nor recent. Of
    /// equal tokens, the older one. `None` if there is room.
    ///
    /// # Errors
    /// All tokens are protected.
    pub fn victim(&self) -> Result<Option<usize>, AllProtected> {
        if self.kept.len() < self.budget.tokens {
            return Ok(None);
        }
        let recent = self.inserted.saturating_sub(self.budget.window);
        let free = self.kept.iter().filter(|k| k.token >= self.budget.sink && k.token < recent);
        let least = free.min_by(|a, b| a.score.partial_cmp(&b.score).unwrap_or(Ordering::Equal));
        least.map(|k| Some(k.token)).ok_or(AllProtected)
    }

    /// The next token of the sequence enters; returns the one that was evicted for it.
    ///
    /// # Errors
    /// All cached tokens are protected; nothing changes.
    pub fn insert(&mut self) -> Result<Option<usize>, AllProtected> {
        let victim = self.victim()?;
        self.kept.retain(|k| Some(k.token) != victim);
        self.kept.push(Kept { token: self.inserted, score: S::default() });
        self.inserted += 1;
        Ok(victim)
    }

    /// Starts from a prompt whose tokens have these scores. Keeps the first and the recent tokens, and of the others
    /// the most important ones.
    ///
    /// # Errors
    /// There are more protected tokens than places.
    pub fn prefill(budget: Budget, scores: &[S]) -> Result<Self, AllProtected> {
        let n = scores.len();
        let stays = |token: &usize| *token < budget.sink || token + budget.window >= n;
        let (mut chosen, mut others): (Vec<usize>, Vec<usize>) = (0..n).partition(stays);
        if chosen.len() > budget.tokens {
            return Err(AllProtected);
        }
        // A stable sort from the newest on: of equal tokens the older goes.
        others.reverse();
        others.sort_by(|&a, &b| scores[b].partial_cmp(&scores[a]).unwrap_or(Ordering::Equal));
        others.truncate(budget.tokens - chosen.len());
        chosen.append(&mut others);
        chosen.sort_unstable();
        let kept = chosen.into_iter().map(|token| Kept { token, score: scores[token] }).collect();
        Ok(Self { budget, kept, inserted: n })
    }
}

/// Storage formats of tokens over all heads: each head's vectors, or the layer's input once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    /// For each token in any cache, whether its input is stored.
    input: Vec<Option<bool>>,
}

impl Formats {
    /// Updates the formats from the tokens of each head (`held[head]` lists tokens). A new token gets its format: its
    /// input is stored if more than half of the heads hold it. An old token keeps its format. A token that no head
    /// holds is gone.
    pub fn update(&mut self, held: &[Vec<usize>]) {
        let tokens = held.iter().flatten().max().map_or(0, |t| t + 1).max(self.input.len());
        self.input.resize(tokens, None);
        for (token, format) in self.input.iter_mut().enumerate() {
            let heads = held.iter().filter(|h| h.contains(&token)).count();
            *format = match (heads, *format) {
                (0, _) => None,
                (_, Some(fixed)) => Some(fixed),
                (_, None) => Some(2 * heads > held.len()),
            };
        }
    }

    /// Whether the input of a token is stored; `None` if the token is in no cache.
    #[must_use]
    pub fn stores_input(&self, token: usize) -> Option<bool> {
        self.input.get(token).copied().flatten()
    }
}

/// Softmax of scores, in double precision.
#[must_use]
pub fn softmax(scores: &[f64]) -> Vec<f64> {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exp: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
    let sum: f64 = exp.iter().sum();
    exp.into_iter().map(|e| e / sum).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BUDGET: Budget = Budget { tokens: 4, sink: 0, window: 0 };

    fn full(scores: &[i32]) -> Head<i32> {
        let mut head = Head::new(Budget { tokens: scores.len(), ..BUDGET });
        scores.iter().for_each(|_| assert_eq!(head.insert(), Ok(None)));
        head.attend(scores);
        head
    }

    /// The case of figure 6: four places, the fifth token arrives, the third has the lowest score.
    #[test]
    fn figure_6() {
        let mut head = full(&[9, 7, 2, 8]);
        assert_eq!(head.insert(), Ok(Some(2)));
        assert_eq!(head.kept().iter().map(|k| k.token).collect::<Vec<_>>(), [0, 1, 3, 4]);
        // The fourth token is important to two heads of three: its input is stored, and stays stored.
        let mut formats = Formats::default();
        formats.update(&[vec![0, 1, 3], vec![2, 3], vec![0, 1, 2]]);
        assert_eq!([0, 1, 2, 3].map(|t| formats.stores_input(t)), [Some(true); 4]);
        let mut formats = Formats::default();
        formats.update(&[vec![0, 3], vec![1, 3], vec![2]]);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|t| formats.stores_input(t)),
            [Some(false), Some(false), Some(false), Some(true), None]
        );
        formats.update(&[vec![0, 3], vec![0], vec![0]]);
        assert_eq!([0, 1, 3].map(|t| formats.stores_input(t)), [Some(false), None, Some(true)]);
    }

    #[test]
    fn half_is_not_more_than_half() {
        let mut formats = Formats::default();
        formats.update(&[vec![0], vec![]]);
        assert_eq!(formats.stores_input(0), Some(false));
    }

    #[test]
    fn the_older_of_equals_goes() {
        assert_eq!(full(&[3, 1, 1, 3]).insert(), Ok(Some(1)));
    }

    #[test]
    fn protected_tokens_stay() {
        let mut head = Head::new(Budget { tokens: 4, sink: 1, window: 2 });
        (0..4).for_each(|_| assert_eq!(head.insert(), Ok(None)));
        head.attend(&[0, 9, 0, 0]);
        assert_eq!(head.insert(), Ok(Some(1)));
        assert_eq!(head.insert(), Ok(Some(2)));
        let mut stuck = Head::<i32>::new(Budget { tokens: 3, sink: 1, window: 2 });
        (0..3).for_each(|_| assert_eq!(stuck.insert(), Ok(None)));
        assert_eq!(stuck.insert(), Err(AllProtected));
        assert_eq!(stuck.kept().len(), 3);
    }

    #[test]
    fn prompts() {
        let head = Head::prefill(Budget { tokens: 4, sink: 1, window: 1 }, &[0, 5, 7, 7, 1, 7, 0]).unwrap();
        assert_eq!(head.kept().iter().map(|k| k.token).collect::<Vec<_>>(), [0, 3, 5, 6]);
        assert!(Head::prefill(Budget { tokens: 1, sink: 1, window: 1 }, &[0, 5, 7]).is_err());
    }

    #[test]
    fn softmax_sums_to_one() {
        let s = softmax(&[1000.0, 1000.0, -1000.0]);
        assert_eq!(s, [0.5, 0.5, 0.0]);
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        /// Never too many tokens; the first and the recent tokens stay, and the least score goes.
        #[test]
        fn invariants(steps in prop::collection::vec(prop::collection::vec(-5..5i32, 8), 1..60), sink in 0..3usize, window in 0..4usize) {
            let budget = Budget { tokens: 8, sink, window };
            let mut head = Head::new(budget);
            for (step, scores) in steps.iter().enumerate() {
                head.attend(&scores[..head.kept().len()]);
                let before = head.kept().to_vec();
                let victim = head.insert().unwrap();
                let tokens: Vec<_> = head.kept().iter().map(|k| k.token).collect();
                prop_assert!(tokens.len() <= 8 && tokens.is_sorted());
                prop_assert!((0..sink.min(step + 1)).all(|t| tokens.contains(&t)));
                prop_assert!(((step + 1).saturating_sub(window)..=step).all(|t| tokens.contains(&t)));
                if let Some(victim) = victim {
                    let least = before.iter().find(|k| k.token == victim).unwrap().score;
                    let rivals = before.iter().filter(|k| k.token >= sink && k.token + window < step);
                    prop_assert!(rivals.clone().all(|k| (k.score, k.token) >= (least, victim)));
                }
            }
        }
    }
}
