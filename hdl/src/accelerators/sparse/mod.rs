//! Products whose outliers are multiplied apart. Orizuru finds them, Tender's array has all other values in its groups,
//! and lanes beside the array have the outliers.

mod dense_sparse_product;
mod group_quantizer;
mod outlier_lane;

pub use dense_sparse_product::{ChannelWeights, DenseSparseProduct, DenseSparseProductPorts, ProductRow, RowValues};
pub use group_quantizer::{GroupQuantizer, GroupQuantizerPorts};
pub use outlier_lane::{OutlierLane, OutlierLanePorts};
