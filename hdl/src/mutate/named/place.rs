//! Where an expression of a fault stands, and how it reads what its names stand for.
//!
//! An expression may read what no expression of the construction language can: a net of another turn of a loop, or an
//! expression that has a name in the Verilog only. Added nets bring such values to where they are read.

use num_bigint::BigInt;

use super::edited::{Edited, MOST_LOOPS, flat};
use super::names::{Spot, Thing};
use super::syntax::{Path, Select, constant};
use super::value::{Meaning, Place, alone};
use crate::lang::index::Index;
use crate::lang::ir::{Layout, NetId, NodeId, Op, ScopeId};
use crate::lang::{Type, uint};
use crate::mutate::rebuild::within;

/// One turn of the loops around a scope.
pub(super) struct Here<'a, 'b> {
    pub edited: &'a mut Edited<'b>,
    pub scope: ScopeId,
    pub turns: Vec<u32>,
    /// The right value of the net of the fault.
    pub right: Option<NodeId>,
}

impl Place for Here<'_, '_> {
    fn push(&mut self, op: Op, ty: Type) -> NodeId {
        self.edited.push(op, ty, self.scope)
    }

    fn ty(&self, node: NodeId) -> Type {
        self.edited.new.node(node).ty
    }

    fn literal(&self, node: NodeId) -> Option<BigInt> {
        match &self.edited.new.node(node).op {
            Op::Literal(value) => Some(value.clone()),
            _ => None,
        }
    }

    fn meaning(&mut self, path: &Path) -> Result<(Meaning, usize), String> {
        if let (true, "right", Some(right)) = (path.scopes.is_empty(), path.name.as_str(), self.right) {
            return Ok((Meaning::Value(right), 0));
        }
        let spot = self.edited.names.find(self.edited.old, path)?;
        let net = match spot.thing {
            Thing::State(fsm, state) => {
                let width = self.edited.old.net(self.edited.old.fsms[fsm as usize].state).ty.width;
                return Ok((Meaning::Constant(state.into(), uint(width)), 0));
            }
            Thing::Node(_) => return Ok((Meaning::Value(self.brought(&spot)?), 0)),
            Thing::Net(net) => net,
            Thing::Memory(_) | Thing::Instance(_) => return Err(format!("`{}` is no net", path.name)),
        };
        let Some((count, Layout::Unpacked)) = self.edited.old.net(net).array else {
            return Ok((Meaning::Value(self.value(&spot, net)?), 0));
        };
        let Some(Select::At(index)) = path.selects.first() else {
            return Err(format!("`{}` is an array: an expression reads its elements", path.name));
        };
        let value = match constant(index) {
            Some(element) if element < count => self.value(&Spot { element: Some(element), ..spot }, net)?,
            Some(_) => return Err(format!("`{}` has {count} elements", path.name)),
            None => {
                if !self.sees(&spot) {
                    return Err(format!("an element of `{}` in another turn is chosen at run time", path.name));
                }
                let mut nodes = [alone(self, index)?];
                let run = [(nodes[0], 1)];
                within(self.edited.old, &mut self.edited.new, (net, &Index::from(0), &run), &mut nodes, self.scope);
                let ty = self.edited.old.net(net).ty;
                self.push(Op::Element { net, fixed: Index::from(0), run: vec![(nodes[0], 1)] }, ty)
            }
        };
        Ok((Meaning::Value(value), 1))
    }
}

impl Here<'_, '_> {
    /// Whether a net there can be read here.
    fn sees(&self, spot: &Spot) -> bool {
        self.edited.old.encloses(spot.scope, self.scope) && self.turns.starts_with(&spot.turns)
    }

    fn value(&mut self, spot: &Spot, net: NetId) -> Result<NodeId, String> {
        match self.sees(spot) {
            true => Ok(self.edited.whole(net, spot.element, self.scope)),
            false => self.brought(spot),
        }
    }

    /// The value of an added net that has the value of a spot.
    fn brought(&mut self, spot: &Spot) -> Result<NodeId, String> {
        let sees = self.sees(spot);
        let loops = self.edited.old.loops(spot.scope);
        if !sees && loops.len() > MOST_LOOPS {
            return Err("an expression reads something in too many loops".into());
        }
        let ty = self.edited.type_of(spot);
        let tap = match self.edited.taps.get(&(spot.thing, spot.element, sees)) {
            Some(&tap) => tap,
            None => {
                let turns = loops.iter().map(|l| l.1).product();
                let (array, scope) = if sees { (None, spot.scope) } else { (Some((turns, Layout::Unpacked)), 0) };
                let tap = self.edited.wire("brought", ty, array, scope);
                self.edited.taps.insert((spot.thing, spot.element, sees), tap);
                tap
            }
        };
        let turn = loops.iter().zip(&spot.turns).fold(0, |number, (l, &turn)| number * l.1 + turn);
        let index = (!sees).then(|| Index::from(turn));
        Ok(self.edited.push(Op::Net(tap, index), ty, if sees { spot.scope } else { 0 }))
    }
}

impl Edited<'_> {
    /// A net as a whole, or an element of an array.
    pub(super) fn whole(&mut self, net: NetId, element: Option<u32>, scope: ScopeId) -> NodeId {
        let ty = if element.is_some() { self.new.net(net).ty } else { self.whole_type(net) };
        self.push(Op::Net(net, element.map(Index::from)), ty, scope)
    }

    pub(super) fn whole_type(&self, net: NetId) -> Type {
        let net = self.new.net(net);
        net.array.map_or(net.ty, |(count, _)| uint(net.ty.width * count))
    }

    fn type_of(&self, spot: &Spot) -> Type {
        match spot.thing {
            Thing::Node(node) => self.old.node(node).ty,
            Thing::Net(net) if spot.element.is_some() => self.old.net(net).ty,
            Thing::Net(net) => self.whole_type(net),
            Thing::State(..) | Thing::Memory(_) | Thing::Instance(_) => crate::lang::bit(),
        }
    }

    /// Drives the nets that bring values to where expressions read them.
    pub(super) fn bring(&mut self) {
        for ((thing, element, sees), tap) in self.taps.clone() {
            let (scope, value) = match thing {
                Thing::Node(node) => (self.names.homes[&node], self.map[node as usize]),
                Thing::Net(net) => {
                    let scope = self.old.net(net).scope;
                    (scope, self.whole(net, element, scope))
                }
                Thing::State(..) | Thing::Memory(_) | Thing::Instance(_) => continue,
            };
            let index = (!sees).then(|| flat(&self.old.loops(scope)));
            self.drive(scope, tap, index, value);
        }
    }
}
