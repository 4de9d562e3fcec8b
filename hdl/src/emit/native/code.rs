//! C of steps: where values are read and stored, and what a change of them wakes.

use std::collections::BTreeMap;

use super::c_types::{c_type, is_wide, stored_type, words};
use super::plan::Plan;
use super::sites::{Loop, SiteId, Sites, scope_loops};
use super::steps::{Body, Guard, Kind, Step, StepId};
use super::store::{Access, ArrayId, Store};
use crate::lang::Type;
use crate::lang::index::Index;
use crate::lang::ir::{ModuleIr, NetId, NodeId, ScopeId};

/// Writes the C of steps, function by function.
pub(super) struct Code<'a> {
    pub sites: &'a Sites,
    pub store: &'a Store<'a>,
    pub steps: &'a [Step],
    pub plan: &'a Plan,
    uses: BTreeMap<String, Vec<u32>>,
    pub(super) lines: Vec<String>,
    /// Values that have a name, by site and node; one map for each open block.
    names: Vec<BTreeMap<(SiteId, NodeId), String>>,
    pub(super) next: u32,
    pub site: SiteId,
    scope: ScopeId,
    /// Inside a loop: what has changed is noted and told after it.
    pub(super) noted: Option<Vec<(String, ArrayId)>>,
    /// The step that is written is in a loop of which C makes vectors.
    vector: bool,
    /// A construct for which the back end has no C.
    pub refused: Option<String>,
}

impl<'a> Code<'a> {
    pub fn new(sites: &'a Sites, store: &'a Store<'a>, steps: &'a [Step], plan: &'a Plan) -> Self {
        let mut uses = BTreeMap::new();
        for (_, site) in sites.iter() {
            let count = || crate::emit::verilog::node_uses(&site.module);
            uses.entry(site.module.name.clone()).or_insert_with(count);
        }
        Self {
            sites,
            store,
            steps,
            plan,
            uses,
            lines: vec![],
            names: vec![BTreeMap::new()],
            next: 0,
            site: 0,
            scope: 0,
            noted: None,
            vector: false,
            refused: None,
        }
    }

    /// The lines so far; names do not outlive a function.
    pub fn take(&mut self) -> Vec<String> {
        self.names = vec![BTreeMap::new()];
        std::mem::take(&mut self.lines)
    }

    pub fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    pub fn fresh(&mut self) -> String {
        self.next += 1;
        format!("t{}", self.next)
    }

    pub fn refuse(&mut self, what: &str) -> String {
        let place = self.sites.ir(self.site).name.clone();
        self.refused.get_or_insert_with(|| format!("{what}, in {place}"));
        "0".into()
    }

    pub fn ir(&self) -> &'a ModuleIr {
        self.sites.ir(self.site)
    }

    pub fn uses(&self, id: NodeId) -> u32 {
        self.uses[&self.ir().name][id as usize]
    }

    pub fn known(&self, id: NodeId) -> Option<String> {
        self.names.iter().rev().find_map(|names| names.get(&(self.site, id))).cloned()
    }

    pub fn note(&mut self, id: NodeId, name: &str) {
        let site = self.site;
        if let Some(names) = self.names.last_mut() {
            names.insert((site, id), name.to_owned());
        }
    }

    /// Gives a value a name.
    pub fn name(&mut self, id: NodeId, text: &str) -> String {
        let name = self.temporary(self.ty(id), text);
        self.note(id, &name);
        name
    }

    pub fn temporary(&mut self, ty: Type, text: &str) -> String {
        let name = self.fresh();
        let declared = self.declared(ty);
        self.line(format!("const {declared} {name} = {text};"));
        name
    }

    /// C type of a variable. In a vector more small ones have room.
    pub(super) fn declared(&self, ty: Type) -> &'static str {
        if self.in_vector() { stored_type(ty) } else { c_type(ty) }
    }

    pub fn in_loop(&self) -> bool {
        self.noted.is_some()
    }

    /// Whether the step that is written is in a loop of which C makes vectors.
    pub fn in_vector(&self) -> bool {
        self.vector
    }

    pub fn access(&self, net: NetId, index: Option<&Index>) -> Access {
        self.store.access(self.site, net, index, self.scope)
    }

    pub fn stride(&self, net: NetId) -> i64 {
        self.store.net(self.site, net).stride
    }

    /// A place in an array: a value, or a pointer to words.
    pub fn at(&self, access: &Access) -> String {
        if self.plan.local[access.array as usize] {
            return format!("l{}", access.array);
        }
        self.indexed(access, index_text(access))
    }

    /// Like `at`, so many elements further.
    pub fn at_step(&self, access: &Access, step: &str) -> String {
        let first = index_text(access);
        let at = if first == "0" { step.to_owned() } else { format!("{first} + {step}") };
        self.indexed(access, at)
    }

    fn indexed(&self, access: &Access, at: String) -> String {
        let (array, ty) = (access.array, self.store.array(access.array).ty);
        match (is_wide(ty), at.as_str()) {
            (false, _) => format!("S->a{array}[{at}]"),
            (true, "0") => format!("S->a{array}"),
            (true, _) => format!("(S->a{array} + ({at}) * {})", words(ty)),
        }
    }

    /// An element that is chosen at run time.
    pub fn dynamic(&mut self, net: NetId, fixed: &Index, run: &[(NodeId, u32)]) -> String {
        let stride = self.stride(net);
        let access = self.access(net, Some(fixed));
        let mut terms = Vec::new();
        for &(node, step) in run {
            let value = self.value(node);
            terms.push(format!("{} * (i64){value}", i64::from(step) * stride));
        }
        if self.plan.local[access.array as usize] {
            return self.at(&access);
        }
        self.at_step(&access, &terms.join(" + "))
    }

    /// An index of the language over the loop variables.
    pub fn affine_text(&self, index: &Index) -> String {
        let loops = scope_loops(self.ir(), self.scope);
        let outer = self.sites.at(self.site).nest.len();
        let mut text = index.offset.to_string();
        for (genvar, c) in index.terms() {
            if let Some(k) = loops.iter().position(|l| l.0 == genvar) {
                text += &format!(" + {c} * v{}", outer + k);
            }
        }
        text
    }

    /// Steps of one nest, in one loop.
    pub fn group(&mut self, group: &[StepId], nest: &[Loop]) {
        if nest.is_empty() {
            group.iter().for_each(|&step| self.step(step));
            return;
        }
        let heads: Vec<String> =
            (0..nest.len()).map(|d| format!("for (i64 v{d} = 0; v{d} < {}; v{d}++)", nest[d].count)).collect();
        self.looped(group, &heads);
    }

    /// Steps inside of loops with these heads.
    pub fn looped(&mut self, group: &[StepId], heads: &[String]) {
        self.noted = Some(vec![]);
        self.names.push(BTreeMap::new());
        let outside = std::mem::take(&mut self.lines);
        group.iter().for_each(|&step| self.step(step));
        let body = std::mem::replace(&mut self.lines, outside);
        self.names.pop();
        let noted = self.noted.take().unwrap_or_default();
        self.line("{");
        for (name, array) in &noted {
            let ty = self.store.array(*array).ty;
            self.line(format!("{} {name} = 0;", if is_wide(ty) { "u64" } else { stored_type(ty) }));
        }
        let guard = group.first().and_then(|&step| self.steps[step as usize].guard.clone());
        let (outer, heads) = heads.split_at(guard.as_ref().map_or(0, Guard::depth));
        if let Some(guard) = &guard {
            self.line(format!("{} {{", outer.join(" ")));
            self.names.push(BTreeMap::new());
            let enable = self.enable(guard.register);
            self.names.pop();
            self.line(format!("if (!({enable})) continue;"));
        }
        // A short loop that is unrolled is not made a vector.
        match heads.split_last() {
            Some((inner, outer)) => {
                self.line(outer.join(" "));
                self.line("#pragma GCC unroll 1");
                self.line(format!("{inner} {{"));
            }
            None => self.line("{"),
        }
        self.lines.extend(body);
        self.line("}");
        if guard.is_some() {
            self.line("}");
        }
        for (name, array) in noted {
            let wakes = self.wakes(array);
            self.line(format!("if ({name}) {{ {wakes} }}"));
        }
        self.line("}");
    }

    /// Sets the flags of everything that reads an array.
    pub fn wakes(&self, array: ArrayId) -> String {
        self.plan.wakes[array as usize].iter().map(|f| format!("F[{f}] = 1;")).collect::<Vec<_>>().join(" ")
    }

    /// The enable of a register, outside of the loops that it does not depend on.
    pub fn enable(&mut self, id: StepId) -> String {
        let step = &self.steps[id as usize];
        (self.site, self.scope) = (step.site, step.scope);
        match step.kind {
            Kind::Register { enable: Some(enable), .. } => self.value(enable),
            _ => "1".into(),
        }
    }

    fn step(&mut self, id: StepId) {
        let step = &self.steps[id as usize];
        (self.site, self.scope) = (step.site, step.scope);
        let access = step.writes.access.clone();
        self.vector = self.in_loop() && step.body == Body::Vector;
        match step.kind {
            Kind::Drive { value } if step.writes.count > 1 => self.drive_all(step, value),
            Kind::Drive { value } => self.put(&access, value),
            Kind::Fsm(fsm) => {
                let text = self.next_state(fsm);
                self.put_text(&access, &text);
            }
            Kind::ReadNow(memory, at) => {
                let address = self.ir().memories[memory as usize].reads[at].address;
                let text = self.word(memory, address);
                self.put_text(&access, &text);
            }
            Kind::Register { next, enable } => self.register(&access, next, enable),
            Kind::ReadAtEdge(memory, at) => {
                let read = &self.ir().memories[memory as usize].reads[at];
                let text = self.word(memory, read.address);
                let old = self.at(&access);
                let enable = read.enable.map(|e| self.value(e));
                let text = enable.map_or(text.clone(), |e| format!("{e} ? {text} : {old}"));
                self.put_text(&self.deferred(&access), &text);
            }
            Kind::Write(memory, at) => self.write(id, memory, at),
        }
        self.vector = false;
    }
}

/// An index over the loop variables.
pub(super) fn index_text(access: &Access) -> String {
    let mut terms: Vec<String> = Vec::new();
    for (d, &w) in access.weights.iter().enumerate().filter(|(_, w)| **w != 0) {
        terms.push(if w == 1 { format!("v{d}") } else { format!("{w} * v{d}") });
    }
    if access.offset != 0 || terms.is_empty() {
        terms.push(access.offset.to_string());
    }
    terms.join(" + ")
}

/// The number of a turn of a nest.
pub(super) fn turn_text(nest: &[Loop]) -> String {
    let mut weight = 1;
    let mut terms = Vec::new();
    for (d, l) in nest.iter().enumerate().rev() {
        terms.push(format!("{weight} * v{d}"));
        weight *= i64::from(l.count);
    }
    if terms.is_empty() { "0".into() } else { terms.join(" + ") }
}
