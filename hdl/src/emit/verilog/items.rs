//! The body of a module: declarations, items in the order of the description, and what the linters want said.

use std::collections::{BTreeMap, BTreeSet};

use super::expr::{Slot, literal};
use super::state::state_constant;
use super::usage::{BitsRead, deep_nodes, instance_positions, net_reads, node_uses};
use super::wrap::{LINE, wrap};
use super::{declaration, net_type};
use crate::lang::Type;
use crate::lang::ir::{
    Direction, Instance, Item, Layout, ModuleIr, NetId, NetKind, NodeId, Op, ScopeId, ScopeKind, Target,
};

/// Turns of one generate loop that Verilator unrolls without being told to.
const UNROLLED: u32 = 1024;

/// One open scope: the lines so far and the names given to expressions in it.
pub(super) struct Frame {
    pub scope: ScopeId,
    pub lines: Vec<String>,
    /// What the last line belongs to.
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
    /// Expressions that get a name because they are deep, and whether `expr` is already inside an expression.
    pub(super) deep: Vec<bool>,
    pub(super) nested: bool,
    pub(super) reads: Vec<u32>,
    pub(super) bits: BitsRead,
    pub(super) frames: Vec<Frame>,
    pub(super) taken: BTreeSet<String>,
    pub(super) temps: BTreeMap<String, Temp>,
    /// Drivers of scalar inputs of instances.
    pub(super) inputs: BTreeMap<NetId, NodeId>,
    /// Outputs of instances whose only reader is an assignment: they drive its target directly.
    pub(super) direct: BTreeMap<NetId, Target>,
    pub(super) direct_targets: BTreeSet<Target>,
    /// Name of what is being assigned; unnamed parts take theirs from it.
    pub(super) context: String,
    pub(super) formal: bool,
    /// The loop variables of formal sections have been declared.
    pub(super) formal_loops: bool,
    /// Inside `always @*`.
    pub(super) in_always: bool,
    /// Verilog variables of each loop variable, with their weights.
    pub(super) genvars: Vec<Vec<(i64, String)>>,
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
            direct: BTreeMap::new(),
            direct_targets: BTreeSet::new(),
            context: String::new(),
            formal: false,
            formal_loops: false,
            in_always: false,
            genvars: vec![],
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

    /// Decides what becomes of the nets at instances.
    fn plan(&mut self) {
        for (scope, s) in self.ir.scopes.iter().enumerate() {
            for item in &s.items {
                let Item::Drive { target, value, .. } = item else { continue };
                let scalar = target.index.is_none();
                let kind = &self.ir.net(target.net).kind;
                if scalar && matches!(kind, NetKind::Instance { direction: Direction::Input, .. }) {
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

    pub(super) fn body(mut self) -> String {
        let mut lines = Vec::new();
        lines.extend(self.scope(0));
        let indent = |l: String| if l.starts_with('`') || l.is_empty() { l } else { format!("  {l}") };
        lines.into_iter().flat_map(|l| wrap(&indent(l))).map(|l| format!("{l}\n")).collect()
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

    fn indented(&mut self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            let keep = line.starts_with('`') || line.is_empty();
            self.line(if keep { line } else { format!("  {line}") });
        }
    }

    fn declarations(&mut self, scope: ScopeId) {
        let ir = self.ir;
        let mut rows: Vec<(&str, String, String)> = Vec::new();
        let section = |printer: &mut Self, section| {
            if let Some(frame) = printer.frames.last_mut() {
                frame.section = section;
            }
        };
        section(self, Section::Declarations);
        if scope == 0 {
            for genvar in self.loop_variables(false) {
                self.line(format!("genvar {genvar};"));
            }
        }
        for fsm in ir.fsms.iter().filter(|f| ir.net(f.state).scope == scope) {
            let width = ir.net(fsm.state).ty.width;
            let ty = if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) };
            for i in 0..fsm.states.len() {
                let value = literal(&i.into(), Type { width, signed: false });
                self.line(format!("localparam {ty}{} = {value};", state_constant(fsm, i)));
            }
        }
        for memory in &ir.memories {
            if memory.scope == scope {
                let name = format!("{} [0:{}]", memory.name, memory.depth - 1);
                rows.push(("reg", format!("[{}:0]", memory.width - 1), name));
            }
        }
        for (id, net) in ir.nets.iter().enumerate().filter(|n| n.1.scope == scope) {
            let direct = self.direct.contains_key(&(id as NetId));
            let by_instance = self.direct_targets.contains(&Target { net: id as NetId, index: None });
            let keyword = match &net.kind {
                NetKind::Input | NetKind::Output => continue,
                NetKind::Wire { inline: true } if !by_instance => continue,
                NetKind::Instance { direction: Direction::Input, .. }
                    if net.array.is_none() || self.inputs.contains_key(&(id as NetId)) =>
                {
                    continue;
                }
                NetKind::Instance { .. } if direct => continue,
                NetKind::Register { .. } => "reg",
                NetKind::MemoryRead if self.read_is_registered(id as NetId) => "reg",
                NetKind::Wire { .. } if ir.fsms.iter().any(|f| f.next == id as NetId) => "reg",
                _ => "wire",
            };
            let elements = match net.array {
                // Verilator orders the logic element by element when told to, and warns of a loop when not.
                Some((count, Layout::Unpacked)) if ir.ripples[id] => {
                    format!(" [0:{}] /* verilator split_var */", count - 1)
                }
                Some((count, Layout::Unpacked)) => format!(" [0:{}]", count - 1),
                _ => String::new(),
            };
            rows.push((keyword, net_type(net), format!("{}{elements}", self.names[id])));
        }
        for line in aligned(&rows) {
            self.line(format!("{line};"));
        }
        if rows.is_empty() && self.frames.last().is_some_and(|f| f.lines.is_empty()) {
            section(self, Section::Start);
        }
    }

    /// Variables of the loops of the design, or of those that only formal sections have.
    pub(super) fn loop_variables(&self, formal: bool) -> BTreeSet<String> {
        let of = |wanted: bool| {
            let mut names = BTreeSet::new();
            for (id, scope) in self.ir.scopes.iter().enumerate() {
                if let ScopeKind::Loop { genvar, .. } = scope.kind
                    && crate::lang::in_formal(self.ir, id as ScopeId) == wanted
                {
                    names.extend(self.genvars[genvar as usize].iter().map(|v| v.1.clone()));
                }
            }
            names
        };
        if formal { of(true).difference(&of(false)).cloned().collect() } else { of(false) }
    }

    fn read_is_registered(&self, net: NetId) -> bool {
        self.ir.memories.iter().flat_map(|m| &m.reads).any(|r| r.net == net && r.enable.is_some())
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

    /// A generate loop; one with more turns than Verilator unrolls becomes two, one inside the other.
    fn generate(&mut self, name: &str, genvar: u32, count: u32, body: Vec<String>) {
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

    fn drive(&mut self, target: Target, value: NodeId) {
        let net = self.ir.net(target.net);
        let scalar_input =
            matches!(net.kind, NetKind::Instance { direction: Direction::Input, .. }) && target.index.is_none();
        if scalar_input || self.direct_targets.contains(&target) {
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

    pub(super) fn instance(&mut self, instance: &Instance) {
        let child = &instance.module;
        let (clock, reset) = match &child.external {
            Some(x) => (x.clock.clone(), x.reset.clone()),
            None => (child.clocked.then(|| "clk_i".into()), child.reset.then(|| "rst_ni".into())),
        };
        let mut connections: Vec<(String, String)> = Vec::new();
        connections.extend(clock.map(|c| (c, "clk_i".into())));
        connections.extend(reset.map(|r| (r, "rst_ni".into())));
        for (port, &net) in instance.nets.iter().enumerate() {
            let name = child.net(child.ports[port]).name.clone();
            let text = if let Some(target) = self.direct.get(&net) {
                self.net_whole(target.net, target.index.as_ref())
            } else if let Some(&value) = self.inputs.get(&net) {
                self.context.clone_from(&self.ir.net(net).name);
                self.connection(value, net)
            } else {
                self.net_whole(net, None)
            };
            connections.push((name, text));
        }
        self.section(Section::Instance);
        let joined: Vec<String> = connections.iter().map(|(p, t)| format!(".{p}({t})")).collect();
        let single = format!("{} {} ({});", child.name, instance.name, joined.join(", "));
        if single.len() <= LINE {
            self.line(single);
            return;
        }
        self.line(format!("{} {} (", child.name, instance.name));
        let last = joined.len().saturating_sub(1);
        for (i, c) in joined.into_iter().enumerate() {
            self.line(format!("  {c}{}", if i == last { "" } else { "," }));
        }
        self.line(");");
    }

    /// What stands at an input port: names, selects and constants in place, anything else under the net's name.
    fn connection(&mut self, value: NodeId, net: NetId) -> String {
        let plain = |op: &Op| matches!(op, Op::Net(..) | Op::Literal(_));
        let op = &self.ir.node(value).op;
        let simple = match op {
            Op::Slice(a, _) | Op::Cast(a) | Op::Extend(a) | Op::Not(a) => plain(&self.ir.node(*a).op),
            op => plain(op),
        };
        if simple || self.hoisted(value).is_some() {
            return self.expr(value, Slot::Inner, 0);
        }
        let text = self.expr_unshared(value);
        let name = self.names[net as usize].clone();
        self.section(Section::Logic);
        self.line(format!("{} = {text};", declaration("wire", self.ir.net(net), &name)));
        name
    }
}

/// Verilog variables of each loop: one, or two for a long loop.
fn genvars(ir: &ModuleIr) -> Vec<Vec<(i64, String)>> {
    let count = |id: usize| {
        ir.scopes.iter().find_map(|s| match s.kind {
            ScopeKind::Loop { genvar, count, .. } if genvar as usize == id => Some(count),
            _ => None,
        })
    };
    let variables = |(id, name): (usize, &String)| match count(id) {
        Some(n) if n > UNROLLED => vec![(i64::from(UNROLLED), format!("{name}_hi")), (1, format!("{name}_lo"))],
        _ => vec![(1, name.clone())],
    };
    ir.genvars.iter().enumerate().map(variables).collect()
}

/// Declarations with keyword, sign, range and name in columns.
pub(super) fn aligned(rows: &[(&str, String, String)]) -> Vec<String> {
    let range = |ty: &String| ty.rsplit(' ').next().unwrap_or("").len();
    let keyword = rows.iter().map(|r| r.0.len()).max().unwrap_or(0);
    let width = rows.iter().map(|r| range(&r.1)).max().unwrap_or(0);
    let any_signed = rows.iter().any(|r| r.1.starts_with("signed"));
    let line = |(word, ty, name): &(&str, String, String)| {
        let sign = match (any_signed, ty.starts_with("signed")) {
            (true, true) => "signed ",
            (true, false) => "       ",
            _ => "",
        };
        let range = ty.rsplit(' ').next().unwrap_or("");
        let space = if width == 0 { "" } else { " " };
        format!("{word:<keyword$} {sign}{range:>width$}{space}{name}")
    };
    rows.iter().map(line).collect()
}
