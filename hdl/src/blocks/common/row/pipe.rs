//! Registers, adders and products, most without enables: a value that enters comes out a fixed number of cycles later.

use crate::lang::{Array, Module, Signal, Type, cat, uint};

/// `signal`, `count` cycles later.
#[track_caller]
pub fn later(m: &mut Module, name: &str, signal: Signal, count: u32) -> Signal {
    if count == 0 {
        return signal;
    }
    // One register for all of the way: the newest value at the bottom.
    let (width, all) = (signal.width(), signal.width() * count);
    let line = m.reg(&format!("{name}_{count}_q"), if count == 1 { signal.ty() } else { uint(all) });
    if count == 1 {
        line.next(signal);
        return line.q;
    }
    line.next(cat(&[line.q.slice(0..all - width), signal.as_uint()]));
    let last = line.q.slice(all - width..all);
    if signal.ty().signed { last.as_sint() } else { last }
}

/// `signal`, `count` cycles with `enable` later, through one register for each cycle. For signals that wait together.
#[track_caller]
pub fn held(m: &mut Module, name: &str, signal: Signal, count: u32, enable: Signal) -> Signal {
    let mut signal = signal;
    for rank in 1..=count {
        let register = m.reg(&format!("{name}_{rank}_q"), signal.ty());
        register.next_when(enable, signal);
        signal = register.q;
    }
    signal
}

/// [`later`] for a bit that is low after reset. `clear` clears all of its registers.
#[track_caller]
pub fn later_valid(m: &mut Module, name: &str, signal: Signal, count: u32, clear: Signal) -> Signal {
    if count == 0 {
        return signal;
    }
    let line = m.reg_init(&format!("{name}_{count}_q"), uint(count), 0);
    let next = if count == 1 { signal } else { cat(&[line.q.slice(0..count - 1), signal]) };
    line.next(next & (!clear).repeat(count));
    line.q.msb()
}

/// All `leaves` combined pair by pair, neighbours first, with a rank of registers for each level. An odd last value
/// moves up as it is. `widen` gives the type of a combination of two values of a type. The wires of `combine` are
/// called after the name that it gets.
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
