//! testbenches
