//! Streams whose beats are structs: what [`hdl::lang::bundle!`](hdl::bundle) declares, with values for fields.
//!
//! The block, its parent and its testbench use one declaration; a beat with a wrong field does not compile.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use hdl::lang::{FieldValue, Record, View};

use crate::stimulus::Stall;
use crate::stream::{Beat, StreamDriver, StreamMonitor, port_name};
use crate::{Bits, Result, Sim};

/// Fields of a bundle as values: the bits of each field. Array fields are packed (see [`Bits::pack`]).
#[derive(Clone, Copy, Debug)]
pub struct Values;

impl View for Values {
    type One = Bits;
    type Many = Bits;
}

/// Offers beats `B` to an input stream, see [`StreamDriver`].
pub struct Driver<B> {
    stream: StreamDriver,
    beat: PhantomData<fn(B)>,
}

impl<B: Record<Values>> Driver<B> {
    /// Binds the stream `name`; see [`StreamDriver::new`].
    ///
    /// # Errors
    /// [`crate::Error::UnknownPort`] when a port is missing.
    pub fn new(sim: &Sim, name: &str, stall: Stall, seed: u64) -> Result<Self> {
        let fields = fields::<B>(|field| sim.input(&port_name(name, field, "i")).is_ok());
        Ok(Self { stream: StreamDriver::new(sim, name, &fields, stall, seed)?, beat: PhantomData })
    }

    /// Queues a beat.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] when a field has another width than its port.
    pub fn push(&mut self, beat: B) -> Result<()> {
        self.stream.push(values(beat))
    }

    /// Queues beats; see [`Driver::push`].
    ///
    /// # Errors
    /// As [`Driver::push`].
    pub fn extend(&mut self, beats: impl IntoIterator<Item = B>) -> Result<()> {
        beats.into_iter().try_for_each(|beat| self.push(beat))
    }
}

/// Takes beats `B` from an output stream and compares them, see [`StreamMonitor`].
pub struct Monitor<B> {
    stream: StreamMonitor,
    beat: PhantomData<fn() -> B>,
}

impl<B: Record<Values>> Monitor<B> {
    /// Binds the stream `name`; see [`StreamMonitor::new`].
    ///
    /// # Errors
    /// [`crate::Error::UnknownPort`] when a port is missing.
    pub fn new(sim: &Sim, name: &str, stall: Stall, seed: u64) -> Result<Self> {
        let fields = fields::<B>(|field| sim.output(&port_name(name, field, "o")).is_ok());
        Ok(Self { stream: StreamMonitor::new(sim, name, &fields, stall, seed)?, beat: PhantomData })
    }

    /// Adds beats that must come next, in this order. A monitor without expected beats only records.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] when a field has another width than its port.
    pub fn expect(&mut self, beats: impl IntoIterator<Item = B>) -> Result<()> {
        self.stream.expect(beats.into_iter().map(values))
    }

    /// All beats taken so far.
    pub fn received(&self) -> Vec<B> {
        let present = self.stream.fields();
        let struct_of = |beat: &Beat| {
            let mut values = beat.iter().cloned();
            let field = |info: &hdl::lang::FieldInfo| match present.iter().any(|p| p == info.name) {
                true => values.next().map_or(FieldValue::Absent, |v| as_field(info, v)),
                false => FieldValue::Absent,
            };
            B::from_values(B::FIELDS.iter().map(field).collect())
        };
        self.stream.beats().iter().map(struct_of).collect()
    }
}

fn as_field(info: &hdl::lang::FieldInfo, value: Bits) -> FieldValue<Values> {
    if info.array { FieldValue::Many(value) } else { FieldValue::One(value) }
}

/// Names of the fields that these parameters have.
fn fields<B: Record<Values>>(exists: impl Fn(&str) -> bool) -> Vec<&'static str> {
    B::FIELDS.iter().filter(|f| !f.optional || exists(f.name)).map(|f| f.name).collect()
}

fn values<B: Record<Values>>(beat: B) -> Beat {
    let value = |v| match v {
        FieldValue::One(bits) | FieldValue::Many(bits) => Some(bits),
        FieldValue::Absent => None,
    };
    beat.into_values().into_iter().filter_map(value).collect()
}

macro_rules! wraps {
    ($($outer:ident $inner:ident;)*) => {$(
        impl<B> Deref for $outer<B> {
            type Target = $inner;

            fn deref(&self) -> &$inner {
                &self.stream
            }
        }

        impl<B> DerefMut for $outer<B> {
            fn deref_mut(&mut self) -> &mut $inner {
                &mut self.stream
            }
        }

        impl<B> AsMut<$inner> for $outer<B> {
            fn as_mut(&mut self) -> &mut $inner {
                &mut self.stream
            }
        }

        impl AsMut<$inner> for $inner {
            fn as_mut(&mut self) -> &mut $inner {
                self
            }
        }
    )*};
}
wraps! {
    Driver StreamDriver;
    Monitor StreamMonitor;
}
