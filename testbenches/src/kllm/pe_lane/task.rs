//! What a lane is given.

use golden::kllm::pe_lane::Centroids;

/// A bank of weights, and its uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bank {
    /// For each word the indices of all columns. Column c begins at c * inputs.
    pub words: Vec<Vec<u64>>,
    /// Uses, one after the other; all but the last keep the bank.
    pub passes: Vec<Pass>,
}

/// One use of a bank: a beat for each word, plus beats that are sent again; or the rule is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The beats.
    pub beats: Vec<Inputs>,
    /// The columns end with it.
    pub last: bool,
}

/// A beat of activations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// Indices or nibbles.
    pub index: Vec<u64>,
    /// Which of them count.
    pub present: Vec<bool>,
    /// They count 16 times.
    pub high: bool,
    /// An outlier: its position and its value, fp16.
    pub outlier: Option<(usize, u16)>,
    /// The next beat meets the same word.
    pub again: bool,
}

/// Banks that share their codebooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Both codebooks.
    pub centroids: Centroids,
    /// Banks in order; the last pass of the last one ends its columns.
    pub banks: Vec<Bank>,
}
