//! Blocks of Kelle: key-value caches in eDRAM with adaptive refresh and a systolic evictor.

pub mod refresh_controller;

pub use refresh_controller::{RefreshController, RefreshControllerPorts};
