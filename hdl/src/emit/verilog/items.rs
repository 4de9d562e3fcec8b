//! The body of a module: declarations, items in the order of the description, and what the linters want said.

use std::collections::{BTreeMap, BTreeSet};

use super::wrap::{LINE, wrap};
use super::{declaration, net_type};
use super::expr::{Slot, UNARY, literal};
use super::usage::{BitsRead, deep_nodes, instance_positions, net_reads, node_uses};
use crate::lang::Type;
use crate::lang::index::Index;
use crate::lang::ir::{
    Arithmetic, CheckKind, Direction, FsmIr, Instance, Item, Layout, Logic, ModuleIr, NetId, NetKind, NodeId, Op, ScopeId,
    ScopeKind, Target,
};

/// Turns of one generate loop that Verilator unrolls without being told to.
const UNROLLED: u32 = 1024;

/// One open scope: the lines so far and the names given to expressions in it.
struct Frame {
    scope: ScopeId,
    lines: Vec<String>,
    /// What the last line belongs to.
    section: Section,
    hoisted: BTreeMap<NodeId, String>,
    temps: Vec<String>,
}

/// Kinds of text that blank lines keep apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Start,
    Declarations,
    Comment,
    Logic,
    Instance,
    Loop,
}

/// A named expression: its width, and which of its bits the text reads.
struct Temp {
    width: u32,
    read: Vec<bool>,
}

/// Prints the body of one module.
pub(super) struct Printer<'a> {
    pub(super) ir: &'a ModuleIr,
    pub(super) uses: Vec<u32>,
    /// Text name of each net.
    pub(super) names: Vec<String>,
    /// Expressions that get a name because they are deep, and whether `expr` is already inside an expression.
    deep: Vec<bool>,
    nested: bool,
    reads: Vec<u32>,
    bits: BitsRead,
    frames: Vec<Frame>,
    taken: BTreeSet<String>,
    temps: BTreeMap<String, Temp>,
    /// Drivers of scalar inputs of instances.
    inputs: BTreeMap<NetId, NodeId>,
    /// Outputs of instances whose only reader is an assignment: they drive its target directly.
    direct: BTreeMap<NetId, Target>,
    direct_targets: BTreeSet<Target>,
    /// Name of what is being assigned; unnamed parts take theirs from it.
    context: String,
    formal: bool,
    /// The loop variables of formal sections have been declared.
    formal_loops: bool,
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
                let scalar = self.ir.net(target.net).array.is_none();
                let kind = &self.ir.net(target.net).kind;
                if scalar && matches!(kind, NetKind::Instance { direction: Direction::Input, .. }) {
                    self.inputs.insert(target.net, *value);
                } else if let Op::Net(source, None) = self.ir.node(*value).op {
                    let net = self.ir.net(source);
                    let output = matches!(net.kind, NetKind::Instance { direction: Direction::Output, .. });
                    let here = net.array.is_none() && net.scope == scope as ScopeId;
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

    fn scope(&mut self, id: ScopeId) -> Vec<String> {
        let ir = self.ir;
        self.frames.push(Frame { scope: id, lines: vec![], section: Section::Start, hoisted: BTreeMap::new(), temps: vec![] });
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
            if let Item::Loop(inner) = item {
                if ir.scopes[*inner as usize].kind == ScopeKind::Formal {
                    self.formal_section(*inner);
                }
            }
        }
        self.sinks(id);
        self.frames.pop().map(|f| f.lines).unwrap_or_default()
    }

    fn line(&mut self, text: impl Into<String>) {
        if let Some(frame) = self.frames.last_mut() {
            frame.lines.push(text.into());
        }
    }

    /// Says what the next lines are; a blank line parts them from something else. Only at the top: what is inside
    /// a loop is short.
    fn section(&mut self, section: Section) {
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
                NetKind::Instance { direction: Direction::Input, .. } if net.array.is_none() => continue,
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
    fn loop_variables(&self, formal: bool) -> BTreeSet<String> {
        let of = |wanted: bool| {
            let mut names = BTreeSet::new();
            for (id, scope) in self.ir.scopes.iter().enumerate() {
                if let ScopeKind::Loop { genvar, .. } = scope.kind {
                    if crate::lang::in_formal(self.ir, id as ScopeId) == wanted {
                        names.extend(self.genvars[genvar as usize].iter().map(|v| v.1.clone()));
                    }
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
            matches!(net.kind, NetKind::Instance { direction: Direction::Input, .. }) && net.array.is_none();
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
            let to = self.net_text(target.net, target.index.as_ref(), 0, net.ty.width);
            self.line(format!("assign {to} = {text};"));
        }
    }

    /// The expression itself, even if it is used elsewhere too.
    fn expr_unshared(&mut self, value: NodeId) -> String {
        let uses = std::mem::replace(&mut self.uses[value as usize], 1);
        let text = self.expr(value, Slot::Root, 0);
        self.uses[value as usize] = uses;
        text
    }

    fn lookup(&mut self, net: NetId, index: NodeId, values: &[NodeId]) {
        self.in_always = true;
        let selector = self.expr(index, Slot::Inner, 0);
        let name = self.names[net as usize].clone();
        let ty = self.ir.node(index).ty;
        let mut arms = Vec::new();
        for (i, &v) in values.iter().enumerate() {
            let text = self.expr(v, Slot::Root, 0);
            let label = if i + 1 == values.len() { "default".into() } else { literal(&i.into(), ty) };
            arms.push(format!("    {label}: {name} = {text};"));
        }
        self.in_always = false;
        self.section(Section::Logic);
        self.line(format!("{};", declaration("reg", self.ir.net(net), &name)));
        self.line("always @* begin");
        self.line(format!("  case ({selector})"));
        arms.into_iter().for_each(|a| self.line(a));
        self.line("  endcase");
        self.line("end");
    }

    /// Registers that follow each other with equal enable and equal kind of reset share an `always` block.
    fn registers(&mut self, items: &[Item], at: usize) -> usize {
        let Item::Register { net, enable, .. } = &items[at] else { return 1 };
        let resets = |net: NetId| matches!(&self.ir.net(net).kind, NetKind::Register { init: Some(_) });
        let reset = resets(*net);
        let same = |item: &&Item| matches!(item, Item::Register { net, enable: e, .. } if e == enable && resets(*net) == reset);
        let group: Vec<&Item> = items[at..].iter().take_while(same).collect();
        let count = group.len();
        let mut clear = Vec::new();
        let mut load = Vec::new();
        for item in group {
            let Item::Register { net, next, .. } = item else { continue };
            let n = self.ir.net(*net);
            self.context.clone_from(&n.name);
            // `a <= b <= c` is legal and hard to read.
            let compares = matches!(self.ir.node(*next).op, Op::Compare(..));
            let value = self.expr(*next, Slot::Root, if compares { UNARY } else { 0 });
            load.push(format!("{} <= {value};", n.name));
            if let NetKind::Register { init: Some(init) } = &n.kind {
                let state = self.ir.fsms.iter().find(|f| f.state == *net);
                let init = state.map_or_else(|| literal(init, n.ty), |f| state_constant(f, 0));
                clear.push(format!("{} <= {init};", n.name));
            }
        }
        let enable = enable.map(|e| self.expr(e, Slot::Inner, 0));
        self.section(Section::Logic);
        match (reset, count) {
            (true, _) => {
                self.line("always @(posedge clk_i or negedge rst_ni) begin");
                let otherwise = if count == 1 { "else        " } else { "else" };
                let tail = enable.map_or(otherwise.into(), |e| format!("else if ({e})"));
                if count == 1 {
                    self.line(format!("  if (!rst_ni) {}", clear[0]));
                    self.line(format!("  {tail} {}", load[0]));
                } else {
                    self.line("  if (!rst_ni) begin");
                    clear.into_iter().for_each(|l| self.line(format!("    {l}")));
                    self.line(format!("  end {tail} begin"));
                    load.into_iter().for_each(|l| self.line(format!("    {l}")));
                    self.line("  end");
                }
                self.line("end");
            }
            (false, 1) => {
                let guard = enable.map_or(String::new(), |e| format!("if ({e}) "));
                self.line(format!("always @(posedge clk_i) {guard}{}", load[0]));
            }
            (false, _) => {
                let guard = enable.map_or(String::new(), |e| format!("if ({e}) "));
                self.line(format!("always @(posedge clk_i) {guard}begin"));
                load.into_iter().for_each(|l| self.line(format!("  {l}")));
                self.line("end");
            }
        }
        count
    }

    fn memory(&mut self, id: u32) {
        let ir = self.ir;
        let memory = &ir.memories[id as usize];
        self.context.clone_from(&memory.name);
        for w in &memory.writes {
            let granules = memory.width / memory.granule;
            let address = self.expr(w.address, Slot::Inner, 0);
            let data = self.expr(w.data, if granules == 1 { Slot::Root } else { Slot::Name }, 0);
            let enable = self.expr(w.enable, if granules == 1 { Slot::Inner } else { Slot::Name }, 0);
            self.section(Section::Logic);
            if granules == 1 {
                self.line(format!("always @(posedge clk_i) if ({enable}) {}[{address}] <= {data};", memory.name));
                continue;
            }
            self.line("always @(posedge clk_i) begin");
            for g in 0..granules {
                let bits = format!("[{}:{}]", (g + 1) * memory.granule - 1, g * memory.granule);
                self.line(format!("  if ({enable}[{g}]) {}[{address}]{bits} <= {data}{bits};", memory.name));
            }
            self.line("end");
        }
        for r in &memory.reads {
            let address = self.expr(r.address, Slot::Inner, 0);
            let name = self.names[r.net as usize].clone();
            match r.enable {
                Some(enable) => {
                    let enable = self.expr(enable, Slot::Inner, 0);
                    let guard = if enable == "1'b1" { String::new() } else { format!("if ({enable}) ") };
                    self.section(Section::Logic);
                    self.line(format!("always @(posedge clk_i) {guard}{name} <= {}[{address}];", memory.name));
                }
                None => {
                    self.section(Section::Logic);
                    self.line(format!("assign {name} = {}[{address}];", memory.name));
                }
            }
        }
    }

    fn fsm(&mut self, id: u32) {
        let ir = self.ir;
        let fsm = &ir.fsms[id as usize];
        let (state, next) = (ir.net(fsm.state).name.clone(), ir.net(fsm.next).name.clone());
        self.context.clone_from(&next);
        let constant = |s: usize| state_constant(fsm, s);
        let mut arms = Vec::new();
        self.in_always = true;
        for from in 0..fsm.states.len() {
            let mut branches = Vec::new();
            for (_, condition, to) in fsm.transitions.iter().filter(|t| t.0 == from) {
                let text = condition.map(|c| self.expr(c, Slot::Inner, 0));
                let guard = text.map_or(String::new(), |c| format!("if ({c}) "));
                branches.push(format!("{guard}{next} = {};", constant(*to)));
            }
            if !branches.is_empty() {
                arms.push(format!("    {}: {}", constant(from), branches.join(" else ")));
            }
        }
        self.in_always = false;
        self.section(Section::Logic);
        self.line("always @* begin");
        self.line(format!("  {next} = {state};"));
        self.line(format!("  case ({state})"));
        arms.into_iter().for_each(|a| self.line(a));
        self.line(format!("    default: {next} = {};", constant(0)));
        self.line("  endcase");
        self.line("end");
        self.read_net(fsm.state, None, 0, ir.net(fsm.state).ty.width);
    }

    /// The constant of a state, when `a == b` compares a state register with a literal.
    pub(super) fn state_name(&self, a: NodeId, b: NodeId) -> Option<String> {
        let (Op::Net(net, None), Op::Literal(value)) = (&self.ir.node(a).op, &self.ir.node(b).op) else { return None };
        let fsm = self.ir.fsms.iter().find(|f| f.state == *net || f.next == *net)?;
        let state = usize::try_from(value).ok().filter(|&s| s < fsm.states.len())?;
        Some(state_constant(fsm, state))
    }

    fn instance(&mut self, instance: &Instance) {
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
            let width = self.ir.net(net).ty.width;
            let text = if let Some(target) = self.direct.get(&net) {
                let to = self.ir.net(target.net).ty.width;
                self.net_text(target.net, target.index.as_ref(), 0, to)
            } else if let Some(&value) = self.inputs.get(&net) {
                self.context.clone_from(&self.ir.net(net).name);
                self.connection(value, net)
            } else {
                self.net_text(net, None, 0, width)
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

    fn formal_section(&mut self, scope: ScopeId) {
        self.formal = true;
        let body = self.scope(scope);
        self.formal = false;
        self.section(Section::Loop);
        self.line("`ifdef FORMAL");
        if self.ir.reset && self.frames.len() == 1 {
            self.line("reg formal_started = 1'b0;");
            self.line("always @(posedge clk_i) formal_started <= 1'b1;");
            self.line("always @* if (!formal_started) assume (!rst_ni);");
        }
        if !std::mem::replace(&mut self.formal_loops, true) {
            for genvar in self.loop_variables(true) {
                self.line(format!("genvar {genvar};"));
            }
        }
        for line in body {
            self.line(line);
        }
        self.line("`endif");
    }

    fn check(&mut self, kind: CheckKind, name: &str, condition: NodeId) {
        self.context = name.into();
        self.in_always = !self.ir.clocked;
        let text = self.expr(condition, Slot::Inner, 0);
        self.in_always = false;
        let keyword = match kind {
            CheckKind::Assert => "assert",
            CheckKind::Assume => "assume",
            CheckKind::Cover => "cover",
        };
        let when = match (self.ir.clocked, self.ir.reset) {
            (true, true) => "@(posedge clk_i) if (rst_ni)",
            (true, false) => "@(posedge clk_i)",
            _ => "@*",
        };
        // Yosys does not take a label for each turn of a loop.
        let label = if self.frames.len() > 2 { String::new() } else { format!("{name}: ") };
        self.line(format!("always {when} {label}{keyword} ({text});"));
    }

    // ---- names for expressions ----

    /// Names the deep parts of an expression, innermost first, so that neither a reader nor our own recursion has to
    /// follow thousands of levels.
    pub(super) fn prepare(&mut self, root: NodeId) {
        if self.nested || !self.deep.contains(&true) {
            return;
        }
        let ir = self.ir;
        let mut seen = BTreeSet::new();
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            if self.hoisted(id).is_none() && seen.insert(id) {
                ir.node(id).op.operands(|child| todo.push(child));
            }
        }
        self.nested = true;
        for id in seen.into_iter().filter(|&id| id != root && self.deep[id as usize]).collect::<Vec<_>>() {
            if self.hoisted(id).is_none() {
                self.hoist(id);
            }
        }
        self.nested = false;
    }

    pub(super) fn hoisted(&self, id: NodeId) -> Option<String> {
        self.frames.iter().rev().find_map(|f| f.hoisted.get(&id).cloned())
    }

    fn fresh(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        let mut n = 1;
        while !self.taken.insert(name.clone()) {
            n += 1;
            name = format!("{wanted}_{n}");
        }
        name
    }

    /// Gives an expression a name, from what it is for and what it does, ahead of the item being printed.
    pub(super) fn hoist(&mut self, id: NodeId) -> String {
        let node = self.ir.node(id);
        let stem = ["_ni", "_i", "_o", "_q", "_d"].iter().find_map(|s| self.context.strip_suffix(s));
        let stem = stem.unwrap_or(&self.context).to_string();
        let name = self.fresh(&format!("{stem}_{}", noun(&node.op)));
        let home = if self.formal { self.frames.len() - 1 } else { self.frame_of(node.scope) };
        let inner = self.frames.split_off(home + 1);
        let in_always = std::mem::replace(&mut self.in_always, false);
        let line = if let Op::LoopIndex(index) = &node.op {
            format!("localparam {name} = {};", self.affine(index, 1, 0))
        } else {
            let text = self.expr_unshared(id);
            let sign = if node.ty.signed { "signed " } else { "" };
            let range = if node.ty.width == 1 && !node.ty.signed {
                String::new()
            } else {
                format!("[{}:0] ", node.ty.width - 1)
            };
            format!("wire {sign}{range}{name} = {text};")
        };
        self.in_always = in_always;
        let formal = self.formal;
        self.section(Section::Logic);
        if let Some(frame) = self.frames.last_mut() {
            frame.lines.push(line);
            frame.hoisted.insert(id, name.clone());
            if !formal && !matches!(node.op, Op::LoopIndex(_)) {
                frame.temps.push(name.clone());
            }
        }
        self.frames.extend(inner);
        let width = node.ty.width;
        let name = if matches!(node.op, Op::LoopIndex(_)) {
            let part = if width == 1 { "[0]".into() } else { format!("[{}:0]", width - 1) };
            let text = format!("{name}{part}");
            if let Some(frame) = self.frames.get_mut(home) {
                frame.hoisted.insert(id, text.clone());
            }
            text
        } else {
            name
        };
        self.temps.insert(name.clone(), Temp { width, read: vec![false; width as usize] });
        name
    }

    fn frame_of(&self, scope: ScopeId) -> usize {
        self.frames.iter().rposition(|f| self.ir.encloses(f.scope, scope)).unwrap_or(0)
    }

    // ---- which bits are read ----

    pub(super) fn read_temp(&mut self, name: &str, part: Option<(u32, u32)>) {
        if let Some(temp) = self.temps.get_mut(name).filter(|_| !self.formal) {
            let (low, width) = part.unwrap_or((0, temp.width));
            temp.read[low as usize..(low + width) as usize].fill(true);
        }
    }

    pub(super) fn read_net(&mut self, net: NetId, index: Option<&Index>, low: u32, width: u32) {
        if self.formal {
            return;
        }
        let n = self.ir.net(net);
        let packed = matches!(n.array, Some((_, Layout::Packed)));
        match index {
            Some(index) if packed => {
                let scope = self.frames.last().map_or(0, |f| f.scope);
                for element in index.values(&self.ir.loops(scope)) {
                    self.bits.read(net, element as u32 * n.ty.width + low, width);
                }
            }
            _ => self.bits.read(net, low, width),
        }
    }

    /// Bits that nothing reads go to nets called `unused_..`, which linters know to leave alone.
    fn sinks(&mut self, scope: ScopeId) {
        if self.formal {
            return;
        }
        let ir = self.ir;
        for (id, net) in ir.nets.iter().enumerate().filter(|n| n.1.scope == scope) {
            let id = id as NetId;
            let readable = match net.kind {
                NetKind::Output | NetKind::Instance { direction: Direction::Input, .. } => false,
                NetKind::Instance { .. } => self.reads[id as usize] > 0 && !self.direct.contains_key(&id),
                _ => true,
            };
            let runs = self.bits.unread(id);
            if !readable || runs.is_empty() {
                continue;
            }
            let mut name = self.names[id as usize].clone();
            if matches!(net.array, Some((_, Layout::Unpacked))) {
                // Linters look at arrays as a whole: one element read will do.
                if self.reads[id as usize] > 0 {
                    continue;
                }
                name += "[0]";
                let range = if net.ty.width == 1 { String::new() } else { format!("[{}:0] ", net.ty.width - 1) };
                let sink = self.fresh(&format!("unused_{}", net.name));
                self.line(format!("wire {range}{sink} = {name};"));
                continue;
            }
            let total = net.ty.width * net.array.map_or(1, |a| a.0);
            self.sink(&name, total, net.array.is_some(), &runs);
        }
        let temps = self.frames.last().map(|f| f.temps.clone()).unwrap_or_default();
        for name in temps {
            let Some(temp) = self.temps.get(&name) else { continue };
            let width = temp.width;
            let mut runs: Vec<(u32, u32)> = Vec::new();
            for (i, _) in temp.read.iter().enumerate().filter(|b| !b.1) {
                match runs.last_mut() {
                    Some((low, count)) if *low + *count == i as u32 => *count += 1,
                    _ => runs.push((i as u32, 1)),
                }
            }
            if !runs.is_empty() {
                self.sink(&name, width, false, &runs);
            }
        }
    }

    fn sink(&mut self, name: &str, total: u32, always_range: bool, runs: &[(u32, u32)]) {
        let part = |&(low, width): &(u32, u32)| match (width, total) {
            (w, t) if w == t && !always_range => name.to_string(),
            (1, _) => format!("{name}[{low}]"),
            (w, _) => format!("{name}[{}:{low}]", low + w - 1),
        };
        let mut parts: Vec<String> = runs.iter().map(part).collect();
        parts.reverse();
        let width: u32 = runs.iter().map(|r| r.1).sum();
        let value = if parts.len() == 1 { parts.remove(0) } else { format!("{{{}}}", parts.join(", ")) };
        let sink = self.fresh(&format!("unused_{name}"));
        self.section(Section::Logic);
        let range = if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) };
        self.line(format!("wire {range}{sink} = {value};"));
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

/// What the value of an operation is called when it needs a name of its own.
fn noun(op: &Op) -> &'static str {
    match op {
        Op::Exact(f, ..) | Op::Wrapping(f, ..) => match f {
            Arithmetic::Add => "sum",
            Arithmetic::Sub => "difference",
            Arithmetic::Mul => "product",
        },
        Op::Logic(Logic::And, ..) => "and",
        Op::Logic(Logic::Or, ..) => "or",
        Op::Logic(Logic::Xor, ..) => "xor",
        Op::Compare(..) => "test",
        Op::Mux(..) => "choice",
        Op::Not(_) => "inverse",
        Op::ShiftLeft(..) | Op::ShiftRight(..) => "shifted",
        Op::Extend(_) => "wide",
        Op::LoopIndex(_) => "index",
        Op::Reduce(..) | Op::SelectBit(..) => "bit",
        _ => "bits",
    }
}

/// Name of the constant of a state: `state`, `pop_max` -> `StatePopMax`.
fn state_constant(fsm: &FsmIr, state: usize) -> String {
    format!("{}{}", camel(&fsm.name), camel(&fsm.states[state]))
}

/// `pop_max` -> `PopMax`.
fn camel(name: &str) -> String {
    let capital = |w: &str| w[..1].to_uppercase() + &w[1..];
    name.split('_').filter(|w| !w.is_empty()).map(capital).collect()
}
