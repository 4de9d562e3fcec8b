//! Blocks of Kelle: key-value caches in eDRAM with adaptive refresh and a systolic evictor.

pub mod edram_bank;
pub mod eviction_controller;
pub mod kv_bank_group;
pub mod refresh_controller;
pub mod score_register_file;
pub mod systolic_evictor;

pub use edram_bank::{EdramBank, EdramBankPorts};
pub use eviction_controller::{Arrival, Entry, EvictionController, EvictionControllerPorts, Place};
pub use kv_bank_group::{Byte, KvBankGroup, KvBankGroupPorts};
pub use refresh_controller::{RefreshController, RefreshControllerPorts};
pub use score_register_file::{ScoreRegisterFile, ScoreRegisterFilePorts};
pub use systolic_evictor::{SystolicEvictor, SystolicEvictorPorts};
