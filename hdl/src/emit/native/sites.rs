//! The design as a tree of *sites*: each place where a module stands, with loops kept as loops.
//!
//! A module that stands in a generate loop is one site with one loop more. A statement is evaluated in a *nest*: the
//! loops around its site, outermost first, then the loops around it within its module.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lang::in_formal;
use crate::lang::ir::{InstanceId, ModuleIr, ScopeId, ScopeKind};

pub(super) type SiteId = u32;

/// A place where a module stands.
pub(super) struct Site {
    pub module: Arc<ModuleIr>,
    /// The site around it, and the instance there.
    pub parent: Option<(SiteId, InstanceId)>,
    /// Loops around the site, outermost first.
    pub nest: Vec<Loop>,
    /// Sites of the instances of its module; none for instances that only proofs have.
    pub children: BTreeMap<InstanceId, SiteId>,
}

/// One generate loop of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Loop {
    site: SiteId,
    scope: ScopeId,
    pub count: u32,
}

/// All sites, the top first, parents before children.
pub(super) struct Sites(Vec<Site>);

impl Sites {
    pub fn new(top: &Arc<ModuleIr>) -> Self {
        let root = Site { module: simulated(top), parent: None, nest: vec![], children: BTreeMap::new() };
        let mut sites = Self(vec![root]);
        let mut at = 0;
        while at < sites.0.len() {
            let id = at as SiteId;
            let module = Arc::clone(&sites.0[at].module);
            for (instance, i) in module.instances.iter().enumerate() {
                if in_formal(&module, i.scope) {
                    continue;
                }
                let child = sites.0.len() as SiteId;
                let nest = sites.nest(id, i.scope);
                sites.0[at].children.insert(instance as InstanceId, child);
                sites.0.push(Site {
                    module: simulated(&i.module),
                    parent: Some((id, instance as InstanceId)),
                    nest,
                    children: BTreeMap::new(),
                });
            }
            at += 1;
        }
        sites
    }

    pub fn iter(&self) -> impl Iterator<Item = (SiteId, &Site)> {
        self.0.iter().enumerate().map(|(id, site)| (id as SiteId, site))
    }

    /// Whether some module is simulated as another one.
    pub fn has_twin(&self) -> bool {
        self.iter().any(|(id, _)| self.is_twin(id))
    }

    /// Whether the module of a site stands for another one.
    pub fn is_twin(&self, id: SiteId) -> bool {
        let placed = |(parent, instance): (SiteId, InstanceId)| &self.ir(parent).instances[instance as usize];
        self.at(id).parent.is_some_and(|at| placed(at).module.twin.is_some())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn at(&self, id: SiteId) -> &Site {
        &self.0[id as usize]
    }

    pub fn ir(&self, id: SiteId) -> &ModuleIr {
        &self.0[id as usize].module
    }

    /// Loops around a scope of a site, outermost first.
    pub fn nest(&self, site: SiteId, scope: ScopeId) -> Vec<Loop> {
        let s = self.at(site);
        let mut nest = s.nest.clone();
        nest.extend(scope_loops(&s.module, scope).into_iter().map(|(_, scope, count)| Loop { site, scope, count }));
        nest
    }
}

/// The module that is evaluated for a module: itself, or its twin without Verilog from outside.
fn simulated(module: &Arc<ModuleIr>) -> Arc<ModuleIr> {
    Arc::clone(module.twin.as_ref().unwrap_or(module))
}

/// Loops around a scope within its module, outermost first: loop variable, scope, count.
pub(super) fn scope_loops(ir: &ModuleIr, scope: ScopeId) -> Vec<(u32, ScopeId, u32)> {
    let mut loops = Vec::new();
    let mut at = Some(scope);
    while let Some(id) = at {
        let scope = &ir.scopes[id as usize];
        if let ScopeKind::Loop { genvar, count, .. } = scope.kind {
            loops.push((genvar, id, count));
        }
        at = scope.parent;
    }
    loops.reverse();
    loops
}
