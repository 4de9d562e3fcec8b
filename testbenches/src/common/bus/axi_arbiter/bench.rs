//! The managers and the memory of an arbiter, and what each must see.

use sim::bus::Partner;
use std::collections::{BTreeMap, VecDeque};

use hdl::blocks::common::AxiArbiter;
use rand::RngExt;
use sim::bus::{Access, AxiConfig, AxiMemory, BusError, Place, Response};
use sim::stimulus::{Stall, StallPattern, StimulusRng};
use sim::{Bits, In, Out, Run, Sim};

use super::super::memory::{bits_of, rule};

/// Beats that a manager sends on a channel: fields by port.
#[derive(Debug)]
pub(super) struct Sender {
    valid: In,
    ready: Out,
    pub(super) fields: Vec<(In, u32)>,
    /// Per manager.
    pub(super) queues: Vec<VecDeque<Vec<Bits>>>,
    offered: Vec<bool>,
    pauses: Vec<StallPattern>,
}

impl Sender {
    pub(super) fn new(sim: &Sim, part: &str, fields: &[(&str, u32)], managers: usize) -> sim::Result<Self> {
        let port = |field: &str| format!("mgr_{part}{field}");
        let fields = fields.iter().map(|&(field, width)| Ok((sim.input(&port(&format!("{field}_i")))?, width)));
        Ok(Self {
            valid: sim.input(&port("valid_i"))?,
            ready: sim.output(&port("ready_o"))?,
            fields: fields.collect::<sim::Result<_>>()?,
            queues: vec![VecDeque::new(); managers],
            offered: vec![false; managers],
            pauses: Vec::new(),
        })
    }

    pub(super) fn pause(&mut self, run: &Run, part: &str, stall: Stall) {
        self.pauses = (0..self.queues.len()).map(|k| stall.pattern(run.seed(), &format!("{part} {k}"))).collect();
    }

    pub(super) fn drive(&mut self, sim: &mut Sim, rng: &mut StimulusRng) {
        let managers = self.queues.len();
        for k in 0..managers {
            self.offered[k] |= !self.pauses[k].next_pause() && !self.queues[k].is_empty();
        }
        sim.poke(self.valid, &Bits::pack(1, self.offered.iter().map(|&o| o.into())));
        for (at, &(field, width)) in self.fields.iter().enumerate() {
            // Noise where nothing is offered.
            let mut all = Bits::random(width * managers as u32, rng);
            for k in (0..managers).filter(|&k| self.offered[k]) {
                all.set_slice(k as u32 * width, &self.queues[k][0][at]);
            }
            sim.poke(field, &all);
        }
    }

    /// The managers whose beat is taken.
    pub(super) fn look(&mut self, sim: &Sim) -> Vec<usize> {
        let ready = sim.peek_u64(self.ready);
        let taken: Vec<usize> = (0..self.queues.len()).filter(|&k| self.offered[k] && ready >> k & 1 == 1).collect();
        for &k in &taken {
            self.queues[k].pop_front();
            self.offered[k] = false;
        }
        taken
    }
}

/// Beats that a manager receives on a channel, in the order of each ID.
#[derive(Debug)]
struct Receiver {
    name: String,
    valid: Out,
    ready: In,
    pub(super) fields: Vec<(Out, u32)>,
    expected: Vec<BTreeMap<u64, VecDeque<Vec<Bits>>>>,
    takes: Vec<bool>,
    waits: Vec<Option<Vec<Bits>>>,
    pauses: Vec<StallPattern>,
}

impl Receiver {
    /// The first field is the ID.
    pub(super) fn new(sim: &Sim, part: &str, fields: &[(&str, u32)], managers: usize) -> sim::Result<Self> {
        let port = |field: &str| format!("mgr_{part}{field}");
        let fields = fields.iter().map(|&(field, width)| Ok((sim.output(&port(&format!("{field}_o")))?, width)));
        Ok(Self {
            name: port("valid_o"),
            valid: sim.output(&port("valid_o"))?,
            ready: sim.input(&port("ready_i"))?,
            fields: fields.collect::<sim::Result<_>>()?,
            expected: vec![BTreeMap::new(); managers],
            takes: vec![false; managers],
            waits: vec![None; managers],
            pauses: Vec::new(),
        })
    }

    pub(super) fn pause(&mut self, run: &Run, part: &str, stall: Stall) {
        self.pauses = (0..self.takes.len()).map(|k| stall.pattern(run.seed(), &format!("{part} {k}"))).collect();
    }

    pub(super) fn drive(&mut self, sim: &mut Sim) {
        for (takes, pause) in self.takes.iter_mut().zip(&mut self.pauses) {
            *takes = !pause.next_pause();
        }
        sim.poke(self.ready, &Bits::pack(1, self.takes.iter().map(|&t| t.into())));
    }

    pub(super) fn look(&mut self, sim: &Sim, run: &mut Run) -> sim::Result<()> {
        let valid = sim.peek_u64(self.valid);
        let fields: Vec<Bits> = self.fields.iter().map(|&(port, _)| sim.peek(port)).collect();
        for k in 0..self.takes.len() {
            let part = |(bits, &(_, width)): (&Bits, &(Out, u32))| bits.slice(k as u32 * width, width);
            let now: Vec<Bits> = fields.iter().zip(&self.fields).map(part).collect();
            let shown = valid >> k & 1 == 1;
            let kept = self.waits[k].as_ref().is_none_or(|before| shown && *before == now);
            rule(run, sim, &self.name, kept, "a response changed before it was taken (A3.2.1)")?;
            self.waits[k] = (shown && !self.takes[k]).then(|| now.clone());
            if !shown || !self.takes[k] {
                continue;
            }
            let id = now[0].to_u64().unwrap_or(u64::MAX);
            let expected = self.expected[k].get_mut(&id).and_then(VecDeque::pop_front);
            let show = |b: Option<&Vec<Bits>>| format!("{b:?}");
            let place = format!("response to manager {k}");
            run.expect_equal(sim, &self.name, &place, show(expected.as_ref()), show(Some(&now)))?;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.expected.iter().all(|ids| ids.values().all(VecDeque::is_empty))
    }
}

pub(super) struct Bench {
    pub(super) bytes: u32,
    pub(super) managers: usize,
    pub(super) id_width: u32,
    address_width: u32,
    memory: AxiMemory,
    pub(super) ar: Sender,
    pub(super) aw: Sender,
    pub(super) w: Sender,
    r: Receiver,
    b: Receiver,
    /// Managers whose read addresses were taken, in order.
    pub(super) turns: Vec<usize>,
    /// Bytes that memory must hold.
    written: BTreeMap<u64, u8>,
}

/// Pattern of memory that is only read.
fn byte(address: u64) -> u8 {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8
}

/// Bytes of memory that each manager reads, and as many that it writes.
const AREA: u64 = 0x8000;
/// Bytes of memory that a write burst may touch.
const PLACE: u64 = 512;

/// The answer to a beat in a memory with errors: the first one of each `part` bytes has one or the other.
fn error(address: u64, part: u64) -> Response {
    match (address % part, address / part % 2) {
        (0, 0) => Response::SlvErr,
        (0, _) => Response::DecErr,
        _ => Response::Okay,
    }
}

/// Errors in the areas of so many managers.
pub(super) fn errors(managers: u64) -> Vec<BusError> {
    let parts = |access, part: u64, first: u64| {
        let places = (0..managers)
            .flat_map(move |k| ((2 * k + first) * AREA..(2 * k + first + 1) * AREA).step_by(part as usize));
        places.map(move |at| BusError { access, place: Place::Addresses(at..at + 1), response: error(at, part) })
    };
    parts(Access::Read, 4096, 0).chain(parts(Access::Write, PLACE, 1)).collect()
}

impl Bench {
    pub(super) fn new(p: &AxiArbiter, sim: &mut Sim) -> sim::Result<Self> {
        let managers = p.managers as usize;
        let (data, id) = (p.axi.data_width, p.axi.id_width);
        let address = [
            ("id", id),
            ("addr", p.axi.address_width),
            ("len", 8),
            ("size", 3),
            ("burst", 2),
            ("cache", 4),
            ("prot", 3),
        ];
        let beat = [("data", data), ("strb", data / 8), ("last", 1)];
        let mut bench = Self {
            bytes: data / 8,
            managers,
            id_width: id,
            address_width: p.axi.address_width,
            memory: AxiMemory::new(),
            ar: Sender::new(sim, "ar", &address, managers)?,
            aw: Sender::new(sim, "aw", &address, managers)?,
            w: Sender::new(sim, "w", &beat, managers)?,
            r: Receiver::new(sim, "r", &[("id", id), ("data", data), ("resp", 2), ("last", 1)], managers)?,
            b: Receiver::new(sim, "b", &[("id", id), ("resp", 2)], managers)?,
            turns: Vec::new(),
            written: BTreeMap::new(),
        };
        bench.reset(sim)?;
        Ok(bench)
    }

    pub(super) fn reset(&mut self, sim: &mut Sim) -> sim::Result<()> {
        for sender in [&mut self.ar, &mut self.aw, &mut self.w] {
            sender.queues.iter_mut().for_each(VecDeque::clear);
            sender.offered.fill(false);
            sim.poke(sender.valid, &Bits::zero(self.managers as u32));
        }
        for receiver in [&mut self.r, &mut self.b] {
            receiver.expected.iter_mut().for_each(BTreeMap::clear);
            receiver.waits.fill(None);
        }
        self.written.clear();
        sim.poke_u64(sim.input("abort_i")?, 0);
        sim.reset(2)
    }

    /// Another memory, and other pauses.
    pub(super) fn begin(
        &mut self,
        sim: &Sim,
        run: &Run,
        config: &AxiConfig,
        stall: Stall,
        seed: u64,
    ) -> sim::Result<()> {
        self.memory = AxiMemory::new();
        self.memory.serve(sim, "mem", config, seed)?;
        for k in 0..self.managers as u64 {
            let base = 2 * k * AREA;
            let bytes: Vec<u8> = (base..base + AREA).map(byte).collect();
            self.memory.memory_mut().store(base, &bytes);
        }
        for (sender, part) in [(&mut self.ar, "ar"), (&mut self.aw, "aw"), (&mut self.w, "w")] {
            sender.pause(run, part, stall);
        }
        self.r.pause(run, "r", stall);
        self.b.pause(run, "b", stall);
        self.turns.clear();
        Ok(())
    }

    fn address(&self, rng: &mut StimulusRng, address: u64, beats: u64) -> (u64, Vec<Bits>) {
        let id = rng.random_range(0..1u64 << self.id_width.min(3));
        let size = u64::from(self.bytes.trailing_zeros());
        let fields = [(self.id_width, id), (self.address_width, address), (8, beats - 1), (3, size), (2, 1)];
        let attributes = [(4, rng.random_range(0..2)), (3, rng.random_range(0..8))];
        let field = |&(width, value): &(u32, u64)| Bits::truncated(width, value);
        (id, fields.iter().chain(&attributes).map(field).collect())
    }

    /// A place and a number of beats that stay within 4 KiB.
    fn place(&self, rng: &mut StimulusRng, base: u64) -> (u64, u64) {
        let bytes = u64::from(self.bytes);
        let page = base + 4096 * rng.random_range(0..AREA / 4096);
        let first = rng.random_range(0..4096 / bytes);
        let most = (4096 / bytes - first).min(if rng.random_range(0..16u8) == 0 { 256 } else { 6 });
        (page + first * bytes, rng.random_range(1..=most))
    }

    pub(super) fn read(&mut self, k: usize, rng: &mut StimulusRng, bad: bool) {
        let (address, beats) = self.place(rng, 2 * k as u64 * AREA);
        let (id, fields) = self.address(rng, address, beats);
        self.ar.queues[k].push_back(fields);
        let bytes = u64::from(self.bytes);
        for beat in 0..beats {
            let at = address + beat * bytes;
            let response = if bad { error(at, 4096).bits() } else { 0 };
            let data: Vec<u8> = (at..at + bytes).map(byte).collect();
            let fields = vec![
                Bits::truncated(self.id_width, id),
                bits_of(&data),
                Bits::truncated(2, response),
                Bits::truncated(1, (beat + 1 == beats).into()),
            ];
            self.r.expected[k].entry(id).or_default().push_back(fields);
        }
    }

    pub(super) fn write(&mut self, k: usize, rng: &mut StimulusRng, page: u64, bad: bool) {
        // One page a burst: with other IDs it may overtake.
        let bytes = u64::from(self.bytes);
        let beats = rng.random_range(1..=5);
        let address = (2 * k as u64 + 1) * AREA + page * PLACE + bytes * rng.random_range(0..3);
        let (id, fields) = self.address(rng, address, beats);
        self.aw.queues[k].push_back(fields);
        let mut worst = Response::Okay;
        for beat in 0..beats {
            let data = Bits::random(8 * self.bytes, rng);
            let strobes = Bits::random(self.bytes, rng);
            let answer = if bad { error(address + beat * bytes, PLACE) } else { Response::Okay };
            worst = worst.max(answer);
            // Data that is answered with an error is not stored.
            let stored = if answer == Response::Okay { super::super::memory::bytes_of(&data) } else { Vec::new() };
            for (lane, value) in stored.into_iter().enumerate() {
                if strobes.bit(lane as u32) {
                    self.written.insert(address + beat * bytes + lane as u64, value);
                }
            }
            self.w.queues[k].push_back(vec![data, strobes, Bits::truncated(1, (beat + 1 == beats).into())]);
        }
        let answer = vec![Bits::truncated(self.id_width, id), Bits::truncated(2, worst.bits())];
        self.b.expected[k].entry(id).or_default().push_back(answer);
    }

    pub(super) fn cycle(&mut self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
        self.memory.drive(sim)?;
        for sender in [&mut self.ar, &mut self.aw, &mut self.w] {
            sender.drive(sim, rng);
        }
        self.r.drive(sim);
        self.b.drive(sim);
        sim.settle()?;
        self.memory.sample(sim)?;
        self.turns.extend(self.ar.look(sim));
        self.aw.look(sim);
        self.w.look(sim);
        self.r.look(sim, run)?;
        self.b.look(sim, run)?;
        sim.tick()
    }

    fn is_done(&self) -> bool {
        let sent = |s: &Sender| s.queues.iter().all(VecDeque::is_empty);
        [&self.ar, &self.aw, &self.w].into_iter().all(sent) && self.r.is_done() && self.b.is_done()
    }

    pub(super) fn run(&mut self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
        let begin = sim.cycle_count();
        while !self.is_done() {
            self.cycle(sim, run, rng)?;
            rule(run, sim, "mem_arvalid_o", sim.cycle_count() - begin < 200_000, "a burst never ends")?;
        }
        let written = std::mem::take(&mut self.written);
        let wrong = written.iter().find(|(a, b)| self.memory.memory().bytes(**a, 1) != [**b]);
        run.expect_equal(sim, "mem_wdata_o", "byte that differs", "None".into(), format!("{wrong:x?}"))?;
        let areas: Vec<(u64, u64)> = (0..self.managers as u64).map(|k| ((2 * k + 1) * AREA, AREA)).collect();
        let outside = self.memory.memory().written_outside(&areas);
        run.expect_equal(sim, "mem_awaddr_o", "bytes written elsewhere", "None".into(), format!("{outside:x?}"))
    }
}
