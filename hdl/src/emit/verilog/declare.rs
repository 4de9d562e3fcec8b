//! Declarations: state constants, memories, nets, loop variables.

use std::collections::BTreeSet;

use super::expr::literal;
use super::items::{Printer, Section};
use super::state::state_constant;
use super::types::net_type;
use crate::lang::Type;
use crate::lang::ir::{Direction, Layout, NetId, NetKind, ScopeId, ScopeKind, Target};

impl Printer<'_> {
    pub(super) fn declarations(&mut self, scope: ScopeId) {
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
                NetKind::Instance { direction: Direction::Input, .. } if self.inputs.contains_key(&(id as NetId)) => {
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

    /// Variables of the loops of the design, or of loops that only formal sections have.
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
