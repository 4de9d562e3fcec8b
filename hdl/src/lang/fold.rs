//! Constant folding at construction: parametric code makes many literals, and linters dislike constant comparisons.

use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};

use super::ir::{Arithmetic, Compare, Logic, ModuleIr, NodeId, Op};
use super::types::{Type, uint};

/// The simpler form of an operation.
pub(crate) enum Folded {
    /// A constant.
    Literal(BigInt),
    /// One of its operands.
    Node(NodeId),
}

/// Something simpler with the same value and the same type, if there is one.
pub(crate) fn fold(ir: &ModuleIr, op: &Op, ty: Type) -> Option<Folded> {
    constant(ir, op, ty).map(Folded::Literal).or_else(|| identity(ir, op, ty))
}

fn literal(ir: &ModuleIr, id: NodeId) -> Option<&BigInt> {
    match &ir.node(id).op {
        Op::Literal(value) => Some(value),
        _ => None,
    }
}

/// The bits of a literal as an unsigned number.
fn bits(ir: &ModuleIr, id: NodeId) -> Option<BigInt> {
    literal(ir, id).map(|v| uint(ir.node(id).ty.width).wrap(v))
}

fn bool_int(value: bool) -> BigInt {
    BigInt::from(u8::from(value))
}

fn constant(ir: &ModuleIr, op: &Op, ty: Type) -> Option<BigInt> {
    let value = match op {
        Op::Not(a) => -literal(ir, *a)? - 1,
        Op::Exact(f, a, b) | Op::Wrapping(f, a, b) => arithmetic(*f, literal(ir, *a)?, literal(ir, *b)?),
        Op::Logic(f, a, b) => logic(*f, &bits(ir, *a)?, &bits(ir, *b)?),
        Op::Compare(f, a, b) => bool_int(compare(*f, literal(ir, *a)?, literal(ir, *b)?)),
        Op::Cat(parts) => {
            let mut all = BigInt::zero();
            for &part in parts {
                all = (all << ir.node(part).ty.width) + bits(ir, part)?;
            }
            all
        }
        Op::Repeat(a, n) => {
            let (part, width) = (bits(ir, *a)?, ir.node(*a).ty.width);
            // By doubling: the leading bits of the count say how many copies there are so far.
            let mut all = BigInt::zero();
            let mut copies = 0;
            for k in (0..u32::BITS - n.leading_zeros()).rev() {
                all = &all + (&all << (width * copies));
                copies *= 2;
                if n >> k & 1 == 1 {
                    all = (all << width) + &part;
                    copies += 1;
                }
            }
            all
        }
        Op::Slice(a, low) => bits(ir, *a)? >> *low,
        Op::SelectBit(a, index) => bits(ir, *a)? >> literal(ir, *index)?.to_u64()? & BigInt::one(),
        Op::Extend(a) | Op::Cast(a) => literal(ir, *a)?.clone(),
        Op::ShiftLeft(a, n) => {
            let n = literal(ir, *n)?;
            if *n >= BigInt::from(ty.width) { BigInt::zero() } else { literal(ir, *a)? << n.to_u64()? }
        }
        Op::ShiftRight(a, n) => literal(ir, *a)? >> literal(ir, *n)?.min(&BigInt::from(ty.width)).to_u64()?,
        Op::Reduce(f, a) => {
            let value = bits(ir, *a)?;
            bool_int(match f {
                Logic::And => value == uint(ir.node(*a).ty.width).range().1,
                Logic::Or => !value.is_zero(),
                Logic::Xor => value.magnitude().count_ones() % 2 == 1,
            })
        }
        _ => return None,
    };
    Some(ty.wrap(&value))
}

fn arithmetic(f: Arithmetic, a: &BigInt, b: &BigInt) -> BigInt {
    match f {
        Arithmetic::Add => a + b,
        Arithmetic::Sub => a - b,
        Arithmetic::Mul => a * b,
    }
}

fn logic(f: Logic, a: &BigInt, b: &BigInt) -> BigInt {
    match f {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}

fn compare(f: Compare, a: &BigInt, b: &BigInt) -> bool {
    match f {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
    }
}

/// `x & 1 -> x` and the like, and comparisons that cannot go both ways.
fn identity(ir: &ModuleIr, op: &Op, ty: Type) -> Option<Folded> {
    let same = |id: NodeId| Some(Folded::Node(id));
    match op {
        Op::Reduce(_, a) if ir.node(*a).ty == ty => same(*a),
        Op::Mux(_, a, b) if a == b => same(*a),
        Op::Mux(select, a, b) => same(if literal(ir, *select)?.is_zero() { *b } else { *a }),
        Op::Logic(f, a, b) => {
            let (constant, other) = match (bits(ir, *a), bits(ir, *b)) {
                (Some(value), None) => (value, *b),
                (None, Some(value)) => (value, *a),
                _ => return None,
            };
            let ones = constant == uint(ty.width).range().1;
            match (f, constant.is_zero(), ones) {
                (Logic::And, true, _) => Some(Folded::Literal(BigInt::zero())),
                (Logic::And, _, true) | (Logic::Or | Logic::Xor, true, _) => same(other),
                (Logic::Or, _, true) => Some(Folded::Literal(ty.wrap(&uint(ty.width).range().1))),
                _ => None,
            }
        }
        // All bits shifted out.
        Op::ShiftLeft(_, n) | Op::ShiftRight(_, n)
            if literal(ir, *n)? >= &BigInt::from(ty.width) && !(ty.signed && matches!(op, Op::ShiftRight(..))) =>
        {
            Some(Folded::Literal(BigInt::zero()))
        }
        Op::ShiftLeft(a, n) | Op::ShiftRight(a, n) if literal(ir, *n)?.is_zero() => same(*a),
        Op::Compare(f, a, b) => {
            let (low, high) = ir.node(*a).ty.range();
            let (left, right) = (literal(ir, *a), literal(ir, *b));
            match f {
                Compare::Lt if left == Some(&high) || right == Some(&low) => Some(Folded::Literal(BigInt::zero())),
                Compare::Le if left == Some(&low) || right == Some(&high) => Some(Folded::Literal(BigInt::one())),
                _ => None,
            }
        }
        _ => None,
    }
}
