//! Streams between the shell and one of several engines.

use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::lang::{Bundle, Module, Signal, Stream, StreamArray, bit, or_all, reduce, select};

/// Names of the engines' parts of a stream.
const NAMES: [&str; 4] = ["first", "second", "third", "fourth"];

/// Whether each of the streams is in use. At most one bit of `chosen` holds, and its stream is in use; otherwise the
/// last one, which has no bit.
fn used(chosen: &[Signal]) -> Vec<Signal> {
    let others = chosen.iter().copied().reduce(|a, b| a | b).map(|any| !any);
    chosen.iter().copied().chain(others).collect()
}

/// The value of the stream in use, of one value for each stream.
pub(super) fn of_used(chosen: &[Signal], values: &[Signal]) -> Signal {
    let choices: Vec<(Signal, Signal)> = chosen.iter().copied().zip(values.iter().copied()).collect();
    select(&choices, values[chosen.len()])
}

/// A stream to one of several: to the one whose bit of `chosen` holds, otherwise to the last one. At most one bit
/// holds.
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
    to.data.drive(m, &format!("{name}_used"), &data);
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

/// Commands, rows, ends of a DMA.
pub(super) type Transfer<T> = (Stream<DmaCommand>, Stream<T>, Stream<DmaCompletion>);

/// The transfers of the first `count` DMAs.
pub(super) fn transfers<T: Bundle>(
    count: u32,
    commands: &StreamArray<DmaCommand>,
    rows: &StreamArray<T>,
    ends: &StreamArray<DmaCompletion>,
) -> Vec<Transfer<T>> {
    (0..count).map(|k| (commands.at(k), rows.at(k), ends.at(k))).collect()
}

/// The transfer of the only DMA.
pub(super) fn transfer<T: Bundle>(
    commands: &StreamArray<DmaCommand>,
    rows: &StreamArray<T>,
    ends: &StreamArray<DmaCompletion>,
) -> Transfer<T> {
    (commands.at(0), rows.at(0), ends.at(0))
}

/// An engine inside the shell, or the view that the shell has of all of them.
pub(super) struct Engine {
    /// The operation is its own; the last engine does the operations that no other has.
    pub chosen: Option<Signal>,
    /// Abort, first and last byte of the window.
    pub controls: [Signal; 3],
    /// It is idle; it computes; results of this cycle with an overflow.
    pub states: [Signal; 3],
    /// Its operation, and how that ended.
    pub operation: Stream<Operation>,
    pub end: Stream<OperationEnd>,
    /// The DMAs it reads with.
    pub reads: Vec<Transfer<RowBeat>>,
    /// The DMA that it writes with.
    pub write: Transfer<Word>,
}

/// Connects the shell to the chosen engine; the others are idle.
pub(super) fn behind_shell(m: &mut Module, (axi, dma): (&AxiSpec, &DmaSpec), shell: &Engine, engines: &[Engine]) {
    for own in engines {
        for (to, from) in own.controls.into_iter().zip(shell.controls) {
            m.connect(to, from);
        }
    }
    let chosen: Vec<Signal> = engines.iter().filter_map(|own| own.chosen).collect();
    let state = |k: usize| engines.iter().map(move |own| own.states[k]);
    let [idle, computing, overflows] = shell.states;
    m.connect(idle, reduce(&state(0).collect::<Vec<_>>(), |a, b| a & b).unwrap_or(bit().lit(1)));
    m.connect(computing, or_all(bit(), &state(1).collect::<Vec<_>>()));
    let counts: Vec<Signal> = state(2).map(|count| count.extend(overflows.width())).collect();
    m.connect(overflows, of_used(&chosen, &counts));
    let operations: Vec<_> = engines.iter().map(|own| own.operation.clone()).collect();
    fork_all(m, "operation", &chosen, &shell.operation, &operations);
    let ends: Vec<_> = engines.iter().map(|own| own.end.clone()).collect();
    merge_all(m, ("operation_end", &()), &chosen, &shell.end, &ends);
    let spec = (axi.clone(), dma.clone());
    for (k, (command, rows, end)) in shell.reads.iter().enumerate() {
        let readers: Vec<&Engine> = engines.iter().filter(|own| k < own.reads.len()).collect();
        // Where the last engine does not read with it, the turn means nothing, and some other engine has it.
        let mut chosen: Vec<Signal> = readers.iter().filter_map(|own| own.chosen).collect();
        chosen.truncate(readers.len() - 1);
        let commands: Vec<_> = readers.iter().map(|own| own.reads[k].0.clone()).collect();
        merge_all(m, (&format!("read_command_{k}"), &spec), &chosen, command, &commands);
        let all: Vec<_> = readers.iter().map(|own| own.reads[k].1.clone()).collect();
        fork_all(m, &format!("read_{k}"), &chosen, rows, &all);
        let ends: Vec<_> = readers.iter().map(|own| own.reads[k].2.clone()).collect();
        fork_all(m, &format!("read_end_{k}"), &chosen, end, &ends);
    }
    let (command, rows, end) = &shell.write;
    let commands: Vec<_> = engines.iter().map(|own| own.write.0.clone()).collect();
    merge_all(m, ("write_command", &spec), &chosen, command, &commands);
    let all: Vec<_> = engines.iter().map(|own| own.write.1.clone()).collect();
    merge_all(m, ("write", &axi.data_width), &chosen, rows, &all);
    let ends: Vec<_> = engines.iter().map(|own| own.write.2.clone()).collect();
    fork_all(m, "write_end", &chosen, end, &ends);
}
