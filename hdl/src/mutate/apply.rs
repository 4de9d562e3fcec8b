//! The module with its faults.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigInt;
use num_traits::{One, Zero};

use super::fault::{Fault, Kind, Slot};
use super::places::exchanged;
use crate::lang::index::Index;
use crate::lang::ir::{
    Compare, Direction, InstanceId, Item, Logic, ModuleIr, Net, NetId, NetKind, Node, NodeId, Op, ScopeId, ScopeKind,
    Target,
};
use crate::lang::{Type, in_formal};

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
    let mut new = ModuleIr { nodes: vec![], ..old.clone() };
    let ty = Type { width, signed: false };
    let port = net(&mut new, name.to_owned(), ty, NetKind::Input, 0);
    new.ports.push(port);
    new.comb.push(vec![]);
    new.names.insert(name.to_owned(), old.loc);
    new.nodes.push(Node { op: Op::Net(port, None), ty, scope: 0 });
    let mut broken = Broken { old, new, map: vec![], faults: by_slot, select: 0 };
    for id in 0..old.nodes.len() as NodeId {
        let node = broken.node(id);
        broken.map.push(node);
    }
    broken.items();
    broken.instances(done, name, ty);
    broken.new
}

fn net(ir: &mut ModuleIr, name: String, ty: Type, kind: NetKind, scope: ScopeId) -> NetId {
    let (loc, doc) = (ir.loc, String::new());
    ir.nets.push(Net { name, ty, kind, array: None, scope, loc, unused_ok: true, doc });
    ir.ripples.push(false);
    ir.nets.len() as NetId - 1
}

impl Broken<'_> {
    fn push(&mut self, op: Op, ty: Type, scope: ScopeId) -> NodeId {
        self.new.nodes.push(Node { op, ty, scope });
        self.new.nodes.len() as NodeId - 1
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
            mapped = self.within(*net, fixed, run, mapped, scope);
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

    /// Indices of an array that never leave it, whatever is wrong with what they are made of.
    fn within(
        &mut self,
        net: NetId,
        fixed: &Index,
        run: &[(NodeId, u32)],
        mut nodes: Vec<NodeId>,
        scope: ScopeId,
    ) -> Vec<NodeId> {
        let counts = self.old.loops(scope);
        let count = |genvar| counts.iter().find(|l| l.0 == genvar).map_or(1, |l| l.1);
        let elements = i64::from(self.old.net(net).array.map_or(1, |a| a.0));
        let mut left = (elements - 1 - fixed.bounds(count).1).max(0);
        let mut order: Vec<usize> = (0..run.len()).collect();
        order.sort_by_key(|&k| std::cmp::Reverse(run[k].1));
        for k in order {
            let step = i64::from(run[k].1).max(1);
            let ty = self.new.node(nodes[k]).ty;
            let most = if ty.width < 63 { (1_i64 << ty.width) - 1 } else { i64::MAX };
            let last = left / step;
            if most > last {
                let last = self.literal(last, ty);
                let past = self.push(Op::Compare(Compare::Lt, last, nodes[k]), crate::lang::bit(), scope);
                nodes[k] = self.push(Op::Mux(past, last, nodes[k]), ty, scope);
            }
            left -= last.min(most) * step;
        }
        nodes
    }

    fn items(&mut self) {
        let old = self.old;
        for scope in 0..old.scopes.len() as ScopeId {
            let mut items = old.scopes[scope as usize].items.clone();
            if in_formal(old, scope) {
                items.clear();
            }
            for (position, item) in items.iter_mut().enumerate() {
                self.item(scope, position as u32, item);
            }
            items.retain(|item| !matches!(item, Item::Loop(s) if old.scopes[*s as usize].kind == ScopeKind::Formal));
            self.new.scopes[scope as usize].items = items;
        }
    }

    fn item(&mut self, scope: ScopeId, position: u32, item: &mut Item) {
        let mut number = 0;
        let mut next = |broken: &mut Self, node: &mut NodeId| {
            let value = broken.map[*node as usize];
            *node = broken.wrong(Slot::Item(scope, position, number), value, scope);
            number += 1;
        };
        match item {
            Item::Drive { value, .. } => next(self, value),
            Item::Register { next: value, enable, .. } => {
                next(self, value);
                enable.iter_mut().for_each(|e| next(self, e));
            }
            Item::Fsm(id) => {
                let mut transitions = self.old.fsms[*id as usize].transitions.clone();
                transitions.iter_mut().filter_map(|t| t.1.as_mut()).for_each(|c| next(self, c));
                self.new.fsms[*id as usize].transitions = transitions;
            }
            Item::Memory(id) => {
                let mut memory = self.old.memories[*id as usize].clone();
                for w in &mut memory.writes {
                    [&mut w.enable, &mut w.address, &mut w.data].into_iter().for_each(|n| next(self, n));
                }
                for r in &mut memory.reads {
                    next(self, &mut r.address);
                    r.enable.iter_mut().for_each(|e| next(self, e));
                }
                self.new.memories[*id as usize] = memory;
            }
            Item::Comment(_) | Item::Instance(_) | Item::Loop(_) | Item::Check { .. } => {}
        }
    }

    /// The input that chooses goes to the modules below that have it.
    fn instances(&mut self, done: &BTreeMap<&str, Arc<ModuleIr>>, name: &str, ty: Type) {
        for id in 0..self.old.instances.len() {
            let (scope, child) = (self.old.instances[id].scope, &self.old.instances[id].module);
            let Some(module) = done.get(child.name.as_str()).filter(|m| m.ports.len() > child.ports.len()) else {
                continue;
            };
            if in_formal(self.old, scope) {
                continue;
            }
            let (instance, port) = (id as InstanceId, child.ports.len());
            let kind = NetKind::Instance { instance, port, direction: Direction::Input };
            let at_port = net(&mut self.new, format!("{}_{name}", self.old.instances[id].name), ty, kind, scope);
            let here = &mut self.new.instances[id];
            here.module = Arc::clone(module);
            here.nets.push(at_port);
            let value = self.select;
            let drive = Item::Drive { target: Target { net: at_port, index: None }, value, loc: self.old.loc };
            let items = &mut self.new.scopes[scope as usize].items;
            let behind = items.iter().position(|i| matches!(i, Item::Instance(at) if *at == instance));
            items.insert(behind.map_or(items.len(), |at| at + 1), drive);
        }
    }
}

fn with_operands(op: &Op, new: &[NodeId]) -> Op {
    match op {
        Op::Poison | Op::Net(..) | Op::Literal(_) | Op::LoopIndex(_) => op.clone(),
        Op::Element { net, fixed, run } => {
            let run = run.iter().zip(new).map(|(&(_, step), &node)| (node, step)).collect();
            Op::Element { net: *net, fixed: *fixed, run }
        }
        Op::Not(_) => Op::Not(new[0]),
        Op::Repeat(_, count) => Op::Repeat(new[0], *count),
        Op::Slice(_, low) => Op::Slice(new[0], *low),
        Op::SliceAt(_, low) => Op::SliceAt(new[0], *low),
        Op::Extend(_) => Op::Extend(new[0]),
        Op::Cast(_) => Op::Cast(new[0]),
        Op::Reduce(f, _) => Op::Reduce(*f, new[0]),
        Op::Exact(f, ..) => Op::Exact(*f, new[0], new[1]),
        Op::Wrapping(f, ..) => Op::Wrapping(*f, new[0], new[1]),
        Op::Logic(f, ..) => Op::Logic(*f, new[0], new[1]),
        Op::Compare(f, ..) => Op::Compare(*f, new[0], new[1]),
        Op::SelectBit(..) => Op::SelectBit(new[0], new[1]),
        Op::ShiftLeft(..) => Op::ShiftLeft(new[0], new[1]),
        Op::ShiftRight(..) => Op::ShiftRight(new[0], new[1]),
        Op::Mux(..) => Op::Mux(new[0], new[1], new[2]),
        Op::Cat(_) => Op::Cat(new.to_vec()),
        Op::Lookup(..) => Op::Lookup(new[0], new[1..].to_vec()),
    }
}
