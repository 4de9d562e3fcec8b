//! AXI4-Lite ports: 32 bits of data.

use crate::lang::{Direction, Module, PortBuilder, PortKind, Signal, bit, connect_all, uint};

/// Answers of AXI.
pub mod response {
    /// The access was done.
    pub const OKAY: u32 = 0;
    /// The subordinate refuses it.
    pub const SLVERR: u32 = 2;
    /// There is no subordinate.
    pub const DECERR: u32 = 3;
}

/// The signals of an AXI4-Lite interface, by their names in AMBA IHI 0022.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are the standard's")]
pub struct AxiLite {
    pub awaddr: Signal,
    pub awprot: Signal,
    pub awvalid: Signal,
    pub awready: Signal,
    pub wdata: Signal,
    pub wstrb: Signal,
    pub wvalid: Signal,
    pub wready: Signal,
    pub bresp: Signal,
    pub bvalid: Signal,
    pub bready: Signal,
    pub araddr: Signal,
    pub arprot: Signal,
    pub arvalid: Signal,
    pub arready: Signal,
    pub rdata: Signal,
    pub rresp: Signal,
    pub rvalid: Signal,
    pub rready: Signal,
}

impl AxiLite {
    /// Connects this instance's port to the port `from` of the module around it.
    #[track_caller]
    pub fn connect(&self, m: &mut Module, from: &Self) {
        self.connect_held(m, from, bit().lit(1));
    }

    /// Connects it likewise, but addresses of reads wait while `go` is low.
    #[track_caller]
    pub(in crate::blocks::common) fn connect_held(&self, m: &mut Module, from: &Self, go: Signal) {
        connect_all!(m, self, from, [awaddr, awprot, awvalid, wdata, wstrb, wvalid, bready, araddr, arprot, rready]);
        connect_all!(m, from, self, [awready, wready, bresp, bvalid, rdata, rresp, rvalid]);
        m.connect(self.arvalid, from.arvalid & go);
        m.connect(from.arready, self.arready & go);
    }
}

/// Subordinate side: `ctrl: AxiLiteSubordinate = 12`, bits of an address; ports `ctrl_awaddr_i` and so on.
#[derive(Debug)]
pub struct AxiLiteSubordinate;

impl PortKind for AxiLiteSubordinate {
    type Handle = AxiLite;
    type Spec = u32;

    fn declare(b: &mut PortBuilder, name: &str, address_width: u32) -> AxiLite {
        use Direction::{Input, Output};
        let mut port = |part: &str, direction, ty, doc: &str| {
            b.document(doc);
            let suffix = if direction == Input { "i" } else { "o" };
            b.scalar(&format!("{name}_{part}_{suffix}"), direction, ty)
        };
        AxiLite {
            awaddr: port("awaddr", Input, uint(address_width), "Byte address of a write."),
            awprot: port("awprot", Input, uint(3), "Protection of a write; not looked at."),
            awvalid: port("awvalid", Input, bit(), "A write address is offered."),
            awready: port("awready", Output, bit(), "The write address is taken at the coming edge, when it is valid."),
            wdata: port("wdata", Input, uint(32), "Data of a write."),
            wstrb: port("wstrb", Input, uint(4), "Bytes of the data that are written."),
            wvalid: port("wvalid", Input, bit(), "Write data is offered, before, with or after its address."),
            wready: port("wready", Output, bit(), "The write data is taken at the coming edge, when it is valid."),
            bresp: port("bresp", Output, uint(2), "Answer to a write: 0 is OKAY, 2 is SLVERR."),
            bvalid: port("bvalid", Output, bit(), "A write is answered; stays until taken."),
            bready: port("bready", Input, bit(), "The answer is taken at the coming edge, when it is valid."),
            araddr: port("araddr", Input, uint(address_width), "Byte address of a read."),
            arprot: port("arprot", Input, uint(3), "Protection of a read; not looked at."),
            arvalid: port("arvalid", Input, bit(), "A read address is offered."),
            arready: port("arready", Output, bit(), "The read address is taken at the coming edge, when it is valid."),
            rdata: port("rdata", Output, uint(32), "Data of a read; 0 where the answer is an error."),
            rresp: port("rresp", Output, uint(2), "Answer to a read: 0 is OKAY, 2 is SLVERR."),
            rvalid: port("rvalid", Output, bit(), "A read is answered; stays until taken."),
            rready: port("rready", Input, bit(), "The answer is taken at the coming edge, when it is valid."),
        }
    }
}

/// The subordinate sides of several interfaces: `ctrl: AxiLiteSubordinates = (p.cores, 12)` has the names of `ctrl0`, `ctrl1` and so on.
#[derive(Debug)]
pub struct AxiLiteSubordinates;

impl PortKind for AxiLiteSubordinates {
    type Handle = Vec<AxiLite>;
    type Spec = (u32, u32);

    fn declare(b: &mut PortBuilder, name: &str, (count, address_width): (u32, u32)) -> Vec<AxiLite> {
        (0..count).map(|k| AxiLiteSubordinate::declare(b, &format!("{name}{k}"), address_width)).collect()
    }
}
