//! The write half of a memory's interface: takes addresses and data, stores, answers.

use std::collections::VecDeque;

use super::burst::Burst;
use super::config::{AxiConfig, BeatPlace, Credit, Misrouted, Order, WriteOrder, response};
use super::memory::Memory;
use super::ports::WritePorts;
use super::read::pick;
use super::signals::{Response, Signals, WriteData, WriteResponse};
use super::timing::Timing;
use crate::Sim;
use crate::stimulus::{StallPattern, StimulusRng, rng_for};

/// Beats of write data that are taken before their address.
const EARLY: usize = 256;

/// A write that was not yet answered.
#[derive(Clone, Copy)]
struct Pending {
    id: u64,
    burst: Burst,
    beat: u32,
    page: usize,
    /// First cycle in which the write may be answered; data is complete.
    due: Option<u64>,
    number: u64,
    worst: Response,
    /// Its number in the memory's timing.
    asked: u64,
}

/// A beat that reaches memory with the answer to its write.
struct Held {
    number: u64,
    page: usize,
    address: u64,
    beat: WriteData,
}

pub(super) struct WriteSide {
    pub ports: WritePorts,
    queue: VecDeque<Pending>,
    /// Writes of the queue that have all of their data.
    complete: usize,
    early: VecDeque<WriteData>,
    held: Vec<Held>,
    /// Writes without an answer that was taken.
    open: usize,
    address_pause: StallPattern,
    data_pause: StallPattern,
    answer_pause: StallPattern,
    credit: Credit,
    rng: StimulusRng,
    requests: u64,
    beats: u64,
}

impl WriteSide {
    pub fn new(ports: WritePorts, prefix: &str, config: &AxiConfig, seed: u64) -> Self {
        let label = |use_of: &str| format!("{prefix} {use_of}");
        Self {
            ports,
            queue: VecDeque::with_capacity(64),
            complete: 0,
            early: VecDeque::with_capacity(EARLY),
            held: Vec::new(),
            open: 0,
            address_pause: config.stalls.aw.pattern(seed, &label("AW")),
            data_pause: config.stalls.w.pattern(seed, &label("W")),
            answer_pause: config.stalls.b.pattern(seed, &label("B")),
            credit: Credit::new(config.write_rate),
            rng: rng_for(seed, &label("writes")),
            requests: 0,
            beats: 0,
        }
    }

    pub fn reset(&mut self) {
        self.queue.clear();
        self.early.clear();
        self.held.clear();
        (self.complete, self.open) = (0, 0);
    }

    #[inline]
    pub fn drive(
        &mut self,
        (sim, now): (&mut Sim, u64),
        config: &AxiConfig,
        (memory, timing): (&mut Memory, &mut Timing),
        last: &mut Signals,
    ) {
        let waits = (last.aw.valid && !last.aw.ready, last.w.valid && !last.w.ready);
        let late = config.stalls.ready_after_valid;
        let data_is_here = waits.1 || !self.early.is_empty();
        let address_may = match config.write_order {
            WriteOrder::DataFirst => data_is_here,
            WriteOrder::Any | WriteOrder::AddressFirst => true,
        };
        let pause = self.address_pause.next_pause();
        last.aw.ready = !pause && self.open < config.max_writes && address_may && (waits.0 || !late);

        let address_is_here = self.complete < self.queue.len();
        let data_may = match config.write_order {
            WriteOrder::AddressFirst => address_is_here,
            // While data waits without an address, the address must not wait for more data.
            WriteOrder::Any | WriteOrder::DataFirst => address_is_here || self.early.len() < EARLY,
        };
        let (pause, credit) = (self.data_pause.next_pause(), self.credit.next_cycle());
        last.w.ready = !pause && credit && data_may && (waits.1 || !late);
        self.ports.drive_requests(sim, last.aw.ready, last.w.ready);

        let pause = self.answer_pause.next_pause();
        let b = &mut last.b;
        if b.valid && !b.ready {
            return;
        }
        b.valid = false;
        if !pause && let Some(index) = self.choose(now, config, timing) {
            b.valid = true;
            b.payload.id = self.queue[index].id;
            b.payload.resp = self.queue[index].worst;
            if let Some(timing) = timing {
                timing.answered(self.queue[index].asked);
            }
            let number = self.queue[index].number;
            self.queue.remove(index);
            self.complete -= 1;
            let id = Misrouted::id(config.misrouted, (false, number), b.payload.id);
            self.ports.offer(sim, &WriteResponse { id, ..b.payload });
            self.land(number, memory);
        } else {
            self.ports.silence(sim, &b.payload);
        }
    }

    /// The held beats of a write reach memory.
    fn land(&mut self, number: u64, memory: &mut Memory) {
        let bus = u64::from(self.ports.bus);
        self.held.retain(|held| {
            if held.number == number {
                memory.bus_write(held.page, held.address, bus, held.beat.strb, &held.beat.data);
            }
            held.number != number
        });
    }

    /// The write that is answered.
    #[inline]
    fn choose(&mut self, now: u64, config: &AxiConfig, timing: &Timing) -> Option<usize> {
        let there = |write: &Pending| {
            timing.as_ref().is_none_or(|timing| timing.done(write.asked) >= write.burst.footprint().1)
        };
        let may = |write: &Pending| {
            write.due.is_some_and(|due| due <= now)
                && there(write)
                && config.silent_writes.is_none_or(|silence| write.number < silence.request)
        };
        if config.order == Order::Issue {
            return self.queue.front().filter(|write| may(write)).map(|_| 0);
        }
        pick(&mut self.rng, self.queue.iter().map(|write| (write.id, may(write))))
    }

    /// Takes the transfers that pass at the coming edge.
    #[inline]
    pub fn sample(
        &mut self,
        now: u64,
        config: &AxiConfig,
        (memory, timing): (&mut Memory, &mut Timing),
        signals: &Signals,
    ) -> bool {
        if signals.aw.passes() {
            let request = &signals.aw.payload;
            let burst = Burst::of(request);
            let page = memory.page_of(burst.start);
            let (id, number, worst) = (request.id, self.requests, Response::Okay);
            self.queue.push_back(Pending { id, burst, beat: 0, page, due: None, number, worst, asked: 0 });
            self.requests += 1;
            self.open += 1;
            while self.complete < self.queue.len()
                && let Some(beat) = self.early.pop_front()
            {
                self.store(now, config, (memory, timing), &beat);
            }
        }
        if signals.w.passes() {
            self.credit.spend();
            if self.complete < self.queue.len() {
                self.store(now, config, (memory, timing), &signals.w.payload);
            } else {
                self.early.push_back(signals.w.payload);
            }
        }
        self.open -= usize::from(signals.b.passes());
        signals.aw.passes() || signals.w.passes() || signals.b.passes()
    }

    #[inline]
    fn store(&mut self, now: u64, config: &AxiConfig, (memory, timing): (&mut Memory, &mut Timing), beat: &WriteData) {
        let write = &mut self.queue[self.complete];
        let address = write.burst.address(write.beat);
        let answer = if config.errors.is_empty() {
            Response::Okay
        } else {
            let place = BeatPlace { address, number: self.beats, request: write.number, position: write.beat };
            response(&config.errors, false, &place)
        };
        // A write that is never answered may still be in memory, and tests look for it.
        let late = config.late_writes && config.silent_writes.is_none_or(|silence| write.number < silence.request);
        if answer == Response::Okay && late {
            self.held.push(Held { number: write.number, page: write.page, address, beat: *beat });
        } else if answer == Response::Okay {
            memory.bus_write(write.page, address, u64::from(self.ports.bus), beat.strb, &beat.data);
        }
        write.worst = write.worst.max(answer);
        write.beat += 1;
        self.beats += 1;
        if write.beat == write.burst.beats {
            write.due = Some(now + config.write_latency.draw(&mut self.rng));
            let (first, bytes) = write.burst.footprint();
            write.asked = timing.as_mut().map_or(0, |timing| timing.ask(first, bytes, true));
            self.complete += 1;
        }
    }

    pub fn open(&self) -> usize {
        self.open + usize::from(!self.early.is_empty())
    }
}
