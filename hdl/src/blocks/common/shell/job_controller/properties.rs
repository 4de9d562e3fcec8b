//! What is proved of the controller.

use super::super::shell_registers::{ID, VERSION};
use super::state::Header;
use super::{JobController, JobControllerPorts, job_error};
use crate::lang::{Module, Signal, bit};

impl JobController {
    /// Properties that hold whatever memory and accelerator do, as long as they end only what was begun.
    pub(super) fn properties(&self, m: &mut Module, io: &JobControllerPorts, header: Header) {
        m.formal(|m| {
            let open = |m: &mut Module, name: &str, begins: Signal, ends: Signal| {
                let open = m.reg_init(&format!("formal_{name}_q"), bit(), 0);
                open.next((begins | (open.q & !ends)) & !io.abort_o & !io.host.soft_reset_i);
                m.assume(&format!("{name}_ends_what_began"), !ends | open.q);
                open.q
            };
            let fetching = open(m, "fetching", io.fetch.fire(), io.fetch_end.valid);
            let working = open(m, "working", io.operation.fire(), io.operation_end.valid);
            let writing = open(m, "writing", io.write.fire(), io.write_end.valid);
            m.assume("operations_are_taken_while_nothing_is_open", !io.fetched.valid | fetching);
            let begun = m.reg_init("formal_begun_q", bit(), 0);
            begun.next(1);
            let opcodes = m.reg("formal_opcodes_q", io.opcodes_i.ty());
            opcodes.next(io.opcodes_i);
            m.assume("opcodes_stay", !begun.q | io.opcodes_i.eq(opcodes.q));
            let asks = m.wire("formal_asks", io.write.valid | io.written.valid);
            let busy = |a: Signal, b: Signal, c: Signal| (a & b) | (a & c) | (b & c);
            m.assert_always(
                "one_thing_at_a_time",
                !busy(io.fetch.valid | fetching, io.operation.valid | working, asks | writing),
            );
            m.assert_always("aborts_ask_for_nothing", !(io.abort_o & (io.fetch.valid | io.operation.valid | asks)));
            m.assert_always("done_is_after_everything", !io.host.done_o | !(fetching & !io.fetch_end.valid));
            m.assert_always("ends_once", !(io.host.done_o & io.host.error_o));
            m.assert_always("begins_when_idle", !io.host.began_o | !(io.host.busy_o | io.abort_o));
            m.assert_always("starts_are_answered", io.host.start_i.eq(io.host.began_o ^ io.host.refused_o));
            let right = header.magic.eq(ID as u32) & header.version.eq(VERSION as u32);
            let known = header.opcode.any() & header.opcode.le(io.opcodes_i) & !header.reserved;
            // What only asks for an end comes after a header that may be wrong.
            let nothing = io.operation.nothing.unwrap_or(bit().lit(0));
            let awaits = m.reg_init("formal_awaits_q", bit(), 0);
            let stays = !io.abort_o & !io.host.soft_reset_i;
            awaits.next(stays & ((io.operation.fire() & nothing) | (awaits.q & !io.operation_end.valid)));
            let works = (io.operation.valid & !nothing) | (working & !awaits.q);
            m.assert_always("only_good_headers_work", !(works | asks | writing) | (right & known));
            // An operation is the descriptor that was received last: no other comes between its offer and its end.
            let shown = io.operation.valid | working;
            m.assert_always("operation_stays_until_its_end", !(shown & io.fetched.ready));
            m.assert_always("errors_have_a_code", !io.host.error_o | io.host.error_code_o.any());
            m.cover("chain_of_two", io.host.done_o & io.host.descriptors_o.eq(1));
            m.cover("silent_memory", io.host.error_o & io.host.error_code_o.eq(job_error::TIMEOUT));
            m.cover("reset_while_working", io.host.soft_reset_i & working);
            m.cover("tag_written", io.write_end.fire());
        });
    }
}
