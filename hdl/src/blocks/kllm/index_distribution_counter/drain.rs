//! The drain: a snapshot of the complete column, read in bin order.

use super::{Control, Counting, IndexDistributionCounter, IndexDistributionCounterPorts, Log};
use crate::blocks::common::number_format::count_ones;
use crate::lang::{Module, Signal, bit, bits_for, cat, mux, reduce, uint};

/// A row of bins and what goes with it.
pub(super) struct Row<'a> {
    /// Registers of the row's bins.
    pub counts: Vec<Signal>,
    /// Overflows of all bins.
    pub log: Option<&'a Log>,
    /// Number of the row.
    pub row: Signal,
    /// The bins count bits of integers.
    pub integer: Signal,
}

/// The column that is being drained.
pub(super) struct Source {
    counts: Vec<Signal>,
    log: Option<Log>,
    integer: Signal,
    half: Signal,
}

impl IndexDistributionCounter {
    pub(super) fn drain(
        &self,
        m: &mut Module,
        io: &IndexDistributionCounterPorts,
        control: &Control,
        counting: &Counting,
    ) {
        let finishing = m.wire("finishing", io.bins.fire() & io.bins.field("last"));
        if self.ping_pong {
            let draining = m.reg_init("draining_q", bit(), 0);
            m.connect(control.draining, draining.q);
            m.connect(control.swap, control.complete & (!draining.q | finishing));
            draining.next(control.swap | (draining.q & !finishing));
        } else {
            m.connect(control.swap, finishing);
        }
        let source = if self.ping_pong { self.snapshot(m, control, counting) } else { self.in_place(counting) };
        let row = m.reg_init("row_q", uint(self.a_bits), 0);
        let column = m.reg_init("column_q", uint(self.b_bits), 0);
        let moves = m.wire("moves", io.bins.fire());
        let end_of_row = m.wire("end_of_row", column.q.all() | source.integer);
        m.connect(control.next_row, moves & end_of_row);
        column.next_when(moves, mux(end_of_row, column.q.ty().lit(0), column.q.wrapping_add(1)));
        row.next_when(moves & end_of_row, mux(finishing, row.q.ty().lit(0), row.q.wrapping_add(1)));
        // The last row is all ones, and without its highest bit in the lower half.
        let last_row = if self.a_bits == 1 {
            row.q.eq(!source.half)
        } else {
            row.q.msb().eq(!source.half) & row.q.truncate(self.a_bits - 1).all()
        };
        let of = Row { counts: source.counts, log: source.log.as_ref(), row: row.q, integer: source.integer };
        let count = self.count(m, "drained", &of, column.q);
        let width = self.a_bits + self.b_bits;
        m.connect(io.bins.valid, control.draining);
        m.connect(io.bins.field("bin"), mux(source.integer, row.q.extend(width), cat(&[row.q, column.q])));
        m.connect(io.bins.field("count"), count);
        m.connect(io.bins.field("last"), end_of_row & last_row);
    }

    /// The first row of a copy of the bins that moves up a row at a time.
    fn snapshot(&self, m: &mut Module, control: &Control, counting: &Counting) -> Source {
        m.comment("The column that goes out.");
        let (rows, columns) = (self.rows(), self.columns());
        let counts = m.grid("snapshot", uint(self.bin_width()), rows + 1, columns);
        m.for_each("snapshot_end", columns, |m, c| m.connect(counts.at((rows, c)), 0));
        let takes = m.wire("snapshot_takes", control.swap | control.next_row);
        m.for_each("snapshot_rows", rows, |m, r| {
            m.for_each("snapshot_columns", columns, |m, c| {
                let count = m.reg("snapshot_q", uint(self.bin_width()));
                count.next_when(takes, mux(control.swap, counting.counts.at((r, c)), counts.at((r + 1, c))));
                m.connect(counts.at((r, c)), count.q);
            });
        });
        let mut keep = |name: &str, value: Signal| {
            let kept = m.reg(name, value.ty());
            kept.next_when(control.swap, value);
            kept.q
        };
        let integer = keep("snapshot_integer_q", counting.integer);
        let half = keep("snapshot_half_q", counting.half);
        let log = counting.log.as_ref().map(|log| Log {
            bins: (0..).zip(&log.bins).map(|(e, &s)| keep(&format!("snapshot_log_{e}_q"), s)).collect(),
            used: (0..).zip(&log.used).map(|(e, &s)| keep(&format!("snapshot_log_used_{e}_q"), s)).collect(),
        });
        Source { counts: (0..columns).map(|c| counts.at((0, c))).collect(), log, integer, half }
    }

    /// The first row of the bins themselves, which move while nothing is counted.
    fn in_place(&self, counting: &Counting) -> Source {
        let copy = |log: &Log| Log { bins: log.bins.clone(), used: log.used.clone() };
        Source {
            counts: (0..self.columns()).map(|c| counting.counts.at((0, c))).collect(),
            log: counting.log.as_ref().map(copy),
            integer: counting.integer,
            half: counting.half,
        }
    }

    /// The count of a bin of `row`: of its `column`, or the sum of all integers.
    pub(super) fn count(&self, m: &mut Module, name: &str, row: &Row<'_>, column: Signal) -> Signal {
        // A bin's own count reaches k, a sum of integers more.
        let (narrow, width) = (bits_for(u64::from(self.k)), self.count_width());
        let short = self.bin_width() - 1;
        let high = |overflows: Signal| {
            let bits = narrow - short;
            let overflows = if overflows.width() > bits { overflows.truncate(bits) } else { overflows.extend(bits) };
            overflows.shl(short)
        };
        let here = m.lookup(&format!("{name}_bin"), column, &row.counts);
        let counted = match row.log {
            None => here,
            Some(log) => {
                let bin = m.wire(&format!("{name}_index"), cat(&[row.row, column]));
                let same: Vec<_> = log.bins.iter().zip(&log.used).map(|(&b, &used)| b.eq(bin) & used).collect();
                let overflows = m.wire(&format!("{name}_overflows"), count_ones(&same));
                high(overflows).wrapping_add(here)
            }
        };
        let bits: Vec<_> = (0..self.b_bits)
            .map(|j| {
                let of_bit = |c: u32| row.counts[c as usize];
                let ones = match row.log {
                    None => of_bit(j),
                    Some(_) => high(of_bit(j + self.b_bits)).wrapping_add(of_bit(j)),
                };
                m.wire(&format!("{name}_ones_{j}"), ones).shl(j).extend(width)
            })
            .collect();
        let sum = reduce(&bits, |a, b| a.wrapping_add(b)).unwrap_or(counted);
        let sum = m.wire(&format!("{name}_sum"), sum);
        let counted = counted.extend(width);
        m.wire(&format!("{name}_count"), mux(row.integer, sum, counted))
    }
}
