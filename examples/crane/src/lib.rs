//! The crane.
pub mod bench;
pub mod engine;
pub mod golden;
pub mod operation;
pub mod rounder;
pub mod row;
pub mod top;
