//! Sections for the prover: checks and registers under `ifdef FORMAL` or `ifdef FORMAL_ALONE`.

use super::items::{Printer, Section};
use super::slot::Slot;
use crate::lang::ir::{CheckKind, NodeId, ScopeId};

impl Printer<'_> {
    pub(super) fn formal_section(&mut self, scope: ScopeId) {
        self.formal = true;
        let body = self.scope(scope);
        self.formal = false;
        self.section(Section::Loop);
        self.line(if self.ir.formal_alone { "`ifdef FORMAL_ALONE" } else { "`ifdef FORMAL" });
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

    pub(super) fn check(&mut self, kind: CheckKind, name: &str, condition: NodeId) {
        self.context = name.into();
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
        if self.frames.len() > 2 {
            // Yosys takes a label for the same one in each turn of a loop. A net keeps the name, in waveforms too.
            let text = self.expr(condition, Slot::Root, 0);
            self.line(format!("wire {name} = {text};"));
            self.line(format!("always {when} {keyword} ({name});"));
            return;
        }
        self.in_always = !self.ir.clocked;
        let text = self.expr(condition, Slot::Inner, 0);
        self.in_always = false;
        self.line(format!("always {when} {name}: {keyword} ({text});"));
    }
}
