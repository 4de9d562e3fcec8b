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
mod state;
mod usage;
mod wrap;

use crate::lang::Type;
use crate::lang::ir::{Layout, Net};

use super::{Backend, PrintModule};
use items::Printer;
pub(super) use loops::{LoopLabel, labels};
pub(super) use names::declared;
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

/// `signed [7:0]`, as it stands between `wire` and the name. A packed array of signed elements is a plain vector.
fn net_type(net: &Net) -> String {
    match net.array {
        Some((count, Layout::Packed)) => range(Type { width: net.ty.width * count, signed: false }, true),
        _ => range(net.ty, false),
    }
}

fn range(ty: Type, always: bool) -> String {
    let sign = if ty.signed { "signed " } else { "" };
    if ty.width == 1 && !always && !ty.signed { String::new() } else { format!("{sign}[{}:0]", ty.width - 1) }
}

/// `wire signed [7:0] name [0:15];` without the semicolon.
fn declaration(keyword: &str, net: &Net, name: &str) -> String {
    let ty = net_type(net);
    let space = if ty.is_empty() { "" } else { " " };
    let array = match net.array {
        Some((count, Layout::Unpacked)) => format!(" [0:{}]", count - 1),
        _ => String::new(),
    };
    format!("{keyword}{space}{ty} {name}{array}")
}
