//! Small integer arithmetic.

pub mod carry_save;
pub mod leading_zeros;
pub mod popcount;
pub mod priority_encoder;
pub mod row_product;

pub use leading_zeros::{LeadingZeros, LeadingZerosPorts};
pub use popcount::{Popcount, PopcountPorts};
pub use priority_encoder::{PriorityEncoder, PriorityEncoderPorts};
