//! The header of a descriptor, and what the controller keeps of a job.

use super::{INDEPENDENT, JobControllerPorts, KEPT};
use crate::lang::{Module, Reg, Signal, bit, mux, uint};

/// The header of a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub magic: Signal,
    pub version: Signal,
    pub opcode: Signal,
    pub writes_tag: Signal,
    pub independent: Signal,
    pub early: Signal,
    /// A bit that must be 0 is not.
    pub reserved: Signal,
    pub next: Signal,
    pub tag: Signal,
    pub tag_address: Signal,
}

impl Header {
    pub fn of(bits: Signal) -> Self {
        let bytes = |from: u32, to: u32| bits.slice(8 * from..8 * to);
        Self {
            magic: bytes(0, 4),
            version: bytes(4, 5),
            opcode: bytes(5, 6),
            writes_tag: bits.bit(48),
            independent: bits.slice(49..49 + INDEPENDENT),
            early: bits.slice(49 + INDEPENDENT..49 + 2 * INDEPENDENT),
            reserved: bits.slice(49 + 2 * INDEPENDENT..64).any() | bytes(20, 24).any(),
            next: bytes(8, 16),
            tag: bytes(16, 20),
            tag_address: bytes(24, 32),
        }
    }
}

/// The state of the job in the controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    /// Address of the descriptor.
    pub current: Reg,
    /// Descriptors that are completed.
    pub done: Reg,
    pub tag: Reg,
    pub code: Reg,
    pub place: Reg,
    /// The job ended because memory did not answer.
    pub timed_out: Reg,
}

/// Events of this cycle.
pub(super) struct Step {
    pub begins: Signal,
    pub fails: Signal,
    pub failed: Signal,
    pub late: Signal,
    pub completed: Signal,
    pub work_ends: Signal,
    pub header: Header,
}

impl Registers {
    pub fn new(m: &mut Module, count_width: u32) -> Self {
        Self {
            current: m.reg("current_q", uint(64)),
            done: m.reg_init("descriptors_q", uint(count_width), 0),
            tag: m.reg_init("tag_q", uint(32), 0),
            code: m.reg_init("error_code_q", uint(8), 0),
            place: m.reg_init("error_where_q", uint(64), 0),
            timed_out: m.reg_init("timed_out_q", bit(), 0),
        }
    }

    pub fn step(&self, m: &mut Module, io: &JobControllerPorts, now: Step) {
        let Step { begins, fails, failed, late, completed, work_ends, header } = now;
        self.current.next_when(begins | completed, mux(begins, io.host.job_i, header.next));
        let counted = mux(completed, self.done.q.wrapping_add(1), self.done.q);
        let tag = mux(begins, uint(32).lit(0), header.tag);
        if let (Some(back), Some(kept)) = (io.operation_end.back, io.operation_end.kept) {
            // Some operation failed: this one, or one before.
            let falls = m.wire("falls", fails & work_ends & io.operation_end.error.any());
            let width = counted.width();
            let back = if width > back.width() { back.extend(width) } else { back.truncate(width) };
            let fewer = counted.wrapping_sub(back);
            self.done.next(mux(begins, counted.ty().lit(0), mux(falls, fewer, counted)));
            self.tag.next_when(begins | completed | falls, mux(falls, kept.slice(64..KEPT), tag));
            self.place.next_when(fails, mux(falls, kept.slice(0..64), self.current.q));
        } else {
            self.done.next(mux(begins, counted.ty().lit(0), counted));
            self.tag.next_when(begins | completed, tag);
            self.place.next_when(fails, self.current.q);
        }
        self.code.next_when(fails | begins, failed);
        self.timed_out.next_when(fails | begins, late & fails);
        m.connect(io.host.descriptors_o, self.done.q.extend(32));
        m.connect(io.host.tag_o, self.tag.q);
        m.connect(io.host.error_code_o, self.code.q);
        m.connect(io.host.error_where_o, self.place.q);
    }
}
