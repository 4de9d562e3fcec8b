//! Read DMA: rows of memory become a stream of packed beats.

use super::axi::{AxiAddress, AxiReadManager, AxiSpec, BURST_INCR};
use super::dma::{DmaCommand, DmaCompletion, DmaSpec, demand_bursts};
use crate::blocks::common::RamImplementation;
use crate::lang::{
    CatalogBlock, Field, In, InStream, Module, Out, OutStream, Proof, Signal, bit, bits_for, bundle, parameters, ports,
    uint,
};

mod hardware;

parameters! {
    /// Elaboration parameters.
    pub struct AxiReadDma {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands and bursts.
        dma: DmaSpec = DmaSpec::default();
        /// Beats that are kept for the output; a burst is requested when all of its beats have room.
        buffer_beats: u32 = 128, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Where they are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
    rules = |p, rules| {
        demand_bursts(&p.axi, &p.dma, rules);
        let least = p.dma.burst_beats.max(2);
        rules.demand(p.buffer_beats >= least, "buffer_beats", p.buffer_beats, format!("{least} to 65536"));
        let covered = p.buffer_beats >= p.dma.burst_beats.saturating_mul(p.dma.outstanding);
        rules.doubt(!covered, "buffer_beats is less than outstanding bursts bring: fewer are outstanding");
    };
}

impl AxiReadDma {
    pub(super) fn spec(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }
}

bundle! {
    /// A beat of a row.
    pub struct RowBeat(axi: AxiSpec) {
        /// The bytes, the first one lowest.
        data: Field = uint(axi.data_width),
        /// Bytes of the row, from the lowest on; all bytes, except in the last beat of a row.
        bytes: Field = uint(bits_for(axi.bytes().into())),
        /// The beat is the last one of its row.
        row_last: Field = bit(),
        /// The beat is the last one of its command.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`AxiReadDma`].
    pub struct AxiReadDmaPorts(p: &AxiReadDma) {
        /// Soft reset: forgets all commands. It may stay high, up to idle_o and longer. Nothing is taken until the
        /// cycle after its end and after the last owed beat.
        abort_i: In = bit(),
        /// AxCACHE of bursts that begin.
        cache_i: In = uint(4),
        /// AxPROT of bursts that begin.
        prot_i: In = uint(3),
        /// Blocks of memory to read.
        command: InStream<DmaCommand> = p.spec(),
        /// The rows, packed: each begins a beat.
        output: OutStream<RowBeat> = p.axi.clone(),
        /// Ends of commands, each after the last beat of its command has left.
        completion: OutStream<DmaCompletion> = p.axi.clone(),
        /// The bus.
        mem: AxiReadManager = p.axi.clone(),
        /// No command is in flight and no beat is owed.
        idle_o: Out = bit(),
        /// A burst was requested, and its last beat has not come.
        owes_o: Out = bit(),
        /// A beat came from the bus in the cycle before.
        read_beat_o: Out = bit(),
        /// In the cycle before, a command was in flight and the output was ready, but there was no beat.
        waits_o: Out = bit(),
    }
}

/// The address of a burst.
pub(super) struct Address {
    pub(super) address: Signal,
    /// Its beats, less one.
    pub(super) len: Signal,
    pub(super) cache: Signal,
    pub(super) prot: Signal,
}

/// Drives an address channel from registers that take a burst where `issue` is high.
#[track_caller]
pub(super) fn drive_address(
    m: &mut Module,
    axi: &AxiSpec,
    (channel, issue): (&crate::lang::Stream<AxiAddress>, Signal),
    burst: &Address,
) {
    let name = channel.name.clone();
    let mut hold = |part: &str, value: Signal| {
        let held = m.reg(&format!("{name}_{part}_q"), value.ty());
        held.next_when(issue, value);
        held.q
    };
    // The low bits are 0 always.
    let beat = hold("beat", burst.address.slice(axi.size()..axi.address_width));
    let (len, cache, prot) = (hold("len", burst.len), hold("cache", burst.cache), hold("prot", burst.prot));
    m.connect(channel.id, 0);
    m.connect(channel.addr, beat.shl(axi.size()));
    m.connect(channel.len, len.extend(8));
    m.connect(channel.size, axi.size());
    m.connect(channel.burst, BURST_INCR);
    m.connect(channel.cache, cache);
    m.connect(channel.prot, prot);
}

/// A small DMA for mutants: counters of 24 bits do not get far, and a prover splits large buffers into bits.
pub(super) const SAMPLE: &[(&str, u32)] = &[
    ("axi.address_width", 16),
    ("dma.burst_beats", 4),
    ("dma.outstanding", 2),
    ("dma.row_width", 7),
    ("dma.rows_width", 3),
    ("dma.stride_width", 11),
    ("buffer_beats", 8),
];

impl CatalogBlock for AxiReadDma {
    const SAMPLE: &'static [(&'static str, u32)] = SAMPLE;

    fn configurations() -> Vec<Self> {
        let set = |data_width, address_width, burst_beats, outstanding, buffer_beats, storage| Self {
            axi: AxiSpec { address_width, data_width, id_width: 1 },
            dma: DmaSpec { burst_beats, outstanding, ..DmaSpec::default() },
            buffer_beats,
            storage,
        };
        use RamImplementation::{BlackBox, Inferred};
        vec![
            set(32, 32, 256, 4, 1024, Inferred),
            set(32, 40, 1, 1, 2, Inferred),
            set(64, 48, 4, 3, 13, BlackBox),
            set(512, 64, 16, 8, 128, Inferred),
            set(1024, 64, 32, 4, 64, Inferred),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let axi = AxiSpec { address_width: 13, data_width: 32, id_width: 1 };
        let (row_width, rows_width, stride_width) = (4, 2, 7);
        let dma = DmaSpec {
            burst_beats: 2,
            outstanding: 2,
            commands: 2,
            row_width,
            rows_width,
            stride_width,
            ..DmaSpec::default()
        };
        let block = Self { axi, dma, buffer_beats: 4, storage: RamImplementation::Inferred };
        vec![Proof { block, depth: 8, cover_depth: 20, induction: true }]
    }
}
