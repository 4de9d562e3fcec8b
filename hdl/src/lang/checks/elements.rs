//! Numbering of every element of every net, loop iterations unrolled, so that checks work on plain integers.

use super::super::index::Index;
use super::super::ir::{ModuleIr, NetId, NodeId, Op, ScopeId};
use super::super::types::MAX_ELEMENTS;

/// First element number of each net, and how many there are.
pub(crate) struct Elements {
    first: Vec<usize>,
    pub total: usize,
    /// Loops around each scope, outermost first: (genvar, count).
    loops: Vec<Vec<(u32, u32)>>,
}

/// An element as a function of the loop variables: `base + steps . values`.
pub(crate) struct Place {
    base: i64,
    steps: Vec<i64>,
}

impl Place {
    /// The element in the iteration with these loop variables, outermost first.
    pub fn at(&self, values: &[i64]) -> usize {
        let offset: i64 = self.steps.iter().zip(values).map(|(s, v)| s * v).sum();
        (self.base + offset) as usize
    }

    /// Moves on to the next element.
    pub fn next(&mut self) {
        self.base += 1;
    }
}

impl Elements {
    /// `None` when there are more than [`MAX_ELEMENTS`], or a loop makes more copies than that.
    pub fn new(ir: &ModuleIr) -> Option<Self> {
        let loops: Vec<_> = (0..ir.scopes.len()).map(|scope| ir.loops(scope as ScopeId)).collect();
        let copies = |scope: usize| loops[scope].iter().fold(1_u64, |n, l| n.saturating_mul(l.1.into()));
        let limit = u64::from(MAX_ELEMENTS);
        if (0..loops.len()).any(|scope| copies(scope) > limit) {
            return None;
        }
        let mut total = 0_u64;
        let mut first = Vec::with_capacity(ir.nets.len());
        for net in &ir.nets {
            first.push(total as usize);
            total += copies(net.scope as usize) * net.array.map_or(1, |a| a.0.into());
            if total > limit {
                return None;
            }
        }
        Some(Self { first, total: total as usize, loops })
    }

    /// Numbers of all elements of `net`.
    pub fn of(&self, net: NetId) -> std::ops::Range<usize> {
        let end = self.first.get(net as usize + 1).copied().unwrap_or(self.total);
        self.first[net as usize]..end
    }

    /// The net that an element belongs to.
    pub fn owner(&self, element: usize) -> Option<NetId> {
        // Every net has at least one element, so the first elements are strictly ascending.
        (element < self.total).then(|| self.first.partition_point(|&f| f <= element) as NetId - 1)
    }

    /// Calls `visit` for each iteration of the loops around `scope` with the loop variables, outermost first.
    pub fn iterate(&self, scope: ScopeId, mut visit: impl FnMut(&[i64])) {
        let loops = &self.loops[scope as usize];
        let mut values = vec![0; loops.len()];
        loop {
            visit(&values);
            // Odometer: the innermost loop runs fastest.
            let Some(k) = (0..loops.len()).rev().find(|&k| values[k] + 1 < i64::from(loops[k].1)) else { return };
            values[k] += 1;
            values[k + 1..].fill(0);
        }
    }

    /// What `net[index]` means inside `scope`; a whole array without index gives its first element.
    pub fn place(&self, ir: &ModuleIr, net: NetId, index: Option<&Index>, scope: ScopeId) -> Place {
        let n = ir.net(net);
        let loops = &self.loops[scope as usize];
        let mut steps = vec![0; loops.len()];
        let position = |genvar: u32| loops.iter().position(|l| l.0 == genvar);
        let mut weight = n.array.map_or(1, |a| i64::from(a.0));
        for &(genvar, count) in self.loops[n.scope as usize].iter().rev() {
            if let Some(k) = position(genvar) {
                steps[k] += weight;
            }
            weight *= i64::from(count);
        }
        let mut base = self.first[net as usize] as i64;
        if let Some(index) = index {
            base += index.offset;
            for (genvar, c) in index.terms() {
                if let Some(k) = position(genvar) {
                    steps[k] += c;
                }
            }
        }
        Place { base, steps }
    }
}

/// Which elements of a net an expression reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Read {
    /// The net, or this element of it.
    At(Option<Index>),
    /// Any element: it is chosen at run time, or the array is read as a whole.
    All,
}

/// All nets read by an expression.
pub(crate) fn reads(ir: &ModuleIr, root: NodeId) -> Vec<(NetId, Read)> {
    let mut found = Vec::new();
    visit_once(ir, root, &mut Default::default(), |net, read| found.push((net, read)));
    found
}

/// Visits the nets read by an expression, except through the nodes in `seen`; adds its nodes to them.
pub(crate) fn visit_once(
    ir: &ModuleIr,
    root: NodeId,
    seen: &mut std::collections::BTreeSet<NodeId>,
    mut visit: impl FnMut(NetId, Read),
) {
    let mut todo = vec![root];
    while let Some(id) = todo.pop() {
        match &ir.node(id).op {
            Op::Literal(_) => {}
            op if seen.insert(id) => {
                match op {
                    Op::Net(net, None) if ir.net(*net).array.is_some() => visit(*net, Read::All),
                    Op::Net(net, index) => visit(*net, Read::At(*index)),
                    Op::Element { net, .. } => visit(*net, Read::All),
                    _ => {}
                }
                op.operands(|child| todo.push(child));
            }
            _ => {}
        }
    }
}
