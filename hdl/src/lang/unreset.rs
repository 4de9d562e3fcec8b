//! State without a reset, which has any value after power-up.

use super::block::Design;
use super::ir::{Layout, ModuleIr, NetKind};

/// A register or a memory that no reset reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresetRegister {
    /// Module that declares it. Each instance of the module has one, and each turn of a loop around it.
    pub module: String,
    /// Verilog name in the module.
    pub name: String,
    /// Bits of a word.
    pub width: u32,
    /// Words; None for a register that is one vector.
    pub depth: Option<u32>,
}

impl Design {
    /// Registers and memories without a reset, of all modules that this library describes, children before parents.
    /// The state of [`Design::foreign_modules`] is not known.
    #[must_use]
    pub fn unreset_registers(&self) -> Vec<UnresetRegister> {
        self.modules.iter().filter(|m| m.external.is_none()).flat_map(|m| of(m)).collect()
    }

    /// Names of the modules whose Verilog comes from outside.
    #[must_use]
    pub fn foreign_modules(&self) -> Vec<&str> {
        self.modules.iter().filter(|m| m.external.is_some()).map(|m| &m.name[..]).collect()
    }
}

fn of(module: &ModuleIr) -> Vec<UnresetRegister> {
    let one =
        |name: &str, width, depth| UnresetRegister { module: module.name.clone(), name: name.into(), width, depth };
    let clocked = module.memories.iter().flat_map(|m| &m.reads).filter(|r| r.enable.is_some()).map(|r| r.net);
    let clocked: Vec<_> = clocked.collect();
    let nets = module.nets.iter().zip(0..).filter(|(net, id)| match net.kind {
        NetKind::Register { ref init } => init.is_none(),
        NetKind::MemoryRead => clocked.contains(id),
        _ => false,
    });
    let registers = nets.map(|(net, _)| match net.array {
        Some((count, Layout::Unpacked)) => one(&net.name, net.ty.width, Some(count)),
        Some((count, Layout::Packed)) => one(&net.name, net.ty.width * count, None),
        None => one(&net.name, net.ty.width, None),
    });
    registers.chain(module.memories.iter().map(|m| one(&m.name, m.width, Some(m.depth)))).collect()
}
