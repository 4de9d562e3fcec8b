//! Shifters that remember what they lose, and normalisation.

use super::ranks::{Crossing, Ranks};
use crate::lang::{Module, Signal, bit, bits_for, cat, mux, or_all, reduce, select, uint};

/// The result of a shifter.
pub(super) struct Shifted {
    /// The bits that are kept.
    pub value: Signal,
    /// Whether a one was lost.
    pub lost: Signal,
}

/// `value` shifted right by `amount`, the low `keep` bits of it; the caller knows that the higher bits are zero.
///
/// Large steps come first, so that bits which no later step can bring into the kept bits are dropped early. Amounts
/// beyond the width lose everything.
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
pub(super) fn shift_right_into(m: &mut Module, name: &str, value: Signal, amount: Signal, keep: u32) -> Shifted {
    ShifterInto::new(value, amount, keep).finish(m, name)
}

/// The same shift in parts.
///
/// Small steps first: the word grows only as far as the steps so far reach.
pub(super) struct ShifterInto {
    value: Signal,
    amount: Signal,
    keep: u32,
    /// Steps that were taken; the next one is 2^taken.
    taken: u32,
    lost: Vec<Signal>,
}

impl ShifterInto {
    pub(super) fn new(value: Signal, amount: Signal, keep: u32) -> Self {
        Self { value, amount, keep, taken: 0, lost: Vec::new() }
    }

    /// Takes steps until so many were taken, or all.
    pub(super) fn steps(&mut self, m: &mut Module, name: &str, until: u32) {
        for k in self.taken..self.all_steps().min(until) {
            let (value, step) = (self.value, 1 << k);
            let width = (value.width() + step).min(self.keep);
            // Bits of the window that are still missing at its low end.
            let dropped = value.width() + step - width;
            let staying = if width > value.width() { value.shl(width - value.width()) } else { value };
            if dropped > 0 {
                self.lost.push(self.amount.bit(k) & value.slice(0..dropped.min(value.width())).any());
            }
            let moved = if dropped < value.width() { value.shr(dropped).extend(width) } else { uint(width).lit(0) };
            self.value = m.wire(&format!("{name}_{step}"), mux(self.amount.bit(k), moved, staying));
            self.taken = k + 1;
        }
    }

    fn all_steps(&self) -> u32 {
        bits_for(u64::from(self.keep)).min(self.amount.width())
    }

    /// The values for the remaining steps.
    pub(super) fn cut_spare<'a>(
        &mut self,
        m: &mut Module,
        pipe: &mut Ranks,
        spare: u32,
        more: impl IntoIterator<Item = Crossing<'a>>,
    ) {
        if !pipe.has_spare(spare) {
            return;
        }
        let (taken, width) = (self.taken, self.amount.width());
        let mut lost = or_all(bit(), &self.lost);
        let mut amount = self.amount.slice(taken..width);
        let mut data = vec![("aligned", &mut self.value), ("shift", &mut amount)];
        if !self.lost.is_empty() {
            data.push(("any_lost", &mut lost));
        }
        data.extend(more.into_iter().map(|(name, signal)| (name, &mut *signal)));
        pipe.cut_spare(spare, m, data);
        if !self.lost.is_empty() {
            self.lost = vec![lost];
        }
        // In their old places; nothing reads the bits below.
        self.amount = amount.shl(taken);
    }

    pub(super) fn finish(mut self, m: &mut Module, name: &str) -> Shifted {
        self.steps(m, name, u32::MAX);
        let Self { mut value, amount, keep, mut lost, .. } = self;
        let steps = self.taken;
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
}

/// Shifts a value left until its top bit is set, but by no more than a limit.
///
/// A step of 2^k is taken where the top 2^k bits are zero and the limit allows it. The limit needs no subtraction: a
/// step that is taken clears its bit. If the limit allows a step that the value does not need, the limit does not
/// matter any more.
pub(super) struct Normaliser {
    name: &'static str,
    /// Bits of the result.
    keep: u32,
    /// Steps that are left; the next one is 2^(left - 1).
    left: u32,
    value: Signal,
    limit: Option<Signal>,
    unlimited: Signal,
    /// The bits that come in from the right.
    pub fill: Signal,
    /// Whether `all_below` is needed.
    pub asked_for_ones: bool,
    count: Vec<Signal>,
    any: Vec<Signal>,
    all: Vec<Signal>,
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

impl Normaliser {
    /// Keeps the top `keep` bits of `value`; `name` begins the names of the wires. Without a limit, zero is shifted too.
    pub(super) fn new(name: &'static str, value: Signal, limit: Option<Signal>, keep: u32, fill: Signal) -> Self {
        let left = bits_for(u64::from(value.width()));
        let above = limit.filter(|limit| limit.width() > left).map(|limit| limit.slice(left..limit.width()).any());
        let unlimited = above.unwrap_or_else(|| bit().lit(u8::from(limit.is_none())));
        Self {
            name,
            keep,
            left,
            value,
            limit,
            unlimited,
            fill,
            asked_for_ones: true,
            count: vec![],
            any: vec![],
            all: vec![],
        }
    }

    /// Takes steps until `left` of them are left.
    pub(super) fn steps(&mut self, m: &mut Module, left: u32) {
        while self.left > left {
            self.left -= 1;
            self.step(m);
        }
    }

    /// Takes the steps of 16 and more, but at least one: about as many levels as the other steps.
    pub(super) fn large_steps(&mut self, m: &mut Module) {
        self.steps(m, (self.left - 1).min(4));
    }

    fn step(&mut self, m: &mut Module) {
        let (name, step, width) = (self.name, 1u32 << self.left, self.value.width());
        let zero = m.wire(&format!("{name}_zero_{step}"), !self.value.slice(width - step.min(width)..width).any());
        let allowed = self.limit.filter(|limit| limit.width() > self.left).map(|limit| limit.bit(self.left));
        let allowed = allowed.unwrap_or_else(|| bit().lit(0));
        let take = m.wire(&format!("{name}_take_{step}"), zero & (self.unlimited | allowed));
        if self.left > 0 && self.limit.is_some() {
            self.unlimited = m.wire(&format!("{name}_free_{step}"), self.unlimited | (allowed & !zero));
        }
        let moved = if step < width {
            cat(&[self.value.slice(0..width - step), self.fill.repeat(step)])
        } else {
            self.fill.repeat(width)
        };
        let next = m.wire(&format!("{name}_{step}"), mux(take, moved, self.value));
        // No later step brings these back.
        let wanted = width.min(self.keep + step - 1);
        if wanted < width {
            self.any.push(next.slice(0..width - wanted).any());
            self.all.push(next.slice(0..width - wanted).all());
        }
        self.value = next.slice(width - wanted..width);
        self.count.push(take);
    }

    /// Ends with the last step.
    pub(super) fn finish(mut self, m: &mut Module) -> Normalised {
        self.steps(m, 0);
        let all_below = reduce(&self.all, |a, b| a & b).unwrap_or_else(|| bit().lit(1));
        Normalised { value: self.value, count: cat(&self.count), any_below: or_all(bit(), &self.any), all_below }
    }

    /// All values for the remaining steps except `fill`, in registers if they stand here.
    pub(super) fn cut<'a>(&mut self, m: &mut Module, pipe: &mut Ranks, more: impl IntoIterator<Item = Crossing<'a>>) {
        self.registers(more, |data| pipe.cut(m, data));
    }

    /// All values for the remaining steps, at a spare place.
    pub(super) fn cut_spare<'a>(
        &mut self,
        m: &mut Module,
        pipe: &mut Ranks,
        spare: u32,
        more: impl IntoIterator<Item = Crossing<'a>>,
    ) {
        if pipe.has_spare(spare) {
            self.registers(more, |data| pipe.cut_spare(spare, m, data));
        }
    }

    fn registers<'a>(&mut self, more: impl IntoIterator<Item = Crossing<'a>>, cut: impl FnOnce(Vec<Crossing>)) {
        let (mut count, mut any) = (cat(&self.count), or_all(bit(), &self.any));
        let mut all = reduce(&self.all, |a, b| a & b).unwrap_or_else(|| bit().lit(1));
        let mut limit = self.limit.map(|limit| limit.slice(0..self.left));
        let mut data = vec![("value", &mut self.value), ("count", &mut count)];
        if let Some(limit) = &mut limit {
            data.extend([("free", &mut self.unlimited), ("limit", limit)]);
        }
        if !self.any.is_empty() {
            data.push(("any_below", &mut any));
            data.extend(Some(("all_below", &mut all)).filter(|_| self.asked_for_ones));
        }
        data.extend(more.into_iter().map(|(name, signal)| (name, &mut *signal)));
        cut(data);
        (self.count, self.any, self.all, self.limit) = (vec![count], vec![any], vec![all], limit);
    }
}

/// `value` normalised in one go.
pub(super) fn normalise(
    m: &mut Module,
    name: &'static str,
    value: Signal,
    limit: Option<Signal>,
    keep: u32,
    fill: Signal,
) -> Normalised {
    Normaliser::new(name, value, limit, keep, fill).finish(m)
}

impl Normalised {
    /// Gives names to its parts.
    pub(super) fn name(&mut self, m: &mut Module) {
        self.any_below = m.wire("any_below", self.any_below);
        self.all_below = m.wire("all_below", self.all_below);
    }

    /// Whether to round up to nearest, ties to even, and whether anything is lost. Where `one` is high, one unit far to
    /// the right is added to the value. Then the bits that were filled in are ones, and if all bits below are ones, the
    /// unit arrives at the guard bit. The value has the fraction's bits from 1 upwards; `lost` are ones even further
    /// down.
    pub(super) fn rounding_plus(&self, m: &mut Module, one: Signal, lost: Signal) -> (Signal, Signal) {
        let (guard, even) = (self.value.bit(0), self.value.bit(1));
        let arrives = m.wire("arrives", one & self.all_below);
        let sticky = m.wire("sticky", mux(one, !self.all_below, self.any_below | lost));
        let up = mux(arrives, guard | even, guard & (even | sticky));
        (m.wire("up", up), mux(arrives, !guard, guard | sticky))
    }
}

/// Position of the leading one of `value`; 0 where there is none.
pub(super) fn leading_one(m: &mut Module, name: &str, value: Signal) -> Signal {
    let ty = uint(bits_for(u64::from(value.width() - 1)));
    let choices: Vec<_> = (1..value.width()).rev().map(|place| (value.bit(place), ty.lit(place))).collect();
    m.wire(name, select(&choices, ty.lit(0)))
}
