//! One unit of [`super::orizuru`]: the [`Tree`] over its leaves, popped at either side.

pub use super::orizuru::{NanPolicy, Side, Timing, Tree};
