//! Signals and the operators on them. Widths follow from the operands; nothing is lost unless a call says so.

use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Range, Sub};
use std::panic::Location;

pub(crate) use super::context::build;
use super::error::Loc;
pub use super::handle::Signal;
use super::ir::{Arithmetic, Compare, Logic, Op};
pub use super::operand::{Operand, Want};
use super::types::{MAX_WIDTH, Type, bit, bits_for, index_width, sint, uint};

impl Signal {
    /// Width in bits.
    #[must_use]
    pub fn width(self) -> u32 {
        self.ty.width
    }

    /// Width and signedness.
    #[must_use]
    pub fn ty(self) -> Type {
        self.ty
    }

    fn unary(self, loc: Loc, ty: Type, op: impl FnOnce(u32) -> Op) -> Signal {
        build(loc, ty, |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            e.push(op(a.node), ty)
        })
    }

    /// Bits `range.start` up to but not including `range.end`, unsigned.
    #[track_caller]
    #[must_use]
    pub fn slice(self, range: Range<u32>) -> Signal {
        let loc = Location::caller();
        let ty = uint(range.end.saturating_sub(range.start).clamp(1, MAX_WIDTH));
        build(loc, ty, |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            if range.start >= range.end || range.end > self.ty.width {
                let what = e.describe(self);
                e.error(loc, format!("slice {}..{} is not inside {what}", range.start, range.end));
                return e.poison(ty);
            }
            e.slice(a, range.start, range.end - range.start)
        })
    }

    /// Bit `index`.
    #[track_caller]
    #[must_use]
    pub fn bit(self, index: u32) -> Signal {
        self.slice(index..index.saturating_add(1))
    }

    /// The most significant bit: the sign of a signed value.
    #[track_caller]
    #[must_use]
    pub fn msb(self) -> Signal {
        self.bit(self.ty.width.saturating_sub(1))
    }

    /// Bit number `index`, chosen at run time; 0 when `index` is past the end.
    #[track_caller]
    #[must_use]
    pub fn bit_at(self, index: Signal) -> Signal {
        let loc = Location::caller();
        build(loc, bit(), |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            let i = index.signal(e, Want::Exactly(index.ty), loc);
            if i.ty.signed {
                e.error(loc, format!("a bit index is unsigned, not {}; cast it with as_uint", i.ty));
                return e.poison(bit());
            }
            // The select itself never leaves the vector, which is padded to a power of two. Higher bits of an index
            // must be zero.
            let a = e.cast(a, false);
            let needed = index_width(u64::from(a.ty.width));
            let (a, low) = (e.extend(a, 1 << needed), e.low(i, needed));
            let found = e.push(Op::SelectBit(a.node, low.node), bit());
            if i.ty.width <= needed {
                return found;
            }
            let beyond = e.slice(i, needed, i.ty.width - needed);
            let beyond = e.push(Op::Reduce(Logic::Or, beyond.node), bit());
            let inside = e.push(Op::Not(beyond.node), bit());
            e.push(Op::Logic(Logic::And, found.node, inside.node), bit())
        })
    }

    /// The low `width` bits, same signedness. Truncating a sum or product computes it modulo 2^width.
    #[track_caller]
    #[must_use]
    pub fn truncate(self, width: u32) -> Signal {
        let loc = Location::caller();
        let ty = self.ty.with_width(width.clamp(1, MAX_WIDTH));
        build(loc, ty, |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            if width == 0 || width > self.ty.width {
                let what = e.describe(self);
                let why = if width == 0 {
                    "the smallest width is 1".into()
                } else {
                    format!("{what} is narrower; extend it")
                };
                e.error(loc, format!("truncate to {width} bits: {why}"));
                return e.poison(ty);
            }
            e.truncate(a, width)
        })
    }

    /// Zero or sign extension to `width` bits.
    #[track_caller]
    #[must_use]
    pub fn extend(self, width: u32) -> Signal {
        let loc = Location::caller();
        let ty = self.ty.with_width(width.clamp(1, MAX_WIDTH));
        build(loc, ty, |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            if width < self.ty.width {
                let what = e.describe(self);
                e.error(loc, format!("extend to {width} bits: {what} is wider; say truncate or saturate"));
                return e.poison(ty);
            }
            e.extend(a, width)
        })
    }

    /// The nearest value that `width` bits hold, same signedness.
    #[track_caller]
    #[must_use]
    pub fn saturate(self, width: u32) -> Signal {
        if width >= self.ty.width {
            return self.extend(width);
        }
        let narrow = self.truncate(width);
        let (low, high) = narrow.ty.range();
        let top = narrow.ty.lit(high.clone());
        let over = self.gt(high);
        let clipped = mux(over, top, narrow);
        if !self.ty.signed {
            return clipped;
        }
        mux(self.lt(low.clone()), narrow.ty.lit(low), clipped)
    }

    /// Same bits, read as two's complement.
    #[track_caller]
    #[must_use]
    pub fn as_sint(self) -> Signal {
        let loc = Location::caller();
        build(loc, sint(self.ty.width), |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            e.cast(a, true)
        })
    }

    /// Same bits, read as unsigned.
    #[track_caller]
    #[must_use]
    pub fn as_uint(self) -> Signal {
        let loc = Location::caller();
        build(loc, uint(self.ty.width), |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            e.cast(a, false)
        })
    }

    /// Sum modulo 2^width of `self`; `other` is extended or truncated to that width.
    #[track_caller]
    #[must_use]
    pub fn wrapping_add(self, other: impl Operand) -> Signal {
        self.wrapping(Arithmetic::Add, other, Location::caller())
    }

    /// Difference modulo 2^width of `self`, of `self`'s type.
    #[track_caller]
    #[must_use]
    pub fn wrapping_sub(self, other: impl Operand) -> Signal {
        self.wrapping(Arithmetic::Sub, other, Location::caller())
    }

    /// Product with 2^`amount`: `amount` bits wider.
    #[track_caller]
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "`<<` and `>>` keep the width of their operand; these do not")]
    pub fn shl(self, amount: u32) -> Signal {
        if amount == 0 {
            return self;
        }
        let shifted = cat(&[self, uint(amount).lit(0)]);
        if self.ty.signed { shifted.as_sint() } else { shifted }
    }

    /// Quotient by 2^`amount` rounded down: `amount` bits narrower, at least one bit.
    #[track_caller]
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "`<<` and `>>` keep the width of their operand; these do not")]
    pub fn shr(self, amount: u32) -> Signal {
        let low = amount.min(if self.ty.signed { self.ty.width.saturating_sub(1) } else { self.ty.width });
        if low == self.ty.width {
            let loc = Location::caller();
            return build(loc, bit(), |e| {
                let a = self.signal(e, Want::Exactly(self.ty), loc);
                e.mentioned([a.node]);
                e.literal(0.into(), bit())
            });
        }
        let high = self.slice(low..self.ty.width);
        if self.ty.signed { high.as_sint() } else { high }
    }

    /// Shift left by a run-time amount within the same width; bits shifted out are lost.
    #[track_caller]
    #[must_use]
    pub fn shl_by(self, amount: Signal) -> Signal {
        self.shift(amount, Location::caller(), Op::ShiftLeft)
    }

    /// Shift right by a run-time amount (arithmetic when signed) within the same width.
    #[track_caller]
    #[must_use]
    pub fn shr_by(self, amount: Signal) -> Signal {
        self.shift(amount, Location::caller(), Op::ShiftRight)
    }

    fn shift(self, amount: Signal, loc: Loc, op: impl Fn(u32, u32) -> Op) -> Signal {
        build(loc, self.ty, |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            let n = amount.signal(e, Want::Exactly(amount.ty), loc);
            if n.ty.signed {
                e.error(loc, format!("a shift amount is unsigned, not {}; cast it with as_uint", n.ty));
                return e.poison(self.ty);
            }
            // Verilator refuses constant amounts beyond 32 bits and Yosys takes the largest for -1: what a wide amount
            // has beyond the bits that matter is looked at separately.
            let needed = bits_for(self.ty.width.into());
            if n.ty.width < 32 {
                return e.push(op(a.node, n.node), self.ty);
            }
            let low = e.low(n, needed);
            let shifted = e.push(op(a.node, low.node), self.ty);
            let beyond = e.slice(n, needed, n.ty.width - needed);
            let beyond = e.push(Op::Reduce(Logic::Or, beyond.node), bit());
            let last = e.literal(self.ty.width.into(), uint(needed));
            let all = e.push(op(a.node, last.node), self.ty);
            e.push(Op::Mux(beyond.node, all.node, shifted.node), self.ty)
        })
    }

    /// `count` copies side by side.
    #[track_caller]
    #[must_use]
    pub fn repeat(self, count: u32) -> Signal {
        let loc = Location::caller();
        let ty = uint(self.ty.width.saturating_mul(count.max(1)));
        build(loc, ty, |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            if count == 0 {
                e.error(loc, "repeat needs a count of at least 1");
            }
            if count <= 1 {
                return e.cast(a, false);
            }
            e.push(Op::Repeat(a.node, count), ty)
        })
    }

    /// OR of all bits: the value is not 0.
    #[track_caller]
    #[must_use]
    pub fn any(self) -> Signal {
        self.unary(Location::caller(), bit(), |a| Op::Reduce(Logic::Or, a))
    }

    /// AND of all bits.
    #[track_caller]
    #[must_use]
    pub fn all(self) -> Signal {
        self.unary(Location::caller(), bit(), |a| Op::Reduce(Logic::And, a))
    }

    /// XOR of all bits.
    #[track_caller]
    #[must_use]
    pub fn parity(self) -> Signal {
        self.unary(Location::caller(), bit(), |a| Op::Reduce(Logic::Xor, a))
    }

    fn arithmetic(self, f: Arithmetic, other: impl Operand, loc: Loc) -> Signal {
        build(loc, self.ty, |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            let b = other.signal(e, Want::Smallest { signed: self.ty.signed }, loc);
            e.exact(f, a, b, loc)
        })
    }

    /// Modulo 2^width of `self`, of `self`'s type.
    fn wrapping(self, f: Arithmetic, other: impl Operand, loc: Loc) -> Signal {
        build(loc, self.ty, |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            let b = other.signal(e, Want::Smallest { signed: self.ty.signed }, loc);
            if e.sign_clash(a, b, "arithmetic on", loc) {
                return e.poison(self.ty);
            }
            let b = e.low(b, self.ty.width);
            e.push(Op::Wrapping(f, a.node, b.node), self.ty)
        })
    }

    fn logic(self, f: Logic, other: impl Operand, loc: Loc) -> Signal {
        build(loc, self.ty, |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            let b = other.signal(e, Want::Exactly(self.ty), loc);
            if e.differ(a, b) {
                let (a, b) = (e.describe(a), e.describe(b));
                e.error(
                    loc,
                    format!("bitwise operation on different types: {a} and {b}; extend, truncate or cast one"),
                );
                return e.poison(self.ty);
            }
            e.push(Op::Logic(f, a.node, b.node), self.ty)
        })
    }

    fn compare(self, f: Compare, swap: bool, other: impl Operand, loc: Loc) -> Signal {
        build(loc, bit(), |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            let b = other.signal(e, Want::Smallest { signed: self.ty.signed }, loc);
            if e.sign_clash(a, b, "comparison of", loc) {
                return e.poison(bit());
            }
            let width = a.ty.width.max(b.ty.width);
            let (a, b) = (e.extend(a, width), e.extend(b, width));
            let (a, b) = if swap { (b, a) } else { (a, b) };
            e.push(Op::Compare(f, a.node, b.node), bit())
        })
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident = $op:ident $swap:literal;)*) => {
        impl Signal {$(
            $(#[$doc])*
            #[track_caller]
            #[must_use]
            pub fn $name(self, other: impl Operand) -> Signal {
                self.compare(Compare::$op, $swap, other, Location::caller())
            }
        )*}
    };
}
comparisons! {
    /// `self == other`.
    eq = Eq false;
    /// `self != other`.
    ne = Ne false;
    /// `self < other`.
    lt = Lt false;
    /// `self <= other`.
    le = Le false;
    /// `self > other`.
    gt = Lt true;
    /// `self >= other`.
    ge = Le true;
}

macro_rules! operators {
    ($($trait:ident $method:ident $via:ident $op:expr;)*) => {$(
        impl<T: Operand> $trait<T> for Signal {
            type Output = Signal;
            #[track_caller]
            fn $method(self, other: T) -> Signal {
                self.$via($op, other, Location::caller())
            }
        }
    )*};
}
operators! {
    Add add arithmetic Arithmetic::Add;
    Sub sub arithmetic Arithmetic::Sub;
    Mul mul arithmetic Arithmetic::Mul;
    BitAnd bitand logic Logic::And;
    BitOr bitor logic Logic::Or;
    BitXor bitxor logic Logic::Xor;
}

impl Not for Signal {
    type Output = Signal;
    #[track_caller]
    fn not(self) -> Signal {
        self.unary(Location::caller(), self.ty, Op::Not)
    }
}

impl Neg for Signal {
    type Output = Signal;
    #[track_caller]
    fn neg(self) -> Signal {
        self.ty.with_width(1).lit(0) - self
    }
}

/// `then` where `select` is high, `other` where it is low. Both have the same type.
#[track_caller]
#[must_use]
pub fn mux(select: Signal, then: Signal, other: impl Operand) -> Signal {
    let loc = Location::caller();
    build(loc, then.ty, |e| {
        let s = select.signal(e, Want::Exactly(bit()), loc);
        let a = then.signal(e, Want::Exactly(then.ty), loc);
        let b = other.signal(e, Want::Exactly(then.ty), loc);
        if e.is_not_a_bit(s) {
            let s = e.describe(s);
            e.error(loc, format!("the select of a mux is one unsigned bit, not {s}"));
            return e.poison(a.ty);
        }
        if e.differ(a, b) {
            let (a, b) = (e.describe(a), e.describe(b));
            e.error(loc, format!("mux of different types: {a} and {b}; extend, truncate or cast one"));
            return e.poison(then.ty);
        }
        e.push(Op::Mux(s.node, a.node, b.node), a.ty)
    })
}

/// Concatenation, most significant part first; unsigned.
#[track_caller]
#[must_use]
pub fn cat(parts: &[Signal]) -> Signal {
    let loc = Location::caller();
    let width = parts.iter().fold(0, |sum: u32, p| sum.saturating_add(p.ty.width)).max(1);
    build(loc, uint(width), |e| {
        if parts.is_empty() {
            e.error(loc, "a concatenation needs at least one part");
            return e.poison(uint(width));
        }
        let mut signals = Vec::new();
        for &part in parts {
            signals.push(part.signal(e, Want::Exactly(part.ty), loc));
        }
        match signals[..] {
            [whole] => e.cast(whole, false),
            _ => e.push(Op::Cat(signals.iter().map(|s| s.node).collect()), uint(width)),
        }
    })
}
