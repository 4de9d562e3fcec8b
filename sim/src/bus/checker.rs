//! [`ProtocolChecker`]: every rule of AXI4 that one interface can break, on both sides, in every cycle.

use std::collections::VecDeque;

use super::burst::Burst;
use super::rules::{Channel, Rule, Side, Violation};
use super::signals::{
    Address, FIXED, INCR, Payload, ReadData, Response, Signals, WRAP, Wire, WriteData, WriteResponse,
};

/// Promises of a manager beyond AXI, and its time limits. `None` means no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Every transfer has the width of the bus.
    pub full_size: bool,
    /// INCR bursts only.
    pub incrementing: bool,
    /// No exclusive accesses.
    pub no_exclusives: bool,
    /// Most reads that are open at a time.
    pub reads: Option<u32>,
    /// Most writes that are open at a time, counted from the address.
    pub writes: Option<u32>,
    /// Longest time, in cycles in a row, that W is silent while data of an issued write address is missing.
    pub write_data: Option<u32>,
    /// Longest time, in cycles in a row, that AW is silent while data without an offered address is there.
    pub write_address: Option<u32>,
    /// Longest time, in cycles, that an offered R or B waits for READY.
    pub response: Option<u32>,
}

impl Default for Promises {
    /// The contract of this project's tops: full-width INCR bursts, no exclusives, and 1,000 cycles for data, addresses
    /// and answers.
    fn default() -> Self {
        Self {
            full_size: true,
            incrementing: true,
            no_exclusives: true,
            reads: None,
            writes: None,
            write_data: Some(1000),
            write_address: Some(1000),
            response: Some(1000),
        }
    }
}

impl Promises {
    /// AXI4 and nothing more.
    pub fn none() -> Self {
        Self {
            full_size: false,
            incrementing: false,
            no_exclusives: false,
            reads: None,
            writes: None,
            write_data: None,
            write_address: None,
            response: None,
        }
    }
}

/// A transaction that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: u64,
    burst: Burst,
    exclusive: bool,
    /// Beats so far.
    beats: u32,
}

/// A stalled channel's offer, and for how long it has been waiting.
#[derive(Clone, Copy, Debug)]
struct Held<T> {
    payload: T,
    waiting: bool,
    cycles: u32,
}

impl<T: Default> Held<T> {
    fn new() -> Self {
        Self { payload: T::default(), waiting: false, cycles: 0 }
    }
}

/// Watches one AXI4 interface, one call a cycle, and stops at the first broken rule.
pub struct ProtocolChecker {
    interface: String,
    bus: u64,
    id_width: u32,
    promises: Promises,
    lite: bool,
    cycle: u64,
    after_reset: bool,
    aw: Held<Address>,
    w: Held<WriteData>,
    b: Held<WriteResponse>,
    ar: Held<Address>,
    r: Held<ReadData>,
    /// Writes whose answer is missing, in order of their addresses.
    writes: VecDeque<Open>,
    /// Number of these writes that have all of their data.
    complete: usize,
    /// Write data that came before its address: strobes and LAST.
    early: VecDeque<(u128, bool)>,
    reads: VecDeque<Open>,
    /// Cycles in a row in which owed write data was not offered.
    silent: u32,
    /// Cycles in a row in which data waited for an address that was not offered.
    alone: u32,
}

impl ProtocolChecker {
    /// A checker of an interface with a data bus of `bus` bytes and IDs of `id_width` bits.
    ///
    /// # Panics
    /// When `bus` is not a power of two from 1 to 128.
    pub fn new(interface: &str, bus: u32, id_width: u32, promises: Promises) -> Self {
        assert!(bus.is_power_of_two() && bus <= 128, "a data bus of {bus} bytes: AXI has 1 to 128, powers of two");
        Self {
            interface: interface.to_owned(),
            bus: u64::from(bus),
            id_width,
            promises,
            lite: false,
            cycle: 0,
            after_reset: false,
            aw: Held::new(),
            w: Held::new(),
            b: Held::new(),
            ar: Held::new(),
            r: Held::new(),
            writes: VecDeque::with_capacity(64),
            complete: 0,
            early: VecDeque::with_capacity(256),
            reads: VecDeque::with_capacity(64),
            silent: 0,
            alone: 0,
        }
    }

    /// A checker of an AXI4-Lite subordinate of the design, with a data bus of `bus` bytes. AXI4-Lite is AXI4 with
    /// single beats of full width and without IDs. Give the checker the signals in this form.
    ///
    /// # Panics
    /// As [`ProtocolChecker::new`].
    pub fn lite(interface: &str, bus: u32) -> Self {
        Self { lite: true, ..Self::new(interface, bus, 0, Promises::none()) }
    }

    /// Reads that are open.
    pub fn open_reads(&self) -> usize {
        self.reads.len()
    }

    /// Writes that are open, and data without an address.
    pub fn open_writes(&self) -> usize {
        self.writes.len() + usize::from(!self.early.is_empty())
    }

    /// The interface was reset. No transaction is open, and no VALID may be high in the next cycle.
    pub fn reset(&mut self) {
        for held in [&mut self.aw, &mut self.ar] {
            held.waiting = false;
        }
        (self.w.waiting, self.b.waiting, self.r.waiting) = (false, false, false);
        self.writes.clear();
        self.early.clear();
        self.reads.clear();
        (self.complete, self.silent, self.alone) = (0, 0, 0);
        self.after_reset = true;
    }

    /// One cycle in which reset is active.
    ///
    /// # Errors
    /// [`Rule::ResetValid`].
    pub fn step_in_reset(&mut self, cycle: u64, now: &Signals) -> Result<(), Violation> {
        self.cycle = cycle;
        self.reset();
        self.check_reset(now)
    }

    /// One cycle out of reset: the settled signals before the rising edge.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn step(&mut self, cycle: u64, now: &Signals) -> Result<(), Violation> {
        self.cycle = cycle;
        if self.after_reset {
            self.check_reset(now)?;
            self.after_reset = false;
        }
        // Answers first: an answer in the cycle of its request has not waited for the request.
        self.write_response(now)?;
        self.read_data(now)?;
        self.address(now)?;
        self.write_data(now)
    }

    fn check_reset(&self, now: &Signals) -> Result<(), Violation> {
        use Channel::{Ar, Aw, B, R, W};
        let valids = [(Aw, now.aw.valid), (W, now.w.valid), (B, now.b.valid), (Ar, now.ar.valid), (R, now.r.valid)];
        match valids.into_iter().find(|v| v.1) {
            Some((channel, _)) => Err(self.broken(Rule::ResetValid, channel, format!("{channel}VALID is high"))),
            None => Ok(()),
        }
    }

    fn address(&mut self, now: &Signals) -> Result<(), Violation> {
        use Channel::{Ar, Aw};
        if now.ar.valid || self.ar.waiting {
            let new = !self.ar.waiting;
            self.stable(Ar, |c| &mut c.ar, &now.ar)?;
            if new {
                self.legal(Ar, &now.ar.payload)?;
                self.promised(Ar, self.reads.len(), self.promises.reads)?;
            }
            if now.ar.ready {
                self.reads.push_back(open(&now.ar.payload));
            }
        }
        if now.aw.valid || self.aw.waiting {
            let new = !self.aw.waiting;
            self.stable(Aw, |c| &mut c.aw, &now.aw)?;
            if new {
                self.legal(Aw, &now.aw.payload)?;
                self.promised(Aw, self.writes.len(), self.promises.writes)?;
            }
            if now.aw.ready {
                self.writes.push_back(open(&now.aw.payload));
                while self.complete < self.writes.len()
                    && let Some((strb, last)) = self.early.pop_front()
                {
                    self.write_beat(strb, last)?;
                }
            }
        }
        Ok(())
    }

    fn write_data(&mut self, now: &Signals) -> Result<(), Violation> {
        if now.w.valid || self.w.waiting {
            self.stable(Channel::W, |c| &mut c.w, &now.w)?;
        }
        if now.w.passes() {
            let WriteData { strb, last, .. } = now.w.payload;
            if self.complete < self.writes.len() {
                self.write_beat(strb, last)?;
            } else {
                self.early.push_back((strb, last));
            }
        }
        let alone = !self.early.is_empty() && !now.aw.valid;
        self.alone = if alone { self.alone + 1 } else { 0 };
        if self.promises.write_address.is_some_and(|limit| self.alone > limit) {
            let values = format!(
                "AWVALID has been low for {} cycles while {} beats of W wait for their address",
                self.alone,
                self.early.len()
            );
            return Err(self.broken(Rule::WriteAddressReady, Channel::W, values));
        }
        let owed = self.complete < self.writes.len() && !now.w.valid;
        self.silent = if owed { self.silent + 1 } else { 0 };
        match self.promises.write_data {
            Some(limit) if self.silent > limit => {
                let write = &self.writes[self.complete];
                let values = format!(
                    "WVALID has been low for {} cycles; {} of {} beats of the write to {:#x} are missing",
                    self.silent,
                    write.burst.beats - write.beats,
                    write.burst.beats,
                    write.burst.start
                );
                Err(self.broken(Rule::WriteDataReady, Channel::W, values))
            }
            _ => Ok(()),
        }
    }

    /// A beat of write data whose address is known.
    fn write_beat(&mut self, strb: u128, last: bool) -> Result<(), Violation> {
        let write = self.writes[self.complete];
        let (burst, beat) = (write.burst, write.beats);
        let place = || format!("beat {} of {} of the write to {:#x}", beat + 1, burst.beats, burst.start);
        let lanes = burst.lanes(burst.address(beat), self.bus);
        if strb & !lanes != 0 && !self.lite {
            let values = format!("WSTRB {strb:#x} in {}; its lanes are {lanes:#x}", place());
            return Err(self.broken(Rule::StrobeLanes, Channel::W, values));
        }
        if last != (beat + 1 == burst.beats) {
            let values = format!("WLAST is {} in {}", u8::from(last), place());
            return Err(self.broken(Rule::Last, Channel::W, values));
        }
        self.writes[self.complete].beats += 1;
        self.complete += usize::from(last);
        Ok(())
    }

    fn write_response(&mut self, now: &Signals) -> Result<(), Violation> {
        if !now.b.valid && !self.b.waiting {
            return Ok(());
        }
        self.stable(Channel::B, |c| &mut c.b, &now.b)?;
        let WriteResponse { id, resp } = now.b.payload;
        let Some(index) = self.writes.iter().position(|w| w.id == id) else {
            return Err(self.broken(Rule::ResponseOrder, Channel::B, format!("no write with ID {id} is open")));
        };
        let write = self.writes[index];
        if index >= self.complete {
            let values = format!("the write to {:#x} with ID {id} lacks data", write.burst.start);
            return Err(self.broken(Rule::Dependency, Channel::B, values));
        }
        if resp == Response::ExOkay && !write.exclusive {
            let values = format!("BRESP for the write to {:#x} with ID {id}", write.burst.start);
            return Err(self.broken(self.ex_okay(), Channel::B, values));
        }
        if now.b.ready {
            self.writes.remove(index);
            self.complete -= 1;
        }
        Ok(())
    }

    fn read_data(&mut self, now: &Signals) -> Result<(), Violation> {
        if !now.r.valid && !self.r.waiting {
            return Ok(());
        }
        self.stable(Channel::R, |c| &mut c.r, &now.r)?;
        let ReadData { id, resp, last, .. } = now.r.payload;
        let Some(index) = self.reads.iter().position(|r| r.id == id) else {
            return Err(self.broken(Rule::ResponseOrder, Channel::R, format!("no read with ID {id} is open")));
        };
        let read = self.reads[index];
        let place =
            || format!("beat {} of {} of the read of {:#x}", read.beats + 1, read.burst.beats, read.burst.start);
        if last != (read.beats + 1 == read.burst.beats) {
            let values = format!("RLAST is {} in {}", u8::from(last), place());
            return Err(self.broken(Rule::Last, Channel::R, values));
        }
        if resp == Response::ExOkay && !read.exclusive {
            return Err(self.broken(self.ex_okay(), Channel::R, format!("RRESP in {}", place())));
        }
        if now.r.ready {
            if last {
                self.reads.remove(index);
            } else {
                self.reads[index].beats += 1;
            }
        }
        Ok(())
    }

    fn ex_okay(&self) -> Rule {
        if self.lite { Rule::LiteResponse } else { Rule::ExclusiveResponse }
    }

    /// An offer that was not taken must still be there, unchanged.
    #[inline]
    fn stable<T: Payload>(
        &mut self,
        channel: Channel,
        held: impl Fn(&mut Self) -> &mut Held<T>,
        now: &Wire<T>,
    ) -> Result<(), Violation> {
        let before = held(self);
        if before.waiting && (!now.valid || before.payload != now.payload) {
            let before = before.payload;
            return Err(self.unstable(channel, &before, now));
        }
        before.waiting = now.valid && !now.ready;
        if !before.waiting {
            before.cycles = 0;
            return Ok(());
        }
        before.payload = now.payload;
        before.cycles += 1;
        let cycles = before.cycles;
        match self.promises.response {
            Some(limit) if cycles > limit && matches!(channel, Channel::B | Channel::R) => {
                let fields = show(&now.payload, channel);
                let values = format!("{channel}READY has been low for {cycles} cycles while {fields} waits");
                Err(self.broken(Rule::ResponseTaken, channel, values))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn unstable<T: Payload>(&self, channel: Channel, before: &T, now: &Wire<T>) -> Violation {
        if now.valid {
            self.broken(Rule::PayloadHeld, channel, before.changes(&now.payload, channel))
        } else {
            let values = format!("{channel}VALID fell while {} waited for {channel}READY", show(before, channel));
            self.broken(Rule::ValidHeld, channel, values)
        }
    }

    /// The rules about a single request.
    fn legal(&self, channel: Channel, request: &Address) -> Result<(), Violation> {
        let Address { id, addr, len, size, burst: kind, lock, cache, .. } = *request;
        let burst = Burst::of(request);
        let full = self.bus.trailing_zeros();
        let wrap = kind == WRAP;
        let fails = [
            (Rule::BurstType, kind == 0b11),
            (Rule::BurstSize, u32::from(size) > full),
            (Rule::BurstLength, wrap && !matches!(len, 1 | 3 | 7 | 15) || kind == FIXED && len > 15),
            (Rule::WrapAlignment, wrap && addr & ((1 << size.min(7)) - 1) != 0),
            (Rule::Boundary, size < 8 && burst.crosses()),
            (Rule::CacheType, matches!(cache, 0b0100 | 0b0101 | 0b1000 | 0b1001 | 0b1100 | 0b1101)),
            (Rule::IdWidth, self.id_width < 64 && id >> self.id_width != 0),
            (Rule::Lock, lock > 1),
            (Rule::NoExclusives, self.promises.no_exclusives && lock != 0),
            (Rule::FullSize, self.promises.full_size && u32::from(size) != full),
            (Rule::Incrementing, self.promises.incrementing && kind != INCR),
        ];
        match fails.into_iter().find(|f| f.1) {
            None => Ok(()),
            Some((rule, _)) => {
                let values = format!("{} on a bus of {} bytes", show(request, channel), self.bus);
                Err(self.broken(rule, channel, values))
            }
        }
    }

    fn promised(&self, channel: Channel, open: usize, limit: Option<u32>) -> Result<(), Violation> {
        match limit {
            Some(limit) if open >= limit as usize => {
                let values = format!("{channel}VALID is high with {open} open; promised are at most {limit}");
                Err(self.broken(Rule::Outstanding, channel, values))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn broken(&self, rule: Rule, channel: Channel, values: String) -> Violation {
        let answers = matches!(channel, Channel::B | Channel::R) && rule != Rule::ResponseTaken;
        // The design is the manager here, and the subordinate of AXI4-Lite.
        let by = if answers == self.lite { Side::Design } else { Side::Model };
        Violation { rule, channel, interface: self.interface.clone(), cycle: self.cycle, values, by }
    }
}

fn open(request: &Address) -> Open {
    Open { id: request.id, burst: Burst::of(request), exclusive: request.lock == 1, beats: 0 }
}

fn show<T: Payload>(payload: &T, channel: Channel) -> String {
    let field = |(name, value): (&str, String)| format!("{channel}{name} {value}");
    payload.fields().into_iter().map(field).collect::<Vec<_>>().join(", ")
}
