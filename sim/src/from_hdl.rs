//! From a design of the construction language to a design for the simulator.

use std::collections::BTreeMap;

use hdl::emit::{Manifest, SourceFile as Emitted};

use crate::{Design, Dir, Native, Port, SourceFile};

/// A module with at least this many instances, and with at least this many bytes of code including its children, stays
/// a module in the compiled model. Otherwise Verilator copies modules into their parents, which is right for small
/// cells: a MAC cell of 1 KB runs many times faster so, and an array of `tender_pe` of 3 KB 1.5 times. But 96 copies of
/// an 8 KB unit took four times as long to compile as one, and ran no faster. Comments do not count: the head of a
/// short module is longer than the rest of it.
///
/// The inputs of such a module are kept too. Otherwise Verilator replaces an input by its driver. Then each copy names
/// another net, and its code is written once for each copy: 9 MB of C++ instead of 0.1 for the 64 columns of a
/// `kllm_top`.
const KEEP: (u64, usize) = (4, 4_000);

/// The Verilog of all modules, and the ports of the top. Array ports are plain vectors here: element `i` is bits
/// `[width * i +: width]` (see [`crate::Bits::pack`]), and unsigned. Formal sections are not compiled.
impl From<&hdl::lang::Design> for Design {
    fn from(design: &hdl::lang::Design) -> Self {
        let Manifest { top, clock, reset, ports: top_ports, modules, .. } = design.manifest();
        let bit = |name: &String| Port { name: name.clone(), dir: Dir::Input, width: 1, signed: false };
        let mut ports: Vec<Port> = clock.iter().chain(&reset).map(bit).collect();
        ports.extend(top_ports.into_iter().map(|p| Port {
            dir: if p.direction == "input" { Dir::Input } else { Dir::Output },
            width: p.width,
            signed: p.signed && p.elements.is_none(),
            name: p.name,
        }));
        let verilog = design.verilog();
        let mut files: Vec<SourceFile> = Vec::new();
        if let Some(text) = kept_modules(&modules, &verilog) {
            files.push(SourceFile { name: "keep_modules.vlt".into(), text });
        }
        files.extend(verilog.into_iter().map(|f| SourceFile { name: f.name, text: f.text }));
        let native = Some(Native::new(design.clone(), &files));
        Self { top, files, ports, clock, reset, defines: Vec::new(), native }
    }
}

/// Verilator's configuration that keeps large modules with many instances apart; `None` if there are none.
fn kept_modules(modules: &[hdl::emit::ManifestModule], files: &[Emitted]) -> Option<String> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut text = String::new();
    let verilog = |name: &str| files.iter().find(|f| f.name.strip_suffix(".v") == Some(name)).map(|f| f.text.as_str());
    // Children come before parents.
    for module in modules {
        let own = verilog(&module.name).map_or(0, code);
        let below: usize = module.children.keys().filter_map(|c| sizes.get(c.as_str())).sum();
        sizes.insert(&module.name, own + below);
        if module.instances >= KEEP.0 && own + below >= KEEP.1 {
            let name = &module.name;
            text += &format!("no_inline -module \"{name}\"\n");
            for input in verilog(name).map(inputs).into_iter().flatten() {
                text += &format!("public_flat_rd -module \"{name}\" -var \"{input}\"\n");
            }
        }
    }
    (!text.is_empty()).then(|| format!("`verilator_config\n{text}"))
}

/// Names of the inputs of a module, except clock and reset, whose copies would be clocks of their own.
fn inputs(verilog: &str) -> impl Iterator<Item = &str> {
    let ports = verilog.lines().filter_map(|line| line.strip_prefix("  input "));
    let names =
        ports.filter_map(|port| port.split("//").next()?.trim().trim_end_matches(',').split_whitespace().last());
    names.filter(|name| !["clk_i", "rst_ni"].contains(name))
}

/// Bytes of the lines that are not comments.
fn code(verilog: &str) -> usize {
    verilog.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| line.len() + 1).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn inputs_are_named_but_those_of_time() {
        let verilog = "// a_i, and no more\nmodule m (\n  input  wire               clk_i,\n  input  wire               rst_ni,\n  \
            input  wire signed [15:0] a_i,          // One, b_i\n                                          // and more\n  \
            input  wire               c_i           // The last\n  output wire               d_o\n);\n";
        assert_eq!(super::inputs(verilog).collect::<Vec<_>>(), ["a_i", "c_i"]);
    }
}
