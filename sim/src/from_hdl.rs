//! From a design of the construction language to what the simulator takes.

use crate::{Design, Dir, Port, SourceFile};

/// The Verilog of all modules, and the ports of the top. Array ports are plain vectors here: element `i` is bits
/// `[width * i +: width]` (see [`crate::Bits::pack`]), and unsigned. Formal sections are not compiled.
impl From<&hdl::lang::Design> for Design {
    fn from(design: &hdl::lang::Design) -> Self {
        let manifest = design.manifest();
        let bit = |name: &String| Port { name: name.clone(), dir: Dir::Input, width: 1, signed: false };
        let mut ports: Vec<Port> = manifest.clock.iter().chain(&manifest.reset).map(bit).collect();
        ports.extend(manifest.ports.into_iter().map(|p| Port {
            dir: if p.direction == "input" { Dir::Input } else { Dir::Output },
            width: p.width,
            signed: p.signed && p.elements.is_none(),
            name: p.name,
        }));
        Self {
            top: manifest.top,
            files: design.verilog().into_iter().map(|f| SourceFile { name: f.name, text: f.text }).collect(),
            ports,
            clock: manifest.clock,
            reset: manifest.reset,
            defines: Vec::new(),
        }
    }
}
