//! Chains whose operations overlap: the controller hands them to a dispatcher, which gives each to its engine. All
//! engines share the ports to memory, each with DMAs of its own.
//!
//! As for one operation, all that follows from the turns so far is known before the next turn is given on any port.

use crate::common::shell::job_controller::{self, Action, Limits, Shape, World};

use super::bus::{Ports, Turns, chosen};
use super::dmas::Dmas;
use super::flow::{Work, advance};
use super::{Fetch, Recurrence, Shell, Spent, descriptor};
use crate::accelerators::job::{Accelerator, Fields};
use crate::accelerators::memory::Memory;

/// From the end of the last command of an operation to the first cycle in which its engine is free.
const FREE: u64 = 3;

/// The cycles of a job as [`Recurrence::job`] says.
pub(super) fn job<A: Accelerator, R: Recurrence<A> + ?Sized>(
    recurrence: &R,
    accelerator: &A,
    (limits, job, shape): (Limits, u64, Shape),
    (memory, turns): (&mut dyn Memory, &mut Turns),
) -> Result<Vec<Spent<A::Checked>>, u8> {
    let shell = recurrence.shell();
    let mut chain = Overlap {
        recurrence,
        accelerator,
        limits,
        memory,
        bus: Bus::new(shell, turns),
        flights: Vec::new(),
        free: vec![0; shell.engines.iter().filter(|&&readers| readers > 0).count()],
        spent: Vec::new(),
        now: 0,
        before: 0,
        settled: true,
    };
    let (_, end) = job_controller::run(shape, limits, job, &mut chain);
    if end.code != 0 {
        return Err(end.code);
    }
    chain.settle();
    chain.bus.leave(turns);
    Ok(chain.spent)
}

/// An operation in flight.
struct Flight {
    engine: usize,
    /// Operations that went after it.
    behind: u64,
    /// The cycle in which it begins.
    begins: u64,
    work: Work,
}

impl Flight {
    /// The first cycle in which its engine is free.
    fn free(&self) -> Option<u64> {
        self.work.end().map(|end| end + FREE)
    }
}

/// The write half of a port.
struct WritePort {
    /// Writers by the number of their manager. The writer of tags is the first manager of the first port.
    managers: Vec<Option<usize>>,
    next: usize,
    last_turn: u64,
    /// When the last beat of each turn goes to the port.
    loaded: Vec<u64>,
    outstanding: usize,
}

impl WritePort {
    /// When the next turn is given, if anybody waits.
    fn when(&self, waits: &impl Fn(usize) -> Option<u64>) -> Option<u64> {
        let first = self.managers.iter().flatten().filter_map(|&k| waits(k)).min()?;
        let room = self.loaded.len().checked_sub(self.outstanding).map_or(0, |oldest| self.loaded[oldest] + 1);
        Some(first.max(self.last_turn + 1).max(room))
    }
}

/// All ports.
struct Bus {
    reads: Ports,
    writes: Vec<WritePort>,
    /// The first reader of each engine.
    first: Vec<usize>,
    readers: Vec<usize>,
}

impl Bus {
    fn new(shell: &Shell, turns: &Turns) -> Self {
        let readers: Vec<usize> = shell.engines.iter().copied().filter(|&readers| readers > 0).collect();
        let first = (0..readers.len()).map(|engine| readers[..engine].iter().sum()).collect();
        let port = |port: usize| {
            // DMA n is on port n modulo ports; write DMAs count after the read DMAs.
            let own = (0..readers.len()).filter(|writer| (shell.readers + writer) % shell.ports == port).map(Some);
            let managers = (port == 0).then_some(None).into_iter().chain(own).collect();
            let outstanding = shell.writes.outstanding as usize;
            WritePort { managers, next: turns.of_writes(port), last_turn: 0, loaded: Vec::new(), outstanding }
        };
        Self {
            reads: Ports::of_all(shell.latency, shell.ports, shell.readers, turns),
            writes: (0..shell.ports).map(port).collect(),
            first,
            readers,
        }
    }

    /// The engine of a reader, and its number there.
    fn reader(&self, number: usize) -> (usize, usize) {
        let engine = self.first.partition_point(|&first| first <= number) - 1;
        (engine, number - self.first[engine])
    }

    fn leave(&self, turns: &mut Turns) {
        self.reads.leave(turns);
        (0..).zip(&self.writes).for_each(|(port, write)| turns.set_writes(port, write.next));
    }
}

/// A chain whose times are computed.
struct Overlap<'a, A: Accelerator, R: ?Sized> {
    recurrence: &'a R,
    accelerator: &'a A,
    limits: Limits,
    memory: &'a mut dyn Memory,
    bus: Bus,
    flights: Vec<Flight>,
    /// The first cycle in which each engine is free, once it has been used.
    free: Vec<u64>,
    spent: Vec<Spent<A::Checked>>,
    now: u64,
    before: u64,
    /// No operation is in flight.
    settled: bool,
}

impl<A: Accelerator, R: Recurrence<A> + ?Sized> Overlap<'_, A, R> {
    /// Finds times until `wanted` is known.
    fn until<T>(&mut self, mut fetch: Option<&mut Dmas>, wanted: impl Fn(&[Flight], Option<&Dmas>) -> Option<T>) -> T {
        loop {
            loop {
                let mut moved = fetch.as_mut().is_some_and(|fetch| advance(&mut Fetch, fetch));
                for flight in &mut self.flights {
                    moved |= flight.work.advance();
                }
                if !moved {
                    break;
                }
            }
            if let Some(found) = wanted(&self.flights, fetch.as_deref()) {
                return found;
            }
            self.turn(fetch.as_deref_mut());
        }
    }

    /// The next turn, of all ports and both directions.
    fn turn(&mut self, fetch: Option<&mut Dmas>) {
        let Self { bus, flights, .. } = self;
        let all: usize = bus.readers.iter().sum();
        let mut read_waits = vec![None; all + 1];
        let mut write_waits = vec![None; bus.readers.len()];
        for flight in flights.iter_mut() {
            let Work::Flow(dmas, _) = &mut flight.work else { continue };
            let first = bus.first[flight.engine];
            for (k, reader) in dmas.readers[..bus.readers[flight.engine]].iter().enumerate() {
                read_waits[first + k] = reader.waits();
            }
            write_waits[flight.engine] = dmas.writer.waits();
        }
        read_waits[all] = fetch.as_ref().and_then(|fetch| fetch.readers[0].waits());
        let (reads, writes) = (|k: usize| read_waits[k], |k: usize| write_waits[k]);
        let read = bus.reads.first(&reads);
        let write = (0..).zip(&bus.writes).filter_map(|(number, port)| Some((port.when(&writes)?, number))).min();
        match (read, write) {
            (Some((now, port)), write) if write.is_none_or(|(other, _)| now <= other) => {
                let Some(number) = bus.reads.choose(port, now, &reads) else { return };
                if number == all {
                    if let Some(fetch) = fetch {
                        bus.reads.grant(port, &mut fetch.readers[0], now);
                    }
                    return;
                }
                let (engine, k) = bus.reader(number);
                for flight in flights.iter_mut().filter(|flight| flight.engine == engine) {
                    if let Work::Flow(dmas, _) = &mut flight.work {
                        bus.reads.grant(port, &mut dmas.readers[k], now);
                    }
                }
            }
            (_, Some((now, port))) => {
                let port = &mut bus.writes[port];
                let Some((turn, engine)) = chosen(&port.managers, port.next, now, &writes) else { return };
                (port.next, port.last_turn) = (turn + 1, now);
                let last = port.loaded.last().copied().unwrap_or(0);
                for flight in flights.iter_mut().filter(|flight| flight.engine == engine) {
                    if let Work::Flow(dmas, _) = &mut flight.work {
                        port.loaded.push(dmas.writer.grant(now, last));
                    }
                }
            }
            (None, None) => panic!("a job that has not ended reads or writes"),
            (Some(_), None) => {}
        }
    }

    /// All operations end: before the tag of one is written, and before the job ends.
    fn settle(&mut self) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        // The dispatcher looks from the cycle on after it has given the last one, and tells in the next cycle.
        let looks = self.now - 1;
        self.now = self.drain().max(looks) + 2;
        self.account();
    }

    /// Waits for all operations in flight. Returns the first cycle in which no engine has one.
    fn drain(&mut self) -> u64 {
        let all_free = |flights: &[Flight]| flights.iter().try_fold(0, |last, flight| Some(flight.free()?.max(last)));
        let last = self.until(None, |flights, _| all_free(flights));
        for flight in self.flights.drain(..) {
            self.free[flight.engine] = flight.free().unwrap_or(0);
        }
        last.max(self.free.iter().copied().max().unwrap_or(0))
    }

    /// An operation that is offered in this cycle goes to its engine, in the cycle that is returned.
    fn go(&mut self, engine: usize, independent: u64, checked: &A::Checked) -> Result<u64, u8> {
        let depends = |flight: &Flight| flight.engine == engine || flight.behind >= independent;
        let ended = self.until(None, |flights, _| {
            flights.iter().filter(|flight| depends(flight)).try_fold(0, |last, flight| Some(flight.free()?.max(last)))
        });
        let begun = self.flights.iter().map(|flight| flight.begins + 1).max().unwrap_or(0);
        let goes = self.now.max(ended).max(begun).max(self.free[engine]);
        for flight in self.flights.extract_if(.., |flight| depends(flight)) {
            self.free[flight.engine] = flight.free().unwrap_or(0);
        }
        // The engine is offered it a cycle later.
        let state: (&mut dyn Memory, &mut Turns) = (self.memory, &mut Turns::default());
        let course = self.recurrence.course(self.accelerator, checked, goes + 1, state)?;
        self.flights.iter_mut().for_each(|flight| flight.behind += 1);
        let mut flight = Flight { engine, behind: 0, begins: course.begins, work: course.work };
        if let Work::Flow(dmas, _) = &mut flight.work {
            dmas.writer.share();
        }
        self.flights.push(flight);
        Ok(goes)
    }
}

impl<A: Accelerator, R: Recurrence<A> + ?Sized> World for Overlap<'_, A, R> {
    fn descriptor(&mut self, address: u64) -> Vec<u8> {
        descriptor(self.memory, address).0
    }

    fn outcome(&mut self, action: &Action) -> u8 {
        let (recurrence, accelerator) = (self.recurrence, self.accelerator);
        match action {
            Action::Fetch(address) => {
                let mut fetch = recurrence.shell().fetch(*address, self.now);
                self.now = self.until(Some(&mut fetch), |_, fetch| fetch.and_then(Dmas::end)) + 2;
                descriptor(self.memory, *address).1
            }
            Action::Operation { opcode, independent, words } => {
                let checked = match accelerator.check(*opcode, Fields(words), &self.limits) {
                    Ok(checked) => checked,
                    Err(code) => return code,
                };
                let engine = accelerator.engine(*opcode).map_or(0, |engine| engine as usize);
                let goes = match self.go(engine, (*independent).into(), &checked) {
                    Ok(goes) => goes,
                    Err(code) => return code,
                };
                // Its end is told in the next cycle. Then comes the next descriptor, or the controller waits.
                self.now = goes + 2;
                self.settled = false;
                self.spent.push(Spent { operation: checked, cycles: self.now - self.before });
                self.before = self.now;
                0
            }
            Action::Tag { .. } => {
                self.settle();
                // A command of one beat, and its answer.
                self.now += 12 + recurrence.shell().latency;
                self.account();
                if let Some(port) = self.bus.writes.first_mut() {
                    port.next = 1;
                }
                0
            }
        }
    }
}

impl<A: Accelerator, R: ?Sized> Overlap<'_, A, R> {
    /// The time up to now belongs to the last operation.
    fn account(&mut self) {
        self.spent.iter_mut().next_back().into_iter().for_each(|last| last.cycles += self.now - self.before);
        self.before = self.now;
    }
}
