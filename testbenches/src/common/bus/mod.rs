//! Benches of blocks with an AXI4 port.

pub mod axi_arbiter;
pub mod axi_lite_registers;
pub mod axi_read_dma;
pub mod axi_write_dma;
pub mod memory;

use std::collections::VecDeque;

use golden::common::bus::{Command, End};
use hdl::blocks::common::AxiSpec;
use hdl::blocks::common::bus::DmaSpec;
use rand::RngExt;
use sim::stimulus::{Stall, StallPattern, StimulusRng};
use sim::{In, Out, Run, Sim};

/// The command side of a DMA: offered commands, and the ends that are expected.
#[derive(Debug)]
pub struct Commands {
    valid: In,
    ready: Out,
    fields: [In; 4],
    done_valid: Out,
    done_ready: In,
    done: [Out; 2],
    /// To be offered.
    pub queue: VecDeque<Command>,
    offered: bool,
    pause: StallPattern,
    done_pause: StallPattern,
    takes: bool,
    /// In order.
    pub expected: VecDeque<End>,
    /// Cycle in which the last command was taken, and the first cycle after it that shows an end.
    pub taken_at: u64,
    /// See `taken_at`.
    pub ended_at: u64,
}

impl Commands {
    /// The ports of `sim`.
    ///
    /// # Errors
    /// A port that is missing.
    pub fn new(sim: &Sim, run: &Run, stall: Stall) -> sim::Result<Self> {
        let field = |name: &str| sim.input(&format!("command_{name}_i"));
        Ok(Self {
            valid: field("valid")?,
            ready: sim.output("command_ready_o")?,
            fields: [field("address")?, field("row_bytes")?, field("rows")?, field("stride")?],
            done_valid: sim.output("completion_valid_o")?,
            done_ready: sim.input("completion_ready_i")?,
            done: [sim.output("completion_error_o")?, sim.output("completion_address_o")?],
            queue: VecDeque::new(),
            offered: false,
            pause: stall.pattern(run.seed(), "commands"),
            done_pause: stall.pattern(run.seed(), "ends"),
            takes: false,
            expected: VecDeque::new(),
            taken_at: 0,
            ended_at: 0,
        })
    }

    /// Another way to pause.
    pub fn set_stall(&mut self, run: &Run, stall: Stall) {
        (self.pause, self.done_pause) = (stall.pattern(run.seed(), "commands"), stall.pattern(run.seed(), "ends"));
    }

    /// Nothing is offered or expected any more.
    pub fn forget(&mut self) {
        self.queue.clear();
        self.expected.clear();
        self.offered = false;
    }

    /// Inputs of this cycle.
    pub fn drive(&mut self, sim: &mut Sim) {
        self.offered |= !self.queue.is_empty() && !self.pause.next_pause();
        sim.poke_u64(self.valid, self.offered.into());
        let noise = (sim.cycle_count() + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let command = self.queue.front().filter(|_| self.offered);
        let values = command.map(|c| [c.address, c.row_bytes, c.rows, c.stride]);
        for (at, field) in self.fields.into_iter().enumerate() {
            let unused = noise.rotate_left(16 * at as u32) >> (64 - sim.port_of_input(field).width);
            sim.poke_u64(field, values.map_or(unused, |v| v[at]));
        }
        self.takes = !self.done_pause.next_pause();
        sim.poke_u64(self.done_ready, self.takes.into());
    }

    /// Outputs of this cycle. Returns the command that was taken, and whether one has ended.
    ///
    /// # Errors
    /// A wrong end.
    pub fn look(&mut self, sim: &Sim, run: &mut Run) -> sim::Result<(Option<Command>, bool)> {
        let mut taken = None;
        if self.offered && sim.peek_u64(self.ready) == 1 {
            taken = self.queue.pop_front();
            self.offered = false;
            self.taken_at = sim.cycle_count();
            self.ended_at = 0;
        }
        let shown = sim.peek_u64(self.done_valid) == 1;
        if shown && self.ended_at == 0 {
            self.ended_at = sim.cycle_count();
        }
        if shown && self.takes {
            let Some(end) = self.expected.pop_front() else {
                memory::rule(run, sim, "completion_valid_o", false, "an end that no command has")?;
                return Ok((taken, true));
            };
            run.expect_u64(sim, self.done[0], end.error)?;
            run.expect_u64(sim, self.done[1], end.address)?;
        }
        Ok((taken, shown && self.takes))
    }
}

/// Shapes of commands that a bench tries.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of a beat.
    pub bytes: u64,
    /// Bits of an address.
    pub address_width: u32,
    /// Most beats of a burst.
    pub most: u64,
    /// Most bytes of a row, most rows, largest stride.
    pub largest: [u64; 3],
}

impl Shape {
    /// Of these parameters.
    pub fn of(axi: &AxiSpec, dma: &DmaSpec) -> Self {
        let largest = [dma.row_width, dma.rows_width, dma.stride_width].map(top_of);
        Self { bytes: axi.bytes().into(), address_width: axi.address_width, most: dma.burst_beats.into(), largest }
    }

    /// A command that is not refused, of about `beats` beats at most.
    pub fn good(&self, rng: &mut StimulusRng, beats: u64) -> Command {
        loop {
            let most = (beats * self.bytes).min(self.largest[0]);
            let row_bytes = match rng.random_range(0..6u8) {
                0 => rng.random_range(1..=self.bytes.min(most)),
                1 => most,
                // To the end of a unit, and one byte less or more.
                2 => (64 * rng.random_range(1..=2) + rng.random_range(0..=2) - 1).min(self.largest[0]),
                _ => rng.random_range(1..=most),
            };
            // Many rows are short.
            let many = if row_bytes <= self.bytes { 2 * beats } else { 4 };
            let rows = rng.random_range(1..=many.min(self.largest[1]));
            let stride = match rng.random_range(0..4u8) {
                0 => rng.random::<u64>() & self.largest[2] & !63,
                _ => 64 * rng.random_range(0..=2 * row_bytes.div_ceil(64)),
            };
            let top = top_of(self.address_width);
            let span = row_bytes - 1 + (rows - 1).saturating_mul(stride);
            let address = match rng.random_range(0..4u8) {
                // Around a boundary of 4 KiB.
                0 => 0x7000 - 64 * rng.random_range(0..8),
                // Up to the last address.
                1 => top.saturating_sub(span) / 64 * 64,
                _ => rng.random::<u64>() & top & !63,
            };
            let command = Command { address, row_bytes, rows, stride };
            if stride <= self.largest[2] && command.refusal(self.address_width).is_none() {
                return command;
            }
        }
    }

    /// Commands whose last byte has an address that is too large by any power of two, less one.
    pub fn just_outside(&self) -> Vec<Command> {
        let [most_bytes, most_rows, most_stride] = self.largest;
        let end = u128::from(top_of(self.address_width)) + 1;
        let outside = |bit: u32| {
            let beyond = 1u64 << bit;
            let row_bytes = (64 + if bit < 6 { beyond } else { 0 }).min(most_bytes);
            // The first row must be inside.
            let rows = if bit < 6 { 1 } else { most_rows.min(64) };
            let stride = beyond.div_ceil(rows.max(2) - 1).next_multiple_of(64);
            let span = u128::from(row_bytes) + u128::from(rows - 1) * u128::from(stride);
            let address = (end + u128::from(beyond)).checked_sub(span)?;
            let fits = stride <= most_stride && address.is_multiple_of(64) && address < end;
            fits.then_some(Command { address: address as u64, row_bytes, rows, stride })
        };
        (0..self.address_width.min(60)).filter_map(outside).collect()
    }

    /// A command that is refused.
    pub fn bad(&self, rng: &mut StimulusRng) -> Command {
        let good = self.good(rng, 4);
        let [row_bytes, rows, stride] = self.largest;
        let top = top_of(self.address_width);
        let span = good.row_bytes - 1 + (good.rows - 1) * good.stride;
        let wrong = match rng.random_range(0..10u8) {
            0..=2 => Command { address: good.address | rng.random_range(1..64), ..good },
            3 => Command { row_bytes: 0, ..good },
            4 => Command { rows: 0, ..good },
            5 => Command { stride: good.stride | 1 << rng.random_range(0..6u32), ..good },
            6 => Command { address: top & !63, row_bytes: rng.random_range(65..=200).min(row_bytes), ..good },
            // The first row is inside.
            7 => Command { address: top & !63, rows, stride: 64, row_bytes: 1 },
            // Too far by less than 64 bytes.
            8 => Command { address: ((top - span) / 64).saturating_add(1).saturating_mul(64) & top, ..good },
            // Anything, most of it far outside.
            _ => Command {
                address: rng.random::<u64>() & top & !63,
                row_bytes: 1 + rng.random::<u64>() % row_bytes,
                rows: 1 + rng.random::<u64>() % rows,
                stride: rng.random::<u64>() & stride & !63,
            },
        };
        match wrong.refusal(self.address_width) {
            Some(_) => wrong,
            None => Command { row_bytes: 0, ..good },
        }
    }
}

/// The largest number of so many bits.
fn top_of(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}
