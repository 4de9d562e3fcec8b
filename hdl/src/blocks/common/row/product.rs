//! Products in ranks of registers: multiples are added three to two until two are left, and these by a prefix tree.

use super::adder::{self, add};
use super::pipe::later;
use crate::lang::{About, Block, In, Module, Out, Signal, Timing, parameters, ports, uint};

/// Levels between registers, about.
const LEVELS: u32 = 20;
/// Levels of a rank of full adders.
const FULL_ADDER: u32 = 4;

/// The product of two unsigned numbers, `b` the narrower one, [`product_latency`] cycles later.
#[track_caller]
pub fn product(m: &mut Module, name: &str, a: Signal, b: Signal) -> Signal {
    let u = m.instance(&format!("u_{name}"), RowProduct { a_width: a.width(), b_width: b.width() });
    m.connect(u.a_i, a);
    m.connect(u.b_i, b);
    m.wire(name, u.product_o)
}

/// Cycles of [`product`].
#[must_use]
pub fn product_latency(a_width: u32, b_width: u32) -> u32 {
    RowProduct { a_width, b_width }.latency()
}

parameters! {
    /// Elaboration parameters.
    pub struct RowProduct {
        /// Bits of the wider factor.
        a_width: u32 = 18, in 1..=128, tag "a";
        /// Bits of the other one.
        b_width: u32 = 11, in 1..=128, tag "b";
    }
}

ports! {
    /// Ports of [`RowProduct`].
    pub struct RowProductPorts(p: &RowProduct) {
        /// A factor.
        a_i: In = uint(p.a_width),
        /// The other one.
        b_i: In = uint(p.b_width),
        /// Their product.
        product_o: Out = uint(p.a_width + p.b_width),
    }
}

impl RowProduct {
    /// Before which sums three to two there are registers; the last place is before the adder of the last two.
    fn ranks(&self) -> Vec<bool> {
        let (mut rows, mut used, mut ranks) = (self.b_width, 1, vec![]);
        let mut next = |cost| {
            let cut = used + cost > LEVELS;
            used = if cut { cost } else { used + cost };
            ranks.push(cut);
        };
        while rows > 2 {
            next(FULL_ADDER);
            rows -= rows / 3;
        }
        next(adder::levels(self.a_width + self.b_width));
        ranks
    }

    /// Cycles from factors to product.
    #[must_use]
    pub fn latency(&self) -> u32 {
        2 + self.ranks().into_iter().map(u32::from).sum::<u32>()
    }
}

impl Block for RowProduct {
    type Ports = RowProductPorts;
    const ABOUT: About = About {
        name: "row_product",
        summary: "product of unsigned numbers in ranks of registers",
        contract: "product_o = a_i * b_i of `latency` cycles ago.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &RowProductPorts) {
        let ty = uint(self.a_width + self.b_width);
        let (a, b) = (later(m, "a", io.a_i, 1), later(m, "b", io.b_i, 1));
        let mut rows = m.nets("multiple", ty, self.b_width);
        m.for_each("multiples", self.b_width, |m, i| {
            let taken = a & b.slice_at(i, 1).repeat(self.a_width);
            m.connect(rows.at(i), taken.extend(ty.width).shl_by(i.value(8)));
        });
        for (level, cut) in self.ranks().into_iter().enumerate() {
            let count = rows.count();
            if cut {
                m.comment("Registers.");
                let held = m.regs(&format!("held_{level}"), ty, count);
                m.for_each(&format!("held_{level}"), count, |m, i| held.next(m, i, rows.at(i)));
                rows = held.q;
            }
            let (threes, left) = (count / 3, count % 3);
            if count < 3 {
                break;
            }
            m.comment(&format!("{count} become {}.", count - threes));
            let sums = m.nets(&format!("sum_{level}"), ty, count - threes);
            m.for_each(&format!("threes_{level}"), threes, |m, i| {
                let (a, b, c) = (rows.at(i * 3), rows.at(i * 3 + 1), rows.at(i * 3 + 2));
                m.connect(sums.at(i * 2), a ^ b ^ c);
                let carries = (a & b) | (c & (a | b));
                m.connect(sums.at(i * 2 + 1), carries.shl(1).truncate(ty.width));
            });
            for k in 0..left {
                m.connect(sums.at(2 * threes + k), rows.at(3 * threes + k));
            }
            rows = sums;
        }
        let sum = match rows.count() {
            1 => rows.at(0),
            _ => add(m, "whole", rows.at(0), rows.at(1), false).truncate(ty.width),
        };
        let product = later(m, "product", sum, 1);
        m.connect(io.product_o, product);
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(self.latency()).beat(1u32)
    }
}
