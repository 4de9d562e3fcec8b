//! The hardware of the controller.

use super::super::job_error;
use super::super::shell_registers::{ID, VERSION};
use super::state::{Header, Registers, Step};
use super::{JobController, JobControllerPorts};
use crate::blocks::common::bus::DmaCommand;
use crate::blocks::common::bus::dma::dma_error;
use crate::lang::operation::HEADER_BYTES;
use crate::lang::{About, Block, Module, Signal, Stream, bit, cat, mux, or_all, select, uint};

impl Block for JobController {
    type Ports = JobControllerPorts;
    const ABOUT: About = About {
        name: "job_controller",
        summary: "walks a chain of descriptors in memory and has an accelerator do them",
        contract: "From start_i on, one descriptor follows the other. Its address is checked, it is read, its header\n\
            is checked, and its operation is handed over. When the operation has ended, the tag is written if the\n\
            descriptor asks for it. A next address of 0 ends the job with done_o.\n\
            The first error ends the job: abort_o is high until idle_i, then error_o comes. A port of memory that\n\
            does not answer for timeout_i cycles is an error too; then error_o comes at once, abort_o stays high and\n\
            starts are refused until the bus is idle. A wait has the time that timeout_i had before it began.\n\
            soft_reset_i drops the job without done_o or error_o; abort_o and soft_reset_busy_o are high until\n\
            idle_i.\n\
            opcode, flag and words of an operation stay after it was taken, until its operation_end is taken, so no\n\
            copy of them is needed.\n\
            Without overlaps an operation is handed over only when everything before it has ended.\n\
            With overlaps the next descriptor is read when dispatcher has told the end of an operation: at once, or\n\
            after everything in flight has ended if the descriptor writes a tag or is the last one. An error of the\n\
            controller itself waits for the operations in flight too: an operation that fails comes before it.\n\
            Then error_where_o, tag_o and descriptors_o are of the descriptor that failed, as without overlaps.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &JobControllerPorts) {
        let state = m.fsm(
            "state",
            match self.overlaps {
                true => &[
                    "Idle", "Check", "Fetch", "Receive", "Header", "Offer", "Work", "WriteTag", "EndTag", "Drain",
                    "Flush", "Await", "Hear",
                ],
                false => &[
                    "Idle", "Check", "Fetch", "Receive", "Header", "Offer", "Work", "WriteTag", "EndTag", "Drain",
                    "Flush",
                ],
            },
        );
        let here = Registers::new(m, self.count_width);
        let failed = m.net("failed", uint(8));
        let fails = m.wire("fails", failed.any());

        let begins = m.wire("begins", io.host.start_i & state.is("Idle") & io.idle_i & !io.host.soft_reset_i);
        m.connect(io.host.began_o, begins);
        m.connect(io.host.refused_o, io.host.start_i & !begins);

        // The descriptor's place, all of its bytes in the window.
        let last_byte = m.wire("last_byte", here.current.q + (self.descriptor_bytes - 1));
        let inside = |m: &mut Module, name: &str, first: Signal, last: Signal| {
            let whole = last.le(io.host.window_limit_i) & first.ge(io.host.window_base_i);
            m.wire(name, whole & !first.slice(0..6).any())
        };
        let placed = inside(m, "placed", here.current.q, last_byte);
        let address_width = self.axi.address_width;
        let reachable = if address_width < 64 { !here.current.q.slice(address_width..64).any() } else { bit().lit(1) };
        let placed = m.wire("reachable", placed & reachable);
        let more = here.done.q.extend(32).lt(io.host.max_descriptors_i);
        // With 32 bits the limit of the host is reached first.
        let more = m.wire("more", if self.count_width < 32 { more & !here.done.q.all() } else { more });

        self.fetch(m, io, state.is("Fetch"), here.current.q);
        let bits = self.receive(m, io, state.is("Receive"));
        let header = Header::of(bits);
        let tag_last = m.wire("tag_last", header.tag_address + 3);
        let tag_reachable =
            if address_width < 64 { !header.tag_address.slice(address_width..64).any() } else { bit().lit(1) };
        let tag_inside = inside(m, "tag_inside", header.tag_address, tag_last);
        let tag_placed = m.wire("tag_placed", !header.writes_tag | (tag_inside & tag_reachable));
        let code = |number: u32| uint(8).lit(number);
        let none = code(0);
        let wrong_header = select(
            &[
                (header.magic.ne(ID as u32), code(job_error::MAGIC)),
                (header.version.ne(VERSION as u32), code(job_error::VERSION)),
                (!header.opcode.any() | header.opcode.gt(io.opcodes_i), code(job_error::OPCODE)),
                (header.reserved, code(job_error::RESERVED)),
                (!tag_placed, code(job_error::TAG)),
            ],
            none,
        );
        let wrong_header = m.wire("wrong_header", wrong_header);

        m.connect(io.operation.opcode, header.opcode);
        let words = m.split("words", bits.slice(8 * HEADER_BYTES..bits.width()), io.operation.words.ty());
        m.connect_each("operation_words", io.operation.words, words);
        let (offers, hears) = match self.overlaps {
            true => (state.is("Offer") | state.is("Await"), state.is("Work") | state.is("Hear")),
            false => (state.is("Offer"), state.is("Work")),
        };
        m.connect(io.operation.valid, offers);
        m.connect(io.operation_end.ready, hears);
        if self.overlaps {
            m.connect_option(io.operation.independent, Some(header.independent));
            m.connect_option(io.operation.early, Some(header.early));
            m.connect_option(io.operation.nothing, Some(state.is("Await")));
            m.connect_option(io.operation.waits, Some(header.writes_tag | !header.next.any()));
            m.connect_option(io.operation.kept, Some(cat(&[here.tag.q, here.current.q])));
        } else {
            // Everything before it has ended anyway.
            for (name, number) in [("independent", header.independent), ("early", header.early)] {
                let number = m.wire(name, number);
                m.unused(number);
            }
        }
        let tag_sent = self.write_tag(m, io, state.is("WriteTag"), (header.tag_address, header.tag));

        // A port of the bus that owes something and does not move, whatever the other ports do.
        let late = (0..self.ports).map(|port| {
            let name = |what: &str| if self.ports == 1 { what.to_owned() } else { format!("{what}_{port}") };
            // What is left of the time of a wait; it is not used where there is no limit.
            let left = m.reg_init(&format!("{}_q", name("time_left")), uint(32), 0);
            // An abort has its own time.
            let quiet = io.waiting_i.bit(port) & !io.answered_i.bit(port);
            let counts = m.wire(&name("counts"), quiet & !state.is("Idle") & !fails);
            left.next(mux(counts, left.q.wrapping_sub(1), io.host.timeout_i));
            !left.q.any()
        });
        let late = late.collect::<Vec<_>>();
        let late = m.wire("late", io.host.timeout_i.any() & or_all(bit(), &late));

        // An end may still come in the first cycle of an abort: it is ignored then.
        let fetch_ends = m.wire("fetch_ends", io.fetch_end.fire() & state.is("Receive"));
        let work_ends = m.wire("work_ends", io.operation_end.fire());
        let work_done = if self.overlaps { m.wire("work_done", work_ends & state.is("Work")) } else { work_ends };
        let tag_ends = m.wire("tag_ends", io.write_end.fire() & state.is("EndTag"));
        let running = m.wire("running", !(state.is("Idle") | state.is("Drain") | state.is("Flush")));
        m.connect(
            failed,
            select(
                &[
                    (!running, none),
                    (late, code(job_error::TIMEOUT)),
                    (state.is("Check") & !more, code(job_error::CHAIN)),
                    (state.is("Check") & !placed, code(job_error::DESCRIPTOR)),
                    (fetch_ends, bus_error(io.fetch_end.error)),
                    (state.is("Header"), wrong_header),
                    (work_ends, io.operation_end.error),
                    (tag_ends, bus_error(io.write_end.error)),
                ],
                none,
            ),
        );
        // An error of the controller itself: operations in flight may still fail, and come before it.
        let own =
            if self.overlaps { m.wire("own_error", fails & !late & !work_ends & !tag_ends) } else { bit().lit(0) };
        let completed =
            m.wire("completed", ((work_done & !header.writes_tag) | tag_ends) & !fails & !io.host.soft_reset_i);
        let ends = m.wire("ends", completed & !header.next.any());

        for from in ["Check", "Fetch", "Receive", "Header", "Offer", "Work", "WriteTag", "EndTag"] {
            state.goto(from, io.host.soft_reset_i, "Flush");
            if self.overlaps {
                state.goto(from, own, "Await");
            }
            state.goto(from, fails, "Drain");
        }
        if self.overlaps {
            for from in ["Await", "Hear"] {
                state.goto(from, io.host.soft_reset_i, "Flush");
                state.goto(from, late, "Drain");
            }
            state.goto("Await", io.operation.ready, "Hear");
            state.goto("Hear", io.operation_end.valid, "Drain");
        }
        state.goto("Idle", io.host.soft_reset_i, "Flush");
        state.goto("Idle", begins, "Check");
        state.goto("Check", true, "Fetch");
        state.goto("Fetch", io.fetch.ready, "Receive");
        state.goto("Receive", fetch_ends, "Header");
        state.goto("Header", true, "Offer");
        state.goto("Offer", io.operation.ready, "Work");
        state.goto("Work", work_ends & header.writes_tag, "WriteTag");
        state.goto("Work", ends, "Idle");
        state.goto("Work", work_ends, "Check");
        state.goto("WriteTag", tag_sent, "EndTag");
        state.goto("EndTag", ends, "Idle");
        state.goto("EndTag", tag_ends, "Check");
        state.goto("Drain", io.host.soft_reset_i, "Flush");
        let drained =
            m.wire("drained", state.is("Drain") & !io.host.soft_reset_i & (io.idle_i | late | here.timed_out.q));
        state.goto("Drain", drained & io.idle_i, "Idle");
        state.goto("Drain", drained, "Flush");
        state.goto("Flush", io.idle_i & !io.host.soft_reset_i, "Idle");

        here.step(m, io, Step { begins, fails, failed, late, completed, work_ends, header });
        let aborts = m.wire("aborts", state.is("Drain") | state.is("Flush"));
        m.connect(io.abort_o, aborts);
        m.connect(io.host.busy_o, running | state.is("Drain"));
        m.connect(io.host.done_o, ends);
        m.connect(io.host.error_o, drained);
        m.connect(io.host.soft_reset_busy_o, state.is("Flush"));
        self.properties(m, io, header);
    }
}

/// The error of the job for an error of the bus.
fn bus_error(error: Signal) -> Signal {
    let code = |number: u32| uint(8).lit(number);
    select(
        &[
            (error.eq(dma_error::NONE), code(0)),
            (error.eq(dma_error::SLVERR), code(job_error::SLVERR)),
            (error.eq(dma_error::DECERR), code(job_error::DECERR)),
        ],
        // The DMA refuses a command that was checked here only where its own counters are too narrow.
        code(job_error::DESCRIPTOR),
    )
}

impl JobController {
    /// Requests the descriptor at `address`.
    pub(super) fn fetch(&self, m: &mut Module, io: &JobControllerPorts, now: Signal, address: Signal) {
        m.connect(io.fetch.valid, now);
        self.one_row(m, &io.fetch, address, self.descriptor_bytes);
        m.connect(io.fetch_end.ready, 1);
        m.unused(io.fetch_end.address);
    }

    /// A command of one row.
    fn one_row(&self, m: &mut Module, command: &Stream<DmaCommand>, address: Signal, bytes: u32) {
        m.connect(command.address, address.truncate(self.axi.address_width));
        m.connect(command.row_bytes, bytes);
        m.connect(command.rows, 1);
        m.connect(command.stride, 0);
    }

    /// Collects the beats of the descriptor; its bits.
    fn receive(&self, m: &mut Module, io: &JobControllerPorts, now: Signal) -> Signal {
        m.connect(io.fetched.ready, now);
        m.unused(io.fetched.bytes);
        m.unused(io.fetched.row_last);
        m.unused(io.fetched.last);
        let beat = self.axi.data_width;
        let all = (8 * self.descriptor_bytes).next_multiple_of(beat);
        let bits = m.reg("descriptor_q", uint(all));
        // The first beat arrives at the low end.
        let data = io.fetched.data.data;
        bits.next_when(io.fetched.fire(), if all == beat { data } else { cat(&[data, bits.q.slice(beat..all)]) });
        bits.q.truncate(8 * self.descriptor_bytes)
    }

    /// Offers the tag and where it goes; high when both are taken.
    fn write_tag(
        &self,
        m: &mut Module,
        io: &JobControllerPorts,
        now: Signal,
        (address, tag): (Signal, Signal),
    ) -> Signal {
        let asked = m.reg_init("tag_asked_q", bit(), 0);
        let given = m.reg_init("tag_given_q", bit(), 0);
        m.connect(io.write.valid, now & !asked.q);
        self.one_row(m, &io.write, address, 4);
        m.connect(io.written.valid, now & !given.q);
        m.connect(io.written.data.data, tag.extend(self.axi.data_width));
        m.connect(io.write_end.ready, 1);
        m.unused(io.write_end.address);
        let asks = m.wire("tag_asks", asked.q | io.write.ready);
        let gives = m.wire("tag_gives", given.q | io.written.ready);
        asked.next(now & asks);
        given.next(now & gives);
        asks & gives
    }
}
