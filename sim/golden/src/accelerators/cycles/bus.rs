//! The bus: DMAs ask for bursts and share one port in turn. Beats come back in the order of the bursts.

use crate::accelerators::events::{Event, Events, kind};
use crate::common::bus::Command;

use super::times::{Times, extend, latest};

/// How much a DMA may have in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dma {
    /// Most beats of a burst.
    pub burst_beats: u64,
    /// Most bursts without an answer.
    pub outstanding: u64,
    /// Most commands that have not ended.
    pub commands: u64,
    /// Beats that its buffer keeps.
    pub beats: u64,
}

/// Commands of a DMA as bursts and beats, and how far they have come.
#[derive(Clone, Debug)]
struct Bursts {
    dma: Dma,
    bus_bytes: u64,
    /// Commands that are not offered yet: since when they would be.
    held: Option<Vec<u64>>,
    /// When each command was offered, taken, and found right.
    offered: Times,
    taken: Times,
    entered: Times,
    /// For each command: bursts and beats up to its end, counted over all commands.
    ends: Vec<(i64, i64)>,
    /// For each burst: its command, and the beats up to its end, counted over all commands.
    bursts: Vec<(i64, i64)>,
    /// When each burst was asked for.
    asked: Times,
}

impl Bursts {
    fn new(dma: Dma, bus_bytes: u64) -> Self {
        let (offered, taken, entered, asked) = Default::default();
        Self { dma, bus_bytes, held: None, offered, taken, entered, ends: Vec::new(), bursts: Vec::new(), asked }
    }

    fn beats(&self) -> i64 {
        self.ends.last().map_or(0, |end| end.1)
    }

    /// Beats of all commands on the bus, in memory and in the DMA's buffer, and the bursts.
    fn events(&self, [beat, burst, fill, empty]: [&'static str; 4], dram: [&'static str; 2]) -> Events {
        let (beats, bits) = (self.beats() as u64, 8 * self.bus_bytes);
        let [name, of_memory] = dram;
        Events::default()
            .with(Event::new(beat, kind::BUS, bits), beats)
            .with(Event::new(name, of_memory, bits), beats)
            .with(Event::new(burst, kind::BURST, 0), self.bursts.len() as u64)
            .with(Event::new(fill, kind::SRAM_WRITE, bits), beats)
            .with(Event::new(empty, kind::SRAM_READ, bits), beats)
    }

    fn end(&self, command: i64) -> (i64, i64) {
        if command < 0 { (0, 0) } else { self.ends[command as usize] }
    }

    /// Beats up to the end of a burst.
    fn through(&self, burst: i64) -> i64 {
        if burst < 0 { 0 } else { self.bursts[burst as usize].1 }
    }

    fn offer(&mut self, command: &Command, time: u64) {
        let (number, mut end) = (self.ends.len() as i64, self.beats());
        for burst in command.bursts(self.bus_bytes, self.dma.burst_beats) {
            end += burst.beats as i64;
            self.bursts.push((number, end));
        }
        self.ends.push((self.bursts.len() as i64, end));
        match &mut self.held {
            Some(held) => held.push(time),
            None => self.offered.push(time),
        }
    }

    /// The check of a command takes two cycles, and one command is checked at a time. The check waits for the last
    /// burst of the command before, and for a place. A place is free two cycles after the end of the oldest command:
    /// after the last of its beats that are `done`.
    fn check(&mut self, done: &Times) -> bool {
        let mut moved = false;
        extend!(moved, self.taken, {
            let n = self.taken.known();
            latest([self.offered.behind(n, 0), self.entered.behind(n - 1, 1)])
        });
        extend!(moved, self.entered, {
            let n = self.entered.known();
            let oldest = self.end(n - self.dma.commands as i64).1 - 1;
            latest([self.taken.behind(n, 2), self.asked.behind(self.end(n - 1).0 - 1, 0), done.behind(oldest, 2)])
        });
        moved
    }

    /// The cycle in which burst `n` is known: after its command and after the burst before.
    fn known(&self, n: i64) -> Option<u64> {
        let (command, _) = *self.bursts.get(n as usize)?;
        latest([self.entered.behind(command, 1), self.asked.behind(n - 1, 1)])
    }
}

/// A read DMA.
#[derive(Clone, Debug)]
pub struct Reader {
    bursts: Bursts,
    /// When each burst reached the arbiter, and when it had its turn.
    waiting: Times,
    turns: Times,
    /// When each beat came.
    came: Times,
    /// When each beat was taken from the output. The caller that takes it adds the time.
    pub left: Times,
}

impl Reader {
    /// A DMA without commands, on a bus of so many bytes.
    #[must_use]
    pub fn new(dma: Dma, bus_bytes: u64) -> Self {
        let (waiting, turns, came, left) = Default::default();
        Self { bursts: Bursts::new(dma, bus_bytes), waiting, turns, came, left }
    }

    /// Offers a command from this cycle on.
    pub fn offer(&mut self, command: &Command, time: u64) {
        self.bursts.offer(command, time);
    }

    /// Commands that come are not offered before the release.
    pub(super) fn hold(&mut self) {
        self.bursts.held = Some(Vec::new());
    }

    /// From this cycle on commands are offered.
    pub(super) fn release(&mut self, time: u64) {
        for offered in self.bursts.held.take().unwrap_or_default() {
            self.bursts.offered.push(offered.max(time));
        }
    }

    /// Beats of all commands.
    pub fn beats(&self) -> i64 {
        self.bursts.beats()
    }

    /// What the commands so far take on the bus and in memory.
    pub(super) fn events(&self) -> Events {
        let names = ["read beat", "read burst", "read buffer write", "read buffer read"];
        self.bursts.events(names, ["memory read", kind::DRAM_READ])
    }

    /// How many commands there were.
    pub fn offered(&self) -> i64 {
        self.bursts.ends.len() as i64
    }

    /// When a command was taken.
    pub fn taken(&self, command: i64) -> Option<u64> {
        self.bursts.taken.behind(command, 0)
    }

    /// When beat `n` is at the output.
    pub fn shown(&self, n: i64) -> Option<u64> {
        latest([self.came.behind(n, 2), self.left.behind(n - 1, 1)])
    }

    /// Finds all times that follow from known times. Returns whether there were any.
    pub fn advance(&mut self) -> bool {
        let mut moved = self.bursts.check(&self.left);
        extend!(moved, self.bursts.asked, self.next_asked());
        extend!(moved, self.waiting, {
            // The request register has two places.
            let n = self.waiting.known();
            latest([self.bursts.asked.behind(n, 1), self.turns.behind(n - 2, 1)])
        });
        moved
    }

    /// A burst is asked for when all of its beats have room and the address before has gone on.
    fn next_asked(&self) -> Option<u64> {
        let bursts = &self.bursts;
        let n = bursts.asked.known();
        let open = bursts.through(n - bursts.dma.outstanding as i64) - 1;
        let known = bursts.known(n)?;
        let room = bursts.through(n) - bursts.dma.beats as i64 - 1;
        latest([Some(known), self.waiting.behind(n - 1, 0), self.came.behind(open, 1), self.left.behind(room, 1)])
    }

    /// When the next burst can have its turn.
    pub(super) fn waits(&self) -> Option<u64> {
        let n = self.turns.known();
        latest([self.waiting.behind(n, 1), self.turns.behind(n - 1, 1)])
    }

    /// When all commands had ended.
    pub fn end(&self) -> Option<u64> {
        self.left.behind(self.bursts.beats() - 1, 1)
    }
}

/// Whose turn is next on each port, of reads and of writes. A port without an entry begins with its first manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turns {
    reads: Vec<usize>,
    /// Kept where several managers write at the same time.
    writes: Vec<usize>,
}

fn set(turns: &mut Vec<usize>, port: usize, next: usize) {
    if turns.len() <= port {
        turns.resize(port + 1, 0);
    }
    turns[port] = next;
}

impl Turns {
    fn of(&self, port: usize) -> usize {
        self.reads.get(port).copied().unwrap_or(0)
    }

    pub(super) fn of_writes(&self, port: usize) -> usize {
        self.writes.get(port).copied().unwrap_or(0)
    }

    fn set(&mut self, port: usize, next: usize) {
        set(&mut self.reads, port, next);
    }

    pub(super) fn set_writes(&mut self, port: usize, next: usize) {
        set(&mut self.writes, port, next);
    }
}

/// The read half of a port.
#[derive(Clone, Debug)]
struct Port {
    /// Readers by the number of their manager.
    managers: Vec<Option<usize>>,
    next: usize,
    last_turn: u64,
    /// When the last beat came.
    last_beat: u64,
}

/// Who has the next turn of managers that wait: the first one from `next` on. `waits` says since when each waits.
pub(super) fn chosen(
    managers: &[Option<usize>],
    next: usize,
    now: u64,
    waits: &impl Fn(usize) -> Option<u64>,
) -> Option<(usize, usize)> {
    let all = managers.len();
    let turns = (next..next + all).map(|turn| turn % all);
    let mut waiting = turns.filter_map(|turn| Some((turn, managers[turn]?)));
    waiting.find(|&(_, k)| waits(k).is_some_and(|time| time <= now))
}

impl Port {
    /// When the next turn is given, if anybody waits.
    fn when(&self, waits: &impl Fn(usize) -> Option<u64>) -> Option<u64> {
        let waits = self.managers.iter().flatten().filter_map(|&k| waits(k));
        Some(waits.min()?.max(self.last_turn + 1))
    }

    /// The reader that has its turn now, by its number.
    fn choose(&mut self, now: u64, waits: &impl Fn(usize) -> Option<u64>) -> Option<usize> {
        let (turn, reader) = chosen(&self.managers, self.next, now, waits)?;
        (self.next, self.last_turn) = (turn + 1, now);
        Some(reader)
    }

    /// The reader's own times begin in cycle `shift`.
    fn grant(&mut self, reader: &mut Reader, now: u64, (latency, shift): (u64, u64)) {
        let n = reader.turns.known();
        reader.turns.push(now - shift);
        // The burst is on the bus a cycle later. A beat spends a cycle in the arbiter.
        let first = (now + 1 + latency).max(self.last_beat + 1);
        let beats = (reader.bursts.through(n) - reader.bursts.through(n - 1)) as u64;
        (first..first + beats).for_each(|beat| reader.came.push(beat + 1 - shift));
        self.last_beat = first + beats - 1;
    }
}

/// The read halves of the ports: reader k is on port k modulo their number. The reader of descriptors is the first
/// manager of the first port.
#[derive(Clone, Debug)]
pub struct Ports {
    latency: u64,
    ports: Vec<Port>,
}

impl Ports {
    /// Ports for so many readers. `turns` says whose turn is next.
    pub fn new(latency: u64, count: usize, readers: usize, turns: &Turns) -> Self {
        let port = |port: usize| {
            let other = (port == 0).then_some(None);
            let managers = other.into_iter().chain((port..readers).step_by(count).map(Some)).collect();
            Port { managers, next: turns.of(port), last_turn: 0, last_beat: 0 }
        };
        Self { latency, ports: (0..count).map(port).collect() }
    }

    /// The first port, with the reader of descriptors as its only manager.
    pub fn of_descriptors(latency: u64) -> Self {
        Self { latency, ports: vec![Port { managers: vec![Some(0)], next: 0, last_turn: 0, last_beat: 0 }] }
    }

    /// The ports for engines that work at the same time: `readers` of all engines, and the reader of descriptors after
    /// them.
    pub(super) fn of_all(latency: u64, count: usize, readers: usize, turns: &Turns) -> Self {
        let mut all = Self::new(latency, count, readers, turns);
        all.ports[0].managers[0] = Some(readers);
        all
    }

    /// When the next turn is given, and on which port, if anybody waits.
    pub(super) fn first(&self, waits: &impl Fn(usize) -> Option<u64>) -> Option<(u64, usize)> {
        (0..).zip(&self.ports).filter_map(|(number, port)| Some((port.when(waits)?, number))).min()
    }

    /// The reader that has its turn on a port.
    pub(super) fn choose(&mut self, port: usize, now: u64, waits: &impl Fn(usize) -> Option<u64>) -> Option<usize> {
        self.ports[port].choose(now, waits)
    }

    /// Its turn. The reader's own times begin in cycle `shift`.
    pub(super) fn grant(&mut self, port: usize, reader: &mut Reader, (now, shift): (u64, u64)) {
        self.ports[port].grant(reader, now, (self.latency, shift));
    }

    /// Stores whose turn is next.
    pub fn leave(&self, turns: &mut Turns) {
        (0..).zip(&self.ports).for_each(|(number, port)| turns.set(number, port.next));
    }
}

/// A write DMA.
#[derive(Clone, Debug)]
pub struct Writer {
    bursts: Bursts,
    latency: u64,
    /// It has its port for itself.
    alone: bool,
    /// Where it shares the port: when each burst reached the arbiter, when it had its turn, and when each beat went to
    /// the port.
    waiting: Times,
    turns: Times,
    loaded: Times,
    /// When each beat came. The caller that brings it adds the time.
    pub came: Times,
    /// When each beat was on its way to the port.
    sent: Times,
    /// For each beat of an answered burst: when the answer came.
    answered: Times,
}

impl Writer {
    /// A DMA without commands, before a memory that answers after `latency` cycles.
    #[must_use]
    pub fn new(dma: Dma, bus_bytes: u64, latency: u64) -> Self {
        let bursts = Bursts::new(dma, bus_bytes);
        let (waiting, turns, loaded, came, sent, answered) = Default::default();
        Self { bursts, latency, alone: true, waiting, turns, loaded, came, sent, answered }
    }

    /// The same DMA on a port where others write too.
    pub(super) fn share(&mut self) {
        self.alone = false;
    }

    /// Where it shares the port: since when its next burst waits for its turn.
    pub(super) fn waits(&self) -> Option<u64> {
        if self.alone {
            return None;
        }
        let n = self.turns.known();
        latest([self.waiting.behind(n, 1), self.turns.behind(n - 1, 1)])
    }

    /// The turn of its next burst. A beat goes to the port after `last`, and after it has come through a register of two
    /// places. Returns when the last beat goes.
    pub(super) fn grant(&mut self, now: u64, mut last: u64) -> u64 {
        let n = self.turns.known();
        self.turns.push(now);
        let asked = self.bursts.asked.behind(n, 1).unwrap_or(0);
        let beats = self.bursts.through(n) - self.sent.known();
        for _ in 0..beats {
            let beat = self.sent.known();
            let times = [self.sent.behind(beat - 1, 1), self.loaded.behind(beat - 2, 1), Some(asked)];
            let sent = latest(times).unwrap_or(asked);
            last = (sent + 1).max(now + 1).max(last + 1);
            self.sent.push(sent);
            self.loaded.push(last);
        }
        // The beat is on the bus a cycle later, and the answer spends a cycle in the arbiter.
        let before = self.answered.behind(self.answered.known() - 1, 1).unwrap_or(0);
        for _ in 0..beats {
            self.answered.push((last + 1 + self.latency + 1).max(before));
        }
        last
    }

    /// Offers a command from this cycle on.
    pub fn offer(&mut self, command: &Command, time: u64) {
        self.bursts.offer(command, time);
    }

    /// What the commands so far take on the bus and in memory.
    pub(super) fn events(&self) -> Events {
        let names = ["write beat", "write burst", "write buffer write", "write buffer read"];
        self.bursts.events(names, ["memory write", kind::DRAM_WRITE])
    }

    /// How many commands there were.
    pub fn offered(&self) -> i64 {
        self.bursts.ends.len() as i64
    }

    /// When a command was taken.
    pub fn taken(&self, command: i64) -> Option<u64> {
        self.bursts.taken.behind(command, 0)
    }

    /// When beat `n` can be taken: its command is there, and it has a place.
    pub fn free(&self, n: i64) -> Option<u64> {
        let bursts = &self.bursts;
        let command = bursts.ends.partition_point(|end| end.1 <= n) as i64;
        let room = n - bursts.dma.beats as i64;
        latest([bursts.entered.behind(command, 2), self.sent.behind(room, 1), self.came.behind(n - 1, 1)])
    }

    /// Finds all times that follow from known times. Returns whether there were any.
    pub fn advance(&mut self) -> bool {
        let mut moved = self.bursts.check(&self.answered);
        loop {
            let known = (self.bursts.asked.known(), self.sent.known(), self.answered.known());
            if let Some(time) = self.next_asked() {
                self.bursts.asked.push(time);
                if self.alone {
                    self.send(time);
                } else {
                    // The request register has two places.
                    let n = self.waiting.known();
                    let place = self.turns.behind(n - 2, 1).unwrap_or(0);
                    self.waiting.push((time + 1).max(place));
                }
            }
            if known == (self.bursts.asked.known(), self.sent.known(), self.answered.known()) {
                return moved;
            }
            moved = true;
        }
    }

    /// A burst begins when all of its beats are there.
    fn next_asked(&self) -> Option<u64> {
        let bursts = &self.bursts;
        let n = bursts.asked.known();
        let known = bursts.known(n)?;
        let open = bursts.through(n - bursts.dma.outstanding as i64) - 1;
        let there = latest([Some(known), self.came.behind(bursts.through(n) - 1, 1), self.answered.behind(open, 1)])?;
        // Where it shares the port: the address before has gone on, and the register has a place.
        let shared = latest([self.waiting.behind(n - 1, 0), self.turns.behind(n - 2, 0)]);
        if self.alone { Some(there) } else { Some(there.max(shared?)) }
    }

    /// The beats of a burst follow each other. The last beat is on the bus 3 cycles later, and the answer spends a
    /// cycle in the arbiter.
    fn send(&mut self, asked: u64) {
        let n = self.bursts.asked.known() - 1;
        let beats = self.bursts.through(n) - self.sent.known();
        let mut last = self.sent.behind(self.sent.known() - 1, 0).unwrap_or(0);
        for _ in 0..beats {
            last = (asked + 1).max(last + 1);
            self.sent.push(last);
        }
        let before = self.answered.behind(self.answered.known() - 1, 1).unwrap_or(0);
        for _ in 0..beats {
            self.answered.push((last + 3 + self.latency + 1).max(before));
        }
    }

    /// When all commands had ended.
    pub fn end(&self) -> Option<u64> {
        self.answered.behind(self.bursts.beats() - 1, 1)
    }
}
