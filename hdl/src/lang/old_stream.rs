//! Streams with fields by name: on their way out.
//!
//! Ready/valid streams. A beat moves in a cycle where both are high; `valid` must not wait for `ready`, and once high
//! stays high with stable data until the beat has moved.

use std::panic::Location;

use super::array::Array;
use super::context::with;
use super::ir::Direction;
use super::module::Module;
use super::ports::PortBuilder;
use super::signal::{Signal, build};
use super::types::{ArrayType, Type, bit};

/// What one beat of a stream carries.
#[derive(Clone, Debug, Default)]
pub struct OldStreamType {
    fields: Vec<(String, OldFieldType)>,
}

#[derive(Clone, Copy, Debug)]
enum OldFieldType {
    Scalar(Type),
    Array(ArrayType),
}

/// A stream without payload; add fields with [`OldStreamType::field`] and [`OldStreamType::array`].
#[must_use]
pub fn stream() -> OldStreamType {
    OldStreamType::default()
}

impl OldStreamType {
    /// Adds a field.
    #[must_use]
    pub fn field(mut self, name: &str, ty: Type) -> Self {
        self.fields.push((name.into(), OldFieldType::Scalar(ty)));
        self
    }

    /// Adds an array field.
    #[must_use]
    pub fn array(mut self, name: &str, ty: ArrayType) -> Self {
        self.fields.push((name.into(), OldFieldType::Array(ty)));
        self
    }
}

/// The signals of a stream port.
#[derive(Clone, Debug)]
pub struct OldStream {
    /// A beat is offered.
    pub valid: Signal,
    /// The beat is taken.
    pub ready: Signal,
    name: String,
    fields: Vec<(String, Field)>,
}

#[derive(Clone, Copy, Debug)]
enum Field {
    Scalar(Signal),
    Array(Array),
}

impl OldStream {
    pub(crate) fn declare(b: &mut PortBuilder, name: &str, ty: OldStreamType, direction: Direction) -> OldStream {
        let (forth, back, forth_suffix, back_suffix) = match direction {
            Direction::Input => (Direction::Input, Direction::Output, "i", "o"),
            Direction::Output => (Direction::Output, Direction::Input, "o", "i"),
        };
        let valid = b.scalar(&format!("{name}_valid_{forth_suffix}"), forth, bit());
        let ready = b.scalar(&format!("{name}_ready_{back_suffix}"), back, bit());
        let mut fields = Vec::new();
        for (field, ty) in ty.fields {
            let port = format!("{name}_{field}_{forth_suffix}");
            let handle = match ty {
                OldFieldType::Scalar(ty) => Field::Scalar(b.scalar(&port, forth, ty)),
                OldFieldType::Array(ty) => Field::Array(b.array(&port, forth, ty)),
            };
            fields.push((field, handle));
        }
        OldStream { valid, ready, name: name.into(), fields }
    }

    /// High in the cycle in which a beat moves.
    #[track_caller]
    #[must_use]
    pub fn fire(&self) -> Signal {
        self.valid & self.ready
    }

    /// The scalar field `name`.
    #[track_caller]
    #[must_use]
    pub fn field(&self, name: &str) -> Signal {
        match self.fields.iter().find(|f| f.0 == name) {
            Some((_, Field::Scalar(signal))) => *signal,
            _ => {
                self.missing("field", name);
                build(Location::caller(), bit(), |e| e.poison(bit()))
            }
        }
    }

    /// The array field `name`.
    #[track_caller]
    #[must_use]
    pub fn array(&self, name: &str) -> Array {
        match self.fields.iter().find(|f| f.0 == name) {
            Some((_, Field::Array(array))) => *array,
            _ => {
                self.missing("array field", name);
                // Stands for an array that is not there.
                Array { net: u32::MAX, serial: u32::MAX, ty: bit().array(1), stride: 1 }
            }
        }
    }

    #[track_caller]
    fn missing(&self, what: &str, name: &str) {
        let loc = Location::caller();
        let list = |(name, field): &(String, Field)| match field {
            Field::Scalar(signal) => format!("{name} ({})", signal.ty),
            Field::Array(array) => format!("{name} (array of {} {})", array.ty.count, array.ty.element),
        };
        let have = self.fields.iter().map(list).collect::<Vec<_>>().join(", ");
        with(|e| e.error(loc, format!("stream `{}` has no {what} `{name}`; its fields are: {have}", self.name)));
    }
}

impl Module {
    /// Connects a stream `from` a producer `to` a consumer: valid and data forth, ready back.
    #[track_caller]
    pub fn connect_old_stream(&mut self, to: &OldStream, from: &OldStream) {
        self.connect(to.valid, from.valid);
        self.connect(from.ready, to.ready);
        for (name, field) in &to.fields {
            match field {
                Field::Scalar(target) => self.connect(*target, from.field(name)),
                Field::Array(target) => {
                    // Named by the net: two instances of a block have ports of the same name.
                    let net = with(|e| e.current().ir.nets.get(target.net as usize).map(|n| n.name.clone()));
                    let net = net.flatten().unwrap_or_default();
                    self.connect_each(super::names::port_stem(&net), *target, from.array(name));
                }
            }
        }
    }
}
