//! Integer arithmetic in ranks of registers, each rank at most about 20 levels deep, without enables: a value that enters
//! comes out a fixed number of cycles later.

use crate::lang::{Array, Module, Signal, Type, bit, cat, index_width, mux, uint};

/// `signal`, `count` cycles later.
#[track_caller]
pub fn later(m: &mut Module, name: &str, signal: Signal, count: u32) -> Signal {
    (1..=count).fold(signal, |signal, rank| {
        let held = m.reg(&format!("{name}_{rank}_q"), signal.ty());
        held.next(signal);
        held.q
    })
}

/// The same of a bit that is low after reset, and that `clear` makes low on all of its way.
#[track_caller]
pub fn later_valid(m: &mut Module, name: &str, signal: Signal, count: u32, clear: Signal) -> Signal {
    (1..=count).fold(signal, |signal, rank| {
        let held = m.reg_init(&format!("{name}_{rank}_q"), bit(), 0);
        held.next(signal & !clear);
        held.q
    })
}

/// Sums narrower than this are left to synthesis: its adders have few gates, and twice the levels of [`add`].
const NARROW: u32 = 20;

/// a + b, or a - b modulo 2^width, in about 3 + 2 log2(width) levels: carries by a prefix tree. One bit wider than the wider
/// one; the wires are called after `name`.
#[track_caller]
pub fn add(m: &mut Module, name: &str, a: Signal, b: Signal, subtract: bool) -> Signal {
    let width = a.width().max(b.width()) + 1;
    let (a, b) = (a.extend(width), b.extend(width));
    if width < NARROW {
        return if subtract { a.wrapping_sub(b) } else { a.wrapping_add(b) };
    }
    let b = if subtract { !b } else { b };
    let half = m.wire(&format!("{name}_half"), a ^ b);
    // Carries into all bits but the lowest.
    let top = width - 1;
    let (a, b) = (a.slice(0..top), b.slice(0..top));
    let mut passes = m.wire(&format!("{name}_passes"), a | b);
    let both = a & b;
    let both = if subtract { cat(&[both.slice(1..top), passes.bit(0)]) } else { both };
    let mut carries = m.wire(&format!("{name}_makes"), both);
    let mut step = 1;
    while step < top {
        // The upper half of each block sees the carry out of its lower half.
        let (mut next_carries, mut next_passes) = (vec![], vec![]);
        for low in (0..top).step_by(2 * step as usize) {
            let middle = (low + step).min(top);
            next_carries.push(carries.slice(low..middle));
            next_passes.push(passes.slice(low..middle));
            let high = (low + 2 * step).min(top);
            if high > middle {
                let (count, below) = (high - middle, middle - 1);
                let seen = passes.slice(middle..high);
                next_carries.push(carries.slice(middle..high) | (seen & carries.bit(below).repeat(count)));
                next_passes.push(seen & passes.bit(below).repeat(count));
            }
        }
        next_carries.reverse();
        next_passes.reverse();
        carries = m.wire(&format!("{name}_carries_{step}"), cat(&next_carries));
        m.unused(passes);
        passes = m.wire(&format!("{name}_passes_{step}"), cat(&next_passes));
        step *= 2;
    }
    m.unused(passes);
    half ^ cat(&[carries, bit().lit(u8::from(subtract))])
}

/// All `leaves` combined pair by pair, a rank of registers for each level: neighbours first, an odd last one moves up as it
/// is. `widen` is the type of a combination of two of the given type; the wires of `combine` are called after the name it gets.
#[track_caller]
pub fn tree(
    m: &mut Module,
    name: &str,
    leaves: Array,
    widen: impl Fn(Type) -> Type,
    combine: impl Fn(&mut Module, &str, Signal, Signal) -> Signal,
) -> Signal {
    let (mut level, mut values) = (0, leaves);
    while values.count() > 1 {
        level += 1;
        let (count, name) = (values.count(), format!("{name}_{level}"));
        let ty = widen(values.ty().element);
        let sums = m.regs(&name, ty, count.div_ceil(2));
        m.for_each(&name, count / 2, |m, i| {
            let both = combine(m, &name, values.at(i * 2), values.at(i * 2 + 1));
            sums.next(m, i, both);
        });
        if count % 2 == 1 {
            sums.next(m, count / 2, values.at(count - 1).extend(ty.width));
        }
        values = sums.q;
    }
    values.at(0)
}

/// Cycles of [`tree`].
#[must_use]
pub fn tree_latency(leaves: u32) -> u32 {
    leaves.next_power_of_two().trailing_zeros()
}

/// The product of two unsigned numbers, `b` the narrower one: multiples 0 to 3 of `a` for two bits of `b` each, added in a
/// tree.
#[track_caller]
pub fn product(m: &mut Module, name: &str, a: Signal, b: Signal) -> Signal {
    let (width, digits) = (a.width() + b.width(), b.width().div_ceil(2));
    let (one, three) = (later(m, &format!("{name}_one"), a, 1), m.reg(&format!("{name}_three_q"), uint(a.width() + 2)));
    let thrice = add(m, &format!("{name}_thrice"), a.shl(1), a, false);
    three.next(thrice);
    let b = later(m, &format!("{name}_digits"), b, 1).extend(2 * digits);
    let multiple = |k: u32| {
        let (low, high) = (b.bit(2 * k), b.bit(2 * k + 1));
        let wide = a.width() + 2;
        let two = one.shl(1).extend(wide);
        mux(high, mux(low, three.q, two), one.extend(wide) & low.repeat(wide))
    };
    // Multiples with a distance of `step` digits between neighbours.
    let mut step = 2;
    let mut sums: Vec<Signal> = (0..digits.div_ceil(2))
        .map(|pair| {
            let low = multiple(2 * pair);
            let own = format!("{name}_pair_{pair}");
            let sum = if 2 * pair + 1 < digits { add_at(m, &own, low, multiple(2 * pair + 1), 2) } else { low };
            later(m, &own, sum, 1)
        })
        .collect();
    while sums.len() > 1 {
        sums = (sums.chunks(2).enumerate())
            .map(|(k, pair)| {
                let own = format!("{name}_sum_{step}_{k}");
                let sum = match pair {
                    [low, high] => add_at(m, &own, *low, *high, 2 * step),
                    _ => pair[0],
                };
                later(m, &own, sum, 1)
            })
            .collect();
        step *= 2;
    }
    let whole = sums[0];
    if whole.width() > width { whole.truncate(width) } else { whole.extend(width) }
}

/// low + high * 2^places.
fn add_at(m: &mut Module, name: &str, low: Signal, high: Signal, places: u32) -> Signal {
    let sum = add(m, name, low.slice(places..low.width()), high, false);
    cat(&[sum, low.slice(0..places)])
}

/// Cycles of [`product`] with a narrower factor of `b_width` bits.
#[must_use]
pub fn product_latency(b_width: u32) -> u32 {
    2 + tree_latency(b_width.div_ceil(2).div_ceil(2))
}

/// What one rank of [`normalise`] may cost in levels, about.
const BUDGET: u32 = 18;

/// Steps of a normaliser of `width` bits, rank by rank: a step of 2^k looks at as many bits and then chooses.
fn steps(width: u32) -> Vec<Vec<u32>> {
    let (mut ranks, mut used) = (vec![], BUDGET);
    for k in (0..index_width(width.into())).rev() {
        let cost = k + 2;
        if used + cost > BUDGET {
            ranks.push(vec![]);
            used = 0;
        }
        used += cost;
        if let Some(rank) = ranks.last_mut() {
            rank.push(1 << k);
        }
    }
    ranks
}

/// `value` shifted left until its top bit is set, and by how many places; zero stays zero.
#[track_caller]
pub fn normalise(m: &mut Module, name: &str, value: Signal) -> (Signal, Signal) {
    let width = value.width();
    let (mut value, mut count) = (value, None);
    if width == 1 {
        return (later(m, name, value, normalise_latency(width)), bit().lit(0));
    }
    for (rank, steps) in steps(width).into_iter().enumerate() {
        for step in steps {
            let take = m.wire(&format!("{name}_take_{step}"), !value.slice(width - step.min(width)..width).any());
            let moved = cat(&[value.slice(0..width - step), uint(step).lit(0)]);
            value = m.wire(&format!("{name}_by_{step}"), mux(take, moved, value));
            count = Some(count.map_or(take, |count| cat(&[count, take])));
        }
        value = later(m, &format!("{name}_value_{rank}"), value, 1);
        count = count.map(|count| later(m, &format!("{name}_count_{rank}"), count, 1));
    }
    (value, count.unwrap_or_else(|| bit().lit(0)))
}

/// Cycles of [`normalise`].
#[must_use]
pub fn normalise_latency(width: u32) -> u32 {
    if width == 1 { 1 } else { steps(width).len() as u32 }
}
