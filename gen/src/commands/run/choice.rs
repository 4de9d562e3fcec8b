//! The next token of a text: `reduce_top` finds the largest logit of a row.

use anyhow::{Context, anyhow, ensure};
use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::job::run;
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use half::f16;
use host::vector::Operand;
use host::{Bus, Chain, Device, Image, Window};
use jobs::hardware::{Hardware, ready};
use sim::bus::AxiConfig;
use sim::{BuildOptions, Sim};
use testbenches::accelerators::decoding::window;

use super::args::LATENCY;
use crate::accelerators::reduce::{self, Record, ReduceEngine, ReduceOperation, ReduceTop};

/// The accelerator for rows of as many logits as there are tokens.
#[must_use]
pub(super) fn block(tokens: usize) -> ReduceTop {
    let operation = ReduceOperation { max_columns: tokens as u32 };
    ReduceTop { engine: ReduceEngine { operation, ..ReduceEngine::default() } }
}

/// Its model for the simulator.
pub(super) fn compiled(block: &ReduceTop) -> anyhow::Result<sim::Model> {
    let design = hdl::lang::elaborate(block)?;
    Ok(sim::Model::build(&sim::Design::from(&design), &BuildOptions::default())?)
}

/// Chooses tokens: the golden model, and the hardware if there is one.
pub(super) struct Choice<'a> {
    golden: reduce::golden::ReduceTop,
    timing: reduce::golden::Timing,
    turns: Turns,
    memory: SparseMemory,
    window: Window,
    /// The chain, the same for each row.
    job: Image,
    row: u64,
    record: u64,
    hardware: Option<Device<Hardware<'a>>>,
    /// Cycles of all choices.
    pub cycles: u64,
    /// Tokens that were chosen.
    pub chosen: u64,
}

impl<'a> Choice<'a> {
    /// Chooses on a simulation of the block, if there is one.
    pub fn new(block: &ReduceTop, sim: Option<&'a mut Sim>) -> anyhow::Result<Self> {
        let window = window(block.engine.bus.axi.address_width);
        let columns = block.engine.operation.max_columns;
        let (record, row) = (window.base + 0x100, window.base + 0x200);
        let [x, out] = [row, record].map(|address| Operand { address, stride: 0 });
        let descriptor = reduce::job([1, columns], (x, out, false), columns, &window)?;
        let job = Chain::new().then(descriptor).place(window.base, &window, 1)?;
        let mut memory = SparseMemory::new();
        memory.store(job.address, &job.bytes);
        let hardware = sim.map(|sim| holding(sim, window, &job)).transpose()?;
        let (golden, timing) = (reduce::golden_of(block), reduce::timing(block, LATENCY));
        let turns = Turns::default();
        Ok(Self { golden, timing, turns, memory, window, job, row, record, hardware, cycles: 0, chosen: 0 })
    }

    /// The token with the largest logit, and of several the first.
    ///
    /// # Errors
    /// No logit is a number; hardware and golden model differ.
    pub fn of(&mut self, logits: &[f16]) -> anyhow::Result<u32> {
        let bytes: Vec<u8> = logits.iter().flat_map(|logit| logit.to_bits().to_le_bytes()).collect();
        self.memory.store(self.row, &bytes);
        let Window { base, limit, .. } = self.window;
        let limits = Limits { base, limit, max_descriptors: 1 };
        let state = (&mut self.memory as &mut dyn golden::accelerators::memory::Memory, &mut self.turns);
        let spent = self.timing.job(&self.golden, limits, self.job.address, state);
        let spent = spent.map_err(|code| anyhow!("the model of the choice's cycles ends with error {code}"))?;
        let cycles = spent.iter().map(|spent| spent.cycles).sum();
        let end = run(&self.golden, limits, self.job.address, &mut self.memory).end;
        ensure!(end.code == 0, "the golden model of the choice ends with error {}", end.code);
        let expected = self.memory.bytes(self.record, Record::BYTES as usize);
        if let Some(device) = &mut self.hardware {
            device.bus().write_memory(self.row, &bytes)?;
            device.start(self.job.address)?;
            device.wait_for_interrupt(16, Hardware::sleep)?;
            let (taken, mut found) = (device.counters()?.cycles, expected.clone());
            device.bus().read_memory(self.record, &mut found)?;
            let differ = || format!("cycles {taken}, expected {cycles}; record {found:02x?}, expected {expected:02x?}");
            ensure!(
                (taken, &found) == (cycles, &expected),
                "the choice on hardware and in the golden model: {}",
                differ()
            );
        }
        let record = Record::from_bytes(expected.try_into().ok().context("a record of another length")?);
        ensure!(!f16::from_bits(record.maximum).is_nan(), "none of {} logits is a number", logits.len());
        self.cycles += cycles;
        self.chosen += 1;
        Ok(record.index)
    }

    /// Bytes of results that were compared.
    pub fn bytes(&self) -> u64 {
        if self.hardware.is_some() { self.chosen * Record::BYTES } else { 0 }
    }
}

/// A device that is ready, with the chain in its memory.
fn holding<'a>(sim: &'a mut Sim, window: Window, job: &Image) -> anyhow::Result<Device<Hardware<'a>>> {
    let mut device = Device::new(Hardware::new(sim, &AxiConfig::ideal(LATENCY), 1)?);
    ready(&mut device, window, 1)?;
    device.bus().write_memory(job.address, &job.bytes)?;
    Ok(device)
}
