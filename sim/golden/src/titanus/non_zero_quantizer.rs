//! The exactly rounded quantizer: [`Level::quantize`].

pub use super::level::Level;
