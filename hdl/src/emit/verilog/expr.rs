//! Expressions. Verilog widens and re-signs operands by context; this printer leaves it no room to.
//!
//! Every operator prints with operands of exactly the width its value has, so that self-determined and
//! context-determined evaluation agree. The exact operations (`+ - *` that grow) are the exception: they stand alone on
//! the right of an assignment, whose left side has the result's width. What cannot stand where it is needed gets a name.

use num_bigint::BigInt;
use num_traits::{Signed, Zero};

use super::items::Printer;
use super::slot::Slot;
use crate::lang::Type;
use crate::lang::index::Index;
use crate::lang::ir::{Arithmetic, Compare, Layout, Logic, NetId, NodeId, Op};

/// Verilator takes literals of up to 65,536 bits.
const WIDEST_LITERAL: u32 = 32_768;

pub(super) const PRIMARY: u8 = 100;
pub(super) const UNARY: u8 = 90;
const TERNARY: u8 = 10;

impl Printer<'_> {
    /// Text of an expression with at least the binding strength `min`.
    pub(super) fn expr(&mut self, id: NodeId, slot: Slot, min: u8) -> String {
        self.prepare(id);
        if let Some(name) = self.hoisted(id) {
            self.read_temp(&name, None);
            return name;
        }
        if self.must_hoist(id, slot) {
            let name = self.hoist(id);
            self.read_temp(&name, None);
            return name;
        }
        let (text, strength) = self.op(id, slot);
        if strength < min { format!("({text})") } else { text }
    }

    /// A side of a comparison. A choice in it gets a name: few readers see where one in brackets ends.
    fn compared(&mut self, id: NodeId) -> String {
        if matches!(self.ir.node(id).op, Op::Mux(..)) && self.hoisted(id).is_none() {
            self.prepare(id);
            self.hoist(id);
        }
        self.expr(id, Slot::Inner, UNARY)
    }

    pub(super) fn must_hoist(&self, id: NodeId, slot: Slot) -> bool {
        let shared = self.uses[id as usize] > 1 && !self.cheap(id);
        match &self.ir.node(id).op {
            Op::Net(net, _) => {
                // Icarus would make `always @*` sensitive to a whole array.
                slot == Slot::Name && self.is_packed(*net) && !self.is_whole(id)
                    || self.in_always && self.is_unpacked(*net)
            }
            Op::Element { net, .. } => matches!(slot, Slot::Name) || shared || self.in_always && self.is_unpacked(*net),
            Op::Literal(_) | Op::Poison => slot == Slot::Name,
            Op::LoopIndex(_) => true,
            Op::Exact(..) | Op::Lookup(..) => slot != Slot::Root || shared,
            Op::Slice(..)
            | Op::SliceAt(..)
            | Op::Cat(_)
            | Op::Repeat(..)
            | Op::Extend(_)
            | Op::Cast(_)
            | Op::SelectBit(..) => slot == Slot::Name || shared,
            Op::Not(_) | Op::Wrapping(..) | Op::Logic(..) | Op::Compare(..) | Op::Mux(..) | Op::Reduce(..) => {
                matches!(slot, Slot::Name | Slot::Operand) || shared
            }
            Op::ShiftLeft(..) | Op::ShiftRight(..) => matches!(slot, Slot::Name | Slot::Operand) || shared,
        }
    }

    /// Whether repeating the text is as readable as naming it.
    fn cheap(&self, id: NodeId) -> bool {
        match &self.ir.node(id).op {
            Op::Net(..) | Op::Literal(_) => true,
            Op::Slice(a, _) | Op::Cast(a) | Op::Not(a) => matches!(self.ir.node(*a).op, Op::Net(..) | Op::Literal(_)),
            _ => false,
        }
    }

    pub(super) fn is_packed(&self, net: NetId) -> bool {
        matches!(self.ir.net(net).array, Some((_, Layout::Packed)))
    }

    /// A packed array as one vector.
    fn is_whole(&self, id: NodeId) -> bool {
        matches!(self.ir.node(id).op, Op::Net(net, None) if self.is_packed(net))
    }

    fn is_unpacked(&self, net: NetId) -> bool {
        matches!(self.ir.net(net).array, Some((_, Layout::Unpacked)))
    }

    fn op(&mut self, id: NodeId, slot: Slot) -> (String, u8) {
        let node = self.ir.node(id);
        let ty = node.ty;
        match &node.op {
            Op::Poison => ("1'b0".into(), PRIMARY),
            Op::Net(net, index) => {
                let text = self.net_bits(*net, index.as_ref(), 0, ty.width);
                let signed = ty.signed && self.is_packed(*net) && slot != Slot::Root;
                (if signed { format!("$signed({text})") } else { text }, PRIMARY)
            }
            Op::Element { net, fixed, run } => {
                let text = self.element(*net, fixed, run, (0, ty.width));
                let signed = ty.signed && self.is_packed(*net) && slot != Slot::Root;
                (if signed { format!("$signed({text})") } else { text }, PRIMARY)
            }
            Op::SliceAt(a, low) => (self.slice_at(*a, low, ty.width), PRIMARY),
            Op::Literal(value) => (literal(value, ty), PRIMARY),
            Op::LoopIndex(index) => (self.affine(index, 1, 0), PRIMARY),
            Op::Not(a) => {
                // The result of `!` is unsigned, and would take a signed operation around it with it.
                let sign = if ty.width == 1 && !ty.signed { "!" } else { "~" };
                (format!("{sign}{}", self.expr(*a, Slot::Inner, PRIMARY)), UNARY)
            }
            Op::Exact(Arithmetic::Sub, a, b) if self.is_zero(*a) => {
                (format!("-{}", self.expr(*b, Slot::Operand, PRIMARY)), UNARY)
            }
            Op::Exact(f, a, b) | Op::Wrapping(f, a, b) => {
                let wraps = matches!(node.op, Op::Wrapping(..));
                let product = (*f == Arithmetic::Mul && slot == Slot::Root).then(|| self.product(*a, *b)).flatten();
                let sum = || self.sum_apart(*f, *a, *b, ty, slot);
                product
                    .or_else(sum)
                    .unwrap_or_else(|| self.arithmetic(*f, *a, *b, if wraps { Slot::Inner } else { Slot::Operand }))
            }
            Op::Logic(f, a, b) => {
                let (sign, strength) = match f {
                    Logic::And => ("&", 40),
                    Logic::Xor => ("^", 35),
                    Logic::Or => ("|", 30),
                };
                let [a, b] = [*a, *b].map(|x| {
                    // Chains of one operator need no brackets; mixed ones get them.
                    let same = matches!(&self.ir.node(x).op, Op::Logic(g, ..) if g == f);
                    self.expr(x, Slot::Inner, if same { strength } else { UNARY })
                });
                (format!("{a} {sign} {b}"), strength)
            }
            Op::Compare(f, a, b) => {
                let (sign, strength) = match f {
                    Compare::Eq => ("==", 45),
                    Compare::Ne => ("!=", 45),
                    Compare::Lt => ("<", 50),
                    Compare::Le => ("<=", 50),
                };
                let right = match self.state_name(*a, *b) {
                    Some(name) => name,
                    None => self.compared(*b),
                };
                if matches!(self.ir.node(*a).op, Op::Literal(_)) {
                    // `x > 3` reads better than `3 < x`.
                    let sign = match f {
                        Compare::Lt => ">",
                        Compare::Le => ">=",
                        _ => sign,
                    };
                    return (format!("{right} {sign} {}", self.compared(*a)), strength);
                }
                (format!("{} {sign} {right}", self.compared(*a)), strength)
            }
            Op::Mux(s, a, b) => {
                let [s, a] = [*s, *a].map(|x| self.expr(x, Slot::Inner, 15));
                // `a ? b : c ? d : e` is how a list of choices is written.
                let b = self.expr(*b, Slot::Inner, TERNARY);
                (format!("{s} ? {a} : {b}"), TERNARY)
            }
            Op::Cat(parts) => {
                let parts: Vec<_> = parts.iter().map(|&p| self.expr(p, Slot::Inner, 0)).collect();
                (format!("{{{}}}", parts.join(", ")), PRIMARY)
            }
            Op::Repeat(a, count) => (format!("{{{count}{{{}}}}}", self.expr(*a, Slot::Inner, 0)), PRIMARY),
            Op::Slice(a, low) => (self.slice(*a, *low, ty.width), PRIMARY),
            Op::SelectBit(a, index) => {
                let name = self.expr(*a, Slot::Name, 0);
                (format!("{name}[{}]", self.expr(*index, Slot::Inner, 0)), PRIMARY)
            }
            Op::Extend(a) => {
                let factors = self.extended_product(*a).filter(|_| slot == Slot::Root);
                let product = factors.and_then(|(x, y)| self.product(x, y));
                product.unwrap_or_else(|| (self.extend(*a, ty, slot), PRIMARY))
            }
            Op::Cast(a) => {
                // An assignment to the same width does not care.
                if slot == Slot::Root && self.context_free(*a) {
                    (self.expr(*a, Slot::Root, 0), 0)
                } else {
                    let inner = self.expr(*a, Slot::Inner, 0);
                    (format!("{}({inner})", if ty.signed { "$signed" } else { "$unsigned" }), PRIMARY)
                }
            }
            Op::ShiftLeft(a, n) => self.shift("<<", *a, *n),
            Op::ShiftRight(a, n) => self.shift(if ty.signed { ">>>" } else { ">>" }, *a, *n),
            Op::Reduce(f, a) => {
                let sign = match f {
                    Logic::And => "&",
                    Logic::Or => "|",
                    Logic::Xor => "^",
                };
                (format!("{sign}{}", self.expr(*a, Slot::Inner, PRIMARY)), UNARY)
            }
            Op::Lookup(..) => unreachable!("a lookup is printed as a case statement"),
        }
    }

    /// Whether an expression printed at the root of an assignment means the same without a cast around it.
    fn context_free(&self, id: NodeId) -> bool {
        matches!(
            self.ir.node(id).op,
            Op::Net(..)
                | Op::Slice(..)
                | Op::Cat(_)
                | Op::Repeat(..)
                | Op::Wrapping(..)
                | Op::Logic(..)
                | Op::Exact(..)
        )
    }

    fn is_zero(&self, id: NodeId) -> bool {
        matches!(&self.ir.node(id).op, Op::Literal(v) if v.is_zero())
    }

    fn arithmetic(&mut self, f: Arithmetic, a: NodeId, b: NodeId, slot: Slot) -> (String, u8) {
        let (sign, strength) = match f {
            Arithmetic::Add => ("+", 70),
            Arithmetic::Sub => ("-", 70),
            Arithmetic::Mul => ("*", 80),
        };
        // Additions in a row, and products among them, need no brackets on the left.
        let left = if slot == Slot::Inner { strength } else { UNARY };
        (format!("{} {sign} {}", self.expr(a, slot, left), self.expr(b, slot, UNARY)), strength)
    }

    fn shift(&mut self, sign: &str, a: NodeId, n: NodeId) -> (String, u8) {
        (format!("{} {sign} {}", self.expr(a, Slot::Inner, UNARY), self.expr(n, Slot::Inner, UNARY)), 60)
    }

    /// `width` bits of an expression from bit `low`.
    pub(super) fn slice(&mut self, a: NodeId, low: u32, width: u32) -> String {
        if let Op::Net(net, index) = &self.ir.node(a).op
            && !(self.in_always && self.is_unpacked(*net))
        {
            return self.net_bits(*net, index.as_ref(), low, width);
        }
        if let Op::Element { net, fixed, run } = &self.ir.node(a).op
            && self.hoisted(a).is_none()
            && !self.in_always
        {
            return self.element(*net, fixed, run, (low, width));
        }
        let name = match self.hoisted(a) {
            Some(name) => name,
            None => self.hoist(a),
        };
        self.read_temp(&name, Some((low, width)));
        if matches!(self.ir.node(a).op, Op::LoopIndex(_)) {
            // Its text is a part-select of a constant already.
            let constant = name.split('[').next().unwrap_or(&name);
            return format!("{constant}{}", bit_range(low, width));
        }
        if self.ir.node(a).ty.width == 1 { name } else { format!("{name}{}", bit_range(low, width)) }
    }

    /// `width` bits of an expression from a bit that depends on loop variables.
    fn slice_at(&mut self, a: NodeId, low: &Index, width: u32) -> String {
        // In its own words where it is a net, an element of an array of nets, or a port as a whole.
        let plain = match self.ir.node(a).op {
            Op::Net(net, index) => self.is_whole(a) || !(self.is_packed(net) || self.in_always && index.is_some()),
            _ => false,
        };
        let name = if plain { self.expr(a, Slot::Inner, 0) } else { self.expr(a, Slot::Name, 0) };
        let at = self.affine(low, 1, 0);
        match (self.ir.node(a).ty.width, width) {
            (1, _) => name,
            (_, 1) => format!("{name}[{at}]"),
            _ => format!("{name}[{at} +: {width}]"),
        }
    }

    /// An element that is chosen at run time.
    fn element(&mut self, net: NetId, fixed: &Index, run: &[(NodeId, u32)], (low, width): (u32, u32)) -> String {
        let (packed, array) = (self.is_packed(net), self.ir.net(net).array);
        let whole = self.ir.net(net).ty.width;
        self.read_net(net, None, 0, if packed { whole * array.map_or(1, |a| a.0) } else { whole });
        let scale = if packed { whole } else { 1 };
        let mut at: Vec<String> = Vec::new();
        for &(node, step) in run {
            // Only names: what is computed inside of a select is computed at 32 bits, and linters mind.
            let text = self.expr(node, Slot::Name, 0);
            // An integer constant makes the sum as wide as it needs to be.
            at.push(if step * scale == 1 { text } else { format!("{}*{text}", step * scale) });
        }
        let rest = self.affine(fixed, i64::from(scale), if packed { low.into() } else { 0 });
        if rest != "0" {
            at.push(rest);
        }
        let name = self.names[net as usize].clone();
        let at = at.join(" + ");
        match (packed, width) {
            (true, 1) => format!("{name}[{at}]"),
            (true, _) => format!("{name}[{at} +: {width}]"),
            (false, _) if width == whole => format!("{name}[{at}]"),
            (false, _) => format!("{name}[{at}]{}", bit_range(low, width)),
        }
    }

    fn extend(&mut self, a: NodeId, ty: Type, slot: Slot) -> String {
        if !ty.signed {
            let extra = ty.width - self.ir.node(a).ty.width;
            let zeros = literal(&BigInt::zero(), Type { width: extra, signed: false });
            return format!("{{{zeros}, {}}}", self.expr(a, Slot::Inner, 0));
        }
        let wide = self.sign_extension(a, ty.width);
        if slot == Slot::Root { wide } else { format!("$signed({wide})") }
    }

    /// Bits of a net or of an array element, and a note that they are read.
    pub(super) fn net_bits(&mut self, net: NetId, index: Option<&Index>, low: u32, width: u32) -> String {
        self.read_net(net, index, low, width);
        self.net_text(net, index, low, width)
    }

    /// The whole of a net or of an element; an array port without an index is all of its elements.
    pub(super) fn net_whole(&self, net: NetId, index: Option<&Index>) -> String {
        self.net_text(net, index, 0, self.whole_width(net, index))
    }

    fn whole_width(&self, net: NetId, index: Option<&Index>) -> u32 {
        let n = self.ir.net(net);
        match (n.array, index) {
            (Some((count, Layout::Packed)), None) => n.ty.width * count,
            _ => n.ty.width,
        }
    }

    fn net_text(&self, net: NetId, index: Option<&Index>, low: u32, width: u32) -> String {
        let n = self.ir.net(net);
        let name = &self.names[net as usize];
        let whole = low == 0 && width == self.whole_width(net, index);
        let part = if whole { String::new() } else { bit_range(low, width) };
        match (n.array, index) {
            (None, _) | (_, None) => format!("{name}{part}"),
            (Some((_, Layout::Unpacked)), Some(i)) => format!("{name}[{}]{part}", self.affine(i, 1, 0)),
            (Some((_, Layout::Packed)), Some(i)) => {
                let w = i64::from(n.ty.width);
                if let Some(i) = i.constant() {
                    return format!("{name}{}", bit_range((i * w) as u32 + low, width));
                }
                let at = self.affine(i, w, i64::from(low));
                if width == 1 { format!("{name}[{at}]") } else { format!("{name}[{at} +: {width}]") }
            }
        }
    }
}

impl Printer<'_> {
    /// `scale * index + offset` over the loop variables.
    pub(super) fn affine(&self, index: &Index, scale: i64, offset: i64) -> String {
        let constant = index.offset * scale + offset;
        let parts = |(id, c): (u32, i64)| {
            let variables = &self.genvars[id as usize];
            variables.iter().map(move |(weight, name)| (c * scale * weight, name.as_str()))
        };
        let mut terms: Vec<(i64, &str)> = index.terms().flat_map(parts).collect();
        // A positive term first, so that the text does not start with a minus.
        terms.sort_by_key(|t| t.0 < 0);
        let mut text = String::new();
        if terms.is_empty() || constant != 0 && terms[0].0 < 0 {
            text = constant.to_string();
        }
        for (c, name) in &terms {
            let magnitude = if c.abs() == 1 { (*name).to_string() } else { format!("{}*{name}", c.abs()) };
            text = match (text.is_empty(), *c < 0) {
                (true, false) => magnitude,
                (true, true) => format!("-{magnitude}"),
                (false, negative) => format!("{text} {} {magnitude}", if negative { '-' } else { '+' }),
            };
        }
        if constant != 0 && terms.first().is_some_and(|t| t.0 > 0) {
            text = format!("{text} {} {}", if constant < 0 { '-' } else { '+' }, constant.abs());
        }
        text
    }
}

fn bit_range(low: u32, width: u32) -> String {
    if width == 1 { format!("[{low}]") } else { format!("[{}:{low}]", low + width - 1) }
}

/// A sized literal: decimal while a person can read it, hexadecimal when wide or negative.
pub(super) fn literal(value: &BigInt, ty: Type) -> String {
    let sign = if ty.signed { "s" } else { "" };
    let w = ty.width;
    if w == 1 && !ty.signed {
        return format!("1'b{value}");
    }
    let bits = Type { signed: false, ..ty }.wrap(value);
    if w > WIDEST_LITERAL {
        // In pieces, most significant first; zeros ahead of them are a repetition.
        let (mut zeros, mut parts, mut low) = (0, Vec::new(), w);
        while low > 0 {
            let width = (low - 1) % WIDEST_LITERAL + 1;
            low -= width;
            let piece = Type { width, signed: false };
            let value = piece.wrap(&(&bits >> low));
            if parts.is_empty() && value.bits() == 0 {
                zeros += width;
            } else {
                parts.push(literal(&value, piece));
            }
        }
        if zeros > 0 {
            parts.insert(0, format!("{{{zeros}{{1'b0}}}}"));
        }
        let text = if parts.len() == 1 { parts.remove(0) } else { format!("{{{}}}", parts.join(", ")) };
        return if ty.signed { format!("$signed({text})") } else { text };
    }
    if value.is_negative() || w > 32 && value.bits() > 16 {
        return format!("{w}'{sign}h{bits:x}");
    }
    format!("{w}'{sign}d{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_literals_come_in_pieces() {
        let of = |value: i32, width| literal(&value.into(), Type { width, signed: value < 0 });
        assert_eq!(of(0, 40_000), "{40000{1'b0}}");
        assert_eq!(of(1, 40_000), "{{7232{1'b0}}, 32768'd1}");
        let ones = format!("$signed({{7232'h{}, 32768'h{}}})", "f".repeat(7232 / 4), "f".repeat(32_768 / 4));
        assert_eq!(of(-1, 40_000), ones);
    }
}
