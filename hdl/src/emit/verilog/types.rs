//! The type of a net as text.

use crate::lang::Type;
use crate::lang::ir::{Layout, Net};

/// `signed [7:0]`, as it stands between `wire` and the name. A packed array of signed elements is a plain vector.
pub(super) fn net_type(net: &Net) -> String {
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
pub(super) fn declaration(keyword: &str, net: &Net, name: &str) -> String {
    let ty = net_type(net);
    let space = if ty.is_empty() { "" } else { " " };
    let array = match net.array {
        Some((count, Layout::Unpacked)) => format!(" [0:{}]", count - 1),
        _ => String::new(),
    };
    format!("{keyword}{space}{ty} {name}{array}")
}
