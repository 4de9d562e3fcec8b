//! Several DMAs, and one more manager, on one port of the bus that is watched.

use super::axi::{AxiManager, AxiReadSubordinate, AxiSeveral, AxiWriteSubordinate};
use super::axi_watch::AxiWatch;
use super::{AxiArbiter, AxiReadDma, AxiSpec, AxiWriteDma, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::stream::Word;
use crate::lang::{About, Block, In, InStreams, Module, Out, OutStreams, Timing, bit, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct DmaBank {
        /// The bus as a DMA sees it; the port's IDs are wider by the number of the DMA.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Read DMAs.
        readers: u32 = 1, in 1..=14, tag "r";
        /// Write DMAs.
        writers: u32 = 1, in 1..=14, tag "w";
        /// Beats that a read DMA keeps.
        read_beats: u32 = 128, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that a write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "l";
    }
    rules = |p, rules| {
        rules.part("read_beats", &p.reader());
        rules.part("write_beats", &p.writer());
    };
}

impl DmaBank {
    /// The other manager, then the DMAs, read and write in pairs.
    fn managers(&self) -> u32 {
        1 + self.readers.max(self.writers)
    }

    fn arbiter(&self) -> AxiArbiter {
        AxiArbiter { axi: self.axi.clone(), managers: self.managers(), outstanding: self.dma.outstanding }
    }

    /// The bus at the port.
    #[must_use]
    pub fn port(&self) -> AxiSpec {
        self.arbiter().port()
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
        AxiWatch {
            // The other manager may ask for 16 beats at once.
            beats: self.managers() * self.dma.outstanding * self.dma.burst_beats.max(16),
            responses: self.managers() * self.dma.outstanding,
        }
    }

    pub(crate) fn commands(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }
}

ports! {
    /// Ports of [`DmaBank`].
    pub struct DmaBankPorts(p: &DmaBank) {
        /// Soft reset of all DMAs.
        abort_i: In = bit(),
        /// ARCACHE.
        read_cache_i: In = uint(4),
        /// AWCACHE.
        write_cache_i: In = uint(4),
        /// ARPROT and AWPROT.
        prot_i: In = uint(3),
        /// Reads of another manager.
        other_read: AxiReadSubordinate = p.axi.clone(),
        /// Its writes.
        other_write: AxiWriteSubordinate = p.axi.clone(),
        /// What to read.
        read_command: InStreams<DmaCommand> = (p.readers, p.commands()),
        /// The rows that were read.
        read: OutStreams<RowBeat> = (p.readers, p.axi.clone()),
        /// How reading ended.
        read_end: OutStreams<DmaCompletion> = (p.readers, p.axi.clone()),
        /// What to write.
        write_command: InStreams<DmaCommand> = (p.writers, p.commands()),
        /// The rows to write.
        write: InStreams<Word> = (p.writers, p.axi.data_width),
        /// How writing ended.
        write_end: OutStreams<DmaCompletion> = (p.writers, p.axi.clone()),
        /// Memory.
        mem: AxiManager = p.port(),
        /// In the cycle before, something on the port was asked for or offered, and not done.
        waiting_o: Out = bit(),
        /// In the cycle before, some channel of the port moved.
        answered_o: Out = bit(),
        /// No command is in hand, and nothing is offered or owed on the port.
        idle_o: Out = bit(),
        /// A beat was read in the cycle before.
        read_beat_o: Out = bit(),
        /// A beat was written in the cycle before.
        write_beat_o: Out = bit(),
        /// In the cycle before, some read DMA had a command and no beat where one would have been taken.
        read_waits_o: Out = bit(),
        /// In the cycle before, some write DMA had a beat that was not taken.
        write_waits_o: Out = bit(),
    }
}

impl Block for DmaBank {
    type Ports = DmaBankPorts;
    const ABOUT: About = About {
        name: "dma_bank",
        summary: "read and write DMAs on one port of the bus, with a watch on it",
        contract: "The DMAs are axi_read_dma and axi_write_dma, the port is that of axi_arbiter.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022",
    };

    fn build(&self, m: &mut Module, io: &DmaBankPorts) {
        let arbiter = m.instance("u_arbiter", self.arbiter());
        let watch = m.instance("u_watch", self.watch());
        let mgr = &arbiter.mgr;
        mgr.read(0).connect(m, &io.other_read);
        mgr.write(0).connect(m, &io.other_write);

        let idle = m.nets("reader_idle", bit(), self.readers);
        let waits = m.nets("reader_waits", bit(), self.readers);
        m.for_each("reader", self.readers, |m, k| {
            let dma = m.instance("u_read", self.reader());
            m.connect(dma.abort_i, io.abort_i);
            m.connect(dma.cache_i, io.read_cache_i);
            m.connect(dma.prot_i, io.prot_i);
            m.connect_stream(&dma.command, &io.read_command.at(k));
            m.connect_stream(&io.read.at(k), &dma.output);
            m.connect_stream(&io.read_end.at(k), &dma.completion);
            mgr.read(k + 1).connect(m, &dma.mem);
            m.connect(idle.at(k), dma.idle_o);
            m.connect(waits.at(k), dma.waits_o);
            m.unused(dma.read_beat_o);
        });
        let readers_idle = m.wire("readers_idle", idle.packed().all());
        m.connect(io.read_waits_o, waits.packed().any());

        let idle = m.nets("writer_idle", bit(), self.writers);
        let waits = m.nets("writer_waits", bit(), self.writers);
        m.for_each("writer", self.writers, |m, k| {
            let dma = m.instance("u_write", self.writer());
            m.connect(dma.abort_i, io.abort_i);
            m.connect(dma.cache_i, io.write_cache_i);
            m.connect(dma.prot_i, io.prot_i);
            m.connect_stream(&dma.command, &io.write_command.at(k));
            m.connect_stream(&dma.input, &io.write.at(k));
            m.connect_stream(&io.write_end.at(k), &dma.completion);
            mgr.write(k + 1).connect(m, &dma.mem);
            m.connect(idle.at(k), dma.idle_o);
            m.connect(waits.at(k), dma.waits_o);
            m.unused(dma.write_beat_o);
        });
        let writers_idle = m.wire("writers_idle", idle.packed().all());
        m.connect(io.write_waits_o, waits.packed().any());
        self.nobody(m, mgr);

        let (mem, from) = (&io.mem, &arbiter.mem);
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
            (io.waiting_o, watch.waiting_o),
            (io.answered_o, watch.answered_o),
            (io.read_beat_o, watch.read_o),
            (io.write_beat_o, watch.written_o),
        ] {
            m.connect(to, signal);
        }
        m.connect(io.idle_o, readers_idle & writers_idle & watch.idle_o);
    }

    fn timing(&self) -> Timing {
        Timing::new()
    }
}

impl DmaBank {
    /// Halves of the arbiter's managers that no DMA has.
    fn nobody(&self, m: &mut Module, mgr: &AxiSeveral) {
        m.for_each("no_reader", self.managers() - 1 - self.readers, |m, k| {
            let k = k + (1 + self.readers);
            let (ar, r) = (mgr.ar.at(k), mgr.r.at(k));
            m.connect(ar.valid, 0);
            for field in [ar.id, ar.addr, ar.len, ar.size, ar.burst, ar.cache, ar.prot] {
                m.connect(field, 0);
            }
            m.connect(r.ready, 1);
        });
        m.for_each("no_writer", self.managers() - 1 - self.writers, |m, k| {
            let k = k + (1 + self.writers);
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
