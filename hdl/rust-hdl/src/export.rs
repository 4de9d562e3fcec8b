//! One of our designs as a block of a rust-hdl design.

use rust_hdl::core::ast::{BlackBox as Code, Verilog, VerilogLiteral};
use rust_hdl::core::constraint::PinConstraint;
use rust_hdl::core::signal::get_signal_id;
use rust_hdl::prelude::{Atom, AtomKind, Block, Logic, Probe, TypeDescriptor, TypeKind, VCDValue};

use crate::{AtomPort, CLOCK, InteropError, ports_of};
use hdl::lang::Design;

/// Our design as a rust-hdl block with run-time ports: `clk_i` (a `Clock`) and `rst_ni` if it has state, then the
/// design's ports in order; an array port is one vector. The design's Verilog travels with it; modules that several
/// boxes share appear once.
///
/// `#[hdl_gen]` kernels name their ports as fields, which run-time ports cannot be: use [`black_box!`](crate::black_box)
/// there. In a parent with a hand-written `Logic::hdl`, port `p` of field `f` is the Verilog name `f$p`. There
/// [`BlackBox::drive`] tells rust-hdl's check that an input is connected.
///
/// # Errors
/// A module called `top`: rust-hdl gives that name to its outermost module.
pub fn export(design: &Design) -> Result<BlackBox, InteropError> {
    let manifest = design.manifest();
    let top = design.top_name();
    if let Some(module) = manifest.modules.iter().find(|m| m.name == "top") {
        let problem = format!("rust-hdl calls its outermost module `top`; rename the module of block {}", module.block);
        return Err(InteropError::new(top, problem));
    }
    let mut ports = Vec::new();
    let mut add = |name: &str, input: bool, width: u32, signed: bool, clock: bool| {
        let kind = if input { AtomKind::InputParameter } else { AtomKind::OutputParameter };
        let port = AtomPort { name: name.into(), kind, width: width as usize, signed, clock };
        ports.push(Port { port, id: get_signal_id(), driven: false });
    };
    manifest.clock.iter().for_each(|name| add(name, true, 1, false, true));
    manifest.reset.iter().for_each(|name| add(name, true, 1, false, false));
    for p in &manifest.ports {
        add(&p.name, p.direction == "input", p.width, p.signed && p.elements.is_none(), false);
    }
    // rust-hdl repeats a black box's text for every instance; the guards keep one copy of each module. The hash is
    // there so that two different modules of one name are not taken for copies: the tools report them.
    let guarded = |file: hdl::emit::SourceFile| {
        let stem = file.name.trim_end_matches(".v").replace(|c: char| !c.is_ascii_alphanumeric(), "_").to_uppercase();
        let guard = format!("SENBAZURU_{stem}_{:016X}", fnv1a(&file.text));
        format!("`ifndef {guard}\n`define {guard}\n{}\n`endif // {guard}\n", file.text.trim_end())
    };
    let code = design.verilog().into_iter().map(guarded).collect();
    Ok(BlackBox { name: top.into(), ports, code })
}

/// A design of ours inside a rust-hdl design; made by [`export`].
#[derive(Clone, Debug)]
pub struct BlackBox {
    name: String,
    ports: Vec<Port>,
    code: String,
}

impl BlackBox {
    /// Says that the parent drives input `port`; what `self.field.port.next = ...` says in a kernel.
    ///
    /// # Errors
    /// There is no such input.
    pub fn drive(&mut self, port: &str) -> Result<(), InteropError> {
        let is_input = |p: &&mut Port| p.port.name == port && p.port.kind == AtomKind::InputParameter;
        if let Some(found) = self.ports.iter_mut().find(is_input) {
            found.driven = true;
            return Ok(());
        }
        let inputs = self.ports.iter().filter(|p| p.port.kind == AtomKind::InputParameter);
        let have: Vec<_> = inputs.map(|p| p.port.name.as_str()).collect();
        Err(InteropError::new(&self.name, format!("no input `{port}`; the inputs are: {}", have.join(", "))))
    }

    /// Checks that `block` has exactly the ports of the design: names, directions, widths, signs, the clock.
    ///
    /// # Errors
    /// All ports that are missing, different or too many.
    pub fn check(&self, block: &dyn Block) -> Result<(), InteropError> {
        let fields = ports_of(&self.name, block)?;
        let mut problems = Vec::new();
        for Port { port, .. } in &self.ports {
            match fields.iter().find(|f| f.name == port.name) {
                None => problems.push(format!("field `{}` is missing: {port}", port.name)),
                Some(f) if f.to_string() != port.to_string() => {
                    problems.push(format!("field `{}` is {f}; the design's port is {port}", port.name));
                }
                Some(_) => {}
            }
        }
        let extra = fields.iter().filter(|f| self.ports.iter().all(|p| p.port.name != f.name));
        problems.extend(extra.map(|f| format!("field `{}` ({f}) is not a port of the design", f.name)));
        if problems.is_empty() { Ok(()) } else { Err(InteropError::new(&self.name, problems.join("; "))) }
    }
}

impl Logic for BlackBox {
    fn update(&mut self) {}

    fn hdl(&self) -> Verilog {
        Verilog::Blackbox(Code { code: self.code.clone(), name: self.name.clone() })
    }
}

impl Block for BlackBox {
    fn connect_all(&mut self) {}

    fn update_all(&mut self) {}

    fn has_changed(&self) -> bool {
        false
    }

    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        self.ports.iter().for_each(|p| probe.visit_atom(&p.port.name, p));
        probe.visit_end_scope(name, self);
    }
}

#[derive(Clone, Debug)]
struct Port {
    port: AtomPort,
    id: usize,
    driven: bool,
}

impl Atom for Port {
    fn bits(&self) -> usize {
        self.port.width
    }

    fn connected(&self) -> bool {
        self.driven || self.port.kind == AtomKind::OutputParameter
    }

    fn changed(&self) -> bool {
        false
    }

    fn kind(&self) -> AtomKind {
        self.port.kind
    }

    fn descriptor(&self) -> TypeDescriptor {
        let width = self.port.width;
        let (name, kind) = match (self.port.clock, self.port.signed) {
            (true, _) => (CLOCK.into(), TypeKind::Bits(1)),
            (false, true) => (format!("Signed::<{width}>"), TypeKind::Signed(width)),
            (false, false) => (format!("Bits::<{width}>"), TypeKind::Bits(width)),
        };
        TypeDescriptor { name, kind }
    }

    fn vcd(&self) -> VCDValue {
        // Nothing simulates the box in rust-hdl: its waveform says X rather than a value that is not true.
        "x".parse().map_or_else(|_| VCDValue::from(false), |x| VCDValue::Vector(vec![x; self.port.width]))
    }

    fn id(&self) -> usize {
        self.id
    }

    fn verilog(&self) -> VerilogLiteral {
        // Read for constants only.
        VerilogLiteral::from(false)
    }

    fn constraints(&self) -> Vec<PinConstraint> {
        Vec::new()
    }
}

/// FNV-1a, 64 bits: stable across versions of Rust, so that the output is.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A struct of rust-hdl signals around an exported design: `#[hdl_gen]` kernels connect its fields as they connect the
/// fields of any rust-hdl block. `new(&Design)` fails unless the fields are the design's ports: `Clock` for `clk_i`,
/// `Bit` or `Bits<1>` for a bit, `Bits<N>` for unsigned and array ports, `Signed<N>` for signed ones.
///
/// ```
/// use hdl::blocks::common::MacPe;
/// use rust_hdl::prelude::*;
///
/// rust_hdl_bridge::black_box! {
///     /// One multiply-accumulate cell.
///     struct Pe {
///         clk_i: Signal<In, Clock>,
///         rst_ni: Signal<In, Bit>,
///         clear_i: Signal<In, Bit>,
///         act_i: Signal<In, Signed<8>>,
///         weight_i: Signal<In, Signed<8>>,
///         clear_o: Signal<Out, Bit>,
///         act_o: Signal<Out, Signed<8>>,
///         weight_o: Signal<Out, Signed<8>>,
///         acc_o: Signal<Out, Signed<32>>,
///     }
/// }
/// let design = hdl::lang::elaborate(&MacPe { operand_width: 8, accumulator_width: 32 })?;
/// assert!(Pe::new(&design).is_ok());
/// let other = hdl::lang::elaborate(&MacPe { operand_width: 8, accumulator_width: 24 })?;
/// assert!(Pe::new(&other).is_err_and(|e| e.problem.contains("acc_o")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! black_box {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$doc:meta])* $port:ident : $ty:ty),+ $(,)? }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$doc])* #[allow(missing_docs, reason = "the design documents its ports")] pub $port: $ty,)+
            _design: $crate::BlackBox,
        }

        #[allow(dead_code, reason = "not every user needs every method")]
        impl $name {
            /// Holds `design`, whose ports must be this struct's fields.
            ///
            /// # Errors
            /// Names every field that differs from the design's ports.
            pub fn new(
                design: &$crate::Design,
            ) -> ::std::result::Result<Self, $crate::InteropError> {
                let design = $crate::export(design)?;
                let this = Self { $($port: ::std::default::Default::default(),)+ _design: design };
                this._design.check(&this)?;
                ::std::result::Result::Ok(this)
            }
        }

        impl $crate::upstream::Logic for $name {
            fn update(&mut self) {}

            fn connect(&mut self) {
                // Marks outputs as driven and leaves inputs to the parent.
                $($crate::upstream::LogicLink::link_connect_source(&mut self.$port);)+
            }

            fn hdl(&self) -> $crate::upstream::Verilog {
                $crate::upstream::Logic::hdl(&self._design)
            }
        }

        impl $crate::upstream::Block for $name {
            fn connect_all(&mut self) {
                $crate::upstream::Logic::connect(self);
                $($crate::upstream::Block::connect_all(&mut self.$port);)+
            }

            fn update_all(&mut self) {
                $($crate::upstream::Block::update_all(&mut self.$port);)+
            }

            fn has_changed(&self) -> bool {
                $($crate::upstream::Block::has_changed(&self.$port))||+
            }

            fn accept(&self, name: &str, probe: &mut dyn $crate::upstream::Probe) {
                probe.visit_start_scope(name, self);
                $($crate::upstream::Block::accept(&self.$port, stringify!($port), probe);)+
                probe.visit_end_scope(name, self);
            }
        }
    };
}
