//! Operations of a chain on several engines at the same time, cycle by cycle.
//!
//! ```
//! use golden::common::shell::dispatcher::{Asked, Cycle, Dispatcher, Engine};
//!
//! let asked = |engine, independent| Asked { engine, independent, ..Asked::default() };
//! let mut dispatcher = Dispatcher::new(2);
//! let idle = Cycle { end_ready: true, engines: vec![Engine::default(); 2], ..Cycle::default() };
//! let offer = |asked: &Asked| Cycle { asked: Some(asked.clone()), ..idle.clone() };
//! // The first one goes.
//! assert!(dispatcher.cycle(&offer(&asked(0, 0))));
//! let first = |does| Cycle { engines: vec![does, Engine::default()], ..idle.clone() };
//! dispatcher.cycle(&first(Engine { ready: true, ..Engine::default() }));
//! // The next one goes when the one before is right.
//! assert!(!dispatcher.cycle(&offer(&asked(1, 0))));
//! dispatcher.cycle(&first(Engine { right: true, ..Engine::default() }));
//! assert!(dispatcher.cycle(&offer(&asked(1, 0))));
//! // It depends on the first one, and waits for its end.
//! assert_eq!(dispatcher.released(1), Some(false));
//! dispatcher.cycle(&first(Engine { end: Some(0), ..Engine::default() }));
//! assert_eq!(dispatcher.released(1), Some(true));
//! ```

/// An operation that is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Which engine does it.
    pub engine: usize,
    /// None does it: only its end is asked for.
    pub nothing: bool,
    /// Its end is told after all operations up to it have ended.
    pub waits: bool,
    /// So many operations right before it may still be in flight when it begins.
    pub independent: u64,
    /// So many may be in flight when it reads what it reads early; less than `independent` counts as that.
    pub early: u64,
    /// Told with its error.
    pub kept: Vec<u32>,
    /// Number of the operation.
    pub opcode: u8,
    /// The operation.
    pub words: Vec<u32>,
}

/// What became of an operation and of operations before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// 0, or the error of the first operation that failed.
    pub error: u8,
    /// How many operations before this one stands the operation that failed.
    pub back: u64,
    /// What was kept with the operation that failed.
    pub kept: Vec<u32>,
}

/// What an engine does in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// It takes the operation that it is offered.
    pub ready: bool,
    /// Its operation is right.
    pub right: bool,
    /// Its operation ends, with an error or 0.
    pub end: Option<u8>,
}

/// What the neighbours do in a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// Everything is dropped.
    pub clear: bool,
    /// An operation is offered.
    pub asked: Option<Asked>,
    /// The end is taken.
    pub end_ready: bool,
    /// The engines.
    pub engines: Vec<Engine>,
}

/// An operation in flight, or one that failed.
#[derive(Clone, Debug)]
struct Flight {
    /// Its place in the chain.
    number: u64,
    asked: Asked,
    taken: bool,
    /// It is right, or has ended.
    known: bool,
    error: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Ready,
    /// The operation with this place in the chain waits for others.
    Settle(u64),
    Tell(End),
    /// An error was told.
    Over,
}

/// The dispatcher.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    engines: usize,
    /// In the order of the chain.
    flights: Vec<Flight>,
    /// Operations that went to engines.
    sent: u64,
    phase: Phase,
}

impl Dispatcher {
    /// A dispatcher with so many engines, without operations.
    #[must_use]
    pub fn new(engines: usize) -> Self {
        Self { engines, flights: Vec::new(), sent: 0, phase: Phase::Ready }
    }

    /// What an engine is offered.
    #[must_use]
    pub fn offered(&self, engine: usize) -> Option<&Asked> {
        self.flights.iter().find(|flight| flight.asked.engine == engine && !flight.taken).map(|flight| &flight.asked)
    }

    /// Whether all have ended that the operation of an engine depends on, if it has one.
    #[must_use]
    pub fn released(&self, engine: usize) -> Option<bool> {
        self.after(engine, |asked| asked.independent)
    }

    /// The same for those that may write what it reads early.
    #[must_use]
    pub fn released_early(&self, engine: usize) -> Option<bool> {
        self.after(engine, |asked| asked.early.max(asked.independent))
    }

    /// Whether all operations before an engine's one have ended but the last ones, as many as it names.
    fn after(&self, engine: usize, but: impl Fn(&Asked) -> u64) -> Option<bool> {
        let own = self.flights.iter().find(|flight| flight.asked.engine == engine && flight.error == 0)?;
        let waits = |flight: &Flight| flight.number < own.number && own.number - flight.number > but(&own.asked);
        Some(!self.flights.iter().any(waits))
    }

    /// The end that is told.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        if let Phase::Tell(end) = &self.phase { Some(end) } else { None }
    }

    /// No operation is in flight, and no end is to be told.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.flights.is_empty() && self.phase == Phase::Ready
    }

    fn failed(&self) -> bool {
        self.flights.iter().any(|flight| flight.error != 0)
    }

    /// Whether an operation could go to its engine.
    fn goes(&self, asked: &Asked) -> bool {
        !asked.nothing && self.flights.iter().all(|f| f.asked.engine != asked.engine && f.known) && !self.failed()
    }

    /// Whether an operation that is offered is taken.
    #[must_use]
    pub fn takes(&self, asked: &Asked, clear: bool) -> bool {
        self.phase == Phase::Ready && !clear && (asked.nothing || self.failed() || self.goes(asked))
    }

    /// One cycle. Returns whether an operation was taken.
    ///
    /// # Panics
    /// There are more or fewer engines than the dispatcher has, or one ends what it has not taken.
    pub fn cycle(&mut self, now: &Cycle) -> bool {
        assert_eq!(now.engines.len(), self.engines, "engines of a cycle");
        if now.clear {
            (self.flights, self.phase) = (Vec::new(), Phase::Ready);
            return false;
        }
        let taken = now.asked.as_ref().filter(|asked| self.takes(asked, false));
        let goes = taken.is_some_and(|asked| self.goes(asked));
        let settled = self.settled();
        for (engine, now) in now.engines.iter().enumerate() {
            self.engine(engine, *now);
        }
        if let (Some(asked), true) = (taken, goes) {
            let flight = Flight { number: self.sent, asked: asked.clone(), taken: false, known: false, error: 0 };
            self.flights.push(flight);
            self.sent += 1;
        }
        self.phase = match (&self.phase, taken) {
            // Where it stands: an operation that does not go stands after all that went.
            (Phase::Ready, Some(asked)) if asked.waits || !goes => Phase::Settle(self.sent - u64::from(goes)),
            (Phase::Ready, Some(_)) => Phase::Tell(End::default()),
            (Phase::Settle(_), _) if settled.is_some() => Phase::Tell(settled.unwrap_or_default()),
            (Phase::Tell(end), _) if now.end_ready && end.error != 0 => Phase::Over,
            (Phase::Tell(_), _) if now.end_ready => Phase::Ready,
            (phase, _) => phase.clone(),
        };
        taken.is_some()
    }

    /// The end of an operation that waits, if everything that it waits for is known.
    fn settled(&self) -> Option<End> {
        let Phase::Settle(number) = self.phase else { return None };
        match self.flights.first() {
            None => Some(End::default()),
            Some(first) if first.error != 0 => {
                Some(End { error: first.error, back: number - first.number, kept: first.asked.kept.clone() })
            }
            Some(_) => None,
        }
    }

    /// What an engine does with its operation. An operation that ends well leaves.
    fn engine(&mut self, engine: usize, now: Engine) {
        let Some(at) = self.flights.iter().position(|flight| flight.asked.engine == engine) else { return };
        let flight = &mut self.flights[at];
        assert!(flight.taken || (!now.right && now.end.is_none()), "engine {engine} has taken nothing");
        flight.taken |= now.ready;
        flight.known |= now.right || now.end.is_some();
        match now.end {
            Some(0) => drop(self.flights.remove(at)),
            Some(error) => flight.error = error,
            None => {}
        }
    }
}
