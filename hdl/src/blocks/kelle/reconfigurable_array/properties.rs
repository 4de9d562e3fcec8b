//! What is proved of a small array (`ifdef FORMAL`): every sum is that of the steps since its first one with the weights
//! swapped in before, as late as its lane is far away, whenever loads, swaps, clears and resets come.

use super::{ReconfigurableArray, ReconfigurableArrayPorts};
use crate::lang::{Array, Module, Signal, bit, cat, mux, select, sint, uint};

/// Most PEs, and the widest operand, with which the formal section is there.
const LARGEST_MODEL: (u32, u32) = (4, 2);

/// `signal`, so many cycles later; a single bit is dropped by `clear`.
fn later(m: &mut Module, name: &str, mut signal: Signal, cycles: u32, clear: Signal) -> Signal {
    for cycle in 1..=cycles {
        let name = format!("model_{name}_{cycle}_q");
        let held = if signal.width() == 1 { m.reg_init(&name, bit(), 0) } else { m.reg(&name, signal.ty()) };
        held.next(if signal.width() == 1 { signal & !clear } else { signal });
        signal = held.q;
    }
    signal
}

impl ReconfigurableArray {
    /// `lanes`: which have a complete sum, and the sums.
    pub(super) fn properties(&self, m: &mut Module, io: &ReconfigurableArrayPorts, lanes: (Array, Array)) {
        let (rows, columns, width) = (self.rows, self.columns, self.accumulator_width);
        if rows * columns > LARGEST_MODEL.0 || self.operand_width > LARGEST_MODEL.1 {
            return;
        }
        m.formal(|m| {
            let (step, load) = (io.step.fire(), io.load.fire());
            let swap = m.wire("model_swap", step & io.step.swap);
            let zero = bit().lit(0);

            // Weights that wait and weights at work, and whether they are known.
            let operand = uint(self.operand_width);
            let mut weights = Vec::new();
            let mut known_rows = Vec::new();
            for r in 0..rows {
                let loads = m.wire(&format!("model_load_{r}"), load & io.load.row.eq(r));
                let waits = m.reg_init(&format!("model_waits_{r}_q"), bit(), 0);
                let works = m.reg_init(&format!("model_works_{r}_q"), bit(), 0);
                waits.next((waits.q | loads) & !io.clear_i);
                let known = m.wire(&format!("model_known_{r}"), mux(swap, waits.q, works.q));
                works.next(known & !io.clear_i);
                known_rows.push(known);
                for c in 0..columns {
                    let waiting = m.reg(&format!("model_waiting_{r}_{c}_q"), operand);
                    let working = m.reg(&format!("model_working_{r}_{c}_q"), operand);
                    waiting.next_when(loads, io.load.weight.at(c));
                    let now = m.wire(&format!("model_weight_{r}_{c}"), mux(swap, waiting.q, working.q));
                    working.next(now);
                    weights.push(now);
                }
            }
            let all_known = known_rows.into_iter().reduce(|a, b| a & b).unwrap_or(zero);

            let extended = |value: Signal, signed: Signal| cat(&[signed & value.msb(), value]).as_sint();
            let product = |r: u32, c: u32, act: u32| {
                let weight = weights[(r * columns + c) as usize];
                let product =
                    extended(io.step.act.at(act), io.step.act_signed) * extended(weight, io.step.weight_signed);
                product.extend(width)
            };
            let sum = |terms: Vec<Signal>| terms.into_iter().reduce(Signal::wrapping_add).unwrap_or(sint(width).lit(0));
            for lane in 0..self.lanes() {
                let used = [lane < rows, lane < columns];
                let right =
                    if used[0] { sum((0..columns).map(|c| product(lane, c, c)).collect()) } else { sum(vec![]) };
                let down = if used[1] { sum((0..rows).map(|r| product(r, lane, r)).collect()) } else { sum(vec![]) };
                let y = m.wire(&format!("model_y_{lane}"), mux(io.step.transposed, right, down));
                let at = |place: u32| y.shl(place * self.operand_width).truncate(width);
                let place = io.step.place;
                let y = select(&[(place.eq(0), at(0)), (place.eq(1), at(1))], at(2));
                let meant = mux(io.step.transposed, bit().lit(used[0]), bit().lit(used[1]));

                // All sums of the lane, as the ports say.
                let mut before = (sint(width).lit(0), zero);
                let mut sums = Vec::new();
                for k in 0..self.depth {
                    let here = io.step.index.eq(k);
                    let value = m.reg(&format!("model_sum_{lane}_{k}_q"), sint(width));
                    let known = m.reg_init(&format!("model_sum_known_{lane}_{k}_q"), bit(), 0);
                    before = (mux(here, value.q, before.0), mux(here, known.q, before.1));
                    sums.push((here, value, known));
                }
                let base = mux(io.step.first, sint(width).lit(0), before.0);
                let value = m.wire(&format!("model_sum_{lane}"), base.wrapping_add(y));
                let known = all_known & meant & (io.step.first | before.1);
                let known = m.wire(&format!("model_sum_known_{lane}"), known);
                for (here, sum, sum_known) in sums {
                    sum.next_when(step & here, value);
                    sum_known.next(mux(step & here, known, sum_known.q) & !io.clear_i);
                }
                let cycles = self.lanes() + lane + 1;
                let ends = m.wire(&format!("model_ends_{lane}"), step & io.step.last);
                let ends = later(m, &format!("ends_{lane}"), ends, cycles, io.clear_i);
                let known = later(m, &format!("known_{lane}"), known, cycles, io.clear_i);
                let value = later(m, &format!("value_{lane}"), value, cycles, io.clear_i);
                m.assert_always(&format!("sum_in_time_{lane}"), lanes.0.at(lane).eq(ends));
                let right = lanes.1.at(lane).eq(value);
                m.assert_always(&format!("sum_is_right_{lane}"), !(ends & known) | right);
                m.cover(&format!("negative_sum_{lane}"), ends & known & value.lt(-3));
            }
            // A beat of a result waits until it is taken.
            let waits = m.reg_init("model_result_waits_q", bit(), 0);
            waits.next(io.result.valid & !io.result.ready & !io.clear_i);
            m.assert_always("result_waits", !waits.q | io.result.valid);
            let before = m.reg("model_result_q", sint(width));
            before.next(io.result.sum.at(0));
            m.assert_always("result_stays", !waits.q | io.result.sum.at(0).eq(before.q));
            m.cover("swap_behind_swap", swap & load);
        });
    }
}
