//! Decoding and counting: the registers of the column that is being counted, and the log of their overflows.

use super::{Control, Counting, IndexDistributionCounter, IndexDistributionCounterPorts, Log};
use crate::blocks::common::number_format::count_ones;
use crate::lang::{Array, Module, Signal, bit, cat, index_width, mux, or_all, select, uint};

/// One-hot halves of all inputs: a bit per input.
struct Decoded {
    /// Inputs with activation part r, and present.
    row: Array,
    /// Inputs with weight part c; in integer mode, inputs whose integer has bit c.
    column: Array,
}

impl IndexDistributionCounter {
    pub(super) fn counting(
        &self,
        m: &mut Module,
        io: &IndexDistributionCounterPorts,
        control: &Control,
    ) -> Counting {
        let (rows, columns, width) = (self.rows(), self.columns(), self.bin_width());
        let decoded = self.decode(m, io, control);
        let integer_now = io.indices.field("integer");
        let integer = m.reg("integer_q", bit());
        integer.next_when(control.fire, integer_now);
        // Without a snapshot the drain moves the rows here, and nothing follows the last one.
        let half = m.reg("half_q", bit());
        half.next_when(control.fire, io.indices.field("half"));
        let counts = m.grid("counts", uint(width), rows + u32::from(!self.ping_pong), columns);
        if !self.ping_pong {
            m.for_each("below_rows", columns, |m, c| m.connect(counts.at((rows, c)), 0));
        }
        let overflow = (self.log_entries() > 0).then(|| self.overflows(m, control, counts, integer.q));
        m.comment("Counts of the column that comes in.");
        m.for_each("rows", rows, |m, r| {
            m.for_each("columns", columns, |m, c| {
                let hits = m.wire("hits", decoded.row.at(r) & decoded.column.at(c));
                let mut ones: Vec<Signal> = (0..self.inputs).map(|i| hits.bit(i)).collect();
                let held = match &overflow {
                    None => counts.at((r, c)),
                    Some(o) => {
                        ones.push(o.carry.at((r, c)));
                        let count = counts.at((r, c));
                        let waits = count.msb() & !(o.served_row.at(r) & o.served_column.at(c)) & !integer.q;
                        cat(&[waits, count.slice(0..width - 1)])
                    }
                };
                let base = m.wire("base", mux(!control.clear, held, 0));
                let next = m.wire("next", base.wrapping_add(count_ones(&ones)));
                let count = m.reg("count_q", uint(width));
                let next = if self.ping_pong {
                    next
                } else {
                    // The drain reads the first row.
                    let moved = mux(control.next_row, counts.at((r + 1, c)), counts.at((r, c)));
                    mux(control.draining, moved, next)
                };
                count.next(next);
                m.connect(counts.at((r, c)), count.q);
            });
        });
        Counting { counts, log: overflow.map(|o| o.log), integer: integer.q, half: half.q }
    }

    fn decode(&self, m: &mut Module, io: &IndexDistributionCounterPorts, control: &Control) -> Decoded {
        let (rows, columns) = (self.rows(), self.columns());
        let index = io.indices.array("index");
        let present = m.wire("present", io.indices.array("present").packed() & control.fire.repeat(self.inputs));
        let integer = io.indices.field("integer");
        let row = m.nets("row_hit", uint(self.inputs), rows);
        let column = m.nets("column_hit", uint(self.inputs), columns);
        let parts = |range: std::ops::Range<u32>| -> Vec<Signal> {
            (0..self.inputs).map(|i| index.at(i).slice(range.clone())).collect()
        };
        let (a, w) = (parts(self.b_bits..self.a_bits + self.b_bits), parts(0..self.b_bits));
        m.for_each("decode_rows", rows, |m, r| {
            let equal: Vec<_> = a.iter().rev().map(|a| a.eq(r.value(self.a_bits))).collect();
            m.connect(row.at(r), cat(&equal) & present);
        });
        for c in 0..columns {
            let hits = w.iter().rev().map(|w| {
                // Bit c of the integer; the columns beyond its bits count nothing.
                let bit_c = if c < self.b_bits { w.bit(c) } else { bit().lit(0) };
                mux(integer, bit_c, w.eq(c))
            });
            m.connect(column.at(c), cat(&hits.collect::<Vec<_>>()));
        }
        Decoded { row, column }
    }

    /// Finds one bin a cycle that has overflowed and logs it. In integer mode the columns beyond the integer's bits are
    /// idle: there, column j + nB counts the overflows of column j instead.
    fn overflows(&self, m: &mut Module, control: &Control, counts: Array, integer: Signal) -> Overflow {
        let (rows, columns) = (self.rows(), self.columns());
        m.comment("Bins that have overflowed: one a cycle enters the log.");
        let waiting = m.nets("waiting", uint(columns), rows);
        m.for_each("waiting_rows", rows, |m, r| {
            let bits: Vec<_> = (0..columns).rev().map(|c| counts.at((r, c)).msb()).collect();
            m.connect(waiting.at(r), cat(&bits));
        });
        let any: Vec<_> = (0..rows).map(|r| waiting.at(r).any()).collect();
        let row = m.wire("served_row_index", first(&any, self.a_bits));
        let found: Vec<_> = (0..rows).map(|r| waiting.at(r)).collect();
        let in_row = m.lookup("waiting_in_row", row, &found);
        let places: Vec<_> = (0..columns).map(|c| in_row.bit(c)).collect();
        let column = m.wire("served_column_index", first(&places, self.b_bits));
        // What waits when the column is complete goes along with the counts.
        let idle = if self.ping_pong { control.clear } else { control.clear | control.complete };
        let serve = m.wire("serve", or_all(bit(), &any) & !idle & !integer);
        let served_row = m.nets("served_row", bit(), rows);
        m.for_each("serve_rows", rows, |m, r| {
            m.connect(served_row.at(r), serve & row.eq(r.value(self.a_bits)));
        });
        let served_column = m.nets("served_column", bit(), columns);
        m.for_each("serve_columns", columns, |m, c| {
            m.connect(served_column.at(c), column.eq(c.value(self.b_bits)));
        });
        let carry = m.grid("carry", bit(), rows, columns);
        for c in 0..columns {
            m.for_each(&format!("carry_{c}"), rows, |m, r| {
                let value = if (self.b_bits..2 * self.b_bits).contains(&c) {
                    counts.at((r, c - self.b_bits)).msb() & integer & !idle
                } else {
                    bit().lit(0)
                };
                m.connect(carry.at((r, c)), value);
            });
        }
        let log = self.log(m, serve, control.clear, cat(&[row, column]));
        Overflow { carry, served_row, served_column, log }
    }

    /// New entries push the older ones on; the order does not matter.
    fn log(&self, m: &mut Module, serve: Signal, clear: Signal, entry: Signal) -> Log {
        let mut log = Log { bins: vec![], used: vec![] };
        for e in 0..self.log_entries() {
            let bin = m.reg(&format!("log_{e}_q"), entry.ty());
            bin.next_when(serve, log.bins.last().copied().unwrap_or(entry));
            let used = m.reg(&format!("log_used_{e}_q"), bit());
            let before = log.used.last().copied().unwrap_or_else(|| bit().lit(1));
            used.next(mux(serve, before, used.q) & !clear);
            log.bins.push(bin.q);
            log.used.push(used.q);
        }
        log
    }
}

struct Overflow {
    /// Ones that the bin takes from another bin's overflow.
    carry: Array,
    served_row: Array,
    served_column: Array,
    log: Log,
}

/// Number of the first bit that is high; the last one when none is.
fn first(bits: &[Signal], width: u32) -> Signal {
    debug_assert_eq!(width, index_width(bits.len() as u64));
    let ty = uint(width);
    let choices: Vec<_> = bits.iter().enumerate().map(|(i, &b)| (b, ty.lit(i))).collect();
    select(&choices[..choices.len() - 1], ty.lit(bits.len() - 1))
}
