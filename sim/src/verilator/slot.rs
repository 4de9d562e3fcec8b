//! Where a port lives in a model.

/// Where a port lives in the model: Verilator uses the smallest of 8, 16, 32, 64 bits or an array of 32-bit words.
pub(super) struct Slot {
    pub(super) address: *mut u8,
    pub(super) width: u32,
}
