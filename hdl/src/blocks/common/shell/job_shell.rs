//! Everything between the registers of an accelerator, its work and memory: controller, DMAs, arbiter, counters.

use super::event_counters::EventCounters;
use super::job_controller::{Operation, OperationEnd};
use super::job_host::JobHostPorts;
use super::job_walker::JobWalker;
use super::shell_registers::ShellFields;
use crate::blocks::common::bus::axi::{AttributePorts, AxiManagers};
use crate::blocks::common::bus::axi_lite::AxiLite;
use crate::blocks::common::bus::{AxiSpec, DmaBank, DmaSpec, DmaStreamPorts};
use crate::lang::{
    About, Block, Group, In, InStream, Module, Out, OutStream, bit, bits_for, cat, multiple_of, mux, parameters, ports,
    uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct JobShell {
        /// The bus as a DMA sees it; the port's IDs are wider by the number of the DMA.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory.
        ports: u32 = 1, in 1..=32, note "at most one for each DMA", tag "p", named "when set";
        /// Read DMAs of the accelerator.
        readers: u32 = 1, in 1..=64, note "at most 16 a port, 15 on the first one", tag "r";
        /// Write DMAs of the accelerator.
        writers: u32 = 1, in 1..=64, note "at most 16 a port, 15 on the first one", tag "w";
        /// Beats that a read DMA keeps.
        read_beats: u32 = 128, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that a write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "l";
        /// Bytes of a descriptor.
        descriptor_bytes: u32 = 128, in multiple_of(64, 64..=1024), tag "b";
        /// Engines that work at the same time; 1: one operation follows the other.
        engines: u32 = 1, in 1..=8, tag "e", named "when set";
    }
    rules = |p, rules| {
        rules.same(&p.bank());
        rules.part("descriptor_bytes", &p.walker());
    };
}

impl JobShell {
    fn walker(&self) -> JobWalker {
        JobWalker {
            axi: self.axi.clone(),
            descriptor_bytes: self.descriptor_bytes,
            ports: self.ports,
            overlaps: self.engines > 1,
        }
    }

    fn bank(&self) -> DmaBank {
        DmaBank {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            ports: self.ports,
            readers: self.readers,
            writers: self.writers,
            read_beats: self.read_beats,
            write_beats: self.write_beats,
        }
    }

    /// Bits that are kept with an operation, where operations overlap.
    #[must_use]
    pub fn kept(&self) -> Option<u32> {
        self.walker().operation().kept
    }

    /// The bus at a port.
    #[must_use]
    pub fn port(&self) -> AxiSpec {
        self.bank().port()
    }
}

ports! {
    /// Ports of [`JobShell`].
    pub struct JobShellPorts(p: &JobShell) {
        /// The host.
        host: Group<JobHostPorts> = (),
        /// Operations there are, numbered from 1; a constant of the accelerator.
        opcodes_i: In = uint(8),
        /// Attributes of requests.
        attributes: Group<AttributePorts> = (),
        /// Cycles of the job or the last one; valid with settled_o, as are all counters.
        cycles_o: Out = uint(64),
        /// Cycles of the job in which engines computed, added up.
        compute_cycles_o: Out = uint(64),
        /// Beats that the job read, on all ports.
        read_beats_o: Out = uint(64),
        /// Beats that the job wrote, on all ports.
        write_beats_o: Out = uint(64),
        /// Cycles in which some DMA that reads operands had a command and no beat, although its output was ready.
        read_waits_o: Out = uint(64),
        /// Cycles in which some port offered a beat to memory, and it was not taken.
        write_waits_o: Out = uint(64),
        /// Counters are valid: a job runs, or they have counted all of the last job. Low for a few cycles after the end
        /// of a job.
        settled_o: Out = bit(),
        /// To the accelerator: the operation to do.
        operation: OutStream<Operation> = p.walker().operation(),
        /// From the accelerator: one end for each operation, in order, after the ends of all its commands.
        operation_end: InStream<OperationEnd> = p.kept(),
        /// To the accelerator: drop everything, and take nothing; high until idle_i and all DMAs are idle.
        abort_o: Out = bit(),
        /// From the accelerator: nothing is in flight.
        idle_i: In = bit(),
        /// From the accelerator: how many of its engines compute in this cycle.
        computing_i: In = uint(bits_for(p.engines.into())),
        /// The streams of the DMAs.
        dmas: Group<DmaStreamPorts, DmaBank> = p.bank(),
        /// Memory.
        mem: AxiManagers = (p.ports, p.port()),
    }
}

impl Block for JobShell {
    type Ports = JobShellPorts;
    const ABOUT: About = About {
        name: "job_shell",
        summary: "shell between an accelerator's registers, its engine and memory: jobs, DMAs, AXI4 ports, counters",
        contract: "job_controller does the jobs, and dma_bank has the DMAs and ports. Descriptors and tags use port\n\
            0.\n\
            An abort, after an error or a soft reset, reaches all DMAs and the accelerator, and lasts until all of\n\
            them are idle and nothing is owed on the bus. Counters count from the start of a job to its end and keep\n\
            their values up to the next.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022",
    };

    fn build(&self, m: &mut Module, io: &JobShellPorts) {
        let walker = m.instance("u_walker", self.walker());
        let bank = m.instance("u_bank", self.bank());
        io.host.connect(m, &walker.host);
        io.attributes.hand_on(m, &walker.attributes);
        io.attributes.hand_on(m, &bank.attributes);
        m.connect_pairs([
            (walker.opcodes_i, io.opcodes_i),
            (walker.waiting_i, bank.waiting_o),
            (walker.answered_i, bank.answered_o),
            (io.abort_o, walker.abort_o),
            (bank.abort_i, walker.abort_o),
            (bank.other_awaits_i, walker.awaits_o),
        ]);
        m.connect(walker.idle_i, bank.idle_o & io.idle_i);
        bank.other_read.connect(m, &walker.fetch);
        bank.other_write.connect(m, &walker.tag);
        m.connect_stream(&io.operation, &walker.operation);
        m.connect_stream(&walker.operation_end, &io.operation_end);
        io.dmas.connect(m, &bank.dmas);
        for (to, from) in io.mem.iter().zip(&bank.mem) {
            to.connect(m, from);
        }

        // Of beats, each port may have one in a cycle.
        let most = self.ports.max(self.engines);
        let block = EventCounters { counters: 6, most, ..EventCounters::default() };
        let late = m.reg_init("late_q", uint(block.latency()), 0);
        let counters = m.instance("u_counters", block);
        let busy = walker.host.busy_o;
        late.next(cat(&[late.q, busy]).truncate(late.q.width()));
        m.connect(io.settled_o, busy | !late.q.any());
        m.connect(counters.clear_i, walker.host.began_o);
        let counts = [
            (busy, io.cycles_o),
            (mux(busy, io.computing_i, 0), io.compute_cycles_o),
            // After an abort, owed beats still come.
            (mux(busy, bank.read_beat_o, 0), io.read_beats_o),
            (mux(busy, bank.write_beat_o, 0), io.write_beats_o),
            (busy & bank.read_waits_o, io.read_waits_o),
            (busy & bank.write_waits_o, io.write_waits_o),
        ];
        let width = bits_for(most.into());
        for (k, (event, count)) in (0..).zip(counts) {
            m.connect(counters.event_i.at(k), event.extend(width));
            m.connect(count, counters.count_o.at(k));
        }
    }
}

impl JobShellPorts {
    /// Connects a shell to the registers of its accelerator, and these to the host. Reads wait while counters settle: a
    /// host that sees the end of a job also sees the final counters.
    #[track_caller]
    pub fn connect_registers(&self, m: &mut Module, (ctrl, host): (&AxiLite, &AxiLite), registers: &ShellFields) {
        ctrl.connect_held(m, host, self.settled_o);
        let (host, attributes) = (&self.host, &self.attributes);
        m.connect_pairs([
            (host.start_i, registers.start),
            (host.soft_reset_i, registers.soft_reset.asked),
            (registers.soft_reset.busy, host.soft_reset_busy_o),
            (host.job_i, registers.job),
            (host.window_base_i, registers.window_base),
            (host.window_limit_i, registers.window_limit),
            (host.timeout_i, registers.timeout),
            (host.max_descriptors_i, registers.max_descriptors),
            (attributes.read_cache_i, registers.read_cache),
            (attributes.write_cache_i, registers.write_cache),
            (attributes.prot_i, registers.prot),
            (registers.busy, host.busy_o),
            (registers.done.set, host.done_o),
            (registers.error.set, host.error_o),
            (registers.refused.set, host.refused_o),
            (registers.error_code, host.error_code_o),
            (registers.error_where, host.error_where_o),
            (registers.tag, host.tag_o),
            (registers.descriptors, host.descriptors_o),
            (registers.cycles, self.cycles_o),
            (registers.compute_cycles, self.compute_cycles_o),
            (registers.read_beats, self.read_beats_o),
            (registers.write_beats, self.write_beats_o),
            (registers.read_waits, self.read_waits_o),
            (registers.write_waits, self.write_waits_o),
        ]);
    }
}
