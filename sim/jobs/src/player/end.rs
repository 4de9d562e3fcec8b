//! The end of a job: the interrupt, the registers after it, and the bytes in memory.

use std::ops::RangeInclusive;

use golden::accelerators::job::{Accelerator, Report};
use rand::RngExt;
use sim::bus::{AxiMemory, Partner, PortStats};
use sim::{Run, Sim};

use super::disturbance::Disturbance;
use super::edges::Watched;
use super::register;
use super::state::Player;
use crate::program::Program;

/// The most cycles from the end of the patience for a silent memory to the interrupt: a response to the last write may
/// still have come, and what is in flight is dropped.
const LATE: u64 = 400;

/// Error of memory that does not answer.
const TIMEOUT_CODE: u64 = 13;

impl<A: Accelerator + Clone> Player<A> {
    /// Addresses and beats that memory has taken or given.
    fn moved(&self, bus: &AxiMemory) -> u64 {
        let of = |stats: PortStats| stats.reads + stats.writes + stats.read_beats + stats.write_beats;
        self.ports.iter().map(|port| of(bus.stats(port))).sum()
    }

    /// Runs up to the interrupt, and looks at the registers. Of a silent memory that ended the job: whether its answers
    /// come at last.
    pub(super) fn ends(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        bus: &mut AxiMemory,
        report: &Report<A::Operation>,
        disturbance: Disturbance,
    ) -> sim::Result<Option<bool>> {
        let begin = sim.cycle_count();
        let silence = matches!(disturbance, Disturbance::Silence { .. });
        let (mut asked, mut moves) = (None, (begin, 0));
        while sim.peek_u64(self.irq) == 0 {
            if silence {
                let moved = self.moved(bus);
                moves = if moved == moves.1 { moves } else { (sim.cycle_count(), moved) };
            }
            self.requests(sim, run)?;
            if asked.is_none() && self.rng.random_range(0..64u8) == 0 {
                asked = Some(self.host.read(register::STATUS));
            }
            self.host.cycle(sim, &mut [bus])?;
            asked = self.is_busy(sim, run, asked)?;
            if sim.cycle_count() - begin > 400_000 {
                run.expect_equal(sim, "irq_o", "a job that does not end", 1, 0)?;
            }
        }
        let ended = (sim.cycle_count(), sim.cycle_count() > begin);
        if !silence && ended.1 && self.refused.is_some() {
            // After the interrupt nothing is read or written any more.
            run.expect_equal(sim, "mem", "idle at the interrupt", true, bus.is_idle())?;
        }
        // A read that is still under way may say either.
        if let Some(asked) = asked {
            self.host.finish(sim, &mut [bus], asked)?;
        }
        // A read right after the interrupt sees all counts.
        let first = self.load_wide(sim, bus, register::CYCLES)?;
        let mut status = self.load(sim, bus, register::STATUS)?;
        // A second start may have come after the end: the same job again.
        while self.refused.is_none() && status & 1 == 1 && sim.cycle_count() - begin < 400_000 {
            status = self.load(sim, bus, register::STATUS)?;
        }
        let code = self.load(sim, bus, register::ERROR_CODE)?;
        let end = &report.end;
        if let (Disturbance::Silence { answers, .. }, 4) = (disturbance, status & 6) {
            // Answers are owed, whatever ended the job.
            let codes = report.executed.last().map(|e| e.codes.clone()).unwrap_or_default();
            let known = code == TIMEOUT_CODE || codes.iter().any(|&c| u64::from(c) == code);
            let allowed = known || !report.is_certain();
            let expected = if allowed { code } else { u64::from(end.code) };
            run.expect_equal(sim, "ERROR_CODE", "the golden model's, or the timeout's", expected, code)?;
            run.expect_equal(sim, "STATUS", "busy after an error", 0, status & 1)?;
            let patience = self.words[&register::TIMEOUT] + LATE;
            let in_time = code != TIMEOUT_CODE || ended.0 - moves.0 <= patience;
            run.expect_equal(sim, "irq_o", &format!("{patience} cycles after memory's last beat"), true, in_time)?;
            return Ok(Some(answers));
        }
        if !report.is_certain() {
            run.expect_equal(sim, "STATUS", "busy after the interrupt", 0, status & 1)?;
            return Ok(None);
        }
        self.counters(sim, run, bus, report, (ended.0, ended.1, first))?;
        let refused = self.refused.unwrap_or(status & 8);
        run.expect_equal(sim, "STATUS", "all bits", refused | if end.code == 0 { 2 } else { 4 }, status)?;
        if end.code != 0 {
            let codes = report.executed.last().map(|e| e.codes.clone()).unwrap_or_default();
            let expected = if codes.iter().any(|&c| u64::from(c) == code) { code } else { u64::from(end.code) };
            run.expect_equal(sim, "ERROR_CODE", "the golden model's", expected, code)?;
            let place = self.load_wide(sim, bus, register::ERROR_WHERE)?;
            run.expect_equal(sim, "ERROR_WHERE", "the descriptor", end.place, place)?;
            let details = if codes.len() > 1 { Vec::new() } else { self.golden.details(report) };
            for (offset, expected) in details {
                let got = self.load(sim, bus, offset)?;
                run.expect_equal(sim, "a register", &format!("{offset:#x}"), expected, got)?;
            }
        }
        let tag = self.load(sim, bus, register::TAG)?;
        run.expect_equal(sim, "TAG", "the last one", u64::from(end.tag), tag)?;
        let descriptors = self.load(sim, bus, register::DESCRIPTORS)?;
        run.expect_equal(sim, "DESCRIPTORS", "completed", u64::from(end.descriptors), descriptors)?;
        Ok(None)
    }

    /// Compares the memory, and checks where it was written.
    pub(super) fn compare(
        &mut self,
        sim: &Sim,
        run: &mut Run,
        bus: &AxiMemory,
        (program, report, memory): (&Program, &Report<A::Operation>, &Watched),
        disturbance: Disturbance,
    ) -> sim::Result<()> {
        let area = |r: RangeInclusive<u64>| (*r.start(), (r.end() - r.start()).saturating_add(1));
        let window = program.limits.base..=program.limits.limit;
        let allowed: Vec<(u64, u64)> = match report.is_certain() {
            true => report.written().into_iter().map(area).collect(),
            false => vec![area(window)],
        };
        if let Some(outside) = bus.memory().written_outside(&allowed) {
            let what = format!(": bytes {:#x} to {:#x} are written", outside.start(), outside.end());
            run.expect_equal(sim, "mem", &what, false, true)?;
        }
        if !report.is_certain() {
            return Ok(());
        }
        // Whole beats are read.
        let read: Vec<(u64, u64)> =
            memory.read.iter().map(|r| (r.start() & !127, (r.end() | 127) - (r.start() & !127) + 1)).collect();
        if let Some(outside) = bus.memory().read_outside(&read) {
            let what = format!(": bytes {:#x} to {:#x} are read", outside.start(), outside.end());
            run.expect_equal(sim, "mem", &what, false, true)?;
        }
        if disturbance != Disturbance::None || !program.plain || report.executed.iter().any(|e| !e.defined) {
            return Ok(());
        }
        for (first, bytes) in allowed {
            let mut got = vec![0; bytes as usize];
            bus.memory().load(first, &mut got);
            let expected = memory.memory.bytes(first, bytes as usize);
            let at = got.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(0);
            let what = format!("the byte at {:#x} of {bytes} from {first:#x} on", first + at as u64);
            run.expect_equal(sim, "mem", &what, expected[at], got[at])?;
        }
        Ok(())
    }
}
