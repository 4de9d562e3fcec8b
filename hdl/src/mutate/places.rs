//! The places of one module.

use std::collections::BTreeMap;

use super::bits::{Origin, Uses, is_place, is_wiring, origin};
use super::fault::{FaultPlace, Slot};
use super::label;
use crate::lang::ir::{Arithmetic, Compare, Item, ModuleIr, NetId, NetKind, NodeId, Op, ScopeId};
use crate::lang::{in_formal, item_nodes};

struct Lister<'a> {
    ir: &'a ModuleIr,
    uses: Uses,
    /// Nets whose reads are places.
    nets: Vec<bool>,
    seen: Vec<bool>,
    found: Vec<FaultPlace>,
}

/// The item in which a place is found.
struct Around {
    label: String,
    net: String,
    source: String,
}

pub(super) fn of(ir: &ModuleIr) -> Vec<FaultPlace> {
    let mut tables = vec![false; ir.nets.len()];
    for item in ir.scopes.iter().flat_map(|s| &s.items) {
        if let Item::Drive { target, value, .. } = item {
            tables[target.net as usize] |= matches!(ir.node(*value).op, Op::Lookup(..));
        }
    }
    let nets = (0..ir.nets.len() as NetId).map(|net| is_place(ir, net, &tables)).collect();
    let mut lister = Lister { ir, uses: Uses::new(ir), nets, seen: vec![false; ir.nodes.len()], found: vec![] };
    let mut labels: BTreeMap<String, u32> = BTreeMap::new();
    for (scope, s) in ir.scopes.iter().enumerate() {
        let scope = scope as ScopeId;
        if in_formal(ir, scope) {
            continue;
        }
        for (position, item) in s.items.iter().enumerate() {
            let Some((mut label, net, loc)) = named(ir, item) else { continue };
            let times = labels.entry(label.clone()).or_default();
            *times += 1;
            if *times > 1 {
                label = format!("{label}#{times}");
            }
            let around = Around { label, net, source: format!("{}:{}", loc.file(), loc.line()) };
            lister.item(scope, position as u32, item, &around);
        }
    }
    for net in 0..ir.nets.len() as NetId {
        lister.net(net);
    }
    lister.found
}

/// The label of an item, the net that it drives, its place in the source.
fn named(ir: &ModuleIr, item: &Item) -> Option<(String, String, crate::lang::Loc)> {
    let net = |id: NetId| ir.net(id).name.clone();
    match item {
        Item::Drive { target, loc, .. } => Some((net(target.net), net(target.net), *loc)),
        Item::Register { net: id, loc, .. } => Some((net(*id), net(*id), *loc)),
        Item::Memory(id) => {
            let memory = &ir.memories[*id as usize];
            let loc = memory.reads.first().map_or(ir.loc, |r| ir.net(r.net).loc);
            Some((memory.name.clone(), memory.name.clone(), loc))
        }
        Item::Fsm(id) => {
            let fsm = &ir.fsms[*id as usize];
            Some((fsm.name.clone(), net(fsm.next), ir.net(fsm.state).loc))
        }
        Item::Comment(_) | Item::Instance(_) | Item::Loop(_) | Item::Check { .. } => None,
    }
}

/// The roles of the expressions of an item, in the order of `item_nodes`; `None` for one that is no place of its own.
fn roles(ir: &ModuleIr, item: &Item) -> Vec<Option<&'static str>> {
    match item {
        Item::Drive { target, .. } => {
            vec![matches!(ir.net(target.net).kind, NetKind::Instance { .. }).then_some("input")]
        }
        Item::Register { enable, .. } => {
            [Some("next"), enable.map(|_| "enable")].into_iter().flatten().map(Some).collect()
        }
        Item::Fsm(id) => {
            ir.fsms[*id as usize].transitions.iter().filter(|t| t.1.is_some()).map(|_| Some("condition")).collect()
        }
        Item::Memory(id) => {
            let memory = &ir.memories[*id as usize];
            let writes = memory.writes.iter().flat_map(|_| ["write enable", "write address", "write data"]);
            let reads = memory
                .reads
                .iter()
                .flat_map(|r| [Some("read address"), r.enable.map(|_| "read enable")].into_iter().flatten());
            writes.chain(reads).map(Some).collect()
        }
        Item::Comment(_) | Item::Instance(_) | Item::Loop(_) | Item::Check { .. } => vec![],
    }
}

impl Lister<'_> {
    fn item(&mut self, scope: ScopeId, position: u32, item: &Item, around: &Around) {
        let mut roots: Vec<NodeId> = Vec::new();
        item_nodes(self.ir, item, |node| roots.push(node));
        for (k, (role, &root)) in roles(self.ir, item).into_iter().zip(&roots).enumerate() {
            if let Some(role) = role {
                let place = self.place(Slot::Item(scope, position, k as u32), root, scope, around);
                let key = format!("{}.{k}", around.label);
                self.add(root, FaultPlace { role: role.to_owned(), key, ..place });
            }
        }
        // In the order of the expressions, each where it is met first.
        let mut number = 0;
        let mut todo: Vec<NodeId> = roots.into_iter().rev().collect();
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut self.seen[id as usize], true) {
                continue;
            }
            let op = &self.ir.node(id).op;
            let mut operands: Vec<NodeId> = Vec::new();
            op.operands(|child| operands.push(child));
            if !is_wiring(op) {
                number += 1;
                self.operation(id, &operands, &format!("{}/{number}", around.label), around);
            }
            todo.extend(operands.into_iter().rev());
        }
    }

    fn operation(&mut self, id: NodeId, operands: &[NodeId], key: &str, around: &Around) {
        let node = self.ir.node(id);
        for (k, &operand) in operands.iter().enumerate() {
            // The index of an array is limited to its elements. The operand is not free, but the values it is computed
            // from are.
            if !matches!(node.op, Op::Element { .. }) {
                let place = self.place(Slot::Operand(id, k as u32), operand, node.scope, around);
                let text = label::text(self.ir, id);
                self.add(
                    operand,
                    FaultPlace { role: format!("operand {k}"), key: format!("{key}.{k}"), text, ..place },
                );
            }
        }
        // The wire that a table drives is the place, not the table.
        if !matches!(node.op, Op::Lookup(..)) {
            let place = self.place(Slot::Node(id), id, node.scope, around);
            let exchanged = exchanged(&node.op).is_some();
            self.found.push(FaultPlace { role: "result".into(), key: key.to_owned(), exchanged, ..place });
        }
    }

    fn net(&mut self, net: NetId) {
        let n = self.ir.net(net);
        let read = (0..self.ir.nodes.len() as NodeId).find(|&id| {
            self.uses.nodes[id as usize] > 0 && matches!(self.ir.node(id).op, Op::Net(at, None) if at == net)
        });
        let Some(read) = read.filter(|_| self.nets[net as usize]) else { return };
        let around =
            Around { label: n.name.clone(), net: n.name.clone(), source: format!("{}:{}", n.loc.file(), n.loc.line()) };
        let place = self.place(Slot::Net(net), read, n.scope, &around);
        let key = format!("{}.value", n.name);
        self.found.push(FaultPlace { role: "value".into(), key, ..place });
    }

    /// A use of an expression, as far as its bits are not places elsewhere.
    fn add(&mut self, value: NodeId, mut place: FaultPlace) {
        place.bits.retain(|&bit| origin(self.ir, &self.uses, &self.nets, value, bit) == Origin::Other);
        if !place.bits.is_empty() {
            self.found.push(place);
        }
    }

    /// A place with all bits of a value.
    fn place(&self, slot: Slot, value: NodeId, scope: ScopeId, around: &Around) -> FaultPlace {
        let width = self.ir.node(value).ty.width;
        FaultPlace {
            module: self.ir.name.clone(),
            key: String::new(),
            role: String::new(),
            net: around.net.clone(),
            source: around.source.clone(),
            text: label::text(self.ir, value),
            width,
            bits: (0..width).collect(),
            loops: self.ir.loops(scope),
            exchanged: false,
            slot,
        }
    }
}

/// The operation that replaces this one.
pub(super) fn exchanged(op: &Op) -> Option<Op> {
    use crate::lang::ir::Logic;
    Some(match *op {
        Op::Logic(Logic::And, a, b) => Op::Logic(Logic::Or, a, b),
        Op::Logic(Logic::Or | Logic::Xor, a, b) => Op::Logic(Logic::And, a, b),
        Op::Compare(Compare::Lt, a, b) => Op::Compare(Compare::Le, a, b),
        Op::Compare(Compare::Le, a, b) => Op::Compare(Compare::Lt, a, b),
        Op::Wrapping(Arithmetic::Add, a, b) => Op::Wrapping(Arithmetic::Sub, a, b),
        Op::Wrapping(Arithmetic::Sub, a, b) => Op::Wrapping(Arithmetic::Add, a, b),
        _ => return None,
    })
}
