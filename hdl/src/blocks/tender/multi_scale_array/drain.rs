//! Right edge: which rows show a sum, and how four sums of nibbles become one of bytes.

use super::super::mesh_pe::MeshPe;
use super::edges::Entry;
use super::{MultiScaleArrayOf, MultiScaleArrayPorts};
use crate::lang::{Array, Module, Signal, bit, bits_for, cat, mux, sint, uint};

/// Sums that leave the mesh: element (r, columns) comes out of row r.
pub(super) struct Leaving {
    pub(super) result: Array,
    pub(super) overflow: Array,
    /// The first sum of row 0 is there.
    pub(super) starts: Signal,
}

/// Sums that leave a pair of rows, the low one a cycle ago, each with its flag.
struct Parts {
    high: (Signal, Signal),
    low: (Signal, Signal),
    /// They are parts of a sum of bytes.
    bytes: Signal,
}

impl<P: MeshPe> MultiScaleArrayOf<P> {
    pub(super) fn results(&self, m: &mut Module, io: &MultiScaleArrayPorts, leaving: &Leaving, entry: &Entry) {
        let (rows, columns) = (self.rows, self.columns);
        let valid = m.nets("valid", bit(), rows);
        m.comment("Row 0 shows a sum for one cycle per column, each row one cycle after the row above.");
        if columns == 1 {
            m.connect(valid.at(0), leaving.starts);
        } else {
            let left = m.reg_init("left_q", uint(bits_for(u64::from(columns) - 1)), 0);
            let more = m.wire("more", left.q.any());
            left.next(mux(leaving.starts, left.q.ty().lit(columns - 1), mux(more, left.q.wrapping_sub(1), 0)));
            m.connect(valid.at(0), leaving.starts | more);
        }
        m.for_each("valid_below", rows - 1, |m, r| {
            let valid_q = m.reg_init("valid_q", bit(), 0);
            valid_q.next(valid.at(r));
            m.connect(valid.at(r + 1), valid_q.q);
        });
        match entry.int8 {
            None => m.for_each("out", rows, |m, r| {
                m.connect(io.result_valid_o.at(r), valid.at(r));
                m.connect(io.result_o.at(r), leaving.result.at((r, columns)));
                m.connect(io.overflow_o.at(r), leaving.overflow.at((r, columns)));
            }),
            Some(int8) => self.combine(m, io, leaving, valid, entry.last, int8),
        }
    }

    fn combine(
        &self,
        m: &mut Module,
        io: &MultiScaleArrayPorts,
        leaving: &Leaving,
        valid: Array,
        last: Signal,
        int8: Signal,
    ) {
        let (rows, columns, width) = (self.rows, self.columns, self.pe.sum_bits());
        let (nibble, wide) = (self.pe.operand_bits(), self.result_width());
        m.comment("The mode of a tile goes with its last step, and comes out with its sums.");
        let length = columns + 1 + self.pe.ranks();
        let line = m.reg_init("int8_line_q", uint(length), 0);
        line.next(cat(&[line.q.slice(0..length - 1), last & int8]));
        let kept = m.reg_init("int8_q", bit(), 0);
        let mode = m.nets("int8_row", bit(), rows);
        m.connect(mode.at(0), mux(leaving.starts, line.q.msb(), kept.q));
        kept.next(mode.at(0));
        // Columns come in pairs, the high nibble first.
        let second = m.nets("second", bit(), rows);
        let toggles = m.reg_init("second_q", bit(), 0);
        toggles.next(toggles.q ^ valid.at(0));
        m.connect(second.at(0), toggles.q);
        m.for_each("mode_below", rows - 1, |m, r| {
            for (name, array) in [("int8_row_q", mode), ("second_row_q", second)] {
                let row = m.reg_init(name, bit(), 0);
                row.next(array.at(r));
                m.connect(array.at(r + 1), row.q);
            }
        });
        m.for_each("pair", rows / 2, |m, i| {
            let (low, high) = (i * 2, i * 2 + 1);
            let sum = |row| leaving.result.at((row, columns));
            let flag = |row| leaving.overflow.at((row, columns));
            let out = |m: &mut Module, name: &str, row, is_valid: Signal, value: Signal, overflow: Signal| {
                let valid_q = m.reg_init(&format!("{name}_valid_q"), bit(), 0);
                let value_q = m.reg(&format!("{name}_q"), sint(wide));
                let overflow_q = m.reg(&format!("{name}_overflow_q"), bit());
                valid_q.next(is_valid);
                value_q.next(value);
                overflow_q.next(overflow);
                m.connect(io.result_valid_o.at(row), valid_q.q);
                m.connect(io.result_o.at(row), value_q.q);
                m.connect(io.overflow_o.at(row), overflow_q.q);
            };
            let low_valid = valid.at(low) & !mode.at(low);
            let (low_sum, low_overflow) = (sum(low), flag(low));
            let shown = self.as_late_as_bytes(m, "low", &[low_valid, low_sum, low_overflow]);
            out(m, "low_out", low, shown[0], shown[1].extend(wide), shown[2]);
            m.comment("The low row is one cycle ahead of the high row.");
            let low_before = m.reg("low_before_q", sint(width));
            let low_flag = m.reg("low_flag_q", bit());
            low_before.next(low_sum);
            low_flag.next(low_overflow);
            let bytes = mode.at(high);
            let high_valid = valid.at(high) & (!bytes | second.at(high));
            if self.short_paths() {
                let parts = Parts { high: (sum(high), flag(high)), low: (low_before.q, low_flag.q), bytes };
                let (value, overflow) = self.combine_in_steps(m, &parts);
                let shown = self.as_late_as_bytes(m, "high", &[high_valid]);
                out(m, "high_out", high, shown[0], value, overflow);
                return;
            }
            let column = m.wire("column", sum(high).shl(nibble) + low_before.q);
            let column_flag = m.wire("column_flag", flag(high) | low_flag.q);
            let high_column = m.reg("high_column_q", column.ty());
            let high_flag = m.reg("high_flag_q", bit());
            high_column.next(column);
            high_flag.next(column_flag);
            let whole = m.wire("whole", (high_column.q.shl(nibble) + column).truncate(wide));
            let value = mux(bytes, whole, sum(high).extend(wide));
            let overflow = mux(bytes, column_flag | high_flag.q, flag(high));
            out(m, "high_out", high, high_valid, value, overflow);
        });
    }

    /// As late as the sums of [`Self::combine_in_steps`].
    fn as_late_as_bytes(&self, m: &mut Module, name: &str, signals: &[Signal]) -> Vec<Signal> {
        let steps = self.behind() - 1;
        let mut late = signals.to_vec();
        for step in 1..=steps {
            for (i, signal) in late.iter_mut().enumerate() {
                let name = format!("{name}_{}_{step}_q", ["valid", "sum", "flag"][i]);
                // Only valid signals have to be known after a reset.
                let register = if i == 0 { m.reg_init(&name, bit(), 0) } else { m.reg(&name, signal.ty()) };
                register.next(*signal);
                *signal = register.q;
            }
        }
        late
    }

    /// The sum that a high row shows, an addition a cycle. A sum of its own takes the way of the low row's sum, with
    /// zeros beside it: so no multiplexer follows an addition.
    fn combine_in_steps(&self, m: &mut Module, parts: &Parts) -> (Signal, Signal) {
        let (nibble, wide) = (self.pe.operand_bits(), self.result_width());
        let kept = |m: &mut Module, name: &str, signal: Signal| {
            let register = m.reg(name, signal.ty());
            register.next(signal);
            register.q
        };
        let bytes = kept(m, "bytes_q", parts.bytes);
        let upper = kept(m, "upper_q", mux(parts.bytes, parts.high.0, 0));
        let lower = kept(m, "lower_q", mux(parts.bytes, parts.low.0, parts.high.0));
        let flag = kept(m, "parts_flag_q", parts.high.1 | (parts.low.1 & parts.bytes));
        let column = kept(m, "column_q", upper.shl(nibble) + lower);
        let column_flag = kept(m, "column_flag_q", flag);
        let high_column = kept(m, "high_column_q", mux(bytes, column, 0));
        let high_flag = kept(m, "high_flag_q", column_flag & bytes);
        let whole = m.wire("whole", (high_column.shl(nibble) + column).truncate(wide));
        (whole, column_flag | high_flag)
    }
}
