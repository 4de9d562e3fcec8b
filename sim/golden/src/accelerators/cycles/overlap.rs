//! Chains whose operations overlap: the controller hands them to a dispatcher, which gives each to its engine. All
//! engines share the ports to memory, each with DMAs of its own.
//!
//! As for one operation, all that follows from the turns so far is known before the next turn is given on any port.

use super::bus::{Ports, Turns, chosen};
use super::dmas::Dmas;
use super::flow::{Course, Work, advance};
use super::shell::{Fetch, Shell};
use crate::accelerators::events::Events;

/// From the end of the last command of an operation to the first cycle in which its engine is free.
const FREE: u64 = 3;

/// Operations that have to end before an operation goes on.
#[derive(Debug, Default)]
struct Awaited {
    /// Their numbers, as long as it is not known when their engines are free.
    open: Vec<u64>,
    /// The first cycle in which the engines of all others are free.
    least: u64,
}

impl Awaited {
    /// The engine of an operation is free from this cycle on.
    fn ended(&mut self, number: u64, free: u64) {
        if let Some(at) = self.open.iter().position(|&open| open == number) {
            self.open.swap_remove(at);
            self.least = self.least.max(free);
        }
    }

    /// When all have ended, if it is known.
    fn all(&self) -> Option<u64> {
        self.open.is_empty().then_some(self.least)
    }
}

/// An operation in flight.
struct Flight {
    number: u64,
    engine: usize,
    /// Operations that went after it.
    behind: u64,
    /// The cycle in which it begins if it waits for nothing.
    begins: u64,
    /// Its begin waits for these.
    begin: Awaited,
    /// Its readers that are held wait for these.
    release: Awaited,
    released: bool,
    /// The part that it shares with others is its own after these; None if it uses none, or once it has it.
    turn: Option<Awaited>,
    shares: bool,
    /// What happens in it, besides the accesses of its DMAs.
    events: Events,
    /// Its own times begin so many cycles later: it had to wait. None: it waits.
    shift: Option<u64>,
    work: Work,
}

impl Flight {
    /// The first cycle in which its engine is free.
    fn free(&self) -> Option<u64> {
        Some(self.ends()? + FREE)
    }

    /// The cycle in which its last command ends.
    fn ends(&self) -> Option<u64> {
        Some(self.work.end()? + self.shift?)
    }

    /// What is known of it when it has ended.
    fn over(self) -> Ended {
        let begins = self.begins + self.shift.unwrap_or(0);
        let (number, ends) = (self.number, self.ends().unwrap_or(begins));
        let mut events = self.events;
        events += self.work.events();
        Ended { number, begins, ends, events }
    }

    /// It begins, and its readers are released, if what it waits for is known. Returns whether it was.
    fn go_on(&mut self) -> bool {
        let mut moved = false;
        if let (None, Some(begin)) = (self.shift, self.begin.all()) {
            self.shift = Some(begin.saturating_sub(self.begins));
            moved = true;
        }
        if let (false, Some(shift), Some(release)) = (self.released, self.shift, self.release.all()) {
            if let Work::Flow(dmas, _) = &mut self.work {
                dmas.readers.iter_mut().for_each(|reader| reader.release(release.saturating_sub(shift)));
            }
            self.released = true;
            moved = true;
        }
        if let (Some(given), Some(shift)) = (self.turn.as_ref().and_then(Awaited::all), self.shift) {
            if let Work::Flow(_, flow) = &mut self.work {
                flow.given(given.saturating_sub(shift));
            }
            self.turn = None;
            moved = true;
        }
        moved
    }
}

/// An operation that has ended.
pub(super) struct Ended {
    /// Its number in the chain, from 0.
    pub number: u64,
    /// The cycle in which it began.
    pub begins: u64,
    /// The cycle in which its last command ended.
    pub ends: u64,
    /// What happened in it.
    pub events: Events,
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

/// All operations in flight.
pub(super) struct Flights {
    bus: Bus,
    flights: Vec<Flight>,
    /// Operations up to now.
    count: u64,
    /// The first cycle in which each engine is free, once it has been used.
    free: Vec<u64>,
    /// Operations that have ended since somebody asked.
    ended: Vec<Ended>,
    /// The first cycle in which the part that operations share is free, as far as they are not in flight.
    shared: u64,
}

impl Flights {
    /// None yet; the ports are as the job before has left them.
    pub(super) fn new(shell: &Shell, turns: &Turns) -> Self {
        let free = vec![0; shell.engines.iter().filter(|&&readers| readers > 0).count()];
        Self { bus: Bus::new(shell, turns), flights: Vec::new(), count: 0, free, ended: Vec::new(), shared: 0 }
    }

    /// The job has ended: the turns stay for the next one.
    pub(super) fn leave(&self, turns: &mut Turns) {
        self.bus.leave(turns);
    }

    /// Finds times until `wanted` is known.
    fn until<T>(&mut self, mut fetch: Option<&mut Dmas>, wanted: impl Fn(&[Flight], Option<&Dmas>) -> Option<T>) -> T {
        loop {
            loop {
                let mut moved = fetch.as_mut().is_some_and(|fetch| advance(&mut Fetch, fetch));
                self.settle();
                for flight in &mut self.flights {
                    moved |= flight.go_on();
                    if flight.shift.is_some() {
                        moved |= flight.work.advance();
                    }
                }
                if !moved {
                    break;
                }
            }
            if let Some(found) = wanted(&self.flights, fetch.as_deref()) {
                return found;
            }
            if !self.decide(fetch.as_deref()) {
                self.turn(fetch.as_deref_mut());
            }
        }
    }

    /// Tells all operations which others have ended.
    fn settle(&mut self) {
        let ended: Vec<(u64, u64)> =
            self.flights.iter().filter_map(|flight| Some((flight.number, flight.free()?))).collect();
        for flight in &mut self.flights {
            for &(number, free) in &ended {
                flight.begin.ended(number, free);
                flight.release.ended(number, free);
                flight.turn.iter_mut().for_each(|turn| turn.ended(number, free));
            }
        }
    }

    /// When each reader waits for a turn, the reader of descriptors last; and when each writer does.
    fn waiting(&mut self, fetch: Option<&Dmas>) -> [Vec<Option<u64>>; 2] {
        let Self { bus, flights, .. } = self;
        let all: usize = bus.readers.iter().sum();
        let mut read_waits = vec![None; all + 1];
        let mut write_waits = vec![None; bus.readers.len()];
        for flight in flights.iter_mut() {
            let (Work::Flow(dmas, _), Some(shift)) = (&mut flight.work, flight.shift) else { continue };
            let first = bus.first[flight.engine];
            for (k, reader) in dmas.readers[..bus.readers[flight.engine]].iter().enumerate() {
                read_waits[first + k] = reader.waits().map(|time| time + shift);
            }
            write_waits[flight.engine] = dmas.writer.waits().map(|time| time + shift);
        }
        read_waits[all] = fetch.and_then(|fetch| fetch.readers[0].waits());
        [read_waits, write_waits]
    }

    /// Something that has to be decided before the next turn. Returns whether there was anything.
    fn decide(&mut self, fetch: Option<&Dmas>) -> bool {
        let [read_waits, write_waits] = self.waiting(fetch);
        let (reads, writes) = (|k: usize| read_waits[k], |k: usize| write_waits[k]);
        let read = self.bus.reads.first(&reads).map(|(now, _)| now);
        let write = self.bus.writes.iter().filter_map(|port| port.when(&writes)).min();
        let next = [read, write].into_iter().flatten().min();
        let decided = |flight: &mut Flight| {
            // What a turn brings about may come in its cycle.
            flight.shift.is_some_and(|shift| flight.work.decide(next.map(|now| now.saturating_sub(shift + 1))))
        };
        self.flights.iter_mut().fold(false, |any, flight| any | decided(flight))
    }

    /// The next turn, of all ports and both directions.
    fn turn(&mut self, fetch: Option<&mut Dmas>) {
        let [read_waits, write_waits] = self.waiting(fetch.as_deref());
        let Self { bus, flights, .. } = self;
        let all = read_waits.len() - 1;
        let (reads, writes) = (|k: usize| read_waits[k], |k: usize| write_waits[k]);
        let read = bus.reads.first(&reads);
        let write = (0..).zip(&bus.writes).filter_map(|(number, port)| Some((port.when(&writes)?, number))).min();
        match (read, write) {
            (Some((now, port)), write) if write.is_none_or(|(other, _)| now <= other) => {
                let Some(number) = bus.reads.choose(port, now, &reads) else { return };
                if number == all {
                    if let Some(fetch) = fetch {
                        bus.reads.grant(port, &mut fetch.readers[0], (now, 0));
                    }
                    return;
                }
                let (engine, k) = bus.reader(number);
                for flight in flights.iter_mut().filter(|flight| flight.engine == engine) {
                    if let (Work::Flow(dmas, _), Some(shift)) = (&mut flight.work, flight.shift) {
                        bus.reads.grant(port, &mut dmas.readers[k], (now, shift));
                    }
                }
            }
            (_, Some((now, port))) => {
                let port = &mut bus.writes[port];
                let Some((turn, engine)) = chosen(&port.managers, port.next, now, &writes) else { return };
                (port.next, port.last_turn) = (turn + 1, now);
                let last = port.loaded.last().copied().unwrap_or(0);
                for flight in flights.iter_mut().filter(|flight| flight.engine == engine) {
                    if let (Work::Flow(dmas, _), Some(shift)) = (&mut flight.work, flight.shift) {
                        port.loaded.push(dmas.writer.grant(now - shift, last.saturating_sub(shift)) + shift);
                    }
                }
            }
            (None, None) => panic!("a job that has not ended reads or writes"),
            (Some(_), None) => {}
        }
    }

    /// Waits for all operations in flight. Returns the first cycle in which no engine has one.
    pub(super) fn drain(&mut self) -> u64 {
        let all_free = |flights: &[Flight]| flights.iter().try_fold(0, |last, flight| Some(flight.free()?.max(last)));
        let last = self.until(None, |flights, _| all_free(flights));
        for flight in std::mem::take(&mut self.flights) {
            self.over(flight);
        }
        last.max(self.free.iter().copied().max().unwrap_or(0))
    }

    /// The read of a descriptor ends in this cycle.
    pub(super) fn fetched(&mut self, mut fetch: Dmas) -> u64 {
        self.until(Some(&mut fetch), |_, fetch| fetch.and_then(Dmas::end))
    }

    /// The cycle in which an operation that is offered in cycle `now` goes to its engine, which is free then.
    pub(super) fn goes(&mut self, now: u64, engine: usize) -> u64 {
        let ended = self.until(None, |flights, _| {
            flights.iter().filter(|flight| flight.engine == engine).try_fold(0, |last, f| Some(f.free()?.max(last)))
        });
        let begun = self.flights.iter().map(|flight| flight.begins + 1).max().unwrap_or(0);
        let goes = now.max(ended).max(begun).max(self.free[engine]);
        let over: Vec<Flight> = self.flights.extract_if(.., |flight| flight.engine == engine).collect();
        over.into_iter().for_each(|flight| self.over(flight));
        goes
    }

    /// It is no longer in flight.
    fn over(&mut self, flight: Flight) {
        let free = flight.free().unwrap_or(0);
        self.free[flight.engine] = free;
        if flight.shares {
            self.shared = self.shared.max(free);
        }
        self.ended.push(flight.over());
    }

    /// An operation goes to an engine. It begins after all others but the last `early` ones, and its readers that are held
    /// are released after all others but the last `independent` ones.
    pub(super) fn begin(&mut self, engine: usize, [independent, early]: [u64; 2], course: Course) {
        let awaited = |which: &dyn Fn(&Flight) -> bool| Awaited {
            open: self.flights.iter().filter(|flight| which(flight)).map(|flight| flight.number).collect(),
            least: 0,
        };
        let but = |number: u64| awaited(&|flight| flight.behind >= number);
        let (begin, release) = (but(if course.late > 0 { early } else { independent }), but(independent));
        let turn = course.shares.then(|| Awaited { least: self.shared, ..awaited(&|flight| flight.shares) });
        self.flights.iter_mut().for_each(|flight| flight.behind += 1);
        let (number, begins) = (self.count, course.begins);
        self.count += 1;
        let mut flight = Flight {
            number,
            engine,
            behind: 0,
            begins,
            begin,
            release,
            released: false,
            turn,
            shares: course.shares,
            events: course.events,
            shift: None,
            work: course.work,
        };
        if let Work::Flow(dmas, _) = &mut flight.work {
            dmas.writer.share();
        }
        self.flights.push(flight);
    }

    /// Operations that have ended since the last call.
    pub(super) fn ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// The tag of an operation was written, through the first port.
    pub(super) fn tagged(&mut self) {
        if let Some(port) = self.bus.writes.first_mut() {
            port.next = 1;
        }
    }
}
