//! Expressions as data: the language's operations with types and values of their own, on unbounded integers.
//!
//! Nothing here calls the language's arithmetic, folding or width code: the meaning of an operation is written down
//! twice.

use std::fmt;

use hdl::lang::{Type, sint, uint};
use num_bigint::BigInt;

pub type Id = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
    WrappingAdd,
    WrappingSub,
}

/// Element `row * i + column * j + offset` of an array, inside the loops over i and j.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub row: i64,
    pub column: i64,
    pub offset: i64,
}

/// One operation; operands are earlier nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Input(usize),
    /// Element of an array port.
    Element(usize, Place),
    /// Element (rows - 1 - i, j) of the array of nets that the loop before drives.
    Local,
    /// Loop variable: 0 for i, 1 for j.
    Index(usize),
    Literal(BigInt),
    Arithmetic(Arithmetic, Id, Id),
    /// With an integer of Rust as its right operand.
    ArithmeticLiteral(Arithmetic, Id, i64),
    Compare(Compare, Id, Id),
    CompareLiteral(Compare, Id, i64),
    Logic(Logic, Id, Id),
    Not(Id),
    Neg(Id),
    Mux(Id, Id, Id),
    Select(Vec<(Id, Id)>, Id),
    Lookup(Id, Vec<Id>),
    Cat(Vec<Id>),
    Repeat(Id, u32),
    Slice(Id, u32, u32),
    Msb(Id),
    BitAt(Id, Id),
    Extend(Id, u32),
    Truncate(Id, u32),
    Saturate(Id, u32),
    AsSint(Id),
    AsUint(Id),
    Shl(Id, u32),
    Shr(Id, u32),
    ShlBy(Id, Id),
    ShrBy(Id, Id),
    Any(Id),
    All(Id),
    Parity(Id),
    /// A named wire with the value.
    Wire(Id),
}

impl Op {
    pub fn operands(&self) -> Vec<Id> {
        match self {
            Op::Input(_) | Op::Element(..) | Op::Local | Op::Index(_) | Op::Literal(_) => vec![],
            Op::ArithmeticLiteral(_, a, _)
            | Op::CompareLiteral(_, a, _)
            | Op::Not(a)
            | Op::Neg(a)
            | Op::Repeat(a, _)
            | Op::Slice(a, ..)
            | Op::Msb(a)
            | Op::Extend(a, _)
            | Op::Truncate(a, _)
            | Op::Saturate(a, _)
            | Op::AsSint(a)
            | Op::AsUint(a)
            | Op::Shl(a, _)
            | Op::Shr(a, _)
            | Op::Any(a)
            | Op::All(a)
            | Op::Parity(a)
            | Op::Wire(a) => vec![*a],
            Op::Arithmetic(_, a, b)
            | Op::Compare(_, a, b)
            | Op::Logic(_, a, b)
            | Op::BitAt(a, b)
            | Op::ShlBy(a, b)
            | Op::ShrBy(a, b) => vec![*a, *b],
            Op::Mux(s, a, b) => vec![*s, *a, *b],
            Op::Select(choices, default) => {
                choices.iter().flat_map(|&(c, v)| [c, v]).chain(std::iter::once(*default)).collect()
            }
            Op::Lookup(index, values) => std::iter::once(*index).chain(values.iter().copied()).collect(),
            Op::Cat(parts) => parts.clone(),
        }
    }

    pub fn map(&self, f: impl Fn(Id) -> Id) -> Op {
        let mut op = self.clone();
        match &mut op {
            Op::Input(_) | Op::Element(..) | Op::Local | Op::Index(_) | Op::Literal(_) => {}
            Op::ArithmeticLiteral(_, a, _)
            | Op::CompareLiteral(_, a, _)
            | Op::Not(a)
            | Op::Neg(a)
            | Op::Repeat(a, _)
            | Op::Slice(a, ..)
            | Op::Msb(a)
            | Op::Extend(a, _)
            | Op::Truncate(a, _)
            | Op::Saturate(a, _)
            | Op::AsSint(a)
            | Op::AsUint(a)
            | Op::Shl(a, _)
            | Op::Shr(a, _)
            | Op::Any(a)
            | Op::All(a)
            | Op::Parity(a)
            | Op::Wire(a) => *a = f(*a),
            Op::Arithmetic(_, a, b)
            | Op::Compare(_, a, b)
            | Op::Logic(_, a, b)
            | Op::BitAt(a, b)
            | Op::ShlBy(a, b)
            | Op::ShrBy(a, b) => (*a, *b) = (f(*a), f(*b)),
            Op::Mux(s, a, b) => (*s, *a, *b) = (f(*s), f(*a), f(*b)),
            Op::Select(choices, default) => {
                choices.iter_mut().for_each(|(c, v)| (*c, *v) = (f(*c), f(*v)));
                *default = f(*default);
            }
            Op::Lookup(index, values) => {
                *index = f(*index);
                values.iter_mut().for_each(|v| *v = f(*v));
            }
            Op::Cat(parts) => parts.iter_mut().for_each(|p| *p = f(*p)),
        }
        op
    }
}

/// Nodes with shared operands; the last is the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dag {
    pub nodes: Vec<(Op, Type)>,
}

impl fmt::Display for Dag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.nodes.iter().enumerate().try_for_each(|(id, (op, ty))| writeln!(f, "  {id}: {ty} = {op:?}"))
    }
}

impl Dag {
    pub fn ty(&self, id: Id) -> Type {
        self.nodes[id].1
    }

    pub fn result(&self) -> Type {
        self.nodes.last().expect("a DAG has nodes").1
    }

    /// Adds an operation whose type follows from its operands.
    pub fn push(&mut self, op: Op) -> Id {
        let ty = self.type_of(&op);
        self.nodes.push((op, ty));
        self.nodes.len() - 1
    }

    /// Adds a leaf of a given type.
    pub fn leaf(&mut self, op: Op, ty: Type) -> Id {
        self.nodes.push((op, ty));
        self.nodes.len() - 1
    }

    /// The type of the result, by the documentation of `Signal`.
    fn type_of(&self, op: &Op) -> Type {
        let t = |id: Id| self.ty(id);
        match op {
            Op::Input(_) | Op::Element(..) | Op::Local | Op::Index(_) | Op::Literal(_) => {
                unreachable!("leaves come with their type")
            }
            Op::Arithmetic(f, a, b) => arithmetic_type(*f, t(*a), t(*b)),
            Op::ArithmeticLiteral(f, a, value) => arithmetic_type(*f, t(*a), smallest(*value, t(*a).signed)),
            Op::Compare(..)
            | Op::CompareLiteral(..)
            | Op::Msb(_)
            | Op::BitAt(..)
            | Op::Any(_)
            | Op::All(_)
            | Op::Parity(_) => uint(1),
            Op::Logic(_, a, _) | Op::Not(a) | Op::ShlBy(a, _) | Op::ShrBy(a, _) | Op::Wire(a) => t(*a),
            Op::Neg(a) => sint(t(*a).width + 1),
            Op::Mux(_, a, _) => t(*a),
            Op::Select(_, default) => t(*default),
            Op::Lookup(_, values) => t(values[0]),
            Op::Cat(parts) => uint(parts.iter().map(|&p| t(p).width).sum()),
            Op::Repeat(a, n) => uint(t(*a).width * n),
            Op::Slice(_, _, width) => uint(*width),
            Op::Extend(a, width) | Op::Truncate(a, width) | Op::Saturate(a, width) => {
                Type { width: *width, signed: t(*a).signed }
            }
            Op::AsSint(a) => sint(t(*a).width),
            Op::AsUint(a) => uint(t(*a).width),
            Op::Shl(a, n) => Type { width: t(*a).width + n, signed: t(*a).signed },
            Op::Shr(a, n) => Type { width: t(*a).width.saturating_sub(*n).max(1), signed: t(*a).signed },
        }
    }

    /// The expression without nodes that `root` does not need.
    pub fn rooted(&self, root: Id) -> Dag {
        let mut live = vec![false; root + 1];
        live[root] = true;
        for id in (0..=root).rev() {
            if live[id] {
                self.nodes[id].0.operands().into_iter().for_each(|o| live[o] = true);
            }
        }
        let mut renumbered = vec![0; root + 1];
        let mut dag = Dag::default();
        for id in (0..=root).filter(|&id| live[id]) {
            renumbered[id] = dag.nodes.len();
            let (op, ty) = &self.nodes[id];
            dag.nodes.push((op.map(|o| renumbered[o]), *ty));
        }
        dag
    }

    /// The value of every node where the leaves have the values `leaf` gives.
    pub fn eval(&self, leaf: &impl Fn(&Op) -> BigInt) -> Vec<BigInt> {
        let mut values: Vec<BigInt> = Vec::with_capacity(self.nodes.len());
        for (op, ty) in &self.nodes {
            let value = self.value(op, *ty, &values, leaf);
            let (low, high) = limits(*ty);
            assert!(low <= value && value <= high, "evaluator: {value} is no {ty}: {op:?}");
            values.push(value);
        }
        values
    }

    fn value(&self, op: &Op, ty: Type, v: &[BigInt], leaf: &impl Fn(&Op) -> BigInt) -> BigInt {
        let t = |id: Id| self.ty(id);
        let pattern = |id: Id| bits(&v[id], t(id).width);
        let truth = |b: bool| BigInt::from(u8::from(b));
        let small = |id: Id| u64::try_from(&v[id]).unwrap_or(u64::MAX);
        match op {
            Op::Input(_) | Op::Element(..) | Op::Local | Op::Index(_) => leaf(op),
            Op::Literal(value) => value.clone(),
            Op::Arithmetic(f, a, b) => arithmetic(*f, &v[*a], &v[*b], ty),
            Op::ArithmeticLiteral(f, a, value) => arithmetic(*f, &v[*a], &(*value).into(), ty),
            Op::Compare(f, a, b) => truth(compare(*f, &v[*a], &v[*b])),
            Op::CompareLiteral(f, a, value) => truth(compare(*f, &v[*a], &(*value).into())),
            Op::Logic(f, a, b) => {
                let (a, b) = (pattern(*a), pattern(*b));
                let combined = match f {
                    Logic::And => a & b,
                    Logic::Or => a | b,
                    Logic::Xor => a ^ b,
                };
                read(&combined, ty)
            }
            Op::Not(a) => read(&(limits(uint(ty.width)).1 - pattern(*a)), ty),
            Op::Neg(a) => -&v[*a],
            Op::Mux(s, a, b) => v[if v[*s] == BigInt::from(1) { *a } else { *b }].clone(),
            Op::Select(choices, default) => {
                let hit = choices.iter().find(|(c, _)| v[*c] == BigInt::from(1));
                v[hit.map_or(*default, |c| c.1)].clone()
            }
            Op::Lookup(index, values) => {
                let at = usize::try_from(small(*index)).unwrap_or(usize::MAX).min(values.len() - 1);
                v[values[at]].clone()
            }
            Op::Cat(parts) => parts.iter().fold(BigInt::from(0), |all, &p| all * power(t(p).width) + pattern(p)),
            Op::Repeat(a, n) => (0..*n).fold(BigInt::from(0), |all, _| all * power(t(*a).width) + pattern(*a)),
            Op::Slice(a, low, width) => (pattern(*a) / power(*low)) % power(*width),
            Op::Msb(a) => pattern(*a) / power(t(*a).width - 1),
            Op::BitAt(a, index) => {
                let at = small(*index);
                if at < u64::from(t(*a).width) { (pattern(*a) / power(at as u32)) % 2 } else { BigInt::from(0) }
            }
            Op::Extend(a, _) => v[*a].clone(),
            Op::Truncate(a, _) | Op::AsSint(a) | Op::AsUint(a) => read(&v[*a], ty),
            Op::Saturate(a, _) => {
                let (low, high) = limits(ty);
                v[*a].clone().max(low).min(high)
            }
            Op::Wire(a) => v[*a].clone(),
            Op::Shl(a, n) => &v[*a] * power(*n),
            Op::Shr(a, n) => floor_shift(&v[*a], u64::from(*n)),
            Op::ShlBy(a, n) => {
                let n = small(*n);
                if n >= u64::from(ty.width) { BigInt::from(0) } else { read(&(&v[*a] * power(n as u32)), ty) }
            }
            Op::ShrBy(a, n) => floor_shift(&v[*a], small(*n)),
            Op::Any(a) => truth(v[*a] != BigInt::from(0)),
            Op::All(a) => truth(pattern(*a) == limits(uint(t(*a).width)).1),
            Op::Parity(a) => truth(pattern(*a).magnitude().count_ones() % 2 == 1),
        }
    }
}

fn power(n: u32) -> BigInt {
    BigInt::from(1) << n
}

/// Smallest and largest value.
pub fn limits(ty: Type) -> (BigInt, BigInt) {
    if ty.signed { (-power(ty.width - 1), power(ty.width - 1) - 1) } else { (BigInt::from(0), power(ty.width) - 1) }
}

/// The low `width` bits as an unsigned number.
pub fn bits(value: &BigInt, width: u32) -> BigInt {
    let m = power(width);
    ((value % &m) + &m) % m
}

/// The low bits of `value`, read as `ty`.
pub fn read(value: &BigInt, ty: Type) -> BigInt {
    let unsigned = bits(value, ty.width);
    if ty.signed && unsigned >= power(ty.width - 1) { unsigned - power(ty.width) } else { unsigned }
}

fn floor_shift(value: &BigInt, n: u64) -> BigInt {
    let n = n.min(10_000) as u32;
    let (quotient, rest) = (value / power(n), value % power(n));
    if rest < BigInt::from(0) { quotient - 1 } else { quotient }
}

/// The smallest type of a sign that holds an integer literal.
pub fn smallest(value: i64, signed: bool) -> Type {
    let fits = |width: &u32| {
        let (low, high) = limits(Type { width: *width, signed });
        low <= BigInt::from(value) && BigInt::from(value) <= high
    };
    Type { width: (1..).find(fits).expect("some width holds it"), signed }
}

fn arithmetic_type(f: Arithmetic, a: Type, b: Type) -> Type {
    let wider = a.width.max(b.width);
    match f {
        Arithmetic::Add => Type { width: wider + 1, signed: a.signed },
        Arithmetic::Sub => sint(wider + 1),
        Arithmetic::Mul => Type { width: a.width + b.width, signed: a.signed },
        Arithmetic::WrappingAdd | Arithmetic::WrappingSub => a,
    }
}

fn arithmetic(f: Arithmetic, a: &BigInt, b: &BigInt, ty: Type) -> BigInt {
    match f {
        Arithmetic::Add => a + b,
        Arithmetic::Sub => a - b,
        Arithmetic::Mul => a * b,
        Arithmetic::WrappingAdd => read(&(a + b), ty),
        Arithmetic::WrappingSub => read(&(a - b), ty),
    }
}

fn compare(f: Compare, a: &BigInt, b: &BigInt) -> bool {
    match f {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
    }
}
