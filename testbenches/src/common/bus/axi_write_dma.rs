//! [`AxiWriteDma`] before a memory.
