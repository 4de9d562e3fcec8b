//! Operands: signals, and integers that take the type that they need.

use std::panic::Location;

use num_bigint::BigInt;

use super::context::Elaboration;
use super::error::Loc;
use super::signal::{Signal, build};
use super::types::{MAX_WIDTH, Type, bit};

/// What can stand as an operand: a [`Signal`], a register, or an integer.
pub trait Operand {
    /// The operand as a signal; `want` guides literals only.
    #[doc(hidden)]
    fn signal(self, elaboration: &mut Elaboration, want: Want, loc: Loc) -> Signal;
}

/// How wide a literal operand becomes.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Want {
    /// The smallest type of this signedness.
    Smallest { signed: bool },
    /// Exactly this type.
    Exactly(Type),
}

impl Operand for Signal {
    fn signal(self, elaboration: &mut Elaboration, _: Want, loc: Loc) -> Signal {
        if elaboration.admit(self, loc) { self } else { elaboration.poison(self.ty) }
    }
}

impl Operand for BigInt {
    fn signal(self, e: &mut Elaboration, want: Want, loc: Loc) -> Signal {
        let ty = match want {
            Want::Smallest { signed: false } if self.sign() == num_bigint::Sign::Minus => {
                e.error(loc, format!("the literal {self} is negative and the other operand unsigned; extend that one by a bit and cast it (as_sint)"));
                return e.poison(bit());
            }
            Want::Smallest { signed } => Type::of(&self, signed),
            Want::Exactly(ty) => ty,
        };
        if !(1..=MAX_WIDTH).contains(&ty.width) {
            e.error(loc, format!("a literal of type {ty}: the width of a signal is 1 to {MAX_WIDTH}"));
            return e.poison(bit());
        }
        if ty.fits(&self) {
            e.literal(self, ty)
        } else {
            let (low, high) = ty.range();
            e.error(loc, format!("the literal {self} does not fit {ty} ({low} to {high})"));
            e.poison(ty)
        }
    }
}

macro_rules! integer_operand {
    ($($t:ty),*) => {$(
        impl Operand for $t {
            fn signal(self, e: &mut Elaboration, want: Want, loc: Loc) -> Signal {
                BigInt::from(self).signal(e, want, loc)
            }
        }
    )*};
}
integer_operand!(i32, u32, i64, u64, usize, i128, u128);

impl Operand for bool {
    fn signal(self, e: &mut Elaboration, want: Want, loc: Loc) -> Signal {
        BigInt::from(u8::from(self)).signal(e, want, loc)
    }
}

impl Type {
    /// The constant `value` of this type.
    #[track_caller]
    #[must_use]
    pub fn lit(self, value: impl Into<BigInt>) -> Signal {
        let (loc, value) = (Location::caller(), value.into());
        build(loc, self, |e| value.signal(e, Want::Exactly(self), loc))
    }
}
