//! The logic that drives something, back to registers, memories and instances, with the loops unrolled.

use std::collections::{BTreeMap, VecDeque};

use super::names::{Spot, Thing};
use crate::lang::index::Index;
use crate::lang::ir::{Direction, Item, ModuleIr, NetId, NetKind, NodeId, Op, ScopeId};
use crate::lang::{Elements, in_formal};
use crate::mutate::bits::is_wiring;

/// An expression that stands alone in the Verilog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    /// An expression of an item: its scope, its position there, the position among its expressions.
    Root(ScopeId, u32, u32),
    /// An expression with a name.
    Named(NodeId),
}

/// A node of an expression in one turn of the loops around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub unit: Unit,
    /// The number of the turn.
    pub turn: u64,
    pub node: NodeId,
}

/// No driver.
const NONE: (u32, u32) = (u32::MAX, 0);

/// Steps of the largest cone.
const LARGEST: usize = 4_000_000;

/// A module, and what drives each element of its nets.
pub(super) struct Logic<'a> {
    ir: &'a ModuleIr,
    /// Expressions with names, and the scopes of these names.
    homes: BTreeMap<NodeId, ScopeId>,
    elements: Elements,
    items: Vec<(ScopeId, u32)>,
    /// For each element the item that drives it, and in which turn.
    drivers: Vec<(u32, u32)>,
}

impl<'a> Logic<'a> {
    pub fn new(ir: &'a ModuleIr, homes: BTreeMap<NodeId, ScopeId>) -> Option<Self> {
        let elements = Elements::new(ir)?;
        let (mut items, mut drivers) = (Vec::new(), vec![NONE; elements.total]);
        for (scope, s) in ir.scopes.iter().enumerate() {
            let scope = scope as ScopeId;
            if in_formal(ir, scope) {
                continue;
            }
            for (position, item) in s.items.iter().enumerate() {
                let number = items.len() as u32;
                items.push((scope, position as u32));
                let mut drive = |net: NetId, index: Option<&Index>| {
                    let count = if index.is_some() { 1 } else { ir.net(net).array.map_or(1, |a| a.0 as usize) };
                    let place = elements.place(ir, net, index, scope);
                    let mut turn = 0;
                    elements.iterate(scope, |values| {
                        let first = place.at(values);
                        drivers[first..first + count].fill((number, turn));
                        turn += 1;
                    });
                };
                match item {
                    Item::Drive { target, .. } => drive(target.net, target.index.as_ref()),
                    Item::Register { net, .. } => drive(*net, None),
                    Item::Fsm(id) => drive(ir.fsms[*id as usize].next, None),
                    Item::Memory(id) => ir.memories[*id as usize].reads.iter().for_each(|r| drive(r.net, None)),
                    Item::Comment(_) | Item::Instance(_) | Item::Loop(_) | Item::Check { .. } => {}
                }
            }
        }
        Some(Self { ir, homes, elements, items, drivers })
    }

    pub fn scope(&self, unit: Unit) -> ScopeId {
        match unit {
            Unit::Root(scope, ..) => scope,
            Unit::Named(node) => self.homes[&node],
        }
    }

    /// The values of the loop variables in a turn, outermost first.
    pub fn values(&self, scope: ScopeId, mut turn: u64) -> Vec<u32> {
        let loops = self.ir.loops(scope);
        let mut values: Vec<u32> = loops
            .iter()
            .rev()
            .map(|&(_, count)| {
                let value = (turn % u64::from(count)) as u32;
                turn /= u64::from(count);
                value
            })
            .collect();
        values.reverse();
        values
    }

    fn turn(&self, scope: ScopeId, values: &[u32]) -> u64 {
        self.ir.loops(scope).iter().zip(values).fold(0, |turn, (l, &v)| turn * u64::from(l.1) + u64::from(v))
    }

    /// The item that drives a net, or an element of it, and in which turn.
    pub fn driver(&self, net: NetId, element: Option<u32>, turns: &[u32]) -> Option<(ScopeId, u32, u64)> {
        let values: Vec<i64> = turns.iter().map(|&t| t.into()).collect();
        let index = element.map(Index::from);
        let at = self.elements.place(self.ir, net, index.as_ref(), self.ir.net(net).scope).at(&values);
        let (item, turn) = self.drivers[at];
        let (scope, position) = *self.items.get(item as usize)?;
        Some((scope, position, turn.into()))
    }

    /// All steps of the logic that drives something, each with the number of operations between.
    pub fn cone(&self, target: &Spot) -> Result<BTreeMap<Step, u32>, String> {
        let mut found: BTreeMap<Step, u32> = BTreeMap::new();
        let mut todo: VecDeque<(Step, u32)> = VecDeque::new();
        self.start(target, &mut |step| todo.push_back((step, 0)))?;
        while let Some((step, depth)) = todo.pop_front() {
            if found.get(&step).is_some_and(|&before| before <= depth) {
                continue;
            }
            found.insert(step, depth);
            if found.len() > LARGEST {
                return Err("the logic that drives it is too large".into());
            }
            let cost = u32::from(self.is_operation(step));
            self.behind(step, &mut |next| match cost {
                0 => todo.push_front((next, depth)),
                _ => todo.push_back((next, depth + 1)),
            });
        }
        Ok(found)
    }

    /// Whether it is an operation where it stands, and not the name of one.
    pub fn is_operation(&self, step: Step) -> bool {
        self.elsewhere(step).is_none() && !is_wiring(&self.ir.node(step.node).op)
    }

    /// The scope of the name, if a step only reads the name of an expression.
    fn elsewhere(&self, step: Step) -> Option<ScopeId> {
        let home = *self.homes.get(&step.node)?;
        let reads = step.unit != Unit::Named(step.node) && self.ir.encloses(home, self.scope(step.unit));
        reads.then_some(home)
    }

    fn start(&self, target: &Spot, add: &mut impl FnMut(Step)) -> Result<(), String> {
        match target.thing {
            Thing::Net(net) => match self.ir.net(net).kind {
                NetKind::Instance { instance, direction: Direction::Output, .. } => {
                    self.inputs(instance, &target.turns, add);
                }
                _ => {
                    self.drivers(net, target.element, &target.turns, add);
                    self.register(net, target.element, &target.turns, add);
                }
            },
            Thing::Node(node) => {
                add(Step { unit: Unit::Named(node), turn: self.turn(target.scope, &target.turns), node });
            }
            Thing::Instance(instance) => self.inputs(instance, &target.turns, add),
            Thing::Memory(id) => {
                let is = |&&(scope, at): &&(ScopeId, u32)| matches!(self.ir.scopes[scope as usize].items[at as usize], Item::Memory(m) if m == id);
                for &(scope, position) in self.items.iter().filter(is) {
                    let writes = 3 * self.ir.memories[id as usize].writes.len() as u32;
                    self.roots(scope, position, self.turn(scope, &target.turns), 0..writes, add);
                }
            }
            Thing::State(..) => return Err("the target is a constant".into()),
        }
        Ok(())
    }

    fn inputs(&self, instance: u32, turns: &[u32], add: &mut impl FnMut(Step)) {
        let instance = &self.ir.instances[instance as usize];
        for (port, &net) in instance.nets.iter().enumerate() {
            if instance.module.direction(port) == Direction::Input {
                self.drivers(net, None, turns, add);
            }
        }
    }

    /// The expressions of the register that a net, or an element of it, is another name of.
    fn register(&self, net: NetId, element: Option<u32>, turns: &[u32], add: &mut impl FnMut(Step)) {
        let Some((scope, position, turn)) = self.driver(net, element, turns) else { return };
        let Item::Drive { value, .. } = self.ir.scopes[scope as usize].items[position as usize] else { return };
        let mut node = value;
        while let Op::Cast(inner) = self.ir.node(node).op {
            node = inner;
        }
        if let Op::Net(register, _) = self.ir.node(node).op
            && matches!(self.ir.net(register).kind, NetKind::Register { .. })
        {
            let loops = self.ir.loops(self.ir.net(register).scope).len();
            self.drivers(register, None, &self.values(scope, turn)[..loops], add);
        }
    }

    /// The expressions that drive a net, or an element of it.
    fn drivers(&self, net: NetId, element: Option<u32>, turns: &[u32], add: &mut impl FnMut(Step)) {
        let elements = match element {
            Some(element) => element..element + 1,
            None => 0..self.ir.net(net).array.map_or(1, |a| a.0),
        };
        let mut before = None;
        for element in elements {
            let Some(driver) = self.driver(net, Some(element), turns) else { continue };
            if before.replace(driver) == Some(driver) {
                continue;
            }
            let (scope, position, turn) = driver;
            let numbers = match &self.ir.scopes[scope as usize].items[position as usize] {
                Item::Drive { .. } => 0..1,
                Item::Register { enable, .. } => 0..1 + u32::from(enable.is_some()),
                Item::Fsm(id) => {
                    0..self.ir.fsms[*id as usize].transitions.iter().filter(|t| t.1.is_some()).count() as u32
                }
                Item::Memory(id) => {
                    let memory = &self.ir.memories[*id as usize];
                    let mut number = 3 * memory.writes.len() as u32;
                    let mut found = 0..0;
                    for read in &memory.reads {
                        let own = 1 + u32::from(read.enable.is_some());
                        if read.net == net {
                            // A register takes the word: the memory ends the logic, and the enable is before it.
                            found = if read.enable.is_some() { number + 1..number + 2 } else { number..number + 1 };
                        }
                        number += own;
                    }
                    found
                }
                _ => continue,
            };
            self.roots(scope, position, turn, numbers, add);
        }
    }

    fn roots(
        &self,
        scope: ScopeId,
        position: u32,
        turn: u64,
        numbers: std::ops::Range<u32>,
        add: &mut impl FnMut(Step),
    ) {
        let item = &self.ir.scopes[scope as usize].items[position as usize];
        let mut number = 0;
        crate::lang::item_nodes(self.ir, item, |node| {
            if numbers.contains(&number) {
                add(Step { unit: Unit::Root(scope, position, number), turn, node });
            }
            number += 1;
        });
    }

    /// The steps right behind one.
    fn behind(&self, step: Step, add: &mut impl FnMut(Step)) {
        let scope = self.scope(step.unit);
        let values = self.values(scope, step.turn);
        if let Some(home) = self.elsewhere(step) {
            let turn = self.turn(home, &values[..self.ir.loops(home).len()]);
            return add(Step { unit: Unit::Named(step.node), turn, node: step.node });
        }
        let op = &self.ir.node(step.node).op;
        if let Op::Net(net, _) | Op::Element { net, .. } = op {
            let net = *net;
            let of = &self.ir.net(net);
            let through = matches!(
                of.kind,
                NetKind::Wire { .. } | NetKind::Output | NetKind::Instance { direction: Direction::Input, .. }
            );
            let turns = self.ir.loops(of.scope).len();
            if through && turns <= values.len() {
                self.drivers(net, self.element(step, scope), &values[..turns], add);
            }
        }
        op.operands(|node| add(Step { node, ..step }));
    }

    /// The element of an array that a step reads; `None` for all of them, or where there is no array.
    fn element(&self, step: Step, scope: ScopeId) -> Option<u32> {
        let Op::Net(_, Some(index)) = &self.ir.node(step.node).op else { return None };
        let (loops, values) = (self.ir.loops(scope), self.values(scope, step.turn));
        let value = |genvar| loops.iter().position(|l| l.0 == genvar).map_or(0, |k| i64::from(values[k]));
        u32::try_from(index.terms().fold(index.offset, |sum, (genvar, c)| sum + c * value(genvar))).ok()
    }

    /// Whether a step reads something by its name.
    pub fn reads(&self, step: Step, spot: &Spot) -> bool {
        let scope = self.scope(step.unit);
        let there = self.ir.encloses(spot.scope, scope) && self.values(scope, step.turn).starts_with(&spot.turns);
        let is = match (spot.thing, &self.ir.node(step.node).op) {
            (Thing::Net(net), Op::Net(read, _) | Op::Element { net: read, .. }) => {
                *read == net
                    && (spot.element.is_none() || self.element(step, scope).is_none_or(|e| Some(e) == spot.element))
            }
            (Thing::Node(node), _) => step.node == node && step.unit != Unit::Named(node),
            _ => false,
        };
        there && is
    }
}
