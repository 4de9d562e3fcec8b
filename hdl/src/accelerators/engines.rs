//! Streams between the shell and one of several engines.

use crate::lang::{Bundle, Module, Signal, Stream, select};

/// What the engines' parts of a stream are called.
const NAMES: [&str; 4] = ["first", "second", "third", "fourth"];

/// Whether each of the streams is the one that is used: that whose bit of `chosen` holds, at most one of which does, or the
/// last one, which has none.
fn used(chosen: &[Signal]) -> Vec<Signal> {
    let others = chosen.iter().copied().reduce(|a, b| a | b).map(|any| !any);
    chosen.iter().copied().chain(others).collect()
}

/// One value for each stream, of that which is used.
pub(super) fn of_used(chosen: &[Signal], values: &[Signal]) -> Signal {
    let choices: Vec<(Signal, Signal)> = chosen.iter().copied().zip(values.iter().copied()).collect();
    select(&choices, values[chosen.len()])
}

/// A stream to one of several: to that whose bit of `chosen` holds, at most one of which does, else to the last one.
pub(super) fn fork_all<B: Bundle>(m: &mut Module, name: &str, chosen: &[Signal], from: &Stream<B>, to: &[Stream<B>]) {
    if let [only] = to {
        return m.connect_stream(only, from);
    }
    for (here, to) in used(chosen).into_iter().zip(to) {
        m.connect(to.valid, from.valid & here);
    }
    for (to, which) in to.iter().zip(NAMES) {
        to.data.drive(m, &format!("{name}_{which}"), &from.data);
    }
    let ready: Vec<Signal> = to.iter().map(|to| to.ready).collect();
    m.connect(from.ready, of_used(chosen, &ready));
}

/// A stream from one of several, as [`fork_all`].
pub(super) fn merge_all<B: Bundle>(
    m: &mut Module,
    (name, spec): (&str, &B::Spec),
    chosen: &[Signal],
    to: &Stream<B>,
    from: &[Stream<B>],
) {
    if let [only] = from {
        return m.connect_stream(to, only);
    }
    let valid: Vec<Signal> = from.iter().map(|from| from.valid).collect();
    m.connect(to.valid, of_used(chosen, &valid));
    let data: Vec<Signal> = from.iter().map(|from| from.data.pack()).collect();
    let data = m.wire(name, of_used(chosen, &data));
    let data = B::unpack(m, name, spec, data);
    to.data.drive(m, &format!("{name}_out"), &data);
    for (here, from) in used(chosen).into_iter().zip(from) {
        m.connect(from.ready, to.ready & here);
    }
}

/// A stream to the first of two where `first` holds, else to the second.
pub(super) fn fork<B: Bundle>(
    m: &mut Module,
    name: &str,
    first: Signal,
    from: &Stream<B>,
    to: (&Stream<B>, &Stream<B>),
) {
    fork_all(m, name, &[first], from, &[to.0.clone(), to.1.clone()]);
}

/// A stream from the first of two where `first` holds, else from the second.
pub(super) fn merge<B: Bundle>(
    m: &mut Module,
    name: (&str, &B::Spec),
    first: Signal,
    to: &Stream<B>,
    from: (&Stream<B>, &Stream<B>),
) {
    merge_all(m, name, &[first], to, &[from.0.clone(), from.1.clone()]);
}
