//! Everything between the registers of an accelerator, its work and memory: controller, DMAs, arbiter, counters.

use super::event_counters::EventCounters;
use super::job_controller::{JobController, Operation, OperationEnd};
use crate::blocks::common::bus::axi::{AxiManager, AxiRead, AxiSeveral, AxiWrite};
use crate::blocks::common::bus::axi_watch::AxiWatch;
use crate::blocks::common::bus::{
    AxiArbiter, AxiReadDma, AxiSpec, AxiWriteDma, DmaCommand, DmaCompletion, DmaSpec, RowBeat,
};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, In, InStream, InStreams, Index, Module, Out, OutStream, OutStreams, Signal, Timing, bit, bits_for,
    multiple_of, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct JobShell {
        /// The bus as a DMA sees it; the port's IDs are wider by the number of the DMA.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Read DMAs of the accelerator.
        readers: u32 = 1, in 1..=14, tag "r";
        /// Write DMAs of the accelerator.
        writers: u32 = 1, in 1..=14, tag "w";
        /// Beats that a read DMA keeps.
        read_beats: u32 = 128, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that a write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "l";
        /// Bytes of a descriptor.
        descriptor_bytes: u32 = 128, in multiple_of(64, 64..=1024), tag "b";
        /// Operations there are, numbered from 1.
        opcodes: u32 = 1, in 1..=255, tag "o";
    }
    rules = |p, rules| {
        rules.part("read_beats", &p.reader());
        rules.part("write_beats", &p.writer());
        rules.part("descriptor_bytes", &p.controller());
    };
}

impl JobShell {
    /// Managers on the arbiter: the controller, then the DMAs of the accelerator, read and write in pairs.
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

    /// What the controller asks for: one row, a descriptor or a tag.
    fn own_dma(&self) -> DmaSpec {
        let beats = self.descriptor_bytes.div_ceil(self.axi.bytes()).next_power_of_two();
        DmaSpec {
            burst_beats: beats.min(16),
            outstanding: 1,
            commands: 2,
            row_width: bits_for(self.descriptor_bytes.into()),
            rows_width: 1,
            stride_width: 7,
        }
    }

    fn controller(&self) -> JobController {
        JobController {
            axi: self.axi.clone(),
            dma: self.own_dma(),
            descriptor_bytes: self.descriptor_bytes,
            opcodes: self.opcodes,
        }
    }

    fn fetcher(&self) -> AxiReadDma {
        let dma = self.own_dma();
        AxiReadDma { axi: self.axi.clone(), buffer_beats: dma.burst_beats.max(2), dma, ..AxiReadDma::default() }
    }

    fn tagger(&self) -> AxiWriteDma {
        let dma = DmaSpec { burst_beats: 1, ..self.own_dma() };
        AxiWriteDma { axi: self.axi.clone(), buffer_beats: 2, dma, ..AxiWriteDma::default() }
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

    fn words(&self) -> u32 {
        self.controller().operation_words()
    }

    fn commands(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }
}

ports! {
    /// Ports of [`JobShell`].
    pub struct JobShellPorts(p: &JobShell) {
        /// Starts a job; refused, with refused_o, while one runs or the bus is not idle.
        start_i: In = bit(),
        /// Drops the job at any time.
        soft_reset_i: In = bit(),
        /// A soft reset is not done: the bus is not idle.
        soft_reset_busy_o: Out = bit(),
        /// Address of the first descriptor; looked at with start_i.
        job_i: In = uint(64),
        /// First byte that may be touched; steady while busy.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while busy.
        window_limit_i: In = uint(64),
        /// Cycles that the bus may wait without an answer, 0 for any.
        timeout_i: In = uint(32),
        /// Descriptors of a job at most.
        max_descriptors_i: In = uint(32),
        /// ARCACHE of all reads.
        read_cache_i: In = uint(4),
        /// AWCACHE of all writes.
        write_cache_i: In = uint(4),
        /// AxPROT of all accesses.
        prot_i: In = uint(3),
        /// A job runs.
        busy_o: Out = bit(),
        /// For one cycle: the job is done, and all it wrote is in memory.
        done_o: Out = bit(),
        /// For one cycle: the job ended with an error.
        error_o: Out = bit(),
        /// For one cycle: a start was refused.
        refused_o: Out = bit(),
        /// The first error of the job; valid from error_o up to the next job.
        error_code_o: Out = uint(8),
        /// Its descriptor; valid as error_code_o.
        error_where_o: Out = uint(64),
        /// Tag of the descriptor that was completed last, 0 from the start on.
        tag_o: Out = uint(32),
        /// Descriptors that are completed.
        descriptors_o: Out = uint(32),
        /// Cycles of the job or the last one; valid from 5 cycles after its end on, as all counters.
        cycles_o: Out = uint(64),
        /// Cycles of it with computing_i.
        compute_cycles_o: Out = uint(64),
        /// Beats it read.
        read_beats_o: Out = uint(64),
        /// Beats it wrote.
        write_beats_o: Out = uint(64),
        /// Cycles in which a read beat was wanted and none was there.
        read_waits_o: Out = uint(64),
        /// Cycles in which a write beat was offered and not taken.
        write_waits_o: Out = uint(64),
        /// To the accelerator: what it is to do.
        operation: OutStream<Operation> = p.words(),
        /// From the accelerator: one end for each operation, in order, after the ends of all its commands.
        operation_end: InStream<OperationEnd> = (),
        /// To the accelerator: drop everything, and take nothing; high until idle_i and all DMAs are idle.
        abort_o: Out = bit(),
        /// From the accelerator: nothing is in hand.
        idle_i: In = bit(),
        /// From the accelerator: it computes in this cycle.
        computing_i: In = bit(),
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
        /// Memory.
        mem: AxiManager = p.port(),
    }
}

impl Block for JobShell {
    type Ports = JobShellPorts;
    const ABOUT: About = About {
        name: "job_shell",
        summary: "what is between an accelerator's registers, its work and memory: jobs, DMAs, one AXI4 port, counters",
        contract: "Jobs are those of job_controller, DMAs those of axi_read_dma and axi_write_dma, one port those of axi_arbiter.\n\
            An abort, after an error or a soft reset, reaches all DMAs and the accelerator, and lasts until all of them are idle\n\
            and nothing is owed on the bus. Counters count from the start of a job to its end and keep their values up to the next.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022",
    };

    fn build(&self, m: &mut Module, io: &JobShellPorts) {
        let controller = m.instance("u_controller", self.controller());
        let fetch = m.instance("u_fetch", self.fetcher());
        let tag = m.instance("u_tag", self.tagger());
        let arbiter = m.instance("u_arbiter", self.arbiter());
        let watch = AxiWatch {
            axi: self.axi.clone(),
            beats: self.managers() * self.dma.outstanding * self.dma.burst_beats.max(16),
            responses: self.managers() * self.dma.outstanding,
        };
        let watch = m.instance("u_watch", watch);
        let began = controller.began_o;

        m.comment("Registers.");
        for (to, from) in [
            (controller.start_i, io.start_i),
            (controller.soft_reset_i, io.soft_reset_i),
            (controller.job_i, io.job_i),
            (controller.window_base_i, io.window_base_i),
            (controller.window_limit_i, io.window_limit_i),
            (controller.timeout_i, io.timeout_i),
            (controller.max_descriptors_i, io.max_descriptors_i),
            (io.soft_reset_busy_o, controller.soft_reset_busy_o),
            (io.busy_o, controller.busy_o),
            (io.done_o, controller.done_o),
            (io.error_o, controller.error_o),
            (io.refused_o, controller.refused_o),
            (io.error_code_o, controller.error_code_o),
            (io.error_where_o, controller.error_where_o),
            (io.tag_o, controller.tag_o),
            (io.descriptors_o, controller.descriptors_o),
            (io.abort_o, controller.abort_o),
        ] {
            m.connect(to, from);
        }

        m.comment("Descriptors and tags.");
        let (abort, mgr) = (controller.abort_o, &arbiter.mgr);
        m.connect_stream(&io.operation, &controller.operation);
        m.connect_stream(&controller.operation_end, &io.operation_end);
        m.connect_stream(&fetch.command, &controller.fetch);
        m.connect_stream(&controller.fetched, &fetch.output);
        m.connect_stream(&controller.fetch_end, &fetch.completion);
        m.connect_stream(&tag.command, &controller.write);
        m.connect_stream(&tag.input, &controller.written);
        m.connect_stream(&controller.write_end, &tag.completion);
        for (port, value) in [
            (fetch.abort_i, abort),
            (fetch.cache_i, io.read_cache_i),
            (fetch.prot_i, io.prot_i),
            (tag.abort_i, abort),
            (tag.cache_i, io.write_cache_i),
            (tag.prot_i, io.prot_i),
        ] {
            m.connect(port, value);
        }
        reads(m, mgr, 0, &fetch.mem);
        writes(m, mgr, 0, &tag.mem);
        for unused in [fetch.read_beat_o, fetch.waits_o, tag.write_beat_o, tag.waits_o] {
            m.unused(unused);
        }

        m.comment("The accelerator's own.");
        let readers = self.read_dmas(m, io, abort, mgr);
        let writers = self.write_dmas(m, io, abort, mgr);
        self.port_watched(m, io, &arbiter.mem, &watch);

        let dmas_idle = m.wire("dmas_idle", fetch.idle_o & tag.idle_o & readers.idle & writers.idle);
        m.connect(controller.idle_i, dmas_idle & watch.idle_o & io.idle_i);
        m.connect(controller.waiting_i, watch.waiting_o);
        m.connect(controller.answered_i, watch.answered_o);

        let counters = m.instance("u_counters", EventCounters { counters: 6, ..EventCounters::default() });
        m.connect(counters.clear_i, began);
        let events = [
            controller.busy_o,
            controller.busy_o & io.computing_i,
            watch.read_o,
            watch.written_o,
            controller.busy_o & readers.waits,
            controller.busy_o & writers.waits,
        ];
        let counts = [
            io.cycles_o,
            io.compute_cycles_o,
            io.read_beats_o,
            io.write_beats_o,
            io.read_waits_o,
            io.write_waits_o,
        ];
        for (k, (event, count)) in (0..).zip(events.into_iter().zip(counts)) {
            m.connect(counters.event_i.at(k), event);
            m.connect(count, counters.count_o.at(k));
        }
    }

    fn timing(&self) -> Timing {
        Timing::new()
    }
}

/// What several DMAs say together.
struct Together {
    idle: Signal,
    waits: Signal,
}

impl JobShell {
    fn read_dmas(&self, m: &mut Module, io: &JobShellPorts, abort: Signal, mgr: &AxiSeveral) -> Together {
        let idle = m.nets("read_idle", bit(), self.readers);
        let waits = m.nets("read_waits", bit(), self.readers);
        m.for_each("reader", self.readers, |m, k| {
            let dma = m.instance("u_read", self.reader());
            m.connect(dma.abort_i, abort);
            m.connect(dma.cache_i, io.read_cache_i);
            m.connect(dma.prot_i, io.prot_i);
            m.connect_stream(&dma.command, &io.read_command.at(k));
            m.connect_stream(&io.read.at(k), &dma.output);
            m.connect_stream(&io.read_end.at(k), &dma.completion);
            reads(m, mgr, k + 1, &dma.mem);
            m.connect(idle.at(k), dma.idle_o);
            m.connect(waits.at(k), dma.waits_o);
            m.unused(dma.read_beat_o);
        });
        m.for_each("no_reader", self.managers() - 1 - self.readers, |m, k| {
            let (ar, r) = (mgr.ar.at(k + (1 + self.readers)), mgr.r.at(k + (1 + self.readers)));
            m.connect(ar.valid, 0);
            for field in [ar.id, ar.addr, ar.len, ar.size, ar.burst, ar.cache, ar.prot] {
                m.connect(field, 0);
            }
            m.connect(r.ready, 1);
        });
        Together { idle: idle.packed().all(), waits: waits.packed().any() }
    }

    fn write_dmas(&self, m: &mut Module, io: &JobShellPorts, abort: Signal, mgr: &AxiSeveral) -> Together {
        let idle = m.nets("write_idle", bit(), self.writers);
        let waits = m.nets("write_waits", bit(), self.writers);
        m.for_each("writer", self.writers, |m, k| {
            let dma = m.instance("u_write", self.writer());
            m.connect(dma.abort_i, abort);
            m.connect(dma.cache_i, io.write_cache_i);
            m.connect(dma.prot_i, io.prot_i);
            m.connect_stream(&dma.command, &io.write_command.at(k));
            m.connect_stream(&dma.input, &io.write.at(k));
            m.connect_stream(&io.write_end.at(k), &dma.completion);
            writes(m, mgr, k + 1, &dma.mem);
            m.connect(idle.at(k), dma.idle_o);
            m.connect(waits.at(k), dma.waits_o);
            m.unused(dma.write_beat_o);
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
        Together { idle: idle.packed().all(), waits: waits.packed().any() }
    }

    fn port_watched(
        &self,
        m: &mut Module,
        io: &JobShellPorts,
        from: &crate::blocks::common::bus::axi::Axi,
        watch: &crate::blocks::common::bus::axi_watch::AxiWatchPorts,
    ) {
        let mem = &io.mem;
        m.connect_stream(&mem.read.ar, &from.read.ar);
        m.connect_stream(&from.read.r, &mem.read.r);
        m.connect_stream(&mem.write.aw, &from.write.aw);
        m.connect_stream(&mem.write.w, &from.write.w);
        m.connect_stream(&from.write.b, &mem.write.b);
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
}

/// Manager `k` reads with `mem`.
#[track_caller]
fn reads(m: &mut Module, mgr: &AxiSeveral, k: impl Into<Index>, mem: &AxiRead) {
    let k = k.into();
    m.connect_stream(&mgr.ar.at(k), &mem.ar);
    m.connect_stream(&mem.r, &mgr.r.at(k));
}

/// Manager `k` writes with `mem`.
#[track_caller]
fn writes(m: &mut Module, mgr: &AxiSeveral, k: impl Into<Index>, mem: &AxiWrite) {
    let k = k.into();
    m.connect_stream(&mgr.aw.at(k), &mem.aw);
    m.connect_stream(&mgr.w.at(k), &mem.w);
    m.connect_stream(&mem.b, &mgr.b.at(k));
}
