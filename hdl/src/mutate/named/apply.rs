//! The module with its faults by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cone::{Logic, Unit};
use super::edited::{Change, Changed, Edited, MOST_LOOPS, Refused, When, Wrong};
use super::names::{Names, Spot, Thing};
use super::resolve::{Edit, Resolved};
use super::syntax::Expr;
use crate::lang::ir::{Direction, Item, Layout, ModuleIr, Net, NetId, NetKind, NodeId, Op, ScopeId};
use crate::lang::{bit, uint, within_cycle};
use crate::mutate::rebuild::{begin, instances, with_operands, within};

/// `done` are the finished modules below it; `select` is the name of the input and its width.
pub(super) fn module<'a>(
    old: &'a ModuleIr,
    names: &'a Names,
    logic: &Logic<'_>,
    faults: &'a [Resolved],
    done: &BTreeMap<&str, Arc<ModuleIr>>,
    (select_name, width): (&str, u32),
) -> Result<ModuleIr, Refused> {
    let (new, select) = begin(old, select_name, width);
    let mut edited = Edited {
        old,
        names,
        new,
        map: vec![],
        select,
        nets: BTreeMap::new(),
        nodes: BTreeMap::new(),
        drives: BTreeMap::new(),
        units: BTreeMap::new(),
        holds: BTreeMap::new(),
        wrong: vec![],
        right: BTreeMap::new(),
        ports: vec![],
        reads: BTreeMap::new(),
        taps: BTreeMap::new(),
        copies: BTreeMap::new(),
    };
    edited.free_order();
    for fault in faults {
        edited.plan(logic, fault).map_err(|why| (Some(fault.number), why))?;
    }
    for id in 0..old.nodes.len() as NodeId {
        let node = edited.node(id)?;
        edited.map.push(node);
    }
    edited.items()?;
    edited.values()?;
    edited.bring();
    let mut new = edited.new;
    instances(old, &mut new, select, done, select_name);
    let (comb, ripples) = within_cycle(&new).map_err(|why| (None, why))?;
    (new.comb, new.ripples) = (comb, ripples);
    Ok(new)
}

impl<'a> Edited<'a> {
    fn plan(&mut self, logic: &Logic<'_>, fault: &'a Resolved) -> Result<(), String> {
        let Resolved { number, spot, edit } = fault;
        let number = *number;
        match edit {
            Edit::Exchanged { at, to } => {
                self.must_have_numbers(logic.scope(at.unit))?;
                let when = When::Turns([at.turn].into());
                let changed = Changed { number, when, change: Change::Exchanged(*to) };
                self.units.entry(at.unit).or_default().entry(at.node).or_default().push(changed);
            }
            Edit::Reads { value, at, holds } => {
                let net = self.wrong(number, spot, value);
                for ((unit, node), turns) in at {
                    self.must_have_numbers(logic.scope(*unit))?;
                    let when = When::Turns(turns.clone());
                    let changed = Changed { number, when, change: Change::Wrong(net, spot.element) };
                    self.units.entry(*unit).or_default().entry(*node).or_default().push(changed);
                }
                if let Some(item) = holds {
                    self.holds.entry(*item).or_default().push((number, spot.turns.clone(), net));
                }
            }
            Edit::Everywhere(value) => match spot.thing {
                Thing::Node(node) => {
                    self.nodes.entry(node).or_default().push((number, spot.turns.clone(), value));
                }
                Thing::Net(net) => self.everywhere(logic, number, (net, spot), value)?,
                _ => return Err("it is no net".into()),
            },
        }
        Ok(())
    }

    /// An index has a few loops at most, and it is the number of a turn.
    fn must_have_numbers(&self, scope: ScopeId) -> Result<(), String> {
        let loops = self.old.loops(scope).len();
        if loops <= MOST_LOOPS { Ok(()) } else { Err(format!("it is in {loops} loops")) }
    }

    fn everywhere(
        &mut self,
        logic: &Logic<'_>,
        number: usize,
        (net, spot): (NetId, &Spot),
        value: &'a Expr,
    ) -> Result<(), String> {
        let Net { kind, array, .. } = self.old.net(net);
        let packed = matches!(array, Some((_, Layout::Packed)));
        let driver = logic.driver(net, spot.element, &spot.turns).and_then(|(scope, position, turn)| {
            match &self.old.scopes[scope as usize].items[position as usize] {
                Item::Drive { target, value, .. } => {
                    let table = matches!(self.old.node(*value).op, Op::Lookup(..));
                    Some((scope, position, turn, table, target.index.is_none() && array.is_some()))
                }
                _ => None,
            }
        });
        let read_outside = match kind {
            NetKind::Output => true,
            NetKind::Instance { instance, port, .. } => {
                let module = &self.old.instances[*instance as usize].module;
                module.direction(*port) == Direction::Input
            }
            _ => false,
        };
        match driver {
            _ if packed && read_outside => {
                if !self.right.contains_key(&net) {
                    let (ty, array, scope) = {
                        let n = self.old.net(net);
                        (n.ty, n.array, n.scope)
                    };
                    let right = self.wire("right", ty, array, scope);
                    self.right.insert(net, right);
                }
                let wrong = self.wrong(number, spot, value);
                self.ports.push((net, number, spot.turns.clone(), wrong));
            }
            Some((scope, position, turn, false, false)) if !packed => {
                self.drives.entry((scope, position)).or_default().push((number, turn, value));
            }
            Some(_) if read_outside => return Err("a table or a whole array drives it".into()),
            _ => {
                let wrong = self.wrong(number, spot, value);
                let when = When::Outer(spot.turns.clone());
                let changed = Changed { number, when, change: Change::Wrong(wrong, spot.element) };
                self.nets.entry(net).or_default().push(changed);
            }
        }
        Ok(())
    }

    /// A net for the value of an expression of a fault.
    fn wrong(&mut self, number: usize, spot: &Spot, value: &'a Expr) -> NetId {
        let (ty, array) = match spot.thing {
            Thing::Net(net) => {
                let Net { ty, array, .. } = self.old.net(net);
                (*ty, array.filter(|a| a.1 == Layout::Packed))
            }
            Thing::Node(node) => (self.old.node(node).ty, None),
            _ => (bit(), None),
        };
        let ty = if array.is_some() { ty } else { uint(ty.width) };
        let net = self.wire("wrong", ty, array, spot.scope);
        self.wrong.push(Wrong { number, net, spot: spot.clone(), value });
        net
    }

    /// The new node of an old one, for all that use it.
    fn node(&mut self, id: NodeId) -> Result<NodeId, Refused> {
        let scope = self.old.node(id).scope;
        let unit = Unit::Named(id);
        let mut value = match self.units.contains_key(&unit) {
            true => self.copy(unit, id),
            false => {
                let mut operands: Vec<NodeId> = Vec::new();
                self.old.node(id).op.operands(|operand| operands.push(self.map[operand as usize]));
                self.rebuilt(id, operands)
            }
        };
        if let Some(home) = self.names.homes.get(&id).copied() {
            for (number, turns, expr) in self.nodes.get(&id).cloned().unwrap_or_default() {
                let active = self.active(number, &When::Outer(turns.clone()), home);
                let wrong = self.expression(number, (home, turns), Some(value), expr, self.old.node(id).ty)?;
                value = self.push(Op::Mux(active, wrong, value), self.old.node(id).ty, scope);
            }
        }
        Ok(value)
    }

    /// A node with new operands, and the faults of the net that it reads.
    fn rebuilt(&mut self, id: NodeId, mut operands: Vec<NodeId>) -> NodeId {
        let node = self.old.node(id).clone();
        if let Op::Element { net, fixed, run } = &node.op {
            within(self.old, &mut self.new, (*net, fixed, run), &mut operands, node.scope);
        }
        let op = with_operands(&node.op, &operands);
        let mut value = self.push(op.clone(), node.ty, node.scope);
        if let Op::Net(net, _) | Op::Element { net, .. } = &op {
            for changed in self.nets.get(net).cloned().unwrap_or_default() {
                value = self.changed(&changed, Some(&op), value, node.scope);
            }
            self.reads.insert(value, op);
        }
        value
    }

    /// The value of a node for one unit, with the faults that only this unit has.
    pub fn copy(&mut self, unit: Unit, id: NodeId) -> NodeId {
        if let Some(&copy) = self.copies.get(&(unit, id)) {
            return copy;
        }
        let scope = match unit {
            Unit::Root(scope, ..) => scope,
            Unit::Named(node) => self.names.homes[&node],
        };
        let own = self.units.get(&unit).and_then(|nodes| nodes.get(&id)).cloned().unwrap_or_default();
        let is_name =
            unit != Unit::Named(id) && self.names.homes.get(&id).is_some_and(|&h| self.old.encloses(h, scope));
        let mut value = if is_name {
            self.map[id as usize]
        } else {
            let mut operands: Vec<NodeId> = Vec::new();
            self.old.node(id).op.operands(|operand| operands.push(operand));
            let copied: Vec<NodeId> = operands.iter().map(|&operand| self.copy(unit, operand)).collect();
            let same = operands.iter().zip(&copied).all(|(&old, &new)| self.map[old as usize] == new);
            match self.map.get(id as usize) {
                Some(&known) if same => known,
                _ => self.rebuilt(id, copied),
            }
        };
        let op = self.reads.get(&value).cloned();
        for changed in own {
            value = match changed.change {
                Change::Exchanged(to) => {
                    let mut operands: Vec<NodeId> = Vec::new();
                    let old = self.old.node(id).op.clone();
                    old.operands(|operand| operands.push(operand));
                    let operands: Vec<NodeId> = operands.into_iter().map(|o| self.copy(unit, o)).collect();
                    let ty = self.old.node(id).ty;
                    let other = self.exchanged(to, &operands, ty, scope);
                    let active = self.active(changed.number, &changed.when, scope);
                    self.push(Op::Mux(active, other, value), ty, scope)
                }
                Change::Wrong(..) => self.changed(&changed, op.as_ref(), value, scope),
            };
        }
        self.copies.insert((unit, id), value);
        value
    }
}
