//! Rows to their sums, minima, maxima and places of maxima: an accelerator as a user's crate would have it.

mod bench;
pub mod golden;
mod host;
mod reduce_engine;
mod reduce_top;
/// Registers and descriptors, as `senbazuru gen` wrote them.
pub mod registers;
mod row_reducer;

pub use bench::{bench, golden_of, timing};
pub use host::{Record, job};
pub use reduce_engine::{ReduceEngine, ReduceEnginePorts, ReduceOperation, ReduceOperationPorts};
pub use reduce_top::{ReduceFields, ReduceTop};
pub use row_reducer::{RowRecord, RowReducer, RowReducerPorts};
