//! Streams between the shell and one of two engines.

use crate::lang::{Bundle, Module, Signal, Stream, mux};

/// A stream to the first of two where `first` holds, else to the second.
pub(super) fn fork<B: Bundle>(
    m: &mut Module,
    name: &str,
    first: Signal,
    from: &Stream<B>,
    to: (&Stream<B>, &Stream<B>),
) {
    m.connect(to.0.valid, from.valid & first);
    m.connect(to.1.valid, from.valid & !first);
    to.0.data.drive(m, &format!("{name}_first"), &from.data);
    to.1.data.drive(m, &format!("{name}_second"), &from.data);
    m.connect(from.ready, mux(first, to.0.ready, to.1.ready));
}

/// A stream from the first of two where `first` holds, else from the second.
pub(super) fn merge<B: Bundle>(
    m: &mut Module,
    (name, spec): (&str, &B::Spec),
    first: Signal,
    to: &Stream<B>,
    from: (&Stream<B>, &Stream<B>),
) {
    m.connect(to.valid, mux(first, from.0.valid, from.1.valid));
    let chosen = m.wire(name, mux(first, from.0.data.pack(), from.1.data.pack()));
    let chosen = B::unpack(m, name, spec, chosen);
    to.data.drive(m, name, &chosen);
    m.connect(from.0.ready, to.ready & first);
    m.connect(from.1.ready, to.ready & !first);
}
