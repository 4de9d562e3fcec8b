//! Short texts of expressions for reports.

use crate::lang::index::Index;
use crate::lang::ir::{Arithmetic, Compare, Logic, ModuleIr, NodeId, Op};

/// Levels that are shown; deeper ones are dots.
const LEVELS: u32 = 3;

/// An expression in short.
pub(super) fn text(ir: &ModuleIr, id: NodeId) -> String {
    level(ir, id, LEVELS)
}

fn level(ir: &ModuleIr, id: NodeId, left: u32) -> String {
    let node = ir.node(id);
    let Some(deeper) = left.checked_sub(1) else { return "..".into() };
    let inner = |id: &NodeId| match ir.node(*id).op {
        Op::Net(..) | Op::Literal(_) | Op::LoopIndex(_) | Op::Element { .. } => level(ir, *id, left.max(1)),
        Op::Extend(a) | Op::Cast(a) => level(ir, a, left),
        Op::Slice(..) | Op::SliceAt(..) | Op::Cat(_) => level(ir, *id, deeper),
        _ if deeper == 0 => "..".into(),
        _ => format!("({})", level(ir, *id, deeper)),
    };
    let infix = |sign: &str, a: &NodeId, b: &NodeId| format!("{} {sign} {}", inner(a), inner(b));
    match &node.op {
        Op::Poison => "?".into(),
        Op::Net(net, index) => format!("{}{}", ir.net(*net).name, index.as_ref().map_or(String::new(), place)),
        Op::Element { net, run, .. } => {
            let at: Vec<String> = run.iter().map(|(node, _)| inner(node)).collect();
            format!("{}[{}]", ir.net(*net).name, at.join(", "))
        }
        Op::Literal(value) => value.to_string(),
        Op::LoopIndex(index) => place(index),
        Op::Not(a) => format!("!{}", inner(a)),
        Op::Exact(f, a, b) | Op::Wrapping(f, a, b) => {
            let sign = match f {
                Arithmetic::Add => "+",
                Arithmetic::Sub => "-",
                Arithmetic::Mul => "*",
            };
            infix(sign, a, b)
        }
        Op::Logic(f, a, b) => infix(logic(*f), a, b),
        Op::Compare(f, a, b) => {
            let sign = match f {
                Compare::Eq => "==",
                Compare::Ne => "!=",
                Compare::Lt => "<",
                Compare::Le => "<=",
            };
            infix(sign, a, b)
        }
        Op::Mux(s, a, b) => format!("{} ? {} : {}", inner(s), inner(a), inner(b)),
        Op::Cat(parts) => {
            let shown: Vec<String> = parts.iter().take(4).map(inner).collect();
            format!("{{{}{}}}", shown.join(", "), if parts.len() > 4 { ", .." } else { "" })
        }
        Op::Repeat(a, count) => format!("{{{count}{{{}}}}}", inner(a)),
        Op::Slice(a, low) => match node.ty.width {
            1 => format!("{}[{low}]", inner(a)),
            width => format!("{}[{}:{low}]", inner(a), low + width - 1),
        },
        Op::SliceAt(a, low) => format!("{}{}", inner(a), place(low)),
        Op::SelectBit(a, index) => format!("{}[{}]", inner(a), inner(index)),
        Op::Extend(a) | Op::Cast(a) => inner(a),
        Op::ShiftLeft(a, n) => infix("<<", a, n),
        Op::ShiftRight(a, n) => infix(">>", a, n),
        Op::Reduce(f, a) => format!("{}{}", logic(*f), inner(a)),
        Op::Lookup(index, _) => format!("table[{}]", inner(index)),
    }
}

fn logic(f: Logic) -> &'static str {
    match f {
        Logic::And => "&",
        Logic::Or => "|",
        Logic::Xor => "^",
    }
}

fn place(index: &Index) -> String {
    match index.constant() {
        Some(at) => format!("[{at}]"),
        None => "[i]".into(),
    }
}
