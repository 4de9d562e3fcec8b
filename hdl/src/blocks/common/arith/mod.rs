//! Small integer arithmetic.

pub mod adder_tree;
pub mod carry_save;
pub mod leading_zeros;
pub mod popcount;
pub mod priority_encoder;
pub mod row_product;

pub use adder_tree::{adder_tree, adder_trees};
pub use leading_zeros::{LeadingZeros, LeadingZerosPorts};
pub use popcount::{Popcount, PopcountPorts};
pub use priority_encoder::{PriorityEncoder, PriorityEncoderPorts};
