//! Every element of every net has exactly one driver.

use super::super::error::Loc;
use super::super::ir::{Direction, Item, ModuleIr, NetKind, ScopeId, Target};
use super::elements::Elements;
use super::finding::Finding;

/// Two drivers of one element and, in a `complete` description, elements without one.
pub(super) fn check(ir: &ModuleIr, elements: &Elements, complete: bool) -> Vec<Finding> {
    let mut drivers: Vec<Option<Loc>> = vec![None; elements.total];
    let mut findings: Vec<Finding> = Vec::new();
    for (scope, s) in ir.scopes.iter().enumerate() {
        for item in &s.items {
            let (target, loc) = match item {
                Item::Drive { target, loc, .. } => (*target, *loc),
                Item::Register { net, loc, .. } => (Target { net: *net, index: None }, *loc),
                Item::Fsm(id) => {
                    let net = ir.fsms[*id as usize].next;
                    (Target { net, index: None }, ir.net(net).loc)
                }
                _ => continue,
            };
            let mut clash = None;
            let place = elements.place(ir, target.net, target.index.as_ref(), scope as ScopeId);
            // A port that is driven as one vector.
            let whole = ir.net(target.net).array.filter(|_| target.index.is_none());
            elements.iterate(scope as ScopeId, |values| {
                let first = place.at(values);
                let count = whole.map_or(1, |a| a.0 as usize);
                for (element, driver) in drivers.iter_mut().enumerate().skip(first).take(count) {
                    if let Some(previous) = driver.replace(loc) {
                        clash.get_or_insert((element, previous));
                    }
                }
            });
            if let Some((element, previous)) = clash {
                let what = element_name(ir, elements, target.net, element);
                findings.push(if loc == previous {
                    (loc, format!("{what} is driven once in every turn of a loop, or of a loop in Rust"), None)
                } else {
                    (loc, format!("{what} has two drivers"), Some(("the other driver".into(), previous)))
                });
            }
        }
    }
    for (id, net) in ir.nets.iter().enumerate().filter(|_| complete) {
        let id = id as u32;
        let wanted = match net.kind {
            NetKind::Output | NetKind::Wire { .. } | NetKind::Register { .. } => true,
            NetKind::Instance { direction, .. } => direction == Direction::Input,
            NetKind::Input | NetKind::MemoryRead => false,
        };
        let missing: Vec<usize> = elements.of(id).filter(|&x| wanted && drivers[x].is_none()).collect();
        if let Some(&first) = missing.first() {
            let what = element_name(ir, elements, id, first);
            let more =
                if missing.len() > 1 { format!(" (and {} more of it)", missing.len() - 1) } else { String::new() };
            let verb = if matches!(net.kind, NetKind::Register { .. }) { "is never assigned" } else { "has no driver" };
            findings.push((net.loc, format!("{what} {verb}{more}"), None));
        }
    }
    findings
}

fn element_name(ir: &ModuleIr, elements: &Elements, net: u32, element: usize) -> String {
    let n = ir.net(net);
    let position = element - elements.of(net).start;
    let kind = match &n.kind {
        NetKind::Instance { instance, port, .. } => {
            let instance = &ir.instances[*instance as usize];
            // An instance of a refused block has no module to ask.
            let port = instance.module.ports.get(*port).map_or(&n.name, |&p| &instance.module.net(p).name);
            return match n.array {
                Some((count, _)) => format!("element {} of `{port}` of {}", position % count as usize, instance.name),
                None => format!("`{port}` of {}", instance.name),
            };
        }
        NetKind::Output => "output ",
        NetKind::Register { .. } => "register ",
        _ => "",
    };
    match n.array {
        Some((count, _)) => format!("element {} of {kind}`{}`", position % count as usize, n.name),
        None => format!("{kind}`{}`", n.name),
    }
}
