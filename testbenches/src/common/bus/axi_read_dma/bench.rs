//! The commands and the memory of a DMA, and what it must give.

use sim::bus::Partner;
use std::collections::VecDeque;

use golden::common::bus::axi_read_dma::{Beat, output};
use golden::common::bus::{Burst, Command, End};
use hdl::blocks::common::AxiReadDma;
use sim::bus::AxiMemory;
use sim::stimulus::{Stall, StallPattern};
use sim::{In, Out, Run, Sim};

use super::super::memory::{Attributes, Contents, Manners, ReadPort, Taken, bytes_of, rule};
use super::super::{Commands, Shape};

/// A DMA, its memory, and who takes its beats.
pub(super) struct Bench {
    /// Its shape.
    pub(super) shape: Shape,
    /// Commands.
    pub(super) commands: Commands,
    /// The memory's port.
    pub(super) port: ReadPort,
    /// Contents of the memory.
    pub(super) contents: Contents,
    /// The memory of `sim` in place of ours, with a checker of its own.
    pub(super) other: Option<AxiMemory>,
    abort: In,
    pub(super) idle: Out,
    /// Something is owed; an address is offered.
    owes: [Out; 2],
    pulses: [Out; 2],
    valid: Out,
    ready: In,
    fields: [Out; 4],
    pause: StallPattern,
    /// The output takes nothing, whatever its pauses are.
    pub(super) held: bool,
    expected: VecDeque<Beat>,
    bursts: VecDeque<Taken>,
    /// Of a command that fails, how many bursts begin depends on when its error comes.
    optional: usize,
    /// Expected pulses.
    pulse: [bool; 2],
    in_hand: usize,
}

impl Bench {
    /// The ports of `sim`.
    pub(super) fn new(p: &AxiReadDma, sim: &mut Sim, run: &Run, manners: Manners) -> sim::Result<Self> {
        let shape = Shape::of(&p.axi, &p.dma);
        let field = |name: &str| sim.output(&format!("output_{name}_o"));
        run.only_while("output_valid_o", &["output_data_o", "output_bytes_o", "output_row_last_o", "output_last_o"]);
        let mut bench = Self {
            shape,
            commands: Commands::new(sim, run, Stall::Never)?,
            port: ReadPort::new(sim, run, "mem", shape.bytes, manners)?,
            contents: Contents::default(),
            other: None,
            abort: sim.input("abort_i")?,
            idle: sim.output("idle_o")?,
            owes: [sim.output("owes_o")?, sim.output("mem_arvalid_o")?],
            pulses: [sim.output("read_beat_o")?, sim.output("waits_o")?],
            valid: field("valid")?,
            ready: sim.input("output_ready_i")?,
            fields: [field("data")?, field("bytes")?, field("row_last")?, field("last")?],
            pause: Stall::Never.pattern(run.seed(), "output"),
            held: false,
            expected: VecDeque::new(),
            bursts: VecDeque::new(),
            optional: 0,
            pulse: [false; 2],
            in_hand: 0,
        };
        bench.set_attributes(sim, (0b0011, 0b010))?;
        bench.reset(sim)?;
        Ok(bench)
    }

    /// Other attributes; nothing is under way.
    pub(super) fn set_attributes(&mut self, sim: &mut Sim, (cache, prot): Attributes) -> sim::Result<()> {
        sim.poke_u64(sim.input("cache_i")?, cache);
        sim.poke_u64(sim.input("prot_i")?, prot);
        self.port.attributes = (cache, prot);
        Ok(())
    }

    pub(super) fn reset(&mut self, sim: &mut Sim) -> sim::Result<()> {
        self.forget();
        self.port.reset(sim);
        sim.poke_u64(self.abort, 0);
        self.commands.drive(sim);
        self.pulse = [false; 2];
        sim.reset(2)
    }

    pub(super) fn forget(&mut self) {
        self.commands.forget();
        self.expected.clear();
        self.bursts.clear();
        self.optional = 0;
        self.in_hand = 0;
    }

    /// Everybody's pauses.
    pub(super) fn set_stall(&mut self, run: &Run, manners: Manners, output: Stall, commands: Stall) {
        self.port.set_manners(run, manners);
        self.commands.set_stall(run, commands);
        self.pause = output.pattern(run.seed(), "output");
    }

    /// Adds a command with its expected results.
    pub(super) fn push(&mut self, command: Command) {
        let Shape { bytes, address_width, most, .. } = self.shape;
        self.commands.queue.push_back(command);
        if let Some(refusal) = command.refusal(address_width) {
            self.commands.expected.push_back(End { error: refusal.code(), address: command.address });
            return;
        }
        let bursts = command.bursts(bytes, most);
        let beats = command.bus_beats(bytes);
        let bad = |address: &u64| self.contents.bad.get(address).copied().unwrap_or(0);
        let failing = beats.iter().position(|a| bad(a) >= 2);
        let first_bad = |b: &Burst| (0..b.beats).map(|k| bad(&(b.address + k * bytes))).find(|&e| e >= 2).unwrap_or(0);
        self.commands.expected.push_back(command.end(&bursts, address_width, first_bad));
        self.expected.extend(output(&command, bytes, |a| self.contents.byte(a), failing));
        let taken = |b: &Burst| Taken { id: 0, address: b.address, beats: b.beats };
        if failing.is_some() {
            // Bursts after the failing one may or may not have begun.
            self.optional += 1;
            return;
        }
        if self.optional == 0 {
            self.bursts.extend(bursts.iter().map(taken));
        }
    }

    /// Beats that came from the bus.
    pub(super) fn bus_beats(&self) -> u64 {
        self.other.as_ref().map_or(self.port.beats, |memory| memory.stats("mem").read_beats)
    }

    /// Whether all expected data has come.
    pub(super) fn is_done(&self) -> bool {
        self.commands.queue.is_empty() && self.commands.expected.is_empty() && self.expected.is_empty()
    }

    /// One cycle.
    pub(super) fn cycle(&mut self, sim: &mut Sim, run: &mut Run, abort: bool) -> sim::Result<()> {
        self.commands.drive(sim);
        match &mut self.other {
            Some(memory) => memory.drive(sim)?,
            None => self.port.drive(sim, &self.contents),
        }
        let ready = !self.pause.next_pause() && !self.held;
        sim.poke_u64(self.ready, ready.into());
        sim.poke_u64(self.abort, abort.into());
        sim.settle()?;
        if self.other.is_none() {
            let owes = self.port.owes() > 0 || sim.peek_u64(self.owes[1]) == 1;
            run.expect_u64(sim, self.owes[0], owes.into())?;
        }
        run.expect_u64(sim, self.pulses[0], self.pulse[0].into())?;
        run.expect_u64(sim, self.pulses[1], self.pulse[1].into())?;
        let before = self.bus_beats();
        match &mut self.other {
            Some(memory) => drop(memory.sample(sim)?),
            None => self.port.look(sim, run)?,
        }
        let valid = sim.peek_u64(self.valid) == 1;
        if valid && ready && !abort {
            let got = Beat {
                bytes: bytes_of(&sim.peek(self.fields[0]))
                    .into_iter()
                    .take(sim.peek_u64(self.fields[1]) as usize)
                    .collect(),
                row_last: sim.peek_u64(self.fields[2]) == 1,
                last: sim.peek_u64(self.fields[3]) == 1,
            };
            let expected = self.expected.pop_front();
            let show = |b: Option<&Beat>| format!("{b:02x?}");
            run.expect_equal(sim, "output_data_o", "beat", show(expected.as_ref()), show(Some(&got)))?;
        }
        rule(run, sim, "output_valid_o", !(valid && abort), "a beat is shown in an abort")?;
        self.pulse = [self.bus_beats() > before, ready && !valid && self.in_hand > 0 && !abort];
        let (taken, ended) = self.commands.look(sim, run)?;
        self.in_hand = self.in_hand + usize::from(taken.is_some()) - usize::from(ended);
        sim.tick()
    }

    /// Runs until all expected data has come, then until the DMA is idle.
    pub(super) fn run(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let begin = sim.cycle_count();
        while !self.is_done() || sim.peek_u64(self.idle) == 0 {
            self.cycle(sim, run, false)?;
            let hangs = sim.cycle_count() - begin > 400_000;
            rule(run, sim, "completion_valid_o", !hangs, "a command never ends")?;
        }
        run.expect_equal(sim, "mem_rvalid_i", "beats owed while idle", 0, self.port.owes())?;
        let taken: Vec<Taken> = std::mem::take(&mut self.port.taken);
        if let Some(memory) = &self.other {
            run.expect_equal(sim, "mem_rvalid_i", "idle", true, memory.is_idle())?;
        } else if self.optional == 0 {
            let expected: Vec<Taken> = self.bursts.drain(..).collect();
            run.expect_equal(sim, "mem_araddr_o", "bursts", format!("{expected:x?}"), format!("{taken:x?}"))?;
        }
        self.optional = 0;
        self.bursts.clear();
        Ok(())
    }

    /// An abort of `cycles` cycles, up to the stated end of it.
    pub(super) fn abort(&mut self, sim: &mut Sim, run: &mut Run, cycles: u64) -> sim::Result<()> {
        self.forget();
        for _ in 0..cycles {
            self.cycle(sim, run, true)?;
        }
        let begin = sim.cycle_count();
        sim.settle()?;
        while sim.peek_u64(self.idle) == 0 {
            self.cycle(sim, run, false)?;
            rule(run, sim, "idle_o", sim.cycle_count() - begin < 100_000, "an abort never ends")?;
            sim.settle()?;
        }
        run.expect_equal(sim, "idle_o", "beats owed after an abort", 0, self.port.owes())?;
        self.port.taken.clear();
        Ok(())
    }
}
