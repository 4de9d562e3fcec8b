//! KLLM: K-Means indices instead of multiplications; Orizuru finds the outliers.

pub mod clustering_unit;
pub mod concat_unit;
pub mod fp16_mac;
pub mod fp16_product;
pub mod index_distribution_counter;
pub mod index_matmul_column;
pub mod orizuru;
pub mod orizuru_tree;
pub mod orizuru_unit;
pub mod orizuru_upper;
pub mod pe_lane;
pub mod scaling_unit;
pub mod weighted_sum;
mod winner;

pub use clustering_unit::{ClusterIndices, ClusterValues, ClusteringUnit, ClusteringUnitPorts, Search};
pub use concat_unit::{ConcatUnit, ConcatUnitPorts};
pub use fp16_mac::{Fp16Mac, Fp16MacPorts};
pub use fp16_product::{Fp16Product, Fp16ProductPorts};
pub use index_distribution_counter::{
    BinCount, BinStyle, IndexBeat, IndexDistributionCounter, IndexDistributionCounterPorts,
};
pub use index_matmul_column::{ColumnOutput, IndexMatmulColumn, IndexMatmulColumnPorts, PairBeat};
pub use orizuru::{Orizuru, Pop, VectorBeat};
pub use orizuru_tree::{Comparators, NodeState, OrizuruTree, Side, TreeStyle};
pub use orizuru_unit::OrizuruUnit;
pub use orizuru_upper::OrizuruUpper;
pub use pe_lane::{ActivationBeat, CodebookEntry, ColumnSums, PairProducts, PeLane, PeLanePorts, WeightWord};
pub use scaling_unit::{ScaledResults, ScaledSums, ScalingFactors, ScalingUnit, ScalingUnitPorts};
pub use weighted_sum::{ColumnSum, WeightedBin, WeightedSum, WeightedSumPorts};
pub use winner::{OutWinner, Winner, WinnerType, WinnersBelow, WinnersBelowPort};
