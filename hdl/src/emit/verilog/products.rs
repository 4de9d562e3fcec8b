//! Products: Verilog may extend their factors, and Yosys must not make one cell of a signed product and a sum.
//!
//! Yosys' `alumacc` turns a sum and the products that nothing else reads into one `$macc` cell. With signed products that
//! extends every partial product to the width of the sum. For a multiply-accumulate of 8 x 8 bits into 32 it costs:
//!
//! | | `$macc` | a multiplier in front of an adder |
//! | --- | --- | --- |
//! | AND nodes | 1,367 | 797 |
//! | area in cells of osu018, square micrometres | 43,681 | 25,215 |
//!
//! (Yosys 0.23, then `dc2` three times. Unsigned products need no extension, so a `$macc` makes no difference.)
//! A sum of such a product is therefore printed without a sign: it has an operand that is extended by concatenation.

use super::expr::{PRIMARY, UNARY};
use super::items::Printer;
use super::slot::Slot;
use crate::lang::Type;
use crate::lang::ir::{Arithmetic, NodeId, Op};

impl Printer<'_> {
    /// `a * b` alone on the right of an assignment: Verilog extends both to the width of the left side, and linters let
    /// it. `None` when a factor would need a name for that.
    pub(super) fn product(&mut self, a: NodeId, b: NodeId) -> Option<(String, u8)> {
        let [a, b] = [a, b].map(|factor| self.unextended(factor));
        let stands = |p: &Self, x| p.hoisted(x).is_some() || !p.must_hoist(x, Slot::Operand);
        if !stands(self, a) || !stands(self, b) {
            return None;
        }
        Some((format!("{} * {}", self.expr(a, Slot::Operand, 80), self.expr(b, Slot::Operand, UNARY)), 80))
    }

    /// The factors of a product that is only ever read extended, and only once.
    pub(super) fn extended_product(&self, a: NodeId) -> Option<(NodeId, NodeId)> {
        match self.ir.node(a).op {
            Op::Exact(Arithmetic::Mul, x, y) if self.uses[a as usize] == 1 && self.hoisted(a).is_none() => Some((x, y)),
            _ => None,
        }
    }

    fn unextended(&self, mut id: NodeId) -> NodeId {
        while let Op::Extend(inner) = self.ir.node(id).op
            && self.uses[id as usize] == 1
        {
            id = inner;
        }
        id
    }

    /// A sum or difference of type `ty` without signs, when an operand is a product that Yosys would draw into it.
    pub(super) fn sum_apart(
        &mut self,
        f: Arithmetic,
        a: NodeId,
        b: NodeId,
        ty: Type,
        slot: Slot,
    ) -> Option<(String, u8)> {
        let sign = match f {
            Arithmetic::Add => "+",
            Arithmetic::Sub => "-",
            Arithmetic::Mul => return None,
        };
        // A constant is one row more in a `$macc`, and welcome there.
        let constant = |&x: &NodeId| matches!(self.ir.node(x).op, Op::Literal(_));
        let draws = [a, b].iter().any(|&x| self.is_lone_product(x, ty.width));
        if !ty.signed || !draws || [a, b].iter().any(constant) {
            return None;
        }
        let (a, b) = (self.summand(a, ty.width), self.summand(b, ty.width));
        let text = format!("{a} {sign} {b}");
        Some(if slot == Slot::Root { (text, 70) } else { (format!("$signed({text})"), PRIMARY) })
    }

    /// A signed product, narrower than `width`, that nothing else reads.
    fn is_lone_product(&self, id: NodeId, width: u32) -> bool {
        let node = self.ir.node(id);
        match node.op {
            _ if self.uses[id as usize] != 1 => false,
            Op::Extend(a) => self.is_lone_product(a, width),
            Op::Exact(Arithmetic::Mul, ..) => node.ty.signed && node.ty.width < width,
            Op::Net(net, None) if self.reads[net as usize] == 1 => {
                let driver = self.drivers.get(&net).map(|&d| &self.ir.node(d).op);
                match driver {
                    Some(Op::Exact(Arithmetic::Mul, ..)) => node.ty.signed && node.ty.width < width,
                    // `wire signed [31:0] wide = a * b;`
                    Some(Op::Extend(a)) => {
                        let inner = self.ir.node(*a);
                        inner.ty.signed && inner.ty.width < width && matches!(inner.op, Op::Exact(Arithmetic::Mul, ..))
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// An operand of `width` bits; unsigned where it is a product, which makes the whole sum unsigned.
    fn summand(&mut self, id: NodeId, width: u32) -> String {
        let inner = self.unextended(id);
        if self.ir.node(inner).ty.width < width {
            return self.sign_extension(inner, width);
        }
        let text = self.expr(inner, Slot::Inner, 0);
        // Without a sign around it an operation would lose its own: `>>>` would fill with zeros.
        let name = matches!(self.ir.node(inner).op, Op::Net(..)) || self.hoisted(inner).is_some();
        if name && !self.is_lone_product(inner, width) { text } else { format!("$unsigned({text})") }
    }

    /// `{{3{a[4]}}, a}`: an unsigned vector.
    pub(super) fn sign_extension(&mut self, a: NodeId, width: u32) -> String {
        let from = self.ir.node(a).ty.width;
        let sign = self.slice(a, from - 1, 1);
        let sign = if width - from == 1 { sign } else { format!("{{{}{{{sign}}}}}", width - from) };
        format!("{{{sign}, {}}}", self.expr(a, Slot::Inner, 0))
    }
}
