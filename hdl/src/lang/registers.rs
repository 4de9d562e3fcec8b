//! Register maps: the `registers!` macro, and what follows from one description of registers.
//!
//! From it come the ports of the hardware side and the hardware that answers the bus (`blocks::common::bus::serve`). In
//! `gen` a C header, Rust constants, a table and SystemRDL come from it too.

use std::marker::PhantomData;
use std::ops::Deref;

use super::context::with;
use super::ir::Direction;
use super::module::Module;
use super::ports::{PortBuilder, PortKind};
pub use super::register_map::{Access, MAP_BYTES, Register, RegisterField, RegisterMap};
use super::signal::Signal;
use super::types::{bit, uint};

impl Module {
    /// Notes that the module serves these registers: the manifest and the files next to it describe them. Mistakes of
    /// the map are errors of elaboration.
    #[track_caller]
    pub fn serves(&mut self, map: RegisterMap) {
        for mistake in map.mistakes() {
            self.error(&mistake);
        }
        with(|e| e.top().ir.registers = Some(map));
    }
}

/// The ports of a field.
#[derive(Clone, Copy, Debug, Default)]
pub struct FieldPorts {
    /// Out of the registers: value or pulse.
    pub out: Option<Signal>,
    /// Into the registers: what is shown, what sets, what is busy.
    pub back: Option<Signal>,
}

fn declare_field(b: &mut PortBuilder, f: &RegisterField) -> FieldPorts {
    let mut port = |suffix: &str, direction, width, note: &str| {
        b.document(&format!("{}{note}", f.meaning));
        let ty = if width == 1 { bit() } else { uint(width) };
        Some(b.scalar(&format!("{}{suffix}", f.name), direction, ty))
    };
    use Direction::{Input, Output};
    match f.access {
        Access::Constant(_) => FieldPorts::default(),
        Access::ReadWrite(_) => FieldPorts { out: port("_o", Output, f.width, ""), back: None },
        Access::ReadOnly => FieldPorts { out: None, back: port("_i", Input, f.width, "") },
        Access::Sticky => FieldPorts {
            back: port("_set_i", Input, f.width, " Sets it at the coming edge."),
            out: port("_o", Output, f.width, " Stays until the host writes 1."),
        },
        Access::Pulse => FieldPorts { out: port("_o", Output, f.width, " High for one cycle."), back: None },
        Access::Command => FieldPorts {
            out: port("_o", Output, 1, " High for one cycle."),
            back: port("_busy_i", Input, 1, " The command is not done; reads as this bit."),
        },
    }
}

/// The hardware side of a register map, made by [`registers!`](crate::registers).
pub trait RegisterFields: Sized {
    /// What the map depends on.
    type Spec: Clone;
    /// The map.
    fn map(spec: &Self::Spec) -> RegisterMap;
    /// The handles of its fields, in order.
    fn fields(ports: &mut dyn Iterator<Item = FieldPorts>) -> Self;
}

/// The fields of a register map as ports, and the map.
#[derive(Clone, Debug)]
pub struct Registers<F> {
    /// Handles of the fields.
    pub fields: F,
    /// The registers with their ports, for `blocks::common::bus::serve`.
    pub served: Served,
}

impl<F> Deref for Registers<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.fields
    }
}

/// A map, and the ports of its fields in order.
#[derive(Clone, Debug)]
pub struct Served {
    /// The registers.
    pub map: RegisterMap,
    /// Ports of all fields, register by register.
    pub ports: Vec<FieldPorts>,
}

/// All fields of a register map, seen from the block that serves them: `<field>_o`, `<field>_i`, `<field>_set_i`,
/// `<field>_busy_i`, by access.
#[derive(Debug)]
pub struct RegisterPorts<F>(PhantomData<F>);

impl<F: RegisterFields> PortKind for RegisterPorts<F> {
    type Handle = Registers<F>;
    type Spec = F::Spec;

    fn declare(b: &mut PortBuilder, _name: &str, spec: F::Spec) -> Registers<F> {
        let map = F::map(&spec);
        let fields = map.registers.iter().flat_map(|r| &r.fields);
        let ports: Vec<FieldPorts> = fields.map(|f| declare_field(b, f)).collect();
        Registers { fields: F::fields(&mut ports.iter().copied()), served: Served { map, ports } }
    }
}

/// One kind of field: its description, and its ports of the hardware.
pub trait FieldAccess {
    /// The expression after the `=` in [`registers!`](crate::registers).
    type Spec;
    /// The ports of the hardware.
    type Handle: Clone;
    /// Width and access.
    fn layout(spec: Self::Spec) -> (u32, Access);
    /// The handle of the ports.
    fn handle(ports: FieldPorts) -> Self::Handle;
}

fn there(signal: Option<Signal>) -> Signal {
    signal.expect("declare_field makes the ports of this access")
}

/// Sticky bits, seen from the hardware.
#[derive(Clone, Copy, Debug)]
pub struct StickyBits {
    /// In: sets them.
    pub set: Signal,
    /// Out: their values.
    pub value: Signal,
}

/// A command, seen from the hardware.
#[derive(Clone, Copy, Debug)]
pub struct CommandBit {
    /// Out: the host asked for it, in this cycle.
    pub asked: Signal,
    /// In: it is not done.
    pub busy: Signal,
}

macro_rules! accesses {
    ($($(#[$doc:meta])* $kind:ident ($spec:ty) -> $handle:ty = |$s:pat_param| $layout:expr, |$p:ident| $make:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $kind;
        impl FieldAccess for $kind {
            type Spec = $spec;
            type Handle = $handle;
            fn layout($s: $spec) -> (u32, Access) {
                $layout
            }
            fn handle($p: FieldPorts) -> $handle {
                $make
            }
        }
    )*};
}
accesses! {
    /// Reads as a value: `magic: Constant = (32, 0x4e5a)`.
    Constant((u32, u64)) -> () = |(width, value)| (width, Access::Constant(value)), |_ports| ();
    /// Of the host: `limit: ReadWrite = (16, 100)`, width and value after reset.
    ReadWrite((u32, u64)) -> Signal = |(width, reset)| (width, Access::ReadWrite(reset)), |ports| there(ports.out);
    /// Of the hardware: `level: ReadOnly = 8`.
    ReadOnly(u32) -> Signal = |width| (width, Access::ReadOnly), |ports| there(ports.back);
    /// Set by the hardware, cleared by the host: `done: Sticky = 1`, bits.
    Sticky(u32) -> StickyBits = |width| (width, Access::Sticky), |ports| StickyBits { set: there(ports.back), value: there(ports.out) };
    /// A pulse from the host: `start: Pulse = 1`, bits.
    Pulse(u32) -> Signal = |width| (width, Access::Pulse), |ports| there(ports.out);
    /// A pulse that is answered: `soft_reset: Command = ()`.
    Command(()) -> CommandBit = |()| (1, Access::Command), |ports| CommandBit { asked: there(ports.out), busy: there(ports.back) };
}

/// Describes registers, once.
///
/// ```
/// use hdl::lang::registers::*;
/// hdl::registers! {
///     /// A timer's registers.
///     pub struct TimerFields(limit: u64) {
///         /// Starts the timer.
///         CONTROL at 0x0 {
///             /// Starts it; ignored while it runs.
///             start: Pulse = 1 at 0,
///             /// Cycles it runs for.
///             limit: ReadWrite = (16, *limit) at 16,
///         }
///         /// What it does.
///         STATUS at 0x4 {
///             /// It ran to its end.
///             done: Sticky = 1 at 0,
///         }
///     }
/// }
/// assert!(TimerFields::map(&100).mistakes().is_empty());
/// ```
///
/// A block has them as a port of the kind [`RegisterPorts`]: `registers: RegisterPorts<TimerFields> = p.limit`; then
/// `io.registers.start` is the pulse.
#[macro_export]
macro_rules! registers {
    ($(#[$meta:meta])* $vis:vis struct $name:ident ($p:ident : $spec:ty) {
        $($(#[doc = $rdoc:literal])+ $register:ident at $offset:tt {
            $($(#[doc = $doc:literal])+ $field:ident : $kind:ty = $value:tt at $low:literal),* $(,)?
        })*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($($(#[doc = $doc])+ pub $field: <$kind as $crate::lang::registers::FieldAccess>::Handle,)*)*
        }

        impl $crate::lang::registers::RegisterFields for $name {
            type Spec = $spec;

            fn map($p: &$spec) -> $crate::lang::registers::RegisterMap {
                use $crate::lang::registers as map;
                let _ = $p;
                map::RegisterMap { registers: vec![$(map::Register {
                    name: stringify!($register).into(),
                    offset: $offset,
                    meaning: map::sentence(concat!($($rdoc, "\n"),+)),
                    fields: vec![$({
                        let (width, access) = <$kind as map::FieldAccess>::layout($value);
                        map::RegisterField {
                            name: stringify!($field).into(),
                            low: $low,
                            width,
                            access,
                            meaning: map::sentence(concat!($($doc, "\n"),+)),
                        }
                    }),*],
                }),*] }
            }

            fn fields(
                ports: &mut dyn Iterator<Item = $crate::lang::registers::FieldPorts>,
            ) -> Self {
                let mut next = || ports.next().expect("as many ports as fields");
                Self { $($($field: <$kind as $crate::lang::registers::FieldAccess>::handle(next()),)*)* }
            }
        }
    };
}

/// A documentation comment as one line.
#[doc(hidden)]
#[must_use]
pub fn sentence(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(name: &str, offset: u32, fields: &[(&str, u32, u32, Access)]) -> Register {
        let field = |&(name, low, width, access): &(&str, u32, u32, Access)| RegisterField {
            name: name.into(),
            low,
            width,
            access,
            meaning: String::new(),
        };
        Register { name: name.into(), offset, meaning: String::new(), fields: fields.iter().map(field).collect() }
    }

    #[test]
    fn mistakes_are_found() {
        let map = |registers: &[Register]| RegisterMap { registers: registers.to_vec() }.mistakes();
        let wide = register("A", 0, &[("a", 0, 64, Access::ReadOnly)]);
        assert_eq!(wide.words(), 2);
        assert_eq!(map(&[wide.clone(), register("B", 8, &[("b", 3, 4, Access::ReadWrite(15))])]), [""; 0]);
        for (registers, said) in [
            (vec![wide.clone(), register("B", 4, &[("b", 0, 1, Access::Pulse)])], "registers A and B overlap at 0x4"),
            (vec![register("A", 2, &[])], "register A lies at 0x2, allowed: multiples of 4 below 0x1000"),
            (vec![register("A", 4092, &[("a", 0, 33, Access::ReadOnly)])], "allowed: multiples of 4 below 0x1000"),
            (vec![register("A", 0, &[("a", 0, 2, Access::Command)])], "it overlaps, or is too wide"),
            (vec![register("A", 0, &[("a", 0, 2, Access::ReadOnly), ("b", 1, 1, Access::Pulse)])], "it overlaps"),
            (
                vec![register("A", 0, &[("a", 0, 2, Access::ReadOnly), ("b", 2, 40, Access::ReadOnly)])],
                "a register alone",
            ),
            (vec![register("A", 0, &[("a", 0, 4, Access::ReadWrite(16))])], "the value 0x10 of field a does not fit"),
            (vec![wide, register("B", 8, &[("a", 0, 4, Access::ReadOnly)])], "the name a is given twice"),
        ] {
            let found = map(&registers);
            assert!(found.len() == 1 && found[0].contains(said), "{said}: {found:?}");
        }
    }
}
