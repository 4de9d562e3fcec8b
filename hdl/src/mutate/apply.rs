//! The module with its faults.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigInt;
use num_traits::{One, Zero};

use super::fault::{Fault, Kind, Slot};
use super::places::exchanged;
use super::rebuild::{begin, instances, items_of, push, set_nodes, with_operands, within};
use crate::lang::index::Index;
use crate::lang::ir::{Compare, Item, Logic, ModuleIr, Node, NodeId, Op, ScopeId};
use crate::lang::{Type, item_nodes};

struct Broken<'a> {
    old: &'a ModuleIr,
    new: ModuleIr,
    /// The new node of each old one.
    map: Vec<NodeId>,
    faults: BTreeMap<Slot, Vec<(usize, &'a Fault)>>,
    select: NodeId,
}

/// `done` are the finished modules below it; `select` is the name of the input and its width.
pub(super) fn module(
    old: &ModuleIr,
    faults: &[(usize, &Fault)],
    done: &BTreeMap<&str, Arc<ModuleIr>>,
    (name, width): (&str, u32),
) -> ModuleIr {
    let mut by_slot: BTreeMap<Slot, Vec<(usize, &Fault)>> = BTreeMap::new();
    for &(number, fault) in faults {
        by_slot.entry(fault.place.slot).or_default().push((number, fault));
    }
    let (new, select) = begin(old, name, width);
    let mut broken = Broken { old, new, map: vec![], faults: by_slot, select };
    for id in 0..old.nodes.len() as NodeId {
        let node = broken.node(id);
        broken.map.push(node);
    }
    broken.items();
    instances(old, &mut broken.new, select, done, name);
    broken.new
}

impl Broken<'_> {
    fn push(&mut self, op: Op, ty: Type, scope: ScopeId) -> NodeId {
        push(&mut self.new, op, ty, scope)
    }

    fn literal(&mut self, value: impl Into<BigInt>, ty: Type) -> NodeId {
        self.push(Op::Literal(value.into()), ty, 0)
    }

    /// The new node of an old one, with faults at its operands and its value where they have places.
    fn node(&mut self, id: NodeId) -> NodeId {
        let Node { op, ty, scope } = self.old.node(id).clone();
        let mut operands: Vec<NodeId> = Vec::new();
        op.operands(|operand| operands.push(operand));
        let mut mapped: Vec<NodeId> = Vec::new();
        for (k, operand) in operands.into_iter().enumerate() {
            let value = self.map[operand as usize];
            mapped.push(self.wrong(Slot::Operand(id, k as u32), value, scope));
        }
        if let Op::Element { net, fixed, run } = &op {
            within(self.old, &mut self.new, (*net, fixed, run), &mut mapped, scope);
        }
        let op = with_operands(&op, &mapped);
        let slot = match op {
            Op::Net(net, None) => Slot::Net(net),
            _ => Slot::Node(id),
        };
        let other = exchanged(&op);
        let mut value = self.push(op, ty, scope);
        let exchanges = self.of(slot).into_iter().filter(|(_, f)| f.kind == Kind::Exchanged).collect::<Vec<_>>();
        if let (Some(other), false) = (other, exchanges.is_empty()) {
            let other = self.push(other, ty, scope);
            for (number, fault) in exchanges {
                let active = self.active(number, &fault, scope);
                value = self.push(Op::Mux(active, other, value), ty, scope);
            }
        }
        self.wrong(slot, value, scope)
    }

    fn of(&self, slot: Slot) -> Vec<(usize, Fault)> {
        let all = self.faults.get(&slot).into_iter().flatten();
        all.map(|(number, fault)| (*number, (*fault).clone())).collect()
    }

    /// A value with the faults of a place: the bits of the chosen fault change.
    fn wrong(&mut self, slot: Slot, value: NodeId, scope: ScopeId) -> NodeId {
        let faults: Vec<(usize, Fault)> = self.of(slot).into_iter().filter(|f| f.1.kind != Kind::Exchanged).collect();
        if faults.is_empty() {
            return value;
        }
        let ty = self.new.node(value).ty;
        let plain = Type { signed: false, ..ty };
        let raw = if ty.signed { self.push(Op::Cast(value), plain, scope) } else { value };
        let mut flips = self.literal(0, plain);
        for (number, fault) in &faults {
            let mut when = self.active(*number, fault, scope);
            let beside = (fault.bit + 1) % ty.width;
            let trigger = match fault.kind {
                Kind::Inverted | Kind::Exchanged => None,
                Kind::Stuck0 => Some((fault.bit, true)),
                Kind::Stuck1 => Some((fault.bit, false)),
                Kind::InvertedAt0 => Some((beside, false)),
                Kind::InvertedAt1 => Some((beside, true)),
            };
            if let Some((bit, is_one)) = trigger {
                let mut bit = self.bit(raw, bit, scope);
                if !is_one {
                    bit = self.push(Op::Not(bit), crate::lang::bit(), scope);
                }
                when = self.push(Op::Logic(Logic::And, when, bit), crate::lang::bit(), scope);
            }
            flips = if ty.width == 1 {
                match self.is_zero(flips) {
                    true => when,
                    false => self.push(Op::Logic(Logic::Or, when, flips), plain, scope),
                }
            } else {
                let one = self.literal(BigInt::one() << fault.bit, plain);
                self.push(Op::Mux(when, one, flips), plain, scope)
            };
        }
        let value = self.push(Op::Logic(Logic::Xor, raw, flips), plain, scope);
        if ty.signed { self.push(Op::Cast(value), ty, scope) } else { value }
    }

    fn is_zero(&self, id: NodeId) -> bool {
        matches!(&self.new.node(id).op, Op::Literal(value) if value.is_zero())
    }

    fn bit(&mut self, of: NodeId, bit: u32, scope: ScopeId) -> NodeId {
        match self.new.node(of).ty.width {
            1 => of,
            _ => self.push(Op::Slice(of, bit), crate::lang::bit(), scope),
        }
    }

    /// Whether a fault is the one that is chosen, in its turn.
    fn active(&mut self, number: usize, fault: &Fault, scope: ScopeId) -> NodeId {
        let bit = crate::lang::bit();
        let select = self.select;
        let own = self.literal(number, self.new.node(select).ty);
        let mut active = self.push(Op::Compare(Compare::Eq, select, own), bit, 0);
        for (genvar, at) in fault.place.at(fault.turn) {
            let count = fault.place.loops.iter().find(|l| l.0 == genvar).map_or(1, |l| l.1);
            if count > 1 {
                let ty = Type { width: 32, signed: false };
                let index = self.push(Op::LoopIndex(Index::genvar(genvar)), ty, scope);
                let at = self.literal(at, ty);
                let here = self.push(Op::Compare(Compare::Eq, index, at), bit, scope);
                active = self.push(Op::Logic(Logic::And, active, here), bit, scope);
            }
        }
        active
    }

    fn items(&mut self) {
        let old = self.old;
        for scope in 0..old.scopes.len() as ScopeId {
            let mut items = items_of(old, scope);
            items.iter_mut().for_each(|(position, item)| self.item(scope, *position, item));
            self.new.scopes[scope as usize].items = items.into_iter().map(|(_, item)| item).collect();
        }
    }

    fn item(&mut self, scope: ScopeId, position: u32, item: &mut Item) {
        let mut values: Vec<NodeId> = Vec::new();
        item_nodes(self.old, item, |node| values.push(self.map[node as usize]));
        for (number, value) in values.iter_mut().enumerate() {
            *value = self.wrong(Slot::Item(scope, position, number as u32), *value, scope);
        }
        set_nodes(self.old, &mut self.new, item, &values);
    }
}
