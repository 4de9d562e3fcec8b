//! What the names of the emitted Verilog stand for in a module.

use std::collections::BTreeMap;

use super::syntax::{self, Path, Select};
use crate::emit::verilog::{declared, declared_among, state_constant};
use crate::lang::in_formal;
use crate::lang::ir::{InstanceId, Layout, ModuleIr, NetId, NodeId, ScopeId, ScopeKind};

/// Something with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Net(NetId),
    /// An expression that has a name in the Verilog.
    Node(NodeId),
    /// The state of a machine, by its number.
    State(u32, usize),
    Memory(u32),
    Instance(InstanceId),
}

/// A thing in one turn of the loops around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub thing: Thing,
    pub scope: ScopeId,
    /// Turns of the loops around the scope, outermost first.
    pub turns: Vec<u32>,
    /// The element of an array of nets.
    pub element: Option<u32>,
}

/// The names of a module.
pub(super) struct Names {
    things: BTreeMap<(ScopeId, String), Thing>,
    loops: BTreeMap<(ScopeId, String), ScopeId>,
    /// Expressions with names, and the scopes of these names.
    pub homes: BTreeMap<NodeId, ScopeId>,
}

/// Turns of a loop that is one loop in the Verilog.
const LONGEST: u32 = 1024;

impl Names {
    pub fn new(ir: &ModuleIr) -> Self {
        let mut names = Self { things: BTreeMap::new(), loops: BTreeMap::new(), homes: BTreeMap::new() };
        let hardware = |scope: ScopeId| !in_formal(ir, scope);
        for (id, name) in declared(ir).into_iter().enumerate() {
            let scope = ir.nets[id].scope;
            if let Some(name) = name.filter(|_| hardware(scope)) {
                names.things.insert((scope, name), Thing::Net(id as NetId));
            }
        }
        let among = declared_among(ir);
        for id in among.inputs {
            let net = ir.net(id);
            names.things.insert((net.scope, net.name.clone()), Thing::Net(id));
        }
        for (node, scope, name) in among.expressions {
            names.things.insert((scope, name), Thing::Node(node));
            names.homes.insert(node, scope);
        }
        for (id, fsm) in ir.fsms.iter().enumerate() {
            for state in 0..fsm.states.len() {
                let key = (ir.net(fsm.state).scope, state_constant(fsm, state));
                names.things.insert(key, Thing::State(id as u32, state));
            }
        }
        for (id, memory) in ir.memories.iter().enumerate().filter(|(_, m)| hardware(m.scope)) {
            names.things.insert((memory.scope, memory.name.clone()), Thing::Memory(id as u32));
        }
        for (id, instance) in ir.instances.iter().enumerate().filter(|(_, i)| hardware(i.scope)) {
            names.things.insert((instance.scope, instance.name.clone()), Thing::Instance(id as InstanceId));
        }
        for (id, scope) in ir.scopes.iter().enumerate() {
            if let (ScopeKind::Loop { name, .. }, Some(parent)) = (&scope.kind, scope.parent) {
                names.loops.insert((parent, name.clone()), id as ScopeId);
            }
        }
        names
    }

    /// What a name stands for, before its selects.
    pub fn find(&self, ir: &ModuleIr, path: &Path) -> Result<Spot, String> {
        let mut scope = 0;
        for (name, turn) in &path.scopes {
            let inner = self.loops.get(&(scope, name.clone())).copied();
            scope = inner.ok_or_else(|| format!("no loop `{name}` in `{}`", ir.name))?;
            match ir.scopes[scope as usize].kind {
                ScopeKind::Loop { count, .. } if count <= LONGEST && *turn < count => {}
                _ => return Err(format!("`{name}[{turn}]` is no turn of a loop that is one in the Verilog")),
            }
        }
        let thing = self.things.get(&(scope, path.name.clone())).copied();
        let thing = thing.ok_or_else(|| format!("no net `{}` in `{}`", path.name, ir.name))?;
        Ok(Spot { thing, scope, turns: path.scopes.iter().map(|s| s.1).collect(), element: None })
    }

    /// What a name of a fault stands for: a whole net, one element of an array, an instance or a memory.
    pub fn whole(&self, ir: &ModuleIr, name: &str) -> Result<Spot, String> {
        let path = syntax::path(name)?;
        let mut spot = self.find(ir, &path)?;
        let array = match spot.thing {
            Thing::Net(net) => ir.net(net).array.filter(|a| a.1 == Layout::Unpacked),
            _ => None,
        };
        spot.element = match (array, &path.selects[..]) {
            (None, []) => None,
            (Some((count, _)), [Select::At(index)]) => {
                let index = syntax::constant(index).filter(|i| *i < count);
                Some(index.ok_or_else(|| format!("`{name}` is no element: there are {count}"))?)
            }
            _ => return Err(format!("`{name}` is not a net of the Verilog")),
        };
        Ok(spot)
    }
}
