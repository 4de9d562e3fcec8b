//! Units that work on whole rows of fp16 numbers, some lanes a cycle, and their parts.
//!
//! A row enters in beats of `lanes` elements. The unit computes a number of the whole row, such as a maximum or a sum.
//! Then the elements leave, each changed by this number. Nothing inside can be stopped: arithmetic is plain pipelines
//! without enables, and [`RowFrame`] lets a beat start only when there is a place for it at the end.
//!
//! Sums are exact: fp16 numbers, their squares and powers of two below 1 are integers in a common unit. So the order of
//! additions does not matter, and no bit is lost. Each result is rounded once.

pub(crate) mod adder;
mod centre;
mod half;
pub mod inverse_root;
mod lanes;
pub mod layer_norm;
pub mod norm_stage;
mod normaliser;
pub(crate) mod pipe;
mod power;
mod product;
mod reciprocal;
pub mod rms_norm;
pub mod rotary_embedding;
pub mod row_frame;
pub mod section;
pub mod softmax;
pub mod vector_lane;
pub mod vector_unit;

pub use adder::{RowAdder, RowAdderPorts, add};
pub use centre::{CentreLane, CentreLanePorts, FixedLane, FixedLanePorts};
pub use half::{Half, RoundHalf, RoundHalfPorts, ToRound, round_latency, round_to_half};
pub use inverse_root::{InverseRoot, InverseRootPorts, RootDigit, RootDigitPorts};
pub use lanes::{ScaleLane, ScaleLanePorts, SquareLane, SquareLanePorts};
pub use layer_norm::{LayerBeat, LayerNorm, LayerNormPorts};
pub use norm_stage::{GainBeat, NormKind, NormStage, NormStagePorts, NormedBeat, RowUnits, VectorBeat};
pub use normaliser::{RowNormaliser, RowNormaliserPorts, normalise, normalise_latency};
pub use pipe::{held, later, later_valid, tree, tree_latency};
pub use power::{PowerLane, PowerLanePorts};
pub use product::{RowProduct, RowProductPorts, multiple, product, product_held, product_latency, square};
pub use reciprocal::{RowReciprocal, RowReciprocalPorts};
pub use rms_norm::{NormBeat, NormResult, RmsNorm, RmsNormPorts};
pub use rotary_embedding::{AngleBeat, RotaryBeat, RotaryEmbedding, RotaryEmbeddingPorts, RotaryPairs};
pub use row_frame::{FrameBeat, FrameResult, RowFrame, RowFramePorts};
pub use section::Section;
pub use softmax::{ShareLane, ShareLanePorts, Softmax, SoftmaxPorts, SoftmaxResult};
pub use vector_lane::{RequantizeLane, RequantizeLanePorts, VectorLane, VectorLanePorts};
pub use vector_unit::{OperandBeat, VectorResult, VectorSteps, VectorUnit, VectorUnitPorts};
