//! Shapes in words.

use std::fmt::Display;

/// A shape in words: `576 x 64`.
pub(crate) fn by<T: Display>(shape: &[T]) -> String {
    shape.iter().map(T::to_string).collect::<Vec<_>>().join(" x ")
}
