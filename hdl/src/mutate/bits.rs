//! Where the bits of a value come from: wiring is looked through.

use crate::lang::in_formal;
use crate::lang::ir::{ModuleIr, NetId, NetKind, NodeId, Op, ScopeId};
use crate::lang::item_nodes;

/// Uses of nodes and nets in the hardware; what formal sections use does not count.
pub(super) struct Uses {
    pub nodes: Vec<u32>,
    /// Reads of each net by nodes that are used.
    pub nets: Vec<u32>,
}

impl Uses {
    pub fn new(ir: &ModuleIr) -> Self {
        let mut uses = Self { nodes: vec![0; ir.nodes.len()], nets: vec![0; ir.nets.len()] };
        let mut todo: Vec<NodeId> = Vec::new();
        for (_, s) in ir.scopes.iter().enumerate().filter(|(scope, _)| !in_formal(ir, *scope as ScopeId)) {
            s.items.iter().for_each(|item| item_nodes(ir, item, |node| todo.push(node)));
        }
        while let Some(id) = todo.pop() {
            let first = uses.nodes[id as usize] == 0;
            uses.nodes[id as usize] += 1;
            let op = &ir.node(id).op;
            if let Op::Net(net, _) | Op::Element { net, .. } = op {
                uses.nets[*net as usize] += 1;
            }
            if first {
                op.operands(|child| todo.push(child));
            }
        }
        uses
    }
}

/// The origin of a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It never changes, or is a copy of a sign.
    Fixed,
    /// A bit that stands for itself elsewhere: of an operation or net that nothing else uses.
    Same,
    /// Anything else.
    Other,
}

/// Whether an operation is mere wiring.
pub(super) fn is_wiring(op: &Op) -> bool {
    matches!(
        op,
        Op::Poison
            | Op::Net(..)
            | Op::Literal(_)
            | Op::LoopIndex(_)
            | Op::Cat(_)
            | Op::Repeat(..)
            | Op::Slice(..)
            | Op::SliceAt(..)
            | Op::Extend(_)
            | Op::Cast(_)
    )
}

/// Whether the reads of a net are a place.
pub(super) fn is_place(ir: &ModuleIr, net: NetId, tables: &[bool]) -> bool {
    let n = ir.net(net);
    let kind = match n.kind {
        NetKind::Register { .. } | NetKind::MemoryRead => true,
        NetKind::Instance { .. } => ir.instances.iter().any(|i| {
            i.nets
                .iter()
                .position(|&at| at == net)
                .is_some_and(|p| i.module.direction(p) == crate::lang::ir::Direction::Output)
        }),
        NetKind::Wire { .. } => tables[net as usize],
        _ => false,
    };
    kind && n.array.is_none() && !in_formal(ir, n.scope)
}

/// Where a bit of a value comes from; `place` says which nets have reads that are places.
pub(super) fn origin(ir: &ModuleIr, uses: &Uses, place: &[bool], mut id: NodeId, mut bit: u32) -> Origin {
    let mut alone = true;
    loop {
        let node = ir.node(id);
        alone &= uses.nodes[id as usize] <= 1;
        (id, bit) = match &node.op {
            Op::Literal(_) | Op::LoopIndex(_) | Op::Poison => return Origin::Fixed,
            Op::Net(net, _) => {
                let same = alone && place[*net as usize] && uses.nets[*net as usize] == 1;
                return if same { Origin::Same } else { Origin::Other };
            }
            Op::Cat(parts) => {
                let mut below = 0;
                let found = parts.iter().rev().find_map(|&part| {
                    let low = below;
                    below += ir.node(part).ty.width;
                    (bit < below).then_some((part, bit - low))
                });
                match found {
                    Some(found) => found,
                    None => return Origin::Other,
                }
            }
            Op::Repeat(a, _) => (*a, bit % ir.node(*a).ty.width),
            Op::Slice(a, low) => (*a, bit + low),
            Op::Extend(a) if bit >= ir.node(*a).ty.width => return Origin::Fixed,
            Op::Extend(a) | Op::Cast(a) => (*a, bit),
            Op::SliceAt(..) => return Origin::Other,
            // A table is printed where its wire is driven: the reads of that wire are the place.
            Op::Lookup(..) => return Origin::Same,
            _ => return if alone { Origin::Same } else { Origin::Other },
        };
        // A bit of a copy is not the bit itself.
        alone &= !matches!(node.op, Op::Repeat(..));
    }
}
