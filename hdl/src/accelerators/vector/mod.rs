//! The vector unit inside the shell: rows of memory through a list of steps.

mod gain_reader;
mod row_packer;
mod vector_engine;
mod vector_operation;
mod vector_registers;
mod vector_top;

pub use gain_reader::{GainReader, GainReaderPorts};
pub use row_packer::{RowPacker, RowPackerPorts};
pub use vector_engine::{VectorEngine, VectorEnginePorts, VectorParameters};
pub use vector_operation::{VectorOperation, VectorOperationPorts};
pub use vector_registers::VectorFields;
pub use vector_top::VectorTop;
