//! Small integer arithmetic.

pub mod leading_zeros;
pub mod popcount;
pub mod priority_encoder;
