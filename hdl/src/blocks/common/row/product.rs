//! Products in ranks of registers: carry-save adders reduce the multiples to two, and a prefix tree adds these.

use super::pipe::{held, later};
use crate::blocks::common::arith::carry_save::RowSum;
use crate::lang::{
    About, Block, CatalogBlock, InOption, Module, Out, Signal, Timing, bit, bits_for, parameters, ports, uint,
};

/// Levels between registers, about.
const LEVELS: u32 = 20;

/// The product of two unsigned numbers, `b` the narrower one, [`product_latency`] cycles later.
#[track_caller]
pub fn product(m: &mut Module, name: &str, a: Signal, b: Signal) -> Signal {
    let product = RowProduct { a_width: a.width(), b_width: b.width(), ..RowProduct::default() };
    let u = m.instance(&format!("u_{name}"), product);
    m.connect_option(u.a_i, Some(a));
    m.connect_option(u.b_i, Some(b));
    m.wire(name, u.product_o)
}

/// The product of an unsigned number and a constant of `width` bits, [`product_latency`] cycles later.
#[track_caller]
pub fn multiple(m: &mut Module, name: &str, (constant, width): (u32, u32), b: Signal) -> Signal {
    let product = RowProduct { a_width: width, b_width: b.width(), constant, ..RowProduct::default() };
    let u = m.instance(&format!("u_{name}"), product);
    m.connect_option(u.b_i, Some(b));
    m.wire(name, u.product_o)
}

/// The square of an unsigned number, [`product_latency`] cycles later.
#[track_caller]
pub fn square(m: &mut Module, name: &str, a: Signal) -> Signal {
    let width = a.width();
    let square = RowProduct { a_width: width, b_width: width, square: true, ..RowProduct::default() };
    let u = m.instance(&format!("u_{name}"), square);
    m.connect_option(u.a_i, Some(a));
    m.wire(name, u.product_o)
}

/// The product, with registers that move on only with `enable`.
#[track_caller]
pub fn product_held(m: &mut Module, name: &str, (a, b): (Signal, Signal), enable: Signal) -> Signal {
    let product = RowProduct { a_width: a.width(), b_width: b.width(), held: true, ..RowProduct::default() };
    let u = m.instance(&format!("u_{name}"), product);
    m.connect_option(u.a_i, Some(a));
    m.connect_option(u.b_i, Some(b));
    if let Some(enable_i) = u.enable_i {
        m.connect(enable_i, enable);
    }
    m.wire(name, u.product_o)
}

/// Cycles of [`product`].
#[must_use]
pub fn product_latency(a_width: u32, b_width: u32) -> u32 {
    RowProduct { a_width, b_width, ..RowProduct::default() }.latency()
}

parameters! {
    /// Elaboration parameters.
    pub struct RowProduct {
        /// Bits of the wider factor.
        a_width: u32 = 18, in 1..=128, tag "a";
        /// Bits of the narrower factor.
        b_width: u32 = 11, in 1..=128, tag "b";
        /// Registers move on only with enable_i.
        held: bool = false, tag "held";
        /// Both factors are a_i, whose width is b_width too.
        square: bool = false, tag "square";
        /// The wider factor, where it is a constant, instead of a_i.
        constant: u32 = 0, in 0..=u32::MAX, tag "c", named "when set";
    }
    rules = |p, rules| {
        rules.demand(!p.square || p.constant == 0, "constant", p.constant, "0 for a square");
        let fits = bits_for(p.constant.into()) <= p.a_width;
        rules.demand(fits, "a_width", p.a_width, format!("at least {} for this constant", bits_for(p.constant.into())));
        rules.demand(!p.square || p.a_width == p.b_width, "b_width", p.b_width, format!("a_width = {}", p.a_width));
    };
}

ports! {
    /// Ports of [`RowProduct`].
    pub struct RowProductPorts(p: &RowProduct) {
        /// A factor.
        a_i: InOption = uint(p.a_width).when(p.constant == 0),
        /// The other one.
        b_i: InOption = uint(p.b_width).when(!p.square),
        /// Everything moves on; otherwise everything holds.
        enable_i: InOption = bit().when(p.held),
        /// Their product.
        product_o: Out = uint(p.a_width + p.b_width),
    }
}

impl RowProduct {
    fn sum(&self) -> RowSum {
        RowSum::new(self.b_width, self.a_width + self.b_width, 1, LEVELS)
    }

    /// Cycles from factors to product.
    #[must_use]
    pub fn latency(&self) -> u32 {
        2 + self.sum().latency()
    }
}

impl Block for RowProduct {
    type Ports = RowProductPorts;
    const ABOUT: About = About {
        name: "row_product",
        summary: "product of unsigned numbers in ranks of registers",
        contract: "product_o = a_i * b_i, or a_i^2, or constant * b_i, of `latency` cycles ago; with enable_i, only cycles in which it is high count.",
        reference: "Wallace, A suggestion for a fast multiplier, IEEE Transactions on Electronic Computers, 1964",
    };

    fn build(&self, m: &mut Module, io: &RowProductPorts) {
        let ty = uint(self.a_width + self.b_width);
        let next = |m: &mut Module, name: &str, signal| match io.enable_i {
            Some(enable) => held(m, name, signal, 1, enable),
            None => later(m, name, signal, 1),
        };
        let a = match io.a_i {
            Some(a) => next(m, "a", a),
            None => uint(self.a_width).lit(self.constant),
        };
        let b = io.b_i.map_or(a, |b| next(m, "b", b));
        let rows = m.nets("multiple", ty, self.b_width);
        m.for_each("multiples", self.b_width, |m, i| {
            let taken = a & b.slice_at(i, 1).repeat(self.a_width);
            m.connect(rows.at(i), taken.extend(ty.width).shl_by(i.value(8)));
        });
        let sum = self.sum().build(m, rows, io.enable_i);
        let product = next(m, "product", sum);
        m.connect(io.product_o, product);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}

impl CatalogBlock for RowProduct {
    const SAMPLE: &'static [(&'static str, u32)] = &[("a_width", 11), ("b_width", 7)];

    fn configurations() -> Vec<Self> {
        let set = |a_width, b_width| Self { a_width, b_width, ..Self::default() };
        vec![
            set(1, 1),
            set(29, 11),
            Self { held: true, ..set(11, 7) },
            Self { square: true, ..set(11, 11) },
            Self { constant: 0x5c5_51d9, ..set(27, 11) },
        ]
    }
}
