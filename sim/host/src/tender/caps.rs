//! How a `tender_top` was built.

use crate::vector;
use crate::vector::Integer;

/// How it was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Rows of PEs.
    pub rows: u32,
    /// Columns of PEs.
    pub columns: u32,
    /// It multiplies bytes too.
    pub int8: bool,
    /// Channels of a panel, at most.
    pub depth: u32,
    /// Entries of a table, at most.
    pub steps: u32,
    /// Its vector unit: what [`VectorJob::build`](vector::VectorJob::build) takes, with opcode
    /// [`VECTOR_VALUE`](super::layout::VECTOR_VALUE).
    pub vector: vector::Caps,
}

impl Caps {
    /// Lines of a panel of rows: of the left matrix of a product, and of results.
    #[must_use]
    pub fn panel_rows(&self, integer: Integer) -> usize {
        self.rows as usize / share(integer)
    }

    /// Lines of a panel of columns: of the right matrix of a product.
    #[must_use]
    pub fn panel_columns(&self, integer: Integer) -> usize {
        self.columns as usize / share(integer)
    }
}

/// PEs in each direction that work as one.
fn share(integer: Integer) -> usize {
    match integer {
        Integer::Int8 => 2,
        Integer::Int4 => 1,
    }
}
