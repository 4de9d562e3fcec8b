//! Tender: errors by granularity of scales, and the passes of implicit and explicit requantization.

pub mod decoder;
pub mod granularity;
pub mod language_model;
pub mod projection;
pub mod requantization;
pub mod schemes;
