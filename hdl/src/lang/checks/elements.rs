//! Numbering of every element of every net, loop iterations unrolled, so that checks work on plain integers.

use super::super::index::Index;
use super::super::ir::{ModuleIr, NetId, NodeId, Op, ScopeId};
use super::super::types::MAX_ELEMENTS;

/// First element number of each net, and how many there are.
pub(crate) struct Elements {
    first: Vec<usize>,
    pub total: usize,
}

impl Elements {
    /// `None` when there are more than [`MAX_ELEMENTS`], or a loop makes more copies than that.
    pub fn new(ir: &ModuleIr) -> Option<Self> {
        let copies = |scope: ScopeId| ir.loops(scope).iter().fold(1_u64, |n, l| n.saturating_mul(l.1.into()));
        let limit = u64::from(MAX_ELEMENTS);
        if (0..ir.scopes.len()).any(|scope| copies(scope as ScopeId) > limit) {
            return None;
        }
        let mut total = 0_u64;
        let mut first = Vec::with_capacity(ir.nets.len());
        for net in &ir.nets {
            first.push(total as usize);
            total += copies(net.scope) * net.array.map_or(1, |a| a.0.into());
            if total > limit {
                return None;
            }
        }
        Some(Self { first, total: total as usize })
    }

    /// Numbers of all elements of `net`.
    pub fn of(&self, net: NetId) -> std::ops::Range<usize> {
        let end = self.first.get(net as usize + 1).copied().unwrap_or(self.total);
        self.first[net as usize]..end
    }

    /// Calls `visit` for each iteration of the loops around `scope` with the values of the loop variables.
    pub fn iterate(ir: &ModuleIr, scope: ScopeId, mut visit: impl FnMut(&Iteration)) {
        let loops = ir.loops(scope);
        let mut at = Iteration { values: loops.iter().map(|l| (l.0, 0)).collect() };
        loop {
            visit(&at);
            // Odometer: the innermost loop runs fastest.
            let Some(k) = (0..loops.len()).rev().find(|&k| at.values[k].1 + 1 < i64::from(loops[k].1)) else { return };
            at.values[k].1 += 1;
            at.values[k + 1..].iter_mut().for_each(|v| v.1 = 0);
        }
    }

    /// The element that `net[index]` means in an iteration; a whole array without index gives its first element.
    pub fn element(&self, ir: &ModuleIr, net: NetId, index: Option<&Index>, at: &Iteration) -> usize {
        let n = ir.net(net);
        let mut copy = 0;
        for (genvar, count) in ir.loops(n.scope) {
            copy = copy * count as usize + at.value(genvar) as usize;
        }
        let own = index.map_or(0, |i| i.eval(|g| at.value(g)) as usize);
        self.first[net as usize] + copy * n.array.map_or(1, |a| a.0 as usize) + own
    }
}

/// Values of the loop variables: (genvar, value), outermost first.
pub(crate) struct Iteration {
    values: Vec<(u32, i64)>,
}

impl Iteration {
    pub fn value(&self, genvar: u32) -> i64 {
        self.values.iter().find(|v| v.0 == genvar).map_or(0, |v| v.1)
    }
}

/// All nets read by an expression.
pub(crate) fn reads(ir: &ModuleIr, root: NodeId) -> Vec<(NetId, Option<Index>)> {
    let mut seen = std::collections::BTreeSet::new();
    let mut todo = vec![root];
    let mut found = Vec::new();
    while let Some(id) = todo.pop() {
        if seen.insert(id) {
            let op = &ir.node(id).op;
            if let Op::Net(net, index) = op {
                found.push((*net, *index));
            }
            op.operands(|child| todo.push(child));
        }
    }
    found
}
