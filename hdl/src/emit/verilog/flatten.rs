//! Loops of one turn are no loops: what they hold stands where they stood, with 0 for the loop variable.

use crate::lang::index::Index;
use crate::lang::ir::{Item, ModuleIr, NodeId, Op, ScopeId, ScopeKind};
use crate::lang::{Folded, fold};

/// The module without its loops of one turn; `None` when it has none.
pub(super) fn flatten(ir: &ModuleIr) -> Option<ModuleIr> {
    let one_turn = |scope: ScopeId| matches!(ir.scopes[scope as usize].kind, ScopeKind::Loop { count: 1, .. });
    let scopes = 0..ir.scopes.len() as ScopeId;
    if !scopes.clone().any(one_turn) {
        return None;
    }
    // Parents come before the scopes inside them.
    let mut home: Vec<ScopeId> = Vec::new();
    for id in scopes.clone() {
        let parent = ir.scopes[id as usize].parent;
        home.push(parent.filter(|_| one_turn(id)).map_or(id, |parent| home[parent as usize]));
    }
    let mut flat = ir.clone();
    rename_variables(ir, &mut flat);
    let constants = Constants::of(ir);
    let to = constants.fold_nodes(ir, &mut flat);
    for id in scopes.clone() {
        let scope = &mut flat.scopes[id as usize];
        scope.parent = ir.scopes[id as usize].parent.map(|parent| home[parent as usize]);
        scope.items = if home[id as usize] == id { items_of(ir, id) } else { vec![] };
        scope.items.iter_mut().for_each(|item| constants.item(item, &to));
    }
    for memory in &mut flat.memories {
        memory.scope = home[memory.scope as usize];
        let writes = memory.writes.iter_mut().flat_map(|w| [&mut w.enable, &mut w.address, &mut w.data]);
        let reads = memory.reads.iter_mut().flat_map(|r| [Some(&mut r.address), r.enable.as_mut()]);
        writes.chain(reads.flatten()).for_each(|node| *node = to[*node as usize]);
    }
    for node in flat.fsms.iter_mut().flat_map(|f| &mut f.transitions).filter_map(|t| t.1.as_mut()) {
        *node = to[*node as usize];
    }
    flat.nets.iter_mut().for_each(|net| net.scope = home[net.scope as usize]);
    flat.instances.iter_mut().for_each(|instance| instance.scope = home[instance.scope as usize]);
    flat.nodes.iter_mut().for_each(|node| node.scope = home[node.scope as usize]);
    Some(flat)
}

/// The items of a scope, those of its loops of one turn among them.
fn items_of(ir: &ModuleIr, scope: ScopeId) -> Vec<Item> {
    let mut items = Vec::new();
    for item in &ir.scopes[scope as usize].items {
        match item {
            Item::Loop(inner) if matches!(ir.scopes[*inner as usize].kind, ScopeKind::Loop { count: 1, .. }) => {
                items.extend(items_of(ir, *inner));
            }
            item => items.push(item.clone()),
        }
    }
    items
}

/// Loop variables are called by depth: those inside of what is no loop any more move up.
fn rename_variables(ir: &ModuleIr, flat: &mut ModuleIr) {
    for id in 0..ir.scopes.len() as ScopeId {
        let around = ir.loops(id);
        let depth = around.iter().filter(|l| l.1 > 1).count();
        if let ScopeKind::Loop { genvar, count: 2.., .. } = ir.scopes[id as usize].kind {
            flat.genvars[genvar as usize].clone_from(&ir.genvars[around[depth - 1].0 as usize]);
        }
    }
}

/// The loop variables that have one value.
struct Constants(Vec<bool>);

impl Constants {
    fn of(ir: &ModuleIr) -> Self {
        let mut constant = vec![false; ir.genvars.len()];
        for scope in &ir.scopes {
            if let ScopeKind::Loop { genvar, count: 1, .. } = scope.kind {
                constant[genvar as usize] = true;
            }
        }
        Self(constant)
    }

    fn index(&self, index: &mut Index) {
        let kept = index.terms().filter(|t| !self.0[t.0 as usize]);
        *index = kept.fold(Index::from(index.offset), |sum, (id, c)| sum + Index::genvar(id) * c);
    }

    /// Puts 0 in the place of loop variables, folds what becomes constant, and tells what each node has become.
    fn fold_nodes(&self, ir: &ModuleIr, flat: &mut ModuleIr) -> Vec<NodeId> {
        let mut to: Vec<NodeId> = Vec::new();
        let mut changed = vec![false; ir.nodes.len()];
        for (id, node) in ir.nodes.iter().enumerate() {
            let mut op = node.op.clone();
            redirect(&mut op, &to);
            match &mut op {
                Op::Net(_, Some(index)) => self.index(index),
                Op::LoopIndex(index) => {
                    self.index(index);
                    if let Some(value) = index.constant() {
                        op = Op::Literal(value.into());
                    }
                }
                _ => {}
            }
            to.push(id as NodeId);
            changed[id] = op != node.op;
            node.op.operands(|operand| changed[id] |= changed[operand as usize]);
            if !changed[id] {
                continue;
            }
            match fold(flat, &op, node.ty) {
                Some(Folded::Literal(value)) => flat.nodes[id].op = Op::Literal(value),
                Some(Folded::Node(same)) => to[id] = same,
                None => flat.nodes[id].op = op,
            }
            if let Op::Lookup(index, values) = &flat.nodes[id].op
                && let Op::Literal(at) = &flat.node(*index).op
            {
                // A case statement without a choice would wait for a change that never comes.
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                to[id] = values[at.min(values.len() - 1)];
            }
        }
        to
    }

    fn item(&self, item: &mut Item, to: &[NodeId]) {
        let moved = |node: &mut NodeId| *node = to[*node as usize];
        match item {
            Item::Drive { target, value, .. } => {
                target.index.iter_mut().for_each(|index| self.index(index));
                moved(value);
            }
            Item::Register { next, enable, .. } => {
                moved(next);
                enable.iter_mut().for_each(moved);
            }
            Item::Check { condition, .. } => moved(condition),
            Item::Comment(_) | Item::Instance(_) | Item::Memory(_) | Item::Fsm(_) | Item::Loop(_) => {}
        }
    }
}

fn redirect(op: &mut Op, to: &[NodeId]) {
    let moved = |node: &mut NodeId| *node = to[*node as usize];
    match op {
        Op::Poison | Op::Net(..) | Op::Literal(_) | Op::LoopIndex(_) => {}
        Op::Not(a) | Op::Repeat(a, _) | Op::Slice(a, _) | Op::Extend(a) | Op::Cast(a) | Op::Reduce(_, a) => moved(a),
        Op::Exact(_, a, b)
        | Op::Wrapping(_, a, b)
        | Op::Logic(_, a, b)
        | Op::Compare(_, a, b)
        | Op::SelectBit(a, b)
        | Op::ShiftLeft(a, b)
        | Op::ShiftRight(a, b) => [a, b].into_iter().for_each(moved),
        Op::Mux(s, a, b) => [s, a, b].into_iter().for_each(moved),
        Op::Cat(parts) => parts.iter_mut().for_each(moved),
        Op::Lookup(index, values) => values.iter_mut().chain([index]).for_each(moved),
    }
}
