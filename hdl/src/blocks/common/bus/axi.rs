//! AXI4 as ports: `<prefix>_awaddr_o` and so on, the names of the AMBA specification (IHI 0022) in lower case with the
//! suffixes of all ports here. A channel is a [`Stream`]: valid, ready and the bundle of its other signals.
//!
//! Signals that no block here uses are left out, as the specification allows: locks (no exclusives), QoS, regions, user
//! signals.

use crate::lang::{
    Bundle, Direction, Field, FieldType, FieldValue, In, Index, Module, PortBuilder, PortKind, Signal, Stream,
    StreamArray, bundle, parameters, ports, power_of_two, uint,
};

/// Bytes that a burst never crosses.
pub const BOUNDARY: u32 = 4096;

/// `AxBURST` of a burst at rising addresses.
pub const BURST_INCR: u32 = 1;

/// `xRESP` of a subordinate's error; with bit 0 as well, of an address that nothing answers at.
pub const RESP_SLVERR: u32 = 2;

/// `xRESP` of an address that nothing answers at.
pub const RESP_DECERR: u32 = 3;

parameters! {
    /// An AXI4 interface.
    pub struct AxiSpec {
        /// Bits of an address.
        address_width: u32 = 64, in 13..=64, note "32 to 64 on a bus; less for proofs", tag "a";
        /// Bits of a beat of data.
        data_width: u32 = 128, in power_of_two(32..=1024), tag "d";
        /// Bits of an ID.
        id_width: u32 = 1, in 1..=32, tag "i";
    }
}

impl AxiSpec {
    /// Bytes of a beat.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.data_width / 8
    }

    /// `AxSIZE` of beats as wide as the bus: log2 of their bytes.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.bytes().trailing_zeros()
    }
}

bundle! {
    /// An address channel, AR or AW.
    pub struct AxiAddress(spec: AxiSpec) {
        /// ID of the transaction.
        id: Field = uint(spec.id_width),
        /// Address of the first byte.
        addr: Field = uint(spec.address_width),
        /// Beats of the burst, less one.
        len: Field = uint(8),
        /// Bytes of a beat: 2 to this power.
        size: Field = uint(3),
        /// Kind of burst: 1 is INCR.
        burst: Field = uint(2),
        /// Memory attributes.
        cache: Field = uint(4),
        /// Protection attributes.
        prot: Field = uint(3),
    }
}

bundle! {
    /// The channel of write data.
    pub struct AxiWriteData(spec: AxiSpec) {
        /// The bytes.
        data: Field = uint(spec.data_width),
        /// Per byte: it is written.
        strb: Field = uint(spec.bytes()),
        /// The beat is the last one of its burst.
        last: Field = crate::lang::bit(),
    }
}

bundle! {
    /// The channel of write responses.
    pub struct AxiWriteResponse(spec: AxiSpec) {
        /// ID of the transaction.
        id: Field = uint(spec.id_width),
        /// 0 OKAY, 1 EXOKAY, 2 SLVERR, 3 DECERR.
        resp: Field = uint(2),
    }
}

bundle! {
    /// The channel of read data.
    pub struct AxiReadData(spec: AxiSpec) {
        /// ID of the transaction.
        id: Field = uint(spec.id_width),
        /// The bytes.
        data: Field = uint(spec.data_width),
        /// 0 OKAY, 1 EXOKAY, 2 SLVERR, 3 DECERR.
        resp: Field = uint(2),
        /// The beat is the last one of its burst.
        last: Field = crate::lang::bit(),
    }
}

/// The channels of reads.
#[derive(Clone, Debug)]
pub struct AxiRead {
    /// Addresses.
    pub ar: Stream<AxiAddress>,
    /// Data.
    pub r: Stream<AxiReadData>,
}

/// The channels of writes.
#[derive(Clone, Debug)]
pub struct AxiWrite {
    /// Addresses.
    pub aw: Stream<AxiAddress>,
    /// Data.
    pub w: Stream<AxiWriteData>,
    /// Responses.
    pub b: Stream<AxiWriteResponse>,
}

/// All channels.
#[derive(Clone, Debug)]
pub struct Axi {
    /// Writes.
    pub write: AxiWrite,
    /// Reads.
    pub read: AxiRead,
}

impl AxiRead {
    /// Connects this to the manager `from`.
    #[track_caller]
    pub fn connect(&self, m: &mut Module, from: &Self) {
        m.connect_stream(&self.ar, &from.ar);
        m.connect_stream(&from.r, &self.r);
    }
}

impl AxiWrite {
    /// Connects this to the manager `from`.
    #[track_caller]
    pub fn connect(&self, m: &mut Module, from: &Self) {
        m.connect_stream(&self.aw, &from.aw);
        m.connect_stream(&self.w, &from.w);
        m.connect_stream(&from.b, &self.b);
    }
}

impl Axi {
    /// Connects this to the manager `from`.
    #[track_caller]
    pub fn connect(&self, m: &mut Module, from: &Self) {
        self.read.connect(m, &from.read);
        self.write.connect(m, &from.write);
    }
}

/// Directions of the ports of one channel, seen from the side that sends its beats.
fn directions(sends: bool) -> [(Direction, &'static str); 2] {
    let (input, output) = ((Direction::Input, "i"), (Direction::Output, "o"));
    if sends { [output, input] } else { [input, output] }
}

fn channel<B: Bundle>(b: &mut PortBuilder, name: &str, part: &str, spec: &B::Spec, sends: bool) -> Stream<B> {
    let [(forth, forth_end), (back, back_end)] = directions(sends);
    let mut values = Vec::new();
    for (field, ty) in B::FIELDS.iter().zip(B::layout(spec)) {
        let FieldType::One(ty) = ty else { continue };
        b.document(field.doc);
        let port = format!("{name}_{part}{}_{forth_end}", field.name);
        values.push(FieldValue::One(b.scalar(&port, forth, ty)));
    }
    b.document("A beat is offered; it stays with all it carries until it is taken.");
    let valid = b.scalar(&format!("{name}_{part}valid_{forth_end}"), forth, crate::lang::bit());
    b.document("The beat is taken at the coming edge, when it is valid.");
    let ready = b.scalar(&format!("{name}_{part}ready_{back_end}"), back, crate::lang::bit());
    Stream::new(&format!("{name}_{part}"), valid, ready, B::from_values(values))
}

fn read(b: &mut PortBuilder, name: &str, spec: &AxiSpec, manager: bool) -> AxiRead {
    AxiRead { ar: channel(b, name, "ar", spec, manager), r: channel(b, name, "r", spec, !manager) }
}

fn write(b: &mut PortBuilder, name: &str, spec: &AxiSpec, manager: bool) -> AxiWrite {
    AxiWrite {
        aw: channel(b, name, "aw", spec, manager),
        w: channel(b, name, "w", spec, manager),
        b: channel(b, name, "b", spec, !manager),
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident ($handle:ty) = |$b:ident, $name:ident, $spec:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $kind;
        impl PortKind for $kind {
            type Handle = $handle;
            type Spec = AxiSpec;
            fn declare($b: &mut PortBuilder, $name: &str, $spec: AxiSpec) -> $handle {
                $body
            }
        }
    )*};
}
kinds! {
    /// A manager's ports: `mem: AxiManager = p.axi.clone()`.
    AxiManager(Axi) = |b, name, spec| {
        let write = write(b, name, &spec, true);
        Axi { write, read: read(b, name, &spec, true) }
    };
    /// A subordinate's ports.
    AxiSubordinate(Axi) = |b, name, spec| {
        let write = write(b, name, &spec, false);
        Axi { write, read: read(b, name, &spec, false) }
    };
    /// The half of a manager that reads: AR and R.
    AxiReadManager(AxiRead) = |b, name, spec| read(b, name, &spec, true);
    /// The half of a subordinate that answers reads: AR and R.
    AxiReadSubordinate(AxiRead) = |b, name, spec| read(b, name, &spec, false);
    /// The half of a manager that writes: AW, W and B.
    AxiWriteManager(AxiWrite) = |b, name, spec| write(b, name, &spec, true);
    /// The half of a subordinate that answers writes: AW, W and B.
    AxiWriteSubordinate(AxiWrite) = |b, name, spec| write(b, name, &spec, false);
}

ports! {
    /// Attributes of all requests of a block.
    pub struct AttributePorts(_p: &()) {
        /// ARCACHE of all reads.
        read_cache_i: In = uint(4),
        /// AWCACHE of all writes.
        write_cache_i: In = uint(4),
        /// ARPROT and AWPROT of all accesses.
        prot_i: In = uint(3),
    }
}

impl AttributePorts {
    /// Hands the attributes on to a part.
    #[track_caller]
    pub fn hand_on(&self, m: &mut Module, part: &Self) {
        m.connect(part.read_cache_i, self.read_cache_i);
        m.connect(part.write_cache_i, self.write_cache_i);
        m.connect(part.prot_i, self.prot_i);
    }
}

/// The ports of one manager or of several: `mem: AxiManagers = (p.ports, p.axi.clone())`. One manager has the prefix
/// `mem`, several have `mem0`, `mem1` and so on.
#[derive(Debug)]
pub struct AxiManagers;

impl PortKind for AxiManagers {
    type Handle = Vec<Axi>;
    type Spec = (u32, AxiSpec);

    fn declare(b: &mut PortBuilder, name: &str, (count, spec): (u32, AxiSpec)) -> Vec<Axi> {
        let names = (0..count).map(|k| if count == 1 { name.to_owned() } else { format!("{name}{k}") });
        names.map(|name| AxiManager::declare(b, &name, spec.clone())).collect()
    }
}

/// One channel of several interfaces.
fn several<B: Bundle>(
    b: &mut PortBuilder,
    name: &str,
    part: &str,
    (count, spec): (u32, &B::Spec),
    sends: bool,
) -> StreamArray<B> {
    let direction = if sends { Direction::Output } else { Direction::Input };
    StreamArray::declare(b, &format!("{name}_{part}"), (count, spec), direction)
}

/// An address channel of several managers, seen from below: `from: AxiAddresses = (p.managers, p.axi.clone())`.
#[derive(Debug)]
pub struct AxiAddresses;

impl PortKind for AxiAddresses {
    type Handle = StreamArray<AxiAddress>;
    type Spec = (u32, AxiSpec);

    fn declare(b: &mut PortBuilder, name: &str, (count, spec): (u32, AxiSpec)) -> StreamArray<AxiAddress> {
        several(b, name, "", (count, &spec), false)
    }
}

/// The channels of several interfaces.
#[derive(Clone, Debug)]
pub struct AxiSeveral {
    /// Write addresses.
    pub aw: StreamArray<AxiAddress>,
    /// Write data.
    pub w: StreamArray<AxiWriteData>,
    /// Write responses.
    pub b: StreamArray<AxiWriteResponse>,
    /// Read addresses.
    pub ar: StreamArray<AxiAddress>,
    /// Read data.
    pub r: StreamArray<AxiReadData>,
}

impl AxiSeveral {
    /// The reads of interface `k`.
    #[track_caller]
    #[must_use]
    pub fn read(&self, k: impl Into<Index>) -> AxiRead {
        let k = k.into();
        AxiRead { ar: self.ar.at(k), r: self.r.at(k) }
    }

    /// The writes of interface `k`.
    #[track_caller]
    #[must_use]
    pub fn write(&self, k: impl Into<Index>) -> AxiWrite {
        let k = k.into();
        AxiWrite { aw: self.aw.at(k), w: self.w.at(k), b: self.b.at(k) }
    }
}

/// The ports of several subordinates side by side: `dma: AxiSubordinates = (p.managers, p.axi.clone())`.
#[derive(Debug)]
pub struct AxiSubordinates;

impl PortKind for AxiSubordinates {
    type Handle = AxiSeveral;
    type Spec = (u32, AxiSpec);

    fn declare(b: &mut PortBuilder, name: &str, (count, spec): (u32, AxiSpec)) -> AxiSeveral {
        AxiSeveral {
            aw: several(b, name, "aw", (count, &spec), false),
            w: several(b, name, "w", (count, &spec), false),
            b: several(b, name, "b", (count, &spec), true),
            ar: several(b, name, "ar", (count, &spec), false),
            r: several(b, name, "r", (count, &spec), true),
        }
    }
}

/// The fields of one of two bundles.
#[track_caller]
pub(super) fn either<B: Bundle>(select: Signal, one: &B, other: &B) -> B {
    let pairs = one.clone().into_values().into_iter().zip(other.clone().into_values());
    let values = pairs.map(|pair| match pair {
        (FieldValue::One(a), FieldValue::One(b)) => FieldValue::One(crate::lang::mux(select, a, b)),
        (other, _) => other,
    });
    B::from_values(values.collect())
}
