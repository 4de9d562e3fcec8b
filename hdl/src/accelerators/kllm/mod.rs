//! KLLM, complete: products of tokens and weights that are indices of centroids, with outliers beside, and the rows
//! between them, from memory to memory.
//!
//! A *panel* has the channels of all lanes. If a bank of the lanes holds a panel's weights, they are read once for all
//! tokens, else once for each. Tokens are read again for each panel, which is little compared with its weights.

mod append_engine;
mod append_operation;
mod append_spec;
mod codebook_loader;
mod factor_ring;
mod kllm_engine;
mod kllm_engine_places;
mod kllm_registers;
mod kllm_results;
mod kllm_spec;
mod kllm_top;
mod lane_bank;
mod line_merger;
mod matmul_operation;
mod outlier_finder;
mod outlier_mask;
mod outlier_share;
mod panel_walk;
mod quantize_engine;
mod quantize_operation;
mod quantizer_spec;
mod threshold_unit;
mod token_appender;
mod token_packer;
mod token_quantizer;
mod token_reader;
mod token_scanner;

pub use append_engine::{AppendEngine, AppendEnginePorts};
pub use append_operation::{AppendOperation, AppendOperationPorts};
pub use append_spec::{AppendSize, AppendSpec};
pub use codebook_loader::{CodebookLoader, CodebookLoaderPorts};
pub use factor_ring::{FactorRing, FactorRingPorts};
pub use kllm_engine::{KllmEngine, KllmEnginePorts};
pub use kllm_registers::{KllmCaps, KllmFields};
pub use kllm_results::{KllmResults, KllmResultsPorts};
pub use kllm_spec::{KllmSpec, ProductSize};
pub use kllm_top::KllmTop;
pub use lane_bank::{LaneBank, LaneBankPorts};
pub use line_merger::{LineMerger, LineMergerPorts};
pub use matmul_operation::{MatmulOperation, MatmulOperationPorts};
pub use outlier_finder::{OutlierFinder, OutlierFinderPorts, TokenHead};
pub use outlier_mask::{OutlierMask, OutlierMaskPorts};
pub use outlier_share::{OutlierShare, OutlierSharePorts};
pub use quantize_engine::{QuantizeEngine, QuantizeEnginePorts};
pub use quantize_operation::{QuantizeOperation, QuantizeOperationPorts};
pub use quantizer_spec::{QuantizeSize, QuantizerSpec};
pub use threshold_unit::{ThresholdUnit, ThresholdUnitPorts};
pub use token_appender::{TokenAppender, TokenAppenderPorts};
pub use token_packer::{TokenPacker, TokenPackerPorts};
pub use token_quantizer::{TokenQuantizer, TokenQuantizerPorts};
pub use token_reader::{TokenReader, TokenReaderPorts};
pub use token_scanner::{IndexBeats, TokenScanner, TokenScannerPorts};
