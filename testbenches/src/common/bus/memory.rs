//! A memory on AXI4 with seeded pauses on all channels, latency, errors, and answers that never come. It checks every
//! rule that the manager has to keep.

use std::collections::{BTreeMap, VecDeque};

use sim::stimulus::{Stall, StallPattern, StimulusRng};
use sim::{Bits, Difference, In, Out, Run, Sim};

/// How the memory behaves.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    /// Cycles from an address (of writes: the last beat) to the answer.
    pub latency: u64,
    /// Pauses, on all channels.
    pub stall: Stall,
    /// It takes addresses and beats, and never answers.
    pub silent: bool,
}

impl Manners {
    /// No pauses.
    pub fn ideal(latency: u64) -> Self {
        Self { latency, stall: Stall::Never, silent: false }
    }
}

/// Contents of the memory: written bytes, and bytes that follow from their address elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    written: BTreeMap<u64, u8>,
    /// Answers of bad beats, by their address.
    pub bad: BTreeMap<u64, u64>,
}

impl Contents {
    /// The byte at `address`.
    pub fn byte(&self, address: u64) -> u8 {
        self.written.get(&address).copied().unwrap_or_else(|| (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8)
    }

    /// All bytes that were written, in order of their addresses; forgets them.
    pub fn take_written(&mut self) -> Vec<(u64, u8)> {
        std::mem::take(&mut self.written).into_iter().collect()
    }
}

/// Demands `holds` of the design.
///
/// # Errors
/// A breach of the protocol.
pub fn rule(run: &Run, sim: &Sim, port: &str, holds: bool, problem: &str) -> sim::Result<()> {
    if holds {
        return Ok(());
    }
    Err(run.fail(sim.cycle_count(), Difference::Protocol { port: port.into(), problem: problem.into() }))
}

/// Outputs of a channel that stay while the beat waits.
#[derive(Debug)]
pub(super) struct Watched {
    name: String,
    valid: Out,
    fields: Vec<Out>,
    waits: Option<Vec<Bits>>,
}

impl Watched {
    pub(super) fn new(sim: &Sim, prefix: &str, channel: &str, fields: &[&str]) -> sim::Result<Self> {
        let port = |field: &str| sim.output(&format!("{prefix}_{channel}{field}_o"));
        let name = format!("{prefix}_{channel}");
        let fields = fields.iter().map(|f| port(f)).collect::<sim::Result<_>>()?;
        Ok(Self { name, valid: port("valid")?, fields, waits: None })
    }

    /// The beat that is taken.
    pub(super) fn look(&mut self, sim: &Sim, run: &Run, ready: bool) -> sim::Result<Option<Vec<Bits>>> {
        let valid = sim.peek_u64(self.valid) == 1;
        let now: Vec<Bits> = self.fields.iter().map(|&f| sim.peek(f)).collect();
        if let Some(before) = &self.waits {
            let port = format!("{}valid_o", self.name);
            rule(run, sim, &port, valid, "valid fell before the beat was taken (A3.2.1)")?;
            rule(run, sim, &port, *before == now, "the beat changed before it was taken (A3.2.1)")?;
        }
        self.waits = (valid && !ready).then(|| now.clone());
        Ok((valid && ready).then_some(now))
    }
}

fn value(bits: &Bits) -> u64 {
    bits.to_u64().unwrap_or(u64::MAX)
}

/// A burst as its address says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its ID.
    pub id: u64,
    /// Its address.
    pub address: u64,
    /// Its beats.
    pub beats: u64,
}

/// Fields of an address.
pub(super) const ADDRESS: [&str; 7] = ["id", "addr", "len", "size", "burst", "cache", "prot"];

/// AxCACHE and AxPROT of a manager's bursts.
pub type Attributes = (u64, u64);

/// Checks an address (A3.4.1).
fn address(
    sim: &Sim,
    run: &Run,
    port: &str,
    fields: &[Bits],
    (bytes, attributes): (u64, Attributes),
) -> sim::Result<Taken> {
    let v: Vec<u64> = fields.iter().map(value).collect();
    rule(run, sim, port, (v[5], v[6]) == attributes, "other attributes than at the input")?;
    let taken = Taken { id: v[0], address: v[1], beats: v[2] + 1 };
    rule(run, sim, port, 1 << v[3] == bytes, "a burst of narrow beats")?;
    rule(run, sim, port, v[4] == 1, "a burst that is not INCR")?;
    let end = taken.address % 4096 + taken.beats * bytes;
    rule(run, sim, port, end <= 4096, "a burst crosses 4 KiB (A3.4.1)")?;
    rule(run, sim, port, taken.address.is_multiple_of(bytes), "an address within a beat")?;
    Ok(taken)
}

/// The half of a memory that is read.
#[derive(Debug)]
pub struct ReadPort {
    ar: Watched,
    arready: In,
    rvalid: In,
    rready: Out,
    fields: [In; 4],
    bytes: u64,
    /// What its bursts must have.
    pub attributes: Attributes,
    manners: Manners,
    ar_pause: StallPattern,
    r_pause: StallPattern,
    noise: StimulusRng,
    ready: bool,
    owed: VecDeque<(u64, Taken, u64)>,
    shown: bool,
    /// Addresses that were taken.
    pub taken: Vec<Taken>,
    /// Beats that were taken.
    pub beats: u64,
    /// Cycles in which a beat was offered or would have been, but for the manager.
    pub offered: u64,
    /// The manager takes beats whenever they come.
    pub always_ready: bool,
}

impl ReadPort {
    /// The ports `<prefix>_ar..` and `<prefix>_r..` of `sim`.
    ///
    /// # Errors
    /// A port that is missing.
    pub fn new(sim: &Sim, run: &Run, prefix: &str, bytes: u64, manners: Manners) -> sim::Result<Self> {
        let input = |name: &str| sim.input(&format!("{prefix}_{name}_i"));
        Ok(Self {
            ar: Watched::new(sim, prefix, "ar", &ADDRESS)?,
            arready: input("arready")?,
            rvalid: input("rvalid")?,
            rready: sim.output(&format!("{prefix}_rready_o"))?,
            fields: [input("rid")?, input("rdata")?, input("rresp")?, input("rlast")?],
            bytes,
            attributes: (0, 0),
            manners,
            ar_pause: manners.stall.pattern(run.seed(), "ar"),
            r_pause: manners.stall.pattern(run.seed(), "r"),
            noise: run.rng("noise"),
            ready: false,
            owed: VecDeque::new(),
            shown: false,
            taken: Vec::new(),
            beats: 0,
            offered: 0,
            always_ready: true,
        })
    }

    /// Beats that are owed.
    pub fn owes(&self) -> usize {
        self.owed.len()
    }

    /// Another way to behave from here on.
    pub fn set_manners(&mut self, run: &Run, manners: Manners) {
        self.manners = manners;
        (self.ar_pause, self.r_pause) =
            (manners.stall.pattern(run.seed(), "ar"), manners.stall.pattern(run.seed(), "r"));
    }

    /// Forgets all, as both sides do in a reset.
    pub fn reset(&mut self, sim: &mut Sim) {
        self.owed.clear();
        self.shown = false;
        self.ar.waits = None;
        self.taken.clear();
        sim.poke_u64(self.rvalid, 0);
    }

    /// Inputs of this cycle.
    pub fn drive(&mut self, sim: &mut Sim, contents: &Contents) {
        self.ready = !self.ar_pause.next_pause();
        sim.poke_u64(self.arready, self.ready.into());
        let pause = self.r_pause.next_pause();
        let due = self.owed.front().is_some_and(|b| b.2 <= sim.cycle_count()) && !self.manners.silent;
        self.shown |= due && !pause;
        sim.poke_u64(self.rvalid, self.shown.into());
        let [id, data, resp, last] = self.fields;
        match self.owed.front().filter(|_| self.shown) {
            Some((at, burst, _)) => {
                let bytes: Vec<u8> = (0..self.bytes).map(|k| contents.byte(at + k)).collect();
                sim.poke_u64(id, burst.id);
                sim.poke(data, &bits_of(&bytes));
                sim.poke_u64(resp, contents.bad.get(at).copied().unwrap_or(0));
                sim.poke_u64(last, (at - burst.address == (burst.beats - 1) * self.bytes).into());
                self.offered += 1;
            }
            None => {
                // Noise.
                sim.poke(data, &Bits::random(8 * self.bytes as u32, &mut self.noise));
                sim.poke_u64(resp, sim.cycle_count() % 4);
                sim.poke_u64(last, sim.cycle_count() / 4 % 2);
            }
        }
    }

    /// Outputs of this cycle, which has settled.
    ///
    /// # Errors
    /// A breach of the protocol.
    pub fn look(&mut self, sim: &Sim, run: &Run) -> sim::Result<()> {
        let cycle = sim.cycle_count();
        let ready = sim.peek_u64(self.rready) == 1;
        if self.always_ready {
            rule(run, sim, "rready_o", ready || self.owed.is_empty(), "an owed beat is not taken at once")?;
        }
        if self.shown && ready {
            self.owed.pop_front();
            self.beats += 1;
            self.shown = false;
        }
        if let Some(fields) = self.ar.look(sim, run, self.ready)? {
            let burst = address(sim, run, "araddr_o", &fields, (self.bytes, self.attributes))?;
            self.taken.push(burst);
            let beat = |k: u64| (burst.address + k * self.bytes, burst, cycle + self.manners.latency);
            self.owed.extend((0..burst.beats).map(beat));
        }
        Ok(())
    }
}

/// A vector of bytes, the first one lowest.
pub fn bits_of(bytes: &[u8]) -> Bits {
    let words: Vec<u32> =
        bytes.chunks(4).map(|c| c.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))).collect();
    Bits::from_words(8 * bytes.len() as u32, &words)
}

/// The bytes of a vector.
pub fn bytes_of(bits: &Bits) -> Vec<u8> {
    bits.words().iter().flat_map(|w| w.to_le_bytes()).take(bits.width() as usize / 8).collect()
}

/// The half of a memory that is written.
#[derive(Debug)]
pub struct WritePort {
    aw: Watched,
    w: Watched,
    awready: In,
    wready: In,
    bvalid: In,
    bready: Out,
    bid: In,
    bresp: In,
    bytes: u64,
    /// What its bursts must have.
    pub attributes: Attributes,
    manners: Manners,
    pauses: [StallPattern; 3],
    ready: [bool; 2],
    /// Addresses whose data is not complete, beats without an address.
    addresses: VecDeque<Taken>,
    data: VecDeque<(Vec<u8>, Bits, bool)>,
    owed: VecDeque<(Taken, u64, u64)>,
    shown: bool,
    /// Addresses that were taken.
    pub taken: Vec<Taken>,
    /// Beats that were taken.
    pub beats: u64,
    /// Answers that were taken.
    pub answers: u64,
    /// The manager takes answers whenever they come.
    pub always_ready: bool,
}

impl WritePort {
    /// The ports `<prefix>_aw..`, `_w..` and `_b..` of `sim`.
    ///
    /// # Errors
    /// A port that is missing.
    pub fn new(sim: &Sim, run: &Run, prefix: &str, bytes: u64, manners: Manners) -> sim::Result<Self> {
        let input = |name: &str| sim.input(&format!("{prefix}_{name}_i"));
        Ok(Self {
            aw: Watched::new(sim, prefix, "aw", &ADDRESS)?,
            w: Watched::new(sim, prefix, "w", &["data", "strb", "last"])?,
            awready: input("awready")?,
            wready: input("wready")?,
            bvalid: input("bvalid")?,
            bready: sim.output(&format!("{prefix}_bready_o"))?,
            bid: input("bid")?,
            bresp: input("bresp")?,
            bytes,
            attributes: (0, 0),
            manners,
            pauses: ["aw", "w", "b"].map(|name| manners.stall.pattern(run.seed(), name)),
            ready: [false; 2],
            addresses: VecDeque::new(),
            data: VecDeque::new(),
            owed: VecDeque::new(),
            shown: false,
            taken: Vec::new(),
            beats: 0,
            answers: 0,
            always_ready: true,
        })
    }

    /// Answers that are owed, or addresses that wait for data.
    pub fn owes(&self) -> usize {
        self.owed.len() + self.addresses.len()
    }

    /// Another way to behave from here on.
    pub fn set_manners(&mut self, run: &Run, manners: Manners) {
        self.manners = manners;
        self.pauses = ["aw", "w", "b"].map(|name| manners.stall.pattern(run.seed(), name));
    }

    /// Forgets all, as both sides do in a reset.
    pub fn reset(&mut self, sim: &mut Sim) {
        self.addresses.clear();
        self.data.clear();
        self.owed.clear();
        self.shown = false;
        (self.aw.waits, self.w.waits) = (None, None);
        self.taken.clear();
        sim.poke_u64(self.bvalid, 0);
    }

    /// Inputs of this cycle.
    pub fn drive(&mut self, sim: &mut Sim) {
        self.ready = [!self.pauses[0].next_pause(), !self.pauses[1].next_pause()];
        sim.poke_u64(self.awready, self.ready[0].into());
        sim.poke_u64(self.wready, self.ready[1].into());
        let pause = self.pauses[2].next_pause();
        let due = self.owed.front().is_some_and(|b| b.2 <= sim.cycle_count()) && !self.manners.silent;
        self.shown |= due && !pause;
        sim.poke_u64(self.bvalid, self.shown.into());
        let answer = self.owed.front().filter(|_| self.shown);
        sim.poke_u64(self.bresp, answer.map_or(sim.cycle_count() % 4, |a| a.1));
        if let Some((burst, ..)) = answer {
            sim.poke_u64(self.bid, burst.id);
        }
    }

    /// Outputs of this cycle, which has settled.
    ///
    /// # Errors
    /// A breach of the protocol.
    pub fn look(&mut self, sim: &Sim, run: &Run, contents: &mut Contents) -> sim::Result<()> {
        let cycle = sim.cycle_count();
        let ready = sim.peek_u64(self.bready) == 1;
        if self.always_ready {
            rule(run, sim, "bready_o", ready || self.owed.is_empty(), "an owed answer is not taken at once")?;
        }
        if self.shown && ready {
            self.owed.pop_front();
            self.answers += 1;
            self.shown = false;
        }
        if let Some(fields) = self.aw.look(sim, run, self.ready[0])? {
            let burst = address(sim, run, "awaddr_o", &fields, (self.bytes, self.attributes))?;
            self.taken.push(burst);
            self.addresses.push_back(burst);
        }
        if let Some(fields) = self.w.look(sim, run, self.ready[1])? {
            self.beats += 1;
            self.data.push_back((bytes_of(&fields[0]), fields[1].clone(), value(&fields[2]) == 1));
        }
        while let Some(burst) = self.addresses.front().copied() {
            let beats = burst.beats as usize;
            let seen = self.data.len().min(beats);
            let lasts = self.data.iter().take(seen).enumerate().all(|(k, d)| d.2 == (k + 1 == beats));
            rule(run, sim, "wlast_o", lasts, "last is not at the last beat of its burst (A3.4.1)")?;
            if seen < beats {
                break;
            }
            self.addresses.pop_front();
            let mut answer = 0;
            for (k, (bytes, strobes, _)) in self.data.drain(..beats).enumerate() {
                let at = burst.address + k as u64 * self.bytes;
                let bad = contents.bad.get(&at).copied().unwrap_or(0);
                answer = if answer == 0 { bad } else { answer };
                for (lane, byte) in bytes.iter().enumerate().filter(|&(lane, _)| strobes.bit(lane as u32)) {
                    contents.written.insert(at + lane as u64, *byte);
                }
            }
            self.owed.push_back((burst, answer, cycle + self.manners.latency));
        }
        Ok(())
    }
}
