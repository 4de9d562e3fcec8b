//! The products and the norms of a model, by name.

/// A matrix product with a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Projection {
    /// Queries of all heads.
    Q,
    /// Keys of all key heads.
    K,
    /// Values of all key heads.
    V,
    /// Output of the attention.
    O,
    /// Gate of the feed-forward network.
    Gate,
    /// The other input matrix of the feed-forward network.
    Up,
    /// Output matrix of the feed-forward network.
    Down,
    /// The last product: a number for each token of the vocabulary. Its layer is the number of layers.
    Logits,
}

/// A norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Norm {
    /// Before the attention.
    Attention,
    /// Before the feed-forward network.
    FeedForward,
    /// Before the last product. Its layer is the number of layers.
    Output,
}
