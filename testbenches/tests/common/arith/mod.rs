//! Small arithmetic.

mod leading_zeros;
mod popcount;
mod priority_encoder;
