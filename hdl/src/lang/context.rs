//! The elaboration in progress on this thread: the stack of modules under construction, the finished ones, the errors.
//!
//! It is thread-local so that `Signal` can be a small `Copy` handle with operators; nothing outside `lang` sees it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use num_bigint::BigInt;

use super::checks::visit_once;
use super::error::{Diagnostic, Loc, ParamErrors};
use super::fold::{Folded, fold};
use super::handle::Signal;
use super::index::Index;
use super::ir::{Item, Layout, ModuleIr, Net, NetId, NetKind, Node, NodeId, Op, ScopeId, ScopeKind};
use super::names;
use super::types::{MAX_ELEMENTS, MAX_WIDTH, Type};

/// One module under construction.
pub(crate) struct Builder {
    pub ir: ModuleIr,
    pub scope: ScopeId,
    /// Tells handles of this module from handles of others.
    pub serial: u32,
    /// Name and reset value of each array of registers.
    pub register_arrays: Vec<(String, Option<BigInt>)>,
}

pub struct Elaboration {
    pub(crate) stack: Vec<Builder>,
    /// Finished modules by block name and parameters.
    pub(crate) done: BTreeMap<String, Arc<ModuleIr>>,
    /// Finished modules, children first.
    pub(crate) order: Vec<Arc<ModuleIr>>,
    pub(crate) errors: Vec<Diagnostic>,
    /// Block, the module around it, and why.
    pub(crate) refused: Option<(String, Option<String>, ParamErrors)>,
    /// Where the description is now: for errors found deep inside an operation.
    pub(crate) here: Loc,
}

impl Default for Elaboration {
    #[track_caller]
    fn default() -> Self {
        Self {
            stack: vec![],
            done: BTreeMap::new(),
            order: vec![],
            errors: vec![],
            refused: None,
            here: Location::caller(),
        }
    }
}

/// Number of a module under construction, never used twice: a handle kept from one elaboration is no good in another.
pub(crate) fn new_serial() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

thread_local! {
    static CURRENT: RefCell<Option<Elaboration>> = const { RefCell::new(None) };
}

/// Runs `f` on the elaboration of this thread while a module is under construction; `None` otherwise.
pub(crate) fn with<T>(f: impl FnOnce(&mut Elaboration) -> T) -> Option<T> {
    CURRENT.with_borrow_mut(|current| current.as_mut().filter(|e| !e.stack.is_empty()).map(f))
}

/// Like [`with`], also before the first module is begun.
pub(crate) fn with_elaboration<T>(f: impl FnOnce(&mut Elaboration) -> T) -> Option<T> {
    CURRENT.with_borrow_mut(|current| current.as_mut().map(f))
}

/// Runs `body` with a fresh elaboration and returns it afterwards. An elaboration that was in progress is kept aside.
pub(crate) fn scoped(body: impl FnOnce()) -> Elaboration {
    /// Puts the outer elaboration back, also when `body` unwinds.
    struct Restore(Option<Elaboration>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let restore = Restore(CURRENT.replace(Some(Elaboration::default())));
    body();
    let finished = CURRENT.take().unwrap_or_default();
    drop(restore);
    finished
}

impl Elaboration {
    pub(crate) fn top(&mut self) -> &mut Builder {
        self.stack.last_mut().expect("`with` runs only while a module is under construction")
    }

    pub(crate) fn current(&self) -> &Builder {
        self.stack.last().expect("`with` runs only while a module is under construction")
    }

    pub(crate) fn error(&mut self, location: Loc, message: impl Into<String>) {
        self.error_related(location, message, None);
    }

    pub(crate) fn error_related(&mut self, location: Loc, message: impl Into<String>, related: Option<(String, Loc)>) {
        let module = self.stack.last().map_or_else(String::new, |b| b.ir.name.clone());
        let message = message.into();
        // The same line in a Rust loop fails once for each turn; the reader needs it once.
        if !self.errors.iter().any(|d| d.location == location && d.module == module && d.message == message) {
            self.errors.push(Diagnostic { message, location, module, related });
        }
    }

    /// Adds an expression node (folded where it is constant) in the innermost scope its operands need.
    pub(crate) fn push(&mut self, op: Op, ty: Type) -> Signal {
        if ty.width > MAX_WIDTH {
            self.too_wide("an expression", ty.width);
            return self.push(Op::Poison, ty.with_width(1));
        }
        let ty = ty.with_width(ty.width.max(1));
        let b = self.top();
        let folded = fold(&b.ir, &op, ty);
        if folded.is_some() {
            let mut operands = Vec::new();
            op.operands(|id| operands.push(id));
            self.mentioned(operands);
        }
        let b = self.top();
        let op = match folded {
            Some(Folded::Node(node)) => return Signal { serial: b.serial, node, ty },
            Some(Folded::Literal(value)) => Op::Literal(value),
            None => op,
        };
        let mut scope = 0;
        let mut poison = matches!(op, Op::Poison);
        op.operands(|id| {
            let node = &b.ir.nodes[id as usize];
            poison |= matches!(node.op, Op::Poison);
            if b.ir.encloses(scope, node.scope) {
                scope = node.scope;
            }
        });
        match &op {
            Op::Net(net, index) => {
                scope = b.ir.nets[*net as usize].scope;
                if let Some(index) = index {
                    scope = innermost(&b.ir, scope, index);
                }
            }
            Op::LoopIndex(index) | Op::SliceAt(_, index) => scope = innermost(&b.ir, scope, index),
            Op::Element { net, fixed, .. } => {
                let home = b.ir.nets[*net as usize].scope;
                if b.ir.encloses(scope, home) {
                    scope = home;
                }
                scope = innermost(&b.ir, scope, fixed);
            }
            _ => {}
        }
        // Inside `ifdef FORMAL` everything stays inside, even what is made of outer signals only.
        if let Some(formal) = formal_scope(&b.ir, b.scope).filter(|&f| b.ir.encloses(scope, f)) {
            scope = formal;
        }
        let op = if poison { Op::Poison } else { op };
        b.ir.nodes.push(Node { op, ty, scope });
        Signal { serial: b.serial, node: b.ir.nodes.len() as NodeId - 1, ty }
    }

    /// Expressions that folding may have dropped. The author did use the nets in them: it is no mistake of the
    /// description that these parameters do not need them.
    pub(crate) fn mentioned(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        for net in self.nets_read(nodes) {
            self.top().ir.nets[net as usize].unused_ok = true;
        }
    }

    pub(crate) fn reads_nets(&self, nodes: impl IntoIterator<Item = NodeId>) -> bool {
        !self.nets_read(nodes).is_empty()
    }

    fn nets_read(&self, nodes: impl IntoIterator<Item = NodeId>) -> Vec<NetId> {
        let (mut seen, mut nets) = (BTreeSet::new(), Vec::new());
        for node in nodes {
            visit_once(&self.current().ir, node, &mut seen, |net, _| nets.push(net));
        }
        nets
    }

    pub(crate) fn poison(&mut self, ty: Type) -> Signal {
        self.push(Op::Poison, ty)
    }

    /// Whether `signal` means something in scope `home`, where its reader was declared.
    pub(crate) fn reaches(&mut self, signal: Signal, home: ScopeId, what: &str, loc: Loc) -> bool {
        let b = self.current();
        let reaches = b.ir.encloses(b.ir.node(signal.node).scope, home);
        if !reaches {
            let name = self.describe(signal);
            self.error(loc, format!("{name} belongs to a loop or formal section inside of which the {what} is not"));
        }
        reaches
    }

    /// Moves an item to the end of its scope so far: it is printed once all that it reads is described.
    pub(crate) fn last_mention(&mut self, scope: ScopeId, item: &Item) {
        let same = |other: &Item| match (item, other) {
            (Item::Fsm(a), Item::Fsm(b)) | (Item::Memory(a), Item::Memory(b)) => a == b,
            _ => false,
        };
        let items = &mut self.top().ir.scopes[scope as usize].items;
        if let Some(at) = items.iter().position(same) {
            let moved = items.remove(at);
            items.push(moved);
        }
    }

    fn too_wide(&mut self, what: &str, width: impl std::fmt::Display) {
        self.error(self.here, format!("{what} has {width} bits; the widest signal has {MAX_WIDTH}"));
    }

    /// The value of a net, or of one element of it.
    pub(crate) fn read(&mut self, net: NetId, index: Option<Index>) -> Signal {
        let ty = self.top().ir.net(net).ty;
        self.push(Op::Net(net, index), ty)
    }

    /// Whether what is described now may drive `net`: what synthesis sees must not depend on a formal section.
    pub(crate) fn may_drive(&mut self, net: NetId, loc: Loc) -> bool {
        let b = self.top();
        let outside = |s: ScopeId| formal_scope(&b.ir, s);
        if outside(b.scope).is_some() && outside(b.ir.net(net).scope).is_none() {
            let name = b.ir.net(net).name.clone();
            self.error(loc, format!("`{name}` belongs to the design and cannot be driven from a formal section"));
            return false;
        }
        true
    }

    pub(crate) fn literal(&mut self, value: BigInt, ty: Type) -> Signal {
        self.push(Op::Literal(value), ty)
    }

    /// Whether `signal` may be used here: it belongs to this module and its scope is open.
    pub(crate) fn admit(&mut self, signal: Signal, loc: Loc) -> bool {
        let b = self.top();
        if signal.serial != b.serial {
            let here = b.ir.name.clone();
            self.error(
                loc,
                format!("a signal of another module is used inside {here}; connect it through a port of the instance"),
            );
            return false;
        }
        let scope = b.ir.nodes[signal.node as usize].scope;
        if !b.ir.encloses(scope, b.scope) {
            let name = self.describe(signal);
            self.error(loc, format!("{name} belongs to a loop or formal section that has ended"));
            return false;
        }
        true
    }

    /// `name` (sint 8), or the type alone for an expression.
    pub(crate) fn describe(&mut self, signal: Signal) -> String {
        let b = self.top();
        if signal.serial == b.serial
            && let Op::Net(net, _) = b.ir.nodes[signal.node as usize].op
        {
            return format!("`{}` ({})", b.ir.nets[net as usize].name, signal.ty);
        }
        format!("an expression ({})", signal.ty)
    }

    /// Claims a name in the module under construction; reports keywords, bad identifiers and clashes.
    pub(crate) fn claim(&mut self, name: &str, loc: Loc) -> String {
        if let Err(why) = names::check(name) {
            self.error(loc, why);
        }
        if let Some(&previous) = self.top().ir.names.get(name) {
            self.error_related(
                loc,
                format!("the name `{name}` is taken"),
                Some(("previous definition".into(), previous)),
            );
        }
        self.top().ir.names.insert(name.into(), loc);
        name.into()
    }

    pub(crate) fn net(&mut self, name: &str, ty: Type, kind: NetKind, array: Option<(u32, Layout)>, loc: Loc) -> NetId {
        let name = self.claim(name, loc);
        self.here = loc;
        let mut ty = ty;
        if ty.width == 0 {
            self.error(loc, format!("`{name}` has width 0; the smallest width is 1"));
            ty.width = 1;
        }
        let total = match array {
            Some((count, Layout::Packed)) => u64::from(ty.width) * u64::from(count),
            _ => u64::from(ty.width),
        };
        if total > u64::from(MAX_WIDTH) {
            self.too_wide(&format!("`{name}`"), total);
            ty.width = 1;
        }
        let array = array.map(|(count, layout)| {
            if !(1..=MAX_ELEMENTS).contains(&count) {
                self.error(loc, format!("`{name}` has {count} elements, allowed: 1 to {MAX_ELEMENTS}"));
                return (1, layout);
            }
            (count, layout)
        });
        let b = self.top();
        let scope = b.scope;
        b.ir.nets.push(Net { name, ty, kind, array, scope, loc, unused_ok: false, doc: String::new() });
        b.ir.nets.len() as NetId - 1
    }

    pub(crate) fn item(&mut self, item: Item) {
        let b = self.top();
        let scope = b.scope as usize;
        b.ir.scopes[scope].items.push(item);
    }
}

/// The innermost of `scope` and the loop scopes of `index`'s loop variables.
fn innermost(ir: &ModuleIr, scope: ScopeId, index: &Index) -> ScopeId {
    let mut best = scope;
    for (id, s) in ir.scopes.iter().enumerate() {
        if let ScopeKind::Loop { genvar, .. } = s.kind
            && index.terms().any(|t| t.0 == genvar)
            && ir.encloses(best, id as ScopeId)
        {
            best = id as ScopeId;
        }
    }
    best
}

fn formal_scope(ir: &ModuleIr, scope: ScopeId) -> Option<ScopeId> {
    let mut at = Some(scope);
    while let Some(id) = at {
        if ir.scopes[id as usize].kind == ScopeKind::Formal {
            return Some(id);
        }
        at = ir.scopes[id as usize].parent;
    }
    None
}

/// Runs `f` in the current elaboration. A signal kept from an elaboration that is over yields a dead handle.
pub(crate) fn build(loc: Loc, ty: Type, f: impl FnOnce(&mut Elaboration) -> Signal) -> Signal {
    let described = with(|e| {
        e.here = loc;
        f(e)
    });
    described.unwrap_or(Signal { serial: u32::MAX, node: 0, ty })
}
