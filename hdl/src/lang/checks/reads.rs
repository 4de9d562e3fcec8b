//! An input, wire or register that nothing reads is a mistake, unless the author says `m.unused(..)`. Unread outputs of
//! instances are fine (the printer gives them a sink).

use std::collections::BTreeSet;

use super::super::ir::{Item, ModuleIr, NetKind, NodeId, ScopeId, ScopeKind};
use super::elements::visit_once;
use super::finding::Finding;

pub(super) fn check(ir: &ModuleIr) -> Vec<Finding> {
    let mut read = vec![false; ir.nets.len()];
    let mut read_in_formal = vec![false; ir.nets.len()];
    let mut seen = [BTreeSet::new(), BTreeSet::new()];
    for (scope, s) in ir.scopes.iter().enumerate() {
        let formal = in_formal(ir, scope as ScopeId);
        for item in &s.items {
            item_nodes(ir, item, |node| {
                let list = if formal { &mut read_in_formal } else { &mut read };
                visit_once(ir, node, &mut seen[usize::from(formal)], |net, _| list[net as usize] = true);
            });
        }
    }
    let mut findings = Vec::new();
    for (id, net) in ir.nets.iter().enumerate() {
        let what = match net.kind {
            NetKind::Input => "input",
            NetKind::Wire { .. } => "wire",
            NetKind::Register { .. } => "register",
            NetKind::MemoryRead => "read data",
            NetKind::Output | NetKind::Instance { .. } => continue,
        };
        if net.unused_ok || read[id] || (read_in_formal[id] && in_formal(ir, net.scope)) {
            continue;
        }
        let why = if read_in_formal[id] {
            "is read by checks only: make it inside `m.formal`"
        } else {
            "is never read: remove it, or say `m.unused(..)`"
        };
        findings.push((net.loc, format!("{what} `{}` {why}", net.name), None));
    }
    findings
}

pub(crate) fn in_formal(ir: &ModuleIr, scope: ScopeId) -> bool {
    let mut at = Some(scope);
    while let Some(id) = at {
        let s = &ir.scopes[id as usize];
        if s.kind == ScopeKind::Formal {
            return true;
        }
        at = s.parent;
    }
    false
}

/// The expressions of an item.
pub(crate) fn item_nodes(ir: &ModuleIr, item: &Item, mut visit: impl FnMut(NodeId)) {
    match item {
        Item::Comment(_) | Item::Loop(_) | Item::Instance(_) => {}
        Item::Drive { value, .. } => visit(*value),
        Item::Register { next, enable, .. } => {
            visit(*next);
            enable.iter().copied().for_each(visit);
        }
        Item::Check { condition, .. } => visit(*condition),
        Item::Fsm(id) => ir.fsms[*id as usize].transitions.iter().filter_map(|t| t.1).for_each(visit),
        Item::Memory(id) => {
            let memory = &ir.memories[*id as usize];
            for w in &memory.writes {
                [w.enable, w.address, w.data].into_iter().for_each(&mut visit);
            }
            for r in &memory.reads {
                visit(r.address);
                r.enable.iter().copied().for_each(&mut visit);
            }
        }
    }
}
