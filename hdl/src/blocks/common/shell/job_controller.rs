//! Walks a chain of descriptors in memory: reads each, checks its header, hands its operation to the accelerator,
//! writes its tag.
//!
//! A descriptor is `descriptor_bytes` long, at a multiple of 64, little endian. Its header is the first 32 bytes:
//!
//! | bytes | field |
//! | --- | --- |
//! | 0..4 | magic, the bytes `SNBZ` |
//! | 4 | version, 1 |
//! | 5 | opcode, 1 to `opcodes_i` |
//! | 6..8 | flags: bit 0 writes the tag; bits 1 to 3 say of how many descriptors right before it this one is independent;
//! bits 4 to 6 how many right before it write nothing that it reads early; others 0 |
//! | 8..16 | address of the next descriptor, 0 for none |
//! | 16..20 | tag |
//! | 20..24 | 0 |
//! | 24..32 | where the tag is written, a multiple of 64 |

mod hardware;
mod properties;
mod state;

pub use super::job_error;
use super::job_host::JobHostPorts;
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::stream::Word;
use crate::lang::operation::HEADER_BYTES;
use crate::lang::{
    CatalogBlock, Field, FieldArray, FieldOption, Group, In, InStream, Out, OutStream, Proof, bit, bits_for, bundle,
    multiple_of, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct JobController {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Bytes of a descriptor.
        descriptor_bytes: u32 = 128, in multiple_of(64, 64..=1024), tag "b";
        /// Ports of the bus, each of which has to answer in time.
        ports: u32 = 1, in 1..=32, tag "p", named "when set";
        /// Bits of the counter of descriptors: a job has fewer than 2 to the power of this.
        count_width: u32 = 32, in 1..=32, tag "n", named "when set";
        /// Operations go to a dispatcher, which lets them overlap.
        overlaps: bool = false, tag "overlaps";
    }
    rules = |p, rules| {
        let fits = p.dma.row_width >= bits_for(p.descriptor_bytes.into());
        rules.demand(fits, "dma.row_width", p.dma.row_width, format!("at least {}", bits_for(p.descriptor_bytes.into())));
    };
}

impl JobController {
    /// Words of 32 bits that an operation has.
    #[must_use]
    pub fn operation_words(&self) -> u32 {
        (self.descriptor_bytes - HEADER_BYTES) / 4
    }

    /// The operations that are handed over.
    #[must_use]
    pub fn operation(&self) -> OperationSpec {
        OperationSpec { words: self.operation_words(), kept: self.overlaps.then_some(KEPT) }
    }

    fn dma_spec(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }
}

/// Bits of the number of operations that an operation is independent of.
pub const INDEPENDENT: u32 = 3;

/// Bits that are kept with an operation that overlaps others: the address of its descriptor, and the job's tag before.
const KEPT: u32 = 64 + 32;

/// What operations between a controller and its accelerator look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationSpec {
    /// Words of an operation.
    pub words: u32,
    /// Where operations may overlap: bits that are kept with each.
    pub kept: Option<u32>,
}

impl OperationSpec {
    /// One operation after the other.
    #[must_use]
    pub const fn alone(words: u32) -> Self {
        Self { words, kept: None }
    }

    fn overlaps(&self) -> bool {
        self.kept.is_some()
    }
}

bundle! {
    /// An operation for the accelerator.
    pub struct Operation(p: OperationSpec) {
        /// Number of the operation, from 1 on.
        opcode: Field = uint(8),
        /// It is independent of so many operations right before it, which may still be in flight when it begins. All
        /// others have ended.
        independent: FieldOption = uint(INDEPENDENT).when(p.overlaps()),
        /// So many operations right before it write nothing that it reads early; at least `independent` of them.
        early: FieldOption = uint(INDEPENDENT).when(p.overlaps()),
        /// No engine does it: only its end is asked for.
        nothing: FieldOption = bit().when(p.overlaps()),
        /// Its end is told after all operations up to it have ended; otherwise it is told at once.
        waits: FieldOption = bit().when(p.overlaps()),
        /// Told with its error.
        kept: FieldOption = uint(p.kept.unwrap_or(1)).when(p.overlaps()),
        /// The descriptor after its header.
        words: FieldArray = uint(32).array(p.words),
    }
}

bundle! {
    /// How an operation ended: after its last write response.
    pub struct OperationEnd(kept: Option<u32>) {
        /// 0, or the first error, see `job_error`.
        error: Field = uint(8),
        /// With an error, where operations overlap: how many operations before this one stands the one that failed; 0
        /// for this one.
        back: FieldOption = uint(INDEPENDENT + 1).when(kept.is_some()),
        /// With an error, where operations overlap: what was kept with the operation that failed.
        kept: FieldOption = uint(kept.unwrap_or(1)).when(kept.is_some()),
    }
}

ports! {
    /// Ports of [`JobController`].
    pub struct JobControllerPorts(p: &JobController) {
        /// The host.
        host: Group<JobHostPorts> = (),
        /// Operations there are, numbered from 1; a constant of the accelerator.
        opcodes_i: In = uint(8),
        /// Per port of the bus: it waits, since something is requested or offered and not done.
        waiting_i: In = uint(p.ports),
        /// Per port of the bus: it answered, since some channel moved.
        answered_i: In = uint(p.ports),
        /// Nothing is in flight on the bus, and all DMAs and the accelerator are idle.
        idle_i: In = bit(),
        /// All work in flight is dropped: to the abort or clear of DMAs and accelerator. High until idle_i.
        abort_o: Out = bit(),
        /// Descriptors to read.
        fetch: OutStream<DmaCommand> = p.dma_spec(),
        /// The descriptors that were read.
        fetched: InStream<RowBeat> = p.axi.clone(),
        /// How reading ended.
        fetch_end: InStream<DmaCompletion> = p.axi.clone(),
        /// Tags to write.
        write: OutStream<DmaCommand> = p.dma_spec(),
        /// The tags.
        written: OutStream<Word> = p.axi.data_width,
        /// How writing ended.
        write_end: InStream<DmaCompletion> = p.axi.clone(),
        /// To the accelerator; opcode, flag and words stay until operation_end is taken.
        operation: OutStream<Operation> = p.operation(),
        /// From the accelerator: one end for each operation, in order.
        operation_end: InStream<OperationEnd> = p.operation().kept,
    }
}

impl CatalogBlock for JobController {
    // A job does not have so many descriptors that a counter of 32 bits gets far.
    const SAMPLE: &'static [(&'static str, u32)] = &[("count_width", 3)];

    fn configurations() -> Vec<Self> {
        let set = |data_width, address_width, descriptor_bytes| Self {
            axi: AxiSpec { address_width, data_width, id_width: 1 },
            descriptor_bytes,
            ..Self::default()
        };
        vec![
            set(32, 32, 64),
            set(1024, 64, 64),
            set(512, 40, 320),
            Self { ports: 3, ..set(128, 48, 128) },
            Self { overlaps: true, ..set(64, 40, 128) },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let axi = AxiSpec { address_width: 32, data_width: 512, id_width: 1 };
        let block = Self { axi, descriptor_bytes: 64, ..Self::default() };
        let two = Self { ports: 2, ..block.clone() };
        let overlaps = Self { overlaps: true, ..block.clone() };
        [block, two, overlaps].map(|block| Proof { block, depth: 14, cover_depth: 24, induction: true }).into()
    }
}
