//! Decoding and counting: the registers of the column that is being counted, and the log of their overflows.
//!
//! Counts are kept bit by bit: plane j of a row holds bit j of the counts of all its bins. A full adder on planes is
//! one expression, and adds in all bins of the row at once.

use super::{Control, Counting, IndexDistributionCounter, IndexDistributionCounterPorts, Log};
use crate::blocks::common::arith::popcount;
use crate::lang::{Array, Index, Module, Signal, bit, bits_for, cat, index_width, mux, reduce, select, uint};

/// The inputs of a beat, decoded.
struct Decoded {
    /// Per input: its activation part.
    row: Array,
    /// Per input: it counts.
    present: Array,
    /// Per input, a bit per column: the input has this weight part; in integer mode, the integer.
    column: Array,
}

impl IndexDistributionCounter {
    pub(super) fn counting(&self, m: &mut Module, io: &IndexDistributionCounterPorts, control: &Control) -> Counting {
        let (rows, columns, width) = (self.rows(), self.columns(), self.bin_width());
        let integer = m.reg("integer_q", bit());
        let mode = m.wire("mode", mux(control.open, integer.q, io.indices.integer));
        integer.next_when(control.fire, mode);
        let decoded = self.decode(m, io, control, mode);
        let half = m.reg("half_q", bit());
        half.next_when(control.fire, io.indices.half);
        let error = self.too_many(m, io, control);
        // The column in the registers does not change while it is drained from there.
        let frozen = if self.ping_pong { bit().lit(0) } else { control.complete };
        let counts = m.grid("counts", uint(columns), rows, width);
        let overflow = (self.log_entries() > 0).then(|| self.overflows(m, control, frozen, counts, integer.q));
        m.comment("Counts of the column that comes in: plane j of a row has bit j of its bins.");
        m.for_each("rows", rows, |m, r| {
            let ones = m.nets("ones", uint(columns), self.inputs);
            let number = m.wire("row_number", r.value(self.a_bits));
            m.for_each("ones", self.inputs, |m, i| {
                let here = m.wire("here", decoded.present.at(i) & decoded.row.at(i).eq(number));
                m.connect(ones.at(i), decoded.column.at(i) & here.repeat(columns));
            });
            // The bins keep nothing when a column begins, and no overflow that is accounted for.
            let base = m.nets("base", uint(columns), width);
            let keep = m.wire("keep", (!control.clear).repeat(columns));
            let short = width - u32::from(overflow.is_some());
            m.for_each("base", short, |m, j| m.connect(base.at(j), counts.at((r, j)) & keep));
            if let Some(o) = &overflow {
                m.connect(base.at(short), counts.at((r, short)) & !o.settled.at(r) & keep);
            }
            let sum = add_ones(m, base, ones, overflow.as_ref().map(|o| o.carry.at(r)));
            m.for_each("counts", width, |m, j| {
                let count = m.reg("count_q", uint(columns));
                if self.ping_pong {
                    count.next(sum.at(j));
                } else {
                    count.next_when(!frozen, sum.at(j));
                }
                m.connect(counts.at((r, j)), count.q);
            });
        });
        Counting { counts, log: overflow.map(|o| o.log), integer: integer.q, half: half.q, error }
    }

    /// More than k inputs of the column were present.
    fn too_many(&self, m: &mut Module, io: &IndexDistributionCounterPorts, control: &Control) -> Signal {
        // Up to the beat that exceeds k the sum does not wrap; afterwards it does not matter.
        let ty = uint(bits_for(u64::from(self.k) + u64::from(self.inputs)));
        let (inputs, error) = (m.reg("inputs_q", ty), m.reg("error_q", bit()));
        let now = popcount::ones(m, "present_now", &io.indices.present.elements());
        let before = mux(control.open, inputs.q, ty.lit(0));
        let sum = m.wire("inputs", before.wrapping_add(now));
        inputs.next_when(control.fire, sum);
        error.next_when(control.fire, (control.open & error.q) | sum.gt(self.k));
        error.q
    }

    fn decode(
        &self,
        m: &mut Module,
        io: &IndexDistributionCounterPorts,
        control: &Control,
        integer: Signal,
    ) -> Decoded {
        let (inputs, columns) = (self.inputs, self.columns());
        let (row, present) = (m.nets("row_part", uint(self.a_bits), inputs), m.nets("present", bit(), inputs));
        let column = m.nets("column_hit", uint(columns), inputs);
        m.for_each("decode", inputs, |m, i| {
            let index = io.indices.index.at(i);
            m.connect(row.at(i), index.slice(self.b_bits..self.a_bits + self.b_bits));
            m.connect(present.at(i), io.indices.present.at(i) & control.fire);
            let part = m.wire("weight_part", index.truncate(self.b_bits));
            m.connect(column.at(i), mux(integer, part.extend(columns), one_hot(part, columns)));
        });
        Decoded { row, present, column }
    }

    /// Finds one bin a cycle that has overflowed and logs it. In integer mode the columns beyond the integer's bits are
    /// idle: there, column j + nB counts the overflows of column j instead.
    fn overflows(&self, m: &mut Module, control: &Control, frozen: Signal, counts: Array, integer: Signal) -> Overflow {
        let (rows, columns) = (self.rows(), self.columns());
        m.comment("Bins that have overflowed: one a cycle enters the log.");
        let (waiting, any) = (m.nets("waiting", uint(columns), rows), m.nets("row_waits", bit(), rows));
        m.for_each("waiting", rows, |m, r| {
            m.connect(waiting.at(r), counts.at((r, self.bin_width() - 1)));
            m.connect(any.at(r), counts.at((r, self.bin_width() - 1)).any());
        });
        let row = m.wire("served_row", first(&any.elements(), self.a_bits));
        let in_row = m.wire("waiting_in_row", waiting.at(row));
        let places: Vec<_> = (0..columns).map(|c| in_row.bit(c)).collect();
        let column = m.wire("served_column", first(&places, self.b_bits));
        let served = m.wire("served_in_row", one_hot(column, columns));
        // Overflows that wait when the column is complete go along with the counts. An overflow that is logged then is
        // cleared.
        let serve = m.wire("serve", any.packed().any() & !frozen & !integer);
        let (carry, settled) = (m.nets("carry", uint(columns), rows), m.nets("settled", uint(columns), rows));
        let adds = m.wire("adds_overflows", integer & !control.clear & !frozen);
        m.for_each("settle", rows, |m, r| {
            let of_bits = waiting.at(r).truncate(self.b_bits).shl(self.b_bits).extend(columns);
            m.connect(carry.at(r), of_bits & adds.repeat(columns));
            let here = m.wire("served_here", serve & row.eq(r.value(self.a_bits)));
            m.connect(settled.at(r), (served & here.repeat(columns)) | integer.repeat(columns));
        });
        let log = self.log(m, serve, control.clear, cat(&[row, column]));
        Overflow { carry, settled, log }
    }

    /// New entries push the older ones on; the order does not matter.
    fn log(&self, m: &mut Module, serve: Signal, clear: Signal, entry: Signal) -> Log {
        let entries = self.log_entries();
        let (bins, used) = (m.regs("log", entry.ty(), entries), m.regs("log_used", bit(), entries));
        let enter = |m: &mut Module, place: Index, bin: Signal, before: Signal| {
            bins.next_when(m, place, serve, bin);
            used.next(m, place, mux(serve, before, used.q.at(place)) & !clear);
        };
        enter(m, 0.into(), entry, bit().lit(1));
        m.for_each("log", entries - 1, |m, e| enter(m, e + 1, bins.q.at(e), used.q.at(e)));
        Log { bins: bins.q, used: used.q }
    }
}

struct Overflow {
    /// Per row: ones that bins take from other bins' overflows.
    carry: Array,
    /// Per row: overflows that are accounted for, and wait no longer.
    settled: Array,
    log: Log,
}

/// Bit `place` alone.
fn one_hot(place: Signal, width: u32) -> Signal {
    uint(width).lit(1).shl_by(place)
}

/// Planes of `base` plus the number of ones among `ones`, modulo 2^planes; `extra` goes with the first of them. With n
/// ones, n - 1 full adders and a chain of half adders: no smaller circuit of adders does it.
fn add_ones(m: &mut Module, base: Array, ones: Array, extra: Option<Signal>) -> Array {
    let (ty, planes) = (base.ty().element, base.count());
    let sum = m.nets("sum", ty, planes);
    // Bits of one weight queue up: first in, first out, so that what is ready early is added early.
    let mut count = ones.count() + 1;
    let mut queue = m.nets("queue_0", ty, places(count, planes == 1));
    m.connect(queue.at(0), extra.map_or(ones.at(0), |extra| ones.at(0) | extra));
    m.for_each("queue", ones.count() - 1, |m, i| m.connect(queue.at(i + 1), ones.at(i + 1)));
    m.connect(queue.at(count - 1), base.at(0));
    for plane in 0..planes {
        let (full, odd) = ((count - 1) / 2, count % 2 == 1);
        if plane + 1 == planes {
            let bits: Vec<Signal> = (0..count).map(|i| queue.at(i)).collect();
            m.connect(sum.at(plane), reduce(&bits, |a, b| a ^ b).unwrap_or(base.at(plane)));
            break;
        }
        if count == 2 {
            ripple(m, base, queue, sum, plane);
            break;
        }
        // The carries, and the plane that they are added to.
        let carries = full + u32::from(!odd);
        let next_count = carries + 1;
        let next = m.nets(&format!("queue_{}", plane + 1), ty, places(next_count, plane + 2 == planes));
        m.for_each(&format!("adders_{plane}"), full, |m, i| {
            let (a, b, c) = (queue.at(i * 3), queue.at(i * 3 + 1), queue.at(i * 3 + 2));
            let half = m.wire(&format!("half_{plane}"), a ^ b);
            m.connect(queue.at(i + count), half ^ c);
            m.connect(next.at(i), (a & b) | (half & c));
        });
        let rest = count + full - 1;
        if odd {
            m.connect(sum.at(plane), queue.at(rest));
        } else {
            m.connect(sum.at(plane), queue.at(rest - 1) ^ queue.at(rest));
            m.connect(next.at(full), queue.at(rest - 1) & queue.at(rest));
        }
        m.connect(next.at(carries), base.at(plane + 1));
        (queue, count) = (next, next_count);
    }
    sum
}

/// Places of a queue that begins with `count` bits: one more for each full adder, of which the highest plane has none.
fn places(count: u32, highest: bool) -> u32 {
    if highest { count } else { count + (count - 1) / 2 }
}

/// Half adders from `plane` on, where one carry and the plane are left.
fn ripple(m: &mut Module, base: Array, queue: Array, sum: Array, plane: u32) {
    let (ty, planes) = (base.ty().element, base.count());
    let carry = m.nets("ripple", ty, planes - plane);
    m.connect(carry.at(0), queue.at(0));
    m.for_each("ripple", planes - plane - 1, |m, j| {
        m.connect(sum.at(j + plane), carry.at(j) ^ base.at(j + plane));
        m.connect(carry.at(j + 1), carry.at(j) & base.at(j + plane));
    });
    m.connect(sum.at(planes - 1), carry.at(planes - plane - 1) ^ base.at(planes - 1));
}

/// Number of the first bit that is high; the last one when none is.
fn first(bits: &[Signal], width: u32) -> Signal {
    debug_assert_eq!(width, index_width(bits.len() as u64));
    let ty = uint(width);
    let choices: Vec<_> = bits.iter().enumerate().map(|(i, &b)| (b, ty.lit(i))).collect();
    select(&choices[..choices.len() - 1], ty.lit(bits.len() - 1))
}
