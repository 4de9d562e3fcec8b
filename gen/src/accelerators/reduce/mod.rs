//! Rows to their sums, minima, maxima and places of maxima.

mod reduce_engine;
mod reduce_top;
mod row_reducer;

pub use reduce_engine::{ReduceEngine, ReduceEnginePorts, ReduceOperation, ReduceOperationPorts};
pub use reduce_top::{ReduceCaps, ReduceFields, ReduceTop, ReduceTopPorts};
pub use row_reducer::{RowRecord, RowReducer, RowReducerPorts};
