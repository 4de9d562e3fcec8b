//! The paper's dual tournament tree, counting comparisons.

use std::cmp::Ordering;

use super::input::{NanPolicy, OrizuruError, Pop, Side, check_input};
use crate::format::Format;

/// Comparisons spent on initialisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitCount {
    /// Max tree, all levels: N - 1 when all N leaves are available.
    pub max: u64,
    /// Min tree without its leaf level, which reuses the max tree's: N/2 - 1 when all N leaves are
    /// available and N is even.
    pub min: u64,
}

impl InitCount {
    /// Both trees.
    pub fn total(self) -> u64 {
        self.max + self.min
    }
}

/// Two complete binary trees over shared leaves (KLLM section IV-C, Figure 7).
///
/// Nodes are numbered as in the figure: the root is 1, the children of node i are 2i and 2i + 1, the
/// leaves are P to 2P - 1, where P is N padded to the next power of two. Each inner node has one bit
/// per tree: 0 if the left child holds the winner, 1 if the right. Each leaf has one mask bit per
/// tree; padding, and a NaN under [`NanPolicy::NeverSelected`], is masked from the start.
///
/// **Counting.** A comparison compares two available values. If a side is popped or padding, its sentinel (-infinity in
/// the max tree, +infinity in the min tree) is known from the masks, and nothing is counted. So a pop costs at most
/// log2 P - 1. The paper says log2 N, but at the leaf level one side is the leaf just popped.
///
/// **Ties.** The lower index wins in both trees. In the paper, the leaf level of the min tree takes the max tree's bits
/// inverted. On an equal pair this would give the min tree the higher index. So the shared comparison is three-way: the
/// max bit is `left < right`, the min bit `left > right`.
#[derive(Clone, Debug)]
pub struct Tree {
    format: Format,
    /// P leaves; padding holds 0, which nothing reads.
    leaves: Vec<u64>,
    max: Half,
    min: Half,
    init: InitCount,
}

/// The part that each of the two trees has for itself.
#[derive(Clone, Debug)]
struct Half {
    side: Side,
    /// For nodes 1 to P - 1; entry 0 is not used.
    bits: Vec<bool>,
    /// For each leaf, whether it is neither popped nor padding.
    available: Vec<bool>,
    /// Maintenance comparisons so far.
    pop_count: u64,
}

impl Tree {
    /// Loads and initialises both trees, bottom up.
    ///
    /// # Errors
    /// There are no values, the format has a wrong width, or a value does not fit the format.
    pub fn new(values: &[u64], format: Format, nan: NanPolicy) -> Result<Self, OrizuruError> {
        let available: Vec<bool> = values.iter().map(|&raw| nan.admits(format, raw)).collect();
        Self::of(values, &available, format)
    }

    /// The same with only some leaves `available` from the start. Leaves after the end of `available` are not
    /// available.
    ///
    /// # Errors
    /// As [`Tree::new`].
    pub fn of(values: &[u64], available: &[bool], format: Format) -> Result<Self, OrizuruError> {
        check_input(values, format)?;
        let width = values.len().next_power_of_two();
        let mut leaves = values.to_vec();
        leaves.resize(width, 0);
        let mut available: Vec<bool> = available.iter().copied().take(values.len()).collect();
        available.resize(width, false);
        let half = |side| Half { side, bits: vec![false; width], available: available.clone(), pop_count: 0 };
        let mut tree =
            Self { format, leaves, max: half(Side::Max), min: half(Side::Min), init: InitCount { max: 0, min: 0 } };
        tree.initialise();
        Ok(tree)
    }

    fn initialise(&mut self) {
        let width = self.leaves.len();
        for node in (1..width).rev() {
            let leaf_level = 2 * node >= width;
            let max_compared = self.update(Side::Max, node);
            let min_compared = self.update(Side::Min, node);
            self.init.max += u64::from(max_compared);
            // The leaf pair is the same in both trees: one three-way comparison serves both.
            self.init.min += u64::from(min_compared && !leaf_level);
        }
    }

    /// Removes and returns the winner of a side, then maintains that side's tree. `None` when no
    /// leaf is available.
    pub fn pop(&mut self, side: Side) -> Option<Pop> {
        let pop = self.peek(side)?;
        let width = self.leaves.len();
        self.half_mut(side).available[pop.index] = false;
        let mut node = (width + pop.index) / 2;
        while node >= 1 {
            let compared = self.update(side, node);
            self.half_mut(side).pop_count += u64::from(compared);
            node /= 2;
        }
        Some(pop)
    }

    /// [`Tree::pop`] of the largest value.
    pub fn pop_max(&mut self) -> Option<Pop> {
        self.pop(Side::Max)
    }

    /// [`Tree::pop`] of the smallest value.
    pub fn pop_min(&mut self) -> Option<Pop> {
        self.pop(Side::Min)
    }

    /// The winner of a side, which needs no comparison. `None` when no leaf is available.
    pub fn peek(&self, side: Side) -> Option<Pop> {
        let index = self.winner(side, 1)?;
        Some(Pop { index, value: self.leaves[index] })
    }

    /// The bits from the root to the leaf that a side points at, log2 P of them. They are the binary
    /// digits of the winner's index, when there is a winner.
    pub fn path(&self, side: Side) -> Vec<bool> {
        let mut path = Vec::new();
        let mut node = 1;
        while let Some(bit) = self.bit(side, node) {
            path.push(bit);
            node = 2 * node + usize::from(bit);
        }
        path
    }

    /// The bit of an inner node, 1 to P - 1: `true` points right. `None` for any other number.
    pub fn bit(&self, side: Side, node: usize) -> Option<bool> {
        if node == 0 { None } else { self.half(side).bits.get(node).copied() }
    }

    /// The stored value of a leaf, which no pop changes. `None` beyond the padded width.
    pub fn leaf(&self, index: usize) -> Option<u64> {
        self.leaves.get(index).copied()
    }

    /// Whether a side can still select a leaf.
    pub fn is_available(&self, side: Side, index: usize) -> bool {
        self.half(side).available.get(index).copied().unwrap_or(false)
    }

    /// How many leaves a side can still select.
    pub fn remaining(&self, side: Side) -> usize {
        self.half(side).available.iter().filter(|&&available| available).count()
    }

    /// Comparisons that initialisation took.
    pub fn init_count(&self) -> InitCount {
        self.init
    }

    /// Comparisons that the maintenance of a side took so far.
    pub fn pop_count(&self, side: Side) -> u64 {
        self.half(side).pop_count
    }

    /// All comparisons so far: initialisation and both sides.
    pub fn total_count(&self) -> u64 {
        self.init.total() + self.max.pop_count + self.min.pop_count
    }

    fn half(&self, side: Side) -> &Half {
        match side {
            Side::Max => &self.max,
            Side::Min => &self.min,
        }
    }

    fn half_mut(&mut self, side: Side) -> &mut Half {
        match side {
            Side::Max => &mut self.max,
            Side::Min => &mut self.min,
        }
    }

    /// The leaf that a node's MUX puts out (equation 4); `None` is the sentinel of an exhausted subtree. Bits point at
    /// an available leaf if there is one, so one look is enough.
    fn winner(&self, side: Side, mut node: usize) -> Option<usize> {
        let half = self.half(side);
        let width = self.leaves.len();
        while node < width {
            node = 2 * node + usize::from(half.bits[node]);
        }
        let index = node - width;
        half.available[index].then_some(index)
    }

    /// Sets a node's bit from its children. Returns whether that took a comparison.
    fn update(&mut self, side: Side, node: usize) -> bool {
        let left = self.winner(side, 2 * node);
        let right = self.winner(side, 2 * node + 1);
        let (points_right, compared) = match (left, right) {
            (Some(left), Some(right)) => {
                let order = self.format.total_cmp(self.leaves[left], self.leaves[right]);
                (self.half(side).prefers_right(order), true)
            }
            (Some(_), None) => (false, false),
            (None, Some(_)) => (true, false),
            // Exhausted: both children are sentinels, so the bit may stay as it is.
            (None, None) => return false,
        };
        self.half_mut(side).bits[node] = points_right;
        compared
    }
}

impl Half {
    /// The bit for `left` compared with `right`; equal stays left, the lower index.
    fn prefers_right(&self, order: Ordering) -> bool {
        match self.side {
            Side::Max => order == Ordering::Less,
            Side::Min => order == Ordering::Greater,
        }
    }
}
