//! A rust-hdl block as a leaf module of our designs.

use std::collections::BTreeMap;

use rust_hdl::core::ast::{Verilog, VerilogExpression, VerilogOp};
use rust_hdl::core::check_error::{CheckError, PathedName, check_all};
use rust_hdl::core::verilog_visitor::{VerilogVisitor, walk_binop, walk_signed, walk_unsigned};
use rust_hdl::prelude::{AtomKind, Block, ModuleDefines, Probe};

use crate::rename::prefix_modules;
use crate::{AtomPort, InteropError, ports_of};
use hdl::lang::{Direction, ExternalModule, ExternalPort, Type, check_name};

/// Imports a rust-hdl block under the module name `name`, with the defaults of [`Import`].
///
/// ```
/// use rust_hdl_bridge::import;
/// use rust_hdl::prelude::*;
///
/// #[derive(LogicBlock, Default)]
/// struct Invert { pub a: Signal<In, Bits<8>>, pub y: Signal<Out, Bits<8>> }
/// impl Logic for Invert {
///     #[hdl_gen]
///     fn update(&mut self) { self.y.next = !self.a.val(); }
/// }
/// let module = import("invert", Invert::default())?;
/// assert_eq!(module.ports[1].ty, hdl::lang::uint(8));
/// # Ok::<(), rust_hdl_bridge::InteropError>(())
/// ```
///
/// # Errors
/// See [`Import::block`].
pub fn import<B: Block>(name: &str, block: B) -> Result<ExternalModule, InteropError> {
    Import::new(name).block(block)
}

/// How a rust-hdl block is imported.
#[derive(Clone, Debug)]
pub struct Import {
    name: String,
    reset: Option<String>,
    registered_outputs: bool,
}

impl Import {
    /// Imports as module `name`; every output is taken to depend on every input within the cycle.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), reset: None, registered_outputs: false }
    }

    /// The one-bit input `port` is an active-low asynchronous reset: it is connected to the parent's `rst_ni`.
    #[must_use]
    pub fn reset(mut self, port: &str) -> Self {
        self.reset = Some(port.into());
        self
    }

    /// Every output comes from registers: no path from an input to an output within a cycle. rust-hdl does not tell.
    #[must_use]
    pub fn registered_outputs(mut self) -> Self {
        self.registered_outputs = true;
        self
    }

    /// The module: a wrapper with our names for the ports, and the block's Verilog, whose module names all start with
    /// the wrapper's. The input of type `Clock` is connected to the parent's clock. A port name is put in lower case,
    /// with `_` for `$` (`bus$ADDR` becomes `bus_addr`).
    ///
    /// # Errors
    /// A bad name; no ports; an inout port; more than one clock, or a clock output; ports whose names become equal;
    /// a reset that is not there; errors of rust-hdl's own check (which also prints them); a product inside
    /// `$signed` or `$unsigned`, which rust-hdl prints with lost bits.
    pub fn block<B: Block>(&self, mut block: B) -> Result<ExternalModule, InteropError> {
        let fail = |problem: String| InteropError::new(&self.name, problem);
        check_name(&self.name).map_err(fail)?;
        block.connect_all();
        let found = ports_of(&self.name, &block)?;
        check_all(&block).map_err(|e| fail(check_text(&e)))?;
        if let Some(place) = lost_product(&block) {
            return Err(fail(format!(
                "rust-hdl prints a product inside $signed or $unsigned in `{place}`, where Verilog cuts it to the \
                 operands' width and the result differs from rust-hdl's simulation; assign the product to a Local \
                 signal first and cast that"
            )));
        }
        let ports = self.ports(&found)?;
        let clock = found.iter().position(|p| p.clock).map(|at| ports[at].name.clone());
        let source = self.source(&block, &found, &ports);
        let control = [clock.clone(), self.reset.as_deref().map(our_name)];
        let data = ports.into_iter().filter(|p| !control.contains(&Some(p.name.clone()))).collect();
        let [clock, reset] = control;
        Ok(ExternalModule {
            name: self.name.clone(),
            ports: data,
            clocks: clock.into_iter().collect(),
            reset,
            source: Some(source),
            registered_outputs: self.registered_outputs,
        })
    }

    /// Our ports for `found`, position by position, clock and reset included.
    fn ports(&self, found: &[AtomPort]) -> Result<Vec<ExternalPort>, InteropError> {
        let fail = |problem: String| Err(InteropError::new(&self.name, problem));
        let mut taken: BTreeMap<String, &str> = BTreeMap::new();
        let mut clock: Option<&str> = None;
        let mut ports = Vec::new();
        for p in found {
            let direction = match p.kind {
                AtomKind::InputParameter => Direction::Input,
                AtomKind::InOutParameter => {
                    return fail(format!("port `{}` is an inout; only inputs and outputs can be connected", p.name));
                }
                _ => Direction::Output,
            };
            if p.clock && direction == Direction::Output {
                return fail(format!("output `{}` is a clock; our modules have one clock, from outside", p.name));
            }
            if let Some(other) = clock.filter(|_| p.clock) {
                return fail(format!("two clocks, `{other}` and `{}`; our modules have one", p.name));
            }
            clock = clock.or(p.clock.then_some(&p.name));
            let name = our_name(&p.name);
            if let Err(why) = check_name(&name) {
                return fail(format!("port `{}`: {why}", p.name));
            }
            if let Some(other) = taken.insert(name.clone(), &p.name) {
                return fail(format!("ports `{other}` and `{}` both become `{name}`; rename one", p.name));
            }
            let Ok(width @ 1..) = u32::try_from(p.width) else {
                return fail(format!("port `{}` has {} bits; the smallest width is 1", p.name, p.width));
            };
            ports.push(ExternalPort { name, direction, ty: Type { width, signed: p.signed } });
        }
        if let Some(reset) = &self.reset {
            let is_bit = |p: &&AtomPort| p.kind == AtomKind::InputParameter && p.width == 1 && !p.clock;
            if found.iter().filter(is_bit).all(|p| p.name != *reset) {
                let have: Vec<_> = found.iter().map(|p| format!("{} ({p})", p.name)).collect();
                return fail(format!("reset `{reset}` is not a one-bit input; the ports are: {}", have.join(", ")));
            }
        }
        Ok(ports)
    }

    fn source<B: Block>(&self, block: &B, found: &[AtomPort], ports: &[ExternalPort]) -> String {
        let core = format!("{}$core", self.name);
        let mut defines = ModuleDefines::default();
        block.accept(&core, &mut defines);
        let (text, renamed) = prefix_modules(&defines.defines(), &core);
        // A block that is itself a black box has no module of its own.
        let inner = match block.hdl() {
            Verilog::Blackbox(b) => renamed.get(&b.name).cloned().unwrap_or(b.name),
            _ => core,
        };
        let declare = |p: &ExternalPort| {
            let direction = if p.direction == Direction::Input { "input " } else { "output" };
            let sign = if p.ty.signed { "signed " } else { "" };
            let range = if p.ty.width > 1 { format!("[{}:0] ", p.ty.width - 1) } else { String::new() };
            format!("  {direction} wire {sign}{range}{}", p.name)
        };
        let declared: Vec<_> = ports.iter().map(declare).collect();
        let wired: Vec<_> = found.iter().zip(ports).map(|(f, p)| format!("    .{}({})", f.name, p.name)).collect();
        format!(
            "// {name}: imported from rust-hdl, which wrote all modules of this file but the first.\n\
             module {name} (\n{}\n);\n  {inner} u_core (\n{}\n  );\nendmodule\n{text}",
            declared.join(",\n"),
            wired.join(",\n"),
            name = self.name,
        )
    }
}

/// `bus$ADDR` as we write it: `bus_addr`.
fn our_name(port: &str) -> String {
    let lower = port.to_ascii_lowercase();
    let parts: Vec<_> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

fn check_text(error: &CheckError) -> String {
    let places = |names: &mut dyn Iterator<Item = &PathedName>| {
        // rust-hdl keeps them in a map without an order.
        let mut list: Vec<_> = names.map(|n| format!("{}${}", n.path, n.name)).collect();
        list.sort();
        list.join(", ")
    };
    match error {
        CheckError::OpenSignal(open) => format!("rust-hdl's check: nothing drives {}", places(&mut open.values())),
        CheckError::LogicLoops(list) => format!("rust-hdl's check: read before written: {}", places(&mut list.iter())),
        CheckError::WritesToInputs(list) => {
            format!("rust-hdl's check: a block writes its own input {}", places(&mut list.iter()))
        }
    }
}

/// The block inside `block` whose kernel casts a product. A product is always wider than its operands, and the
/// argument of `$signed` has its own width in Verilog (IEEE 1364-2005, 5.4.1): its upper half is always lost.
fn lost_product(block: &dyn Block) -> Option<String> {
    #[derive(Default)]
    struct Blocks {
        path: Vec<String>,
        found: Option<String>,
    }
    impl Probe for Blocks {
        fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
            self.path.push(name.into());
            if let Verilog::Combinatorial(code) = node.hdl() {
                let mut kernel = Kernel::default();
                kernel.visit_block(&code);
                if kernel.lost {
                    self.found.get_or_insert(self.path.join("."));
                }
            }
        }
        fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
            self.path.pop();
        }
    }
    #[derive(Default)]
    struct Kernel {
        in_cast: bool,
        lost: bool,
    }
    impl VerilogVisitor for Kernel {
        fn visit_signed(&mut self, argument: &VerilogExpression) {
            let outer = std::mem::replace(&mut self.in_cast, true);
            walk_signed(self, argument);
            self.in_cast = outer;
        }
        fn visit_unsigned(&mut self, argument: &VerilogExpression) {
            let outer = std::mem::replace(&mut self.in_cast, true);
            walk_unsigned(self, argument);
            self.in_cast = outer;
        }
        fn visit_binop(&mut self, left: &VerilogExpression, op: &VerilogOp, right: &VerilogExpression) {
            self.lost |= self.in_cast && matches!(op, VerilogOp::Mul);
            walk_binop(self, left, op, right);
        }
    }
    let mut blocks = Blocks::default();
    block.accept("block", &mut blocks);
    blocks.found
}
