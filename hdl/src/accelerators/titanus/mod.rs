//! The Titanus core. It does products with weights that stay in compute-in-memory macros, and with cached keys and
//! values. It keeps the cache, pruned, quantized and packed, in streams that stay open while a text goes on.
//!
//! A layer is a chain of operations through memory: loads, products, the steps of the vector unit on rows, and the
//! cache.

mod block_mover;
mod cache_engine;
mod cache_operations;
mod cache_work;
mod constant_table;
mod context_products;
mod linear_engine;
mod linear_operations;
mod linear_places;
mod linear_results;
mod load_engine;
mod probability_lanes;
mod tile_rows;
mod titanus_chain;
mod titanus_core;
mod titanus_registers;
mod titanus_spec;
mod token_tiles;
mod weight_loader;

pub use block_mover::{BlockMover, BlockMoverPorts};
pub use cache_engine::{CacheEngine, CacheEnginePorts};
pub use cache_operations::{AppendOperation, AppendOperationPorts, RestoreOperation, RestoreOperationPorts};
pub use constant_table::{ConstantTable, ConstantTablePorts};
pub use context_products::{ContextPlace, ContextProducts, ContextProductsPorts};
pub use linear_engine::{LinearEngine, LinearEnginePorts};
pub use linear_operations::{LoadOperation, LoadOperationPorts, MultiplyOperation, MultiplyOperationPorts};
pub use linear_results::{LinearResults, LinearResultsPorts, ResultBeat};
pub use load_engine::{LoadEngine, LoadEnginePorts};
pub use probability_lanes::{ByteBeat, ProbabilityLanes, ProbabilityLanesPorts};
pub use tile_rows::{TileRows, TileRowsPorts};
pub use titanus_chain::{TitanusChain, TitanusChainPorts};
pub use titanus_core::{TitanusCore, TitanusCorePorts};
pub use titanus_registers::{TitanusCaps, TitanusFields};
pub use titanus_spec::{SumBeat, TitanusSpec};
pub use token_tiles::{TokenTiles, TokenTilesPorts};
pub use weight_loader::{WeightLoader, WeightLoaderPorts};
