//! Where a fault by name is in its module, and what it changes there.

use std::collections::{BTreeMap, BTreeSet};

use super::cone::{Logic, Step, Unit};
use super::fault::{Change, NamedFault};
use super::names::{Names, Spot, Thing};
use super::syntax::{self, Expr};
use crate::lang::ir::{Arithmetic, Compare, Item, Logic as Bitwise, ModuleIr, NetId, NetKind, NodeId, Op, ScopeId};
use crate::lang::{Type, in_formal, item_nodes, visit_once};
use crate::mutate::bits::is_wiring;

/// A fault in a module, by its number.
#[derive(Debug)]
pub(super) struct Resolved {
    pub number: usize,
    pub spot: Spot,
    pub edit: Edit,
}

#[derive(Debug)]
pub(super) enum Edit {
    /// The net has this value for all that read it.
    Everywhere(Expr),
    /// Only for these reads, each in these turns of its unit.
    Reads {
        value: Expr,
        at: BTreeMap<(Unit, NodeId), BTreeSet<u64>>,
        /// The item of a register that holds its own wrong value: its scope and position.
        holds: Option<(ScopeId, u32)>,
    },
    /// The operation of a step is another one.
    Exchanged { at: Step, to: Exchange },
}

/// An operation with the operands of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// Modulo 2^width.
    Arithmetic(Arithmetic),
    Bitwise(Bitwise),
    /// A comparison, of the operands the other way round if `true`.
    Compare(Compare, bool),
    ShiftLeft,
    ShiftRight,
}

pub(super) fn resolve(
    ir: &ModuleIr,
    names: &Names,
    logic: &Logic<'_>,
    number: usize,
    fault: &NamedFault,
) -> Result<Resolved, String> {
    let spot = names.whole(ir, &fault.net)?;
    let is_value = matches!(spot.thing, Thing::Net(_) | Thing::Node(_));
    if !is_value {
        return Err(format!("`{}` is no net", fault.net));
    }
    let edit = match &fault.change {
        Change::Value { expression, into: None } => Edit::Everywhere(syntax::expression(expression)?),
        Change::Value { expression, into: Some(target) } => {
            let value = syntax::expression(expression)?;
            let target_spot = names.whole(ir, target)?;
            let (at, holds) = reads(ir, logic, &spot, &target_spot)?;
            if at.is_empty() && holds.is_none() {
                return Err(format!("what drives `{target}` does not read `{}`", fault.net));
            }
            Edit::Reads { value, at, holds }
        }
        Change::Operator { from, to } => operator(ir, logic, &spot, from, to)?,
    };
    Ok(Resolved { number, spot, edit })
}

type Reads = (BTreeMap<(Unit, NodeId), BTreeSet<u64>>, Option<(ScopeId, u32)>);

/// Where the logic that drives the target reads the net.
fn reads(ir: &ModuleIr, logic: &Logic<'_>, net: &Spot, target: &Spot) -> Result<Reads, String> {
    let mut at: BTreeMap<(Unit, NodeId), BTreeSet<u64>> = BTreeMap::new();
    let cone = logic.cone(target)?;
    let units: BTreeSet<Unit> = cone.keys().map(|step| step.unit).collect();
    for step in cone.into_keys() {
        if logic.reads(step, net) {
            at.entry((step.unit, step.node)).or_default().insert(step.turn);
        }
        // The state machine reads its state without an expression.
        if let Unit::Root(scope, position, _) = step.unit
            && let Item::Fsm(id) = ir.scopes[scope as usize].items[position as usize]
            && net.thing == Thing::Net(ir.fsms[id as usize].state)
        {
            return Err("it is the state of a machine that drives the target".into());
        }
    }
    for net in at.keys().filter_map(|(unit, _)| renamed(ir, *unit)) {
        if others_read(ir, net, &units) {
            return Err(format!("`{}` is a name for a part of it, which other logic reads too", ir.net(net).name));
        }
    }
    let own = match target.thing {
        Thing::Net(own) if target == net && matches!(ir.net(own).kind, NetKind::Register { .. }) => {
            logic.driver(own, target.element, &target.turns)
        }
        _ => None,
    };
    let holds = own.and_then(|(scope, position, _)| {
        let item = &ir.scopes[scope as usize].items[position as usize];
        matches!(item, Item::Register { enable: Some(_), .. }).then_some((scope, position))
    });
    Ok((at, holds))
}

/// The wire that a unit drives without any operation: it is another name for what the unit reads.
fn renamed(ir: &ModuleIr, unit: Unit) -> Option<NetId> {
    let Unit::Root(scope, position, _) = unit else { return None };
    let Item::Drive { target, value, .. } = &ir.scopes[scope as usize].items[position as usize] else { return None };
    let mut todo = vec![*value];
    while let Some(node) = todo.pop() {
        let op = &ir.node(node).op;
        if !is_wiring(op) {
            return None;
        }
        op.operands(|operand| todo.push(operand));
    }
    matches!(ir.net(target.net).kind, NetKind::Wire { .. }).then_some(target.net)
}

/// Whether an expression that is not one of these reads a net.
fn others_read(ir: &ModuleIr, net: NetId, units: &BTreeSet<Unit>) -> bool {
    let hardware = (0..ir.scopes.len() as ScopeId).filter(|&scope| !in_formal(ir, scope));
    hardware.into_iter().any(|scope| {
        ir.scopes[scope as usize].items.iter().enumerate().any(|(position, item)| {
            let (mut number, mut found) = (0, false);
            item_nodes(ir, item, |node| {
                if !units.contains(&Unit::Root(scope, position as u32, number)) {
                    visit_once(ir, node, &mut BTreeSet::new(), |read, _| found |= read == net);
                }
                number += 1;
            });
            found
        })
    })
}

/// The operator nearest to the net, exchanged.
fn operator(ir: &ModuleIr, logic: &Logic<'_>, net: &Spot, from: &str, to: &str) -> Result<Edit, String> {
    let cone = logic.cone(net)?;
    let is = |step: &Step| logic.is_operation(*step) && sign(ir, step.node) == Some(from);
    let nearest = cone.iter().filter(|(step, _)| is(step)).map(|(_, depth)| *depth).min();
    let there: Vec<Step> = cone.iter().filter(|(s, d)| is(s) && Some(**d) == nearest).map(|(s, _)| *s).collect();
    match there[..] {
        [at] => {
            let to = exchange(ir, at.node, to)
                .ok_or_else(|| format!("`{to}` does not take the operands and the result of `{from}`"))?;
            Ok(Edit::Exchanged { at, to })
        }
        [] => Err(format!("no `{from}` there")),
        _ => Err(format!("{} operators `{from}` are equally near", there.len())),
    }
}

/// Whether the printer puts the operands of a comparison the other way round.
fn turned(ir: &ModuleIr, node: NodeId) -> bool {
    matches!(ir.node(node).op, Op::Compare(_, a, _) if matches!(ir.node(a).op, Op::Literal(_)))
}

/// The operator of an operation in the Verilog.
fn sign(ir: &ModuleIr, node: NodeId) -> Option<&'static str> {
    let Type { signed, .. } = ir.node(node).ty;
    Some(match ir.node(node).op {
        Op::Exact(f, ..) | Op::Wrapping(f, ..) => match f {
            Arithmetic::Add => "+",
            Arithmetic::Sub => "-",
            Arithmetic::Mul => "*",
        },
        Op::Logic(f, ..) => match f {
            Bitwise::And => "&",
            Bitwise::Or => "|",
            Bitwise::Xor => "^",
        },
        Op::Compare(f, ..) => match (f, turned(ir, node)) {
            (Compare::Eq, _) => "==",
            (Compare::Ne, _) => "!=",
            (Compare::Lt, false) => "<",
            (Compare::Le, false) => "<=",
            (Compare::Lt, true) => ">",
            (Compare::Le, true) => ">=",
        },
        Op::ShiftLeft(..) => "<<",
        Op::ShiftRight(..) if !signed => ">>",
        _ => return None,
    })
}

fn exchange(ir: &ModuleIr, node: NodeId, to: &str) -> Option<Exchange> {
    let compare = |f, swap: bool| Exchange::Compare(f, swap != turned(ir, node));
    Some(match (&ir.node(node).op, to) {
        (Op::Exact(..) | Op::Wrapping(..), "+") => Exchange::Arithmetic(Arithmetic::Add),
        (Op::Exact(..) | Op::Wrapping(..), "-") => Exchange::Arithmetic(Arithmetic::Sub),
        (Op::Exact(..) | Op::Wrapping(..), "*") => Exchange::Arithmetic(Arithmetic::Mul),
        (Op::Logic(..), "&") => Exchange::Bitwise(Bitwise::And),
        (Op::Logic(..), "|") => Exchange::Bitwise(Bitwise::Or),
        (Op::Logic(..), "^") => Exchange::Bitwise(Bitwise::Xor),
        (Op::Compare(..), "==") => compare(Compare::Eq, false),
        (Op::Compare(..), "!=") => compare(Compare::Ne, false),
        (Op::Compare(..), "<") => compare(Compare::Lt, false),
        (Op::Compare(..), "<=") => compare(Compare::Le, false),
        (Op::Compare(..), ">") => compare(Compare::Lt, true),
        (Op::Compare(..), ">=") => compare(Compare::Le, true),
        (Op::ShiftLeft(..) | Op::ShiftRight(..), "<<") => Exchange::ShiftLeft,
        (Op::ShiftLeft(..), ">>") if !ir.node(node).ty.signed => Exchange::ShiftRight,
        _ => return None,
    })
}
