//! Parts of values that C reads as numbers of its own.

use super::c_types::is_wide;
use crate::lang::index::Index;
use crate::lang::ir::{ModuleIr, NodeId, Op};

/// Whether parts of a net, one a turn, are C's own numbers next to each other.
pub(super) fn are_lanes(ir: &ModuleIr, net: NodeId, low: &Index, width: u32) -> bool {
    let is_net = matches!(ir.node(net).op, Op::Net(net, index) if index.is_some() || ir.net(net).array.is_none());
    is_net
        && is_wide(ir.node(net).ty)
        && matches!(width, 8 | 16 | 32 | 64)
        && are_multiples(low, width)
        && cfg!(target_endian = "little")
}

/// Whether an index is a multiple of a number in every turn.
pub(super) fn are_multiples(index: &Index, of: u32) -> bool {
    let is_whole = |bit: i64| bit % i64::from(of) == 0;
    is_whole(index.offset) && index.terms().all(|(_, step)| is_whole(step))
}
