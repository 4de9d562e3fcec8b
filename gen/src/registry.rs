//! The catalogue: one line per block.

use std::marker::PhantomData;

use hdl::accelerators::kelle::KelleTop;
use hdl::accelerators::kllm::{KllmTop, OutlierMask, OutlierShare, TokenAppender, TokenPacker};
use hdl::accelerators::sparse::DenseSparseProduct;
use hdl::accelerators::tender::{ExecutionController, TenderTop};
use hdl::accelerators::titanus::{TitanusChain, TitanusCore};
use hdl::accelerators::vector::VectorTop;
use hdl::blocks::{baselines::*, common::*, kelle::*, kllm::*, tender::*, titanus::*};
use hdl::lang::{About, Block, CatalogBlock, Design, Parameter};
use serde_json::{Map, Value};
use testbenches::{MakeBench, Work, baselines, common, kelle, kllm, systems, tender, titanus};

use crate::error::{Failure, Result};

/// Parameters of a block by name, in the order of its struct.
pub type Params = Map<String, Value>;

/// Every block, in the order in which `list` shows them.
#[must_use]
pub fn all() -> Vec<Box<dyn Entry>> {
    vec![
        entry::<MacMesh>("common", common::mac_mesh::bench),
        entry::<FloatAdd>("common", common::float::add::bench),
        entry::<FloatCompare>("common", common::float::compare::bench),
        entry::<FloatConvert>("common", common::float::convert::bench),
        entry::<FloatDivide>("common", common::float::divide::bench),
        entry::<FloatExp>("common", common::float::exp::bench),
        entry::<FloatFma>("common", common::float::fma::bench),
        entry::<FloatFromInt>("common", common::float::from_int::bench),
        entry::<FloatMul>("common", common::float::mul::bench),
        entry::<FloatReciprocal>("common", common::float::reciprocal::bench),
        entry::<FloatRsqrt>("common", common::float::rsqrt::bench),
        entry::<FloatSigmoid>("common", common::float::sigmoid::bench),
        entry::<FloatSqrt>("common", common::float::sqrt::bench),
        entry::<FloatTable>("common", common::float::table::bench),
        entry::<FloatToInt>("common", common::float::to_int::bench),
        entry::<Ram>("common", common::memory::ram::bench),
        entry::<SinglePortRam>("common", common::memory::single_port_ram::bench),
        entry::<DoubleBuffer>("common", common::memory::double_buffer::bench),
        entry::<BankedMemory>("common", common::memory::banked_memory::bench),
        entry::<SkewLines>("common", common::skew_lines::bench),
        entry::<Compactor>("common", common::compactor::bench),
        entry::<Expander>("common", common::expander::bench),
        entry::<StreamRegister>("common", common::stream::stream_register::bench),
        entry::<StreamFifo>("common", common::stream::stream_fifo::bench),
        entry::<StreamFork>("common", common::stream::stream_fork::bench),
        entry::<StreamJoin>("common", common::stream::stream_join::bench),
        entry::<StreamArbiter>("common", common::stream::stream_arbiter::bench),
        entry::<StreamWidthConverter>("common", common::stream::stream_width_converter::bench),
        entry::<AxiReadDma>("common", common::bus::axi_read_dma::bench),
        entry::<AxiWriteDma>("common", common::bus::axi_write_dma::bench),
        entry::<AxiArbiter>("common", common::bus::axi_arbiter::bench),
        entry::<Popcount>("common", common::arith::popcount::bench),
        entry::<LeadingZeros>("common", common::arith::leading_zeros::bench),
        entry::<PriorityEncoder>("common", common::arith::priority_encoder::bench),
        entry::<RowFrame>("common", common::row::row_frame::bench),
        entry::<RotaryEmbedding>("common", common::row::rotary_embedding::bench),
        entry::<VectorUnit>("common", common::row::vector_unit::bench),
        entry::<RmsNorm>("common", common::row::rms_norm::bench),
        entry::<LayerNorm>("common", common::row::layer_norm::bench),
        entry::<Softmax>("common", common::row::softmax::bench),
        entry::<Crc32>("common", common::crc32::bench),
        entry::<AxiLiteRegisters>("common", common::bus::axi_lite_registers::bench),
        entry::<ShellRegisters>("common", common::shell::shell_registers::bench),
        entry::<EventCounters>("common", common::shell::event_counters::bench),
        entry::<JobController>("common", common::shell::job_controller::bench),
        entry::<JobLink>("common", common::shell::job_link::bench),
        entry::<OperandCheck>("common", common::shell::operand_check::bench),
        entry::<OrizuruUnit>("kllm", kllm::orizuru_unit::bench),
        entry::<Orizuru>("kllm", kllm::orizuru::bench),
        entry::<ConcatUnit>("kllm", kllm::concat_unit::bench),
        entry::<IndexDistributionCounter>("kllm", kllm::index_distribution_counter::bench),
        entry::<Fp16Mac>("kllm", kllm::fp16_mac::bench),
        entry::<WeightedSum>("kllm", kllm::weighted_sum::bench),
        entry::<ClusteringUnit>("kllm", kllm::clustering_unit::bench),
        entry::<IndexMatmulColumn>("kllm", kllm::index_matmul_column::bench),
        entry::<PeLane>("kllm", kllm::pe_lane::bench),
        entry::<ScalingUnit>("kllm", kllm::scaling_unit::bench),
        entry::<TenderPe>("tender", tender::tender_pe::bench),
        entry::<MultiScaleArray>("tender", tender::multi_scale_array::bench),
        entry::<WeightStationaryArray>("tender", tender::weight_stationary_array::bench),
        entry::<EdramBank>("kelle", kelle::edram_bank::bench),
        entry::<ScoreRegisterFile>("kelle", kelle::score_register_file::bench),
        entry::<ScoreMemory>("kelle", kelle::score_memory::bench),
        entry::<RefreshController>("kelle", kelle::refresh_controller::bench),
        entry::<KvBankGroup>("kelle", kelle::kv_bank_group::bench),
        entry::<ReconfigurableArray>("kelle", kelle::reconfigurable_array::bench),
        entry::<KvCache>("kelle", kelle::kv_cache::bench),
        entry::<SystolicEvictor>("kelle", kelle::systolic_evictor::bench),
        entry::<EvictionController>("kelle", kelle::eviction_controller::bench),
        entry::<PruningUnit>("titanus", titanus::pruning_unit::bench),
        entry::<MaxMinFinder>("titanus", titanus::max_min_finder::bench),
        entry::<ChannelMonitor>("titanus", titanus::channel_monitor::bench),
        entry::<NonZeroQuantizer>("titanus", titanus::non_zero_quantizer::bench),
        entry::<QuantizationUnit>("titanus", titanus::quantization_unit::bench),
        entry::<ScaleZeroBuffer>("titanus", titanus::scale_zero_buffer::bench),
        entry::<DequantizationUnit>("titanus", titanus::dequantization_unit::bench),
        entry::<KvPacker>("titanus", titanus::kv_packer::bench),
        entry::<KvUnpacker>("titanus", titanus::kv_unpacker::bench),
        entry::<ComputingEngine>("titanus", titanus::computing_engine::bench),
        entry::<DcimMacro>("titanus", titanus::dcim_macro::bench),
        entry::<DcimLinear>("titanus", titanus::dcim_linear::bench),
        entry::<ContextMemory>("titanus", titanus::context_memory::bench),
        entry::<KvCompressor>("titanus", titanus::kv_compressor::bench),
        entry::<KvDecompressor>("titanus", titanus::kv_decompressor::bench),
        entry::<CacheWriter>("titanus", titanus::cache_writer::bench),
        entry::<CacheReader>("titanus", titanus::cache_reader::bench),
        entry::<ExponentPe>("baselines", baselines::exponent_pe::bench),
        entry::<OliveDecoder>("baselines", baselines::olive_decoder::bench),
        entry::<AntDecoder>("baselines", baselines::ant_decoder::bench),
        entry::<OutlierPeGroup>("baselines", baselines::outlier_pe_group::bench),
        entry::<BitSerialPe>("baselines", baselines::bit_serial_pe::bench),
        entry::<VectorTop>("systems", systems::vector_top::bench),
        entry::<ExecutionController>("systems", systems::execution_controller::bench),
        entry::<OutlierShare>("systems", systems::outlier_share::bench),
        entry::<OutlierMask>("systems", systems::outlier_mask::bench),
        entry::<DenseSparseProduct>("systems", systems::dense_sparse_product::bench),
        entry::<TokenAppender>("systems", systems::token_appender::bench),
        entry::<TokenPacker>("systems", systems::token_packer::bench),
        entry::<KllmTop>("systems", systems::kllm_top::bench),
        entry::<KelleTop>("systems", systems::kelle_top::bench),
        entry::<TitanusCore>("systems", systems::titanus_core::bench),
        entry::<TitanusChain>("systems", systems::titanus_chain::bench),
        working::<TenderTop>("systems", systems::tender_top::bench, systems::tender_top::work::WORK),
    ]
}

/// A block without its Rust type: parameters are JSON.
pub trait Entry: Send + Sync {
    /// Paper or collection, the folder of the block.
    fn family(&self) -> &'static str;
    /// Name, contract, source.
    fn about(&self) -> About;
    /// Documentation of the parameters.
    fn parameters(&self) -> Vec<Parameter>;
    /// Where the block is described.
    fn source(&self) -> &'static str;
    /// What is legal in these parameters but hardly meant, in sentences.
    fn warnings(&self, params: &Params) -> Vec<String>;
    /// Default parameters.
    fn defaults(&self) -> Params;
    /// The parameter sets that every check runs on, the default first.
    fn configurations(&self) -> Vec<Params>;
    /// What `prove` runs.
    fn proofs(&self) -> Vec<ProofRun>;
    /// Whether the parameters have the types of the block's struct; the text says what is expected.
    fn accepts(&self, params: &Params) -> Result<(), String>;
    /// What the block's rules say of parameters that it accepts.
    fn check(&self, params: &Params) -> Vec<hdl::lang::ParamError>;
    /// The hardware.
    ///
    /// # Errors
    /// A refused parameter, or errors in the description of the block.
    fn elaborate(&self, params: &Params) -> Result<Design>;
    /// The testbench.
    ///
    /// # Errors
    /// A refused parameter.
    fn bench(&self, params: &Params) -> Result<Box<dyn sim::Bench>>;
    /// Names of the numbers of [`work`](Self::work); none where there is no such work.
    fn work_columns(&self) -> &'static [&'static str];
    /// Cycles of a fixed piece of work, by the block's recurrence.
    ///
    /// # Errors
    /// A block without such work, or parameters that it does not fit on.
    fn work(&self, params: &Params) -> Result<Vec<(&'static str, f64)>>;
}

/// One run of the prover.
#[derive(Clone, Debug)]
pub struct ProofRun {
    /// Parameters.
    pub params: Params,
    /// Cycles that are checked exhaustively.
    pub depth: u32,
    /// Cycles within which covers must be reached.
    pub cover_depth: u32,
    /// Prove for all time as well.
    pub induction: bool,
}

/// The block called `name`.
///
/// # Errors
/// Names similar blocks, or all of them.
pub fn find(name: &str) -> Result<Box<dyn Entry>> {
    let names: Vec<_> = all().iter().map(|e| e.about().name).collect();
    all().into_iter().find(|e| e.about().name == name).ok_or_else(|| {
        let near = similar(name, &names);
        let hint = if near.is_empty() {
            format!("the blocks are: {}", names.join(", "))
        } else {
            format!("did you mean {}? `senbazuru list` shows all blocks", near.join(" or "))
        };
        Failure::Usage(format!("unknown block `{name}`; {hint}"))
    })
}

/// The names close to `wanted`, closest first.
pub(crate) fn similar<'a>(wanted: &str, names: &[&'a str]) -> Vec<&'a str> {
    let score = |name: &str| strsim::jaro_winkler(&wanted.to_lowercase().replace('-', "_"), name);
    let mut near: Vec<_> = names.iter().map(|&n| (score(n), n)).filter(|(s, _)| *s > 0.8).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(3).map(|(_, n)| n).collect()
}

struct Typed<B> {
    family: &'static str,
    bench: MakeBench<B>,
    work: Option<Work<B>>,
    block: PhantomData<fn() -> B>,
}

/// A line of the catalogue.
fn entry<B: CatalogBlock>(family: &'static str, bench: MakeBench<B>) -> Box<dyn Entry> {
    Box::new(Typed { family, bench, work: None, block: PhantomData })
}

/// A line of the catalogue whose block has work to count the cycles of.
fn working<B: CatalogBlock>(family: &'static str, bench: MakeBench<B>, work: Work<B>) -> Box<dyn Entry> {
    Box::new(Typed { family, bench, work: Some(work), block: PhantomData })
}

impl<B: CatalogBlock> Entry for Typed<B> {
    fn family(&self) -> &'static str {
        self.family
    }

    fn about(&self) -> About {
        B::ABOUT
    }

    fn parameters(&self) -> Vec<Parameter> {
        B::default().list()
    }

    fn source(&self) -> &'static str {
        B::SOURCE
    }

    fn warnings(&self, params: &Params) -> Vec<String> {
        from_params::<B>(params).map(|b| b.warnings()).unwrap_or_default()
    }

    fn defaults(&self) -> Params {
        to_params(&B::default())
    }

    fn configurations(&self) -> Vec<Params> {
        std::iter::once(B::default()).chain(B::configurations()).map(|b| to_params(&b)).collect()
    }

    fn proofs(&self) -> Vec<ProofRun> {
        let run = |p: hdl::lang::Proof<B>| ProofRun {
            params: to_params(&p.block),
            depth: p.depth,
            cover_depth: p.cover_depth,
            induction: p.induction,
        };
        B::proofs().into_iter().map(run).collect()
    }

    fn accepts(&self, params: &Params) -> Result<(), String> {
        from_params::<B>(params).map(|_| ())
    }

    fn check(&self, params: &Params) -> Vec<hdl::lang::ParamError> {
        let checked = from_params::<B>(params).map(|block| block.check());
        checked.ok().and_then(Result::err).map(|errors| errors.0).unwrap_or_default()
    }

    fn elaborate(&self, params: &Params) -> Result<Design> {
        let block = from_params::<B>(params).map_err(Failure::Usage)?;
        Ok(hdl::lang::elaborate(&block)?)
    }

    fn bench(&self, params: &Params) -> Result<Box<dyn sim::Bench>> {
        let block = from_params::<B>(params).map_err(Failure::Usage)?;
        (self.bench)(&block).map_err(|e| Failure::Usage(format!("{}: {e:#}", B::ABOUT.name)))
    }

    fn work_columns(&self) -> &'static [&'static str] {
        self.work.as_ref().map(|work| work.columns).unwrap_or_default()
    }

    fn work(&self, params: &Params) -> Result<Vec<(&'static str, f64)>> {
        let name = B::ABOUT.name;
        let Some(work) = &self.work else {
            return Err(Failure::Check(format!(
                "{name} has no work to count the cycles of; complete accelerators have"
            )));
        };
        let block = from_params::<B>(params).map_err(Failure::Usage)?;
        let cycles = (work.cycles)(&block).map_err(|e| Failure::Check(format!("{name}: {e:#}")))?;
        Ok(work.columns.iter().copied().zip(cycles).collect())
    }
}

/// Parameters by name, those of nested structs with dotted names.
fn to_params<B: Block>(block: &B) -> Params {
    hdl::lang::flatten(&block.values()).into_iter().collect()
}

fn from_params<B: CatalogBlock>(params: &Params) -> Result<B, String> {
    serde_json::from_value(hdl::lang::nest(params)).map_err(|e| e.to_string())
}
