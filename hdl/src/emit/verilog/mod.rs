//! The Verilog-2005 printer: one readable, lint-clean module at a time, deterministic to the byte.

mod expr;
mod formal;
mod items;
mod names;
mod state;
mod usage;
mod wrap;

use crate::lang::Type;
use crate::lang::ir::{Direction, Layout, ModuleIr, Net};

use super::{Backend, PrintModule};
use items::Printer;

/// The Verilog-2005 back end.
#[derive(Clone, Copy, Debug)]
pub struct Verilog;

impl Backend for Verilog {
    fn extension(&self) -> &'static str {
        "v"
    }

    fn print(&self, module: &PrintModule<'_>) -> String {
        let ir = module.0;
        let mut text = String::new();
        for line in ir.header.iter().flat_map(|line| wrap::wrap(&format!("// {line}"))) {
            text += &format!("{line}\n");
        }
        text += &format!("module {} (\n", ir.name);
        text += &ports(ir).join(",\n");
        text += "\n);\n";
        text += &Printer::new(ir).body();
        text += "endmodule\n";
        text
    }
}

/// The port list, one line a port, columns aligned.
fn ports(ir: &ModuleIr) -> Vec<String> {
    let mut rows: Vec<(&str, String, String)> = Vec::new();
    if ir.clocked {
        rows.push(("input  wire", String::new(), "clk_i".into()));
    }
    if ir.reset {
        rows.push(("input  wire", String::new(), "rst_ni".into()));
    }
    for (position, &id) in ir.ports.iter().enumerate() {
        let net = ir.net(id);
        let direction = if ir.direction(position) == Direction::Input { "input  wire" } else { "output wire" };
        rows.push((direction, net_type(net), net.name.clone()));
    }
    items::aligned(&rows).into_iter().map(|line| format!("  {line}")).collect()
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
