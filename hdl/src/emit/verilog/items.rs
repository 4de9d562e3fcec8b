//! The body of a module: declarations, items in the order of the description, and what the linters want said.

use std::collections::{BTreeMap, BTreeSet};

use super::loops::{UNROLLED, genvars};
use super::slot::Slot;
use super::types::declaration;
use super::usage::{BitsRead, deep_nodes, instance_positions, net_reads, node_uses};
use super::wrap::wrap;
use crate::lang::ir::{Direction, Item, ModuleIr, NetId, NetKind, NodeId, Op, ScopeId, ScopeKind, Target};

/// One open scope: the lines so far and the names given to expressions in it.
pub(super) struct Frame {
    pub scope: ScopeId,
    pub lines: Vec<String>,
    /// The section of the last line.
    pub section: Section,
    pub hoisted: BTreeMap<NodeId, String>,
    pub(super) temps: Vec<String>,
}

/// Kinds of text that blank lines keep apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Start,
    Declarations,
    Comment,
    Logic,
    Instance,
    Loop,
}

/// A named expression: its width, and which of its bits the text reads.
pub(super) struct Temp {
    pub width: u32,
    pub read: Vec<bool>,
}

/// Prints the body of one module.
pub(super) struct Printer<'a> {
    pub(super) ir: &'a ModuleIr,
    pub(super) uses: Vec<u32>,
    /// Text name of each net.
    pub(super) names: Vec<String>,
    /// Expressions that get a name because they are deep, empty if there is none, and whether `expr` is already inside an expression.
    pub(super) deep: Vec<bool>,
    pub(super) nested: bool,
    pub(super) reads: Vec<u32>,
    pub(super) bits: BitsRead,
    pub(super) frames: Vec<Frame>,
    pub(super) taken: BTreeSet<String>,
    pub(super) temps: BTreeMap<String, Temp>,
    /// Drivers of scalar inputs of instances.
    pub(super) inputs: BTreeMap<NetId, NodeId>,
    /// Values of the wires that are declared with their drivers.
    pub(super) drivers: BTreeMap<NetId, NodeId>,
    /// Outputs of instances whose only reader is an assignment: they drive its target directly.
    pub(super) direct: BTreeMap<NetId, Target>,
    pub(super) direct_targets: BTreeSet<Target>,
    /// Name of the net that is being assigned; names of unnamed parts begin with it.
    pub(super) context: String,
    pub(super) formal: bool,
    /// The loop variables of formal sections have been declared.
    pub(super) formal_loops: bool,
    /// Inside `always @*`.
    pub(super) in_always: bool,
    /// Verilog variables of each loop variable, with their weights.
    pub(super) genvars: Vec<Vec<(i64, String)>>,
    /// All expressions of the design that got a name, with the scope in which it is declared.
    pub(super) named: Vec<(NodeId, ScopeId, String)>,
    /// Inputs of instances that are declared where they are connected.
    pub(super) connected: Vec<NetId>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(ir: &'a ModuleIr) -> Self {
        let uses = node_uses(ir);
        let reads = net_reads(ir, &uses);
        let mut printer = Self {
            ir,
            names: ir.nets.iter().map(|n| n.name.clone()).collect(),
            bits: BitsRead::new(ir),
            frames: vec![],
            taken: ir.names.keys().cloned().collect(),
            temps: BTreeMap::new(),
            inputs: BTreeMap::new(),
            drivers: BTreeMap::new(),
            direct: BTreeMap::new(),
            direct_targets: BTreeSet::new(),
            context: String::new(),
            formal: false,
            formal_loops: false,
            in_always: false,
            genvars: vec![],
            named: vec![],
            connected: vec![],
            deep: deep_nodes(ir),
            nested: false,
            uses,
            reads,
        };
        // `i`, `j`, .. as far as the module has no signals of these names.
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let mut genvars = genvars(ir);
        for (_, name) in genvars.iter_mut().flatten() {
            *name = names.entry(name.clone()).or_insert_with(|| printer.fresh(name)).clone();
        }
        printer.genvars = genvars;
        printer.plan();
        printer
    }

    /// Decides how the nets at instances are printed.
    fn plan(&mut self) {
        for (scope, s) in self.ir.scopes.iter().enumerate() {
            for item in &s.items {
                let Item::Drive { target, value, .. } = item else { continue };
                let scalar = target.index.is_none();
                let kind = &self.ir.net(target.net).kind;
                if *kind == (NetKind::Wire { inline: true }) {
                    self.drivers.insert(target.net, *value);
                }
                let input = matches!(kind, NetKind::Instance { direction: Direction::Input, .. });
                // A value that is read again is a net of its own.
                if input && scalar && self.reads[target.net as usize] == 0 {
                    self.inputs.insert(target.net, *value);
                } else if let Op::Net(source, None) = self.ir.node(*value).op {
                    let net = self.ir.net(source);
                    let output = matches!(net.kind, NetKind::Instance { direction: Direction::Output, .. });
                    let here = net.scope == scope as ScopeId;
                    if output && here && self.reads[source as usize] == 1 {
                        self.direct.insert(source, *target);
                        self.direct_targets.insert(*target);
                    }
                }
            }
        }
        for (id, net) in self.ir.nets.iter().enumerate() {
            let output = matches!(net.kind, NetKind::Instance { direction: Direction::Output, .. });
            if output && self.reads[id] == 0 {
                self.names[id] = self.fresh(&format!("unused_{}", net.name));
            }
        }
    }

    pub(super) fn body(mut self) -> Vec<String> {
        let indent = |l: String| if l.starts_with('`') || l.is_empty() { l } else { format!("  {l}") };
        self.scope(0).into_iter().flat_map(|l| wrap(&indent(l))).collect()
    }

    pub(super) fn scope(&mut self, id: ScopeId) -> Vec<String> {
        let ir = self.ir;
        self.frames.push(Frame {
            scope: id,
            lines: vec![],
            section: Section::Start,
            hoisted: BTreeMap::new(),
            temps: vec![],
        });
        self.declarations(id);
        let items = &ir.scopes[id as usize].items;
        let instances = instance_positions(ir, items);
        let mut at = 0;
        while at < items.len() {
            let count = self.item(items, at);
            for position in at..at + count {
                for (_, instance) in instances.iter().filter(|p| p.0 == position) {
                    self.instance(&ir.instances[*instance as usize]);
                }
            }
            at += count;
        }
        // Checks come last: they may look at everything.
        for item in items {
            if let Item::Loop(inner) = item
                && ir.scopes[*inner as usize].kind == ScopeKind::Formal
            {
                self.formal_section(*inner);
            }
        }
        self.sinks(id);
        self.frames.pop().map(|f| f.lines).unwrap_or_default()
    }

    pub(super) fn line(&mut self, text: impl Into<String>) {
        if let Some(frame) = self.frames.last_mut() {
            frame.lines.push(text.into());
        }
    }

    /// Says what the next lines are; a blank line parts them from something else. Only at the top: what is inside
    /// a loop is short.
    pub(super) fn section(&mut self, section: Section) {
        let top = self.frames.len() == 1 && !self.formal;
        let Some(frame) = self.frames.last_mut() else { return };
        let before = std::mem::replace(&mut frame.section, section);
        let apart = before != section || section == Section::Loop;
        if top && apart && !matches!(before, Section::Start | Section::Comment) {
            frame.lines.push(String::new());
        }
    }

    pub(super) fn indented(&mut self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            let keep = line.starts_with('`') || line.is_empty();
            self.line(if keep { line } else { format!("  {line}") });
        }
    }

    /// Prints the item at position `at` (or a run of registers from there); returns how many were printed.
    fn item(&mut self, items: &[Item], at: usize) -> usize {
        match &items[at] {
            Item::Comment(text) => {
                self.section(Section::Comment);
                text.lines().for_each(|l| self.line(format!("// {l}")));
            }
            Item::Drive { target, value, .. } => self.drive(*target, *value),
            Item::Register { .. } => return self.registers(items, at),
            Item::Instance(_) => {}
            Item::Memory(id) => self.memory(*id),
            Item::Fsm(id) => self.fsm(*id),
            Item::Loop(scope) => {
                if let ScopeKind::Loop { name, genvar, count } = &self.ir.scopes[*scope as usize].kind {
                    let body = self.scope(*scope);
                    self.section(Section::Loop);
                    self.generate(name, *genvar, *count, body);
                }
            }
            Item::Check { kind, name, condition } => self.check(*kind, name, *condition),
        }
        1
    }

    fn drive(&mut self, target: Target, value: NodeId) {
        let net = self.ir.net(target.net);
        let at_port = target.index.is_none() && self.inputs.contains_key(&target.net);
        if at_port || self.direct_targets.contains(&target) {
            return;
        }
        self.context.clone_from(&net.name);
        if let Op::Lookup(index, values) = &self.ir.node(value).op {
            self.lookup(target.net, *index, values);
        } else if net.kind == (NetKind::Wire { inline: true }) {
            // The wire names the expression wherever else it is used.
            let known = self.hoisted(value).is_some() || matches!(self.ir.node(value).op, Op::LoopIndex(_));
            let text = if known { self.expr(value, Slot::Root, 0) } else { self.expr_unshared(value) };
            self.section(Section::Logic);
            self.line(format!("{} = {text};", declaration("wire", net, &self.names[target.net as usize])));
        } else {
            let text = self.expr(value, Slot::Root, 0);
            self.section(Section::Logic);
            let to = self.net_whole(target.net, target.index.as_ref());
            self.line(format!("assign {to} = {text};"));
        }
    }

    /// The expression itself, even if it is used elsewhere too.
    pub(super) fn expr_unshared(&mut self, value: NodeId) -> String {
        let uses = std::mem::replace(&mut self.uses[value as usize], 1);
        let text = self.expr(value, Slot::Root, 0);
        self.uses[value as usize] = uses;
        text
    }
}

impl Printer<'_> {
    /// A generate loop; one with more turns than Verilator unrolls becomes two, one inside the other.
    pub(super) fn generate(&mut self, name: &str, genvar: u32, count: u32, body: Vec<String>) {
        let variables = self.genvars[genvar as usize].clone();
        let head = |v: &str, n: u32, label: &str| format!("for ({v} = 0; {v} < {n}; {v} = {v} + 1) begin : {label}");
        if let [(_, high), (_, low)] = variables.as_slice() {
            let whole = count.is_multiple_of(UNROLLED);
            let (rows, label) = (count.div_ceil(UNROLLED), format!("{name}_part"));
            let label = self.fresh(&label);
            self.line(head(high, rows, name));
            self.line(format!("  {}", head(low, UNROLLED, &label)));
            if !whole {
                let label = self.fresh(&format!("{name}_in"));
                self.line(format!("  if ({UNROLLED}*{high} + {low} < {count}) begin : {label}"));
            }
            self.indented(body.into_iter().map(|l| format!("  {l}")));
            self.indented((if whole { &["end"][..] } else { &["end", "end"][..] }).iter().map(ToString::to_string));
        } else {
            self.line(head(&variables[0].1, count, name));
            self.indented(body);
        }
        self.line("end");
    }
}
