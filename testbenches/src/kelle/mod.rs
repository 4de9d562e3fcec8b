//! Testbenches of Kelle: key-value caches in eDRAM with adaptive refresh and a systolic evictor.

pub mod refresh_controller;
