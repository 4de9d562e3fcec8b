//! Accelerators for decoding: one token has one row, so the array is wide and low.

use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::row::RowUnits;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::MultiScaleArray;
use host::Window;
use jobs::hardware::Hardware;
use lower::tender::{InSoftware, OnDevice};
use lower::whole::{Executor, Golden, ModelLowering};
use sim::Design;

use super::super::clock::Clock;
use super::super::decoding::{Machine, Runs, WholeAccelerator};
use super::timing::{clock, timing};
use super::{caps_of, golden_of};

/// Numbers of the longest row: the width of the feed-forward network of SmolLM2-135M.
const LONGEST: u32 = 1536;

/// An array with the fewest rows that are allowed, on a bus that brings a word of the right matrix in each cycle. Its
/// panels hold the channels of a down projection of SmolLM2-135M, and its rows are as long. It has no layer norm, which
/// that model does not need.
#[must_use]
pub fn for_decoding(columns: u32) -> TenderTop {
    let data_width = (4 * columns).clamp(32, 1024);
    TenderTop {
        bus: TopParameters {
            axi: AxiSpec { address_width: 32, data_width, id_width: 3 },
            dma: DmaSpec { burst_beats: 8, ..DmaSpec::default() },
            ..TopParameters::default()
        },
        vector: VectorParameters {
            max_beats: LONGEST / (data_width / 16),
            units: RowUnits { layer_norm: false, ..RowUnits::all() },
            ..VectorParameters::all()
        },
        array: MultiScaleArray { rows: 2, columns, skew_in_memory: true, ..MultiScaleArray::default() },
        depth: LONGEST,
        steps: LONGEST + 64,
        strip: (data_width / 16).max(32),
        ..TenderTop::default()
    }
}

/// How the block runs language models: with 128 columns of PEs where a user sets none. There are two rows, the least,
/// which are one of products of 8 bits.
pub const RUNS: Runs<TenderTop> = Runs {
    name: "tender",
    block: || for_decoding(128),
    machine: |block| Ok(Machine::Whole(Box::new(OnTender::new(block)?))),
};

/// An accelerator, and how a model becomes its chains.
#[derive(Clone, Debug)]
pub struct OnTender {
    block: TenderTop,
    lowering: lower::tender::OnTender,
}

impl OnTender {
    /// An accelerator with these parameters.
    ///
    /// # Errors
    /// Parameters that the golden model refuses.
    pub fn new(block: TenderTop) -> anyhow::Result<Self> {
        golden_of(&block)?;
        let lowering = lower::tender::OnTender { caps: caps_of(&block), overlaps: block.bus.overlaps };
        Ok(Self { block, lowering })
    }
}

impl WholeAccelerator for OnTender {
    fn about(&self) -> String {
        let (array, bus) = (&self.block.array, self.block.bus.axi.data_width);
        format!("{} x {} PEs, INT8, a bus of {bus} bits", array.rows, array.columns)
    }

    fn design(&self) -> anyhow::Result<Design> {
        Ok(Design::from(&hdl::lang::elaborate(&self.block)?))
    }

    fn address_width(&self) -> u32 {
        self.block.bus.axi.address_width
    }

    fn on_hardware<'a>(&self, hardware: Hardware<'a>, window: &Window) -> anyhow::Result<Box<dyn Executor + 'a>> {
        Ok(Box::new(OnDevice::new(hardware, window, Hardware::sleep)?))
    }

    fn golden(&self, window: &Window, latency: Option<u32>) -> anyhow::Result<Box<dyn Golden>> {
        let golden = InSoftware::new(golden_of(&self.block)?, window);
        Ok(Box::new(match latency {
            Some(latency) => golden.timed(timing(&self.block, latency)),
            None => golden,
        }))
    }

    fn clock(&self, window: &Window, latency: u32) -> anyhow::Result<Clock> {
        clock((&self.block, latency), window)
    }

    fn lowering(&self) -> &dyn ModelLowering {
        &self.lowering
    }
}
