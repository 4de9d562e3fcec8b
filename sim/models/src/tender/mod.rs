//! Tender: errors by granularity of scales, and the passes of implicit and explicit requantization.

pub mod granularity;
pub mod groups;
pub mod language_model;
pub mod learnt;
mod options;
pub mod projection;
pub mod requantization;
pub mod schemes;
