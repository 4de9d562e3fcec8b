//! Hardware that needs an `always` block: registers, memories, state machines, tables.

use super::expr::{UNARY, literal};
use super::items::{Printer, Section};
use super::slot::Slot;
use super::types::declaration;
use crate::lang::ir::{FsmIr, Item, NetId, NetKind, NodeId, Op};

impl Printer<'_> {
    pub(super) fn lookup(&mut self, net: NetId, index: NodeId, values: &[NodeId]) {
        self.in_always = true;
        let selector = self.expr(index, Slot::Inner, 0);
        let name = self.names[net as usize].clone();
        let ty = self.ir.node(index).ty;
        let texts: Vec<String> = values.iter().map(|&v| self.expr(v, Slot::Root, 0)).collect();
        let last = texts.len() - 1;
        let same = texts.iter().all(|text| *text == texts[last]);
        let mut arms = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            let label = if i == last { "default".into() } else { literal(&i.into(), ty) };
            // A value that the default gives needs no line of its own; Icarus takes no case with a default only.
            if i == last || *text != texts[last] || (i == 0 && same) {
                arms.push(format!("    {label}: {name} = {text};"));
            }
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
    pub(super) fn registers(&mut self, items: &[Item], at: usize) -> usize {
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

    pub(super) fn memory(&mut self, id: u32) {
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

    pub(super) fn fsm(&mut self, id: u32) {
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
                // A transition after an unconditional one never happens.
                if condition.is_none() {
                    break;
                }
            }
            // A state without transitions stays; only a value that is no state goes to the first one.
            if branches.is_empty() {
                branches.push(format!("{next} = {};", constant(from)));
            }
            arms.push(format!("    {}: {}", constant(from), branches.join(" else ")));
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
}

/// Name of the constant of a state: `state`, `pop_max` -> `StatePopMax`.
pub(crate) fn state_constant(fsm: &FsmIr, state: usize) -> String {
    format!("{}{}", camel(&fsm.name), camel(&fsm.states[state]))
}

/// `pop_max` -> `PopMax`.
fn camel(name: &str) -> String {
    let capital = |w: &str| w[..1].to_uppercase() + &w[1..];
    name.split('_').filter(|w| !w.is_empty()).map(capital).collect()
}
