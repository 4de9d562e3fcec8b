//! Names for expressions that cannot stand where they are used, and a place for bits that nothing reads.

use std::collections::BTreeSet;

use super::items::{Printer, Section, Temp};
use crate::lang::index::Index;
use crate::lang::ir::{Arithmetic, Direction, Layout, Logic, ModuleIr, NetId, NetKind, NodeId, Op, ScopeId};
use crate::lang::port_stem;

impl Printer<'_> {
    /// Names the deep parts of an expression, innermost first, so that neither a reader nor our own recursion has to
    /// follow thousands of levels.
    pub(super) fn prepare(&mut self, root: NodeId) {
        if self.nested || self.deep.is_empty() {
            return;
        }
        let ir = self.ir;
        let mut seen = BTreeSet::new();
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            if self.hoisted(id).is_none() && seen.insert(id) {
                ir.node(id).op.operands(|child| todo.push(child));
            }
        }
        self.nested = true;
        for id in seen.into_iter().filter(|&id| id != root && self.deep[id as usize]).collect::<Vec<_>>() {
            if self.hoisted(id).is_none() {
                self.hoist(id);
            }
        }
        self.nested = false;
    }

    pub(super) fn hoisted(&self, id: NodeId) -> Option<String> {
        self.frames.iter().rev().find_map(|f| f.hoisted.get(&id).cloned())
    }

    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        let mut n = 1;
        while !self.taken.insert(name.clone()) {
            n += 1;
            name = format!("{wanted}_{n}");
        }
        name
    }

    /// Gives an expression a name, from its purpose and its operation, in front of the item that is being printed.
    pub(super) fn hoist(&mut self, id: NodeId) -> String {
        let node = self.ir.node(id);
        let stem = ["_q", "_d", "_in"].iter().find_map(|s| self.context.strip_suffix(s));
        let stem = stem.unwrap_or_else(|| port_stem(&self.context)).to_string();
        let name = self.fresh(&format!("{stem}_{}", noun(&node.op)));
        let home = if self.formal { self.frames.len() - 1 } else { self.frame_of(node.scope) };
        let inner = self.frames.split_off(home + 1);
        let in_always = std::mem::replace(&mut self.in_always, false);
        let line = if let Op::LoopIndex(index) = &node.op {
            format!("localparam {name} = {};", self.affine(index, 1, 0))
        } else {
            let text = self.expr_unshared(id);
            let sign = if node.ty.signed { "signed " } else { "" };
            let range = if node.ty.width == 1 && !node.ty.signed {
                String::new()
            } else {
                format!("[{}:0] ", node.ty.width - 1)
            };
            format!("wire {sign}{range}{name} = {text};")
        };
        self.in_always = in_always;
        let formal = self.formal;
        self.section(Section::Logic);
        if let Some(frame) = self.frames.last_mut() {
            frame.lines.push(line);
            frame.hoisted.insert(id, name.clone());
            if !formal && !matches!(node.op, Op::LoopIndex(_)) {
                frame.temps.push(name.clone());
                self.named.push((id, frame.scope, name.clone()));
            }
        }
        self.frames.extend(inner);
        let width = node.ty.width;
        let name = if matches!(node.op, Op::LoopIndex(_)) {
            let part = if width == 1 { "[0]".into() } else { format!("[{}:0]", width - 1) };
            let text = format!("{name}{part}");
            if let Some(frame) = self.frames.get_mut(home) {
                frame.hoisted.insert(id, text.clone());
            }
            text
        } else {
            name
        };
        self.temps.insert(name.clone(), Temp { width, read: vec![false; width as usize] });
        name
    }

    pub(super) fn frame_of(&self, scope: ScopeId) -> usize {
        self.frames.iter().rposition(|f| self.ir.encloses(f.scope, scope)).unwrap_or(0)
    }

    pub(super) fn read_temp(&mut self, name: &str, part: Option<(u32, u32)>) {
        if let Some(temp) = self.temps.get_mut(name).filter(|_| !self.formal) {
            let (low, width) = part.unwrap_or((0, temp.width));
            temp.read[low as usize..(low + width) as usize].fill(true);
        }
    }

    pub(super) fn read_net(&mut self, net: NetId, index: Option<&Index>, low: u32, width: u32) {
        if self.formal {
            return;
        }
        let n = self.ir.net(net);
        let packed = matches!(n.array, Some((_, Layout::Packed)));
        match index {
            Some(index) if packed => {
                let scope = self.frames.last().map_or(0, |f| f.scope);
                for element in index.values(&self.ir.loops(scope)) {
                    self.bits.read(net, element as u32 * n.ty.width + low, width);
                }
            }
            _ => self.bits.read(net, low, width),
        }
    }

    /// Bits that nothing reads go to nets called `unused_..`, which linters know to leave alone.
    pub(super) fn sinks(&mut self, scope: ScopeId) {
        if self.formal {
            return;
        }
        let ir = self.ir;
        for (id, net) in ir.nets.iter().enumerate().filter(|n| n.1.scope == scope) {
            let id = id as NetId;
            let readable = match net.kind {
                NetKind::Output | NetKind::Instance { direction: Direction::Input, .. } => false,
                NetKind::Instance { .. } => self.reads[id as usize] > 0 && !self.direct.contains_key(&id),
                _ => true,
            };
            let runs = self.bits.unread(id);
            if !readable || runs.is_empty() {
                continue;
            }
            let mut name = self.names[id as usize].clone();
            if matches!(net.array, Some((_, Layout::Unpacked))) {
                // Linters look at arrays as a whole: one element read will do.
                if self.reads[id as usize] > 0 {
                    continue;
                }
                name += "[0]";
                let range = if net.ty.width == 1 { String::new() } else { format!("[{}:0] ", net.ty.width - 1) };
                let sink = self.fresh(&format!("unused_{}", port_stem(&net.name)));
                self.line(format!("wire {range}{sink} = {name};"));
                continue;
            }
            let total = net.ty.width * net.array.map_or(1, |a| a.0);
            self.sink(&name, total, net.array.is_some(), &runs);
        }
        let temps = self.frames.last().map(|f| f.temps.clone()).unwrap_or_default();
        for name in temps {
            let Some(temp) = self.temps.get(&name) else { continue };
            let width = temp.width;
            let mut runs: Vec<(u32, u32)> = Vec::new();
            for (i, _) in temp.read.iter().enumerate().filter(|b| !b.1) {
                match runs.last_mut() {
                    Some((low, count)) if *low + *count == i as u32 => *count += 1,
                    _ => runs.push((i as u32, 1)),
                }
            }
            if !runs.is_empty() {
                self.sink(&name, width, false, &runs);
            }
        }
    }

    pub(super) fn sink(&mut self, name: &str, total: u32, always_range: bool, runs: &[(u32, u32)]) {
        let part = |&(low, width): &(u32, u32)| match (width, total) {
            (w, t) if w == t && !always_range => name.to_string(),
            (1, _) => format!("{name}[{low}]"),
            (w, _) => format!("{name}[{}:{low}]", low + w - 1),
        };
        let mut parts: Vec<String> = runs.iter().map(part).collect();
        parts.reverse();
        let width: u32 = runs.iter().map(|r| r.1).sum();
        let value = if parts.len() == 1 { parts.remove(0) } else { format!("{{{}}}", parts.join(", ")) };
        let sink = self.fresh(&format!("unused_{}", port_stem(name)));
        self.section(Section::Logic);
        let range = if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) };
        self.line(format!("wire {range}{sink} = {value};"));
    }
}

/// The name under which each net is declared in the Verilog; `None`: it stands in no declaration.
pub(crate) fn declared(ir: &ModuleIr) -> Vec<Option<String>> {
    let printer = Printer::new(ir);
    let is_declared = |id: NetId| match ir.net(id).kind {
        NetKind::Instance { direction: Direction::Input, .. } => !printer.inputs.contains_key(&id),
        NetKind::Instance { direction: Direction::Output, .. } => !printer.direct.contains_key(&id),
        _ => true,
    };
    let ids = 0..ir.nets.len() as NetId;
    ids.map(|id| is_declared(id).then(|| printer.names[id as usize].clone())).collect()
}

/// Names that are declared among the items.
pub(crate) struct Among {
    /// Expressions, with the scopes of their names.
    pub expressions: Vec<(NodeId, ScopeId, String)>,
    /// Inputs of instances, whose names [`declared`] does not have.
    pub inputs: Vec<NetId>,
}

/// What gets a name while the items are printed.
pub(crate) fn declared_among(ir: &ModuleIr) -> Among {
    let mut printer = Printer::new(ir);
    printer.scope(0);
    Among { expressions: printer.named, inputs: printer.connected }
}

/// The name of an operation's value when it needs a name of its own.
fn noun(op: &Op) -> &'static str {
    match op {
        Op::Exact(f, ..) | Op::Wrapping(f, ..) => match f {
            Arithmetic::Add => "sum",
            Arithmetic::Sub => "difference",
            Arithmetic::Mul => "product",
        },
        Op::Logic(Logic::And, ..) => "and",
        Op::Logic(Logic::Or, ..) => "or",
        Op::Logic(Logic::Xor, ..) => "xor",
        Op::Compare(..) => "test",
        Op::Mux(..) => "choice",
        Op::Not(_) => "inverse",
        Op::ShiftLeft(..) | Op::ShiftRight(..) => "shifted",
        Op::Extend(_) => "wide",
        Op::LoopIndex(_) => "index",
        Op::Reduce(..) | Op::SelectBit(..) => "bit",
        _ => "bits",
    }
}
