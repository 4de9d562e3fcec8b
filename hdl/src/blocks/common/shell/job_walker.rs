//! The controller of jobs with DMAs of its own: for descriptors, and for tags.

use super::job_controller::{JobController, Operation, OperationEnd};
use crate::blocks::common::bus::axi::{AxiReadManager, AxiWriteManager};
use crate::blocks::common::bus::{AxiReadDma, AxiSpec, AxiWriteDma, DmaSpec};
use crate::lang::{
    About, Block, In, InStream, Module, Out, OutStream, Timing, bit, bits_for, multiple_of, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct JobWalker {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Bytes of a descriptor.
        descriptor_bytes: u32 = 128, in multiple_of(64, 64..=1024), tag "b";
        /// Operations there are, numbered from 1.
        opcodes: u32 = 1, in 1..=255, tag "o";
    }
}

impl JobWalker {
    /// What is asked for: one row, a descriptor or a tag.
    fn dma(&self) -> DmaSpec {
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
            dma: self.dma(),
            descriptor_bytes: self.descriptor_bytes,
            opcodes: self.opcodes,
        }
    }

    fn reader(&self) -> AxiReadDma {
        let dma = self.dma();
        AxiReadDma { axi: self.axi.clone(), buffer_beats: dma.burst_beats.max(2), dma, ..AxiReadDma::default() }
    }

    fn writer(&self) -> AxiWriteDma {
        let dma = DmaSpec { burst_beats: 1, ..self.dma() };
        AxiWriteDma { axi: self.axi.clone(), buffer_beats: 2, dma, ..AxiWriteDma::default() }
    }

    /// Words of an operation.
    #[must_use]
    pub fn words(&self) -> u32 {
        self.controller().operation_words()
    }
}

ports! {
    /// Ports of [`JobWalker`].
    pub struct JobWalkerPorts(p: &JobWalker) {
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
        /// ARCACHE.
        read_cache_i: In = uint(4),
        /// AWCACHE.
        write_cache_i: In = uint(4),
        /// ARPROT and AWPROT.
        prot_i: In = uint(3),
        /// The bus waits: something is asked for or offered and not done.
        waiting_i: In = bit(),
        /// The bus answered: some channel moved.
        answered_i: In = bit(),
        /// Nothing is under way on the bus, and all other DMAs and the accelerator are idle.
        idle_i: In = bit(),
        /// All work in flight is dropped. High until idle_i, and the DMAs here are idle.
        abort_o: Out = bit(),
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
        /// To the accelerator: what it is to do.
        operation: OutStream<Operation> = p.words(),
        /// From the accelerator: one end for each operation, in order.
        operation_end: InStream<OperationEnd> = (),
        /// The bus, for descriptors.
        fetch: AxiReadManager = p.axi.clone(),
        /// The bus, for tags.
        tag: AxiWriteManager = p.axi.clone(),
    }
}

impl Block for JobWalker {
    type Ports = JobWalkerPorts;
    const ABOUT: About = About {
        name: "job_walker",
        summary: "controller of jobs with the DMAs for descriptors and tags",
        contract: "That of job_controller.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &JobWalkerPorts) {
        let controller = m.instance("u_controller", self.controller());
        let fetch = m.instance("u_fetch", self.reader());
        let tag = m.instance("u_tag", self.writer());
        let abort = controller.abort_o;
        for (to, from) in [
            (controller.start_i, io.start_i),
            (controller.soft_reset_i, io.soft_reset_i),
            (controller.job_i, io.job_i),
            (controller.window_base_i, io.window_base_i),
            (controller.window_limit_i, io.window_limit_i),
            (controller.timeout_i, io.timeout_i),
            (controller.max_descriptors_i, io.max_descriptors_i),
            (controller.waiting_i, io.waiting_i),
            (controller.answered_i, io.answered_i),
            (io.soft_reset_busy_o, controller.soft_reset_busy_o),
            (io.began_o, controller.began_o),
            (io.busy_o, controller.busy_o),
            (io.done_o, controller.done_o),
            (io.error_o, controller.error_o),
            (io.refused_o, controller.refused_o),
            (io.error_code_o, controller.error_code_o),
            (io.error_where_o, controller.error_where_o),
            (io.tag_o, controller.tag_o),
            (io.descriptors_o, controller.descriptors_o),
            (io.abort_o, abort),
            (fetch.abort_i, abort),
            (fetch.cache_i, io.read_cache_i),
            (fetch.prot_i, io.prot_i),
            (tag.abort_i, abort),
            (tag.cache_i, io.write_cache_i),
            (tag.prot_i, io.prot_i),
        ] {
            m.connect(to, from);
        }
        m.connect(controller.idle_i, io.idle_i & fetch.idle_o & tag.idle_o);
        m.connect_stream(&io.operation, &controller.operation);
        m.connect_stream(&controller.operation_end, &io.operation_end);
        m.connect_stream(&fetch.command, &controller.fetch);
        m.connect_stream(&controller.fetched, &fetch.output);
        m.connect_stream(&controller.fetch_end, &fetch.completion);
        m.connect_stream(&tag.command, &controller.write);
        m.connect_stream(&tag.input, &controller.written);
        m.connect_stream(&controller.write_end, &tag.completion);
        io.fetch.connect(m, &fetch.mem);
        io.tag.connect(m, &tag.mem);
        for unused in [fetch.read_beat_o, fetch.waits_o, tag.write_beat_o, tag.waits_o] {
            m.unused(unused);
        }
    }

    fn timing(&self) -> Timing {
        Timing::new()
    }
}
