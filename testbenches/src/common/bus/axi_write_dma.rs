//! [`AxiWriteDma`] on a memory: rows of all lengths, pauses everywhere, bad beats, aborts and resets at random moments.

use std::collections::{BTreeMap, VecDeque};

use golden::common::bus::axi_write_dma::{cycles, written};
use golden::common::bus::{Burst, Command, End};
use hdl::blocks::common::AxiWriteDma;
use rand::RngExt;
use sim::bus::{AxiConfig, AxiMemory, Partner, Promises};
use sim::stimulus::{Stall, StallPattern, StimulusRng};
use sim::{Bits, In, Out, Run, Sim};

use super::memory::{Attributes, Contents, Manners, Taken, WritePort, bytes_of, rule};
use super::{Commands, Shape};

/// The bench of a write DMA; a vector is a command.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &AxiWriteDma) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| work(&p, sim, run))
}

/// A DMA, its memory, and who offers its beats.
struct Bench {
    shape: Shape,
    commands: Commands,
    port: WritePort,
    contents: Contents,
    /// The memory of `sim` in place of ours, with a checker of its own.
    other: Option<AxiMemory>,
    abort: In,
    idle: Out,
    /// Something is owed; an address is offered.
    owes: [Out; 2],
    pulses: [Out; 2],
    valid: In,
    ready: Out,
    data: In,
    pause: StallPattern,
    noise: StimulusRng,
    input: VecDeque<Bits>,
    offered: bool,
    /// Per byte, the values that commands give it, in order.
    expected: BTreeMap<u64, Vec<u8>>,
    bursts: Vec<Taken>,
    /// Answers that have come when each command ends.
    answers: VecDeque<u64>,
    promised: u64,
    pulse: [bool; 2],
    in_hand: usize,
}

impl Bench {
    fn new(p: &AxiWriteDma, sim: &mut Sim, run: &Run) -> sim::Result<Self> {
        let shape = Shape::of(&p.axi, &p.dma);
        let mut bench = Self {
            shape,
            commands: Commands::new(sim, run, Stall::Never)?,
            port: WritePort::new(sim, run, "mem", shape.bytes, Manners::ideal(1))?,
            contents: Contents::default(),
            other: None,
            abort: sim.input("abort_i")?,
            idle: sim.output("idle_o")?,
            owes: [sim.output("owes_o")?, sim.output("mem_awvalid_o")?],
            pulses: [sim.output("write_beat_o")?, sim.output("waits_o")?],
            valid: sim.input("input_valid_i")?,
            ready: sim.output("input_ready_o")?,
            data: sim.input("input_data_i")?,
            pause: Stall::Never.pattern(run.seed(), "input"),
            noise: run.rng("noise"),
            input: VecDeque::new(),
            offered: false,
            expected: BTreeMap::new(),
            bursts: Vec::new(),
            answers: VecDeque::new(),
            promised: 0,
            pulse: [false; 2],
            in_hand: 0,
        };
        bench.set_attributes(sim, (0b0011, 0b010))?;
        bench.reset(sim)?;
        Ok(bench)
    }

    /// Other attributes; nothing is under way.
    fn set_attributes(&mut self, sim: &mut Sim, (cache, prot): Attributes) -> sim::Result<()> {
        sim.poke_u64(sim.input("cache_i")?, cache);
        sim.poke_u64(sim.input("prot_i")?, prot);
        self.port.attributes = (cache, prot);
        Ok(())
    }

    fn reset(&mut self, sim: &mut Sim) -> sim::Result<()> {
        self.forget();
        self.port.reset(sim);
        sim.poke_u64(self.abort, 0);
        sim.poke_u64(self.valid, 0);
        self.commands.drive(sim);
        self.pulse = [false; 2];
        sim.reset(2)
    }

    fn forget(&mut self) {
        self.commands.forget();
        self.input.clear();
        self.offered = false;
        self.bursts.clear();
        self.answers.clear();
        self.in_hand = 0;
    }

    fn set_stall(&mut self, run: &Run, manners: Manners, input: Stall, commands: Stall) {
        self.port.set_manners(run, manners);
        self.commands.set_stall(run, commands);
        self.pause = input.pattern(run.seed(), "input");
    }

    fn push(&mut self, command: Command, rng: &mut StimulusRng) {
        let Shape { bytes, address_width, most, .. } = self.shape;
        self.commands.queue.push_back(command);
        if let Some(refusal) = command.refusal(address_width) {
            self.commands.expected.push_back(End { error: refusal.code(), address: command.address });
            self.answers.push_back(self.promised);
            return;
        }
        let bursts = command.bursts(bytes, most);
        let bad = |b: &Burst| {
            let answers = (0..b.beats).map(|k| self.contents.bad.get(&(b.address + k * bytes)).copied().unwrap_or(0));
            answers.into_iter().find(|&e| e != 0).unwrap_or(0)
        };
        self.commands.expected.push_back(command.end(&bursts, address_width, bad));
        let width = 8 * bytes as u32;
        let input: Vec<Bits> = (0..command.packed_beats(bytes)).map(|_| Bits::random(width, rng)).collect();
        let values: Vec<Vec<u8>> = input.iter().map(bytes_of).collect();
        for (address, byte) in written(&command, bytes, &values) {
            self.expected.entry(address).or_default().push(byte);
        }
        self.input.extend(input);
        self.bursts.extend(bursts.iter().map(|b| Taken { id: 0, address: b.address, beats: b.beats }));
        self.promised += bursts.len() as u64;
        self.answers.push_back(self.promised);
    }

    /// Beats that left to the bus.
    fn bus_beats(&self) -> u64 {
        self.other.as_ref().map_or(self.port.beats, |memory| memory.stats("mem").write_beats)
    }

    fn is_done(&self) -> bool {
        self.commands.queue.is_empty() && self.commands.expected.is_empty()
    }

    fn cycle(&mut self, sim: &mut Sim, run: &mut Run, abort: bool) -> sim::Result<()> {
        self.commands.drive(sim);
        match &mut self.other {
            Some(memory) => memory.drive(sim)?,
            None => self.port.drive(sim),
        }
        self.offered |= !self.input.is_empty() && !self.pause.next_pause();
        sim.poke_u64(self.valid, self.offered.into());
        let noise = Bits::random(8 * self.shape.bytes as u32, &mut self.noise);
        sim.poke(self.data, self.input.front().filter(|_| self.offered).unwrap_or(&noise));
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
            None => self.port.look(sim, run, &mut self.contents)?,
        }
        let ready = sim.peek_u64(self.ready) == 1;
        rule(run, sim, "input_ready_o", !(ready && abort), "a beat is taken in an abort")?;
        let waits = self.offered && !ready && self.in_hand > 0 && !abort;
        if self.offered && ready {
            self.input.pop_front();
            self.offered = false;
        }
        self.pulse = [self.bus_beats() > before, waits];
        let (taken, ended) = self.commands.look(sim, run)?;
        if ended && self.other.is_none() {
            let due = self.answers.pop_front().unwrap_or(0);
            rule(run, sim, "completion_valid_o", self.port.answers >= due, "an end before the last answer")?;
        }
        self.in_hand = self.in_hand + usize::from(taken.is_some()) - usize::from(ended);
        sim.tick()
    }

    fn run(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let begin = sim.cycle_count();
        while !self.is_done() || sim.peek_u64(self.idle) == 0 {
            self.cycle(sim, run, false)?;
            rule(run, sim, "completion_valid_o", sim.cycle_count() - begin < 400_000, "a command never ends")?;
        }
        run.expect_equal(sim, "mem_bvalid_i", "answers owed while idle", 0, self.port.owes())?;
        run.expect_equal(sim, "input_ready_o", "beats that no command took", 0, self.input.len())?;
        if let Some(memory) = &self.other {
            run.expect_equal(sim, "mem_bvalid_i", "idle", true, memory.is_idle())?;
            self.bursts.clear();
            return Ok(());
        }
        let (taken, expected) = (std::mem::take(&mut self.port.taken), std::mem::take(&mut self.bursts));
        run.expect_equal(sim, "mem_awaddr_o", "bursts", format!("{expected:x?}"), format!("{taken:x?}"))?;
        let expected = std::mem::take(&mut self.expected);
        let expected: Vec<(u64, u8)> = expected.into_iter().filter_map(|(a, v)| Some((a, *v.last()?))).collect();
        let got = self.contents.take_written();
        let differ = expected.iter().zip(&got).find(|(a, b)| a != b);
        run.expect_equal(sim, "mem_wdata_o", "first byte that differs", "None".into(), format!("{differ:x?}"))?;
        run.expect_equal(sim, "mem_wstrb_o", "bytes written", expected.len(), got.len())
    }

    /// An abort of `cycles` cycles, up to the stated end of it.
    fn abort(&mut self, sim: &mut Sim, run: &mut Run, cycles: u64) -> sim::Result<()> {
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
        run.expect_equal(sim, "idle_o", "answers owed after an abort", 0, self.port.owes())?;
        self.interrupted(sim, run)
    }

    /// All written bytes belong to a command.
    fn interrupted(&mut self, sim: &Sim, run: &mut Run) -> sim::Result<()> {
        self.port.taken.clear();
        (self.promised, self.port.answers) = (0, 0);
        let expected = std::mem::take(&mut self.expected);
        for (address, byte) in self.contents.take_written() {
            let may = expected.get(&address).is_some_and(|values| values.contains(&byte));
            rule(run, sim, "mem_wstrb_o", may, &format!("byte {byte:02x} at {address:x} is of no command"))?;
        }
        Ok(())
    }
}

fn work(p: &AxiWriteDma, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("commands");
    let mut bench = Bench::new(p, sim, run)?;
    let most = u64::from(p.dma.burst_beats);
    if p.dma.outstanding >= 8 && p.buffer_beats >= p.dma.burst_beats + 4 && bench.shape.bytes <= 64 {
        ideal(&mut bench, sim, run, &mut rng)?;
    }
    every_beat_position(&mut bench, sim, run, &mut rng)?;
    for command in bench.shape.just_outside() {
        bench.push(command, &mut rng);
    }
    bench.run(sim, run)?;
    for stall in Stall::ALL {
        independent(p, &mut bench, sim, run, (&mut rng, stall))?;
    }
    let mut left = run.vectors();
    let mut round = 0;
    while left > 0 {
        let stall = |rng: &mut StimulusRng| Stall::ALL[rng.random_range(0..Stall::ALL.len())];
        let manners = Manners { latency: rng.random_range(1..40), stall: stall(&mut rng), silent: false };
        let (input, commands) = (stall(&mut rng), stall(&mut rng));
        bench.set_stall(run, manners, input, commands);
        bench.set_attributes(sim, (rng.random_range(0..16), rng.random_range(0..8)))?;
        bench.contents.bad.clear();
        let number = rng.random_range(1..=8).min(left);
        left -= number;
        let mut queued = Vec::new();
        for _ in 0..number {
            let beats = if rng.random_range(0..8u8) == 0 { 2 * most + 3 } else { 12 };
            let command = if rng.random_range(0..6u8) == 0 {
                bench.shape.bad(&mut rng)
            } else {
                bench.shape.good(&mut rng, beats)
            };
            if command.refusal(bench.shape.address_width).is_none() && rng.random_range(0..4u8) == 0 {
                let beats = command.bus_beats(bench.shape.bytes);
                let place = beats[rng.random_range(0..beats.len())];
                bench.contents.bad.insert(place, [1, 2, 3][rng.random_range(0..3)]);
            }
            queued.push(command);
        }
        queued.into_iter().for_each(|c| bench.push(c, &mut rng));
        round += 1;
        match round % 4 {
            0 => interrupt(&mut bench, sim, run, &mut rng)?,
            _ => bench.run(sim, run)?,
        }
    }
    silent(&mut bench, sim, run, &mut rng)
}

/// The cycles of the formula.
fn ideal(bench: &mut Bench, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
    let Shape { bytes, most, .. } = bench.shape;
    let commands = [
        Command { address: 0x1fc0, row_bytes: 1, rows: 1, stride: 0 },
        Command { address: 0x1fc0, row_bytes: 64 + 5 * bytes - 1, rows: 1, stride: 0 },
        Command { address: 0x2000, row_bytes: most * bytes, rows: 1, stride: 0 },
        Command { address: 0x2040, row_bytes: 3 * most * bytes + 1, rows: 1, stride: 0 },
        Command { address: 0x3f80, row_bytes: 100, rows: 7, stride: 128 },
    ];
    for latency in [1, 3] {
        for command in commands {
            bench.set_stall(run, Manners::ideal(latency), Stall::Never, Stall::Never);
            bench.push(command, rng);
            bench.run(sim, run)?;
            let got = bench.commands.ended_at - bench.commands.taken_at;
            let what = format!("cycles of {command:x?} at latency {latency}");
            let beats: Vec<u64> = command.bursts(bytes, most).iter().map(|b| b.beats).collect();
            run.expect_equal(sim, "completion_valid_o", &what, cycles(&beats, latency), got)?;
        }
    }
    Ok(())
}

/// An error at each beat of a command, between two good ones.
fn every_beat_position(bench: &mut Bench, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
    let bytes = bench.shape.bytes;
    let command = Command { address: 0x5fc0, row_bytes: (64 + bytes).min(3 * 64), rows: 2, stride: 0x400 };
    let good = Command { address: 0x9040, row_bytes: 70, rows: 1, stride: 0 };
    let beats = command.bus_beats(bytes);
    for stall in [Stall::Never, Stall::Random { num: 1, den: 2 }] {
        bench.set_stall(run, Manners { stall, ..Manners::ideal(5) }, stall, Stall::Never);
        for (k, &bad) in beats.iter().enumerate() {
            bench.contents.bad = BTreeMap::from([(bad, 2 + k as u64 % 2)]);
            for c in [good, command, good] {
                bench.push(c, rng);
            }
            bench.run(sim, run)?;
        }
    }
    bench.contents.bad.clear();
    Ok(())
}

/// The memory of `sim`, which checks all rules in both directions. Compares the bytes that are written, and checks that
/// no other bytes are, also after an abort or a reset in the middle.
fn independent(
    p: &AxiWriteDma,
    bench: &mut Bench,
    sim: &mut Sim,
    run: &mut Run,
    (rng, stall): (&mut StimulusRng, Stall),
) -> sim::Result<()> {
    // Data is here when its address is shown: W is silent for no longer than the memory keeps it waiting.
    let promises =
        Promises { writes: Some(p.dma.outstanding), response: Some(0), write_data: Some(1), ..Promises::default() };
    let config = AxiConfig { promises, ..AxiConfig::drawn(stall, rng) };
    for _ in 0..3 {
        let mut memory = AxiMemory::new();
        memory.serve(sim, "mem", &config, rng.random())?;
        bench.other = Some(memory);
        bench.set_stall(run, Manners::ideal(1), stall, stall);
        let commands: Vec<Command> = (0..4).map(|_| bench.shape.good(rng, 10)).collect();
        commands.iter().for_each(|&c| bench.push(c, rng));
        bench.run(sim, run)?;
        let rows = |c: &Command| c.row_addresses().map(|a| (a, c.row_bytes)).collect::<Vec<_>>();
        let rows: Vec<(u64, u64)> = commands.iter().flat_map(rows).collect();
        let expected = std::mem::take(&mut bench.expected);
        let memory = bench.other.as_ref().map(AxiMemory::memory);
        let Some(memory) = memory else { return Ok(()) };
        let differs = expected.iter().find(|(a, v)| v.last().copied() != memory.bytes(**a, 1).first().copied());
        run.expect_equal(sim, "mem_wdata_o", "byte that differs", "None".into(), format!("{differs:x?}"))?;
        let outside = memory.written_outside(&rows);
        run.expect_equal(sim, "mem_wstrb_o", "bytes elsewhere", "None".into(), format!("{outside:x?}"))?;
        commands.iter().for_each(|&c| bench.push(c, rng));
        for _ in 0..rng.random_range(0..60) {
            bench.cycle(sim, run, false)?;
        }
        if rng.random_range(0..2u8) == 0 {
            bench.reset(sim)?;
            bench.interrupted(sim, run)?;
        } else {
            bench.abort(sim, run, 1)?;
        }
        let outside = bench.other.as_ref().and_then(|m| m.memory().written_outside(&rows));
        run.expect_equal(sim, "mem_wstrb_o", "bytes elsewhere", "None".into(), format!("{outside:x?}"))?;
        bench.other = None;
    }
    Ok(())
}

/// Commands under way, then an abort or a reset, then a good command.
fn interrupt(bench: &mut Bench, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
    for _ in 0..rng.random_range(0..120) {
        if bench.is_done() {
            break;
        }
        bench.cycle(sim, run, false)?;
    }
    if rng.random_range(0..3u8) == 0 {
        bench.reset(sim)?;
        bench.interrupted(sim, run)?;
    } else {
        let cycles = rng.random_range(1..4);
        bench.abort(sim, run, cycles)?;
    }
    bench.contents.bad.clear();
    let command = bench.shape.good(rng, 8);
    bench.push(command, rng);
    bench.run(sim, run)
}

/// A memory that never answers: an abort ends only when it does.
fn silent(bench: &mut Bench, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
    let manners = Manners { silent: true, ..Manners::ideal(1) };
    bench.set_stall(run, manners, Stall::Never, Stall::Never);
    bench.push(bench.shape.good(rng, 8), rng);
    for _ in 0..100 {
        bench.cycle(sim, run, false)?;
    }
    bench.forget();
    for k in 0..100 {
        bench.cycle(sim, run, k == 0)?;
        sim.settle()?;
        run.expect_u64(sim, bench.idle, 0)?;
    }
    bench.port.set_manners(run, Manners::ideal(1));
    bench.abort(sim, run, 1)?;
    bench.push(bench.shape.good(rng, 8), rng);
    bench.run(sim, run)
}
