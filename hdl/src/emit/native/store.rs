//! Where values live: one C array a net of a site, indexed by the loops around it and by element.
//!
//! A net that is nothing but another one (a port and what stands at it, `assign a = b`) has no storage of its own.

use std::collections::BTreeMap;

use super::sites::{SiteId, Sites, scope_loops};
use crate::lang::Type;
use crate::lang::in_formal;
use crate::lang::index::Index;
use crate::lang::ir::{Direction, Item, Net, NetId, NetKind, NodeId, Op, ScopeId, Target};

pub(super) type ArrayId = u32;

/// A C array.
pub(super) struct Storage {
    pub ty: Type,
    pub len: u64,
    /// Copies by loops times elements: what one name of the Verilog stands for.
    pub name: String,
}

/// A place in an array as a function of the loop variables of a nest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Access {
    pub array: ArrayId,
    pub offset: i64,
    /// One weight a loop of the nest, outermost first.
    pub weights: Vec<i64>,
}

/// Where a net lives.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub array: ArrayId,
    offset: i64,
    /// Weights of the loops around the site.
    site: Vec<i64>,
    /// Weights of the loops around the net's scope within its module.
    scope: Vec<i64>,
    /// Distance of neighbouring elements.
    pub stride: i64,
}

impl Place {
    /// The first element, in the first turn of all loops.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Weights of the loops around, outermost first.
    pub fn weights(&self) -> impl Iterator<Item = i64> {
        self.site.iter().chain(&self.scope).copied()
    }
}

/// The places of all nets and memories.
pub(super) struct Store<'a> {
    sites: &'a Sites,
    /// Somebody looks at all nets: each has a value in its place after inputs and after the edge.
    pub observed: bool,
    pub arrays: Vec<Storage>,
    nets: Vec<Vec<Option<Place>>>,
    memories: Vec<Vec<Option<Place>>>,
    /// For each module name: the nets that are another name of a net.
    aliases: BTreeMap<String, BTreeMap<NetId, Alias>>,
}

/// `net` is `source` (one of its elements), driven in a scope.
#[derive(Clone, Copy)]
struct Alias {
    source: NetId,
    index: Option<Index>,
    scope: ScopeId,
    /// The loop variable that runs over the elements of the net.
    over: Option<u32>,
}

impl<'a> Store<'a> {
    pub fn new(sites: &'a Sites, observed: bool) -> Self {
        let mut store = Self {
            sites,
            observed,
            arrays: vec![],
            nets: sites.iter().map(|(_, s)| vec![None; s.module.nets.len()]).collect(),
            memories: sites.iter().map(|(_, s)| vec![None; s.module.memories.len()]).collect(),
            aliases: BTreeMap::new(),
        };
        for (_, site) in sites.iter() {
            if !store.aliases.contains_key(&site.module.name) {
                store.aliases.insert(site.module.name.clone(), aliases(&site.module));
            }
        }
        for (id, site) in sites.iter() {
            for net in 0..site.module.nets.len() as NetId {
                if !in_formal(&site.module, site.module.net(net).scope) {
                    store.resolve(id, net);
                }
            }
            for memory in 0..site.module.memories.len() {
                store.add_memory(id, memory);
            }
        }
        store
    }

    /// Whether a drive is a mere name: nothing has to be computed for it.
    pub fn is_alias(&self, site: SiteId, net: NetId) -> bool {
        self.aliases[&self.sites.ir(site).name].contains_key(&net)
    }

    fn resolve(&mut self, site: SiteId, net: NetId) -> Place {
        if let Some(place) = &self.nets[site as usize][net as usize] {
            return place.clone();
        }
        // A chain of names can be long: it is walked with a stack of its own.
        let mut chain = vec![(site, net)];
        while let Some(&(site, net)) = chain.last() {
            match self.next(site, net) {
                Some((s, n)) if self.nets[s as usize][n as usize].is_none() => chain.push((s, n)),
                _ => {
                    let place = self.place_of(site, net);
                    self.nets[site as usize][net as usize] = Some(place);
                    chain.pop();
                }
            }
        }
        self.nets[site as usize][net as usize].clone().expect("the chain ended with it")
    }

    /// The net that this one is another name of.
    fn next(&self, site: SiteId, net: NetId) -> Option<(SiteId, NetId)> {
        let s = self.sites.at(site);
        match &s.module.net(net).kind {
            NetKind::Input => {
                let (parent, instance) = s.parent?;
                let port = s.module.ports.iter().position(|&p| p == net)?;
                Some((parent, self.sites.ir(parent).instances[instance as usize].nets[port]))
            }
            NetKind::Instance { instance, port, direction: Direction::Output } => {
                let child = *s.children.get(instance)?;
                Some((child, self.sites.ir(child).ports[*port]))
            }
            _ => self.aliases[&s.module.name].get(&net).map(|a| (site, a.source)),
        }
    }

    fn place_of(&mut self, site: SiteId, net: NetId) -> Place {
        let Some((s, n)) = self.next(site, net) else { return self.own(site, net) };
        let Some(source) = self.nets[s as usize][n as usize].clone() else { return self.own(site, net) };
        let here = self.sites.at(site);
        let ir = &here.module;
        match &ir.net(net).kind {
            // The loops around the instance are also around the child.
            NetKind::Input => {
                Place { site: source.site.iter().chain(&source.scope).copied().collect(), scope: vec![], ..source }
            }
            NetKind::Instance { direction: Direction::Output, .. } => {
                let (outer, inner) = source.site.split_at(here.nest.len());
                Place { site: outer.to_vec(), scope: inner.to_vec(), ..source.clone() }
            }
            _ => {
                let alias = self.aliases[&ir.name][&net];
                let loops = scope_loops(ir, alias.scope);
                let access = access(&source, ir, n, alias.index.as_ref(), &loops);
                let (outer, inner) = access.weights.split_at(here.nest.len());
                let stride = match alias.over {
                    // The innermost loop is the one over the elements.
                    Some(_) => inner[inner.len() - 1],
                    None => source.stride,
                };
                let kept = scope_loops(ir, ir.net(net).scope).len();
                Place {
                    array: source.array,
                    offset: access.offset,
                    site: outer.to_vec(),
                    scope: inner[..kept].to_vec(),
                    stride,
                }
            }
        }
    }

    fn own(&mut self, site: SiteId, net: NetId) -> Place {
        let ir = self.sites.ir(site);
        let n = ir.net(net);
        self.add(site, n.scope, n.ty, n.array.map_or(1, |a| a.0), &n.name)
    }

    fn add_memory(&mut self, site: SiteId, memory: usize) {
        let ir = self.sites.ir(site);
        let m = &ir.memories[memory];
        let ty = Type { width: m.width, signed: false };
        let place = self.add(site, m.scope, ty, m.depth, &m.name);
        self.memories[site as usize][memory] = Some(place);
    }

    fn add(&mut self, site: SiteId, scope: ScopeId, ty: Type, count: u32, name: &str) -> Place {
        let s = self.sites.at(site);
        let array = self.arrays.len() as ArrayId;
        let mut weight = i64::from(count);
        let mut weights = Vec::new();
        for l in self.sites.nest(site, scope).iter().rev() {
            weights.push(weight);
            weight *= i64::from(l.count);
        }
        weights.reverse();
        let inner = weights.split_off(s.nest.len());
        self.arrays.push(Storage { ty, len: weight as u64, name: name.to_owned() });
        Place { array, offset: 0, site: weights, scope: inner, stride: 1 }
    }

    /// Where a net lives.
    pub fn net(&self, site: SiteId, net: NetId) -> &Place {
        self.nets[site as usize][net as usize].as_ref().expect("nets outside of formal sections have a place")
    }

    /// The element of a net, or its first one, in a scope of the site.
    pub fn access(&self, site: SiteId, net: NetId, index: Option<&Index>, scope: ScopeId) -> Access {
        let ir = self.sites.ir(site);
        access(self.net(site, net), ir, net, index, &scope_loops(ir, scope))
    }

    /// Where a memory lives.
    pub fn memory_place(&self, site: SiteId, memory: u32) -> &Place {
        self.memories[site as usize][memory as usize].as_ref().expect("memories have a place")
    }

    /// The first word of a memory.
    pub fn memory(&self, site: SiteId, memory: u32) -> Access {
        let place = self.memory_place(site, memory);
        Access { array: place.array, offset: place.offset, weights: place.weights().collect() }
    }

    pub fn array(&self, id: ArrayId) -> &Storage {
        &self.arrays[id as usize]
    }
}

fn access(
    place: &Place,
    ir: &crate::lang::ir::ModuleIr,
    net: NetId,
    index: Option<&Index>,
    loops: &[(u32, ScopeId, u32)],
) -> Access {
    let depth = place.site.len();
    let mut weights = place.site.clone();
    weights.resize(depth + loops.len(), 0);
    let position = |genvar: u32| loops.iter().position(|l| l.0 == genvar);
    for ((genvar, ..), weight) in scope_loops(ir, ir.net(net).scope).iter().zip(&place.scope) {
        if let Some(k) = position(*genvar) {
            weights[depth + k] += weight;
        }
    }
    let mut offset = place.offset;
    if let Some(index) = index {
        offset += place.stride * index.offset;
        for (genvar, c) in index.terms() {
            if let Some(k) = position(genvar) {
                weights[depth + k] += place.stride * c;
            }
        }
    }
    Access { array: place.array, offset, weights }
}

/// Nets that are another net, or an element of one.
fn aliases(ir: &crate::lang::ir::ModuleIr) -> BTreeMap<NetId, Alias> {
    let mut drives: BTreeMap<NetId, Vec<(ScopeId, Target, NodeId)>> = BTreeMap::new();
    for (scope, s) in ir.scopes.iter().enumerate() {
        if in_formal(ir, scope as ScopeId) {
            continue;
        }
        for item in &s.items {
            if let Item::Drive { target, value, .. } = item {
                drives.entry(target.net).or_default().push((scope as ScopeId, *target, *value));
            }
        }
    }
    let mut found = BTreeMap::new();
    for (net, all) in drives {
        let [(scope, target, value)] = all[..] else { continue };
        if let Some(alias) = alias(ir, net, scope, target, value) {
            found.insert(net, alias);
        }
    }
    found
}

fn alias(ir: &crate::lang::ir::ModuleIr, net: NetId, scope: ScopeId, target: Target, value: NodeId) -> Option<Alias> {
    let Op::Net(source, index) = ir.node(value).op else { return None };
    let (to, from) = (ir.net(net), ir.net(source));
    let count = |n: &Net| n.array.map_or(1, |a| a.0);
    let whole_source = index.is_none() && from.array.is_some();
    if to.ty != from.ty || source == net {
        return None;
    }
    let (own, around) = (scope_loops(ir, to.scope), scope_loops(ir, scope));
    let plain = Alias { source, index, scope, over: None };
    match target.index {
        // A whole net: one value, or an array of the same shape.
        None if own != around => None,
        None if to.array.is_some() => (whole_source && count(to) == count(from)).then_some(plain),
        None => (!whole_source || count(from) == 1).then_some(plain),
        // A loop over all elements.
        Some(i) => {
            let (&(genvar, _, turns), outer) = around.split_last()?;
            let all = i.offset == 0 && i.terms().eq([(genvar, 1)]) && turns == count(to);
            (all && outer == own && !whole_source).then_some(Alias { over: Some(genvar), ..plain })
        }
    }
}
