//! Every wrong bit of a descriptor, one after another, and every address of the registers.

use std::collections::BTreeMap;

use golden::accelerators::job::{Accelerator, run as run_golden};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use sim::bus::{AxiConfig, AxiMemory, Response};
use sim::{Run, Sim};

use super::register;
use super::state::Player;
use crate::draft::Draft;

/// Where the descriptor lies.
const JOB: u64 = 0x1000;
/// Cycles in which a refused job ends, though state may be emptied first.
const LONGEST: u64 = 400_000;
/// Words of the space of registers.
const WORDS: u32 = 0x400;

impl<A: Accelerator + Clone> Player<A> {
    /// After a reset, refuses each descriptor that has its least sizes, 0 everywhere else, and one wrong bit: a bit that
    /// no field has, of a field that means nothing there, of a size above its range, of an address that must be aligned.
    /// No job runs. Without the reset, state of earlier jobs that nobody can know would decide between two codes.
    ///
    /// # Errors
    /// A mismatch, or a broken rule of the bus.
    pub(super) fn wrong_bits(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        self.reset(sim)?;
        self.plain_host(sim, run)?;
        let mut words = register::after_reset();
        words.extend([
            (register::STATUS, register::STICKY),
            (register::IRQ_ENABLE, register::STICKY),
            (register::JOB, JOB),
        ]);
        let max_descriptors = words[&register::MAX_DESCRIPTORS] as u32;
        let limits = Limits { base: 0, limit: u64::MAX, max_descriptors };
        let mut bus = AxiMemory::new();
        for port in &self.ports {
            bus.serve(sim, port, &AxiConfig::ideal(1), run.seed())?;
        }
        for (at, value) in words {
            self.store(sim, &mut bus, at, value)?;
        }
        for (bit, draft) in self.operations.least().flat_map(Draft::single_bits).collect::<Vec<_>>() {
            let mut memory = SparseMemory::new();
            memory.store(JOB, &draft.bytes());
            let report = run_golden(&self.golden.clone(), limits, JOB, &mut memory);
            // This bit is right.
            if report.end.code == 0 || !report.executed.is_empty() {
                continue;
            }
            let what = format!("operation {} with its least sizes and bit {bit}", draft.opcode());
            bus.memory_mut().store(JOB, &draft.bytes());
            self.store(sim, &mut bus, register::CONTROL, 1)?;
            let begin = sim.cycle_count();
            while sim.peek_u64(self.irq) == 0 {
                self.host.cycle(sim, &mut [&mut bus])?;
                if sim.cycle_count() - begin > LONGEST {
                    run.expect_equal(sim, "irq_o", &format!("{what}, which does not end"), 1, 0)?;
                }
            }
            let got = self.load(sim, &mut bus, register::ERROR_CODE)?;
            run.expect_equal(sim, "ERROR_CODE", &what, u64::from(report.end.code), got)?;
            self.store(sim, &mut bus, register::STATUS, register::STICKY)?;
        }
        let written = bus.memory().written_outside(&[]).is_some();
        run.expect_equal(sim, "mem", "written by refused jobs", false, written)
    }

    /// After a reset, reads every address, up and down: a register that never changes has its value, one that the host
    /// writes the value after a reset, all others 0. Where there is no register, the answer is SLVERR and 0.
    ///
    /// # Errors
    /// A mismatch, or a broken rule of the bus.
    pub(super) fn every_register(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        self.reset(sim)?;
        self.plain_host(sim, run)?;
        let mut known = BTreeMap::from(self.fixed());
        known.extend(self.words.iter().map(|(&at, &word)| (at, word)));
        known.extend(self.facts.constants.iter().copied());
        // A high word that is read after its low word is as it was then: backwards it is read alone.
        for word in (0..WORDS).chain((0..WORDS).rev()) {
            let at = 4 * u64::from(word);
            let (data, answer) = self.host.load(sim, &mut [], at)?;
            let response = if self.mapped.contains(&at) { Response::Okay } else { Response::SlvErr };
            let expected = known.get(&at).copied().unwrap_or(0);
            run.expect_equal(sim, "ctrl_rdata_o", &format!("of a read at {at:#x} after reset"), expected, data)?;
            run.expect_equal(sim, "ctrl_rresp_o", &format!("of a read at {at:#x}"), true, answer == response)?;
        }
        Ok(())
    }
}
