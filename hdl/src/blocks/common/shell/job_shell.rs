//! Everything between the registers of an accelerator, its work and memory: controller, DMAs, arbiter, counters.

use super::event_counters::EventCounters;
use super::job_controller::{Operation, OperationEnd};
use super::job_walker::JobWalker;
use super::shell_registers::ShellFields;
use crate::blocks::common::bus::axi::AxiManager;
use crate::blocks::common::bus::{AxiSpec, DmaBank, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, In, InStream, InStreams, Module, Out, OutStream, OutStreams, Timing, bit, multiple_of, parameters,
    ports, uint,
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
        rules.part("read_beats", &p.bank());
        rules.part("descriptor_bytes", &p.walker());
    };
}

impl JobShell {
    fn walker(&self) -> JobWalker {
        JobWalker { axi: self.axi.clone(), descriptor_bytes: self.descriptor_bytes, opcodes: self.opcodes }
    }

    fn bank(&self) -> DmaBank {
        DmaBank {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            readers: self.readers,
            writers: self.writers,
            read_beats: self.read_beats,
            write_beats: self.write_beats,
        }
    }

    /// The bus at the port.
    #[must_use]
    pub fn port(&self) -> AxiSpec {
        self.bank().port()
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
        /// For one cycle: a job begins.
        began_o: Out = bit(),
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
        operation: OutStream<Operation> = p.walker().words(),
        /// From the accelerator: one end for each operation, in order, after the ends of all its commands.
        operation_end: InStream<OperationEnd> = (),
        /// To the accelerator: drop everything, and take nothing; high until idle_i and all DMAs are idle.
        abort_o: Out = bit(),
        /// From the accelerator: nothing is in hand.
        idle_i: In = bit(),
        /// From the accelerator: it computes in this cycle.
        computing_i: In = bit(),
        /// Of each reader: what to read.
        read_command: InStreams<DmaCommand> = (p.readers, p.bank().commands()),
        /// Of each reader: the rows.
        read: OutStreams<RowBeat> = (p.readers, p.axi.clone()),
        /// Of each reader: ends of its commands.
        read_end: OutStreams<DmaCompletion> = (p.readers, p.axi.clone()),
        /// Of each writer: what to write.
        write_command: InStreams<DmaCommand> = (p.writers, p.bank().commands()),
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
        let walker = m.instance("u_walker", self.walker());
        let bank = m.instance("u_bank", self.bank());
        for (to, from) in [
            (walker.start_i, io.start_i),
            (walker.soft_reset_i, io.soft_reset_i),
            (walker.job_i, io.job_i),
            (walker.window_base_i, io.window_base_i),
            (walker.window_limit_i, io.window_limit_i),
            (walker.timeout_i, io.timeout_i),
            (walker.max_descriptors_i, io.max_descriptors_i),
            (walker.read_cache_i, io.read_cache_i),
            (walker.write_cache_i, io.write_cache_i),
            (walker.prot_i, io.prot_i),
            (walker.waiting_i, bank.waiting_o),
            (walker.answered_i, bank.answered_o),
            (io.soft_reset_busy_o, walker.soft_reset_busy_o),
            (io.began_o, walker.began_o),
            (io.busy_o, walker.busy_o),
            (io.done_o, walker.done_o),
            (io.error_o, walker.error_o),
            (io.refused_o, walker.refused_o),
            (io.error_code_o, walker.error_code_o),
            (io.error_where_o, walker.error_where_o),
            (io.tag_o, walker.tag_o),
            (io.descriptors_o, walker.descriptors_o),
            (io.abort_o, walker.abort_o),
            (bank.abort_i, walker.abort_o),
            (bank.read_cache_i, io.read_cache_i),
            (bank.write_cache_i, io.write_cache_i),
            (bank.prot_i, io.prot_i),
        ] {
            m.connect(to, from);
        }
        m.connect(walker.idle_i, bank.idle_o & io.idle_i);
        bank.other_read.connect(m, &walker.fetch);
        bank.other_write.connect(m, &walker.tag);
        m.connect_stream(&io.operation, &walker.operation);
        m.connect_stream(&walker.operation_end, &io.operation_end);
        bank.read_command.connect(m, &io.read_command);
        io.read.connect(m, &bank.read);
        io.read_end.connect(m, &bank.read_end);
        bank.write_command.connect(m, &io.write_command);
        bank.write.connect(m, &io.write);
        io.write_end.connect(m, &bank.write_end);
        io.mem.connect(m, &bank.mem);

        let counters = m.instance("u_counters", EventCounters { counters: 6, ..EventCounters::default() });
        m.connect(counters.clear_i, walker.began_o);
        let counts = [
            (walker.busy_o, io.cycles_o),
            (walker.busy_o & io.computing_i, io.compute_cycles_o),
            (bank.read_beat_o, io.read_beats_o),
            (bank.write_beat_o, io.write_beats_o),
            (walker.busy_o & bank.read_waits_o, io.read_waits_o),
            (walker.busy_o & bank.write_waits_o, io.write_waits_o),
        ];
        for (k, (event, count)) in (0..).zip(counts) {
            m.connect(counters.event_i.at(k), event);
            m.connect(count, counters.count_o.at(k));
        }
    }

    fn timing(&self) -> Timing {
        Timing::new()
    }
}

impl JobShellPorts {
    /// Connects a shell to the registers of its accelerator.
    #[track_caller]
    pub fn connect_registers(&self, m: &mut Module, registers: &ShellFields) {
        for (to, from) in [
            (self.start_i, registers.start),
            (self.soft_reset_i, registers.soft_reset.asked),
            (registers.soft_reset.busy, self.soft_reset_busy_o),
            (self.job_i, registers.job),
            (self.window_base_i, registers.window_base),
            (self.window_limit_i, registers.window_limit),
            (self.timeout_i, registers.timeout),
            (self.max_descriptors_i, registers.max_descriptors),
            (self.read_cache_i, registers.read_cache),
            (self.write_cache_i, registers.write_cache),
            (self.prot_i, registers.prot),
            (registers.busy, self.busy_o),
            (registers.done.set, self.done_o),
            (registers.error.set, self.error_o),
            (registers.refused.set, self.refused_o),
            (registers.error_code, self.error_code_o),
            (registers.error_where, self.error_where_o),
            (registers.tag, self.tag_o),
            (registers.descriptors, self.descriptors_o),
            (registers.cycles, self.cycles_o),
            (registers.compute_cycles, self.compute_cycles_o),
            (registers.read_beats, self.read_beats_o),
            (registers.write_beats, self.write_beats_o),
            (registers.read_waits, self.read_waits_o),
            (registers.write_waits, self.write_waits_o),
        ] {
            m.connect(to, from);
        }
    }
}
