//! Blocks of Kelle: key-value caches in eDRAM with adaptive refresh and a systolic evictor.

pub mod byte_banks;
pub mod edram_bank;
pub mod eviction_controller;
pub mod kv_bank_group;
pub mod kv_cache;
pub mod reconfigurable_array;
pub mod refresh_controller;
pub mod score_memory;
pub mod score_register_file;
pub mod systolic_evictor;

pub use byte_banks::{Byte, ByteBanks, ByteBanksPorts};
pub use edram_bank::{EdramBank, EdramBankPorts};
pub use eviction_controller::{Arrival, Entry, EvictionController, EvictionControllerPorts, Place};
pub use kv_bank_group::{KvBankGroup, KvBankGroupPorts};
pub use kv_cache::{Intervals, KvAccess, KvCache, KvCachePorts};
pub use reconfigurable_array::{
    ArrayResult, ArrayRow, ArrayStep, ByteAccumulator, ReconfigurableArray, ReconfigurableArrayPorts, ReconfigurablePe,
};
pub use refresh_controller::{RefreshController, RefreshControllerPorts};
pub use score_memory::{ScoreMemory, ScoreMemoryPorts};
pub use score_register_file::{ScoreRegisterFile, ScoreRegisterFilePorts};
pub use systolic_evictor::{SystolicEvictor, SystolicEvictorPorts};
