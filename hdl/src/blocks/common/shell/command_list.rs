//! Requests the operands of an operation from the DMAs, and knows when all commands have ended, or which error came.

use super::job_error;
use crate::blocks::common::bus::dma::dma_error;
use crate::lang::{
    About, Block, In, InArray, Index, Module, Out, OutArray, Signal, Timing, bit, bits_for, mux, parameters, ports,
    select, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct CommandList {
        /// DMAs, in the order of the operands.
        dmas: u32 = 5, in 1..=64, tag "n";
        /// Most commands to a DMA for one operation.
        times: u32 = 1, in 1..=65535, tag "t";
        /// Commands that a DMA takes before the first of them has ended.
        commands: u32 = 4, in 2..=16, tag "c";
    }
}

impl CommandList {
    fn times_width(&self) -> u32 {
        bits_for(self.times.into())
    }

    /// One command may wait in front of a DMA, next to the commands that the DMA has room for.
    fn open_width(&self) -> u32 {
        bits_for(u64::from(self.commands) + 1)
    }
}

ports! {
    /// Ports of [`CommandList`].
    pub struct CommandListPorts(p: &CommandList) {
        /// Forgets everything at the coming edge.
        clear_i: In = bit(),
        /// An operation begins.
        begin_i: In = bit(),
        /// Number of commands for each DMA; read with begin_i.
        times_i: InArray = uint(p.times_width()).array(p.dmas),
        /// A command to this DMA is due; it stays until it is taken.
        asks_o: OutArray = bit().array(p.dmas),
        /// A DMA takes a command: a command that is due, or, if none is due, a command from elsewhere.
        taken_i: InArray = bit().array(p.dmas),
        /// A command of a DMA ends.
        ended_i: InArray = bit().array(p.dmas),
        /// With ended_i: 0, or a number of `dma_error`.
        error_i: InArray = uint(3).array(p.dmas),
        /// Nothing is due, and all commands that were taken have ended.
        done_o: Out = bit(),
        /// Not 0 for one cycle: a command ended with an error, by this number of `job_error`. If several DMAs have one,
        /// the first DMA's error.
        error_o: Out = uint(8),
    }
}

impl Block for CommandList {
    type Ports = CommandListPorts;
    const ABOUT: About = About {
        name: "command_list",
        summary: "commands to the DMAs of an operation, and their ends",
        contract: "From the cycle after begin_i on, asks_o of each DMA is high until its number of commands was\n\
            taken. done_o is valid from that cycle on.\n\
            An operation begins when the one before is done, or was cleared.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &CommandListPorts) {
        let (times, count) = (uint(self.times_width()), uint(self.open_width()));
        let over = m.nets("over", bit(), self.dmas);
        let faults = m.nets("fault", uint(3), self.dmas);
        m.for_each("dmas", self.dmas, |m, k| {
            let (taken, ended) = (io.taken_i.at(k), io.ended_i.at(k));
            let due = m.reg_init("due_q", times, 0);
            let asks = m.wire("asks", due.q.any());
            let fewer = due.q.wrapping_sub((asks & taken).extend(times.width));
            due.next(mux(io.clear_i, times.lit(0), mux(io.begin_i, io.times_i.at(k), fewer)));
            let open = m.reg_init("open_q", count, 0);
            let moved = open.q.wrapping_add(taken.extend(count.width)).wrapping_sub(ended.extend(count.width));
            open.next(mux(io.clear_i | io.begin_i, count.lit(0), moved));
            m.connect(io.asks_o.at(k), asks);
            m.connect(over.at(k), !asks & !open.q.any());
            m.connect(faults.at(k), io.error_i.at(k) & ended.repeat(3));
        });
        let all_over = m.wire("all_over", over.packed().all());
        m.connect(io.done_o, all_over);

        let code = |number: u32| uint(8).lit(number);
        let errors: Vec<(Signal, Signal)> = (0..self.dmas).map(|k| (faults.at(k).any(), faults.at(k))).collect();
        let fault = m.wire("first_fault", select(&errors, uint(3).lit(dma_error::NONE)));
        let meanings = [
            (fault.eq(dma_error::NONE), code(0)),
            (fault.eq(dma_error::SLVERR), code(job_error::SLVERR)),
            (fault.eq(dma_error::DECERR), code(job_error::DECERR)),
        ];
        // The DMAs refuse no operand that operand_list has passed.
        m.connect(io.error_o, select(&meanings, code(job_error::WINDOW)));
        self.properties(m, io);
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1)
    }
}

impl CommandList {
    /// Commands of each DMA as the ports show them: exactly as many as requested are given, and all have ended when
    /// `done_o` says so.
    fn properties(&self, m: &mut Module, io: &CommandListPorts) {
        m.formal(|m| m.for_each("formal", self.dmas, |m, k| self.properties_of(m, io, k)));
    }

    fn properties_of(&self, m: &mut Module, io: &CommandListPorts, k: Index) {
        let (asks, taken, ended) = (io.asks_o.at(k), io.taken_i.at(k), io.ended_i.at(k));
        let (times, count) = (uint(self.times_width()), uint(self.open_width()));
        m.comment("The environment: operations follow each other, only taken commands end, no DMA takes too many.");
        m.assume("begins_when_done", !io.begin_i | io.done_o);
        let open = m.reg_init("formal_open_q", count, 0);
        let moved = open.q.wrapping_add(taken.extend(count.width)).wrapping_sub(ended.extend(count.width));
        open.next(mux(io.clear_i | io.begin_i, count.lit(0), moved));
        m.assume("what_ends_was_taken", !ended | open.q.any());
        m.assume("room_for_what_is_taken", !taken | open.q.le(self.commands));
        m.assume("nothing_is_taken_unasked", !taken | asks);

        let wanted = m.reg_init("formal_wanted_q", times, 0);
        wanted.next(mux(io.clear_i, times.lit(0), mux(io.begin_i, io.times_i.at(k), wanted.q)));
        let given = m.reg_init("formal_given_q", times, 0);
        let more = given.q.wrapping_add(taken.extend(times.width));
        given.next(mux(io.clear_i | io.begin_i, times.lit(0), more));
        m.assert_always("never_more_often", given.q.le(wanted.q));
        m.assert_always("asks_until_all_are_given", asks.eq(given.q.ne(wanted.q)));
        m.assert_always("done_behind_the_last_end", !io.done_o | (given.q.eq(wanted.q) & !open.q.any()));
        m.assert_always("an_error_is_told", !(ended & io.error_i.at(k).any()) | io.error_o.any());
        m.cover("all_given_and_ended", io.done_o & wanted.q.eq(self.times));
    }
}
