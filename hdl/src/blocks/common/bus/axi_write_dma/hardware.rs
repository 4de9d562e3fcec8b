//! The write DMA put together.

use super::super::axi_read_dma::{Address, drive_address};
use super::super::bursts::AxiBursts;
use super::super::dma::Record;
use super::super::records::{AxiBuffer, Put, counter, pointer, ring};
use super::super::rows::RowWalk;
use super::super::slots::AxiSlots;
use super::{AxiWriteDma, AxiWriteDmaPorts};
use crate::blocks::common::bus::properties::{Commands, NewBurst, WriteState};
use crate::lang::{About, Block, Module, Signal, Timing, bit, bits_for, cat, mux, uint};

impl Block for AxiWriteDma {
    type Ports = AxiWriteDmaPorts;
    const ABOUT: About = About {
        name: "axi_write_dma",
        summary: "AXI4 write DMA: a stream of packed beats becomes rows of memory",
        contract: "The bytes of input are written to the rows of the commands, in order. No other byte\n\
            changes: strobes are off at both ends.\n\
            Bursts are of whole beats at multiples of the bus width. A burst begins only when all of its data is\n\
            here. Its first beat is offered in the cycle after its address; the DMA makes no pause, and beats do not\n\
            wait for mem_awready_i. mem_bready_o is high while a response is owed. All IDs are 0.\n\
            Commands that break a rule are refused by their completion, without use of the bus; they take no beat of\n\
            input.\n\
            After an error of the bus the rest of its command is still written; the completion tells the first error\n\
            and the address of its burst.\n\
            abort_i drops commands, data and completions; a write address or beat that is offered stays, beats that\n\
            are promised follow with strobes off, and responses are taken and dropped.\n\
            Memory that does not answer leaves idle_o low; only reset forgets owed responses.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022",
    };

    fn build(&self, m: &mut Module, io: &AxiWriteDmaPorts) {
        let spec = self.spec();
        let (axi, dma) = &spec;
        let aborting = m.reg_init("aborting_q", bit(), 0);
        let clear = m.wire("clear", io.abort_i | aborting.q);

        let bursts = m.instance("u_bursts", AxiBursts { axi: axi.clone(), dma: dma.clone() });
        // The last burst of a command begins when all of its data is here: the walk over its rows is over by then, and the
        // next command is checked later.
        let slots = m.instance("u_slots", AxiSlots { axi: axi.clone(), dma: dma.clone(), at_once: true });
        m.connect(bursts.clear_i, clear);
        m.connect(bursts.stop_i, 0);
        m.connect(slots.clear_i, clear);
        m.connect_stream(&bursts.command, &io.command);
        m.connect_stream(&slots.checked, &bursts.checked);
        m.connect_stream(&io.completion, &slots.completion);
        let walked = m.reg("walked_q", slots.next_o.ty());
        let enters = m.wire("enters", bursts.checked.fire() & !bursts.checked.refusal.any());
        walked.next_when(enters, slots.next_o);

        // Data, up to where it waits for its burst.
        let buffer = AxiBuffer { width: axi.data_width + axi.bytes(), depth: self.buffer_beats, storage: self.storage };
        let buffer = m.instance("u_buffer", buffer);
        let room = m.wire("room", buffer.level_o.lt(self.buffer_beats));
        let (packed, push, rows) = RowWalk { axi, dma, clear }.pack(m, (&io.input, room), &slots.job);
        m.unused(packed.last);
        m.unused(rows.slot);
        m.connect(buffer.clear_i, clear);
        m.connect(buffer.push_i, push);
        m.connect(buffer.data_i, cat(&[packed.strb, packed.data]));

        // Addresses.
        let (aw, burst) = (&io.mem.aw, &bursts.burst);
        let aw_valid = m.reg_init("aw_valid_q", bit(), 0);
        let issue = m.net("issue", bit());
        let answer = m.wire("answer", io.mem.b.fire());
        let open = counter(m, "open_q", dma.outstanding, issue, answer);
        // Beats in the buffer that no burst has promised.
        let here = m.reg_init("here_q", uint(bits_for(self.buffer_beats.into())), 0);
        let needs = m.wire("needs", burst.len + 1);
        let taken = mux(issue, needs, 0);
        let here_next = here.q.wrapping_add(push.extend(here.q.width())).wrapping_sub(taken);
        here.next(mux(clear, here.q.ty().lit(0), here_next));
        let whole = here.q.ge(needs);
        let may = m.wire("may", whole & open.lt(dma.outstanding) & (!aw_valid.q | aw.ready) & !clear);
        m.connect(burst.ready, may);
        m.connect(issue, burst.fire());
        aw_valid.next(issue | (aw_valid.q & !aw.ready));
        m.connect(aw.valid, aw_valid.q);
        let address = Address { address: burst.address, len: burst.len, cache: io.cache_i, prot: io.prot_i };
        drive_address(m, axi, (aw, issue), &address);

        // Owed beats and responses, in the order of the addresses.
        let (w, b) = (&io.mem.w, &io.mem.b);
        let ends_burst = m.net("ends_burst", bit());
        let tail = pointer(m, "tail_q", dma.outstanding, issue);
        let data_at = pointer(m, "data_at_q", dma.outstanding, ends_burst);
        let head = pointer(m, "head_q", dma.outstanding, answer);
        let record =
            Record { address: burst.address, len: burst.len, first: burst.first, last: burst.last, slot: walked.q };
        let looked_at = [("sent", data_at), ("now", head)];
        let ([sent, now], records) =
            ring(m, "record", (&spec, dma.outstanding), Put { put: issue, at: tail, value: &record }, looked_at);
        for unread in [sent.address, sent.first, sent.last, sent.slot, now.len] {
            m.unused(unread);
        }
        let unsent = counter(m, "unsent_q", dma.outstanding, issue, ends_burst);
        let w_valid = m.reg_init("w_valid_q", bit(), 0);
        let beat = m.reg_init("beat_q", uint(dma.len_width()), 0);
        let out = &buffer.output;
        let free = m.wire("free", !w_valid.q | w.ready);
        // After an abort there is nothing in the buffer, and nothing is needed.
        let send = m.wire("send", unsent.any() & free & (out.valid | clear));
        m.connect(out.ready, unsent.any() & free);
        let last = m.wire("last_beat", beat.q.eq(sent.len));
        m.connect(ends_burst, send & last);
        beat.next_when(send, mux(last, beat.q.ty().lit(0), beat.q.wrapping_add(1)));
        w_valid.next(send | (w_valid.q & !w.ready));
        let hold = |m: &mut Module, name: &str, value: Signal| {
            let held = m.reg(name, value.ty());
            held.next_when(send, value);
            held.q
        };
        let word = out.data.data;
        let strobes = word.slice(axi.data_width..axi.data_width + axi.bytes()) & (!clear).repeat(axi.bytes());
        let data = hold(m, "w_data_q", word.slice(0..axi.data_width));
        let strobes = hold(m, "w_strb_q", strobes);
        let last = hold(m, "w_last_q", last);
        m.connect(w.valid, w_valid.q);
        m.connect(w.data.data, data);
        m.connect(w.strb, strobes);
        m.connect(w.last, last);

        // Responses.
        m.unused(b.id);
        m.connect(b.ready, open.any());
        let failed = m.reg_init("failed_q", bit(), 0);
        let has_failed = m.wire("has_failed", failed.q & !now.first);
        let error = b.resp.bit(1);
        failed.next_when(answer, has_failed | error);
        m.connect(slots.fault.now, answer & error & !has_failed & !clear);
        m.connect(slots.fault.slot, now.slot);
        m.connect(slots.fault.error, b.resp);
        m.connect(slots.fault.address, now.address);
        m.connect(slots.end_i, answer & now.last & !clear);
        m.connect(slots.end_slot_i, now.slot);

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
        pulse(m, "write_beat_q", io.write_beat_o, w.fire());
        pulse(m, "waits_q", io.waits_o, io.input.valid & !io.input.ready & in_hand & !clear);
        if dma.outstanding.is_power_of_two() && (2..=8).contains(&dma.outstanding) {
            let state = WriteState {
                here: here.q,
                level: buffer.level_o,
                shown: out.valid,
                open,
                unsent,
                tail,
                data_at,
                beat: beat.q,
                records,
                aborting: aborting.q,
                commands: Commands { checking: bursts.checking_o, used: slots.used_o },
                job: slots.job.clone(),
                enters,
                checked: bursts.checked.rows,
                burst: NewBurst { begins: issue, len: burst.len },
                clear,
                rows,
            };
            m.formal(|m| crate::blocks::common::bus::properties::write_dma(m, self, io, &state));
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().beat(1).phase("job", 4, "from a command to the first beat that is taken").phase(
            "address",
            2,
            "from the last beat of a burst to its address",
        )
    }
}
