//! The ports of an AXI4 manager of a design: found once by name, then read and driven.

use super::signals::{Address, Data, INCR, ReadData, Wire, WriteData, WriteResponse};
use crate::{Error, In, Out, Result, Sim};

/// Names ports `<prefix>_<signal>_<direction>`.
pub(super) struct Names<'a> {
    pub sim: &'a Sim,
    pub prefix: &'a str,
}

impl Names<'_> {
    /// An input of the design.
    pub fn input(&self, signal: &str) -> Result<In> {
        self.sim.input(&format!("{}_{signal}_i", self.prefix))
    }

    /// An output of the design.
    pub fn output(&self, signal: &str) -> Result<Out> {
        self.sim.output(&format!("{}_{signal}_o", self.prefix))
    }

    fn width_in(&self, port: Option<In>) -> u32 {
        port.map_or(0, |port| self.sim.port_of_input(port).width)
    }

    fn width_out(&self, port: Option<Out>) -> u32 {
        port.map_or(0, |port| self.sim.port_of(port).width)
    }

    /// # Errors
    /// [`Error::Unsupported`] when a signal that has `expected` bits by AXI has another width.
    pub fn require_width(&self, signal: &str, width: u32, expected: u32) -> Result<()> {
        if width == expected {
            return Ok(());
        }
        let problem = format!("`{}`: {signal} has {width} bits, expected are {expected}", self.prefix);
        Err(Error::Unsupported(problem))
    }

    /// Bytes of a data bus.
    fn bus(&self, signal: &str, width: u32) -> Result<u32> {
        let bytes = width / 8;
        if width.is_multiple_of(8) && bytes.is_power_of_two() && bytes <= 128 {
            return Ok(bytes);
        }
        let problem = format!("`{}`: {signal} has {width} bits; AXI has 8 to 1024, powers of two", self.prefix);
        Err(Error::Unsupported(problem))
    }
}

/// The outputs of an address channel. Signals that a design leaves out have AXI's default.
pub(super) struct AddressPorts {
    valid: Out,
    addr: Out,
    len: Option<Out>,
    id: Option<Out>,
    size: Option<Out>,
    burst: Option<Out>,
    lock: Option<Out>,
    cache: Option<Out>,
    prot: Option<Out>,
    qos: Option<Out>,
    full_size: u8,
}

impl AddressPorts {
    /// `channel` is `aw` or `ar`.
    fn find(names: &Names, channel: &str, bus: u32) -> Result<Self> {
        let port = |signal: &str| names.output(&format!("{channel}{signal}"));
        let found = Self {
            valid: port("valid")?,
            addr: port("addr")?,
            len: port("len").ok(),
            id: port("id").ok(),
            size: port("size").ok(),
            burst: port("burst").ok(),
            lock: port("lock").ok(),
            cache: port("cache").ok(),
            prot: port("prot").ok(),
            qos: port("qos").ok(),
            full_size: bus.trailing_zeros() as u8,
        };
        let width = names.width_out(Some(found.addr));
        if width > 64 {
            let problem = format!("`{}`: {channel}addr has {width} bits; at most 64 are supported", names.prefix);
            return Err(Error::Unsupported(problem));
        }
        let widths = [
            ("valid", Some(found.valid), 1),
            ("len", found.len, 8),
            ("size", found.size, 3),
            ("burst", found.burst, 2),
            ("lock", found.lock, 1),
            ("cache", found.cache, 4),
            ("prot", found.prot, 3),
            ("qos", found.qos, 4),
        ];
        for (signal, out, expected) in widths {
            if out.is_some() {
                names.require_width(&format!("{channel}{signal}"), names.width_out(out), expected)?;
            }
        }
        Ok(found)
    }

    #[inline]
    fn sample(&self, sim: &Sim, wire: &mut Wire<Address>) {
        wire.valid = sim.peek_u64(self.valid) == 1;
        if wire.valid {
            let field = |port: Option<Out>, missing: u8| port.map_or(missing, |port| sim.peek_u64(port) as u8);
            wire.payload = Address {
                id: self.id.map_or(0, |id| sim.peek_u64(id)),
                addr: sim.peek_u64(self.addr),
                len: field(self.len, 0),
                size: field(self.size, self.full_size),
                burst: field(self.burst, INCR),
                lock: field(self.lock, 0),
                cache: field(self.cache, 0),
                prot: field(self.prot, 0),
                qos: field(self.qos, 0),
            };
        }
    }
}

/// An input that is poked only when it changes.
struct Level {
    port: In,
    now: Option<bool>,
}

impl Level {
    fn new(port: In) -> Self {
        Self { port, now: None }
    }

    #[inline]
    fn set(&mut self, sim: &mut Sim, value: bool) {
        if self.now != Some(value) {
            self.now = Some(value);
            sim.poke_u64(self.port, u64::from(value));
        }
    }
}

/// The read half of a manager.
pub(super) struct ReadPorts {
    ar: AddressPorts,
    arready: Level,
    rvalid: Level,
    rready: Out,
    rid: Option<In>,
    rdata: In,
    rresp: In,
    rlast: Option<In>,
    words: usize,
    pub bus: u32,
    pub id_width: u32,
}

impl ReadPorts {
    /// `None` when the design has no read half.
    pub fn find(names: &Names) -> Result<Option<Self>> {
        if names.output("arvalid").is_err() {
            return Ok(None);
        }
        let rdata = names.input("rdata")?;
        let bus = names.bus("rdata", names.width_in(Some(rdata)))?;
        let ar = AddressPorts::find(names, "ar", bus)?;
        let rlast = names.input("rlast");
        let rid = if ar.id.is_some() { Some(names.input("rid")?) } else { names.input("rid").ok() };
        let id_width = names.width_out(ar.id);
        names.require_width("rid", names.width_in(rid), id_width)?;
        let rresp = names.input("rresp")?;
        names.require_width("rresp", names.width_in(Some(rresp)), 2)?;
        Ok(Some(Self {
            // Without a length every burst is one beat, and the last one.
            rlast: if ar.len.is_some() { Some(rlast?) } else { rlast.ok() },
            ar,
            arready: Level::new(names.input("arready")?),
            rvalid: Level::new(names.input("rvalid")?),
            rready: names.output("rready")?,
            rid,
            rdata,
            rresp,
            words: (bus as usize).div_ceil(8),
            bus,
            id_width,
        }))
    }

    #[inline]
    pub fn drive_address(&mut self, sim: &mut Sim, ready: bool) {
        self.arready.set(sim, ready);
    }

    /// Offers a beat that was not offered before.
    #[inline]
    pub fn offer(&mut self, sim: &mut Sim, beat: &ReadData) {
        self.rvalid.set(sim, true);
        self.payload(sim, beat.id, &beat.data, beat.resp.bits(), beat.last);
    }

    /// Offers nothing, and shows nonsense for data.
    #[inline]
    pub fn silence(&mut self, sim: &mut Sim, last: &ReadData) {
        if self.rvalid.now != Some(false) {
            self.rvalid.set(sim, false);
            self.payload(sim, !last.id, &last.data.map(|word| !word), 3, !last.last);
        }
    }

    #[inline]
    fn payload(&self, sim: &mut Sim, id: u64, data: &Data, resp: u64, last: bool) {
        if let Some(rid) = self.rid {
            sim.poke_u64s(rid, &[id]);
        }
        sim.poke_u64s(self.rdata, &data[..self.words]);
        sim.poke_u64(self.rresp, resp);
        if let Some(rlast) = self.rlast {
            sim.poke_u64(rlast, u64::from(last));
        }
    }

    #[inline]
    pub fn sample(&self, sim: &Sim, ar: &mut Wire<Address>, r: &mut Wire<ReadData>) {
        self.ar.sample(sim, ar);
        r.ready = sim.peek_u64(self.rready) == 1;
    }
}

/// The write half of a manager.
pub(super) struct WritePorts {
    aw: AddressPorts,
    awready: Level,
    wvalid: Out,
    wready: Level,
    wdata: Out,
    wstrb: Out,
    wlast: Option<Out>,
    bvalid: Level,
    bready: Out,
    bid: Option<In>,
    bresp: In,
    words: usize,
    pub bus: u32,
    pub id_width: u32,
}

impl WritePorts {
    /// `None` when the design has no write half.
    pub fn find(names: &Names) -> Result<Option<Self>> {
        if names.output("awvalid").is_err() {
            return Ok(None);
        }
        let wdata = names.output("wdata")?;
        let bus = names.bus("wdata", names.width_out(Some(wdata)))?;
        let wstrb = names.output("wstrb")?;
        names.require_width("wstrb", names.width_out(Some(wstrb)), bus)?;
        let aw = AddressPorts::find(names, "aw", bus)?;
        let wlast = names.output("wlast");
        let bid = if aw.id.is_some() { Some(names.input("bid")?) } else { names.input("bid").ok() };
        let id_width = names.width_out(aw.id);
        names.require_width("bid", names.width_in(bid), id_width)?;
        let bresp = names.input("bresp")?;
        names.require_width("bresp", names.width_in(Some(bresp)), 2)?;
        Ok(Some(Self {
            wlast: if aw.len.is_some() { Some(wlast?) } else { wlast.ok() },
            aw,
            awready: Level::new(names.input("awready")?),
            wvalid: names.output("wvalid")?,
            wready: Level::new(names.input("wready")?),
            wdata,
            wstrb,
            bvalid: Level::new(names.input("bvalid")?),
            bready: names.output("bready")?,
            bid,
            bresp,
            words: (bus as usize).div_ceil(8),
            bus,
            id_width,
        }))
    }

    #[inline]
    pub fn drive_requests(&mut self, sim: &mut Sim, awready: bool, wready: bool) {
        self.awready.set(sim, awready);
        self.wready.set(sim, wready);
    }

    /// Offers an answer that was not offered before.
    #[inline]
    pub fn offer(&mut self, sim: &mut Sim, answer: &WriteResponse) {
        self.bvalid.set(sim, true);
        self.payload(sim, answer.id, answer.resp.bits());
    }

    /// Offers nothing, and shows nonsense for an answer.
    #[inline]
    pub fn silence(&mut self, sim: &mut Sim, last: &WriteResponse) {
        if self.bvalid.now != Some(false) {
            self.bvalid.set(sim, false);
            self.payload(sim, !last.id, 3);
        }
    }

    #[inline]
    fn payload(&self, sim: &mut Sim, id: u64, resp: u64) {
        if let Some(bid) = self.bid {
            sim.poke_u64s(bid, &[id]);
        }
        sim.poke_u64(self.bresp, resp);
    }

    #[inline]
    pub fn sample(&self, sim: &Sim, aw: &mut Wire<Address>, w: &mut Wire<WriteData>, b: &mut Wire<WriteResponse>) {
        self.aw.sample(sim, aw);
        w.valid = sim.peek_u64(self.wvalid) == 1;
        if w.valid {
            sim.peek_u64s(self.wdata, &mut w.payload.data[..self.words]);
            let mut strb = [0; 2];
            sim.peek_u64s(self.wstrb, &mut strb);
            w.payload.strb = u128::from(strb[0]) | u128::from(strb[1]) << 64;
            w.payload.last = self.wlast.is_none_or(|last| sim.peek_u64(last) == 1);
        }
        b.ready = sim.peek_u64(self.bready) == 1;
    }
}
