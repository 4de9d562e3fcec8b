//! A lane put together, and how its sums leave.

use super::PeLane;
use super::drain::LaneDrain;
use super::properties::Inside;
use super::streams::PeLanePorts;
use crate::blocks::common::row::held;
use crate::lang::{About, Array, Block, Module, Signal, Timing, bit, bits_for, mux, sint, uint};

impl Block for PeLane {
    type Ports = PeLanePorts;
    const ABOUT: About = About {
        name: "pe_lane",
        summary: "lane of an index-based MatMul: weight buffer, products of centroids by index, exact sums of many columns",
        contract: "For the columns of a group (beats up to one with last), sum = the sum over all present pairs of\n\
            activation centroid x weight centroid, 16 times that in beats with high: exact, whatever the order.\n\
            Sums leave in the order of columns, `outputs` at once. Beat t of a bank meets word t of it. Banks are\n\
            filled and used in turn. A bank that is kept is begun again; otherwise it is free. The words of a bank\n\
            end with last, the beats with end or last, and both after `buffer` words. error tells that sums are\n\
            wrong: more pairs than k (with pairs of high beats counting 16, more than 17 k), or a bank whose words\n\
            and beats did not end together. Such a group harms no other one, and nothing hangs. A beat is\n\
            multiplied with all entries that were taken before it, and with no later one. After a weight's entry\n\
            all entries of activations must be written again: products are made when these come. Without pauses,\n\
            with weights in time: sums come `latency` cycles after the last beat, groups every max(beats, columns /\n\
            outputs) cycles. clear_i may come at any time; it keeps the codebooks, also entries on their way. Reset\n\
            drops these too.",
        reference: "KLLM, sections III-B and IV-A",
    };

    fn build(&self, m: &mut Module, io: &PeLanePorts) {
        m.comment("All ranks move on, unless complete columns wait.");
        let done = m.reg_init("done_q", bit(), 0);
        let leaving = m.reg_init("leaving_q", uint(bits_for(self.drain().into())), 0);
        let leaves = m.wire("leaves", io.sums.fire());
        let free = m.wire("free", leaving.q.eq(0) | (leaving.q.eq(1) & leaves));
        let copy = m.wire("copy", done.q & free);
        let enable = m.wire("enable", !done.q | free);

        let front = self.front(m, io, enable);
        let marks = self.marks(m, io, &front, enable);
        let now = marks[marks.len() - 1];
        let add = m.wire("add", now.valid & enable & !io.clear_i);
        done.next(mux(enable, now.valid & now.last, done.q) & !io.clear_i);
        let error = m.reg("error_q", bit());
        error.next_when(enable, now.error);

        let special = now.special.map(|special| held(m, "special_done", special, 1, enable));

        let sums = m.nets("column_sum", sint(self.sum_width()), self.columns);
        let sparse = (self.outliers > 0).then(|| m.nets("outlier_sum", sint(self.outlier_width()), self.columns));
        let choices = self.codebooks(m, io, &front, (&marks, enable));
        let place = front.outlier.map(|outlier| self.place(m, &outlier, enable));
        m.for_each("columns", self.columns, |m, c| {
            let u = m.instance("u_column", self.column());
            m.connect(u.enable_i, enable);
            m.for_each("w", self.inputs, |m, i| m.connect(u.w_i.at(i), front.word.at(c * self.inputs + i)));
            for (to, from) in
                [(u.rows_i, choices.rows), (u.factors_i, choices.factors), (u.centroids_i, choices.centroids)]
            {
                if let (Some(to), Some(from)) = (to, from) {
                    m.connect(to.packed(), from.packed());
                }
            }
            m.connect_option(u.place_i, place);
            if let (Some(rows), Some(shift), Some(from)) = (u.outlier_rows_i, u.shift_i, &choices.outliers) {
                m.connect(rows.packed(), from.rows.packed());
                m.connect(shift, from.shift);
            }
            if let (Some(to), Some(from)) = (sparse, u.outlier_sum_o) {
                m.connect(to.at(c), from);
            }
            m.connect(u.add_i, add);
            m.connect(u.start_i, now.start);
            m.connect(u.high_i, now.high);
            m.connect(sums.at(c), u.sum_o);
        });
        self.leave(m, io, (copy, leaves), leaving.q, (sums, error.q));
        if let (Some(sums), Some(special)) = (sparse, special) {
            self.leave_outliers(m, io, (copy, leaves), (sums, special));
        }
        let none = leaving.q.ty().lit(0);
        let fewer = mux(leaves, leaving.q.wrapping_sub(1), leaving.q);
        leaving.next(mux(io.clear_i, none, mux(copy, leaving.q.ty().lit(self.drain()), fewer)));
        let (marks, done, leaving) = (&marks[..], done.q, leaving.q);
        let inside = Inside { front: &front, marks, enable, add, copy, done, leaving, sums, outlier_sums: sparse };
        self.properties(m, io, &inside);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency()).phase("drain", self.drain(), "beats of the sums of all columns")
    }
}

impl PeLane {
    fn leave(
        &self,
        m: &mut Module,
        io: &PeLanePorts,
        (copy, leaves): (Signal, Signal),
        leaving: Signal,
        (sums, error): (Array, Signal),
    ) {
        m.comment("The columns that leave.");
        let kept = self.copied(m, "leaving_sums", (copy, leaves), sums);
        let wrong = m.reg("leaving_error_q", bit());
        wrong.next_when(copy, error);
        m.connect(io.sums.valid, leaving.any());
        m.for_each("sums", self.outputs, |m, o| m.connect(io.sums.sum.at(o), kept.at(o)));
        m.connect(io.sums.error, wrong.q);
        m.connect(io.sums.last, leaving.eq(1));
    }

    /// A copy of the columns. Returns the sums that leave next.
    pub(super) fn copied(&self, m: &mut Module, name: &str, (copy, leaves): (Signal, Signal), sums: Array) -> Array {
        let (columns, outputs, width) = (self.columns, self.outputs, sums.ty().element.width);
        let u = m.instance(&format!("u_{name}"), LaneDrain { columns, width, outputs });
        m.connect(u.copy_i, copy);
        m.connect(u.leaves_i, leaves);
        m.connect_each(&format!("{name}_copied"), u.sums_i, sums);
        u.next_o
    }
}
