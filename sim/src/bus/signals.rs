//! The signals of one AXI4 interface in one cycle, as plain values. The checker judges them, and the memory answers
//! them.

use super::rules::Channel;

/// Widest data bus in 64-bit words: 1,024 bits.
pub const MAX_WORDS: usize = 16;

/// Data of one transfer: 64-bit words, least significant first; words above the bus are zero.
pub type Data = [u64; MAX_WORDS];

/// `AxBURST`: every beat at the same address.
pub const FIXED: u8 = 0;
/// `AxBURST`: ascending addresses.
pub const INCR: u8 = 1;
/// `AxBURST`: ascending addresses that wrap at the container.
pub const WRAP: u8 = 2;

/// An answer on B or R.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Response {
    /// Success.
    #[default]
    Okay,
    /// Success of an exclusive access.
    ExOkay,
    /// The subordinate failed.
    SlvErr,
    /// There is no subordinate at this address.
    DecErr,
}

impl Response {
    /// The two bits of BRESP and RRESP.
    pub fn bits(self) -> u64 {
        self as u64
    }

    /// From the two bits of BRESP and RRESP.
    pub fn from_bits(bits: u64) -> Self {
        [Self::Okay, Self::ExOkay, Self::SlvErr, Self::DecErr][bits as usize & 3]
    }
}

/// One channel in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wire<T> {
    /// VALID.
    pub valid: bool,
    /// READY.
    pub ready: bool,
    /// All other signals, without meaning while VALID is low.
    pub payload: T,
}

impl<T> Wire<T> {
    /// A transfer with this payload.
    pub fn passing(payload: T) -> Self {
        Self { valid: true, ready: true, payload }
    }

    /// An offer that is not taken in this cycle.
    pub fn waiting(payload: T) -> Self {
        Self { valid: true, ready: false, payload }
    }

    /// Whether a transfer passes at the coming edge.
    pub fn passes(&self) -> bool {
        self.valid && self.ready
    }
}

/// Payload of AW and AR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// AxID.
    pub id: u64,
    /// AxADDR.
    pub addr: u64,
    /// AxLEN: beats less one.
    pub len: u8,
    /// AxSIZE: log2 of the bytes of a beat.
    pub size: u8,
    /// AxBURST.
    pub burst: u8,
    /// AxLOCK.
    pub lock: u8,
    /// AxCACHE.
    pub cache: u8,
    /// AxPROT.
    pub prot: u8,
    /// AxQOS.
    pub qos: u8,
}

impl Default for Address {
    fn default() -> Self {
        Self { id: 0, addr: 0, len: 0, size: 2, burst: INCR, lock: 0, cache: 0, prot: 0, qos: 0 }
    }
}

/// Payload of W.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteData {
    /// WDATA.
    pub data: Data,
    /// WSTRB, one bit a byte.
    pub strb: u128,
    /// WLAST.
    pub last: bool,
}

/// Payload of B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteResponse {
    /// BID.
    pub id: u64,
    /// BRESP.
    pub resp: Response,
}

/// Payload of R.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadData {
    /// RID.
    pub id: u64,
    /// RDATA.
    pub data: Data,
    /// RRESP.
    pub resp: Response,
    /// RLAST.
    pub last: bool,
}

/// All five channels in one cycle. A half that an interface does not have stays all zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// Write address.
    pub aw: Wire<Address>,
    /// Write data.
    pub w: Wire<WriteData>,
    /// Write response.
    pub b: Wire<WriteResponse>,
    /// Read address.
    pub ar: Wire<Address>,
    /// Read data.
    pub r: Wire<ReadData>,
}

/// A payload whose fields can be named in a report.
pub(super) trait Payload: Copy + Default + PartialEq {
    /// Names without the channel's prefix, and values, as reports show them.
    fn fields(&self) -> Vec<(&'static str, String)>;

    /// The fields that differ from `later`: "ADDR 0x40, now 0x80".
    fn changes(&self, later: &Self, channel: Channel) -> String {
        let changed = |((name, before), (_, after)): ((&str, String), (&str, String))| {
            (before != after).then(|| format!("{channel}{name} was {before}, now {after}"))
        };
        self.fields().into_iter().zip(later.fields()).filter_map(changed).collect::<Vec<_>>().join(", ")
    }
}

impl Payload for Address {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("ID", self.id.to_string()),
            ("ADDR", format!("{:#x}", self.addr)),
            ("LEN", self.len.to_string()),
            ("SIZE", self.size.to_string()),
            ("BURST", format!("{:#04b}", self.burst)),
            ("LOCK", self.lock.to_string()),
            ("CACHE", format!("{:#06b}", self.cache)),
            ("PROT", format!("{:#05b}", self.prot)),
            ("QOS", self.qos.to_string()),
        ]
    }
}

impl Payload for WriteData {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let strb = format!("{:#x}", self.strb);
        vec![("DATA", show_data(&self.data)), ("STRB", strb), ("LAST", u8::from(self.last).to_string())]
    }
}

impl Payload for WriteResponse {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("ID", self.id.to_string()), ("RESP", format!("{:?}", self.resp))]
    }
}

impl Payload for ReadData {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let last = u8::from(self.last).to_string();
        let resp = format!("{:?}", self.resp);
        vec![("ID", self.id.to_string()), ("DATA", show_data(&self.data)), ("RESP", resp), ("LAST", last)]
    }
}

/// Hexadecimal, without the zero words above.
fn show_data(data: &Data) -> String {
    let used = data.iter().rposition(|&w| w != 0).map_or(1, |top| top + 1);
    let (top, below) = (data[used - 1], &data[..used - 1]);
    below.iter().rev().fold(format!("{top:#x}"), |text, word| text + &format!("{word:016x}"))
}
