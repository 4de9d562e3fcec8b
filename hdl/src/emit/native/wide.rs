//! Expressions of more than 64 bits: 64-bit words, least significant first, zeros above the value whatever its sign. The
//! text of such a value is a pointer to its words.

use super::c_types::{c_type, is_wide, words};
use super::code::Code;
use super::value::bits;
use crate::lang::Type;
use crate::lang::ir::{Arithmetic, Logic, NodeId, Op};

/// Values of so many words are written out word by word: C keeps such words in registers.
const FEW: u32 = 16;

impl Code<'_> {
    /// Words of a value.
    pub(super) fn wide(&mut self, id: NodeId) -> String {
        if let Some(name) = self.known(id) {
            return name;
        }
        let op = self.ir().node(id).op.clone();
        let ty = self.ty(id);
        let text = self.wide_operation(&op, ty);
        if !matches!(op, Op::Net(..)) {
            self.note(id, &text);
        }
        text
    }

    /// Words for a result, all zero.
    fn room(&mut self, ty: Type) -> String {
        let name = self.fresh();
        self.line(format!("u64 {name}[{}] = {{0}};", words(ty)));
        name
    }

    /// A value of any width in the words of a type, its sign copied where the type has one.
    pub(super) fn extended(&mut self, id: NodeId, to: Type) -> String {
        let ty = self.ty(id);
        if is_wide(ty) && (ty.width == to.width || !ty.signed && words(ty) == words(to)) {
            return self.wide(id);
        }
        let source = if is_wide(ty) { Some(self.wide(id)) } else { None };
        if words(to) <= FEW && (source.is_none() || !ty.signed) {
            let first = source.as_ref().map_or(1, |_| words(ty));
            let value = source.unwrap_or_else(|| self.value(id));
            let word = |k: u32| match (is_wide(ty), k < first) {
                (true, true) => format!("{value}[{k}]"),
                (false, true) => format!("(u64)({}){value}", if ty.signed { "i64" } else { "u64" }),
                (_, false) if ty.signed => {
                    let ones = super::c_types::mask((to.width - k * 64).min(64));
                    format!("(u64)((i64){value} >> 63) & {ones}")
                }
                (_, false) => "0".into(),
            };
            return self.filled((0..words(to)).map(word).collect());
        }
        let room = self.room(to);
        match source {
            Some(words) => {
                let signed = u32::from(ty.signed);
                self.line(format!("w_extend({room}, {}, {words}, {}, {signed});", to.width, ty.width));
            }
            None => {
                let value = self.value(id);
                let wide = if ty.signed { "i64" } else { "u64" };
                self.line(format!("w_from({room}, {}, (u64)({wide}){value}, {});", to.width, u32::from(ty.signed)));
            }
        }
        room
    }

    fn wide_operation(&mut self, op: &Op, ty: Type) -> String {
        let (n, width) = (words(ty), ty.width);
        match op {
            Op::Net(net, index) => {
                let n = self.ir().net(*net);
                match (n.array, index) {
                    (Some((count, _)), None) if count > 1 => self.packed(*net, count, ty),
                    _ => {
                        let access = self.access(*net, index.as_ref());
                        self.at(&access)
                    }
                }
            }
            Op::Element { net, fixed, run } => self.dynamic(*net, fixed, run),
            Op::Literal(value) => {
                let name = self.fresh();
                let digits = Type { signed: false, ..ty }.wrap(value).to_biguint().unwrap_or_default().to_u64_digits();
                let all: Vec<String> =
                    (0..n as usize).map(|k| format!("{:#x}ull", digits.get(k).copied().unwrap_or(0))).collect();
                self.line(format!("static const u64 {name}[] = {{{}}};", all.join(", ")));
                name
            }
            Op::Not(a) => {
                let a = self.wide(*a);
                if n <= FEW {
                    let ones = |k: u32| super::c_types::mask((width - k * 64).min(64));
                    return self.filled((0..n).map(|k| format!("{a}[{k}] ^ {}", ones(k))).collect());
                }
                let room = self.room(ty);
                self.line(format!("w_not({room}, {a}, {width});"));
                room
            }
            Op::Logic(f, a, b) => {
                let (name, sign) = match f {
                    Logic::And => ("w_and", "&"),
                    Logic::Or => ("w_or", "|"),
                    Logic::Xor => ("w_xor", "^"),
                };
                let [a, b] = [*a, *b].map(|x| self.wide(x));
                if n <= FEW {
                    return self.filled((0..n).map(|k| format!("{a}[{k}] {sign} {b}[{k}]")).collect());
                }
                let room = self.room(ty);
                self.line(format!("{name}({room}, {a}, {b}, {n});"));
                room
            }
            Op::Exact(f, a, b) | Op::Wrapping(f, a, b) => {
                let name = match f {
                    Arithmetic::Add => "w_add",
                    Arithmetic::Sub => "w_sub",
                    Arithmetic::Mul => "w_mul",
                };
                let [a, b] = [*a, *b].map(|x| self.extended(x, Type { width, signed: self.ty(x).signed }));
                let room = self.room(ty);
                self.line(format!("{name}({room}, {a}, {b}, {width});"));
                room
            }
            Op::Mux(s, a, b) => {
                let choice = self.value(*s);
                let s = self.temporary(self.ty(*s), &choice);
                let [a, b] = [*a, *b].map(|x| self.wide(x));
                if n <= FEW {
                    return self.filled((0..n).map(|k| format!("{s} ? {a}[{k}] : {b}[{k}]")).collect());
                }
                let name = self.fresh();
                self.line(format!("const u64 *const {name} = {s} ? {a} : {b};"));
                name
            }
            Op::Cat(parts) => {
                let mut low = width;
                let mut placed = Vec::new();
                for &part in parts {
                    let w = self.ty(part).width;
                    low -= w;
                    let text = if is_wide(self.ty(part)) { self.wide(part) } else { self.raw(part) };
                    placed.push((low, w, text));
                }
                self.join(placed, ty)
            }
            Op::Repeat(a, count) => {
                let w = self.ty(*a).width;
                let a = if is_wide(self.ty(*a)) { self.wide(*a) } else { self.raw(*a) };
                let room = self.room(ty);
                if w == 1 {
                    self.line(format!("w_fill({room}, {width}, {a});"));
                } else if w > 64 {
                    self.line(format!("for (u32 k = 0; k < {count}; k++) w_put_words({room}, k * {w}, {w}, {a});"));
                } else {
                    self.line(format!("for (u32 k = 0; k < {count}; k++) w_put({room}, k * {w}, {w}, {a});"));
                }
                room
            }
            Op::Slice(a, low) => {
                let source = self.wide(*a);
                if low % 64 == 0 && width % 64 == 0 {
                    return format!("({source} + {})", low / 64);
                }
                if n <= FEW {
                    let pieces = (0..n).map(|k| bits(&source, low + k * 64, (width - k * 64).min(64)));
                    return self.filled(pieces.collect());
                }
                let room = self.room(ty);
                self.line(format!("w_slice({room}, {width}, {source}, {low});"));
                room
            }
            Op::SliceAt(a, low) => {
                let (source, at) = (self.wide(*a), self.affine_text(low));
                let room = self.room(ty);
                self.line(format!("w_slice({room}, {width}, {source}, (u32)({at}));"));
                room
            }
            Op::Extend(a) => self.extended(*a, Type { width, signed: self.ty(*a).signed }),
            Op::Cast(a) => self.wide(*a),
            Op::ShiftLeft(a, by) | Op::ShiftRight(a, by) => {
                if is_wide(self.ty(*by)) {
                    return self.refuse("a shift by more than 64 bits' worth of a number");
                }
                let (a, by) = (self.wide(*a), self.value(*by));
                let room = self.room(ty);
                match op {
                    Op::ShiftLeft(..) => self.line(format!("w_left({room}, {a}, {width}, {by});")),
                    _ => self.line(format!("w_right({room}, {a}, {width}, {by}, {});", u32::from(ty.signed))),
                }
                room
            }
            Op::Lookup(index, values) => {
                let at = self.value(*index);
                let texts: Vec<String> = values.iter().map(|&v| self.wide(v)).collect();
                let name = self.fresh();
                self.line(format!("const u64 *{name}; switch ({at}) {{"));
                for (k, text) in texts.iter().enumerate() {
                    let label = if k + 1 == texts.len() { "default:".into() } else { format!("case {k}:") };
                    self.line(format!("{label} {name} = {text}; break;"));
                }
                self.line("}");
                name
            }
            Op::Poison | Op::LoopIndex(_) | Op::Compare(..) | Op::SelectBit(..) | Op::Reduce(..) => {
                self.refuse("an expression that cannot be so wide")
            }
        }
    }

    /// Words for a result, with these values.
    fn filled(&mut self, values: Vec<String>) -> String {
        let name = self.fresh();
        self.line(format!("const u64 {name}[{}] = {{{}}};", values.len(), values.join(", ")));
        name
    }

    /// Words of parts at their places.
    fn join(&mut self, parts: Vec<(u32, u32, String)>, ty: Type) -> String {
        let few = words(ty) <= FEW;
        let (mut all, mut long) = (vec![vec![]; words(ty) as usize], vec![]);
        let mut put = |low: u32, width: u32, text: &str| {
            let (word, bit) = ((low / 64) as usize, low % 64);
            all[word].push(if bit == 0 { format!("(u64){text}") } else { format!("(u64){text} << {bit}") });
            if bit + width > 64 {
                all[word + 1].push(format!("(u64){text} >> {}", 64 - bit));
            }
        };
        for (low, width, text) in parts {
            if width <= 64 {
                if !matches!(text.as_str(), "0x0u" | "0x0ull") {
                    put(low, width, &text);
                }
            } else if few {
                for k in 0..width.div_ceil(64) {
                    put(low + k * 64, (width - k * 64).min(64), &format!("{text}[{k}]"));
                }
            } else {
                long.push((low, width, text));
            }
        }
        let word = |texts: Vec<String>| if texts.is_empty() { "0".to_owned() } else { texts.join(" | ") };
        let values: Vec<String> = all.into_iter().map(word).collect();
        if few {
            return self.filled(values);
        }
        let room = self.fresh();
        self.line(format!("u64 {room}[{}] = {{{}}};", words(ty), values.join(", ")));
        for (low, width, text) in long {
            self.line(format!("w_put_words({room}, {low}, {width}, {text});"));
        }
        room
    }

    /// All elements of an array as one vector.
    fn packed(&mut self, net: u32, count: u32, ty: Type) -> String {
        let element = self.ir().net(net).ty;
        let (access, stride) = (self.access(net, None), self.stride(net));
        let room = self.room(ty);
        let w = element.width;
        let at = self.at_step(&access, &format!("{stride} * (i64)k"));
        if w > 64 {
            self.line(format!("for (u32 k = 0; k < {count}; k++) w_put_words({room}, k * {w}, {w}, {at});"));
        } else if matches!(w, 8 | 16 | 32 | 64) && stride == 1 {
            let first = self.at(&access);
            self.line(format!("memcpy({room}, &{first}, {});", u64::from(count) * u64::from(w) / 8));
        } else if count.is_multiple_of(8) && self.bytes_of_bits(net) {
            let at = self.at_step(&access, "8 * (i64)k");
            self.line(format!("for (u32 k = 0; k < {}; k++) w_put({room}, k * 8, 8, w_bits(&{at}));", count / 8));
        } else {
            let mask = super::c_types::mask(w);
            self.line(format!("for (u32 k = 0; k < {count}; k++) w_put({room}, k * {w}, {w}, (u64){at} & {mask});"));
        }
        room
    }

    /// `width` bits of a value of any width, from a bit that C computes, as a value of `ty`.
    pub(super) fn part(&mut self, source: &str, is_wide_source: bool, low: &str, ty: Type) -> String {
        if is_wide_source {
            let got = format!("w_get({source}, {low}, {})", ty.width);
            return format!("({})({})", c_type(ty), super::c_types::canonical(&got, ty));
        }
        super::c_types::canonical(&format!("{source} >> ({low})"), ty)
    }

    /// Bits of words at a fixed place, as a value of `ty`.
    pub(super) fn fixed_part(&mut self, source: &str, low: u32, ty: Type) -> String {
        let text = bits(source, low, ty.width);
        if ty.signed { super::c_types::canonical(&text, ty) } else { text }
    }
}
