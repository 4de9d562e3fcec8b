//! Decoding and counting: the registers of the column that is being counted, and the log of their overflows.
//!
//! Counts are kept bit by bit: plane j of a row holds bit j of the counts of all its bins. A full adder on planes is one
//! expression, and adds in all bins of the row at once.

use super::{Control, Counting, IndexDistributionCounter, IndexDistributionCounterPorts, Log};
use crate::lang::{Array, Module, Signal, bit, cat, index_width, mux, or_all, select, uint};

/// One-hot halves of all inputs.
struct Decoded {
    /// Per row, a bit per input: it has this activation part, and is present.
    row: Array,
    /// Per input, a bit per column: the input has this weight part; in integer mode, the integer.
    column: Array,
}

impl IndexDistributionCounter {
    pub(super) fn counting(&self, m: &mut Module, io: &IndexDistributionCounterPorts, control: &Control) -> Counting {
        let (rows, columns, width) = (self.rows(), self.columns(), self.bin_width());
        let decoded = self.decode(m, io, control);
        let mut hold = |name: &str, field: &str| {
            let held = m.reg(name, bit());
            held.next_when(control.fire, io.indices.field(field));
            held.q
        };
        let (integer, half) = (hold("integer_q", "integer"), hold("half_q", "half"));
        // The column in the registers does not change while it is drained from there.
        let frozen = if self.ping_pong { bit().lit(0) } else { control.complete };
        let counts = m.grid("counts", uint(columns), rows, width);
        let overflow = (self.log_entries() > 0).then(|| self.overflows(m, control, frozen, counts, integer));
        m.comment("Counts of the column that comes in: plane j of a row has bit j of its bins.");
        m.for_each("rows", rows, |m, r| {
            let hits = decoded.row.at(r);
            let mut hits: Vec<Signal> =
                (0..self.inputs).map(|i| decoded.column.at(i) & hits.bit(i).repeat(columns)).collect();
            let planes: Vec<Signal> = (0..width).map(|j| counts.at((r, j))).collect();
            let mut base = planes.clone();
            if let (Some(o), Some(waiting), Some(&now)) = (&overflow, base.last_mut(), planes.last()) {
                hits[0] = m.wire("first_hits", hits[0] | o.carry.at(r));
                *waiting = now & !o.settled.at(r);
            }
            let keep = m.wire("keep", (!control.clear).repeat(columns));
            let base: Vec<Signal> = base.into_iter().map(|plane| plane & keep).collect();
            for (j, next) in add_ones(m, &base, hits).into_iter().enumerate() {
                let count = m.reg(&format!("count_{j}_q"), uint(columns));
                if self.ping_pong {
                    count.next(next);
                } else {
                    count.next_when(!frozen, next);
                }
                m.connect(counts.at((r, j as u32)), count.q);
            }
        });
        Counting { counts, log: overflow.map(|o| o.log), integer, half }
    }

    fn decode(&self, m: &mut Module, io: &IndexDistributionCounterPorts, control: &Control) -> Decoded {
        let (rows, columns) = (self.rows(), self.columns());
        let index = io.indices.array("index");
        let present = m.wire("present", io.indices.array("present").packed() & control.fire.repeat(self.inputs));
        let integer = io.indices.field("integer");
        let row = m.nets("row_hit", uint(self.inputs), rows);
        m.for_each("decode_rows", rows, |m, r| {
            let number = m.wire("row_number", r.value(self.a_bits));
            let part = |i| index.at(i).slice(self.b_bits..self.a_bits + self.b_bits);
            let equal: Vec<_> = (0..self.inputs).rev().map(|i| part(i).eq(number)).collect();
            m.connect(row.at(r), cat(&equal) & present);
        });
        let column = m.nets("column_hit", uint(columns), self.inputs);
        m.for_each("decode_columns", self.inputs, |m, i| {
            let part = m.wire("weight_part", index.at(i).truncate(self.b_bits));
            let one_hot: Vec<_> = (0..columns).rev().map(|c| part.eq(c)).collect();
            m.connect(column.at(i), mux(integer, part.extend(columns), cat(&one_hot)));
        });
        Decoded { row, column }
    }

    /// Finds one bin a cycle that has overflowed and logs it. In integer mode the columns beyond the integer's bits are
    /// idle: there, column j + nB counts the overflows of column j instead.
    fn overflows(&self, m: &mut Module, control: &Control, frozen: Signal, counts: Array, integer: Signal) -> Overflow {
        let (rows, columns) = (self.rows(), self.columns());
        m.comment("Bins that have overflowed: one a cycle enters the log.");
        let waiting: Vec<Signal> = (0..rows).map(|r| counts.at((r, self.bin_width() - 1))).collect();
        let any: Vec<_> = waiting.iter().map(|w| w.any()).collect();
        let any: Vec<_> = (0..rows).map(|r| m.wire(&format!("waiting_{r}"), any[r as usize])).collect();
        let row = m.wire("served_row", first(&any, self.a_bits));
        let in_row = m.lookup("waiting_in_row", row, &waiting);
        let places: Vec<_> = (0..columns).map(|c| in_row.bit(c)).collect();
        let column = m.wire("served_column", first(&places, self.b_bits));
        let one_hot: Vec<_> = (0..columns).rev().map(|c| column.eq(c)).collect();
        let served = m.wire("served_in_row", cat(&one_hot));
        // What waits when the column is complete goes along with the counts; what is logged then, is cleared.
        let serve = m.wire("serve", or_all(bit(), &any) & !frozen & !integer);
        let (carry, settled) = (m.nets("carry", uint(columns), rows), m.nets("settled", uint(columns), rows));
        let adds = m.wire("adds_overflows", integer & !control.clear & !frozen);
        m.for_each("settle", rows, |m, r| {
            let waits = counts.at((r, self.bin_width() - 1));
            let of_bits = waits.truncate(self.b_bits).shl(self.b_bits).extend(columns);
            m.connect(carry.at(r), of_bits & adds.repeat(columns));
            let here = m.wire("served_here", serve & row.eq(r.value(self.a_bits)));
            m.connect(settled.at(r), (served & here.repeat(columns)) | integer.repeat(columns));
        });
        let log = self.log(m, serve, control.clear, cat(&[row, column]));
        Overflow { carry, settled, log }
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
    /// Per row: ones that bins take from other bins' overflows.
    carry: Array,
    /// Per row: overflows that are accounted for, and wait no longer.
    settled: Array,
    log: Log,
}

/// Planes of `base` plus the number of ones among `ones`, modulo 2^planes. With n ones, n - 1 full adders and a chain of
/// half adders: no smaller circuit of adders does it.
fn add_ones(m: &mut Module, base: &[Signal], ones: Vec<Signal>) -> Vec<Signal> {
    let mut sum = Vec::new();
    let mut carries = ones;
    for (j, &plane) in base.iter().enumerate() {
        let last = j + 1 == base.len();
        // First in, first out: signals that are ready early are added early.
        let mut bits = std::collections::VecDeque::from(std::mem::take(&mut carries));
        bits.push_back(plane);
        let mut adder = 0;
        while bits.len() > 1 {
            let (a, b) = (bits.pop_front().unwrap_or(plane), bits.pop_front().unwrap_or(plane));
            let half = m.wire(&format!("half_{j}_{adder}"), a ^ b);
            let (total, carry) = match bits.pop_front() {
                Some(c) => (half ^ c, (a & b) | (half & c)),
                None => (half, a & b),
            };
            if last {
                m.unused(half);
            } else {
                carries.push(m.wire(&format!("carry_{j}_{adder}"), carry));
            }
            bits.push_back(total);
            adder += 1;
        }
        sum.extend(bits);
    }
    sum
}

/// Number of the first bit that is high; the last one when none is.
fn first(bits: &[Signal], width: u32) -> Signal {
    debug_assert_eq!(width, index_width(bits.len() as u64));
    let ty = uint(width);
    let choices: Vec<_> = bits.iter().enumerate().map(|(i, &b)| (b, ty.lit(i))).collect();
    select(&choices[..choices.len() - 1], ty.lit(bits.len() - 1))
}
