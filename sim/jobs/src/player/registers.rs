//! Registers beside a job: writable registers keep the host's values, and constants keep theirs. Counters are right,
//! and the bus carries the attributes that the host asks for.

use std::collections::BTreeSet;

use golden::accelerators::job::{Accelerator, Report};
use hdl::accelerators::top;
use rand::RngExt;
use sim::bus::{AxiMemory, PortStats, Response, Ticket};
use sim::{Run, Sim};

use super::facts::Counter;
use super::register;
use super::state::Player;
use crate::program::Program;

/// A register that no table has, and one that cannot be written.
const REFUSED: [u64; 2] = [0x50, 0];

/// Cycles from the call that writes CONTROL up to the start, and from the end up to the interrupt, without pauses.
const AROUND: u64 = 2;
/// The most such cycles of a host that pauses. Such a host hardly ever takes more.
const AROUND_PAUSES: u64 = 60;

/// Addresses of the words of all registers.
pub(super) fn mapped(block: &impl top::Accelerator) -> anyhow::Result<BTreeSet<u64>> {
    let map = hdl::lang::elaborate(&block.registers())?.manifest().registers.unwrap_or_default();
    let words = map.registers.iter().flat_map(|register| {
        let is_wide = register.fields.iter().any(|field| field.low + field.width > 32);
        [Some(register.offset), is_wide.then_some(register.offset + 4)]
    });
    Ok(words.flatten().map(u64::from).collect())
}

impl<A: Accelerator + Clone> Player<A> {
    /// While no job runs, registers take the bytes that the host writes, and nothing else changes. STATUS loses the
    /// bits that the host clears, and the interrupt follows STATUS and IRQ_ENABLE.
    pub(super) fn play_with_registers(&mut self, sim: &mut Sim, run: &mut Run, bus: &mut AxiMemory) -> sim::Result<()> {
        let mut status = self.load(sim, bus, register::STATUS)? & register::STICKY;
        for _ in 0..self.rng.random_range(0..8u8) {
            let (data, bytes) = (u64::from(self.rng.random::<u32>()), self.rng.random_range(0..16u8));
            let mask = (0..4).filter(|k| bytes >> k & 1 == 1).fold(0, |mask, k| mask | 0xff << (8 * k));
            let at = match self.rng.random_range(0..8u8) {
                0 => 4 * self.rng.random_range(0..0x400),
                1 | 2 => register::STATUS,
                3 => register::IRQ_ENABLE,
                4 => register::CONTROL,
                _ => register::WRITABLE[self.rng.random_range(0..register::WRITABLE.len())].0,
            };
            // Neither a start nor a soft reset.
            let data = if at == register::CONTROL && bytes & 1 == 1 { data & !3 } else { data };
            let ticket = self.host.write_bytes(at, data, bytes);
            let answer = self.host.finish(sim, &mut [&mut *bus], ticket)?.resp;
            let here = register::WRITABLE.iter().find(|(offset, _)| *offset == at);
            if let Some((_, bits)) = here {
                let word = self.words.entry(at).or_default();
                *word = (*word & !mask | data & mask) & bits;
            } else if at == register::STATUS {
                status &= !(data & mask);
            }
            let known = here.is_some() || at == register::STATUS || at == register::CONTROL;
            let response = if known { Response::Okay } else { Response::SlvErr };
            run.expect_equal(sim, "ctrl_bresp_o", &format!("of a write to {at:#x}"), true, answer == response)?;
            let (at, _) = register::WRITABLE[self.rng.random_range(0..register::WRITABLE.len())];
            let (expected, read) = (self.words[&at], self.load(sim, bus, at)?);
            run.expect_equal(sim, "ctrl_rdata_o", &format!("of the register at {at:#x}"), expected, read)?;
            let at = 4 * self.rng.random_range(0..0x400u64);
            let (data, answer) = self.host.load(sim, &mut [&mut *bus], at)?;
            let right = if self.mapped.contains(&at) {
                answer == Response::Okay
            } else {
                (data, answer) == (0, Response::SlvErr)
            };
            run.expect_equal(sim, "ctrl_rresp_o", &format!("of a read at {at:#x}"), true, right)?;
            let read = self.load(sim, bus, register::STATUS)?;
            run.expect_equal(sim, "STATUS", "between jobs", status, read)?;
            run.expect_u64(sim, self.irq, u64::from(status & self.words[&register::IRQ_ENABLE] != 0))?;
        }
        Ok(())
    }

    /// Registers of the shell with their values while no job has run.
    pub(super) fn fixed(&self) -> [(u64, u64); 5] {
        [
            (register::ID, 0x5a42_4e53),
            (register::VERSION, self.facts.number << 16 | 1),
            (register::CONTROL, 0),
            (register::STATUS, 0),
            (register::CAPS_BUS, self.bus.register()),
        ]
    }

    /// Looks at the answer to a read of STATUS, if it is there; before the interrupt a job runs.
    pub(super) fn is_busy(&mut self, sim: &Sim, run: &mut Run, asked: Option<Ticket>) -> sim::Result<Option<Ticket>> {
        let Some(answer) = asked.and_then(|ticket| self.host.answer(ticket)) else { return Ok(asked) };
        if sim.peek_u64(self.irq) == 0 {
            let refused = self.refused.unwrap_or(answer.data & 8);
            run.expect_equal(sim, "STATUS", "while a job runs", 1 | refused, answer.data)?;
        }
        Ok(None)
    }

    /// Writes the registers for a job. The interrupt of a refused start is sometimes enabled, where a second start is
    /// sure to be refused.
    pub(super) fn set_up(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        bus: &mut AxiMemory,
        (program, timeout): (&Program, u64),
        long: bool,
    ) -> sim::Result<()> {
        self.store(sim, bus, register::STATUS, 0xe)?;
        run.expect_u64(sim, self.irq, 0)?;
        // Only modifiable accesses (bit 1) may be allocated (bits 2 and 3).
        let mut cache = || self.rng.random_range(0..16u64);
        let [reads, writes] = [cache(), cache()].map(|cache| if cache & 2 == 0 { cache & 3 } else { cache });
        self.attributes = self.rng.random_range(0..8) << 8 | writes << 4 | reads;
        self.irq_enable = 6 | u64::from(long && self.rng.random()) << 3;
        let words = |at: u64, value: u64| [(at, value & 0xffff_ffff), (at + 4, value >> 32)];
        let mut written = vec![
            (register::IRQ_ENABLE, self.irq_enable),
            (register::TIMEOUT, timeout),
            (register::MAX_DESCRIPTORS, program.limits.max_descriptors.into()),
            (register::BUS, self.attributes),
        ];
        written.extend(words(register::JOB, program.job));
        written.extend(words(register::WINDOW_BASE, program.limits.base));
        written.extend(words(register::WINDOW_LIMIT, program.limits.limit));
        for &(at, value) in &written {
            self.store(sim, bus, at, value)?;
        }
        if self.rng.random_range(0..3u8) == 0 {
            let mut fixed = self.fixed().to_vec();
            fixed.extend(&self.facts.constants);
            for at in REFUSED {
                let answer = self.host.store(sim, &mut [bus], at, u64::MAX >> 32)?;
                run.expect_equal(sim, "ctrl_bresp_o", "of a read-only address", true, answer == Response::SlvErr)?;
            }
            let answer = self.host.load(sim, &mut [bus], REFUSED[0])?;
            run.expect_equal(sim, "ctrl_rresp_o", "of no register", true, answer == (0, Response::SlvErr))?;
            for &(at, value) in written.iter().chain(&fixed) {
                let read = self.load(sim, bus, at)?;
                run.expect_equal(sim, "ctrl_rdata_o", &format!("of the register at {at:#x}"), value, read)?;
            }
        }
        for _ in 0..self.rng.random_range(0..6u8) {
            self.host.cycle(sim, &mut [bus])?;
        }
        Ok(())
    }

    /// Starts the job, sometimes twice.
    pub(super) fn start(&mut self, sim: &mut Sim, run: &mut Run, bus: &mut AxiMemory, long: bool) -> sim::Result<()> {
        self.started = sim.cycle_count();
        self.store(sim, bus, register::CONTROL, 1)?;
        self.refused = Some(0);
        if self.rng.random_range(0..4u8) == 0 {
            self.store(sim, bus, register::CONTROL, 1)?;
            self.refused = long.then_some(8);
            if self.irq_enable & 8 != 0 {
                run.expect_u64(sim, self.irq, 1)?;
                self.store(sim, bus, register::STATUS, 8)?;
                run.expect_u64(sim, self.irq, 0)?;
                self.refused = Some(0);
            }
        }
        Ok(())
    }

    /// Requests carry the attributes that stand in BUS.
    pub(super) fn requests(&self, sim: &Sim, run: &mut Run) -> sim::Result<()> {
        let requests = self.requests.iter().flat_map(|&[ar, aw]| [(0, ar), (4, aw)]);
        for (shift, [valid, cache, prot]) in requests {
            if sim.peek_u64(valid) == 1 {
                run.expect_u64(sim, cache, self.attributes >> shift & 15)?;
                run.expect_u64(sim, prot, self.attributes >> 8)?;
            }
        }
        Ok(())
    }

    /// What was counted in a job whose interrupt came at cycle `end`; `waited` for, with `first` in CYCLES then.
    pub(super) fn counters(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        bus: &mut AxiMemory,
        report: &Report<A::Operation>,
        (end, waited, first): (u64, bool, u64),
    ) -> sim::Result<()> {
        let passed = end - self.started;
        let cycles = self.load_wide(sim, bus, register::CYCLES)?;
        if waited && self.refused.is_some() {
            let right = match self.pauses {
                true => (cycles..=cycles + AROUND_PAUSES).contains(&passed),
                false => passed == cycles + AROUND,
            };
            run.expect_equal(sim, "CYCLES", &format!("{cycles} of {passed} around it"), true, right)?;
            run.expect_equal(sim, "CYCLES", "as at the interrupt", first, cycles)?;
        }
        let kept = self.facts.kept.clone();
        let before = kept.iter().map(|&(_, at)| self.load_wide(sim, bus, at)).collect::<sim::Result<Vec<_>>>()?;
        // Reads are waited for at the DMAs, where the port's buffers and turns come between.
        for (name, at) in [("READ_WAITS", register::READ_WAITS), ("WRITE_WAITS", register::WRITE_WAITS)] {
            let waits = self.load_wide(sim, bus, at)?;
            run.expect_equal(sim, name, "no more than cycles", true, waits <= cycles)?;
        }
        for (&(name, at), before) in kept.iter().zip(before) {
            let now = self.load_wide(sim, bus, at)?;
            run.expect_equal(sim, name, "as before", before, now)?;
        }
        if report.end.code != 0 {
            return Ok(());
        }
        let on_all = |beats: fn(&PortStats) -> u64| self.ports.iter().map(|port| beats(&bus.stats(port))).sum();
        let mut counts = vec![
            ("READ_BEATS", register::READ_BEATS, on_all(|stats| stats.read_beats)),
            ("WRITE_BEATS", register::WRITE_BEATS, on_all(|stats| stats.write_beats)),
            ("WRITE_WAITS", register::WRITE_WAITS, bus.write_wait_cycles()),
        ];
        if report.executed.iter().all(|e| e.defined) {
            let own = |c: &Counter<A::Operation>| (c.name, c.register, (c.expected)(report));
            counts.extend(self.facts.counters.iter().map(own));
        }
        for (name, at, expected) in counts {
            let counted = self.load_wide(sim, bus, at)?;
            run.expect_equal(sim, name, "counted", expected, counted)?;
        }
        Ok(())
    }
}
