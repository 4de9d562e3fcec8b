//! Bundles: groups of signals that belong together, declared once as a struct.
//!
//! The struct is generic in how its fields are seen: as signals in a block and its parent, as values in a testbench. A
//! beat that a testbench sends therefore has the fields of its stream, by name. A wrong field does not compile.

use std::fmt::Debug;

use super::array::Array;
use super::context::with;
use super::ir::Direction;
use super::module::Module;
use super::ports::{PortBuilder, PortKind};
use super::signal::Signal;
use super::signal::cat;
use super::types::{ArrayType, Type};

/// How the fields of a bundle are seen.
pub trait View: Clone + Debug + 'static {
    /// A field of one value.
    type One: Clone + Debug;
    /// A field of several equally typed values.
    type Many: Clone + Debug;
}

/// Fields are signals of the module under construction.
#[derive(Clone, Copy, Debug)]
pub struct Signals;

impl View for Signals {
    type One = Signal;
    type Many = Array;
}

/// One field as data.
#[derive(Clone, Debug)]
pub enum FieldValue<V: View> {
    /// A field of one value.
    One(V::One),
    /// A field of several values.
    Many(V::Many),
    /// An optional field that these parameters leave out.
    Absent,
}

/// A field of a bundle, whatever its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// Name in Rust, and in the names of ports.
    pub name: &'static str,
    /// Documentation comment.
    pub doc: &'static str,
    /// Some parameters leave it out.
    pub optional: bool,
    /// It has several values.
    pub array: bool,
}

/// The values of a field, for given parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// One value.
    One(Type),
    /// Several values.
    Many(ArrayType),
    /// Left out.
    Absent,
}

impl FieldType {
    /// Width in bits, of all elements together.
    #[must_use]
    pub fn width(self) -> u32 {
        match self {
            Self::One(ty) => ty.width,
            Self::Many(array) => array.element.width * array.count,
            Self::Absent => 0,
        }
    }
}

/// One kind of field: the description of its type, and its type in the struct.
pub trait FieldKind {
    /// The field as `V` shows it.
    type In<V: View>: Clone + Debug;
    /// The expression after the `=` in [`bundle!`](crate::bundle).
    type Spec;
    /// Some parameters leave it out.
    const OPTIONAL: bool;
    /// It has several values.
    const ARRAY: bool;
    /// Its type.
    fn layout(spec: Self::Spec) -> FieldType;
    /// The field as data.
    fn value<V: View>(field: Self::In<V>) -> FieldValue<V>;
    /// The data as a field.
    ///
    /// # Panics
    /// When the data comes from another kind of field.
    fn field<V: View>(value: Option<FieldValue<V>>) -> Self::In<V>;
}

macro_rules! field_kinds {
    ($($(#[$doc:meta])* $kind:ident $variant:ident $view:ident $ty:ty, $optional:tt, $array:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $kind;
        field_kinds!(@impl $kind $variant $view $ty, $optional, $array);
    )*};
    (@impl $kind:ident $variant:ident $view:ident $ty:ty, false, $array:literal) => {
        impl FieldKind for $kind {
            type In<V: View> = V::$view;
            type Spec = $ty;
            const OPTIONAL: bool = false;
            const ARRAY: bool = $array;
            fn layout(spec: $ty) -> FieldType {
                FieldType::$variant(spec)
            }
            fn value<V: View>(field: V::$view) -> FieldValue<V> {
                FieldValue::$variant(field)
            }
            fn field<V: View>(value: Option<FieldValue<V>>) -> V::$view {
                match value {
                    Some(FieldValue::$variant(field)) => field,
                    other => panic!("the data of another bundle: {other:?}"),
                }
            }
        }
    };
    (@impl $kind:ident $variant:ident $view:ident $ty:ty, true, $array:literal) => {
        impl FieldKind for $kind {
            type In<V: View> = Option<V::$view>;
            type Spec = Option<$ty>;
            const OPTIONAL: bool = true;
            const ARRAY: bool = $array;
            fn layout(spec: Option<$ty>) -> FieldType {
                spec.map_or(FieldType::Absent, FieldType::$variant)
            }
            fn value<V: View>(field: Option<V::$view>) -> FieldValue<V> {
                field.map_or(FieldValue::Absent, FieldValue::$variant)
            }
            fn field<V: View>(value: Option<FieldValue<V>>) -> Option<V::$view> {
                match value {
                    Some(FieldValue::$variant(field)) => Some(field),
                    Some(FieldValue::Absent) => None,
                    other => panic!("the data of another bundle: {other:?}"),
                }
            }
        }
    };
}
field_kinds! {
    /// One value: `last: Field = bit()`.
    Field One One Type, false, false;
    /// Several values: `data: FieldArray = sint(8).array(*lanes)`.
    FieldArray Many Many ArrayType, false, true;
    /// One value that some parameters leave out: `int8: FieldOption = bit().when(p.int8)`.
    FieldOption One One Type, true, false;
    /// Several values that some parameters leave out.
    FieldArrayOption Many Many ArrayType, true, true;
}

/// A struct made by [`bundle!`](crate::bundle), with fields as seen by `V`.
pub trait Record<V: View>: Sized {
    /// All fields, in order.
    const FIELDS: &'static [FieldInfo];
    /// The fields as a list, in order.
    fn into_values(self) -> Vec<FieldValue<V>>;
    /// The struct of such a list.
    ///
    /// # Panics
    /// When the list does not come from the same bundle.
    fn from_values(values: Vec<FieldValue<V>>) -> Self;
}

/// A bundle of signals.
pub trait Bundle: Record<Signals> + Clone {
    /// What the types of the fields depend on.
    type Spec: Clone;

    /// Types of the fields, in order.
    fn layout(spec: &Self::Spec) -> Vec<FieldType>;

    /// Bits of all fields together.
    fn width(spec: &Self::Spec) -> u32 {
        Self::layout(spec).into_iter().map(FieldType::width).sum()
    }

    /// All fields as one vector, the first one in the low bits.
    #[track_caller]
    fn pack(&self) -> Signal {
        let mut parts: Vec<Signal> = Vec::new();
        for value in self.clone().into_values() {
            match value {
                FieldValue::One(signal) => parts.push(signal),
                FieldValue::Many(array) => parts.push(array.packed()),
                FieldValue::Absent => {}
            }
        }
        parts.reverse();
        cat(&parts)
    }

    /// The fields of a vector that [`Bundle::pack`] made. Array fields become nets called `<name>_<field>`.
    #[track_caller]
    fn unpack(m: &mut Module, name: &str, spec: &Self::Spec, vector: Signal) -> Self {
        let mut low = 0;
        let mut part = |width: u32| {
            low += width;
            vector.slice(low - width..low)
        };
        let mut values = Vec::new();
        for (field, ty) in Self::FIELDS.iter().zip(Self::layout(spec)) {
            values.push(match ty {
                FieldType::One(ty) => FieldValue::One(part(ty.width).cast(ty)),
                FieldType::Many(ty) => {
                    let whole = m.wire(&format!("{name}_{}_bits", field.name), part(ty.element.width * ty.count));
                    FieldValue::Many(m.split(&format!("{name}_{}", field.name), whole, ty))
                }
                FieldType::Absent => FieldValue::Absent,
            });
        }
        Self::from_values(values)
    }

    /// Drives each field of `self` from the same field of `source`. Loops are called after `name`.
    #[track_caller]
    fn drive(&self, m: &mut Module, name: &str, source: &Self) {
        let pairs = self.clone().into_values().into_iter().zip(source.clone().into_values());
        for ((to, from), field) in pairs.zip(Self::FIELDS) {
            match (to, from) {
                (FieldValue::One(to), FieldValue::One(from)) => m.connect(to, from),
                (FieldValue::Many(to), FieldValue::Many(from)) => {
                    m.connect_each(&format!("{name}_{}", field.name), to, from);
                }
                (FieldValue::Absent, FieldValue::Absent) => {}
                _ => {
                    let loc = std::panic::Location::caller();
                    with(|e| e.error(loc, format!("`{}` is in one of the bundles only", field.name)));
                }
            }
        }
    }

    /// Registers without reset that take `self` where `load` is high: `<name>_<field>_q`.
    #[track_caller]
    fn hold(&self, m: &mut Module, name: &str, load: Signal) -> Self {
        let mut held = Vec::new();
        for (value, field) in self.clone().into_values().into_iter().zip(Self::FIELDS) {
            let name = format!("{name}_{}", field.name);
            held.push(match value {
                FieldValue::One(signal) => {
                    let register = m.reg(&format!("{name}_q"), signal.ty());
                    register.next_when(load, signal);
                    FieldValue::One(register.q)
                }
                FieldValue::Many(array) => {
                    let registers = m.regs(&name, array.ty().element, array.count());
                    m.for_each(&name, array.count(), |m, i| registers.next_when(m, i, load, array.at(i)));
                    FieldValue::Many(registers.q)
                }
                FieldValue::Absent => FieldValue::Absent,
            });
        }
        Self::from_values(held)
    }
}

/// Declares the fields as ports `<name>_<field>_i` or `_o`.
pub(crate) fn declare<B: Bundle>(b: &mut PortBuilder, name: &str, spec: &B::Spec, direction: Direction) -> B {
    let suffix = if direction == Direction::Input { "i" } else { "o" };
    let mut values = Vec::new();
    for (field, ty) in B::FIELDS.iter().zip(B::layout(spec)) {
        b.document(field.doc);
        let port = if name.is_empty() {
            format!("{}_{suffix}", field.name)
        } else {
            format!("{name}_{}_{suffix}", field.name)
        };
        values.push(match ty {
            FieldType::One(ty) => FieldValue::One(b.scalar(&port, direction, ty)),
            FieldType::Many(ty) => FieldValue::Many(b.array(&port, direction, ty)),
            FieldType::Absent => FieldValue::Absent,
        });
    }
    B::from_values(values)
}

macro_rules! bundle_port {
    ($(#[$doc:meta])* $kind:ident $direction:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $kind<B>(std::marker::PhantomData<B>);
        impl<B: Bundle> PortKind for $kind<B> {
            type Handle = B;
            type Spec = B::Spec;
            fn declare(b: &mut PortBuilder, name: &str, spec: B::Spec) -> B {
                declare(b, name, &spec, Direction::$direction)
            }
        }
    };
}
bundle_port! {
    /// Bundle into the block, without handshake: ports `<name>_<field>_i`.
    InBundle Input
}
bundle_port! {
    /// Bundle out of the block, without handshake: ports `<name>_<field>_o`.
    OutBundle Output
}

impl Signal {
    /// The same bits as a value of type `ty`, which has the same width.
    #[track_caller]
    #[must_use]
    pub fn cast(self, ty: Type) -> Signal {
        if ty.signed { self.as_sint() } else { self.as_uint() }
    }
}

/// Declares a bundle.
///
/// ```
/// use hdl::lang::*;
/// bundle! {
///     /// A tile of a row.
///     pub struct Tile(lanes: u32) {
///         /// The tile is the last one of its row.
///         last: Field = bit(),
///         /// One value a lane.
///         values: FieldArray = sint(8).array(*lanes),
///         /// Number of lanes in use, when there is more than one.
///         used: FieldOption = uint(8).when(*lanes > 1),
///     }
/// }
/// assert_eq!(Tile::width(&4), 1 + 4 * 8 + 8);
/// ```
///
/// The types depend on `lanes`, here a `u32`; in the expressions it is a reference. A port gives its value after the
/// `=`: `row: InStream<Tile> = p.lanes`. In a block and its parent the fields are signals; `Tile<V>` has them as
/// another [`View`] shows them.
#[macro_export]
macro_rules! bundle {
    ($(#[$meta:meta])* $vis:vis struct $name:ident ($p:ident : $spec:ty) {
        $($(#[doc = $doc:literal])+ $field:ident : $kind:ty = $ty:expr),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $name<V: $crate::lang::View = $crate::lang::Signals> {
            $($(#[doc = $doc])+ pub $field: <$kind as $crate::lang::FieldKind>::In<V>,)*
        }

        impl<V: $crate::lang::View> $crate::lang::Record<V> for $name<V> {
            const FIELDS: &'static [$crate::lang::FieldInfo] = &[$($crate::lang::FieldInfo {
                name: stringify!($field),
                doc: concat!($($doc, "\n"),+),
                optional: <$kind as $crate::lang::FieldKind>::OPTIONAL,
                array: <$kind as $crate::lang::FieldKind>::ARRAY,
            }),*];

            fn into_values(self) -> Vec<$crate::lang::FieldValue<V>> {
                vec![$(<$kind as $crate::lang::FieldKind>::value(self.$field)),*]
            }

            fn from_values(values: Vec<$crate::lang::FieldValue<V>>) -> Self {
                let mut values = values.into_iter();
                Self { $($field: <$kind as $crate::lang::FieldKind>::field(values.next()),)* }
            }
        }

        impl $crate::lang::Bundle for $name {
            type Spec = $spec;

            fn layout($p: &$spec) -> Vec<$crate::lang::FieldType> {
                let _ = $p;
                vec![$(<$kind as $crate::lang::FieldKind>::layout($ty)),*]
            }
        }
    };
}
