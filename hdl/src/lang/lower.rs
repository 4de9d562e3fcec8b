//! Width adaptation: how the operators of `signal.rs` become nodes whose operand widths are what Verilog needs.

use std::collections::BTreeMap;

use super::context::Elaboration;
use super::error::Loc;
use super::ir::{Arithmetic, NodeId, Op};
use super::signal::Signal;
use super::types::{Type, bit, sint, uint};

impl Elaboration {
    fn op(&self, node: NodeId) -> &Op {
        &self.current().ir.nodes[node as usize].op
    }

    fn at(&self, node: NodeId) -> Signal {
        let b = self.current();
        Signal { serial: b.serial, node, ty: b.ir.nodes[node as usize].ty }
    }

    fn is_poison(&self, a: Signal) -> bool {
        *self.op(a.node) == Op::Poison
    }

    /// Whether the types differ and that has not been caused by an error reported before.
    pub(crate) fn differ(&self, a: Signal, b: Signal) -> bool {
        a.ty != b.ty && !self.is_poison(a) && !self.is_poison(b)
    }

    pub(crate) fn is_not_a_bit(&self, a: Signal) -> bool {
        a.ty != bit() && !self.is_poison(a)
    }

    /// The call that would make a value of type `from` one of type `to`.
    pub(crate) fn advice(from: Type, to: Type) -> String {
        let width = match from.width.cmp(&to.width) {
            std::cmp::Ordering::Less => Some("extend"),
            std::cmp::Ordering::Greater => Some("truncate, saturate or slice"),
            std::cmp::Ordering::Equal => None,
        };
        let cast = match (from.signed, to.signed) {
            (false, true) => Some("cast (as_sint)"),
            (true, false) => Some("cast (as_uint)"),
            _ => None,
        };
        [width, cast].into_iter().flatten().collect::<Vec<_>>().join(" and ") + " it"
    }

    /// Reports operands of which one is signed and the other not.
    pub(crate) fn sign_clash(&mut self, a: Signal, b: Signal, what: &str, loc: Loc) -> bool {
        let clash = a.ty.signed != b.ty.signed;
        if clash && !self.is_poison(a) && !self.is_poison(b) {
            let (x, y) = (self.describe(a), self.describe(b));
            self.error(loc, format!("{what} signed and unsigned: {x} and {y}; cast one with as_sint or as_uint"));
        }
        clash
    }

    pub(crate) fn cast(&mut self, a: Signal, signed: bool) -> Signal {
        if a.ty.signed == signed {
            return a;
        }
        let ty = Type { signed, ..a.ty };
        match *self.op(a.node) {
            // There and back again.
            Op::Cast(inner) => self.at(inner),
            // Modulo 2^width the signedness makes no difference.
            Op::Wrapping(f, x, y) if [x, y].iter().all(|&o| matches!(self.op(o), Op::Cast(_) | Op::Literal(_))) => {
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
        let (mut inner, mut low) = (a, low);
        // Looks through whatever keeps the bits where they are, or moves them by a constant.
        loop {
            let next = match *self.op(inner.node) {
                Op::Slice(x, offset) => {
                    low += offset;
                    x
                }
                Op::Cast(x) => x,
                Op::Extend(x) if low + width <= self.at(x).ty.width => x,
                _ => break,
            };
            inner = self.at(next);
        }
        if low == 0 && width == inner.ty.width {
            return self.cast(inner, false);
        }
        self.push(Op::Slice(inner.node, low), uint(width))
    }

    /// Low bits, same signedness. Arithmetic is redone at the narrow width: that is what the author means.
    pub(crate) fn truncate(&mut self, a: Signal, width: u32) -> Signal {
        if width == a.ty.width {
            return a;
        }
        // Sums of sums, in the order of their description, each once: they may be shared many times over.
        let mut redone: BTreeMap<NodeId, Option<Signal>> = BTreeMap::new();
        let mut todo = vec![a.node];
        while let Some(id) = todo.pop() {
            let id = self.strip(id, width);
            if let Op::Exact(_, x, y) = *self.op(id)
                && self.at(id).ty.width > width
                && redone.insert(id, None).is_none()
            {
                todo.extend([x, y]);
            }
        }
        let order: Vec<NodeId> = redone.keys().copied().collect();
        for id in order {
            let Op::Exact(f, x, y) = *self.op(id) else { continue };
            let ty = self.at(id).ty.with_width(width);
            let [x, y] = [x, y].map(|operand| {
                let narrow = self.narrow(operand, width, &redone);
                self.cast(narrow, ty.signed)
            });
            let narrow = self.push(Op::Wrapping(f, x.node, y.node), ty);
            redone.insert(id, Some(narrow));
        }
        let low = self.narrow(a.node, width, &redone);
        self.cast(low, a.ty.signed)
    }

    /// The low `width` bits of `a`, or `a` extended to that width.
    pub(crate) fn low(&mut self, a: Signal, width: u32) -> Signal {
        if a.ty.width > width { self.truncate(a, width) } else { self.extend(a, width) }
    }

    /// The operand that `id` casts or extends, as long as it has the low `width` bits.
    fn strip(&self, mut id: NodeId, width: u32) -> NodeId {
        while let Op::Cast(inner) | Op::Extend(inner) = *self.op(id) {
            if self.at(inner).ty.width < width {
                break;
            }
            id = inner;
        }
        id
    }

    /// `width` low bits of a node, of any signedness, from what has been redone at that width.
    fn narrow(&mut self, id: NodeId, width: u32, redone: &BTreeMap<NodeId, Option<Signal>>) -> Signal {
        let id = self.strip(id, width);
        if let Some(Some(narrow)) = redone.get(&id) {
            return *narrow;
        }
        let whole = self.at(id);
        if whole.ty.width > width { self.slice(whole, 0, width) } else { self.extend(whole, width) }
    }

    pub(crate) fn exact(&mut self, f: Arithmetic, a: Signal, b: Signal, loc: Loc) -> Signal {
        let widest = a.ty.width.max(b.ty.width);
        let ty = match f {
            Arithmetic::Add => a.ty.with_width(widest + 1),
            Arithmetic::Sub => sint(widest + 1),
            Arithmetic::Mul => a.ty.with_width(a.ty.width + b.ty.width),
        };
        if self.sign_clash(a, b, "arithmetic on", loc) {
            return self.poison(ty);
        }
        match f {
            Arithmetic::Mul => self.push(Op::Exact(f, a.node, b.node), ty),
            Arithmetic::Add => {
                let (a, b) = (self.extend(a, widest), self.extend(b, widest));
                self.push(Op::Exact(f, a.node, b.node), ty)
            }
            Arithmetic::Sub => {
                // The difference of unsigned values is signed: both go to the result's type first.
                let operand = if a.ty.signed { widest } else { widest + 1 };
                let [a, b] = [a, b].map(|x| {
                    let wide = self.extend(x, operand);
                    self.cast(wide, true)
                });
                self.push(Op::Exact(f, a.node, b.node), ty)
            }
        }
    }
}
