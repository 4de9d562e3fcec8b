//! Parts of ready/valid streams. They carry a word of plain bits; the functions in each file carry any bundle through
//! them.

mod properties;
pub mod stream_arbiter;
pub mod stream_fifo;
pub mod stream_fork;
pub mod stream_join;
pub mod stream_register;
pub mod stream_width_converter;

pub use stream_arbiter::{Arbitration, StreamArbiter, StreamArbiterPorts};
pub use stream_fifo::{FifoStorage, StreamFifo, StreamFifoPorts, fifo};
pub use stream_fork::{StreamFork, StreamForkPorts};
pub use stream_join::{StreamJoin, StreamJoinPorts};
pub use stream_register::{Cut, StreamRegister, StreamRegisterPorts, register};
pub use stream_width_converter::{StreamWidthConverter, StreamWidthConverterPorts};

use crate::lang::{Bundle, Field, Module, Signal, Stream, bundle, uint};

bundle! {
    /// A word of plain bits.
    pub struct Word(width: u32) {
        /// The bits.
        data: Field = uint(*width),
    }
}

/// Connects a stream of any bundle to a block that carries words: packed into `input`, unpacked from `output`. The nets
/// of the result are called after `name`.
#[track_caller]
fn carry<B: Bundle>(
    m: &mut Module,
    name: &str,
    spec: &B::Spec,
    from: &Stream<B>,
    (input, output): (&Stream<Word>, &Stream<Word>),
) -> Stream<B> {
    m.connect(input.valid, from.valid);
    m.connect(input.data.data, from.data.pack());
    m.connect(from.ready, input.ready);
    let data = B::unpack(m, name, spec, output.data.data);
    Stream::new(name, output.valid, output.ready, data)
}

/// `level` counts from 0 to `last` and starts again.
#[track_caller]
fn wrapping_next(level: Signal, last: u32) -> Signal {
    let zero = level.ty().lit(0);
    crate::lang::mux(level.eq(last), zero, level.wrapping_add(1))
}
