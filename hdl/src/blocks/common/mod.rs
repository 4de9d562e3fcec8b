//! Parts that more than one paper uses.

pub mod arith;
pub mod bus;
pub mod compactor;
pub mod crc32;
pub mod expander;
pub mod float;
pub mod mac_mesh;
pub mod memory;
pub mod number_format;
pub mod pipeline;
pub mod row;
pub mod shell;
pub mod skew_lines;
pub mod stream;

pub use arith::{LeadingZeros, LeadingZerosPorts, Popcount, PopcountPorts, PriorityEncoder, PriorityEncoderPorts};
pub use bus::{
    AxiArbiter, AxiArbiterPorts, AxiLiteRegisters, AxiLiteRegistersPorts, AxiReadDma, AxiReadDmaPorts, AxiSpec,
    AxiWriteDma, AxiWriteDmaPorts, DmaSpec,
};
pub use compactor::{Compactor, CompactorPorts};
pub use crc32::{Crc32, Crc32Ports};
pub use expander::{Expander, ExpanderPorts};
pub use float::{
    FloatAdd, FloatCompare, FloatConvert, FloatDivide, FloatExp, FloatFma, FloatFormat, FloatFromInt, FloatFunction,
    FloatMul, FloatReciprocal, FloatRsqrt, FloatSigmoid, FloatSqrt, FloatTable, FloatToInt, RoundingDirection,
    Subnormals,
};
pub use mac_mesh::{MacMesh, MacMeshPorts, MacPe, MacPePorts};
pub use memory::{
    BankedMemory, BankedMemoryPorts, DoubleBuffer, DoubleBufferPorts, Ram, RamImplementation, RamPorts, SinglePortRam,
    SinglePortRamPorts, SramMacro,
};
pub use number_format::{NanPolicy, NumberFormat};
pub use pipeline::{Pipeline, PipelineStage, before};
pub use row::{
    CentreLane, InverseRoot, LayerNorm, LayerNormPorts, PowerLane, RmsNorm, RmsNormPorts, RotaryEmbedding,
    RotaryEmbeddingPorts, RoundHalf, RowAdder, RowFrame, RowFramePorts, RowProduct, RowReciprocal, ScaleLane,
    ShareLane, Softmax, SoftmaxPorts, SquareLane, VectorUnit, VectorUnitPorts,
};
pub use shell::{
    Dispatcher, DispatcherPorts, EventCounters, EventCountersPorts, JobController, JobControllerPorts, JobLink,
    JobLinkPorts, OperandCheck, OperandCheckPorts, ShellRegisters, ShellRegistersPorts,
};
pub use skew_lines::{SkewDirection, SkewLines, SkewLinesPorts};
pub use stream::{
    StreamArbiter, StreamArbiterPorts, StreamFifo, StreamFifoPorts, StreamFork, StreamForkPorts, StreamJoin,
    StreamJoinPorts, StreamRegister, StreamRegisterPorts, StreamWidthConverter, StreamWidthConverterPorts,
};
