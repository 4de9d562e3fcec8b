//! Several DMAs and one more manager, on one or more ports of the bus. Each port is watched.
//!
//! The read DMAs, then the write DMAs, take turns: DMA n is on port n modulo `ports`. The other manager is on port 0.

use super::axi::{AttributePorts, Axi, AxiManagers, AxiReadSubordinate, AxiSeveral, AxiWriteSubordinate};
use super::axi_watch::{AxiWatch, AxiWatchPorts};
use super::{AxiArbiter, AxiReadDma, AxiSpec, AxiWriteDma, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::arith::popcount::ones;
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Array, Block, Group, In, InStreams, Module, Out, OutStreams, Signal, bit, bits_for, cat, or_all, parameters,
    ports, reduce, uint,
};

/// Most managers of a port.
const MOST_MANAGERS: u32 = 16;

parameters! {
    /// Elaboration parameters.
    pub struct DmaBank {
        /// The bus as a DMA sees it; a port's IDs are wider by the number of the DMA.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory.
        ports: u32 = 1, in 1..=32, note "at most one for each DMA", named "when set";
        /// Read DMAs.
        readers: u32 = 1, in 1..=64, note "at most 16 a port, 15 on the first one", tag "r";
        /// Write DMAs.
        writers: u32 = 1, in 1..=64, note "at most 16 a port, 15 on the first one", tag "w";
        /// Beats that a read DMA keeps.
        read_beats: u32 = 128, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that a write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "l";
    }
    rules = |p, rules| {
        let most = p.readers + p.writers;
        let allowed = format!("1 to {most}: a port for each DMA, {} that read and {} that write", p.readers, p.writers);
        rules.demand(p.ports <= most, "ports", p.ports, allowed);
        for (name, count, crowd) in [("readers", p.readers, p.most_readers()), ("writers", p.writers, p.most_writers())] {
            let allowed = format!("{MOST_MANAGERS} managers a port; this makes {crowd} on one of {}", p.ports);
            rules.demand(crowd <= MOST_MANAGERS, name, count, allowed);
        }
        rules.part("read_beats", &p.reader());
        rules.part("write_beats", &p.writer());
    };
}

/// The DMAs of one kind on a port: number of the first one, and how many. Numbers rise in steps of the number of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    first: u32,
    count: u32,
}

impl Share {
    /// Their numbers.
    fn of(self, ports: u32) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |j| self.first + j * ports)
    }
}

impl DmaBank {
    /// The DMAs on a port, of `count` DMAs that follow `before` others.
    fn share(&self, port: u32, before: u32, count: u32) -> Share {
        let first = (port + self.ports - before % self.ports) % self.ports;
        Share { first, count: count.saturating_sub(first).div_ceil(self.ports) }
    }

    fn readers_on(&self, port: u32) -> Share {
        self.share(port, 0, self.readers)
    }

    fn writers_on(&self, port: u32) -> Share {
        self.share(port, self.readers, self.writers)
    }

    /// The other manager on a port: one on the first.
    fn others_on(port: u32) -> u32 {
        u32::from(port == 0)
    }

    /// Most managers that read on a port.
    fn most_readers(&self) -> u32 {
        (0..self.ports).map(|port| Self::others_on(port) + self.readers_on(port).count).max().unwrap_or(0)
    }

    fn most_writers(&self) -> u32 {
        (0..self.ports).map(|port| Self::others_on(port) + self.writers_on(port).count).max().unwrap_or(0)
    }

    /// Managers that a port has room for: the other one, then the DMAs, read and write in pairs. All ports have the
    /// same number, so that IDs are equally wide and cycles the same.
    fn managers(&self) -> u32 {
        self.most_readers().max(self.most_writers()).max(2)
    }

    fn arbiter(&self) -> AxiArbiter {
        AxiArbiter { axi: self.axi.clone(), managers: self.managers(), outstanding: self.dma.outstanding }
    }

    /// The bus at a port.
    #[must_use]
    pub fn port(&self) -> AxiSpec {
        self.arbiter().port()
    }

    /// The name of an object of a port: `name` alone if there is one port.
    fn named(&self, name: &str, port: u32) -> String {
        if self.ports == 1 { name.into() } else { format!("{name}_{port}") }
    }

    fn reader(&self) -> AxiReadDma {
        AxiReadDma {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            buffer_beats: self.read_beats,
            ..AxiReadDma::default()
        }
    }

    fn writer(&self) -> AxiWriteDma {
        AxiWriteDma {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            buffer_beats: self.write_beats,
            ..AxiWriteDma::default()
        }
    }

    fn watch(&self) -> AxiWatch {
        let bursts = self.managers() * self.dma.outstanding;
        AxiWatch {
            // The other manager may request 16 beats at once.
            beats_width: bits_for((bursts * self.dma.burst_beats.max(16)).into()),
            responses_width: bits_for(bursts.into()),
        }
    }

    fn commands(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }
}

ports! {
    /// The streams of the DMAs.
    pub struct DmaStreamPorts(p: &DmaBank) {
        /// Of each reader: what to read.
        read_command: InStreams<DmaCommand> = (p.readers, p.commands()),
        /// Of each reader: the rows.
        read: OutStreams<RowBeat> = (p.readers, p.axi.clone()),
        /// Of each reader: ends of its commands.
        read_end: OutStreams<DmaCompletion> = (p.readers, p.axi.clone()),
        /// Of each writer: what to write.
        write_command: InStreams<DmaCommand> = (p.writers, p.commands()),
        /// Of each writer: the rows.
        write: InStreams<Word> = (p.writers, p.axi.data_width),
        /// Of each writer: ends of its commands.
        write_end: OutStreams<DmaCompletion> = (p.writers, p.axi.clone()),
    }
}

impl DmaStreamPorts {
    /// Connects the streams of a block to the streams of its part.
    #[track_caller]
    pub fn connect(&self, m: &mut Module, part: &Self) {
        part.read_command.connect(m, &self.read_command);
        self.read.connect(m, &part.read);
        self.read_end.connect(m, &part.read_end);
        part.write_command.connect(m, &self.write_command);
        part.write.connect(m, &self.write);
        self.write_end.connect(m, &part.write_end);
    }
}

ports! {
    /// Ports of [`DmaBank`].
    pub struct DmaBankPorts(p: &DmaBank) {
        /// Soft reset of all DMAs.
        abort_i: In = bit(),
        /// The other manager waits for an answer.
        other_awaits_i: In = bit(),
        /// Attributes of their requests.
        attributes: Group<AttributePorts> = (),
        /// Reads of another manager.
        other_read: AxiReadSubordinate = p.axi.clone(),
        /// Its writes.
        other_write: AxiWriteSubordinate = p.axi.clone(),
        /// The streams of the DMAs.
        dmas: Group<DmaStreamPorts, DmaBank> = p.clone(),
        /// Memory.
        mem: AxiManagers = (p.ports, p.port()),
        /// Per port: in the cycle before, something was requested or offered and not done, or a manager waited for an
        /// answer.
        waiting_o: Out = uint(p.ports),
        /// Per port: in the cycle before, some channel moved.
        answered_o: Out = uint(p.ports),
        /// No command is in flight, and nothing is offered or owed on any port.
        idle_o: Out = bit(),
        /// Beats that were read in the cycle before, on all ports.
        read_beat_o: Out = uint(bits_for(p.ports.into())),
        /// Beats that were written in the cycle before, on all ports.
        write_beat_o: Out = uint(bits_for(p.ports.into())),
        /// In the cycle before, some read DMA had a command and no beat, although its output was ready.
        read_waits_o: Out = bit(),
        /// In the cycle before, some port offered a beat of write data, and it was not taken.
        write_waits_o: Out = bit(),
    }
}

impl Block for DmaBank {
    type Ports = DmaBankPorts;
    const ABOUT: About = About {
        name: "dma_bank",
        summary: "read and write DMAs on ports of the bus, with a watch on each",
        contract: "The DMAs are axi_read_dma and axi_write_dma; each port comes from an axi_arbiter. Numbers count\n\
            the read DMAs first, then the write DMAs. DMA n is on port n modulo ports. The other manager is on port\n\
            0.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022",
    };

    fn build(&self, m: &mut Module, io: &DmaBankPorts) {
        let mut places = Vec::new();
        for port in 0..self.ports {
            let arbiter = m.instance(&self.named("u_arbiter", port), self.arbiter());
            m.connect(arbiter.abort_i, io.abort_i);
            let watch = m.instance(&self.named("u_watch", port), self.watch());
            places.push((arbiter, watch));
        }
        let managers: Vec<&AxiSeveral> = places.iter().map(|(arbiter, _)| &arbiter.mgr).collect();
        managers[0].read(0).connect(m, &io.other_read);
        managers[0].write(0).connect(m, &io.other_write);
        let readers = self.readers(m, io, &managers);
        let writers = self.writers(m, io, &managers);
        for (port, mgr) in (0..).zip(&managers) {
            self.nobody(m, port, mgr);
        }

        for (port, ((arbiter, watch), mem)) in (0..).zip(places.iter().zip(&io.mem)) {
            watched(m, mem, &arbiter.mem, watch);
            let on = |share: Share, of: &Dmas| share.of(self.ports).map(|k| of.owes.at(k)).collect::<Vec<_>>();
            let own = [on(self.readers_on(port), &readers), on(self.writers_on(port), &writers)].concat();
            let other = if port == 0 { io.other_awaits_i } else { bit().lit(0) };
            m.connect(watch.awaited_i, or_all(bit(), &own) | other);
        }
        let of =
            |signal: fn(&AxiWatchPorts) -> Signal| places.iter().map(|(_, watch)| signal(watch)).collect::<Vec<_>>();
        // The first port is the lowest bit.
        let each = |signals: Vec<Signal>| cat(&signals.into_iter().rev().collect::<Vec<_>>());
        m.connect(io.waiting_o, each(of(|watch| watch.waiting_o)));
        m.connect(io.answered_o, each(of(|watch| watch.answered_o)));
        let read = ones(m, "read_beats", &of(|watch| watch.read_o));
        m.connect(io.read_beat_o, read);
        let written = ones(m, "written_beats", &of(|watch| watch.written_o));
        m.connect(io.write_beat_o, written);
        m.connect(io.write_waits_o, or_all(bit(), &of(|watch| watch.write_waits_o)));
        let ports_idle = reduce(&of(|watch| watch.idle_o), |a, b| a & b);
        m.connect(io.idle_o, readers.idle & writers.idle & ports_idle.unwrap_or_else(|| bit().lit(1)));
    }
}

/// The DMAs of one kind, on all ports.
struct Dmas {
    /// All are idle.
    idle: Signal,
    /// Per DMA: a burst is in flight.
    owes: Array,
}

/// A port of an arbiter to memory, with its watch.
fn watched(m: &mut Module, mem: &Axi, from: &Axi, watch: &AxiWatchPorts) {
    mem.connect(m, from);
    for (to, signal) in [
        (watch.ar_valid_i, from.read.ar.valid),
        (watch.ar_ready_i, mem.read.ar.ready),
        (watch.ar_len_i, from.read.ar.len),
        (watch.r_valid_i, mem.read.r.fire()),
        (watch.aw_valid_i, from.write.aw.valid),
        (watch.aw_ready_i, mem.write.aw.ready),
        (watch.w_valid_i, from.write.w.valid),
        (watch.w_ready_i, mem.write.w.ready),
        (watch.b_valid_i, mem.write.b.fire()),
    ] {
        m.connect(to, signal);
    }
}

impl DmaBank {
    /// The read DMAs.
    fn readers(&self, m: &mut Module, io: &DmaBankPorts, managers: &[&AxiSeveral]) -> Dmas {
        let idle = m.nets("reader_idle", bit(), self.readers);
        let owes = m.nets("reader_owes", bit(), self.readers);
        let waits = m.nets("reader_waits", bit(), self.readers);
        for (port, mgr) in (0..).zip(managers) {
            let share = self.readers_on(port);
            m.for_each(&self.named("reader", port), share.count, |m, j| {
                let k = j * self.ports + share.first;
                let dma = m.instance(&self.named("u_read", port), self.reader());
                m.connect(dma.abort_i, io.abort_i);
                m.connect(dma.cache_i, io.attributes.read_cache_i);
                m.connect(dma.prot_i, io.attributes.prot_i);
                m.connect_stream(&dma.command, &io.dmas.read_command.at(k));
                m.connect_stream(&io.dmas.read.at(k), &dma.output);
                m.connect_stream(&io.dmas.read_end.at(k), &dma.completion);
                mgr.read(j + Self::others_on(port)).connect(m, &dma.mem);
                m.connect(idle.at(k), dma.idle_o);
                m.connect(owes.at(k), dma.owes_o);
                m.connect(waits.at(k), dma.waits_o);
                m.unused(dma.read_beat_o);
            });
        }
        let idle = m.wire("readers_idle", idle.packed().all());
        m.connect(io.read_waits_o, waits.packed().any());
        Dmas { idle, owes }
    }

    /// The write DMAs.
    fn writers(&self, m: &mut Module, io: &DmaBankPorts, managers: &[&AxiSeveral]) -> Dmas {
        let idle = m.nets("writer_idle", bit(), self.writers);
        let owes = m.nets("writer_owes", bit(), self.writers);
        for (port, mgr) in (0..).zip(managers) {
            let share = self.writers_on(port);
            m.for_each(&self.named("writer", port), share.count, |m, j| {
                let k = j * self.ports + share.first;
                let dma = m.instance(&self.named("u_write", port), self.writer());
                m.connect(dma.abort_i, io.abort_i);
                m.connect(dma.cache_i, io.attributes.write_cache_i);
                m.connect(dma.prot_i, io.attributes.prot_i);
                m.connect_stream(&dma.command, &io.dmas.write_command.at(k));
                m.connect_stream(&dma.input, &io.dmas.write.at(k));
                m.connect_stream(&io.dmas.write_end.at(k), &dma.completion);
                mgr.write(j + Self::others_on(port)).connect(m, &dma.mem);
                m.connect(idle.at(k), dma.idle_o);
                m.connect(owes.at(k), dma.owes_o);
                m.unused(dma.write_beat_o);
                // Waits of writes are counted at the ports.
                m.unused(dma.waits_o);
            });
        }
        Dmas { idle: m.wire("writers_idle", idle.packed().all()), owes }
    }

    /// Halves of an arbiter's managers without a DMA.
    fn nobody(&self, m: &mut Module, port: u32, mgr: &AxiSeveral) {
        let readers = Self::others_on(port) + self.readers_on(port).count;
        let writers = Self::others_on(port) + self.writers_on(port).count;
        m.for_each(&self.named("no_reader", port), self.managers() - readers, |m, k| {
            let k = k + readers;
            let (ar, r) = (mgr.ar.at(k), mgr.r.at(k));
            m.connect(ar.valid, 0);
            for field in [ar.id, ar.addr, ar.len, ar.size, ar.burst, ar.cache, ar.prot] {
                m.connect(field, 0);
            }
            m.connect(r.ready, 1);
        });
        m.for_each(&self.named("no_writer", port), self.managers() - writers, |m, k| {
            let k = k + writers;
            let (aw, w, b) = (mgr.aw.at(k), mgr.w.at(k), mgr.b.at(k));
            m.connect(aw.valid, 0);
            for field in [aw.id, aw.addr, aw.len, aw.size, aw.burst, aw.cache, aw.prot] {
                m.connect(field, 0);
            }
            m.connect(w.valid, 0);
            for field in [w.data.data, w.strb, w.last] {
                m.connect(field, 0);
            }
            m.connect(b.ready, 1);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dma_has_its_port() {
        for (readers, writers) in [(1, 1), (4, 1), (2, 5), (24, 3)] {
            for ports in 1..=readers + writers {
                let bank = DmaBank { ports, readers, writers, ..DmaBank::default() };
                let mut seen = vec![0; (readers + writers) as usize];
                for port in 0..ports {
                    let (reads, writes) = (bank.readers_on(port), bank.writers_on(port));
                    let dmas: Vec<u32> = reads.of(ports).chain(writes.of(ports).map(|n| readers + n)).collect();
                    assert!(!dmas.is_empty() && dmas.iter().all(|n| n % ports == port), "{bank:?}: {dmas:?}");
                    dmas.iter().for_each(|&n| seen[n as usize] += 1);
                }
                assert!(seen.iter().all(|&count| count == 1), "{bank:?}: {seen:?}");
            }
        }
    }

    #[test]
    fn ports_without_a_dma_are_refused() {
        let error = |bank: DmaBank| crate::lang::Parameters::check(&bank).unwrap_err().to_string();
        let bank = DmaBank { readers: 4, ..DmaBank::default() };
        assert_eq!(
            error(DmaBank { ports: 6, ..bank.clone() }),
            "parameter `ports` is 6, allowed: 1 to 5: a port for each DMA, 4 that read and 1 that write"
        );
        assert_eq!(error(DmaBank { ports: 33, ..bank.clone() }), "parameter `ports` is 33, allowed: 1 to 32");
        let crowd = error(DmaBank { readers: 16, ..bank.clone() });
        assert_eq!(crowd, "parameter `readers` is 16, allowed: 16 managers a port; this makes 17 on one of 1");
        assert_eq!(crate::lang::Parameters::check(&DmaBank { readers: 15, ..bank }), Ok(()));
    }
}
