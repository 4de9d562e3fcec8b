//! Parts of a module with faults that do not depend on the faults.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lang::index::Index;
use crate::lang::ir::{
    Compare, Direction, InstanceId, Item, ModuleIr, Net, NetId, NetKind, Node, NodeId, Op, ScopeId, ScopeKind, Target,
};
use crate::lang::{Type, in_formal, uint};

/// The module without nodes, and with the input that chooses a fault; and the node that reads this input.
pub(super) fn begin(old: &ModuleIr, name: &str, width: u32) -> (ModuleIr, NodeId) {
    let mut new = ModuleIr { nodes: vec![], ..old.clone() };
    let ty = uint(width);
    let port = net(&mut new, name.to_owned(), ty, NetKind::Input, 0);
    new.ports.push(port);
    new.comb.push(vec![]);
    new.names.insert(name.to_owned(), old.loc);
    let select = push(&mut new, Op::Net(port, None), ty, 0);
    (new, select)
}

/// A net that nobody has to read.
pub(super) fn net(ir: &mut ModuleIr, name: String, ty: Type, kind: NetKind, scope: ScopeId) -> NetId {
    let (loc, doc) = (ir.loc, String::new());
    ir.nets.push(Net { name, ty, kind, array: None, scope, loc, unused_ok: true, doc });
    ir.ripples.push(false);
    ir.nets.len() as NetId - 1
}

pub(super) fn push(ir: &mut ModuleIr, op: Op, ty: Type, scope: ScopeId) -> NodeId {
    ir.nodes.push(Node { op, ty, scope });
    ir.nodes.len() as NodeId - 1
}

/// Makes indices of an array that never leave it, whatever is wrong with what they are made of.
pub(super) fn within(
    old: &ModuleIr,
    new: &mut ModuleIr,
    (net, fixed, run): (NetId, &Index, &[(NodeId, u32)]),
    nodes: &mut [NodeId],
    scope: ScopeId,
) {
    let counts = old.loops(scope);
    let count = |genvar| counts.iter().find(|l| l.0 == genvar).map_or(1, |l| l.1);
    let elements = i64::from(old.net(net).array.map_or(1, |a| a.0));
    let mut left = (elements - 1 - fixed.bounds(count).1).max(0);
    let mut order: Vec<usize> = (0..run.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(run[k].1));
    for k in order {
        let step = i64::from(run[k].1).max(1);
        let ty = new.node(nodes[k]).ty;
        let most = if ty.width < 63 { (1_i64 << ty.width) - 1 } else { i64::MAX };
        let last = left / step;
        if most > last {
            let last = push(new, Op::Literal(last.into()), ty, 0);
            let past = push(new, Op::Compare(Compare::Lt, last, nodes[k]), crate::lang::bit(), scope);
            nodes[k] = push(new, Op::Mux(past, last, nodes[k]), ty, scope);
        }
        left -= last.min(most) * step;
    }
}

/// The items of a scope with their positions, without those of proofs.
pub(super) fn items_of(old: &ModuleIr, scope: ScopeId) -> Vec<(u32, Item)> {
    if in_formal(old, scope) {
        return Vec::new();
    }
    let is_formal = |item: &Item| matches!(item, Item::Loop(s) if old.scopes[*s as usize].kind == ScopeKind::Formal);
    let items = (0..).zip(&old.scopes[scope as usize].items).filter(|(_, item)| !is_formal(item));
    items.map(|(position, item)| (position, item.clone())).collect()
}

/// Gives an item its new expressions, in the order of `item_nodes`.
pub(super) fn set_nodes(old: &ModuleIr, new: &mut ModuleIr, item: &mut Item, values: &[NodeId]) {
    let mut values = values.iter().copied();
    let mut next = |node: &mut NodeId| values.next().into_iter().for_each(|value| *node = value);
    match item {
        Item::Drive { value, .. } => next(value),
        Item::Register { next: value, enable, .. } => {
            next(value);
            enable.iter_mut().for_each(next);
        }
        Item::Fsm(id) => {
            let mut transitions = old.fsms[*id as usize].transitions.clone();
            transitions.iter_mut().filter_map(|t| t.1.as_mut()).for_each(next);
            new.fsms[*id as usize].transitions = transitions;
        }
        Item::Memory(id) => {
            let mut memory = old.memories[*id as usize].clone();
            for w in &mut memory.writes {
                [&mut w.enable, &mut w.address, &mut w.data].into_iter().for_each(&mut next);
            }
            for r in &mut memory.reads {
                next(&mut r.address);
                r.enable.iter_mut().for_each(&mut next);
            }
            new.memories[*id as usize] = memory;
        }
        Item::Comment(_) | Item::Instance(_) | Item::Loop(_) | Item::Check { .. } => {}
    }
}

/// The input that chooses goes to the modules below that have it.
pub(super) fn instances(
    old: &ModuleIr,
    new: &mut ModuleIr,
    select: NodeId,
    done: &BTreeMap<&str, Arc<ModuleIr>>,
    name: &str,
) {
    let ty = new.node(select).ty;
    for id in 0..old.instances.len() {
        let (scope, child) = (old.instances[id].scope, &old.instances[id].module);
        let Some(module) = done.get(child.name.as_str()).filter(|m| m.ports.len() > child.ports.len()) else {
            continue;
        };
        if in_formal(old, scope) {
            continue;
        }
        let (instance, port) = (id as InstanceId, child.ports.len());
        let kind = NetKind::Instance { instance, port, direction: Direction::Input };
        let at_port = net(new, format!("{}_{name}", old.instances[id].name), ty, kind, scope);
        let here = &mut new.instances[id];
        here.module = Arc::clone(module);
        here.nets.push(at_port);
        let drive = Item::Drive { target: Target { net: at_port, index: None }, value: select, loc: old.loc };
        let items = &mut new.scopes[scope as usize].items;
        let behind = items.iter().position(|i| matches!(i, Item::Instance(at) if *at == instance));
        items.insert(behind.map_or(items.len(), |at| at + 1), drive);
    }
}

/// The operation with other operands.
pub(super) fn with_operands(op: &Op, new: &[NodeId]) -> Op {
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
