//! The blocks of Senbazuru: one line a block. A block that no other block contains is one file of this folder.

pub mod ant_decoder;
pub mod group_rounder;

use hdl::accelerators::kelle::KelleTop;
use hdl::accelerators::kllm::{KllmTop, OutlierMask, OutlierShare, TokenAppender, TokenPacker};
use hdl::accelerators::sparse::DenseSparseProduct;
use hdl::accelerators::tender::{ExecutionController, TenderTop};
use hdl::accelerators::titanus::{TitanusChain, TitanusCore};
use hdl::accelerators::vector::VectorTop;
use hdl::blocks::{baselines::*, common::*, kelle::*, kllm::*, tender::*, titanus::*};
use testbenches::{accelerators, baselines, common, kelle, kllm, tender, titanus};

use crate::accelerators::reduce;
use crate::catalogue::{Catalogue, Line};

impl Catalogue {
    /// The blocks of Senbazuru, in the order in which `list` shows them, and its schemes. It needs the feature `standard`.
    #[must_use]
    pub fn standard() -> Self {
        let blocks = Self::empty()
            .line(Line::<MacMesh>::new("common", common::mac_mesh::bench).tensors(common::mac_mesh::TENSORS))
            .block::<FloatAdd>("common", common::float::add::bench)
            .block::<FloatCompare>("common", common::float::compare::bench)
            .block::<FloatConvert>("common", common::float::convert::bench)
            .block::<FloatDivide>("common", common::float::divide::bench)
            .block::<FloatExp>("common", common::float::exp::bench)
            .block::<FloatFma>("common", common::float::fma::bench)
            .block::<FloatFromInt>("common", common::float::from_int::bench)
            .block::<FloatMul>("common", common::float::mul::bench)
            .block::<FloatReciprocal>("common", common::float::reciprocal::bench)
            .block::<FloatRsqrt>("common", common::float::rsqrt::bench)
            .block::<FloatSigmoid>("common", common::float::sigmoid::bench)
            .block::<FloatSqrt>("common", common::float::sqrt::bench)
            .block::<FloatTable>("common", common::float::table::bench)
            .block::<FloatToInt>("common", common::float::to_int::bench)
            .block::<Ram>("common", common::memory::ram::bench)
            .block::<SinglePortRam>("common", common::memory::single_port_ram::bench)
            .block::<DoubleBuffer>("common", common::memory::double_buffer::bench)
            .block::<BankedMemory>("common", common::memory::banked_memory::bench)
            .block::<SkewLines>("common", common::skew_lines::bench)
            .block::<Compactor>("common", common::compactor::bench)
            .block::<Expander>("common", common::expander::bench)
            .block::<StreamRegister>("common", common::stream::stream_register::bench)
            .block::<StreamFifo>("common", common::stream::stream_fifo::bench)
            .block::<StreamFork>("common", common::stream::stream_fork::bench)
            .block::<StreamJoin>("common", common::stream::stream_join::bench)
            .block::<StreamArbiter>("common", common::stream::stream_arbiter::bench)
            .block::<StreamWidthConverter>("common", common::stream::stream_width_converter::bench)
            .block::<AxiReadDma>("common", common::bus::axi_read_dma::bench)
            .block::<AxiWriteDma>("common", common::bus::axi_write_dma::bench)
            .block::<AxiArbiter>("common", common::bus::axi_arbiter::bench)
            .block::<group_rounder::GroupRounder>("common", group_rounder::bench)
            .block::<Popcount>("common", common::arith::popcount::bench)
            .block::<LeadingZeros>("common", common::arith::leading_zeros::bench)
            .block::<PriorityEncoder>("common", common::arith::priority_encoder::bench)
            .block::<RowFrame>("common", common::row::row_frame::bench)
            .block::<RowAdder>("common", common::row::parts::adder)
            .block::<RowProduct>("common", common::row::parts::product)
            .block::<RowReciprocal>("common", common::row::parts::reciprocals)
            .block::<InverseRoot>("common", common::row::parts::root)
            .block::<PowerLane>("common", common::row::parts::power)
            .block::<SquareLane>("common", common::row::parts::squares)
            .block::<ScaleLane>("common", common::row::parts::scale)
            .block::<CentreLane>("common", common::row::parts::centre)
            .block::<ShareLane>("common", common::row::parts::share)
            .block::<RoundHalf>("common", common::row::parts::round)
            .line(
                Line::<RotaryEmbedding>::new("common", common::row::rotary_embedding::bench)
                    .tensors(common::row::rotary_embedding::TENSORS),
            )
            .line(
                Line::<VectorUnit>::new("common", common::row::vector_unit::bench)
                    .tensors(common::row::vector_unit::TENSORS),
            )
            .line(Line::<RmsNorm>::new("common", common::row::rms_norm::bench).tensors(common::row::rms_norm::TENSORS))
            .line(
                Line::<LayerNorm>::new("common", common::row::layer_norm::bench)
                    .tensors(common::row::layer_norm::TENSORS),
            )
            .line(Line::<Softmax>::new("common", common::row::softmax::bench).tensors(common::row::softmax::TENSORS))
            .block::<Crc32>("common", common::crc32::bench)
            .block::<AxiLiteRegisters>("common", common::bus::axi_lite_registers::bench)
            .block::<ShellRegisters>("common", common::shell::shell_registers::bench)
            .block::<EventCounters>("common", common::shell::event_counters::bench)
            .block::<JobController>("common", common::shell::job_controller::bench)
            .block::<Dispatcher>("common", common::shell::dispatcher::bench)
            .block::<JobLink>("common", common::shell::job_link::bench)
            .block::<OperandCheck>("common", common::shell::operand_check::bench)
            .block::<OrizuruUnit>("kllm", kllm::orizuru_unit::bench)
            .line(Line::<Orizuru>::new("kllm", kllm::orizuru::bench).tensors(kllm::orizuru::TENSORS))
            .block::<ConcatUnit>("kllm", kllm::concat_unit::bench)
            .block::<IndexDistributionCounter>("kllm", kllm::index_distribution_counter::bench)
            .block::<Fp16Mac>("kllm", kllm::fp16_mac::bench)
            .block::<WeightedSum>("kllm", kllm::weighted_sum::bench)
            .line(
                Line::<ClusteringUnit>::new("kllm", kllm::clustering_unit::bench)
                    .tensors(kllm::clustering_unit::TENSORS),
            )
            .block::<IndexMatmulColumn>("kllm", kllm::index_matmul_column::bench)
            .block::<PeLane>("kllm", kllm::pe_lane::bench)
            .block::<ScalingUnit>("kllm", kllm::scaling_unit::bench)
            .block::<TenderPe>("tender", tender::tender_pe::bench)
            .line(
                Line::<MultiScaleArray>::new("tender", tender::multi_scale_array::bench)
                    .tensors(tender::product::tensors()),
            )
            .line(
                Line::<WeightStationaryArray>::new("tender", tender::weight_stationary_array::bench)
                    .tensors(tender::weight_stationary_array::TENSORS),
            )
            .block::<EdramBank>("kelle", kelle::edram_bank::bench)
            .block::<ScoreRegisterFile>("kelle", kelle::score_register_file::bench)
            .block::<ScoreMemory>("kelle", kelle::score_memory::bench)
            .block::<RefreshController>("kelle", kelle::refresh_controller::bench)
            .block::<KvBankGroup>("kelle", kelle::kv_bank_group::bench)
            .line(
                Line::<ReconfigurableArray>::new("kelle", kelle::reconfigurable_array::bench)
                    .tensors(kelle::reconfigurable_array::TENSORS),
            )
            .block::<KvCache>("kelle", kelle::kv_cache::bench)
            .line(
                Line::<SystolicEvictor>::new("kelle", kelle::systolic_evictor::bench)
                    .tensors(kelle::systolic_evictor::TENSORS),
            )
            .line(
                Line::<EvictionController>::new("kelle", kelle::eviction_controller::bench)
                    .tensors(kelle::eviction_controller::TENSORS),
            )
            .block::<PruningUnit>("titanus", titanus::pruning_unit::bench)
            .line(
                Line::<MaxMinFinder>::new("titanus", titanus::max_min_finder::bench)
                    .tensors(titanus::max_min_finder::TENSORS),
            )
            .block::<ChannelMonitor>("titanus", titanus::channel_monitor::bench)
            .line(
                Line::<NonZeroQuantizer>::new("titanus", titanus::non_zero_quantizer::bench)
                    .tensors(titanus::non_zero_quantizer::TENSORS),
            )
            .line(
                Line::<QuantizationUnit>::new("titanus", titanus::quantization_unit::bench)
                    .tensors(titanus::quantization_unit::TENSORS),
            )
            .block::<ScaleZeroBuffer>("titanus", titanus::scale_zero_buffer::bench)
            .line(
                Line::<DequantizationUnit>::new("titanus", titanus::dequantization_unit::bench)
                    .tensors(titanus::dequantization_unit::TENSORS),
            )
            .block::<KvPacker>("titanus", titanus::kv_packer::bench)
            .block::<KvUnpacker>("titanus", titanus::kv_unpacker::bench)
            .block::<ComputingEngine>("titanus", titanus::computing_engine::bench)
            .line(Line::<DcimMacro>::new("titanus", titanus::dcim_macro::bench).tensors(titanus::dcim_macro::TENSORS))
            .line(
                Line::<DcimLinear>::new("titanus", titanus::dcim_linear::bench).tensors(titanus::dcim_linear::TENSORS),
            )
            .block::<ContextMemory>("titanus", titanus::context_memory::bench)
            .line(
                Line::<KvCompressor>::new("titanus", titanus::kv_compressor::bench)
                    .tensors(titanus::kv_compressor::TENSORS),
            )
            .block::<KvDecompressor>("titanus", titanus::kv_decompressor::bench)
            .block::<CacheWriter>("titanus", titanus::cache_writer::bench)
            .block::<CacheReader>("titanus", titanus::cache_reader::bench)
            .block::<ExponentPe>("baselines", baselines::exponent_pe::bench)
            .block::<OliveDecoder>("baselines", baselines::olive_decoder::bench)
            .block::<ant_decoder::AntDecoder>("baselines", ant_decoder::bench)
            .block::<OutlierPeGroup>("baselines", baselines::outlier_pe_group::bench)
            .block::<BitSerialPe>("baselines", baselines::bit_serial_pe::bench)
            .block::<VectorTop>("accelerators", accelerators::vector::bench)
            .block::<reduce::ReduceTop>("accelerators", reduce::bench)
            .block::<ExecutionController>("accelerators", accelerators::execution_controller::bench)
            .block::<OutlierShare>("accelerators", accelerators::outlier_share::bench)
            .block::<OutlierMask>("accelerators", accelerators::outlier_mask::bench)
            .block::<DenseSparseProduct>("accelerators", accelerators::dense_sparse_product::bench)
            .block::<TokenAppender>("accelerators", accelerators::token_appender::bench)
            .block::<TokenPacker>("accelerators", accelerators::token_packer::bench)
            .line(
                Line::<KllmTop>::new("accelerators", accelerators::kllm::bench)
                    .runs(accelerators::kllm::layer::decoding::RUNS)
                    .counts(accelerators::kllm::COSTS),
            )
            .line(
                Line::<KelleTop>::new("accelerators", accelerators::kelle::bench)
                    .runs(accelerators::kelle::layer::decoding::RUNS)
                    .counts(accelerators::kelle::COSTS),
            )
            .line(
                Line::<TitanusCore>::new("accelerators", accelerators::titanus::bench)
                    .runs(accelerators::titanus::layer::decoding::RUNS)
                    .counts(accelerators::titanus::COSTS),
            )
            .block::<TitanusChain>("accelerators", accelerators::titanus_chain::bench)
            .line(
                Line::<TenderTop>::new("accelerators", accelerators::tender::bench)
                    .work(accelerators::tender::work::WORK)
                    .runs(accelerators::tender::decoding::RUNS)
                    .counts(accelerators::tender::COSTS),
            );
        models::schemes::registry().into_iter().fold(blocks, Self::scheme)
    }
}
