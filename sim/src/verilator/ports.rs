//! The ports of a verilated model, read from the class that Verilator generated.
//!
//! The ports are read back, and the description is not trusted. So a wrong width or a missing port gives a message
//! instead of a C++ error or a silent overrun of memory.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::design::{Design, Dir, Port};
use crate::{Error, Result};

/// A port as the generated C++ class has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Member {
    /// Verilog name.
    pub name: String,
    /// C++ member name.
    pub member: String,
    pub dir: Dir,
    pub width: u32,
}

/// Finds the port declarations in a generated header: `VL_IN8(&name,msb,lsb);`, `VL_OUTW(&name,msb,lsb,words);`.
pub(super) fn parse_header(design: &Design, header: &str) -> Result<Vec<Member>> {
    let bad = |problem: String| Error::Design { top: design.top.clone(), problem };
    let mut members = Vec::new();
    for line in header.lines().map(str::trim) {
        let Some((kind, rest)) = line.split_once('(') else { continue };
        let dir = match kind {
            "VL_IN8" | "VL_IN16" | "VL_IN" | "VL_IN64" | "VL_INW" => Dir::Input,
            "VL_OUT8" | "VL_OUT16" | "VL_OUT" | "VL_OUT64" | "VL_OUTW" => Dir::Output,
            "VL_INOUT8" | "VL_INOUT16" | "VL_INOUT" | "VL_INOUT64" | "VL_INOUTW" => {
                return Err(bad(format!("bidirectional port in `{line}`: split it into an input and an output")));
            }
            _ => continue,
        };
        let fields: Vec<&str> = rest.trim_end_matches([')', ';']).split(',').collect();
        let (Some(member), Some(Ok(msb)), Some(Ok(lsb))) = (
            fields.first().and_then(|f| f.strip_prefix('&')).filter(|m| !m.starts_with('(')),
            fields.get(1).map(|f| f.parse::<u32>()),
            fields.get(2).map(|f| f.parse::<u32>()),
        ) else {
            return Err(bad(format!("unsupported port `{line}`: ports must be scalars or vectors [N:0]")));
        };
        members.push(Member { name: verilog_name(member), member: member.to_owned(), dir, width: msb - lsb + 1 });
    }
    Ok(members)
}

/// Compares the described ports with the real ones and returns the ports in the model's order.
pub(super) fn check(design: &Design, members: &[Member]) -> Result<Vec<Port>> {
    let mut problems = String::new();
    for port in &design.ports {
        match members.iter().find(|m| m.name == port.name) {
            None => writeln!(problems, "  `{}` is not a port of the Verilog module", port.name),
            Some(m) if (m.dir, m.width) != (port.dir, port.width) => writeln!(
                problems,
                "  `{}` is described as {} of {} bits; in Verilog it is {} of {} bits",
                port.name,
                port.dir.name(),
                port.width,
                m.dir.name(),
                m.width
            ),
            Some(_) => Ok(()),
        }
        .unwrap_or_default();
    }
    let described = |m: &Member| design.ports.iter().find(|p| p.name == m.name);
    if !design.ports.is_empty() {
        for member in members.iter().filter(|m| described(m).is_none()) {
            let _ = writeln!(problems, "  {} `{}` is missing from the description", member.dir.name(), member.name);
        }
    }
    for (role, name) in [("clock", &design.clock), ("reset", &design.reset)] {
        let Some(name) = name else { continue };
        if !members.iter().any(|m| m.name == *name && m.dir == Dir::Input && m.width == 1) {
            let _ = writeln!(problems, "  the {role} `{name}` is not a one-bit input");
        }
    }
    if !problems.is_empty() {
        let problem = format!("ports differ from the Verilog:\n{}", problems.trim_end());
        return Err(Error::Design { top: design.top.clone(), problem });
    }
    let port = |m: &Member| {
        let signed = described(m).is_some_and(|p| p.signed);
        Port { name: m.name.clone(), dir: m.dir, width: m.width, signed }
    };
    Ok(members.iter().map(port).collect())
}

/// Undoes Verilator's naming: a second underscore becomes `__05F`, C++ keywords get a prefix.
fn verilog_name(member: &str) -> String {
    let name = member.strip_prefix("__SYM__").unwrap_or(member);
    let mut out = String::new();
    let mut rest = name;
    while let Some(at) = rest.find("__0") {
        out.push_str(&rest[..at]);
        match rest.get(at + 3..at + 5).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 5..];
            }
            None => {
                out.push_str("__0");
                rest = &rest[at + 3..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design() -> Design {
        Design::from_verilog("top", "")
    }

    #[test]
    fn header_lines_become_ports() {
        let header = "    VL_IN8(&clk_i,0,0);\n    VL_OUTW(&wide_o,99,0,4);\n  VL_IN64(&a___05Fb,33,0);\n  int other;";
        let found = parse_header(&design(), header).unwrap();
        let short: Vec<_> = found.iter().map(|m| (m.name.as_str(), m.dir, m.width)).collect();
        assert_eq!(short, [("clk_i", Dir::Input, 1), ("wide_o", Dir::Output, 100), ("a__b", Dir::Input, 34)]);
    }

    #[test]
    fn bidirectional_and_array_ports_are_refused() {
        for line in ["VL_INOUT8(&pad,0,0);", "VL_IN8((&list)[4],7,0);"] {
            let error = parse_header(&design(), line).unwrap_err().to_string();
            assert!(error.contains(line.trim_end_matches(';')), "{error}");
        }
    }

    #[test]
    fn every_difference_is_listed() {
        let members = parse_header(&design(), "VL_IN8(&a,7,0);\nVL_IN8(&b,0,0);").unwrap();
        let port = |name: &str, width| Port { name: name.into(), dir: Dir::Input, width, signed: true };
        let wrong = Design { ports: vec![port("a", 9), port("c", 1)], clock: Some("a".into()), ..design() };
        let error = check(&wrong, &members).unwrap_err().to_string();
        for part in ["`a` is described as input of 9 bits", "`c` is not a port", "`b` is missing", "clock `a`"] {
            assert!(error.contains(part), "{error}");
        }
        let right = Design { ports: vec![port("b", 1), port("a", 8)], ..design() };
        assert_eq!(check(&right, &members).unwrap(), [port("a", 8), port("b", 1)]);
    }
}
