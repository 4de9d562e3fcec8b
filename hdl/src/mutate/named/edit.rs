//! The nodes and items that a fault by name adds.

use num_bigint::BigInt;
use num_traits::Zero;

use super::cone::Unit;
use super::edited::{Change, Changed, Edited, Refused, When, flat};
use super::names::Thing;
use super::place::Here;
use super::resolve::Exchange;
use super::syntax::Expr;
use super::value::assigned;
use crate::lang::index::Index;
use crate::lang::ir::{Arithmetic, Compare, Item, Logic, NodeId, Op, ScopeId};
use crate::lang::{Type, bit, item_nodes, uint};
use crate::mutate::rebuild::{items_of, set_nodes};

/// The type of a loop index.
const INDEX: Type = uint(32);

impl Edited<'_> {
    pub(super) fn changed(&mut self, changed: &Changed, read: Option<&Op>, value: NodeId, scope: ScopeId) -> NodeId {
        let Change::Wrong(net, element) = changed.change else { return value };
        let ty = self.new.node(value).ty;
        let mut active = self.active(changed.number, &changed.when, scope);
        if let (Some(element), Some(read)) = (element, read) {
            let index = match read {
                Op::Net(_, Some(index)) => match index.constant() {
                    Some(at) if at == i64::from(element) => None,
                    Some(_) => return value,
                    None => Some(self.push(Op::LoopIndex(*index), INDEX, scope)),
                },
                Op::Element { fixed, run, .. } => Some(self.index(fixed, run, scope)),
                _ => None,
            };
            if let Some(index) = index {
                let element = self.literal(element, INDEX);
                let here = self.push(Op::Compare(Compare::Eq, index, element), bit(), scope);
                active = self.push(Op::Logic(Logic::And, active, here), bit(), scope);
            }
        }
        let wrong = match read {
            Some(Op::Net(_, index)) if self.new.net(net).array.is_some() => self.push(Op::Net(net, *index), ty, scope),
            Some(Op::Element { fixed, run, .. }) if self.new.net(net).array.is_some() => {
                self.push(Op::Element { net, fixed: *fixed, run: run.clone() }, ty, scope)
            }
            _ => {
                let wrong = self.push(Op::Net(net, None), uint(ty.width), scope);
                self.cast(wrong, ty.signed, scope)
            }
        };
        self.push(Op::Mux(active, wrong, value), ty, scope)
    }

    /// The value of an index that is chosen at run time.
    fn index(&mut self, fixed: &Index, run: &[(NodeId, u32)], scope: ScopeId) -> NodeId {
        let mut sum = match fixed.constant() {
            Some(fixed) => self.literal(INDEX.wrap(&fixed.into()), INDEX),
            None => self.push(Op::LoopIndex(*fixed), INDEX, scope),
        };
        for &(node, step) in run {
            // An index never leaves its array, so bits from the 32nd on are 0.
            let wide = match self.new.node(node).ty.width {
                32 => node,
                0..32 => self.push(Op::Extend(node), INDEX, scope),
                _ => self.push(Op::Slice(node, 0), INDEX, scope),
            };
            let step = self.literal(step, INDEX);
            let term = self.push(Op::Wrapping(Arithmetic::Mul, wide, step), INDEX, scope);
            sum = self.push(Op::Wrapping(Arithmetic::Add, sum, term), INDEX, scope);
        }
        sum
    }

    /// Whether a fault is the one that is chosen, in its turns.
    pub(super) fn active(&mut self, number: usize, when: &When, scope: ScopeId) -> NodeId {
        let select = self.select;
        let own = self.literal(number, self.new.node(select).ty);
        let mut active = self.push(Op::Compare(Compare::Eq, select, own), bit(), 0);
        let loops = self.old.loops(scope);
        let all: u64 = loops.iter().map(|l| u64::from(l.1)).product();
        match when {
            When::Turns(turns) if turns.len() as u64 == all => {}
            When::Turns(turns) => {
                let mask = turns.iter().fold(BigInt::zero(), |mut mask, &turn| {
                    mask.set_bit(turn, true);
                    mask
                });
                let mask = self.literal(mask, uint(all as u32));
                let here = self.push(Op::SliceAt(mask, flat(&loops)), bit(), scope);
                active = self.push(Op::Logic(Logic::And, active, here), bit(), scope);
            }
            When::Outer(turns) => {
                for (&(genvar, count), &turn) in loops.iter().zip(turns) {
                    if count > 1 {
                        let index = self.push(Op::LoopIndex(Index::genvar(genvar)), INDEX, scope);
                        let turn = self.literal(turn, INDEX);
                        let here = self.push(Op::Compare(Compare::Eq, index, turn), bit(), scope);
                        active = self.push(Op::Logic(Logic::And, active, here), bit(), scope);
                    }
                }
            }
        }
        active
    }

    /// The value of an expression of a fault, as this type.
    pub(super) fn expression(
        &mut self,
        number: usize,
        (scope, turns): (ScopeId, Vec<u32>),
        right: Option<NodeId>,
        value: &Expr,
        ty: Type,
    ) -> Result<NodeId, Refused> {
        let right = right.map(|right| self.cast(right, false, scope));
        let mut here = Here { edited: self, scope, turns, right };
        let value = assigned(&mut here, value, ty.width).map_err(|why| (Some(number), why))?;
        Ok(self.cast(value, ty.signed, scope))
    }

    pub(super) fn exchanged(&mut self, to: Exchange, operands: &[NodeId], ty: Type, scope: ScopeId) -> NodeId {
        let (a, b) = (operands[0], operands[1]);
        let op = match to {
            Exchange::Arithmetic(f) => {
                let [a, b] = [a, b].map(|operand| {
                    let own = self.new.node(operand).ty;
                    let wide = match own.width == ty.width {
                        true => operand,
                        false => self.push(Op::Extend(operand), Type { width: ty.width, ..own }, scope),
                    };
                    self.cast(wide, ty.signed, scope)
                });
                Op::Wrapping(f, a, b)
            }
            Exchange::Bitwise(f) => Op::Logic(f, a, b),
            Exchange::Compare(f, true) => Op::Compare(f, b, a),
            Exchange::Compare(f, false) => Op::Compare(f, a, b),
            Exchange::ShiftLeft => Op::ShiftLeft(a, b),
            Exchange::ShiftRight => Op::ShiftRight(a, b),
        };
        self.push(op, ty, scope)
    }

    pub(super) fn items(&mut self) -> Result<(), Refused> {
        let old = self.old;
        for scope in 0..old.scopes.len() as ScopeId {
            let mut items = items_of(old, scope);
            items.iter_mut().try_for_each(|(position, item)| self.item(scope, *position, item))?;
            self.new.scopes[scope as usize].items = items.into_iter().map(|(_, item)| item).collect();
        }
        Ok(())
    }

    fn item(&mut self, scope: ScopeId, position: u32, item: &mut Item) -> Result<(), Refused> {
        let mut roots: Vec<NodeId> = Vec::new();
        item_nodes(self.old, item, |node| roots.push(node));
        let mut values: Vec<NodeId> = Vec::new();
        for (number, root) in roots.into_iter().enumerate() {
            let unit = Unit::Root(scope, position, number as u32);
            let is_own = self.units.contains_key(&unit);
            values.push(if is_own { self.copy(unit, root) } else { self.map[root as usize] });
        }
        for (number, turn, expr) in self.drives.get(&(scope, position)).cloned().unwrap_or_default() {
            let ty = self.new.node(values[0]).ty;
            let turns = self.turns(scope, turn);
            let active = self.active(number, &When::Outer(turns.clone()), scope);
            let wrong = self.expression(number, (scope, turns), Some(values[0]), expr, ty)?;
            values[0] = self.push(Op::Mux(active, wrong, values[0]), ty, scope);
        }
        for (number, turns, net) in self.holds.get(&(scope, position)).cloned().unwrap_or_default() {
            // It holds the wrong value: it takes that value where it would hold its own.
            let [next, enable] = [values[0], values[1]];
            let ty = self.new.node(next).ty;
            let active = self.active(number, &When::Outer(turns), scope);
            let wrong = self.push(Op::Net(net, None), uint(ty.width), scope);
            let wrong = self.cast(wrong, ty.signed, scope);
            let held = self.push(Op::Mux(enable, next, wrong), ty, scope);
            values[0] = self.push(Op::Mux(active, held, next), ty, scope);
            values[1] = self.push(Op::Logic(Logic::Or, active, enable), bit(), scope);
        }
        set_nodes(self.old, &mut self.new, item, &values);
        if let Item::Drive { target, .. } = item
            && let Some(right) = self.right.get(&target.net)
        {
            target.net = *right;
        }
        Ok(())
    }

    /// Drives the nets with the values of expressions, and the arrays whose drivers were taken away.
    pub(super) fn values(&mut self) -> Result<(), Refused> {
        for wrong in std::mem::take(&mut self.wrong) {
            let scope = wrong.spot.scope;
            let right = match wrong.spot.thing {
                Thing::Node(node) => self.map[node as usize],
                Thing::Net(net) => {
                    let source = self.right.get(&net).copied().unwrap_or(net);
                    self.whole(source, wrong.spot.element, scope)
                }
                _ => continue,
            };
            let ty = self.whole_type(wrong.net);
            let turns = wrong.spot.turns.clone();
            let value = self.expression(wrong.number, (scope, turns), Some(right), wrong.value, ty)?;
            self.drive(scope, wrong.net, None, value);
        }
        for (net, right) in self.right.clone() {
            let scope = self.old.net(net).scope;
            let ty = self.whole_type(net);
            let mut value = self.whole(right, None, scope);
            let faults: Vec<_> = self.ports.iter().filter(|p| p.0 == net).cloned().collect();
            for (_, number, turns, wrong) in faults {
                let active = self.active(number, &When::Outer(turns), scope);
                let wrong = self.whole(wrong, None, scope);
                value = self.push(Op::Mux(active, wrong, value), ty, scope);
            }
            self.drive(scope, net, None, value);
        }
        Ok(())
    }

    fn turns(&self, scope: ScopeId, mut turn: u64) -> Vec<u32> {
        let mut turns: Vec<u32> = Vec::new();
        for (_, count) in self.old.loops(scope).into_iter().rev() {
            turns.push((turn % u64::from(count)) as u32);
            turn /= u64::from(count);
        }
        turns.reverse();
        turns
    }
}
