//! Tokens that a head keeps where the host chooses them by what the accelerator has added up.

use anyhow::{Result, ensure};
use half::f16;
use host::vector::Operand;
use models::schemes::{Choice, Kind, Settings};

use super::executor::Executor;
use super::placer::rows_from;

/// Which tokens a head keeps: those that got the most of all probabilities so far, and the newest (Kelle, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Tokens after a step of decoding; 0: all.
    pub budget: usize,
    /// The newest tokens, which stay whatever they got.
    pub window: usize,
}

impl Policy {
    /// All tokens stay.
    pub const ALL: Self = Self { budget: 0, window: 0 };

    /// The options of a lowering that has such a policy.
    #[must_use]
    pub fn choices() -> Vec<Choice> {
        let about = "tokens of a head that decoding keeps: those that got the most; 0: all";
        let budget = Choice { name: "budget", default: "0", kind: Kind::Count(0..=65_535), about };
        let about = "the newest tokens of a head, which stay whatever they got";
        vec![budget, Choice { name: "window", default: "16", kind: Kind::Count(1..=65_535), about }]
    }

    /// As [these options](Self::choices) have it.
    ///
    /// # Errors
    /// An option is missing; the window leaves no token to choose.
    pub fn of(settings: &Settings) -> Result<Self> {
        let policy = Self { budget: settings.count("budget")?, window: settings.count("window")? };
        let Self { budget, window } = policy;
        ensure!(
            budget == 0 || window < budget,
            "window={window} and budget={budget}: wanted is a window below the budget"
        );
        Ok(policy)
    }

    /// Whether one of so many tokens has to go before the next one comes.
    #[must_use]
    pub fn is_full(&self, tokens: usize) -> bool {
        self.budget > 0 && tokens >= self.budget
    }

    /// The tokens that go before the next one comes, the oldest first. `got` is what each token got so far.
    #[must_use]
    pub fn leaving(&self, got: &[f64]) -> Vec<usize> {
        if !self.is_full(got.len()) {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..got.len() - self.window.min(got.len())).collect();
        order.sort_by(|&a, &b| got[a].total_cmp(&got[b]).then(a.cmp(&b)));
        order.truncate(got.len() + 1 - self.budget);
        order.sort_unstable();
        order
    }
}

/// What the tokens of a head got of all probabilities, in the memory of an accelerator: a token's number is the sum of
/// some rows of fp16, which the accelerator adds up.
#[derive(Clone, Copy, Debug)]
pub struct Got {
    /// The rows.
    pub at: Operand,
    /// How many.
    pub rows: usize,
}

impl Got {
    /// Decides by a policy which of so many tokens go, and takes their numbers out. Returns the tokens, the oldest first.
    ///
    /// # Errors
    /// The executor fails.
    pub fn leave(&self, on: &mut dyn Executor, policy: Policy, tokens: usize) -> Result<Vec<usize>> {
        if !policy.is_full(tokens) {
            return Ok(Vec::new());
        }
        let mut all = vec![vec![0; 2 * tokens]; self.rows];
        for (row, bytes) in all.iter_mut().enumerate() {
            on.read(rows_from(self.at, row).address, bytes)?;
        }
        let of = |bytes: &[u8], token: usize| f16::from_le_bytes([bytes[2 * token], bytes[2 * token + 1]]).to_f64();
        let got: Vec<f64> = (0..tokens).map(|token| all.iter().map(|bytes| of(bytes, token)).sum()).collect();
        let leaving = policy.leaving(&got);
        for (row, mut bytes) in all.into_iter().enumerate() {
            for &token in leaving.iter().rev() {
                bytes.drain(2 * token..2 * token + 2);
            }
            bytes.resize(2 * tokens, 0);
            on.write(rows_from(self.at, row).address, &bytes)?;
        }
        Ok(leaving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_goes() {
        let policy = Policy { budget: 4, window: 2 };
        assert_eq!(policy.leaving(&[0.0, 3.0, 1.0]), [0; 0]);
        // Of the first two the one that got less; the newest two stay.
        assert_eq!(policy.leaving(&[0.5, 0.25, 0.0, 0.0]), [1]);
        // Of equal ones the oldest goes. After a prompt several go at once.
        assert_eq!(policy.leaving(&[0.5, 0.5, 2.0, 0.0]), [0]);
        assert_eq!(policy.leaving(&[0.5, 2.0, 0.25, 0.5, 0.0, 0.0]), [0, 2, 3]);
        assert_eq!(Policy::ALL.leaving(&[0.0; 100]), [0; 0]);
    }
}
