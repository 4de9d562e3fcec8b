//! Products whose parts are added after registers.

use super::ranks::{Crossing, Ranks};
use crate::lang::{Module, Signal};

/// A product as a sum of products with some bits of a factor. The number of parts depends on the places after the next
/// registers, at which parts are added. Without registers there is one product: synthesis makes it best as a whole.
pub(super) struct Parts {
    name: &'static str,
    names: Vec<String>,
    /// The lowest first.
    parts: Vec<Signal>,
    /// Bits of the second factor that a part has; the last one may have fewer.
    bits: u32,
    /// Places that are left at which parts may be added.
    places: u32,
    /// There was one place to begin with.
    few: bool,
    widths: (u32, u32),
    sums: u32,
}

impl Parts {
    /// a x b, `b` without a sign. [`Parts::cut`] is called for each of the next `places`.
    pub(super) fn new(m: &mut Module, pipe: &Ranks, name: &'static str, (a, b): (Signal, Signal), places: u32) -> Self {
        let widths = (a.width(), b.width());
        let (few, bits) = (places == 1, b.width());
        let mut this = Self { name, names: vec![], parts: vec![], bits, places, few, widths, sums: 0 };
        let wanted = this.wanted(pipe);
        this.bits = b.width().div_ceil(wanted);
        let one = wanted == 1;
        for low in (0..b.width()).step_by(this.bits as usize) {
            let some = b.slice(low..(low + this.bits).min(b.width()));
            let product = if a.ty().signed {
                (a * some.extend(some.width() + 1).as_sint()).truncate(a.width() + some.width())
            } else {
                a * some
            };
            let name = if one { name.to_owned() } else { format!("{name}_part_{low}") };
            this.parts.push(m.wire(&name, product));
        }
        this.rename();
        this
    }

    /// How many parts the next registers should hold.
    fn wanted(&self, pipe: &Ranks) -> u32 {
        let used = (0..self.places).find(|&place| pipe.registers_at(place));
        // Two are added at a place; where there is only one place, three.
        used.map_or(1, |place| if self.few { 3 } else { 1 << (self.places - place) })
    }

    fn rename(&mut self) {
        let name = |i: usize| if self.parts.len() == 1 { self.name.to_owned() } else { format!("{}_{i}", self.name) };
        self.names = (0..self.parts.len()).map(name).collect();
    }

    /// The next place, with other values that cross it. After it, as many parts are added as there is time for.
    pub(super) fn cut<'a>(&mut self, m: &mut Module, pipe: &mut Ranks, more: impl IntoIterator<Item = Crossing<'a>>) {
        let parts = self.names.iter().map(String::as_str).zip(&mut self.parts);
        pipe.cut(m, parts.chain(more.into_iter().map(|(name, signal)| (name, &mut *signal))));
        self.places -= 1;
        let wanted = self.wanted(pipe) as usize;
        if self.parts.len() <= wanted {
            return;
        }
        let group = self.parts.len().div_ceil(wanted);
        let (a, b) = self.widths;
        let parts = std::mem::take(&mut self.parts);
        let mut low = 0;
        for some in parts.chunks(group) {
            let covered = (self.bits * some.len() as u32).min(b - low);
            let width = a + covered;
            let place = |(i, part): (u32, &Signal)| {
                let (part, shift) = (*part, i * self.bits);
                let placed = if shift > 0 { part.shl(shift) } else { part };
                if placed.width() > width { placed.truncate(width) } else { placed.extend(width) }
            };
            let sum = (0u32..).zip(some).map(place).reduce(|sum, part| sum.wrapping_add(part));
            self.sums += 1;
            let name =
                if parts.len() <= group { self.name.to_owned() } else { format!("{}_sum_{}", self.name, self.sums) };
            self.parts.extend(sum.map(|sum| m.wire(&name, sum)));
            low += covered;
        }
        self.bits *= group as u32;
        self.rename();
    }

    /// The product, after all of its places.
    pub(super) fn whole(&self) -> Signal {
        debug_assert!(self.places == 0 && self.parts.len() == 1, "a place was forgotten");
        self.parts[0]
    }
}
