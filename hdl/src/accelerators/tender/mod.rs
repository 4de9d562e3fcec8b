//! Tender, complete: quantized matrix products with channel groups, and the rows between them, from memory to memory.
//!
//! Operands of a product are *panels*. A panel has one line per row (or column) of the array, and for each channel one
//! word with the channel's integer of every line. So a panel is read channel by channel in any order, and a column of
//! results is a word of a panel of the next product. Rows of fp16 numbers, as norms and softmax need them, turn in the
//! turn buffer.

mod engine_pe;
mod execution_controller;
mod pack_engine;
mod pack_stage;
mod panel_buffer;
mod part_sums;
mod result_stage;
mod strip_walker;
mod sum_buffer;
mod tender_engine;
mod tender_lane;
mod tender_operations;
mod tender_places;
mod tender_registers;
mod tender_results;
mod tender_top;
mod turn_buffer;
mod weight_buffer;

use crate::blocks::tender::TenderPe;
pub use engine_pe::EnginePe;
pub use execution_controller::{ExecutionController, ExecutionControllerPorts, Step, Tiles};
pub use pack_engine::{PackEngine, PackEnginePorts};
pub use pack_stage::{ColumnConstants, IntegerColumns, NumberColumns, PackMode, PackStage, PackStagePorts};
pub use panel_buffer::{PanelBuffer, PanelBufferPorts};
pub use part_sums::{PartSums, PartSumsPorts};
pub use result_stage::{Constants, Numbers, ResultMode, ResultStage, ResultStagePorts, Results};
pub use strip_walker::{Matrix, StripWalker, StripWalkerPorts};
pub use sum_buffer::{SumBuffer, SumBufferPorts, SumColumn};
pub use tender_engine::{TenderEngineOf, TenderEnginePorts};
pub use tender_lane::{LaneTimes, TenderLane, TenderLanePorts};
pub use tender_operations::{MatmulOperation, MatmulOperationPorts, PackOperation, PackOperationPorts};
pub use tender_registers::{TenderCaps, TenderFields};
pub use tender_top::TenderTopOf;
pub use turn_buffer::{Elements, Page, TurnBuffer, TurnBufferPorts};
pub use weight_buffer::{WeightBuffer, WeightBufferPorts};

/// The engine with Tender's PE.
pub type TenderEngine = TenderEngineOf<TenderPe>;

/// The accelerator with Tender's PE.
pub type TenderTop = TenderTopOf<TenderPe>;
