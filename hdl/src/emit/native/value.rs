//! Expressions of up to 64 bits. A value is kept in the C type that its Verilog type names: unsigned ones with zeros above
//! their bits, signed ones with copies of their sign. So C's own sums, products and comparisons are right.

use super::c_types::{c_type, canonical, constant, is_wide, mask, stored_type, unsigned, words};
use super::code::Code;
use super::lanes::{are_lanes, are_multiples};
use crate::lang::Type;
use crate::lang::index::Index;
use crate::lang::ir::{Arithmetic, Compare, Logic, NetId, NodeId, Op};

impl Code<'_> {
    /// Text of a value of up to 64 bits, with brackets where it needs them.
    pub(super) fn value(&mut self, id: NodeId) -> String {
        if let Some(name) = self.known(id) {
            return name;
        }
        let op = self.ir().node(id).op.clone();
        let text = self.operation(id, &op);
        // It has no operands and no cost: it is written wherever it is used.
        if matches!(op, Op::Net(..) | Op::Literal(_) | Op::LoopIndex(_)) {
            return text;
        }
        let shared = self.uses(id) > 1 || text.len() > 300;
        if shared { self.name(id, &text) } else { format!("({text})") }
    }

    /// A value that is there whether it is wanted or not: in a loop, C must not read an array only under a condition, or it
    /// makes no vectors of it.
    pub(super) fn loaded(&mut self, id: NodeId) -> String {
        let text = self.value(id);
        let is_simple = text.bytes().all(|c| c.is_ascii_alphanumeric());
        if self.in_loop() && !is_simple { self.temporary(self.ty(id), &text) } else { text }
    }

    /// The bits of a value, zeros above them.
    pub(super) fn raw(&mut self, id: NodeId) -> String {
        let ty = self.ty(id);
        let text = self.value(id);
        if ty.signed { format!("({})", canonical(&text, unsigned(ty))) } else { text }
    }

    pub(super) fn ty(&self, id: NodeId) -> Type {
        self.ir().node(id).ty
    }

    fn operation(&mut self, id: NodeId, op: &Op) -> String {
        let ty = self.ty(id);
        let t = c_type(ty);
        match op {
            Op::Poison => self.refuse("an expression that is none"),
            Op::Net(net, index) => self.net_value(*net, index.as_ref(), ty),
            Op::Element { net, fixed, run } => {
                let at = self.dynamic(*net, fixed, run);
                format!("({t}){at}")
            }
            Op::Literal(value) => constant(value, ty),
            Op::LoopIndex(index) => {
                let at = self.affine_text(index);
                format!("({t})({at})")
            }
            Op::Not(a) if ty.signed => format!("~{}", self.value(*a)),
            Op::Not(a) => format!("{} ^ {}", self.value(*a), mask(ty.width)),
            Op::Exact(f, a, b) => {
                let [a, b] = [*a, *b].map(|x| self.value(x));
                format!("({t}){a} {} ({t}){b}", sign(*f))
            }
            Op::Wrapping(f, a, b) => {
                let u = c_type(unsigned(ty));
                let [a, b] = [*a, *b].map(|x| self.value(x));
                canonical(&format!("({u}){a} {} ({u}){b}", sign(*f)), ty)
            }
            Op::Logic(f, a, b) => {
                let [a, b] = [*a, *b].map(|x| self.value(x));
                let sign = match f {
                    Logic::And => "&",
                    Logic::Or => "|",
                    Logic::Xor => "^",
                };
                format!("{a} {sign} {b}")
            }
            Op::Compare(f, a, b) => self.compare(*f, *a, *b),
            Op::Mux(s, a, b) => {
                let s = self.value(*s);
                let [a, b] = [*a, *b].map(|x| self.loaded(x));
                self.choice(&s, &a, &b, ty)
            }
            Op::Cat(parts) => self.cat(parts, ty),
            Op::Repeat(a, count) => {
                let w = self.ty(*a).width;
                let pattern = (0..*count).fold(0_u64, |sum, k| sum | 1 << (k * w));
                format!("({t}){} * ({t}){pattern:#x}ull", self.raw(*a))
            }
            Op::Slice(a, low) => self.slice(*a, *low, ty.width),
            Op::SliceAt(a, low) => {
                let at = self.affine_text(low);
                if is_wide(self.ty(*a)) {
                    let words = self.wide(*a);
                    let w = ty.width;
                    if are_lanes(self.ir(), *a, low, w) {
                        return format!("({t})((const lane{w} *)({words}))[({at}) / {w}]");
                    }
                    if matches!(w, 1 | 2 | 4) && are_multiples(low, w) {
                        let ones = mask(w);
                        return format!("({t})({words}[({at}) / 64] >> (({at}) & 63)) & {ones}");
                    }
                    return format!("({t})w_get({words}, (u32)({at}), {w})");
                }
                let whole = self.raw(*a);
                canonical(&format!("{whole} >> ({at})"), ty)
            }
            Op::SelectBit(a, index) => {
                let at = self.value(*index);
                if is_wide(self.ty(*a)) {
                    let words = self.wide(*a);
                    return format!("(u32)({words}[{at} >> 6] >> ({at} & 63)) & 1u");
                }
                let whole = self.raw(*a);
                format!("(u32)({whole} >> {at}) & 1u")
            }
            Op::Extend(a) => format!("({t}){}", self.value(*a)),
            Op::Cast(a) => {
                let text = self.value(*a);
                canonical(&text, ty)
            }
            Op::ShiftLeft(a, n) => {
                let [a, n] = [*a, *n].map(|x| self.loaded(x));
                let u = c_type(unsigned(ty));
                let shifted = canonical(&format!("({u}){a} << {n}"), ty);
                format!("{n} >= {} ? 0 : ({shifted})", ty.width)
            }
            Op::ShiftRight(a, n) => {
                let [a, n] = [*a, *n].map(|x| self.loaded(x));
                let w = ty.width;
                if ty.signed {
                    format!("{a} >> ({n} >= {w} ? {} : {n})", w - 1)
                } else {
                    format!("{n} >= {w} ? 0 : {a} >> {n}")
                }
            }
            Op::Reduce(f, a) => self.reduce(*f, *a),
            Op::Lookup(index, values) => self.lookup(*index, values, ty),
        }
    }

    fn net_value(&mut self, net: NetId, index: Option<&Index>, ty: Type) -> String {
        let array = self.ir().net(net).array;
        let element = self.ir().net(net).ty;
        let access = self.access(net, index);
        let (Some((count, _)), None) = (array, index) else {
            return format!("({}){}", c_type(ty), self.at(&access));
        };
        // All elements as one vector.
        let stride = self.stride(net);
        let mut parts = Vec::new();
        let single = self.bytes_of_bits(net);
        for k in 0..count / 8 * u32::from(single) {
            let first = self.at_step(&access, &(8 * k).to_string());
            parts.push(format!("({})w_bits(&{first}) << {}", c_type(ty), 8 * k));
        }
        for k in parts.len() as u32 * 8..count {
            let mut one = access.clone();
            one.offset += stride * i64::from(k);
            let text = format!("({}){}", c_type(element), self.at(&one));
            let raw = if element.signed { canonical(&text, unsigned(element)) } else { text };
            parts.push(format!("({})({raw}) << {}", c_type(ty), k * element.width));
        }
        let text = parts.join(" | ");
        self.temporary(ty, &text)
    }

    /// Whether the elements of a net are single bits, in bytes next to each other.
    pub(super) fn bytes_of_bits(&self, net: NetId) -> bool {
        let element = self.ir().net(net).ty;
        element.width == 1 && !element.signed && self.stride(net) == 1 && cfg!(target_endian = "little")
    }

    fn compare(&mut self, f: Compare, a: NodeId, b: NodeId) -> String {
        let ty = self.ty(a);
        let sign = match f {
            Compare::Eq => "==",
            Compare::Ne => "!=",
            Compare::Lt => "<",
            Compare::Le => "<=",
        };
        if !is_wide(ty) && !is_wide(self.ty(b)) {
            let types = [ty, self.ty(b)];
            let [a, b] = [a, b].map(|x| self.value(x));
            let vector = self.difference(f, [&a, &b], types);
            return vector.unwrap_or_else(|| format!("(u32)({a} {sign} {b})"));
        }
        let n = words(ty).max(words(self.ty(b)));
        let [x, y] = [a, b].map(|x| self.extended(x, Type { width: n * 64, signed: ty.signed }));
        match f {
            Compare::Eq => format!("w_eq({x}, {y}, {n})"),
            Compare::Ne => format!("!w_eq({x}, {y}, {n})"),
            Compare::Lt => format!("w_less({x}, {y}, {n}, {})", u32::from(ty.signed)),
            Compare::Le => format!("!w_less({y}, {x}, {n}, {})", u32::from(ty.signed)),
        }
    }

    fn cat(&mut self, parts: &[NodeId], ty: Type) -> String {
        let t = c_type(ty);
        let mut low = ty.width;
        let mut texts = Vec::new();
        for &part in parts {
            low -= self.ty(part).width;
            let raw = self.raw(part);
            texts.push(if low == 0 { format!("({t}){raw}") } else { format!("({t}){raw} << {low}") });
        }
        texts.join(" | ")
    }

    /// `width` bits from bit `low`.
    pub(super) fn slice(&mut self, a: NodeId, low: u32, width: u32) -> String {
        let ty = Type { width, signed: false };
        let op = self.ir().node(a).op.clone();
        // A slice inside one part of a concatenation, or one element of a port, needs only that part.
        match &op {
            Op::Cat(parts) if self.known(a).is_none() => {
                let mut at = self.ty(a).width;
                for &part in parts {
                    let w = self.ty(part).width;
                    at -= w;
                    if low >= at && low + width <= at + w {
                        return if w == width { self.raw(part) } else { self.slice(part, low - at, width) };
                    }
                }
            }
            Op::Cast(inner) => return self.slice(*inner, low, width),
            Op::Net(net, None) if self.ir().net(*net).array.is_some() && self.known(a).is_none() => {
                let element = self.ir().net(*net).ty;
                let (k, bit) = (low / element.width, low % element.width);
                if bit + width <= element.width {
                    let access = self.access(*net, Some(&Index::from(k)));
                    let at = self.at(&access);
                    if is_wide(element) {
                        return bits(&at, bit, width);
                    }
                    let text = format!("({})({}){at}", c_type(unsigned(element)), c_type(element));
                    return if bit == 0 { canonical(&text, ty) } else { canonical(&format!("({text}) >> {bit}"), ty) };
                }
            }
            _ => {}
        }
        if is_wide(self.ty(a)) {
            let words = self.wide(a);
            return bits(&words, low, width);
        }
        let whole = self.value(a);
        let u = c_type(unsigned(self.ty(a)));
        let shifted = if low == 0 { format!("({u}){whole}") } else { format!("({u}){whole} >> {low}") };
        canonical(&shifted, ty)
    }

    fn reduce(&mut self, f: Logic, a: NodeId) -> String {
        let ty = self.ty(a);
        if is_wide(ty) {
            let (words, n) = (self.wide(a), words(ty));
            return match f {
                Logic::And => format!("w_all({words}, {})", ty.width),
                Logic::Or => format!("w_any({words}, {n})"),
                Logic::Xor => format!("w_odd({words}, {n})"),
            };
        }
        let raw = self.raw(a);
        if let Some(vector) = self.folded(f, &raw, ty.width) {
            return vector;
        }
        match f {
            Logic::And => format!("(u32)({raw} == {})", mask(ty.width)),
            Logic::Or => format!("(u32)({raw} != 0)"),
            Logic::Xor => format!("(u32)__builtin_parityll({raw})"),
        }
    }

    fn lookup(&mut self, index: NodeId, values: &[NodeId], ty: Type) -> String {
        if is_wide(self.ty(index)) {
            return self.refuse("an index of more than 64 bits");
        }
        let at = self.loaded(index);
        let texts: Vec<String> = values.iter().map(|&v| self.value(v)).collect();
        let last = texts.len() - 1;
        if values.iter().all(|&v| matches!(self.ir().node(v).op, Op::Literal(_))) {
            let table = self.fresh();
            // A vector is gathered from words, by long indices.
            let stored = if self.in_vector() { c_type(ty) } else { stored_type(ty) };
            self.line(format!("static const {stored} {table}[] = {{{}}};", texts.join(", ")));
            let place = self.fresh();
            self.line(format!("const u64 {place} = {at} < {last} ? {at} : {last};"));
            return format!("({}){table}[{place}]", c_type(ty));
        }
        let name = self.fresh();
        self.line(format!("{} {name}; switch ({at}) {{", c_type(ty)));
        for (k, text) in texts.iter().enumerate() {
            let label = if k == last { "default:".into() } else { format!("case {k}:") };
            self.line(format!("{label} {name} = {text}; break;"));
        }
        self.line("}");
        name
    }
}

/// `width` bits of words from bit `low`, at most 64.
pub(super) fn bits(words: &str, low: u32, width: u32) -> String {
    let ty = Type { width, signed: false };
    let (word, bit) = (low / 64, low % 64);
    let text = match bit {
        0 => format!("{words}[{word}]"),
        _ if bit + width <= 64 => format!("{words}[{word}] >> {bit}"),
        _ => format!("{words}[{word}] >> {bit} | {words}[{}] << {}", word + 1, 64 - bit),
    };
    canonical(&text, ty)
}

fn sign(f: Arithmetic) -> &'static str {
    match f {
        Arithmetic::Add => "+",
        Arithmetic::Sub => "-",
        Arithmetic::Mul => "*",
    }
}
