//! The elements of a row.

/// The elements of a row: for each port its fp16 numbers.
#[derive(Clone, Debug)]
pub struct Elements {
    /// Port by port.
    pub ports: Vec<Vec<u16>>,
    /// The values next to the first beat.
    pub beside: Vec<u64>,
}
