//! The value of an expression of Verilog as nodes, with Verilog's rules for widths and signs.
//!
//! An operand of arithmetic, of a bitwise operation or of a choice is as wide as the widest one around it, and at least
//! as wide as the net. It is extended by its sign only if all of them are signed. Operands of comparisons see only each
//! other. Parts of concatenations, conditions, indices and amounts of shifts stand alone.
//!
//! Refused are division and remainder, and amounts of shifts and indices of 32 bits and more. What Verilog leaves
//! unknown has some value: a bit past the end of a net is 0, an index past the end of an array means its last element.

use num_bigint::BigInt;
use num_traits::Zero;

use super::syntax::{Expr, Path, Select, constant};
use crate::lang::Type;
use crate::lang::ir::{Arithmetic, Compare, Logic, NodeId, Op};
use crate::lang::{bit, bits_for, uint};

/// What a name stands for.
pub(super) enum Meaning {
    /// A value of its own type.
    Value(NodeId),
    /// A constant.
    Constant(BigInt, Type),
}

/// Where the nodes go, and what names mean there.
pub(super) trait Place {
    fn push(&mut self, op: Op, ty: Type) -> NodeId;

    fn ty(&self, node: NodeId) -> Type;

    /// The value of a literal node.
    fn literal(&self, node: NodeId) -> Option<BigInt>;

    /// What a name stands for, and how many of its selects were used for that.
    fn meaning(&mut self, path: &Path) -> Result<(Meaning, usize), String>;
}

/// An expression whose width depends on what is around it.
struct Tree {
    ty: Type,
    kind: Kind,
}

enum Kind {
    Node(NodeId),
    Literal(BigInt),
    Not(Box<Tree>),
    Logic(Logic, Box<Tree>, Box<Tree>),
    Arithmetic(Arithmetic, Box<Tree>, Box<Tree>),
    ShiftLeft(Box<Tree>, NodeId),
    /// With copies of the sign, if the operands are signed.
    ShiftRight(bool, Box<Tree>, NodeId),
    Choice(NodeId, Box<Tree>, Box<Tree>),
}

/// The value of `expr`, assigned to a net of so many bits: an unsigned node.
pub(super) fn assigned(to: &mut impl Place, expr: &Expr, width: u32) -> Result<NodeId, String> {
    let mut writer = Writer { to };
    let tree = writer.tree(expr)?;
    let value = writer.sized(&tree, width.max(tree.ty.width), tree.ty.signed);
    Ok(writer.slice(value, 0, width))
}

/// The value of an expression that stands alone: an unsigned node.
pub(super) fn alone(to: &mut impl Place, expr: &Expr) -> Result<NodeId, String> {
    Writer { to }.alone(expr)
}

struct Writer<'a, P: Place> {
    to: &'a mut P,
}

impl<P: Place> Writer<'_, P> {
    fn alone(&mut self, expr: &Expr) -> Result<NodeId, String> {
        let tree = self.tree(expr)?;
        Ok(self.sized(&tree, tree.ty.width, tree.ty.signed))
    }

    fn tree(&mut self, expr: &Expr) -> Result<Tree, String> {
        let node = |ty, node| Ok(Tree { ty, kind: Kind::Node(node) });
        match expr {
            Expr::Literal(value, width, signed) => {
                Ok(Tree { ty: Type { width: *width, signed: *signed }, kind: Kind::Literal(value.clone()) })
            }
            Expr::Path(path) => self.path(path),
            Expr::Unary(sign, a) => self.unary(sign, a),
            Expr::Binary(sign, a, b) => self.binary(sign, a, b),
            Expr::Choice(condition, a, b) => {
                let condition = self.condition(condition)?;
                let (a, b) = (self.tree(a)?, self.tree(b)?);
                let ty = both(a.ty, b.ty);
                Ok(Tree { ty, kind: Kind::Choice(condition, Box::new(a), Box::new(b)) })
            }
            Expr::Cat(parts) => {
                let parts = parts.iter().map(|part| self.alone(part)).collect::<Result<Vec<_>, _>>()?;
                let ty = uint(parts.iter().map(|&part| self.to.ty(part).width).sum());
                let whole = if let [only] = parts[..] { only } else { self.to.push(Op::Cat(parts), ty) };
                node(ty, whole)
            }
            Expr::Repeat(count, part) => {
                let part = self.alone(part)?;
                let ty = uint(self.to.ty(part).width * count);
                let whole = if *count == 1 { part } else { self.to.push(Op::Repeat(part, *count), ty) };
                node(ty, whole)
            }
            Expr::Cast(signed, inner) => {
                let inner = self.alone(inner)?;
                node(Type { signed: *signed, ..self.to.ty(inner) }, inner)
            }
        }
    }

    fn path(&mut self, path: &Path) -> Result<Tree, String> {
        let (meaning, used) = self.to.meaning(path)?;
        let mut tree = match meaning {
            Meaning::Constant(value, ty) => Tree { ty, kind: Kind::Literal(value) },
            Meaning::Value(value) => {
                let ty = self.to.ty(value);
                Tree { ty, kind: Kind::Node(self.cast(value, false)) }
            }
        };
        for select in &path.selects[used..] {
            let whole = self.sized(&tree, tree.ty.width, false);
            let width = tree.ty.width;
            let (from, taken) = match select {
                Select::Range(high, low) => (Err(*low), high - low + 1),
                Select::At(index) => (constant(index).map_or(Ok(index), Err), 1),
                Select::From(index, taken) => (constant(index).map_or(Ok(index), Err), *taken),
            };
            let outside = || format!("`{}` has {width} bits", path.name);
            let part = match from {
                Err(low) if low.checked_add(taken).is_some_and(|end| end <= width) => self.slice(whole, low, taken),
                Err(_) => return Err(outside()),
                Ok(_) if taken > width => return Err(outside()),
                Ok(index) => {
                    let amount = self.amount(index)?;
                    let shifted = self.to.push(Op::ShiftRight(whole, amount), uint(width));
                    self.slice(shifted, 0, taken)
                }
            };
            tree = Tree { ty: uint(taken), kind: Kind::Node(part) };
        }
        Ok(tree)
    }

    fn unary(&mut self, sign: &str, a: &Expr) -> Result<Tree, String> {
        let node = |node| Ok(Tree { ty: bit(), kind: Kind::Node(node) });
        let f = match sign {
            "~" | "-" | "+" => {
                let a = self.tree(a)?;
                let ty = a.ty;
                let zero = Tree { ty, kind: Kind::Literal(BigInt::zero()) };
                return Ok(match sign {
                    "~" => Tree { ty, kind: Kind::Not(Box::new(a)) },
                    "-" => Tree { ty, kind: Kind::Arithmetic(Arithmetic::Sub, Box::new(zero), Box::new(a)) },
                    _ => a,
                });
            }
            "!" => {
                let condition = self.condition(a)?;
                return node(self.not(condition));
            }
            "&" | "~&" => Logic::And,
            "|" | "~|" => Logic::Or,
            _ => Logic::Xor,
        };
        let a = self.alone(a)?;
        let reduced = self.reduced(f, a);
        node(if sign.starts_with('~') { self.not(reduced) } else { reduced })
    }

    fn binary(&mut self, sign: &str, a: &Expr, b: &Expr) -> Result<Tree, String> {
        match sign {
            "&&" | "||" => {
                let f = if sign == "&&" { Logic::And } else { Logic::Or };
                let (a, b) = (self.condition(a)?, self.condition(b)?);
                Ok(Tree { ty: bit(), kind: Kind::Node(self.to.push(Op::Logic(f, a, b), bit())) })
            }
            "<<" | "<<<" | ">>" | ">>>" => {
                let (a, amount) = (self.tree(a)?, self.amount(b)?);
                let ty = a.ty;
                let a = Box::new(a);
                let left = sign.starts_with('<');
                let kind = if left { Kind::ShiftLeft(a, amount) } else { Kind::ShiftRight(sign == ">>>", a, amount) };
                Ok(Tree { ty, kind })
            }
            "/" | "%" => Err(format!("the construction language has no `{sign}`")),
            _ => {
                let (a, b) = (self.tree(a)?, self.tree(b)?);
                let ty = both(a.ty, b.ty);
                let kind = match sign {
                    "+" => Kind::Arithmetic(Arithmetic::Add, Box::new(a), Box::new(b)),
                    "-" => Kind::Arithmetic(Arithmetic::Sub, Box::new(a), Box::new(b)),
                    "*" => Kind::Arithmetic(Arithmetic::Mul, Box::new(a), Box::new(b)),
                    "&" => Kind::Logic(Logic::And, Box::new(a), Box::new(b)),
                    "|" => Kind::Logic(Logic::Or, Box::new(a), Box::new(b)),
                    "^" => Kind::Logic(Logic::Xor, Box::new(a), Box::new(b)),
                    "~^" | "^~" => {
                        let differ = Tree { ty, kind: Kind::Logic(Logic::Xor, Box::new(a), Box::new(b)) };
                        Kind::Not(Box::new(differ))
                    }
                    _ => return Ok(self.compared(sign, &a, &b, ty)),
                };
                Ok(Tree { ty, kind })
            }
        }
    }

    fn compared(&mut self, sign: &str, a: &Tree, b: &Tree, ty: Type) -> Tree {
        let [a, b] = [a, b].map(|side| {
            let side = self.sized(side, ty.width, ty.signed);
            self.cast(side, ty.signed)
        });
        let (f, a, b) = match sign {
            "==" | "===" => (Compare::Eq, a, b),
            "!=" | "!==" => (Compare::Ne, a, b),
            "<" => (Compare::Lt, a, b),
            "<=" => (Compare::Le, a, b),
            ">" => (Compare::Lt, b, a),
            _ => (Compare::Le, b, a),
        };
        Tree { ty: bit(), kind: Kind::Node(self.to.push(Op::Compare(f, a, b), bit())) }
    }

    /// The unsigned node of an expression where so many bits are needed, and operands have signs or not.
    fn sized(&mut self, tree: &Tree, width: u32, signed: bool) -> NodeId {
        let ty = uint(width);
        match &tree.kind {
            Kind::Node(node) => self.extended(*node, width, signed),
            Kind::Literal(value) => {
                let value = Type { signed, ..tree.ty }.wrap(value);
                self.to.push(Op::Literal(ty.wrap(&value)), ty)
            }
            Kind::Not(a) => {
                let a = self.sized(a, width, signed);
                self.not(a)
            }
            Kind::Logic(f, a, b) => {
                let (a, b) = (self.sized(a, width, signed), self.sized(b, width, signed));
                self.to.push(Op::Logic(*f, a, b), ty)
            }
            Kind::Arithmetic(f, a, b) => {
                let (a, b) = (self.sized(a, width, signed), self.sized(b, width, signed));
                self.to.push(Op::Wrapping(*f, a, b), ty)
            }
            Kind::ShiftLeft(a, amount) => {
                let a = self.sized(a, width, signed);
                self.to.push(Op::ShiftLeft(a, *amount), ty)
            }
            Kind::ShiftRight(arithmetic, a, amount) => {
                let a = self.sized(a, width, signed);
                let keeps_sign = *arithmetic && signed;
                let a = self.cast(a, keeps_sign);
                let shifted = self.to.push(Op::ShiftRight(a, *amount), Type { width, signed: keeps_sign });
                self.cast(shifted, false)
            }
            Kind::Choice(condition, a, b) => {
                let (a, b) = (self.sized(a, width, signed), self.sized(b, width, signed));
                self.to.push(Op::Mux(*condition, a, b), ty)
            }
        }
    }

    /// Whether a value is not 0.
    fn condition(&mut self, expr: &Expr) -> Result<NodeId, String> {
        let value = self.alone(expr)?;
        Ok(self.reduced(Logic::Or, value))
    }

    fn reduced(&mut self, f: Logic, a: NodeId) -> NodeId {
        if self.to.ty(a).width == 1 { a } else { self.to.push(Op::Reduce(f, a), bit()) }
    }

    fn amount(&mut self, expr: &Expr) -> Result<NodeId, String> {
        if let Some(amount) = constant(expr) {
            return Ok(self.to.push(Op::Literal(amount.into()), uint(bits_for(amount.into()).min(31))));
        }
        let amount = self.alone(expr)?;
        match self.to.ty(amount).width {
            0..32 => Ok(amount),
            width => Err(format!("an index or the amount of a shift has {width} bits")),
        }
    }

    fn not(&mut self, a: NodeId) -> NodeId {
        let ty = self.to.ty(a);
        self.to.push(Op::Not(a), ty)
    }

    fn cast(&mut self, a: NodeId, signed: bool) -> NodeId {
        let ty = self.to.ty(a);
        if ty.signed == signed { a } else { self.to.push(Op::Cast(a), Type { signed, ..ty }) }
    }

    fn extended(&mut self, a: NodeId, width: u32, signed: bool) -> NodeId {
        if self.to.ty(a).width == width {
            return self.cast(a, false);
        }
        let a = self.cast(a, signed);
        let wide = self.to.push(Op::Extend(a), Type { width, signed });
        self.cast(wide, false)
    }

    fn slice(&mut self, a: NodeId, low: u32, width: u32) -> NodeId {
        let ty = uint(width);
        match self.to.literal(a) {
            _ if low == 0 && self.to.ty(a).width == width => a,
            Some(value) => self.to.push(Op::Literal(ty.wrap(&(value >> low))), ty),
            None => self.to.push(Op::Slice(a, low), ty),
        }
    }
}

/// The type of an operation on two operands.
fn both(a: Type, b: Type) -> Type {
    Type { width: a.width.max(b.width), signed: a.signed && b.signed }
}
