//! Cycles of jobs with a memory that never pauses, against the golden recurrences.

use golden::accelerators::cycles::{Dma, ENGINES, Frame, Recurrence, Shell, Turns, Unit};
use golden::accelerators::job::{Accelerator, run as run_golden};
use golden::accelerators::memory::SparseMemory;
use hdl::accelerators::top;
use hdl::blocks::common::OperandCheck;
use hdl::blocks::common::row::{RowFrame, VectorUnit};
use rand::RngExt;
use sim::bus::{AxiConfig, AxiLiteHost, AxiMemory, LiteConfig};
use sim::stimulus::StimulusRng;
use sim::{Run, Sim};

use crate::draft::Operations;
use crate::player::register;
use crate::program::Program;

/// The path from an accelerator to a memory that answers after `latency` cycles.
#[must_use]
pub fn shell(block: &impl top::Accelerator, latency: u32) -> Shell {
    let shell = block.shell();
    let mut engines = [0; ENGINES];
    if shell.engines > 1 {
        engines.iter_mut().zip(block.readers()).for_each(|(to, readers)| *to = readers as usize);
    }
    let of = |beats: u32| Dma {
        burst_beats: shell.dma.burst_beats.into(),
        outstanding: shell.dma.outstanding.into(),
        commands: shell.dma.commands.into(),
        beats: beats.into(),
    };
    Shell {
        bus_bytes: (shell.axi.data_width / 8).into(),
        latency: latency.into(),
        ports: shell.ports as usize,
        readers: shell.readers as usize,
        engines,
        reads: of(shell.read_beats),
        writes: of(shell.write_beats),
        address_width: shell.axi.address_width,
        check: (OperandCheck::of(&shell.axi, &shell.dma).cycles() + 1).into(),
    }
}

/// Where a row waits until it was looked at as a whole.
#[must_use]
pub fn frame(frame: RowFrame) -> Frame {
    Frame {
        beats: frame.buffer.into(),
        preparation: frame.preparation.into(),
        analysis: frame.analysis.into(),
        scaling: frame.scaling.into(),
    }
}

/// How long the parts of a vector unit take.
#[must_use]
pub fn unit(unit: &VectorUnit) -> Unit {
    let stage = unit.stage();
    Unit {
        steps: unit.lane.latency().into(),
        apart: unit.lane.apart,
        rotary: (unit.rotary().cycles(0) - 1).into(),
        frames: [frame(stage.rms_norm().frame()), frame(stage.softmax().frame()), frame(stage.layer_norm().frame())],
        requantize: unit.requantize.latency().into(),
    }
}

/// Registers of beats, and the events that they count.
const BEATS: [(&str, u64, &str); 2] =
    [("READ_BEATS", register::READ_BEATS, "read beat"), ("WRITE_BEATS", register::WRITE_BEATS, "write beat")];

/// A register that counts waits that no recurrence knows: its name and its offset.
pub type Wait = (&'static str, u64);

/// Waits that no recurrence knows.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// A chain for which one of these counts may take longer than the recurrence says.
    pub registers: Vec<Wait>,
    /// None of them ever counts.
    pub never: bool,
    /// Cycles after a reset in which an operation may wait.
    pub ready: u64,
}

/// The bench of an accelerator's cycles. Random chains that are right run with an ideal memory of some latency, and
/// take as many cycles as the recurrence says; a vector is such a chain. `draw` draws a chain of up to `most`
/// descriptors for what the model remembers, and `timing` gives the recurrence for a latency. The registers of
/// `waits` read as 0 after each chain.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench<B, A, R>(
    p: &B,
    (golden, waits): (A, Waits),
    most: u32,
    draw: impl Fn(&mut StimulusRng, (&Operations, &A), u32) -> Program + 'static,
    timing: impl Fn(&B, u32) -> R + 'static,
) -> anyhow::Result<Box<dyn sim::Bench>>
where
    B: top::Accelerator + Clone + 'static,
    A: Accelerator + Clone + 'static,
    R: Recurrence<A>,
{
    let waits = Waits { never: true, ..waits };
    let (block, operations) = (p.clone(), Operations::of(p));
    sim::kit::bench(p, move |sim, run| {
        let draw = |rng: &mut StimulusRng, model: &A| draw(rng, (&operations, model), most);
        compare((sim, run), (&golden, &waits), draw, |latency| timing(&block, latency))
    })
}

/// Compares the cycles of chains, as many as the run has vectors.
pub(crate) fn compare<A: Accelerator + Clone, R: Recurrence<A>>(
    (sim, run): (&mut Sim, &mut Run),
    (golden, waits): (&A, &Waits),
    draw: impl Fn(&mut StimulusRng, &A) -> Program,
    timing: impl Fn(u32) -> R,
) -> sim::Result<()> {
    sim.reset(2)?;
    let mut rng = run.rng("jobs");
    let mut host = AxiLiteHost::new(sim, "ctrl", LiteConfig::default(), run.seed())?;
    for _ in 0..waits.ready {
        host.cycle(sim, &mut [])?;
    }
    let irq = sim.output("irq_o")?;
    let (mut number, mut turns, mut model) = (0, Turns::default(), golden.clone());
    while number < run.vectors() {
        let program = draw(&mut rng, &model);
        let latency = [1, 2, 7, 20, 60][rng.random_range(0..5usize)];
        let memory = || {
            let mut memory = SparseMemory::new();
            memory.store(program.base, &program.image);
            memory
        };
        let after = model.clone();
        let report = run_golden(&after, program.limits, program.job, &mut memory());
        // An overflow ends a job wherever it is found; results on a descriptor make another chain.
        if report.end.code != 0 || report.executed.iter().any(|e| !e.defined) {
            continue;
        }
        number += 1;
        // The recurrence sees the model as it is before the chain.
        let spent = timing(latency).job(&model, program.limits, program.job, (&mut memory(), &mut turns));
        let expected = spent.as_ref().map_or(0, |all| all.iter().map(|spent| spent.cycles).sum());
        model = after;
        let mut bus = AxiMemory::new();
        bus.serve_all(sim, "mem", &AxiConfig::ideal(latency), run.seed() ^ number)?;
        bus.memory_mut().store(program.base, &program.image);
        let limits = program.limits;
        for (at, value) in
            [(register::WINDOW_BASE, limits.base), (register::WINDOW_LIMIT, limits.limit), (register::JOB, program.job)]
        {
            host.store(sim, &mut [&mut bus], at, value & 0xffff_ffff)?;
            host.store(sim, &mut [&mut bus], at + 4, value >> 32)?;
        }
        host.store(sim, &mut [&mut bus], register::MAX_DESCRIPTORS, limits.max_descriptors.into())?;
        host.store(sim, &mut [&mut bus], register::IRQ_ENABLE, 6)?;
        host.store(sim, &mut [&mut bus], register::CONTROL, 1)?;
        while sim.peek_u64(irq) == 0 {
            host.cycle(sim, &mut [&mut bus])?;
        }
        host.store(sim, &mut [&mut bus], register::STATUS, 6)?;
        let taken = host.load(sim, &mut [&mut bus], register::CYCLES)?.0;
        for (name, register, event) in BEATS {
            let counted = spent.iter().flatten().map(|spent| spent.events.count(event)).sum::<u64>();
            let value = host.load(sim, &mut [&mut bus], register)?.0;
            run.expect_equal(sim, name, &format!("latency {latency}, {spent:#?}"), counted, value)?;
        }
        let mut waited = false;
        for &(name, register) in &waits.registers {
            let value = host.load(sim, &mut [&mut bus], register)?.0;
            waited |= value != 0;
            if waits.never {
                run.expect_equal(sim, name, "of the chain", 0u64, value)?;
            }
        }
        let expected = if waited { expected.max(taken) } else { expected };
        run.expect_equal(sim, "CYCLES", &format!("latency {latency}, {spent:#?}"), expected, taken)?;
    }
    Ok(())
}
