//! Kelle, complete: linear layers of 8-bit weights, and the rows between them, from memory to memory.
//!
//! Paper: Kelle (MICRO 2025), sections 5 and 6. Contract: docs/blocks/kelle-top-reference.md.

mod activation_memory;
mod array_turns;
mod attention_engine;
mod attention_operation;
mod attention_sequencer;
mod attention_spec;
mod attention_sums;
mod column_constants;
mod head_operations;
mod head_reader;
mod head_wiper;
mod importance_unit;
mod integer_lanes;
mod kelle_registers;
mod kelle_spec;
mod kelle_top;
mod linear_engine;
mod linear_operation;
mod panel_pages;
mod product_walk;
mod recompute_slots;
mod retention_ports;
mod shared_array;
mod sum_lanes;
mod token_list;
mod token_loader;
mod token_restorer;
mod token_saver;
mod walk;

pub use activation_memory::{ActivationMemory, ActivationMemoryPorts};
pub use array_turns::{ArrayTurns, ArrayTurnsPorts};
pub use attention_engine::{AttentionEngine, AttentionEnginePorts};
pub use attention_operation::{AttentionOperation, AttentionOperationPorts};
pub use attention_sequencer::{AttentionSequencer, AttentionSequencerPorts};
pub use attention_spec::{AttentionSize, AttentionSpec};
pub use attention_sums::{AttentionSums, AttentionSumsPorts};
pub use column_constants::{ColumnConstants, ColumnConstantsPorts};
pub use head_operations::{
    ClearOperation, ClearOperationPorts, RecomputeOperation, RecomputeOperationPorts, RefreshOperation,
    RefreshOperationPorts, RestoreOperation, RestoreOperationPorts, SaveOperation, SaveOperationPorts,
};
pub use head_reader::{HeadReader, HeadReaderPorts};
pub use head_wiper::{HeadWiper, HeadWiperPorts};
pub use importance_unit::{ImportanceUnit, ImportanceUnitPorts};
pub use integer_lanes::{IntegerLane, IntegerLanePorts, IntegerLanes, IntegerLanesPorts};
pub use kelle_registers::{KelleCaps, KelleFields};
pub use kelle_spec::{KelleSpec, Numbers};
pub use kelle_top::{KelleTop, KelleTopPorts};
pub use linear_engine::{LinearEngine, LinearEnginePorts};
pub use linear_operation::{LinearOperation, LinearOperationPorts};
pub use panel_pages::{PanelPages, PanelPagesPorts};
pub use product_walk::{ProductSize, ProductWalk, ProductWalkPorts};
pub use recompute_slots::{RecomputeSlots, RecomputeSlotsPorts};
pub use retention_ports::RetentionPorts;
pub use shared_array::{SharedArray, SharedArrayPorts};
pub use sum_lanes::{Halves, SumLane, SumLanePorts, SumLanes, SumLanesPorts, SumTimes, Sums};
pub use token_list::{TokenList, TokenListPorts};
pub use token_loader::{TokenLoader, TokenLoaderPorts};
pub use token_restorer::{TokenRestorer, TokenRestorerPorts};
pub use token_saver::{TokenSaver, TokenSaverPorts};
