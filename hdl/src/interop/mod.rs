//! Bridges to other hardware languages.

pub mod rust_hdl;
