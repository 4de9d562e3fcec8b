//! Blocks, their instances, and elaboration of a whole design.

use std::any::TypeId;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::checks;
use super::context::{Builder, Elaboration, new_serial, scoped, with, with_elaboration};
use super::error::{ElabError, Loc};
use super::ir::{Instance, Item, ModuleIr, Scope, ScopeKind};
use super::module::Module;
use super::names;
use super::parameters::{self, Parameters};
use super::ports::{PortBuilder, Ports, Site};
use super::signal::{Signal, build};
use super::timing::Timing;
use super::types::bit;

/// The description of a block, for the header of its Verilog, the CLI and the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Snake-case name, the same in Rust, Verilog, tests and CLI.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Values of the outputs, and when they are valid; a few lines.
    pub contract: &'static str,
    /// Paper and section, or standard.
    pub reference: &'static str,
}

impl About {
    /// The contract's paragraphs, a line each: one ends where a line of the contract ends a sentence, or part of a list.
    /// An item of a list, `- like this`, begins one.
    #[must_use]
    pub fn paragraphs(&self) -> Vec<String> {
        let mut paragraphs: Vec<String> = Vec::new();
        for line in self.contract.lines().map(str::trim) {
            match paragraphs.last_mut() {
                Some(open) if !open.ends_with(['.', ':', ';']) && !line.starts_with("- ") => {
                    open.push(' ');
                    open.push_str(line);
                }
                _ => paragraphs.push(line.to_owned()),
            }
        }
        paragraphs
    }
}

/// A parameterised piece of hardware. The struct that implements it holds the parameters, see
/// [`parameters!`](crate::parameters).
pub trait Block: Parameters {
    /// Port list, made with [`ports!`](crate::ports).
    type Ports: Ports<Self>;
    /// Name and contract.
    const ABOUT: About;

    /// Describes the hardware.
    fn build(&self, m: &mut Module, io: &Self::Ports);

    /// Cycle counts that a user plans with.
    fn timing(&self) -> Timing {
        Timing::new()
    }

    /// Verilog module name; follows from name, tags and values of the parameters.
    fn module_name(&self) -> String {
        parameters::module_name(Self::ABOUT.name, self)
    }
}

/// A module whose Verilog comes from outside: a macro, a vendor's memory, another generator's output.
#[derive(Clone, Debug, Default)]
pub struct ExternalModule {
    /// Verilog module name.
    pub name: String,
    /// Ports in order.
    pub ports: Vec<ExternalPort>,
    /// Names of the clock inputs, all connected to the parent's clock.
    pub clocks: Vec<String>,
    /// Name of the active-low asynchronous reset input, connected to the parent's reset.
    pub reset: Option<String>,
    /// Verilog text of the module and what it needs; without it the module is a black box.
    pub source: Option<String>,
    /// Every output comes from registers: no path from an input to an output within a cycle.
    pub registered_outputs: bool,
}

/// A port of an [`ExternalModule`].
#[derive(Clone, Debug)]
pub struct ExternalPort {
    /// Verilog port name.
    pub name: String,
    /// Seen from inside the module.
    pub direction: super::ir::Direction,
    /// Width and signedness.
    pub ty: super::types::Type,
}

/// The ports of an instance of an [`ExternalModule`].
#[derive(Clone, Debug)]
pub struct ExternalInstance {
    module: String,
    ports: Vec<(String, Signal)>,
}

impl ExternalInstance {
    /// The net at port `name`.
    #[track_caller]
    #[must_use]
    pub fn port(&self, name: &str) -> Signal {
        if let Some((_, signal)) = self.ports.iter().find(|p| p.0 == name) {
            return *signal;
        }
        let loc = Location::caller();
        let have = self.ports.iter().map(|p| p.0.as_str()).collect::<Vec<_>>().join(", ");
        with(|e| e.error(loc, format!("module {} has no port `{name}`; its ports are: {have}", self.module)));
        build(loc, bit(), |e| e.poison(bit()))
    }
}

/// An elaborated design: modules, children before parents; the last one is the top.
#[derive(Clone)]
pub struct Design {
    pub(crate) modules: Vec<Arc<ModuleIr>>,
}

impl fmt::Debug for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Design").field("top", &self.top().name).field("modules", &self.modules.len()).finish()
    }
}

impl Design {
    pub(crate) fn top(&self) -> &ModuleIr {
        self.modules.last().expect("elaboration ends with the top module")
    }

    /// The registers that a host of the design reaches. The top has them, or the module closest to the top.
    #[must_use]
    pub fn register_map(&self) -> Option<&super::registers::RegisterMap> {
        self.modules.iter().rev().find_map(|m| m.registers.as_ref())
    }

    /// The operations that a host of the design may ask for in descriptors, likewise.
    #[must_use]
    pub fn operations(&self) -> &[super::operation::Opcode] {
        self.modules.iter().rev().map(|m| m.operations.as_slice()).find(|all| !all.is_empty()).unwrap_or_default()
    }

    /// Name of the top module.
    #[must_use]
    pub fn top_name(&self) -> &str {
        &self.top().name
    }
}

/// Elaborates a block and everything inside it.
///
/// # Errors
/// A refused parameter, or all errors found in the description, each with its place in the Rust source.
#[track_caller]
pub fn elaborate<B: Block>(block: &B) -> Result<Design, ElabError> {
    let loc = Location::caller();
    let e = scoped(|| {
        module_of(block, loc);
    });
    if let Some((block, within, errors)) = e.refused {
        return Err(ElabError::Param { block, within, errors });
    }
    if e.errors.is_empty() { Ok(Design { modules: e.order }) } else { Err(ElabError::Design(e.errors)) }
}

/// Levels of blocks within blocks.
const DEEPEST: usize = 100;

/// The module of `block`, built at its first use.
fn module_of<B: Block>(block: &B, loc: Loc) -> Option<Arc<ModuleIr>> {
    let parameters = block.values();
    // Two blocks of one name, from two crates or with two kinds of a part, are not one module.
    let key = format!("{} {parameters} {:?}", B::ABOUT.name, TypeId::of::<B>());
    if let Some(module) = with_elaboration(|e| e.done.get(&key).cloned()).flatten() {
        return Some(module);
    }
    if let Err(error) = block.check() {
        with_elaboration(|e| {
            let within = e.stack.last().map(|b| b.ir.name.clone());
            e.refused.get_or_insert((B::ABOUT.name.into(), within, error));
        });
        return None;
    }
    let name = block.module_name();
    let open = with_elaboration(|e| {
        if let Err(why) = names::check(&name) {
            e.error(loc, why);
        }
        if let Some(outer) = e.stack.iter().find(|b| b.ir.name == name) {
            let why = if outer.ir.block == B::ABOUT.name && outer.ir.parameters == parameters {
                format!("{name} contains itself")
            } else {
                format!("{name} contains another module called {name}: {} with {parameters}", B::ABOUT.name)
            };
            e.error(loc, why);
            return false;
        }
        if e.stack.len() >= DEEPEST {
            e.error(
                loc,
                format!(
                    "{name} is {DEEPEST} levels deep: does a block contain itself, each time with other parameters?"
                ),
            );
            return false;
        }
        if let Some(other) = e.done.values().find(|m| m.name == name) {
            let related = Some((format!("{} with {}", other.block, other.parameters), other.loc));
            e.error_related(
                loc,
                format!("two modules are called {name}; a `tag` must tell these parameters apart: {parameters}"),
                related,
            );
            return false;
        }
        let header = header::<B>(&name, &parameters);
        let serial = new_serial();
        e.stack.push(Builder {
            ir: empty_module(name, header, B::ABOUT.name, parameters, loc),
            scope: 0,
            serial,
            register_arrays: vec![],
        });
        true
    })?;
    if !open {
        return None;
    }
    let ports = B::Ports::declare(&mut PortBuilder { site: Site::Module, loc, doc: String::new() }, block);
    block.build(&mut Module { _private: () }, &ports);
    with(|e| close(e, key, block.timing())).flatten()
}

fn close(e: &mut Elaboration, key: String, timing: Timing) -> Option<Arc<ModuleIr>> {
    checks::run(e);
    let mut ir = e.stack.pop()?.ir;
    ir.timing = timing;
    let module = Arc::new(ir);
    e.done.insert(key, module.clone());
    e.order.push(module.clone());
    Some(module)
}

fn header<B: Block>(name: &str, values: &serde_json::Value) -> Vec<String> {
    let about = B::ABOUT;
    let mut lines = vec![format!("{name}: {}", about.summary)];
    let fields = parameters::flatten(values);
    if !fields.is_empty() {
        // An empty text would leave a blank at the end of a line.
        let shown = |v| Some(plain(v)).filter(|text| !text.is_empty()).unwrap_or_else(|| "none".into());
        let list: Vec<_> = fields.iter().map(|(k, v)| format!("{k} = {}", shown(v))).collect();
        lines.push(format!("Parameters: {}", list.join(", ")));
    }
    let paragraphs = about.paragraphs().into_iter().enumerate();
    lines.extend(paragraphs.map(|(i, text)| if i == 0 { format!("Contract: {text}") } else { format!("  {text}") }));
    if !about.reference.is_empty() {
        lines.push(format!("Source: {}", about.reference));
    }
    let version = env!("CARGO_PKG_VERSION");
    lines.push(format!("Generated by senbazuru {version} from {}. Do not edit.", B::SOURCE.replace('\\', "/")));
    lines
}

/// A JSON value as a person writes it: strings without quotes, unless that would break the line.
fn plain(value: &serde_json::Value) -> String {
    let simple = value.as_str().filter(|s| !s.contains(char::is_control));
    simple.map_or_else(|| value.to_string(), str::to_string)
}

fn empty_module(name: String, header: Vec<String>, block: &str, parameters: serde_json::Value, loc: Loc) -> ModuleIr {
    let names = ["clk_i", "rst_ni"].map(|n| (n.to_string(), loc)).into();
    ModuleIr {
        name,
        header,
        ports: vec![],
        nets: vec![],
        nodes: vec![],
        scopes: vec![Scope { kind: ScopeKind::Root, parent: None, items: vec![] }],
        genvars: vec![],
        instances: vec![],
        memories: vec![],
        fsms: vec![],
        clocked: false,
        formal_alone: false,
        reset: false,
        names,
        comb: vec![],
        ripples: vec![],
        external: None,
        twin: None,
        timing: Timing::new(),
        registers: None,
        operations: Vec::new(),
        block: block.into(),
        parameters,
        loc,
    }
}

impl Module {
    /// Places a block and returns its ports, to be connected. Equal blocks share one Verilog module.
    #[track_caller]
    pub fn instance<B: Block>(&mut self, name: &str, block: B) -> B::Ports {
        let loc = Location::caller();
        let module = module_of(&block, loc);
        let id = place(name, module, loc);
        B::Ports::declare(
            &mut PortBuilder { site: Site::Instance { id, name: name.into() }, loc, doc: String::new() },
            &block,
        )
    }

    /// Places a module whose Verilog comes from outside.
    #[track_caller]
    pub fn external(&mut self, name: &str, external: &ExternalModule) -> ExternalInstance {
        let loc = Location::caller();
        let module = external_module(external, loc);
        let id = place(name, module, loc);
        let mut builder = PortBuilder { site: Site::Instance { id, name: name.into() }, loc, doc: String::new() };
        let ports = external.ports.iter();
        let ports = ports.map(|p| (p.name.clone(), builder.scalar(&p.name, p.direction, p.ty))).collect();
        ExternalInstance { module: external.name.clone(), ports }
    }

    /// This module places Verilog from outside; `block` does the same, with the same ports. Simulators that read no
    /// Verilog take `block` instead. The Verilog of the design stays as it is.
    ///
    /// A block with other ports is an error.
    #[track_caller]
    pub fn simulates_as<B: Block>(&mut self, block: &B) {
        let loc = Location::caller();
        let twin = match elaborate(block) {
            Ok(design) => design.modules.last().cloned(),
            Err(error) => {
                with(|e| e.error(loc, format!("its replacement in simulation cannot be built: {error}")));
                return;
            }
        };
        let Some(twin) = twin else { return };
        with(|e| {
            let ports = |ir: &ModuleIr| -> Vec<_> {
                let port = |&net: &u32| {
                    let n = ir.net(net);
                    (n.name.clone(), n.ty, n.array, n.kind == super::ir::NetKind::Input)
                };
                ir.ports.iter().map(port).collect()
            };
            if ports(&twin) == ports(&e.current().ir) {
                e.top().ir.twin = Some(twin);
            } else {
                e.error(loc, format!("{} does not have the ports of this module", twin.name));
            }
        });
    }
}

fn place(name: &str, module: Option<Arc<ModuleIr>>, loc: Loc) -> u32 {
    let placed = with(|e| {
        let name = e.claim(name, loc);
        let b = e.top();
        // A refused module leaves an empty stand-in, so that elaboration can go on and find more errors.
        let module = module.unwrap_or_else(|| {
            Arc::new(empty_module("refused".into(), vec![], "refused", serde_json::Value::Null, loc))
        });
        b.ir.clocked |= module.clocked;
        b.ir.reset |= module.reset;
        let id = b.ir.instances.len() as u32;
        b.ir.instances.push(Instance { name, module, scope: b.scope, nets: vec![], free: false });
        e.item(Item::Instance(id));
        id
    });
    placed.unwrap_or(0)
}

fn external_module(external: &ExternalModule, loc: Loc) -> Option<Arc<ModuleIr>> {
    let key = format!("external {}", external.name);
    if let Some(module) = with(|e| e.done.get(&key).cloned()).flatten() {
        let same_ports = module.ports.len() == external.ports.len()
            && external.ports.iter().enumerate().all(|(i, p)| {
                let net = module.net(module.ports[i]);
                (net.name.as_str(), net.ty, module.direction(i)) == (p.name.as_str(), p.ty, p.direction)
            });
        let wanted = (&external.source, &external.clocks, &external.reset, external.registered_outputs);
        let is_wanted = |x: &super::ir::External| (&x.source, &x.clocks, &x.reset, x.registered) == wanted;
        if same_ports && module.external.as_ref().is_some_and(is_wanted) {
            return Some(module);
        }
        with(|e| {
            let why = format!(
                "two external modules called {} differ in ports, clock, reset, source or registered outputs",
                external.name
            );
            e.error_related(loc, why, Some(("the other one".into(), module.loc)));
        });
        return None;
    }
    with(|e| {
        let names = [&external.name].into_iter().chain(external.ports.iter().map(|p| &p.name));
        for name in names.chain(&external.clocks).chain(&external.reset) {
            if let Err(why) = names::check_external(name) {
                e.error(loc, why);
            }
        }
        if e.done.values().any(|m| m.name == external.name) {
            e.error(loc, format!("an external module has the name of a block's module: {}", external.name));
            return None;
        }
        let serial = new_serial();
        let mut ir = empty_module(external.name.clone(), vec![], "external", serde_json::Value::Null, loc);
        ir.clocked = !external.clocks.is_empty();
        ir.reset = external.reset.is_some();
        ir.external = Some(super::ir::External {
            source: external.source.clone(),
            clocks: external.clocks.clone(),
            reset: external.reset.clone(),
            registered: external.registered_outputs,
        });
        e.stack.push(Builder { ir, scope: 0, serial, register_arrays: vec![] });
        for p in &external.ports {
            let kind = match p.direction {
                super::ir::Direction::Input => super::ir::NetKind::Input,
                super::ir::Direction::Output => super::ir::NetKind::Output,
            };
            let b = e.top();
            let net = b.ir.nets.len() as u32;
            b.ir.nets.push(super::ir::Net {
                name: p.name.clone(),
                ty: p.ty,
                kind,
                array: None,
                scope: 0,
                loc,
                unused_ok: true,
                doc: String::new(),
            });
            b.ir.ports.push(net);
        }
        let mut ir = e.stack.pop()?.ir;
        let inputs: Vec<usize> =
            (0..ir.ports.len()).filter(|&i| ir.direction(i) == super::ir::Direction::Input).collect();
        let depends = if external.registered_outputs { vec![] } else { inputs };
        let comb = |port| match ir.direction(port) {
            super::ir::Direction::Input => vec![],
            super::ir::Direction::Output => depends.clone(),
        };
        ir.comb = (0..ir.ports.len()).map(comb).collect();
        let module = Arc::new(ir);
        e.done.insert(key, module.clone());
        e.order.push(module.clone());
        Some(module)
    })
    .flatten()
}
