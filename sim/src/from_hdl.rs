//! From a design of the construction language to what the simulator takes.

use std::collections::BTreeMap;

use hdl::emit::{Manifest, SourceFile as Emitted};

use crate::{Design, Dir, Port, SourceFile};

/// A module placed at least this often, whose code with everything below it has at least this many bytes, stays a
/// module in the compiled model. Verilator copies modules into their parents otherwise: right for small cells (a MAC
/// cell of 1 KB runs many times faster so, an array of `tender_pe` of 3 KB 1.5 times), but 96 copies of an 8 KB unit took
/// four times as long to compile as one and ran no faster. Comments do not count: the head of a short module is longer
/// than the rest of it.
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
        Self { top, files, ports, clock, reset, defines: Vec::new() }
    }
}

/// Verilator's configuration that keeps large, often placed modules apart; `None` when there are none.
fn kept_modules(modules: &[hdl::emit::ManifestModule], files: &[Emitted]) -> Option<String> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut text = String::new();
    // Children come before parents.
    for module in modules {
        let own = files.iter().find(|f| f.name == format!("{}.v", module.name)).map_or(0, |f| code(&f.text));
        let below: usize = module.children.keys().filter_map(|c| sizes.get(c.as_str())).sum();
        sizes.insert(&module.name, own + below);
        if module.instances >= KEEP.0 && own + below >= KEEP.1 {
            text += &format!("no_inline -module \"{}\"\n", module.name);
        }
    }
    (!text.is_empty()).then(|| format!("`verilator_config\n{text}"))
}

/// Bytes of what is no comment, in lines of their own.
fn code(verilog: &str) -> usize {
    verilog.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| line.len() + 1).sum()
}
