//! Read DMA: rows of memory become a stream of packed beats.

use super::axi::{AxiAddress, AxiReadManager, AxiSpec, BURST_INCR};
use super::bursts::AxiBursts;
use super::dma::{DmaCommand, DmaCompletion, DmaSpec, Record, demand_bursts};
use super::properties::ReadState;
use super::records::{AxiBuffer, counter, pointer, ring};
use super::rows::RowWalk;
use super::slots::AxiSlots;
use crate::blocks::common::RamImplementation;
use crate::lang::{
    About, Block, CatalogBlock, Field, In, InStream, Module, Out, OutStream, Proof, Signal, Timing, bit, bits_for,
    bundle, cat, mux, parameters, ports, uint,
};

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

impl Block for AxiReadDma {
    type Ports = AxiReadDmaPorts;
    const ABOUT: About = About {
        name: "axi_read_dma",
        summary: "AXI4 read DMA: rows of memory become a stream of packed beats",
        contract: "output has the rows of the commands, in order, each from a new beat on, as if memory were read\n\
            byte by byte.\n\
            Reads are of whole beats at multiples of the bus width. Bytes next to a row in the same beats are read\n\
            as well; no other beat is read.\n\
            A burst is requested only when there is room for all of its beats: mem_rready_o is high while a beat is\n\
            owed. All IDs are 0.\n\
            Commands that break a rule are refused by their completion, without use of the bus.\n\
            An error of the bus ends its command: neither the failing beat nor later ones are shown, nor last; no\n\
            more of its bursts are requested. The next command is unharmed. The completion tells the first error and\n\
            the address of its burst.\n\
            abort_i drops commands, beats and completions; a read address that is offered stays, and owed beats are\n\
            taken and dropped.\n\
            Memory that does not answer leaves idle_o low; only reset forgets beats that are owed. mem_rlast_i is\n\
            not looked at.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022",
    };

    fn build(&self, m: &mut Module, io: &AxiReadDmaPorts) {
        let spec = self.spec();
        let (axi, dma) = &spec;
        let aborting = m.reg_init("aborting_q", bit(), 0);
        let clear = m.wire("clear", io.abort_i | aborting.q);

        let bursts = m.instance("u_bursts", AxiBursts { axi: axi.clone(), dma: dma.clone() });
        let slots = m.instance("u_slots", AxiSlots { axi: axi.clone(), dma: dma.clone(), at_once: false });
        m.connect(bursts.clear_i, clear);
        m.connect(slots.clear_i, clear);
        m.connect_stream(&bursts.command, &io.command);
        m.connect_stream(&slots.checked, &bursts.checked);
        m.connect_stream(&io.completion, &slots.completion);
        // Place of the command whose bursts are shown: a refused command leaves it alone.
        let walked = m.reg("walked_q", slots.next_o.ty());
        let enters = m.wire("enters", bursts.checked.fire() & !bursts.checked.refusal.any());
        walked.next_when(enters, slots.next_o);

        // Addresses.
        let ar = &io.mem.ar;
        let ar_valid = m.reg_init("ar_valid_q", bit(), 0);
        let (owed_ty, burst) = (uint(bits_for(self.buffer_beats.into())), &bursts.burst);
        let owed = m.reg_init("owed_q", owed_ty, 0);
        let level = m.net("level", owed_ty);
        let last_beat = m.net("last_beat", bit());
        let issue = m.net("issue", bit());
        let open = counter(m, "open_q", dma.outstanding, issue, last_beat);
        let asked = m.wire("asked", burst.len + 1);
        let fits = m.wire("fits", (owed.q + level + asked).le(self.buffer_beats));
        let may = m.wire("may", fits & open.lt(dma.outstanding) & (!ar_valid.q | ar.ready) & !clear);
        m.connect(burst.ready, may);
        m.connect(issue, burst.fire());
        ar_valid.next(issue | (ar_valid.q & !ar.ready));
        m.connect(ar.valid, ar_valid.q);
        drive_address(m, axi, (ar, issue), (burst.address, burst.len), (io.cache_i, io.prot_i));

        // The read data, in the order of the addresses.
        let r = &io.mem.r;
        m.unused(r.id);
        m.unused(r.last);
        m.connect(r.ready, owed.q.any());
        let comes = m.wire("comes", r.fire());
        let more = mux(issue, asked, 0);
        owed.next(owed.q.wrapping_add(more).wrapping_sub(comes.extend(owed_ty.width)));
        let tail = pointer(m, "tail_q", dma.outstanding, issue);
        let head = pointer(m, "head_q", dma.outstanding, last_beat);
        let record =
            Record { address: burst.address, len: burst.len, first: burst.first, last: burst.last, slot: walked.q };
        let ([now], records) = ring(m, "record", (&spec, dma.outstanding), (issue, tail, &record), [("now", head)]);
        m.unused(now.last);
        let beat = m.reg_init("beat_q", uint(dma.len_width()), 0);
        m.connect(last_beat, comes & beat.q.eq(now.len));
        beat.next_when(comes, mux(last_beat, beat.q.ty().lit(0), beat.q.wrapping_add(1)));
        // From the first error of a command to the end of its bursts.
        let failed = m.reg_init("failed_q", bit(), 0);
        let has_failed = m.wire("has_failed", failed.q & !(now.first & beat.q.eq(0)));
        let error = m.wire("error", r.resp.bit(1));
        failed.next_when(comes, has_failed | error);
        let keep = m.wire("keep", comes & !has_failed & !clear);
        let fails = m.wire("fails", keep & error);
        m.connect(bursts.stop_i, fails & now.slot.eq(walked.q));
        m.connect(slots.fault.now, fails);
        m.connect(slots.fault.slot, now.slot);
        m.connect(slots.fault.error, r.resp);
        m.connect(slots.fault.address, now.address);

        let buffer = AxiBuffer { width: axi.data_width + 1, depth: self.buffer_beats, storage: self.storage };
        let buffer = m.instance("u_buffer", buffer);
        m.connect(buffer.clear_i, clear);
        m.connect(buffer.push_i, keep);
        m.connect(buffer.data_i, cat(&[error, r.data.data]));
        m.connect(level, buffer.level_o);
        let rows = RowWalk { axi, dma, clear }.unpack(m, &buffer.output, &slots.job, &io.output);
        m.connect(slots.end_i, rows.ends);
        m.connect(slots.end_slot_i, rows.slot);

        aborting.next(clear & (io.abort_i | open.any()));
        let in_hand = m.wire("in_hand", bursts.checking_o | slots.used_o.any());
        let busy = m.wire("busy", in_hand | open.any());
        m.connect(io.idle_o, !busy);
        m.connect(io.owes_o, open.any());
        let pulse = |m: &mut Module, name: &str, port: Signal, now: Signal| {
            let pulse = m.reg_init(name, bit(), 0);
            pulse.next(now);
            m.connect(port, pulse.q);
        };
        pulse(m, "read_beat_q", io.read_beat_o, comes);
        pulse(m, "waits_q", io.waits_o, io.output.ready & !io.output.valid & in_hand & !clear);
        if dma.outstanding.is_power_of_two() && (2..=8).contains(&dma.outstanding) {
            let state = ReadState {
                owed: owed.q,
                level,
                open,
                tail,
                head,
                beat: beat.q,
                records,
                commands: (bursts.checking_o, slots.used_o),
                has_work: rows.has_work,
            };
            m.formal(|m| super::properties::read_dma(m, self, io, &state));
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().beat(1u64).phase("address", 4u64, "from a command to its first read address").phase(
            "through",
            3u64,
            "from a beat on the bus to the output",
        )
    }
}

/// Drives an address channel from registers that take a burst where `begin` is high.
#[track_caller]
pub(super) fn drive_address(
    m: &mut Module,
    axi: &AxiSpec,
    (channel, issue): (&crate::lang::Stream<AxiAddress>, Signal),
    (address, len): (Signal, Signal),
    (cache, prot): (Signal, Signal),
) {
    let name = channel.name.clone();
    let mut hold = |part: &str, value: Signal| {
        let held = m.reg(&format!("{name}_{part}_q"), value.ty());
        held.next_when(issue, value);
        held.q
    };
    // The low bits are 0 always.
    let beat = hold("beat", address.slice(axi.size()..axi.address_width));
    let (len, cache, prot) = (hold("len", len), hold("cache", cache), hold("prot", prot));
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
        let dma = DmaSpec { burst_beats: 2, outstanding: 2, commands: 2, row_width, rows_width, stride_width };
        let block = Self { axi, dma, buffer_beats: 4, storage: RamImplementation::Inferred };
        vec![Proof { block, depth: 8, cover_depth: 20, induction: true }]
    }
}
