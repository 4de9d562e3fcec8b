//! The register beside an accumulator, a place in the row that shifts sums out.

use crate::blocks::tender::mesh_pe::MeshPorts;
use crate::lang::{Module, Signal, bit, cat, mux};

/// The ports by which sums move along a row of PEs with double drain.
#[derive(Clone, Copy, Debug)]
pub struct RowOfSums {
    /// The row starts to shift its sums out.
    pub drain_i: Signal,
    /// Sum of the left neighbour.
    pub result_i: Signal,
    /// Its overflow flag.
    pub overflow_i: Signal,
    /// The sum that leaves.
    pub result_o: Signal,
    /// Its overflow flag.
    pub overflow_o: Signal,
}

impl RowOfSums {
    /// Inside of a PE with these ports.
    #[must_use]
    pub fn of(io: &MeshPorts) -> Self {
        let ((result_i, result_o), (overflow_i, overflow_o)) = (io.result, io.overflow);
        Self { drain_i: io.drain, result_i, overflow_i, result_o, overflow_o }
    }

    /// The register beside an accumulator. It takes the sum of a tile in the cycle in which it is `complete`, then the sums
    /// of the row.
    pub fn register(&self, m: &mut Module, complete: Signal, (acc, overflow): (Signal, Signal)) {
        // The rest of the row may be working still: a sum waits until all can move.
        let holds = m.reg_init("holds_q", bit(), 0);
        holds.next(complete | (holds.q & !self.drain_i));
        let moves = m.wire("moves", complete | self.drain_i | !holds.q);
        let result = m.reg("result_q", acc.ty());
        let result_overflow = m.reg("result_overflow_q", bit());
        result.next_when(moves, mux(complete, acc, self.result_i));
        result_overflow.next_when(moves, mux(complete, overflow, self.overflow_i));
        m.connect(self.result_o, result.q);
        m.connect(self.overflow_o, result_overflow.q);
    }

    /// Proofs, in a formal section: the sum of a tile stays until the row moves. `last` is a cycle before the sum is complete.
    pub fn properties(&self, m: &mut Module, last: Signal, (acc, overflow): (Signal, Signal)) {
        let [complete, waits, moved] =
            ["ended", "waits", "moved"].map(|name| m.reg_init(&format!("spec_row_{name}_q"), bit(), 0));
        complete.next(last);
        waits.next(complete.q | (waits.q & !self.drain_i));
        moved.next(!complete.q & self.drain_i);
        let (sum, neighbour) = (cat(&[overflow, acc]), cat(&[self.overflow_i, self.result_i]));
        let [kept, entered] = ["kept", "entered"].map(|name| m.reg(&format!("spec_row_{name}_q"), sum.ty()));
        kept.next_when(complete.q, sum);
        entered.next(neighbour);
        let result = m.wire("spec_result", cat(&[self.overflow_o, self.result_o]));
        m.assert_always("sum_waits", !waits.q | result.eq(kept.q));
        m.assert_always("row_moves", !moved.q | result.eq(entered.q));
        m.cover("a_sum_waits", waits.q & !complete.q & self.result_o.lt(-2));
    }
}
