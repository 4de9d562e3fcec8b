//! Generate loops and their variables.

use crate::lang::ir::{ModuleIr, ScopeKind};

/// Turns of one generate loop that Verilator unrolls without being told to.
pub(super) const UNROLLED: u32 = 1024;

/// A block of a generate loop begins or ends.
pub(in crate::emit) enum LoopLabel {
    /// With its name in the hierarchy.
    Begin(String),
    /// The last one that began.
    End,
}

/// The blocks that begin and end between a turn of a loop and the turn before it; the blocks of the last turn stay
/// open.
pub(in crate::emit) fn labels(name: &str, count: u32, turn: u32) -> Vec<LoopLabel> {
    use LoopLabel::{Begin, End};
    if count <= UNROLLED {
        let ends = if turn > 0 { vec![End] } else { vec![] };
        return ends.into_iter().chain([Begin(format!("{name}[{turn}]"))]).collect();
    }
    let (high, low) = (turn / UNROLLED, turn % UNROLLED);
    let inner = if count.is_multiple_of(UNROLLED) { vec![] } else { vec![Begin(format!("{name}_in"))] };
    let mut labels = Vec::new();
    if turn > 0 {
        let blocks = 1 + inner.len() + usize::from(low == 0);
        labels.extend((0..blocks).map(|_| End));
    }
    if low == 0 {
        labels.push(Begin(format!("{name}[{high}]")));
    }
    labels.push(Begin(format!("{name}_part[{low}]")));
    labels.extend(inner);
    labels
}

/// Verilog variables of each loop: one, or two for a long loop.
pub(super) fn genvars(ir: &ModuleIr) -> Vec<Vec<(i64, String)>> {
    let count = |id: usize| {
        ir.scopes.iter().find_map(|s| match s.kind {
            ScopeKind::Loop { genvar, count, .. } if genvar as usize == id => Some(count),
            _ => None,
        })
    };
    let variables = |(id, name): (usize, &String)| match count(id) {
        Some(n) if n > UNROLLED => vec![(i64::from(UNROLLED), format!("{name}_hi")), (1, format!("{name}_lo"))],
        _ => vec![(1, name.clone())],
    };
    ir.genvars.iter().enumerate().map(variables).collect()
}
