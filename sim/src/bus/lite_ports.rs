//! The ports of an AXI4-Lite subordinate of a design.

use super::ports::Names;
use super::signals::{Address, ReadData, Response, Signals, Wire, WriteData, WriteResponse};
use crate::{Error, In, Out, Result, Sim};

pub(super) struct LitePorts {
    aw: Request,
    w: (In, In, In, Out),
    b: (Out, Out, In),
    ar: Request,
    r: (Out, Out, Out, In),
    /// Bytes of the data bus.
    pub bus: u32,
    pub address_width: u32,
}

/// AW or AR.
struct Request {
    addr: In,
    prot: Option<In>,
    valid: In,
    ready: Out,
}

impl Request {
    fn find(names: &Names, channel: &str) -> Result<Self> {
        Ok(Self {
            addr: names.input(&format!("{channel}addr"))?,
            prot: names.input(&format!("{channel}prot")).ok(),
            valid: names.input(&format!("{channel}valid"))?,
            ready: names.output(&format!("{channel}ready"))?,
        })
    }

    fn drive(&self, sim: &mut Sim, wire: &Wire<Address>) {
        let Address { addr, prot, .. } = wire.payload;
        sim.poke_u64(self.valid, u64::from(wire.valid));
        sim.poke_u64s(self.addr, &[if wire.valid { addr } else { !addr }]);
        if let Some(port) = self.prot {
            sim.poke_u64s(port, &[if wire.valid { u64::from(prot) } else { !u64::from(prot) }]);
        }
    }
}

impl LitePorts {
    pub fn find(names: &Names) -> Result<Self> {
        let width = |port| names.sim.port_of_input(port).width;
        let w = (names.input("wdata")?, names.input("wstrb")?, names.input("wvalid")?, names.output("wready")?);
        let found = Self {
            aw: Request::find(names, "aw")?,
            b: (names.output("bvalid")?, names.output("bresp")?, names.input("bready")?),
            ar: Request::find(names, "ar")?,
            r: (names.output("rvalid")?, names.output("rdata")?, names.output("rresp")?, names.input("rready")?),
            bus: width(w.0) / 8,
            address_width: 0,
            w,
        };
        if !matches!(width(w.0), 32 | 64) {
            let problem = format!("`{}`: wdata has {} bits; AXI4-Lite has 32 or 64", names.prefix, width(w.0));
            return Err(Error::Unsupported(problem));
        }
        let out = |port| names.sim.port_of(port).width;
        names.require_width("wstrb", width(w.1), found.bus)?;
        names.require_width("rdata", out(found.r.1), width(w.0))?;
        names.require_width("bresp", out(found.b.1), 2)?;
        names.require_width("rresp", out(found.r.2), 2)?;
        let address_width = width(found.aw.addr);
        names.require_width("araddr", width(found.ar.addr), address_width)?;
        if address_width > 64 {
            return Err(Error::Unsupported(format!("`{}`: awaddr has {address_width} bits, at most 64", names.prefix)));
        }
        Ok(Self { address_width, ..found })
    }

    /// Sets the inputs of the design. Without an offer the data is nonsense.
    pub fn drive(&self, sim: &mut Sim, signals: &Signals) {
        self.aw.drive(sim, &signals.aw);
        self.ar.drive(sim, &signals.ar);
        let Wire { valid, payload: WriteData { data, strb, .. }, .. } = &signals.w;
        let (valid, strb) = (*valid, *strb);
        let (wdata, wstrb, wvalid, _) = self.w;
        sim.poke_u64(wvalid, u64::from(valid));
        sim.poke_u64s(wdata, &[if valid { data[0] } else { !data[0] }]);
        sim.poke_u64s(wstrb, &[if valid { strb as u64 } else { !0 }]);
        sim.poke_u64(self.b.2, u64::from(signals.b.ready));
        sim.poke_u64(self.r.3, u64::from(signals.r.ready));
    }

    /// Reads the outputs of the design. A payload counts while its VALID is high.
    pub fn sample(&self, sim: &Sim, signals: &mut Signals) {
        let peek = |port| sim.peek_u64(port);
        signals.aw.ready = peek(self.aw.ready) == 1;
        signals.w.ready = peek(self.w.3) == 1;
        signals.ar.ready = peek(self.ar.ready) == 1;
        signals.b.valid = peek(self.b.0) == 1;
        if signals.b.valid {
            signals.b.payload = WriteResponse { id: 0, resp: Response::from_bits(peek(self.b.1)) };
        }
        signals.r.valid = peek(self.r.0) == 1;
        if signals.r.valid {
            let mut read = ReadData { resp: Response::from_bits(peek(self.r.2)), last: true, ..ReadData::default() };
            read.data[0] = peek(self.r.1);
            signals.r.payload = read;
        }
    }
}
