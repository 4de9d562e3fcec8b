//! Ready/valid streams. A beat moves in a cycle where both are high; `valid` must not wait for `ready`, and once high
//! stays high with stable data until the beat has moved.

use std::marker::PhantomData;
use std::ops::Deref;

use super::bundle::Bundle;
use super::ir::Direction;
use super::module::Module;
use super::ports::{PortBuilder, PortKind};
use super::signal::Signal;
use super::types::bit;

/// The signals of a stream port. The fields of its bundle are the stream's own: `io.tile.last`.
#[derive(Clone, Debug)]
pub struct Stream<B> {
    /// A beat is offered.
    pub valid: Signal,
    /// The beat is taken.
    pub ready: Signal,
    /// What a beat carries.
    pub data: B,
    pub(crate) name: String,
}

impl<B> Deref for Stream<B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.data
    }
}

impl<B> Stream<B> {
    /// A stream made of signals; arrays that are connected from it are called after `name`.
    #[must_use]
    pub fn new(name: &str, valid: Signal, ready: Signal, data: B) -> Self {
        Self { valid, ready, data, name: name.into() }
    }

    /// High in the cycle in which a beat moves.
    #[track_caller]
    #[must_use]
    pub fn fire(&self) -> Signal {
        self.valid & self.ready
    }
}

impl<B: Bundle> Stream<B> {
    fn declare(b: &mut PortBuilder, name: &str, spec: &B::Spec, direction: Direction) -> Self {
        let (forth, back, forth_suffix, back_suffix) = match direction {
            Direction::Input => (Direction::Input, Direction::Output, "i", "o"),
            Direction::Output => (Direction::Output, Direction::Input, "o", "i"),
        };
        let port = |part: &str| if name.is_empty() { part.to_string() } else { format!("{name}_{part}") };
        let valid = b.scalar(&port(&format!("valid_{forth_suffix}")), forth, bit());
        b.document("The beat is taken at the coming edge, when it is valid.");
        let ready = b.scalar(&port(&format!("ready_{back_suffix}")), back, bit());
        let data = super::bundle::declare(b, name, spec, direction);
        Stream { valid, ready, data, name: name.into() }
    }
}

macro_rules! stream_port {
    ($(#[$doc:meta])* $kind:ident $direction:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $kind<B>(PhantomData<B>);
        impl<B: Bundle> PortKind for $kind<B> {
            type Handle = Stream<B>;
            type Spec = B::Spec;
            fn declare(b: &mut PortBuilder, name: &str, spec: B::Spec) -> Stream<B> {
                Stream::declare(b, name, &spec, Direction::$direction)
            }
        }
    };
}
stream_port! {
    /// Ready/valid stream into the block: `load: InStream<Tile> = p.lanes`; ports `load_valid_i`, `load_ready_o`,
    /// `load_<field>_i`.
    InStream Input
}
stream_port! {
    /// Ready/valid stream out of the block: ports `<name>_valid_o`, `<name>_ready_i`, `<name>_<field>_o`.
    OutStream Output
}

impl Module {
    /// Connects a stream `from` a producer `to` a consumer: valid and data forth, ready back.
    #[track_caller]
    pub fn connect_stream<B: Bundle>(&mut self, to: &Stream<B>, from: &Stream<B>) {
        self.connect_handshake(to, from);
        to.data.drive(self, &to.name, &from.data);
    }

    /// Connects valid `from` a producer `to` a consumer, and ready back: for streams whose beats differ. The fields of
    /// `to` are connected apart.
    #[track_caller]
    pub fn connect_handshake<To, From>(&mut self, to: &Stream<To>, from: &Stream<From>) {
        self.connect(to.valid, from.valid);
        self.connect(from.ready, to.ready);
    }
}
