//! How a memory at an AXI4 interface behaves.

use std::ops::Range;

use rand::RngExt;

use super::checker::Promises;
use super::signals::Response;
use crate::stimulus::{Stall, StimulusRng};
use crate::{Error, Result};

/// Behaviour of one interface of an [`super::AxiMemory`].
///
/// # Ideal timing, to the cycle
/// With [`AxiConfig::ideal`] and latency L, the first beat of a request taken in cycle t is offered in cycle t + L. If
/// beats of earlier requests still pass then, it is offered in the cycle after the last of them. Then comes one beat a
/// cycle, as long as the design takes them. Addresses and write data are taken in every cycle. B is offered L cycles
/// after the last of the write's address and data was taken, or right after the B before it. "In cycle t" means: at the
/// rising edge that ends cycle t.
#[derive(Clone, Debug, PartialEq)]
pub struct AxiConfig {
    /// From the cycle in which a read address is taken to the cycle in which its first beat is offered.
    pub read_latency: Latency,
    /// From the cycle in which the last of a write's address and data is taken to the cycle in which B is offered.
    pub write_latency: Latency,
    /// Most beats of R.
    pub read_rate: Rate,
    /// Most beats of W.
    pub write_rate: Rate,
    /// Order of answers to different IDs.
    pub order: Order,
    /// No read address is taken while so many reads are open.
    pub max_reads: usize,
    /// No write address is taken while so many writes are open.
    pub max_writes: usize,
    /// Whether address or data of a write is taken first.
    pub write_order: WriteOrder,
    /// Bytes of a write enter memory when its answer is offered, not when they pass. An earlier read returns the old
    /// bytes.
    pub late_writes: bool,
    /// Pauses.
    pub stalls: Stalls,
    /// Answers other than OKAY.
    pub errors: Vec<BusError>,
    /// Reads that are never answered, or not to the end.
    pub silent_reads: Option<Silence>,
    /// Writes that are never answered.
    pub silent_writes: Option<Silence>,
    /// An answer with a wrong ID.
    pub misrouted: Option<Misrouted>,
    /// Promises of the design.
    pub promises: Promises,
}

impl AxiConfig {
    /// Always ready, one beat a cycle, answers in order after `latency` cycles, at least 1.
    pub fn ideal(latency: u32) -> Self {
        Self {
            read_latency: Latency::Fixed(latency),
            write_latency: Latency::Fixed(latency),
            read_rate: Rate::FULL,
            write_rate: Rate::FULL,
            order: Order::Issue,
            max_reads: usize::MAX,
            max_writes: usize::MAX,
            write_order: WriteOrder::Any,
            late_writes: false,
            stalls: Stalls::default(),
            errors: Vec::new(),
            silent_reads: None,
            silent_writes: None,
            misrouted: None,
            promises: Promises::default(),
        }
    }

    /// [`AxiConfig::rough`] with two more random choices: whether READY waits for VALID, and whether address or data of
    /// a write is taken first.
    pub fn drawn(stall: Stall, rng: &mut StimulusRng) -> Self {
        use WriteOrder::{AddressFirst, Any, DataFirst};
        let write_order = [Any, AddressFirst, DataFirst][rng.random_range(0..3_usize)];
        let stalls = Stalls { ready_after_valid: rng.random(), ..Stalls::all(stall) };
        Self { write_order, stalls, ..Self::rough(stall) }
    }

    /// A memory that uses all freedom: random latencies, pauses on all channels, beats of different IDs mixed, and
    /// writes that enter memory only with their answers. `stall` is the rule of all pauses.
    pub fn rough(stall: Stall) -> Self {
        Self {
            read_latency: Latency::Random(1, 40),
            write_latency: Latency::Random(1, 40),
            order: Order::Mixed,
            max_reads: 6,
            max_writes: 6,
            late_writes: true,
            stalls: Stalls::all(stall),
            ..Self::ideal(1)
        }
    }

    pub(super) fn check(&self, interface: &str) -> Result<()> {
        let rate = |rate: Rate| rate.beats == 0 || rate.beats > rate.cycles;
        let problem = if self.read_latency.least() == 0 || self.write_latency.least() == 0 {
            "a latency of 0 cycles: an answer comes 1 cycle after its request at the earliest"
        } else if self.read_latency.is_reversed() || self.write_latency.is_reversed() {
            "a random latency whose smallest value is above its largest"
        } else if rate(self.read_rate) || rate(self.write_rate) {
            "a rate that is not between 1 beat in many cycles and 1 beat a cycle"
        } else if self.max_reads == 0 || self.max_writes == 0 {
            "room for no request: give at least 1"
        } else {
            return Ok(());
        };
        Err(Error::Unsupported(format!("AXI memory of `{interface}`: {problem}")))
    }
}

/// Cycles from a request to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// Always the same.
    Fixed(u32),
    /// Anything from the first to the second value, both included.
    Random(u32, u32),
}

impl Latency {
    pub(super) fn draw(self, rng: &mut StimulusRng) -> u64 {
        u64::from(match self {
            Self::Fixed(cycles) => cycles,
            Self::Random(least, most) => rng.random_range(least..=most),
        })
    }

    fn least(self) -> u32 {
        match self {
            Self::Fixed(cycles) | Self::Random(cycles, _) => cycles,
        }
    }

    fn is_reversed(self) -> bool {
        matches!(self, Self::Random(least, most) if least > most)
    }
}

/// A share of the cycles: so many beats in so many cycles, evenly spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Beats...
    pub beats: u32,
    /// ...in so many cycles.
    pub cycles: u32,
}

impl Rate {
    /// A beat in every cycle.
    pub const FULL: Self = Self { beats: 1, cycles: 1 };
}

/// When a [`Rate`] lets beats pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    rate: Rate,
    saved: u32,
}

impl Credit {
    pub fn new(rate: Rate) -> Self {
        Self { rate, saved: rate.cycles - rate.beats }
    }

    /// Goes to the next cycle, and returns whether a beat may pass in it. Idle cycles save at most one beat.
    pub fn next_cycle(&mut self) -> bool {
        self.saved = (self.saved + self.rate.beats).min(self.rate.cycles + self.rate.beats - 1);
        self.saved >= self.rate.cycles
    }

    pub fn spend(&mut self) {
        self.saved -= self.rate.cycles;
    }
}

/// Order of answers. With one ID they always come in the order of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order of the requests.
    Issue,
    /// Bursts of different IDs overtake each other at random. The beats of a burst stay together.
    Bursts,
    /// Beats of bursts of different IDs are mixed at random.
    Mixed,
}

/// Whether a memory takes address or data of a write first. AXI allows all orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrder {
    /// Address and data in any order.
    Any,
    /// Data only after its address was taken.
    AddressFirst,
    /// An address only while data waits.
    DataFirst,
}

/// Pauses of an interface: of READY on AW, W and AR, of a new VALID on B and R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// AWREADY.
    pub aw: Stall,
    /// WREADY.
    pub w: Stall,
    /// BVALID, or BREADY of a host.
    pub b: Stall,
    /// ARREADY.
    pub ar: Stall,
    /// RVALID, or RREADY of a host.
    pub r: Stall,
    /// READY rises only after VALID did, as AXI allows.
    pub ready_after_valid: bool,
}

impl Default for Stalls {
    fn default() -> Self {
        Self::all(Stall::Never)
    }
}

impl Stalls {
    /// The same rule on all channels, each with its own random numbers.
    pub fn all(stall: Stall) -> Self {
        Self { aw: stall, w: stall, b: stall, ar: stall, r: stall, ready_after_valid: false }
    }
}

/// An answer that is not OKAY. The bytes of such a beat are not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusError {
    /// Reads, writes, or both.
    pub access: Access,
    /// The accesses that it hits.
    pub place: Place,
    /// SLVERR or DECERR.
    pub response: Response,
}

/// Kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes.
    Both,
}

impl Access {
    fn hits(self, read: bool) -> bool {
        match self {
            Self::Read => read,
            Self::Write => !read,
            Self::Both => true,
        }
    }
}

/// Which beats of an access meet an error. A write has one answer: the worst of its beats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Beats whose address is in the range.
    Addresses(Range<u64>),
    /// The beat with this number, counted from 0 over all bursts of the interface, in the order in which beats pass.
    Beat(u64),
    /// The beat at this position of every burst, counted from 0.
    Position(u32),
    /// A position in the burst with this number, counted from 0 in the order in which addresses are taken.
    PositionOf(u64, u32),
}

impl BusError {
    fn hits(&self, read: bool, at: &BeatPlace) -> bool {
        self.access.hits(read)
            && match &self.place {
                Place::Addresses(range) => range.contains(&at.address),
                Place::Beat(number) => at.number == *number,
                Place::Position(position) => at.position == *position,
                Place::PositionOf(request, position) => at.request == *request && at.position == *position,
            }
    }
}

/// The position of a beat, for [`Place`].
pub(super) struct BeatPlace {
    pub address: u64,
    pub number: u64,
    pub request: u64,
    pub position: u32,
}

/// The answer to a beat: the worst of the errors that hit it.
pub(super) fn response(errors: &[BusError], read: bool, at: &BeatPlace) -> Response {
    errors.iter().filter(|e| e.hits(read, at)).map(|e| e.response).max().unwrap_or_default()
}

/// From when on answers never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The first request without a complete answer, counted from 0. Later requests are not answered at all.
    pub request: u64,
    /// Beats of this request that are still answered. Without meaning for writes.
    pub beats: u32,
}

impl Silence {
    /// Nothing is answered from request `number` on.
    pub fn from(number: u64) -> Self {
        Self { request: number, beats: 0 }
    }

    pub(super) fn covers(self, request: u64, beat: u32) -> bool {
        request > self.request || request == self.request && beat >= self.beats
    }
}

/// An answer with another ID than its request. No interconnect may give such an answer. The checker judges the design,
/// and does not see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misrouted {
    /// Reads, writes, or both. The ID of a read is wrong in its last beat.
    pub access: Access,
    /// The request, counted from 0.
    pub request: u64,
    /// Bits of the ID that are wrong.
    pub flips: u64,
}

impl Misrouted {
    /// The ID in the answer to the request with this number.
    pub(super) fn id(of: Option<Self>, (read, request): (bool, u64), id: u64) -> u64 {
        of.filter(|wrong| wrong.access.hits(read) && wrong.request == request).map_or(id, |wrong| id ^ wrong.flips)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_spread_evenly_and_save_no_more_than_a_beat() {
        for (beats, cycles) in [(1, 1), (1, 2), (3, 4), (2, 7), (1, 100)] {
            let mut credit = Credit::new(Rate { beats, cycles });
            let mut passed = Vec::new();
            for _ in 0..1000 * cycles {
                let may = credit.next_cycle();
                passed.push(may);
                if may {
                    credit.spend();
                }
            }
            assert!(passed[0], "the first beat passes at once");
            assert_eq!(passed.iter().filter(|&&p| p).count(), (1000 * beats) as usize);
            for window in passed.chunks_exact(cycles as usize) {
                assert_eq!(window.iter().filter(|&&p| p).count(), beats as usize);
            }
            for _ in 0..10 * cycles {
                credit.next_cycle();
            }
            let burst = (0..cycles).filter(|_| credit.next_cycle().then(|| credit.spend()).is_some()).count();
            assert!(burst <= beats as usize + 1, "{burst} beats in {cycles} cycles after a pause");
        }
    }

    #[test]
    fn configurations_that_cannot_work_are_refused() {
        let error = |change: fn(&mut AxiConfig)| {
            let mut config = AxiConfig::ideal(1);
            change(&mut config);
            config.check("mem").unwrap_err().to_string()
        };
        assert!(error(|c| c.read_latency = Latency::Fixed(0)).contains("`mem`: a latency of 0"));
        assert!(error(|c| c.write_latency = Latency::Random(0, 3)).contains("latency of 0"));
        assert!(error(|c| c.write_latency = Latency::Random(4, 3)).contains("above its largest"));
        assert!(error(|c| c.read_rate = Rate { beats: 2, cycles: 1 }).contains("rate"));
        assert!(error(|c| c.write_rate = Rate { beats: 0, cycles: 0 }).contains("rate"));
        assert!(error(|c| c.max_reads = 0).contains("room for no request"));
        assert!(AxiConfig::rough(Stall::Never).check("mem").is_ok());
    }
}
