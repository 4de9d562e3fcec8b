//! A module that gets its faults: the old one, the new one, and what is still to be changed.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;

use super::cone::Unit;
use super::names::{Names, Spot, Thing};
use super::resolve::Exchange;
use super::syntax::Expr;
use crate::lang::Type;
use crate::lang::index::Index;
use crate::lang::ir::{Item, Layout, ModuleIr, NetId, NetKind, NodeId, Op, ScopeId, Target};
use crate::mutate::rebuild::{net, push};

/// Why a module cannot have its faults: the number of the fault, if it is known which one.
pub(super) type Refused = (Option<usize>, String);

/// When a fault is active, besides being chosen.
#[derive(Clone)]
pub(super) enum When {
    /// Where the outer loops are in these turns.
    Outer(Vec<u32>),
    /// In these turns of all loops around.
    Turns(BTreeSet<u64>),
}

/// An item: its scope, and its position there.
type Position = (ScopeId, u32);

/// Something of a fault by its number, in these turns of the loops around it.
type InTurns<T> = (usize, Vec<u32>, T);

/// The same in one turn by its number.
type InTurn<T> = (usize, u64, T);

/// A read that a fault changes.
#[derive(Clone)]
pub(super) struct Changed {
    pub number: usize,
    pub when: When,
    pub change: Change,
}

#[derive(Clone)]
pub(super) enum Change {
    /// The value is that of the net, for an element of an array only.
    Wrong(NetId, Option<u32>),
    Exchanged(Exchange),
}

/// A net that takes the value of an expression of a fault.
pub(super) struct Wrong<'a> {
    pub number: usize,
    pub net: NetId,
    pub spot: Spot,
    pub value: &'a Expr,
}

pub(super) struct Edited<'a> {
    pub old: &'a ModuleIr,
    pub names: &'a Names,
    pub new: ModuleIr,
    /// The new node of each old one.
    pub map: Vec<NodeId>,
    pub select: NodeId,
    /// Faults of nets for all readers of their nodes.
    pub nets: BTreeMap<NetId, Vec<Changed>>,
    /// Faults of expressions with names.
    pub nodes: BTreeMap<NodeId, Vec<InTurns<&'a Expr>>>,
    /// Faults of drivers, by their items.
    pub drives: BTreeMap<Position, Vec<InTurn<&'a Expr>>>,
    /// Faults of single reads and operations.
    pub units: BTreeMap<Unit, BTreeMap<NodeId, Vec<Changed>>>,
    pub holds: BTreeMap<Position, Vec<InTurns<NetId>>>,
    pub wrong: Vec<Wrong<'a>>,
    /// Packed arrays whose drivers drive another net instead.
    pub right: BTreeMap<NetId, NetId>,
    /// Faults of these arrays, with the nets of their wrong values.
    pub ports: Vec<(NetId, usize, Vec<u32>, NetId)>,
    /// Nets that bring a value to where an expression reads it, see [`super::place`].
    pub taps: BTreeMap<(Thing, Option<u32>, bool), NetId>,
    pub copies: BTreeMap<(Unit, NodeId), NodeId>,
    /// The operations that read nets, by the new node with the faults of that net.
    pub reads: BTreeMap<NodeId, Op>,
}

impl<'a> Edited<'a> {
    pub fn push(&mut self, op: Op, ty: Type, scope: ScopeId) -> NodeId {
        push(&mut self.new, op, ty, scope)
    }

    pub fn literal(&mut self, value: impl Into<BigInt>, ty: Type) -> NodeId {
        self.push(Op::Literal(value.into()), ty, 0)
    }

    pub fn cast(&mut self, node: NodeId, signed: bool, scope: ScopeId) -> NodeId {
        let ty = self.new.node(node).ty;
        if ty.signed == signed { node } else { self.push(Op::Cast(node), Type { signed, ..ty }, scope) }
    }

    /// An added net.
    pub fn wire(&mut self, what: &str, ty: Type, array: Option<(u32, Layout)>, scope: ScopeId) -> NetId {
        let name = format!("senbazuru_{what}_{}", self.new.nets.len());
        let id = net(&mut self.new, name, ty, NetKind::Wire { inline: false }, scope);
        self.new.nets[id as usize].array = array;
        id
    }

    pub fn drive(&mut self, scope: ScopeId, net: NetId, index: Option<Index>, value: NodeId) {
        let item = Item::Drive { target: Target { net, index }, value, loc: self.old.loc };
        self.new.scopes[scope as usize].items.push(item);
    }

    /// Expressions of faults read wires that are declared behind them: all are declared at the start. A table is
    /// printed where its wire is declared.
    pub(super) fn free_order(&mut self) {
        let is_table = |value: NodeId| matches!(self.old.node(value).op, Op::Lookup(..));
        for item in self.old.scopes.iter().flat_map(|s| &s.items) {
            if let Item::Drive { target, value, .. } = item
                && !is_table(*value)
                && let NetKind::Wire { inline } = &mut self.new.nets[target.net as usize].kind
            {
                *inline = false;
            }
        }
    }
}

/// The number of a turn of loops.
pub(super) fn flat(loops: &[(u32, u32)]) -> Index {
    let begin = Index::from(0);
    loops.iter().fold(begin, |number, &(genvar, count)| number * count + Index::genvar(genvar))
}

/// The loops of one index.
pub(super) const MOST_LOOPS: usize = 4;
