//! The Verilog-2005 printer: one readable, lint-clean module at a time, deterministic to the byte.

mod expr;
mod items;
mod usage;

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
        for line in &ir.header {
            text += &format!("// {line}\n");
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
    let mut rows: Vec<(&str, String, &str)> = Vec::new();
    if ir.clocked {
        rows.push(("input", String::new(), "clk_i"));
    }
    if ir.reset {
        rows.push(("input", String::new(), "rst_ni"));
    }
    for (position, &id) in ir.ports.iter().enumerate() {
        let net = ir.net(id);
        let direction = if ir.direction(position) == Direction::Input { "input" } else { "output" };
        rows.push((direction, net_type(net), &net.name));
    }
    let signed = rows.iter().any(|r| r.1.starts_with("signed"));
    let width = rows.iter().map(|r| r.1.rsplit(' ').next().map_or(0, str::len)).max().unwrap_or(0);
    let line = |(direction, ty, name): &(&str, String, &str)| {
        let sign = if ty.starts_with("signed") {
            "signed "
        } else if signed {
            "       "
        } else {
            ""
        };
        let range = ty.rsplit(' ').next().unwrap_or("");
        let space = if width == 0 { "" } else { " " };
        format!("  {direction:<6} wire {sign}{range:>width$}{space}{name}")
    };
    rows.iter().map(line).collect()
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
