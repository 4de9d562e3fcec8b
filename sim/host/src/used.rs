//! Bytes that an operation uses, and whether two operands share some.

/// Rows of bytes at a distance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    /// First byte.
    pub address: u64,
    /// Bytes from row to row; means nothing for one row.
    pub stride: u64,
    /// Rows, at least 1.
    pub rows: u64,
    /// Bytes of a row, at least 1.
    pub row_bytes: u64,
    /// The operation writes them.
    pub is_written: bool,
    /// The operation may read them before the operations have ended that it depends on.
    pub is_early: bool,
}

impl Used {
    /// The last byte. Operands lie in a window, so there is one.
    fn last(&self) -> u64 {
        self.address + (self.rows - 1) * self.step() + (self.row_bytes - 1)
    }

    /// Bytes from row to row.
    fn step(&self) -> u64 {
        if self.rows == 1 { 0 } else { self.stride }
    }

    /// Whether surely no byte is in both. Where rows of different distances are mixed, nobody looks closer.
    pub fn is_apart(&self, other: &Self) -> bool {
        if self.last() < other.address || other.last() < self.address {
            return true;
        }
        let step = self.step().max(other.step());
        let is_regular = |one: &Self| one.rows == 1 || one.step() == step;
        if !is_regular(self) || !is_regular(other) || self.row_bytes.max(other.row_bytes) > step {
            return false;
        }
        let (low, high) = if self.address <= other.address { (self, other) } else { (other, self) };
        // A row of `high` begins so many bytes after the beginning of a row of `low`, whole steps left out.
        let (skipped, after) = ((high.address - low.address) / step, (high.address - low.address) % step);
        let meets_same_row = after < low.row_bytes && skipped < low.rows;
        let meets_next_row = after + high.row_bytes > step && skipped + 1 < low.rows;
        !meets_same_row && !meets_next_row
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn bytes(used: &Used) -> BTreeSet<u64> {
        let row = |row| used.address + row * used.stride..used.address + row * used.stride + used.row_bytes;
        (0..used.rows).flat_map(row).collect()
    }

    fn rows() -> impl Strategy<Value = Used> {
        (0..40u64, 1..5u64, 1..9u64).prop_map(|(address, rows, row_bytes)| Used {
            address,
            stride: 0,
            rows,
            row_bytes,
            is_written: true,
            is_early: false,
        })
    }

    proptest! {
        #![proptest_config(seeds::proptest(4000))]

        /// What is said to be apart shares no byte. Where the distances of the rows are equal, nothing is missed.
        #[test]
        fn by_every_byte(a in rows(), b in rows(), stride in 1..12u64, other in prop::option::of(0..12u64)) {
            let (a, b) = (Used { stride, ..a }, Used { stride: other.unwrap_or(stride), ..b });
            let shares = !bytes(&a).is_disjoint(&bytes(&b));
            prop_assert_eq!(a.is_apart(&b), b.is_apart(&a));
            prop_assert!(!(a.is_apart(&b) && shares));
            if other.is_none() && a.row_bytes.max(b.row_bytes) <= stride {
                prop_assert_eq!(a.is_apart(&b), !shares);
            }
        }
    }
}
