//! Width adaptation: how the operators of `signal.rs` become nodes whose operand widths are what Verilog needs.

use super::context::Elaboration;
use super::error::Loc;
use super::ir::{Arithmetic, NodeId, Op};
use super::signal::Signal;
use super::types::{Type, sint, uint};

impl Elaboration {
    fn op(&mut self, node: NodeId) -> Op {
        self.top().ir.nodes[node as usize].op.clone()
    }

    fn at(&mut self, node: NodeId) -> Signal {
        let b = self.top();
        Signal { serial: b.serial, node, ty: b.ir.nodes[node as usize].ty }
    }

    pub(crate) fn cast(&mut self, a: Signal, signed: bool) -> Signal {
        if a.ty.signed == signed {
            return a;
        }
        let ty = Type { signed, ..a.ty };
        match self.op(a.node) {
            // There and back again.
            Op::Cast(inner) => self.at(inner),
            // Modulo 2^width the signedness makes no difference.
            Op::Wrapping(f, x, y) => {
                let [x, y] = [x, y].map(|operand| {
                    let operand = self.at(operand);
                    self.cast(operand, signed)
                });
                self.push(Op::Wrapping(f, x.node, y.node), ty)
            }
            _ => self.push(Op::Cast(a.node), ty),
        }
    }

    pub(crate) fn extend(&mut self, a: Signal, width: u32) -> Signal {
        if width == a.ty.width { a } else { self.push(Op::Extend(a.node), a.ty.with_width(width)) }
    }

    pub(crate) fn slice(&mut self, a: Signal, low: u32, width: u32) -> Signal {
        if low == 0 && width == a.ty.width {
            return self.cast(a, false);
        }
        match self.op(a.node) {
            Op::Slice(inner, offset) => self.push(Op::Slice(inner, offset + low), uint(width)),
            Op::Cast(inner) => self.push(Op::Slice(inner, low), uint(width)),
            Op::Extend(inner) if low + width <= self.at(inner).ty.width => {
                let inner = self.at(inner);
                self.slice(inner, low, width)
            }
            _ => self.push(Op::Slice(a.node, low), uint(width)),
        }
    }

    /// Low bits, same signedness. Arithmetic is redone at the narrow width: that is what the author means.
    pub(crate) fn truncate(&mut self, a: Signal, width: u32) -> Signal {
        if width == a.ty.width {
            return a;
        }
        if let Op::Exact(f, x, y) = self.op(a.node) {
            let ty = a.ty.with_width(width);
            let [x, y] = [x, y].map(|operand| {
                let operand = self.at(operand);
                if operand.ty.width > width { self.truncate(operand, width) } else { self.extend(operand, width) }
            });
            return self.push(Op::Wrapping(f, x.node, y.node), ty);
        }
        let low = self.slice(a, 0, width);
        self.cast(low, a.ty.signed)
    }

    pub(crate) fn exact(&mut self, f: Arithmetic, a: Signal, b: Signal, loc: Loc) -> Signal {
        if a.ty.signed != b.ty.signed {
            let (x, y) = (self.describe(a), self.describe(b));
            self.error(loc, format!("arithmetic on signed and unsigned: {x} and {y}; cast or extend one"));
            return self.poison(a.ty);
        }
        let widest = a.ty.width.max(b.ty.width);
        match f {
            Arithmetic::Mul => self.push(Op::Exact(f, a.node, b.node), a.ty.with_width(a.ty.width + b.ty.width)),
            Arithmetic::Add => {
                let (a, b) = (self.extend(a, widest), self.extend(b, widest));
                self.push(Op::Exact(f, a.node, b.node), a.ty.with_width(widest + 1))
            }
            Arithmetic::Sub => {
                // The difference of unsigned values is signed: both go to the result's type first.
                let operand = if a.ty.signed { widest } else { widest + 1 };
                let [a, b] = [a, b].map(|x| {
                    let wide = self.extend(x, operand);
                    self.cast(wide, true)
                });
                self.push(Op::Exact(f, a.node, b.node), sint(widest + 1))
            }
        }
    }
}
