//! Shifters that remember what they lose, and normalisation.

use crate::lang::{Module, Signal, bit, bits_for, cat, mux, or_all, uint};

/// What a shifter leaves.
pub(super) struct Shifted {
    /// The bits that are kept.
    pub value: Signal,
    /// Whether a one was lost.
    pub lost: Signal,
}

/// `value` shifted right by `amount`, the low `keep` bits of it; the caller knows that those above are zero.
///
/// Large steps first, so that what a later step cannot bring back into the kept bits is dropped early. Amounts beyond
/// the width lose everything.
pub(super) fn shift_right(m: &mut Module, name: &str, value: Signal, amount: Signal, keep: u32) -> Shifted {
    let steps = bits_for(u64::from(value.width())).min(amount.width());
    let (whole, mut value, mut lost) = (value, value, Vec::new());
    for k in (0..steps).rev() {
        let step = 1 << k;
        let width = value.width();
        let wanted = width.min(keep + step - 1);
        let moved = if step < width { value.shr(step).extend(width) } else { value.ty().lit(0) };
        lost.push(amount.bit(k) & value.slice(0..step.min(width)).any());
        value = m.wire(&format!("{name}_{step}"), mux(amount.bit(k), moved, value).truncate(wanted));
    }
    if steps < amount.width() {
        let all = m.wire(&format!("{name}_all"), amount.slice(steps..amount.width()).any());
        lost.push(all & whole.any());
        value = value & !all.repeat(value.width());
    }
    Shifted {
        value: m.wire(&format!("{name}_kept"), value),
        lost: m.wire(&format!("{name}_lost"), or_all(bit(), &lost)),
    }
}

/// `value` at the top of a window of `keep` bits, shifted right by `amount`.
///
/// Small steps first: the word grows only as far as the steps so far reach.
pub(super) fn shift_right_into(m: &mut Module, name: &str, value: Signal, amount: Signal, keep: u32) -> Shifted {
    let steps = bits_for(u64::from(keep)).min(amount.width());
    // Bits of the window that are still missing at its low end.
    let (mut value, mut lost) = (value, Vec::new());
    for k in 0..steps {
        let step: u32 = 1 << k;
        let width = (value.width() + step).min(keep);
        let dropped = value.width() + step - width;
        let staying = if width > value.width() { value.shl(width - value.width()) } else { value };
        if dropped > 0 {
            lost.push(amount.bit(k) & value.slice(0..dropped.min(value.width())).any());
        }
        let moved = if dropped < value.width() { value.shr(dropped).extend(width) } else { uint(width).lit(0) };
        value = m.wire(&format!("{name}_{step}"), mux(amount.bit(k), moved, staying));
    }
    if steps < amount.width() {
        let all = m.wire(&format!("{name}_all"), amount.slice(steps..amount.width()).any());
        lost.push(all & value.any());
        value = value & !all.repeat(value.width());
    }
    let value = if value.width() < keep { value.shl(keep - value.width()) } else { value };
    Shifted {
        value: m.wire(&format!("{name}_kept"), value),
        lost: m.wire(&format!("{name}_lost"), or_all(bit(), &lost)),
    }
}

/// A normalised value.
pub(super) struct Normalised {
    /// The top bits.
    pub value: Signal,
    /// How far it was shifted to the left.
    pub count: Signal,
    /// Whether a one is among the bits below.
    pub any_below: Signal,
    /// Whether all bits below are ones.
    pub all_below: Signal,
}

/// `value` shifted left until its top bit is set, but by no more than `limit`; the top `keep` bits of it. Copies of
/// `fill` come in from the right.
///
/// A step of 2^k is taken where the top 2^k bits are zero and the limit allows it. The limit needs no subtraction: a
/// step that is taken clears its bit, and one that the limit would have allowed but the value does not need says that
/// the limit does not matter any more.
pub(super) fn normalise(
    m: &mut Module,
    name: &str,
    value: Signal,
    limit: Signal,
    keep: u32,
    fill: Signal,
) -> Normalised {
    let steps = bits_for(u64::from(value.width()));
    let allowed = |k: u32| if k < limit.width() { limit.bit(k) } else { bit().lit(0) };
    let mut unlimited = if limit.width() > steps { limit.slice(steps..limit.width()).any() } else { bit().lit(0) };
    let (mut value, mut count, mut any, mut all) = (value, Vec::new(), Vec::new(), Vec::new());
    for k in (0..steps).rev() {
        let step: u32 = 1 << k;
        let width = value.width();
        let zero = !value.slice(width - step.min(width)..width).any();
        let zero = m.wire(&format!("{name}_zero_{step}"), zero);
        let take = m.wire(&format!("{name}_take_{step}"), zero & (unlimited | allowed(k)));
        unlimited = m.wire(&format!("{name}_free_{step}"), unlimited | (allowed(k) & !zero));
        let moved =
            if step < width { cat(&[value.slice(0..width - step), fill.repeat(step)]) } else { fill.repeat(width) };
        let next = m.wire(&format!("{name}_{step}"), mux(take, moved, value));
        let wanted = width.min(keep + step - 1);
        if wanted < width {
            any.push(next.slice(0..width - wanted).any());
            all.push(next.slice(0..width - wanted).all());
        }
        value = next.slice(width - wanted..width);
        count.push(take);
    }
    m.unused(unlimited);
    let all = crate::lang::reduce(&all, |a, b| a & b).unwrap_or_else(|| bit().lit(1));
    Normalised { value, count: cat(&count), any_below: or_all(bit(), &any), all_below: all }
}

impl Normalised {
    /// Gives names to its parts.
    pub(super) fn name(&mut self, m: &mut Module) {
        self.any_below = m.wire("any_below", self.any_below);
        self.all_below = m.wire("all_below", self.all_below);
    }

    /// Guard bit, and how to round to nearest, ties to even: whether to round up, whether anything is lost. The value
    /// has the fraction's bits from 1 upwards, `lost` are ones even further down.
    pub(super) fn rounding(&self, m: &mut Module, lost: Signal) -> (Signal, Signal) {
        let guard = self.value.bit(0);
        let sticky = m.wire("sticky", self.any_below | lost);
        (m.wire("up", guard & (self.value.bit(1) | sticky)), guard | sticky)
    }

    /// The same for the value plus one unit far to the right, where `one` is high: what was filled in were ones then,
    /// and if all bits below are ones, the unit arrives at the guard bit.
    pub(super) fn rounding_plus(&self, m: &mut Module, one: Signal, lost: Signal) -> (Signal, Signal) {
        let (guard, even) = (self.value.bit(0), self.value.bit(1));
        let arrives = m.wire("arrives", one & self.all_below);
        let sticky = m.wire("sticky", mux(one, !self.all_below, self.any_below | lost));
        let up = mux(arrives, guard | even, guard & (even | sticky));
        (m.wire("up", up), mux(arrives, !guard, guard | sticky))
    }
}

/// Position of the leading one of `value`; anything where there is none.
pub(super) fn leading_one(m: &mut Module, name: &str, value: Signal) -> Signal {
    let width = value.width().next_power_of_two();
    // At each level: whether there is a one in each group of bits, and where.
    let mut any: Vec<Signal> = (0..value.width()).map(|i| value.bit(i)).collect();
    any.resize(width as usize, bit().lit(0));
    let mut place: Vec<Option<Signal>> = vec![None; any.len()];
    while any.len() > 1 {
        let groups = any.len() / 2;
        let level = width as usize / groups;
        let upper = |i: usize| any[2 * i + 1];
        place = (0..groups)
            .map(|i| {
                let below = place[2 * i].map(|low| mux(upper(i), place[2 * i + 1].unwrap_or(low), low));
                let place = below.map_or(upper(i), |below| cat(&[upper(i), below]));
                Some(m.wire(&format!("{name}_{level}_{i}"), place))
            })
            .collect();
        any = (0..groups).map(|i| any[2 * i] | upper(i)).collect();
    }
    let place = place[0].unwrap_or(bit().lit(0));
    place
}
