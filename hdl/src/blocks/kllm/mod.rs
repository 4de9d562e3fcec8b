//! KLLM: K-Means indices instead of multiplications; Orizuru finds the outliers.

pub mod clustering_unit;
pub mod concat_unit;
pub mod index_distribution_counter;
pub mod orizuru;
pub mod orizuru_tree;
pub mod orizuru_unit;
pub mod orizuru_upper;
mod winner;

pub use clustering_unit::{ClusteringUnit, ClusteringUnitPorts, Search};
pub use concat_unit::{ConcatUnit, ConcatUnitPorts};
pub use index_distribution_counter::{BinStyle, IndexDistributionCounter, IndexDistributionCounterPorts};
pub use orizuru::Orizuru;
pub use orizuru_tree::{Comparators, NodeState, OrizuruTree, Side};
pub use orizuru_unit::OrizuruUnit;
pub use orizuru_upper::OrizuruUpper;
pub use winner::{OutWinner, Winner, WinnerType, WinnersBelow, WinnersBelowPort};
