//! Checks the operands of an operation, one after the other, until one is wrong.

use super::operand_check::{Operand, OperandCheck};
use crate::lang::{
    About, Block, In, InBundle, Module, Out, bit, connect_all, index_width, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct OperandList {
        /// Bits of the number of an operand.
        index_width: u32 = 3, in 1..=4, tag "i";
        /// The check of one operand.
        check: OperandCheck = OperandCheck::default();
    }
}

ports! {
    /// Ports of [`OperandList`].
    pub struct OperandListPorts(p: &OperandList) {
        /// Drops the operand in flight at the coming edge.
        clear_i: In = bit(),
        /// First byte that may be touched; steady from start_i to the end.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady from start_i to the end.
        window_limit_i: In = uint(64),
        /// Begins with operand 0; ignored while operands are being checked.
        start_i: In = bit(),
        /// The last operand; steady from start_i to the end.
        last_i: In = uint(p.index_width),
        /// The operand that is being checked; steady until that has ended.
        index_o: Out = uint(p.index_width),
        /// Operand index_o is used; operands that are not used count as right. Follows index_o in the same cycle.
        used_i: In = bit(),
        /// Operand index_o. Follows it in the same cycle.
        operand: InBundle<Operand> = p.check.clone(),
        /// For one cycle: all operands are right.
        passed_o: Out = bit(),
        /// Not 0 for one cycle: operand index_o is wrong, by this number of `job_error`. Operands after it are not
        /// checked.
        error_o: Out = uint(8),
    }
}

impl OperandList {
    /// A list of up to so many operands.
    pub fn of(operands: u32, check: OperandCheck) -> Self {
        Self { index_width: index_width(operands.into()), check }
    }
}

impl Block for OperandList {
    type Ports = OperandListPorts;
    const ABOUT: About = About {
        name: "operand_list",
        summary: "alignment and window of the operands of an operation",
        contract: "operand_check checks each operand that is used, in the order of their numbers. passed_o or\n\
            error_o ends the check that start_i began, unless clear_i ends it. The next start may come one cycle\n\
            after that.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &OperandListPorts) {
        let state = m.fsm("state", &["Idle", "Ask", "Verdict"]);
        let ty = uint(self.index_width);
        let at = m.reg("index_q", ty);
        m.connect(io.index_o, at.q);
        let check = m.instance("u_check", self.check.clone());
        connect_all!(m, check, io, [clear_i, window_base_i, window_limit_i]);
        m.connect(check.operand.valid, state.is("Ask") & io.used_i);
        connect_all!(m, check.operand, io.operand, [address, row_bytes, rows, stride]);
        m.connect(check.verdict.ready, state.is("Verdict"));
        let judged = m.wire("judged", check.verdict.fire());
        let wrong = m.wire("wrong", check.verdict.error.any());
        let passes = m.wire("passes", (state.is("Ask") & !io.used_i) | (judged & !wrong));
        at.next(mux(state.is("Idle"), ty.lit(0), mux(passes, at.q.wrapping_add(1), at.q)));
        let passed = m.wire("passed", passes & at.q.eq(io.last_i));
        m.connect(io.passed_o, passed);
        m.connect(io.error_o, check.verdict.error & judged.repeat(8));

        for from in ["Idle", "Ask", "Verdict"] {
            state.goto(from, io.clear_i, "Idle");
        }
        state.goto("Idle", io.start_i, "Ask");
        state.goto("Ask", passed, "Idle");
        state.goto("Ask", io.used_i & check.operand.ready, "Verdict");
        state.goto("Verdict", (judged & wrong) | passed, "Idle");
        state.goto("Verdict", judged, "Ask");
    }
}
