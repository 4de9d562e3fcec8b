//! An adder with few levels, whatever its width.

use num_bigint::BigInt;

use crate::lang::{About, Block, CatalogBlock, In, Module, Out, Signal, bit, cat, parameters, ports, uint};

/// Sums narrower than this are left to synthesis: its adders have few gates, and twice the levels.
const NARROW: u32 = 20;

/// a + b, or a - b modulo 2^width; one bit wider than the wider operand. The instance is called after `name`.
#[track_caller]
pub fn add(m: &mut Module, name: &str, a: Signal, b: Signal, subtract: bool) -> Signal {
    let width = a.width().max(b.width()) + 1;
    let (a, b) = (a.extend(width), b.extend(width));
    if width < NARROW {
        return if subtract { a.wrapping_sub(b) } else { a.wrapping_add(b) };
    }
    // Few widths make few modules; the unused top bits of a wider adder have no gates.
    let whole = width.next_multiple_of(8);
    let u = m.instance(&format!("u_{name}"), RowAdder { width: whole, subtract });
    m.connect(u.a_i, a.extend(whole));
    m.connect(u.b_i, b.extend(whole));
    m.unused(u.sum_o);
    u.sum_o.slice(0..width)
}

/// Levels of [`add`], about, for a sum of `width` bits.
pub(crate) fn levels(width: u32) -> u32 {
    if width < NARROW { width.min(14) } else { 3 + 2 * (width - 1).next_power_of_two().trailing_zeros() }
}

parameters! {
    /// Elaboration parameters.
    pub struct RowAdder {
        /// Bits of the operands and of the sum.
        width: u32 = 40, in 3..=256, tag "w";
        /// The second operand is subtracted.
        subtract: bool = false, tag "sub";
    }
}

ports! {
    /// Ports of [`RowAdder`].
    pub struct RowAdderPorts(p: &RowAdder) {
        /// First operand.
        a_i: In = uint(p.width),
        /// Second operand.
        b_i: In = uint(p.width),
        /// Sum or difference, modulo 2^width.
        sum_o: Out = uint(p.width),
    }
}

impl Block for RowAdder {
    type Ports = RowAdderPorts;
    const ABOUT: About = About {
        name: "row_adder",
        summary: "adder with a prefix tree of carries",
        contract: "sum_o = a_i + b_i, or a_i - b_i, modulo 2^width, in about 3 + 2 log2(width) levels.",
        reference: "Sklansky, Conditional-sum addition logic, IRE Transactions on Electronic Computers, 1960",
    };

    fn build(&self, m: &mut Module, io: &RowAdderPorts) {
        // Carries into all bits but the lowest.
        let top = self.width - 1;
        let b = m.wire("b", if self.subtract { !io.b_i } else { io.b_i });
        let half = m.wire("half", io.a_i ^ b);
        let either = m.wire("either", io.a_i.slice(0..top) | b.slice(0..top));
        let both = m.wire("both", io.a_i.slice(0..top) & b.slice(0..top));
        // Into the lowest bit comes 1 where b is its complement.
        let both = if self.subtract { cat(&[both.slice(1..top), either.bit(0)]) } else { both };
        let (mut makes, mut passes) = (both, either);
        let mut step = 1;
        while step < top {
            m.comment(&format!("Blocks of {}: the upper half sees the carry out of the lower half.", 2 * step));
            let name = |what: &str| format!("{what}_{step}");
            let carry = self.above(m, &name("carry"), makes, step);
            makes = m.wire(&name("makes"), makes | (passes & carry));
            if 2 * step < top {
                let pass = self.above(m, &name("pass"), passes, step);
                let lower = uint(top).lit(blocks(top, step, |place| place < step));
                passes = m.wire(&name("passes"), passes & (pass | lower));
            }
            step *= 2;
        }
        let carries = makes;
        m.connect(io.sum_o, half ^ cat(&[carries, bit().lit(u8::from(self.subtract))]));
    }
}

impl CatalogBlock for RowAdder {
    fn configurations() -> Vec<Self> {
        let set = |width, subtract| Self { width, subtract };
        vec![set(3, false), set(7, true), set(24, false), set(40, true), set(65, true)]
    }
}

impl RowAdder {
    /// Copies the top bit of the lower half of each block of 2 * `step` bits to all bits of its upper half. It works on
    /// whole words, which simulate much faster than bits; in gates it is wires.
    fn above(&self, m: &mut Module, name: &str, from: Signal, step: u32) -> Signal {
        let top = from.width();
        let up = |x: Signal, places: u32| cat(&[x.slice(0..top - places), uint(places).lit(0)]);
        let first = from & uint(top).lit(blocks(top, step, |place| place == step - 1));
        let mut spread = m.wire(name, up(first, 1));
        let mut reach = 1;
        while reach < step {
            spread = m.wire(&format!("{name}_{}", 2 * reach), spread | up(spread, reach));
            reach *= 2;
        }
        spread
    }
}

/// The bits of `width` whose place in their block of 2 * `step` is chosen.
fn blocks(width: u32, step: u32, chosen: impl Fn(u32) -> bool) -> BigInt {
    let bits = (0..width).filter(|bit| chosen(bit % (2 * step)));
    bits.fold(BigInt::ZERO, |mask, bit| mask | BigInt::from(1u32) << bit)
}
