//! Facts gathered before printing: how often expressions are used, and which bits of a net are read.

use crate::lang::ir::{Item, Layout, ModuleIr, Net, NetId, NodeId, Op};

/// Number of uses of each node by live items and live nodes.
pub(in crate::emit) fn node_uses(ir: &ModuleIr) -> Vec<u32> {
    let mut uses = vec![0; ir.nodes.len()];
    let mut todo: Vec<NodeId> = Vec::new();
    for scope in &ir.scopes {
        for item in &scope.items {
            crate::lang::item_nodes(ir, item, |node| todo.push(node));
        }
    }
    while let Some(node) = todo.pop() {
        uses[node as usize] += 1;
        if uses[node as usize] == 1 {
            ir.node(node).op.operands(|child| todo.push(child));
        }
    }
    uses
}

/// Which expressions to give a name so that no text nests deeper than some thirty operations; nothing if there is none.
pub(super) fn deep_nodes(ir: &ModuleIr) -> Vec<bool> {
    const DEEPEST: u32 = 32;
    let mut depth = vec![0_u32; ir.nodes.len()];
    let mut deep = vec![false; ir.nodes.len()];
    // Operands come before the operation that uses them.
    for (id, node) in ir.nodes.iter().enumerate() {
        let mut below = 0;
        node.op.operands(|child| below = below.max(depth[child as usize] + 1));
        let can_have_a_name = !matches!(node.op, Op::Lookup(..));
        deep[id] = below >= DEEPEST && can_have_a_name;
        depth[id] = if deep[id] { 0 } else { below };
    }
    if !deep.contains(&true) {
        deep.clear();
    }
    deep
}

/// Number of live reads of each net.
pub(super) fn net_reads(ir: &ModuleIr, uses: &[u32]) -> Vec<u32> {
    let mut reads = vec![0; ir.nets.len()];
    for (id, node) in ir.nodes.iter().enumerate() {
        if let Op::Net(net, _) | Op::Element { net, .. } = node.op {
            reads[net as usize] += uses[id];
        }
    }
    reads
}

/// Bits of each net that the printed text mentions.
pub(super) struct BitsRead {
    bits: Vec<Vec<bool>>,
}

impl BitsRead {
    pub fn new(ir: &ModuleIr) -> Self {
        let total = |n: &Net| match n.array {
            Some((count, Layout::Packed)) => n.ty.width * count,
            _ => n.ty.width,
        };
        Self { bits: ir.nets.iter().map(|n| vec![false; total(n) as usize]).collect() }
    }

    pub fn read(&mut self, net: NetId, low: u32, width: u32) {
        self.bits[net as usize][low as usize..(low + width) as usize].fill(true);
    }

    /// Runs of unread bits of a net, low first: (low, width).
    pub fn unread(&self, net: NetId) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (i, _) in self.bits[net as usize].iter().enumerate().filter(|b| !b.1) {
            match runs.last_mut() {
                Some((low, width)) if *low + *width == i as u32 => *width += 1,
                _ => runs.push((i as u32, 1)),
            }
        }
        runs
    }
}

/// For each item of a scope: the position after which an instance can stand, when all its inputs are described.
pub(super) fn instance_positions(ir: &ModuleIr, items: &[Item]) -> Vec<(usize, u32)> {
    let mut positions: Vec<(usize, u32)> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item {
            Item::Instance(id) => positions.push((at, *id)),
            Item::Drive { target, .. } => {
                if let crate::lang::ir::NetKind::Instance { instance, .. } = ir.net(target.net).kind {
                    positions.iter_mut().filter(|p| p.1 == instance).for_each(|p| p.0 = at);
                }
            }
            _ => {}
        }
    }
    positions
}
