//! The read half of a memory's interface: takes addresses, offers beats.

use std::collections::VecDeque;

use rand::RngExt;

use super::burst::Burst;
use super::config::{AxiConfig, BeatPlace, Credit, Misrouted, Order, response};
use super::memory::Memory;
use super::ports::ReadPorts;
use super::signals::{ReadData, Signals};
use super::timing::Timing;
use crate::Sim;
use crate::stimulus::{StallPattern, StimulusRng, rng_for};

/// A read that was not yet offered completely.
#[derive(Clone, Copy)]
struct Pending {
    id: u64,
    burst: Burst,
    beat: u32,
    page: usize,
    /// First cycle in which the read may be answered.
    due: u64,
    number: u64,
    /// Its number in the memory's timing.
    asked: u64,
}

pub(super) struct ReadSide {
    pub ports: ReadPorts,
    queue: VecDeque<Pending>,
    /// Reads without their last beat.
    open: usize,
    address_pause: StallPattern,
    data_pause: StallPattern,
    credit: Credit,
    rng: StimulusRng,
    requests: u64,
    beats: u64,
}

impl ReadSide {
    pub fn new(ports: ReadPorts, prefix: &str, config: &AxiConfig, seed: u64) -> Self {
        let label = |use_of: &str| format!("{prefix} {use_of}");
        Self {
            ports,
            queue: VecDeque::with_capacity(64),
            open: 0,
            address_pause: config.stalls.ar.pattern(seed, &label("AR")),
            data_pause: config.stalls.r.pattern(seed, &label("R")),
            credit: Credit::new(config.read_rate),
            rng: rng_for(seed, &label("reads")),
            requests: 0,
            beats: 0,
        }
    }

    pub fn reset(&mut self) {
        self.queue.clear();
        self.open = 0;
    }

    #[inline]
    pub fn drive(
        &mut self,
        (sim, now): (&mut Sim, u64),
        config: &AxiConfig,
        (memory, timing): (&mut Memory, &mut Timing),
        last: &mut Signals,
    ) {
        let valid_waits = last.ar.valid && !last.ar.ready;
        let pause = self.address_pause.next_pause();
        let ready = !pause && self.open < config.max_reads && (valid_waits || !config.stalls.ready_after_valid);
        last.ar.ready = ready;
        self.ports.drive_address(sim, ready);

        let (pause, credit) = (self.data_pause.next_pause(), self.credit.next_cycle());
        let r = &mut last.r;
        if r.valid && !r.ready {
            return;
        }
        r.valid = false;
        if !pause
            && credit
            && let Some(index) = self.choose(now, config, timing)
        {
            self.credit.spend();
            let read = &mut self.queue[index];
            let address = read.burst.address(read.beat);
            let bus = u64::from(self.ports.bus);
            memory.bus_read(read.page, address, bus, read.burst.lanes(address, bus), &mut r.payload.data);
            r.valid = true;
            r.payload.id = read.id;
            r.payload.resp = if config.errors.is_empty() {
                Default::default()
            } else {
                let place = BeatPlace { address, number: self.beats, request: read.number, position: read.beat };
                response(&config.errors, true, &place)
            };
            self.beats += 1;
            read.beat += 1;
            r.payload.last = read.beat == read.burst.beats;
            if r.payload.last {
                if let Some(timing) = timing {
                    timing.answered(read.asked);
                }
                let id = Misrouted::id(config.misrouted, (true, read.number), read.id);
                self.queue.remove(index);
                self.ports.offer(sim, &ReadData { id, ..r.payload });
            } else {
                self.ports.offer(sim, &r.payload);
            }
        } else {
            self.ports.silence(sim, &r.payload);
        }
    }

    /// The read whose next beat is offered.
    #[inline]
    fn choose(&mut self, now: u64, config: &AxiConfig, timing: &Timing) -> Option<usize> {
        let there = |read: &Pending| {
            timing.as_ref().is_none_or(|timing| timing.done(read.asked) >= read.burst.needed(read.beat))
        };
        let may = |read: &Pending| {
            read.due <= now
                && there(read)
                && config.silent_reads.is_none_or(|silence| !silence.covers(read.number, read.beat))
        };
        if config.order == Order::Issue {
            return self.queue.front().filter(|read| may(read)).map(|_| 0);
        }
        if config.order == Order::Bursts
            && let Some(begun) = self.queue.iter().position(|read| read.beat > 0)
        {
            return may(&self.queue[begun]).then_some(begun);
        }
        pick(&mut self.rng, self.queue.iter().map(|read| (read.id, may(read))))
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
        if signals.ar.passes() {
            let request = &signals.ar.payload;
            let burst = Burst::of(request);
            let due = now + config.read_latency.draw(&mut self.rng);
            let page = memory.page_of(burst.start);
            let (first, bytes) = burst.footprint();
            let asked = timing.as_mut().map_or(0, |timing| timing.ask(first, bytes, false));
            self.queue.push_back(Pending { id: request.id, burst, beat: 0, page, due, number: self.requests, asked });
            self.requests += 1;
            self.open += 1;
        }
        if signals.r.passes() && signals.r.payload.last {
            self.open -= 1;
        }
        signals.ar.passes() || signals.r.passes()
    }

    pub fn open(&self) -> usize {
        self.open
    }
}

/// One of the transactions that may be answered, at random. Only the first transaction of an ID may be answered.
pub(super) fn pick<I: Iterator<Item = (u64, bool)> + Clone>(rng: &mut StimulusRng, all: I) -> Option<usize> {
    let first_of_id = |&(index, (id, _)): &(usize, (u64, bool))| all.clone().take(index).all(|(other, _)| other != id);
    let ready = || all.clone().enumerate().filter(|(_, (_, may))| *may).filter(first_of_id).map(|(index, _)| index);
    match ready().count() {
        0 => None,
        1 => ready().next(),
        count => ready().nth(rng.random_range(0..count)),
    }
}
