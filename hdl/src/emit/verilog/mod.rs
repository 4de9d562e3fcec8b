//! The Verilog-2005 printer: one readable, lint-clean module at a time, deterministic to the byte.

mod comment;
mod declare;
mod expr;
mod formal;
mod header;
mod instance;
mod items;
mod loops;
mod names;
mod ports;
mod products;
mod slot;
mod state;
mod types;
mod usage;
mod wrap;

use crate::emit::backend::{Backend, PrintModule};
use items::Printer;
pub(super) use loops::{LoopLabel, labels};
pub(crate) use names::{declared, declared_among};
pub(crate) use state::state_constant;
pub(super) use usage::node_uses;

/// The Verilog-2005 back end.
#[derive(Clone, Copy, Debug)]
pub struct Verilog;

impl Backend for Verilog {
    fn extension(&self) -> &'static str {
        "v"
    }

    fn print(&self, module: &PrintModule<'_>) -> String {
        let ir = module.0;
        let head = [format!("module {} (", ir.name)];
        let body = Printer::new(ir).body();
        let lines = header::header(ir).into_iter().chain(head).chain(ports::ports(ir)).chain([");".into()]);
        lines.chain(body).chain(["endmodule".into()]).map(|line| format!("{line}\n")).collect()
    }
}
