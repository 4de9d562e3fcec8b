//! The controller of jobs with DMAs of its own: for descriptors, and for tags.

use super::job_controller::{JobController, Operation, OperationEnd, OperationSpec};
use super::job_host::JobHostPorts;
use crate::blocks::common::bus::axi::{AttributePorts, AxiReadManager, AxiWriteManager};
use crate::blocks::common::bus::{AxiReadDma, AxiSpec, AxiWriteDma, DmaSpec};
use crate::lang::{
    About, Block, Group, In, InStream, Module, Out, OutStream, bit, bits_for, connect_all, multiple_of, parameters,
    ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct JobWalker {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Bytes of a descriptor.
        descriptor_bytes: u32 = 128, in multiple_of(64, 64..=1024), tag "b";
        /// Ports of the bus, each of which has to answer in time.
        ports: u32 = 1, in 1..=32, tag "p", named "when set";
        /// Operations go to a dispatcher, which lets them overlap.
        overlaps: bool = false, tag "overlaps";
    }
}

impl JobWalker {
    /// A command of one row, for a descriptor or a tag.
    fn dma(&self) -> DmaSpec {
        let beats = self.descriptor_bytes.div_ceil(self.axi.bytes()).next_power_of_two();
        DmaSpec {
            burst_beats: beats.min(16),
            outstanding: 1,
            commands: 2,
            row_width: bits_for(self.descriptor_bytes.into()),
            rows_width: 1,
            stride_width: 7,
            ..DmaSpec::default()
        }
    }

    fn controller(&self) -> JobController {
        JobController {
            axi: self.axi.clone(),
            dma: self.dma(),
            descriptor_bytes: self.descriptor_bytes,
            ports: self.ports,
            overlaps: self.overlaps,
            ..JobController::default()
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

    /// The operations that are handed over.
    #[must_use]
    pub fn operation(&self) -> OperationSpec {
        self.controller().operation()
    }
}

ports! {
    /// Ports of [`JobWalker`].
    pub struct JobWalkerPorts(p: &JobWalker) {
        /// The host.
        host: Group<JobHostPorts> = (),
        /// Operations there are, numbered from 1; a constant of the accelerator.
        opcodes_i: In = uint(8),
        /// Attributes of requests.
        attributes: Group<AttributePorts> = (),
        /// Per port of the bus: it waits, since something is requested or offered and not done.
        waiting_i: In = uint(p.ports),
        /// Per port of the bus: it answered, since some channel moved.
        answered_i: In = uint(p.ports),
        /// Nothing is in flight on the bus, and all other DMAs and the accelerator are idle.
        idle_i: In = bit(),
        /// A DMA here waits for an answer.
        awaits_o: Out = bit(),
        /// All work in flight is dropped. High until idle_i, and the DMAs here are idle.
        abort_o: Out = bit(),
        /// To the accelerator: the operation to do.
        operation: OutStream<Operation> = p.operation(),
        /// From the accelerator: one end for each operation, in order.
        operation_end: InStream<OperationEnd> = p.operation().kept,
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
        contract: "The contract of job_controller holds.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &JobWalkerPorts) {
        let controller = m.instance("u_controller", self.controller());
        let fetch = m.instance("u_fetch", self.reader());
        let tag = m.instance("u_tag", self.writer());
        let abort = controller.abort_o;
        io.host.connect(m, &controller.host);
        let attributes = &io.attributes;
        connect_all!(m, controller, io, [opcodes_i, waiting_i, answered_i]);
        m.connect_pairs([
            (io.abort_o, abort),
            (fetch.abort_i, abort),
            (fetch.cache_i, attributes.read_cache_i),
            (fetch.prot_i, attributes.prot_i),
            (tag.abort_i, abort),
            (tag.cache_i, attributes.write_cache_i),
            (tag.prot_i, attributes.prot_i),
        ]);
        m.connect(controller.idle_i, io.idle_i & fetch.idle_o & tag.idle_o);
        m.connect(io.awaits_o, fetch.owes_o | tag.owes_o);
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
}
