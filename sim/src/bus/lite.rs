//! [`AxiLiteHost`]: reads and writes the registers of a design over AXI4-Lite.

use std::collections::{BTreeMap, VecDeque};

use super::checker::ProtocolChecker;
use super::config::Stalls;
use super::lite_ports::LitePorts;
use super::ports::Names;
use super::signals::{Address, Response, Signals, WriteData};
use super::{Channel, Partner};
use crate::stimulus::{Stall, StallPattern};
use crate::{Error, Result, Sim};

/// How a host behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiteConfig {
    /// Whether address or data of a write comes first.
    pub skew: Skew,
    /// Pauses: before VALID on AW, W and AR, of READY on B and R.
    pub stalls: Stalls,
    /// Most accesses that are open at a time. With 1, accesses happen in the order of the requests. With more, reads
    /// and writes overtake each other.
    pub open: usize,
    /// Cycles after which a handshake or an answer that does not come is an error. Must exceed skew and pauses.
    pub timeout: u32,
}

impl Default for LiteConfig {
    /// A plain CPU: one access at a time, address and data together, no pauses, patient for 1,000 cycles.
    fn default() -> Self {
        Self { skew: Skew::Together, stalls: Stalls::default(), open: 1, timeout: 1000 }
    }
}

/// When a host offers address and data of a write. AXI forbids it to wait for one READY with the other VALID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skew {
    /// In the same cycle.
    Together,
    /// Data so many cycles after the address.
    AddressFirst(u32),
    /// The address so many cycles after data.
    DataFirst(u32),
}

/// An access that was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// The answer of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The response.
    pub resp: Response,
    /// The data of a read; 0 for a write.
    pub data: u64,
    /// The cycle in which the access was first offered.
    pub asked: u64,
    /// The cycle in which the answer passed.
    pub answered: u64,
}

#[derive(Clone, Copy)]
struct Access {
    ticket: Ticket,
    addr: u64,
    /// Data and strobes of a write.
    write: Option<(u64, u8)>,
}

/// An access that was begun.
#[derive(Clone, Copy)]
struct Open {
    access: Access,
    asked: u64,
}

/// The offers on AW, W or AR, and their first cycles.
struct Offers {
    queue: VecDeque<(u64, Access)>,
    pause: StallPattern,
    /// Cycles for which the present offer has been waiting.
    waits: u32,
}

impl Offers {
    fn new(pause: StallPattern) -> Self {
        Self { queue: VecDeque::new(), pause, waits: 0 }
    }

    /// The access to offer in this cycle.
    fn next(&mut self, now: u64, held: bool) -> Option<Access> {
        let pause = self.pause.next_pause();
        let &(from, access) = self.queue.front()?;
        (held || !pause && from <= now).then_some(access)
    }

    /// Whether the offer passed. Counts how long it waits.
    fn settle(&mut self, valid: bool, ready: bool) {
        self.waits = if valid && !ready { self.waits + 1 } else { 0 };
        if valid && ready {
            self.queue.pop_front();
        }
    }
}

/// Accesses registers of a design through its AXI4-Lite subordinate port, with a [`ProtocolChecker`] that is always on.
///
/// Either ask ([`AxiLiteHost::write`], [`AxiLiteHost::read`]), run cycles and fetch the answer, or let
/// [`AxiLiteHost::store`] and [`AxiLiteHost::load`] run the cycles.
pub struct AxiLiteHost {
    prefix: String,
    config: LiteConfig,
    ports: LitePorts,
    checker: ProtocolChecker,
    signals: Signals,
    queue: VecDeque<Access>,
    aw: Offers,
    w: Offers,
    ar: Offers,
    b_pause: StallPattern,
    r_pause: StallPattern,
    writes: VecDeque<Open>,
    reads: VecDeque<Open>,
    /// Writes whose address passed, and whose data did, without an answer.
    passed: (usize, usize),
    read_passed: usize,
    /// Cycles for which an answer on B and on R has been due.
    late: (u32, u32),
    answers: BTreeMap<Ticket, Answer>,
    tickets: u64,
    resets: u64,
    /// No offer is allowed in this cycle: VALID rises at the first edge after reset, not before.
    quiet: bool,
    /// No pause and no random number decides when it is ready.
    is_steady: bool,
    /// The inputs of the design already show that it wants nothing.
    rests: bool,
}

impl AxiLiteHost {
    /// A host on the subordinate whose ports begin with `prefix`; `seed` fixes its pauses.
    ///
    /// # Errors
    /// [`Error::UnknownPort`] when a port is missing, [`Error::Unsupported`] when one has a wrong width.
    pub fn new(sim: &Sim, prefix: &str, config: LiteConfig, seed: u64) -> Result<Self> {
        let ports = LitePorts::find(&Names { sim, prefix })?;
        if config.open == 0 {
            return Err(Error::Unsupported(format!("host on `{prefix}`: 0 open accesses: give at least 1")));
        }
        let Stalls { aw, w, b, ar, r, ready_after_valid } = config.stalls;
        let is_steady = [aw, w, b, ar, r].iter().all(|&stall| stall == Stall::Never) && !ready_after_valid;
        let pattern = |stall: Stall, channel| stall.pattern(seed, &format!("{prefix} host {channel}"));
        Ok(Self {
            prefix: prefix.to_owned(),
            config,
            checker: ProtocolChecker::lite(prefix, ports.bus),
            ports,
            signals: Signals::default(),
            queue: VecDeque::new(),
            aw: Offers::new(pattern(aw, "AW")),
            w: Offers::new(pattern(w, "W")),
            ar: Offers::new(pattern(ar, "AR")),
            b_pause: pattern(b, "B"),
            r_pause: pattern(r, "R"),
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            passed: (0, 0),
            read_passed: 0,
            late: (0, 0),
            answers: BTreeMap::new(),
            tickets: 0,
            resets: sim.resets(),
            quiet: false,
            is_steady,
            rests: false,
        })
    }

    /// Requests a write of all bytes of a register.
    ///
    /// # Panics
    /// When address or data are wider than the ports.
    pub fn write(&mut self, addr: u64, data: u64) -> Ticket {
        self.write_bytes(addr, data, ((1_u16 << self.ports.bus) - 1) as u8)
    }

    /// Requests a write of the bytes whose bit in `strb` is set.
    ///
    /// # Panics
    /// As [`AxiLiteHost::write`].
    pub fn write_bytes(&mut self, addr: u64, data: u64, strb: u8) -> Ticket {
        let mask = crate::bits::mask(8 * self.ports.bus);
        assert!(data & !mask == 0, "{data:#x} does not fit the {} bytes of `{}`", self.ports.bus, self.prefix);
        assert!(u32::from(strb) >> self.ports.bus == 0, "strobes {strb:#x} of a bus of {} bytes", self.ports.bus);
        self.ask(addr, Some((data, strb)))
    }

    /// Requests a read.
    ///
    /// # Panics
    /// When the address is wider than the port.
    pub fn read(&mut self, addr: u64) -> Ticket {
        self.ask(addr, None)
    }

    /// The answer, once it is there. It is given out once.
    pub fn answer(&mut self, ticket: Ticket) -> Option<Answer> {
        self.answers.remove(&ticket)
    }

    /// Writes a register and runs cycles, also for the partners, until the answer is there.
    ///
    /// # Errors
    /// [`Error::BusTimeout`] when no answer comes, [`Error::Bus`] for a broken rule, and all errors of partners.
    pub fn store(
        &mut self,
        sim: &mut Sim,
        partners: &mut [&mut dyn Partner],
        addr: u64,
        data: u64,
    ) -> Result<Response> {
        let ticket = self.write(addr, data);
        Ok(self.finish(sim, partners, ticket)?.resp)
    }

    /// Reads a register and runs cycles, also for the partners, until the answer is there.
    ///
    /// # Errors
    /// As [`AxiLiteHost::store`].
    pub fn load(&mut self, sim: &mut Sim, partners: &mut [&mut dyn Partner], addr: u64) -> Result<(u64, Response)> {
        let ticket = self.read(addr);
        let answer = self.finish(sim, partners, ticket)?;
        Ok((answer.data, answer.resp))
    }

    /// Runs cycles, also for the partners, until the answer to `ticket` is there.
    ///
    /// # Errors
    /// As [`AxiLiteHost::store`].
    /// [`Error::Unsupported`] when the ticket is not open: its answer was given out, or a reset lost it.
    pub fn finish(&mut self, sim: &mut Sim, partners: &mut [&mut dyn Partner], ticket: Ticket) -> Result<Answer> {
        loop {
            if let Some(answer) = self.answer(ticket) {
                return Ok(answer);
            }
            let open = self.writes.iter().chain(&self.reads).map(|o| o.access.ticket);
            let known = open.chain(self.queue.iter().map(|a| a.ticket)).any(|t| t == ticket);
            if !known {
                let problem =
                    format!("access {} of `{}` is not open: answered before, or reset", ticket.0, self.prefix);
                return Err(Error::Unsupported(problem));
            }
            self.cycle(sim, partners)?;
        }
    }

    /// One clock cycle of this host and of partners; see [`cycle`](super::cycle).
    ///
    /// # Errors
    /// As [`AxiLiteHost::store`].
    pub fn cycle(&mut self, sim: &mut Sim, partners: &mut [&mut dyn Partner]) -> Result<bool> {
        self.drive(sim)?;
        for partner in partners.iter_mut() {
            partner.drive(sim)?;
        }
        sim.settle()?;
        let mut moved = self.sample(sim)?;
        for partner in partners {
            moved |= partner.sample(sim)?;
        }
        sim.tick()?;
        Ok(moved)
    }

    fn ask(&mut self, addr: u64, write: Option<(u64, u8)>) -> Ticket {
        let width = self.ports.address_width;
        let fits = addr & !crate::bits::mask(width) == 0;
        assert!(fits, "address {addr:#x} does not fit the {width} bits of `{}`", self.prefix);
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        self.queue.push_back(Access { ticket, addr, write });
        ticket
    }

    fn begin(&mut self, now: u64) {
        while self.writes.len() + self.reads.len() < self.config.open
            && let Some(access) = self.queue.pop_front()
        {
            let open = Open { access, asked: now };
            if access.write.is_none() {
                self.ar.queue.push_back((now, access));
                self.reads.push_back(open);
                continue;
            }
            let (address, data) = match self.config.skew {
                Skew::Together => (0, 0),
                Skew::AddressFirst(cycles) => (0, cycles),
                Skew::DataFirst(cycles) => (cycles, 0),
            };
            self.aw.queue.push_back((now + u64::from(address), access));
            self.w.queue.push_back((now + u64::from(data), access));
            self.writes.push_back(open);
        }
    }

    /// A reset ends the accesses that were begun. Accesses in the queue stay.
    fn reset(&mut self) {
        self.checker.reset();
        (self.quiet, self.rests) = (true, false);
        self.signals = Signals::default();
        for offers in [&mut self.aw, &mut self.w, &mut self.ar] {
            offers.queue.clear();
            offers.waits = 0;
        }
        self.writes.clear();
        self.reads.clear();
        (self.passed, self.read_passed, self.late) = ((0, 0), 0, (0, 0));
    }

    /// Notes the transfers that pass at the coming edge.
    fn advance(&mut self, now: u64) -> bool {
        let Signals { aw, w, b, ar, r } = &self.signals;
        self.aw.settle(aw.valid, aw.ready);
        self.w.settle(w.valid, w.ready);
        self.ar.settle(ar.valid, ar.ready);
        let due = (self.passed.0.min(self.passed.1) > 0, self.read_passed > 0);
        self.late.0 = if due.0 && !b.valid { self.late.0 + 1 } else { 0 };
        self.late.1 = if due.1 && !r.valid { self.late.1 + 1 } else { 0 };
        self.passed.0 += usize::from(aw.passes());
        self.passed.1 += usize::from(w.passes());
        self.read_passed += usize::from(ar.passes());
        if b.passes()
            && let Some(Open { access, asked }) = self.writes.pop_front()
        {
            self.passed = (self.passed.0 - 1, self.passed.1 - 1);
            let answer = Answer { resp: b.payload.resp, data: 0, asked, answered: now };
            self.answers.insert(access.ticket, answer);
        }
        if r.passes()
            && let Some(Open { access, asked }) = self.reads.pop_front()
        {
            self.read_passed -= 1;
            let answer = Answer { resp: r.payload.resp, data: r.payload.data[0], asked, answered: now };
            self.answers.insert(access.ticket, answer);
        }
        aw.passes() || w.passes() || b.passes() || ar.passes() || r.passes()
    }

    fn check_time(&self, now: u64) -> Result<()> {
        let limit = self.config.timeout;
        let offers = |offers: &Offers| offers.queue.front().map(|o| o.1);
        let (write, read) = (self.writes.front().map(|o| o.access), self.reads.front().map(|o| o.access));
        let hung = [
            (Channel::Aw, "AWREADY stayed low", self.aw.waits, offers(&self.aw)),
            (Channel::W, "WREADY stayed low", self.w.waits, offers(&self.w)),
            (Channel::B, "BVALID did not rise", self.late.0, write),
            (Channel::Ar, "ARREADY stayed low", self.ar.waits, offers(&self.ar)),
            (Channel::R, "RVALID did not rise", self.late.1, read),
        ];
        let Some((channel, what, cycles, access)) = hung.into_iter().find(|h| h.2 > limit) else { return Ok(()) };
        let access = access.map_or_else(String::new, |access| match access.write {
            Some((data, strb)) => format!(": write of {data:#x}, strobes {strb:#x}, to {:#x}", access.addr),
            None => format!(": read of {:#x}", access.addr),
        });
        let problem = format!("channel {channel} of `{}` hangs: {what} for {cycles} cycles{access}", self.prefix);
        Err(Error::BusTimeout { cycle: now, interface: self.prefix.clone(), problem })
    }
}

impl Partner for AxiLiteHost {
    fn drive(&mut self, sim: &mut Sim) -> Result<()> {
        let now = sim.cycle_count();
        if sim.resets() != self.resets || sim.in_reset() {
            self.resets = sim.resets();
            self.reset();
        }
        if self.quiet {
            self.quiet = sim.in_reset();
            self.ports.drive(sim, &self.signals);
            return Ok(());
        }
        let wants_nothing = self.is_steady && self.is_idle();
        if wants_nothing && self.rests {
            return Ok(());
        }
        self.rests = wants_nothing;
        self.begin(now);
        let held = |valid: bool, ready: bool| valid && !ready;
        let Signals { aw, w, b, ar, r } = &self.signals;
        let [was_aw, was_w, was_ar] = [held(aw.valid, aw.ready), held(w.valid, w.ready), held(ar.valid, ar.ready)];
        let (was_b, was_r) = (held(b.valid, b.ready), held(r.valid, r.ready));
        let request = |access: Option<Access>| {
            let size = self.ports.bus.trailing_zeros() as u8;
            Address { addr: access.map_or(0, |a| a.addr), size, ..Address::default() }
        };
        let aw = self.aw.next(now, was_aw);
        let w = self.w.next(now, was_w);
        let ar = self.ar.next(now, was_ar);
        (self.signals.aw.valid, self.signals.aw.payload) = (aw.is_some(), request(aw));
        (self.signals.ar.valid, self.signals.ar.payload) = (ar.is_some(), request(ar));
        let (data, strb) = w.and_then(|access| access.write).unwrap_or_default();
        let mut payload = WriteData { strb: u128::from(strb), last: true, ..WriteData::default() };
        payload.data[0] = data;
        (self.signals.w.valid, self.signals.w.payload) = (w.is_some(), payload);
        let (b_pause, r_pause) = (self.b_pause.next_pause(), self.r_pause.next_pause());
        let late = self.config.stalls.ready_after_valid;
        self.signals.b.ready = !b_pause && (!late || was_b);
        self.signals.r.ready = !r_pause && (!late || was_r);
        self.ports.drive(sim, &self.signals);
        Ok(())
    }

    fn sample(&mut self, sim: &Sim) -> Result<bool> {
        let now = sim.cycle_count();
        self.ports.sample(sim, &mut self.signals);
        if sim.in_reset() {
            let checked = self.checker.step_in_reset(now, &self.signals);
            self.reset();
            return Ok(checked.map(|()| false)?);
        }
        self.checker.step(now, &self.signals)?;
        let moved = self.advance(now);
        self.check_time(now)?;
        Ok(moved)
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.writes.is_empty() && self.reads.is_empty()
    }

    fn state(&self) -> String {
        let (writes, reads, queue) = (self.writes.len(), self.reads.len(), self.queue.len());
        format!("AXI4-Lite host on `{}`: {writes} writes and {reads} reads are open, {queue} wait", self.prefix)
    }
}
