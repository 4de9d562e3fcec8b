//! [`JobController`] with memory and an accelerator that the bench plays. There are chains with wrong descriptors, late
//! and missing answers, and errors of the bus and of operations. Starts and soft resets come at any time.

use std::collections::VecDeque;

use golden::common::shell::job_controller::{self as model, Action, End, Shape, World};
use hdl::blocks::common::JobController;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, Out, Run, Sim};

mod aborts;
mod chain;
mod overlap;
mod pins;

use chain::Drawn;
use overlap::{Order, OrderPins, Said};
use pins::Pins;

/// The bench of the controller; a vector is a job.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &JobController) -> anyhow::Result<Box<dyn sim::Bench>> {
    // Each job draws how many operations there are.
    let shape = Shape {
        address_width: p.axi.address_width,
        descriptor_bytes: p.descriptor_bytes.into(),
        opcodes: u8::MAX,
        most_descriptors: u32::MAX >> (32 - p.count_width),
    };
    let (beat_bytes, ports, overlaps) = (p.axi.data_width / 8, p.ports as usize, p.overlaps);
    sim::kit::bench(p, move |sim, run| {
        let mut player = Player::new(sim, run, shape, (beat_bytes as usize, ports))?;
        player.order = if overlaps { Some(OrderPins::find(sim)?) } else { None };
        sim.reset(1)?;
        for number in 0..run.vectors() {
            player.job(sim, run, number)?;
        }
        Ok(())
    })
}

/// Answers that the bench owes the controller for the action under way.
#[derive(Clone, Debug)]
enum Owed {
    /// Beats of a descriptor, then its end.
    Beats(VecDeque<Bits>, u8),
    /// The end of an operation.
    Work(u8),
    /// The end of a write, once command and data are here.
    Tag { command: bool, data: bool, outcome: u8 },
}

/// An operation as it is shown: opcode, what else is said of it, and its words.
type Shown = (u64, Option<Said>, Bits);

struct Player {
    pins: Pins,
    /// Where operations overlap.
    order: Option<OrderPins>,
    rng: StimulusRng,
    shape: Shape,
    beat_bytes: usize,
    /// Ports of the bus.
    ports: usize,
    /// Of fetch, write, written and operation.
    ready: [bool; 4],
}

/// How a job is disturbed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    None,
    /// Everything answers at once: cycles are counted.
    Quick,
    /// After so many cycles.
    SoftReset(u64),
    /// The action of this number is never answered.
    Silence(usize),
}

/// The purpose of an abort.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// An error; the error bit waits for the bus, or has come when memory is silent.
    Drains,
    Flushes,
}

/// A job as it should go.
#[derive(Clone)]
struct Plan {
    actions: VecDeque<(Action, u8)>,
    end: End,
    world: Drawn,
    order: Order,
    disturbance: Disturbance,
    timeout: u64,
    /// The answers that are owed now.
    owed: Option<Owed>,
    /// The operation from its offer to its end.
    shown: Option<Shown>,
    begun: usize,
    /// Of each port of the bus, cycles in which it waited without an answer.
    quiet: Vec<u64>,
    /// The one that does not answer where memory is silent.
    silent_port: usize,
    cycles: u64,
}

impl Player {
    fn new(sim: &Sim, run: &Run, shape: Shape, (beat_bytes, ports): (usize, usize)) -> sim::Result<Self> {
        let pins = Pins::find(sim)?;
        Ok(Self { pins, order: None, rng: run.rng("jobs"), shape, beat_bytes, ports, ready: [false; 4] })
    }

    fn job(&mut self, sim: &mut Sim, run: &mut Run, number: u64) -> sim::Result<()> {
        let quick = number.is_multiple_of(8);
        self.shape.opcodes = [0, 1, 2, 255, self.rng.random_range(1..=255)][self.rng.random_range(0..5)];
        let (limits, job, mut world) = Drawn::draw(&mut self.rng, &self.shape, quick);
        let (actions, mut end) = model::run(self.shape, limits, job, &mut world);
        let mut actions: VecDeque<(Action, u8)> = actions.into_iter().zip(world.outcomes.iter().copied()).collect();
        let order = match self.order {
            Some(_) => Order::of(&mut actions, (&mut end, &mut world), &mut self.rng),
            None => Order::default(),
        };
        let disturbance = match self.rng.random_range(0..4u8) {
            _ if quick => Disturbance::Quick,
            0 => Disturbance::SoftReset(self.rng.random_range(0..60)),
            1 if !actions.is_empty() => Disturbance::Silence(self.rng.random_range(0..actions.len())),
            _ => Disturbance::None,
        };
        let short = self.rng.random_range(4..20);
        let timeouts = match disturbance {
            Disturbance::Silence(_) => [short, short, 1 << self.rng.random_range(2..9u8)],
            // The longest are longer than any job, unless their highest bit is lost.
            Disturbance::None => [0, short, (1 << self.rng.random_range(12..32u8)) + self.rng.random_range(1..4)],
            Disturbance::Quick | Disturbance::SoftReset(_) => [0, 0, short],
        };
        let timeout = timeouts[self.rng.random_range(0..3)];
        let p = self.pins;
        sim.poke_u64(p.opcodes_i, self.shape.opcodes.into());
        sim.poke_u64(p.job_i, job);
        sim.poke_u64(p.window_base_i, limits.base);
        sim.poke_u64(p.window_limit_i, limits.limit);
        sim.poke_u64(p.max_descriptors_i, limits.max_descriptors.into());
        sim.poke_u64(p.timeout_i, timeout);
        let silent_port = if self.ports == 1 { 0 } else { self.rng.random_range(0..self.ports) };
        let mut plan = Plan {
            actions,
            end,
            world,
            order,
            disturbance,
            timeout,
            owed: None,
            shown: None,
            begun: 0,
            quiet: vec![0; self.ports],
            silent_port,
            cycles: 0,
        };
        self.quiet_cycle(sim, run, &mut plan, true)?;
        match self.runs(sim, run, &mut plan)? {
            Some(phase) => self.aborts(sim, run, &mut plan, phase)?,
            None => sim.tick()?,
        }
        self.rests(sim, run, &plan)
    }

    /// A cycle in which nothing is owed to the controller: it begins, or it is between jobs.
    fn quiet_cycle(&mut self, sim: &mut Sim, run: &mut Run, plan: &mut Plan, start: bool) -> sim::Result<()> {
        self.noise(sim, plan, false);
        let p = self.pins;
        sim.poke_u64(p.start_i, start.into());
        sim.poke_u64(p.soft_reset_i, 0);
        sim.poke_u64(p.idle_i, 1);
        sim.settle()?;
        run.expect_u64(sim, p.began_o, start.into())?;
        for low in [p.busy_o, p.abort_o, p.done_o, p.error_o, p.refused_o, p.soft_reset_busy_o] {
            run.expect_u64(sim, low, 0)?;
        }
        sim.tick()
    }

    /// Runs up to the cycle that shows the end. Returns the phase of the abort that follows, unless the job is done.
    fn runs(&mut self, sim: &mut Sim, run: &mut Run, plan: &mut Plan) -> sim::Result<Option<Phase>> {
        loop {
            plan.cycles += 1;
            let reset = matches!(plan.disturbance, Disturbance::SoftReset(at) if plan.cycles > at);
            let start = self.rng.random_range(0..16u8) == 0;
            sim.poke_u64(self.pins.start_i, start.into());
            sim.poke_u64(self.pins.soft_reset_i, reset.into());
            sim.poke_u64(self.pins.idle_i, u64::from(plan.owed.is_none()));
            let gives = self.answer(sim, plan);
            sim.settle()?;
            let p = self.pins;
            let (abort, done) = (sim.peek_u64(p.abort_o) == 1, sim.peek_u64(p.done_o) == 1);
            if abort {
                return Ok(Some(Phase::Drains));
            }
            run.expect_u64(sim, p.busy_o, 1)?;
            run.expect_u64(sim, p.error_o, 0)?;
            run.expect_u64(sim, p.soft_reset_busy_o, 0)?;
            run.expect_u64(sim, p.refused_o, start.into())?;
            run.expect_u64(sim, p.began_o, 0)?;
            if reset {
                run.expect_u64(sim, p.done_o, 0)?;
                sim.tick()?;
                plan.owed = None;
                return Ok(Some(Phase::Flushes));
            }
            let works = matches!(plan.owed, Some(Owed::Work(_)));
            run.expect_u64(sim, p.operation_end_ready_o, works.into())?;
            self.words_stay(sim, run, plan)?;
            self.takes(sim, run, plan, gives)?;
            if done {
                self.all_done(sim, run, plan)?;
                return Ok(None);
            }
            run.expect_equal(sim, "done_o", "cycles without an end", true, plan.cycles < 4000)?;
            sim.tick()?;
        }
    }

    /// Random inputs where nothing is said, and whether the bus waits.
    fn noise(&mut self, sim: &mut Sim, plan: &mut Plan, waits: bool) {
        let p = self.pins;
        let eager = plan.disturbance == Disturbance::Quick;
        let pins = [p.fetch_ready_i, p.write_ready_i, p.written_ready_i, p.operation_ready_i];
        for (ready, pin) in self.ready.iter_mut().zip(pins) {
            *ready = eager || self.rng.random();
            sim.poke_u64(pin, (*ready).into());
        }
        for low in [p.fetched_valid_i, p.fetch_end_valid_i, p.write_end_valid_i, p.operation_end_valid_i] {
            sim.poke_u64(low, 0);
        }
        for any in [p.fetch_end_error_i, p.write_end_error_i, p.fetched_row_last_i, p.fetched_last_i] {
            sim.poke_u64(any, self.rng.random_range(0..2));
        }
        for any in [p.fetched_bytes_i, p.fetch_end_address_i, p.write_end_address_i] {
            let width = sim.port_of_input(any).width;
            sim.poke(any, &Bits::random(width, &mut self.rng));
        }
        let silent = matches!(plan.disturbance, Disturbance::Silence(at) if plan.begun > at);
        let (mut waiting, mut answered) = (0, 0);
        for port in 0..self.ports {
            // An answer in time, unless memory is silent there.
            let silent = silent && port == plan.silent_port;
            if silent && plan.quiet[port] > 1 && plan.timeout > 0 {
                // A wait has begun, and keeps its limit: any other one, which is longer than a job.
                sim.poke_u64(p.timeout_i, 1 << self.rng.random_range(12..32u8));
            }
            let due = plan.timeout > 0 && plan.quiet[port] + 2 >= plan.timeout;
            let answers = !silent && (due || self.rng.random());
            let waits = waits && (silent || self.rng.random());
            plan.quiet[port] = if waits && !answers { plan.quiet[port] + 1 } else { 0 };
            waiting |= u64::from(waits) << port;
            answered |= u64::from(answers) << port;
        }
        sim.poke_u64(p.waiting_i, waiting);
        sim.poke_u64(p.answered_i, answered);
    }

    /// Offers an owed answer at random; returns whether it does.
    fn answer(&mut self, sim: &mut Sim, plan: &mut Plan) -> bool {
        self.noise(sim, plan, true);
        let silent = matches!(plan.disturbance, Disturbance::Silence(at) if plan.begun > at);
        let now = plan.disturbance == Disturbance::Quick || self.rng.random();
        if silent || !now {
            return false;
        }
        let p = self.pins;
        match &plan.owed {
            Some(Owed::Beats(beats, outcome)) => match beats.front() {
                Some(beat) => {
                    sim.poke_u64(p.fetched_valid_i, 1);
                    sim.poke(p.fetched_data_i, beat);
                    sim.poke_u64(p.fetched_last_i, (beats.len() == 1).into());
                }
                None => {
                    sim.poke_u64(p.fetch_end_valid_i, 1);
                    sim.poke_u64(p.fetch_end_error_i, (*outcome).into());
                }
            },
            Some(Owed::Work(outcome)) => {
                sim.poke_u64(p.operation_end_valid_i, 1);
                sim.poke_u64(p.operation_end_error_i, (*outcome).into());
                if let Some(pins) = self.order {
                    pins.tell(sim, &mut self.rng, plan.order.failure().filter(|_| *outcome != 0));
                }
            }
            Some(Owed::Tag { command: true, data: true, outcome }) => {
                sim.poke_u64(p.write_end_valid_i, 1);
                sim.poke_u64(p.write_end_error_i, (*outcome).into());
            }
            _ => return false,
        }
        true
    }

    /// The operation for the accelerator must be shown unchanged from its offer up to the cycle in which its end is
    /// taken.
    fn words_stay(&self, sim: &Sim, run: &mut Run, plan: &mut Plan) -> sim::Result<()> {
        let p = self.pins;
        if sim.peek_u64(p.operation_valid_o) == 0 && !matches!(plan.owed, Some(Owed::Work(_))) {
            plan.shown = None;
            return Ok(());
        }
        let said = self.order.map(|pins| pins.said(sim));
        let now = (sim.peek_u64(p.operation_opcode_o), said, sim.peek(p.operation_words_o));
        match &plan.shown {
            Some(before) => {
                run.expect_equal(sim, "operation_opcode_o", "the opcode stays", before.0, now.0)?;
                // An end that is asked for is no longer offered while it is awaited.
                let text =
                    |said: &Option<Said>| format!("{:?}", said.as_ref().map(|said| [said.independent, said.early]));
                run.expect_equal(sim, "operation_independent_o", "the numbers stay", text(&before.1), text(&now.1))?;
                run.expect_equal(sim, "operation_words_o", "the words stay", &before.2, &now.2)
            }
            None => {
                plan.shown = Some(now);
                Ok(())
            }
        }
    }

    /// Does the transfers of the coming edge.
    fn takes(&mut self, sim: &Sim, run: &mut Run, plan: &mut Plan, gives: bool) -> sim::Result<()> {
        let p = self.pins;
        if gives {
            let over = match plan.owed.as_mut() {
                Some(Owed::Beats(beats, _)) => {
                    run.expect_u64(sim, if beats.is_empty() { p.busy_o } else { p.fetched_ready_o }, 1)?;
                    beats.pop_front().is_none()
                }
                Some(Owed::Work(_)) => {
                    run.expect_u64(sim, p.operation_end_ready_o, 1)?;
                    true
                }
                _ => true,
            };
            if over {
                plan.owed = None;
            }
        }
        let [fetch, write, written, operation] = self.ready;
        let moves = |valid: Out, ready: bool| ready && sim.peek_u64(valid) == 1;
        if moves(p.fetch_valid_o, fetch) {
            let (outcome, beats) = self.begins(sim, run, plan, Action::Fetch(sim.peek_u64(p.fetch_address_o)))?;
            run.expect_u64(sim, p.fetch_row_bytes_o, self.shape.descriptor_bytes)?;
            run.expect_u64(sim, p.fetch_rows_o, 1)?;
            plan.owed = Some(Owed::Beats(beats, outcome));
        }
        if moves(p.operation_valid_o, operation) {
            let words = sim.peek(p.operation_words_o);
            let word = |i: u32| words.slice(32 * i, 32).to_u64().unwrap_or(0) as u32;
            let said = self.order.map(|pins| pins.said(sim));
            let asks = said.as_ref().map(|said| plan.order.next(sim, run, said)).transpose()?.unwrap_or(false);
            // Without overlaps they are not said.
            let [independent, early] = match (&said, plan.actions.front()) {
                (Some(_), _) if asks => [0, 0],
                (Some(said), _) => [said.independent, said.early],
                (None, Some((Action::Operation { independent, early, .. }, _))) => [*independent, *early],
                (None, _) => [0, 0],
            };
            let action = Action::Operation {
                opcode: if asks { 0 } else { sim.peek_u64(p.operation_opcode_o) as u8 },
                independent,
                early,
                words: if asks { Vec::new() } else { (0..words.width() / 32).map(word).collect() },
            };
            let (outcome, _) = self.begins(sim, run, plan, action)?;
            plan.owed = Some(Owed::Work(outcome));
        }
        let (command, data) = (moves(p.write_valid_o, write), moves(p.written_valid_o, written));
        if command || data {
            self.tag(sim, run, plan, (command, data))?;
        }
        Ok(())
    }

    /// Command or data of a tag, each once.
    fn tag(&mut self, sim: &Sim, run: &mut Run, plan: &mut Plan, now: (bool, bool)) -> sim::Result<()> {
        let p = self.pins;
        if plan.owed.is_none() {
            let action = match plan.actions.front() {
                Some((action @ Action::Tag { .. }, _)) => action.clone(),
                _ => Action::Tag { address: 0, tag: 0 },
            };
            let (outcome, _) = self.begins(sim, run, plan, action)?;
            plan.owed = Some(Owed::Tag { command: false, data: false, outcome });
        }
        let Some(Action::Tag { address, tag }) = plan.world.begun.clone() else {
            return run.expect_equal(sim, "write_valid_o", "a write without a tag", false, true);
        };
        let Some(Owed::Tag { command, data, .. }) = plan.owed.as_mut() else { return Ok(()) };
        if now.0 {
            run.expect_equal(sim, "write_valid_o", "one command", false, *command)?;
            run.expect_u64(sim, p.write_address_o, address)?;
            run.expect_u64(sim, p.write_row_bytes_o, 4)?;
            run.expect_u64(sim, p.write_rows_o, 1)?;
        }
        if now.1 {
            run.expect_equal(sim, "written_valid_o", "one beat", false, *data)?;
            let low = sim.peek(p.written_data_o).slice(0, 32);
            run.expect_equal(sim, "written_data_o", "the tag", u64::from(tag), low.to_u64().unwrap_or(u64::MAX))?;
        }
        (*command, *data) = (*command || now.0, *data || now.1);
        Ok(())
    }

    /// The next action begins; how it will end, and the beats of a descriptor.
    fn begins(
        &mut self,
        sim: &Sim,
        run: &mut Run,
        plan: &mut Plan,
        action: Action,
    ) -> sim::Result<(u8, VecDeque<Bits>)> {
        let expected = plan.actions.pop_front();
        let text = |action: Option<&Action>| format!("{action:?}");
        run.expect_equal(
            sim,
            "fetch_valid_o",
            "action",
            text(expected.as_ref().map(|(action, _)| action)),
            text(Some(&action)),
        )?;
        plan.begun += 1;
        plan.world.begun = Some(action.clone());
        let outcome = expected.map_or(0, |(_, outcome)| outcome);
        let mut beats = VecDeque::new();
        if let Action::Fetch(address) = action {
            let bytes = plan.world.descriptor(address);
            let chunks = bytes.chunks(self.beat_bytes);
            beats.extend(chunks.map(|c| {
                let mut padded = c.to_vec();
                padded.resize_with(self.beat_bytes, || self.rng.random());
                Bits::pack(8, padded.iter().map(|&b| b.into()))
            }));
            if outcome != 0 {
                // Beats from the failing one on are not shown.
                beats.truncate(self.rng.random_range(0..beats.len()));
            }
        }
        Ok((outcome, beats))
    }

    /// The job is done, in this cycle.
    fn all_done(&mut self, sim: &Sim, run: &mut Run, plan: &mut Plan) -> sim::Result<()> {
        run.expect_equal(sim, "done_o", "the error of the job", plan.end.code, 0)?;
        run.expect_equal(sim, "done_o", "actions that are missing", 0, plan.actions.len())?;
        if plan.disturbance == Disturbance::Quick {
            let beats = self.shape.descriptor_bytes.div_ceil(self.beat_bytes as u64);
            // Check, fetch, beats and their end, header, offer, work; two more for a tag.
            let cycles = u64::from(plan.end.descriptors) * (beats + 6) + 2 * plan.world.tags;
            run.expect_equal(sim, "done_o", "cycles of the job", cycles, plan.cycles)?;
        }
        Ok(())
    }
}
