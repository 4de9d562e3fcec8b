//! The read DMA put together.

use super::super::bursts::AxiBursts;
use super::super::dma::Record;
use super::super::records::{AxiBuffer, Put, counter, pointer, ring};
use super::super::rows::RowWalk;
use super::super::slots::AxiSlots;
use super::{Address, AxiReadDma, AxiReadDmaPorts, drive_address};
use crate::blocks::common::bus::properties::{Commands, ReadState};
use crate::lang::{About, Block, Module, Signal, Timing, bit, bits_for, cat, mux, uint};

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
        let address = Address { address: burst.address, len: burst.len, cache: io.cache_i, prot: io.prot_i };
        drive_address(m, axi, (ar, issue), &address);

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
        let ([now], records) =
            ring(m, "record", (&spec, dma.outstanding), Put { put: issue, at: tail, value: &record }, [("now", head)]);
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
                commands: Commands { checking: bursts.checking_o, used: slots.used_o },
                has_work: rows.has_work,
            };
            m.formal(|m| crate::blocks::common::bus::properties::read_dma(m, self, io, &state));
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().beat(1).phase("address", 4, "from a command to its first read address").phase(
            "through",
            3,
            "from a beat on the bus to the output",
        )
    }
}
