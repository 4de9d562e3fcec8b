//! Engines between the shell's streams: the ports that all of them have, and how several share one shell.

use crate::blocks::common::arith::popcount::ones;
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::shell::{
    Dispatcher, JobShellPorts, Operation, OperationController, OperationControllerPorts, OperationEnd, OperationSpec,
    ShellFields,
};
use crate::blocks::common::stream::Word;
use crate::lang::operation::OperationBlock;
use crate::lang::{
    Bundle, In, InOption, InStream, InStreams, Module, Out, OutStream, OutStreams, Signal, Stream, bit, bits_for,
    connect_all, or_all, ports, reduce, select, uint,
};

/// What the ports of an engine depend on.
#[derive(Clone, Debug)]
pub struct EngineSpec {
    /// The bus as a DMA sees it.
    pub axi: AxiSpec,
    /// Commands of the DMAs.
    pub dma: DmaSpec,
    /// DMAs that it reads with, the first ones of the shell.
    pub readers: u32,
    /// Most results of a cycle that are not exact; 0 counts as 1.
    pub overflows: u32,
    /// Its operations wait for those of other engines.
    pub waits: bool,
    /// It reads early what does not depend on them.
    pub early: bool,
}

impl EngineSpec {
    /// The ports of an engine that has this controller, and up to so many results of a cycle that are not exact.
    #[must_use]
    pub fn of(controller: OperationController, overflows: u32) -> Self {
        let OperationController { axi, dma, readers, waits, late, .. } = controller;
        Self { axi, dma, readers, overflows, waits, early: late > 0 }
    }
}

/// Words of an operation: a descriptor of 128 bytes without its header.
pub const WORDS: u32 = 24;

ports! {
    /// The ports of an engine to the shell.
    pub struct EnginePorts(p: &EngineSpec) {
        /// Drops everything.
        abort_i: In = bit(),
        /// No operation is in hand, and nothing of one is inside.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// It computes in this cycle.
        computing_o: Out = bit(),
        /// Results of this cycle that are not exact.
        overflows_o: Out = uint(bits_for(p.overflows.max(1).into())),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = OperationSpec::alone(WORDS),
        /// The operation in hand is right; high in a cycle before its end at least.
        right_o: Out = bit(),
        /// All operations have ended that the one in hand depends on.
        released_i: InOption = bit().when(p.waits),
        /// All operations have ended that may write what the one in hand reads early.
        early_i: InOption = bit().when(p.early),
        /// How it ended.
        operation_end: OutStream<OperationEnd> = None,
        /// What to read.
        read_command: OutStreams<DmaCommand> = (p.readers, (p.axi.clone(), p.dma.clone())),
        /// The rows.
        read: InStreams<RowBeat> = (p.readers, p.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (p.readers, p.axi.clone()),
        /// Where to write.
        write_command: OutStreams<DmaCommand> = (1, (p.axi.clone(), p.dma.clone())),
        /// The rows.
        write: OutStreams<Word> = (1, p.axi.data_width),
        /// How writing ended.
        write_end: InStreams<DmaCompletion> = (1, p.axi.clone()),
    }
}

impl EnginePorts {
    /// The fields of the operation in hand by the table of `block`, the instance `name`.
    #[track_caller]
    pub fn decode<O: OperationBlock>(&self, m: &mut Module, name: &str, block: O) -> O::Ports {
        let ports = m.instance(name, block);
        m.connect_each("word", O::decoder(&ports).words, self.operation.words);
        ports
    }

    /// The same in an engine with one operation: whatever number comes, it is that one.
    #[track_caller]
    pub fn only<O: OperationBlock>(&self, m: &mut Module, block: O) -> O::Ports {
        m.unused(self.operation.opcode);
        self.decode(m, "u_operation", block)
    }

    /// The controller, with operations, the window, aborts and ends of commands; its ends go to the shell.
    #[track_caller]
    pub fn controller(&self, m: &mut Module, block: OperationController) -> OperationControllerPorts {
        let controller = m.instance("u_controller", block);
        self.control(m, &controller);
        controller
    }

    /// Gives operations, the window, aborts and ends of commands to the controller, and its ends to the shell.
    #[track_caller]
    fn control(&self, m: &mut Module, controller: &OperationControllerPorts) {
        m.connect(controller.valid_i, self.operation.valid);
        m.connect(self.operation.ready, controller.ready_o);
        self.control_inside(m, controller);
    }

    /// The same, and an operation is taken only while `may` holds.
    #[track_caller]
    pub fn control_while(&self, m: &mut Module, controller: &OperationControllerPorts, may: Signal) {
        m.connect(controller.valid_i, self.operation.valid & may);
        m.connect(self.operation.ready, controller.ready_o & may);
        self.control_inside(m, controller);
    }

    #[track_caller]
    fn control_inside(&self, m: &mut Module, controller: &OperationControllerPorts) {
        connect_all!(m, controller, self, [abort_i, window_base_i, window_limit_i]);
        m.connect(self.right_o, controller.right_o);
        for (to, from) in [(controller.released_i, self.released_i), (controller.early_i, self.early_i)] {
            m.connect_option(to, from);
        }
        m.connect_stream(&self.operation_end, &controller.operation_end);
        controller.read_end.connect(m, &self.read_end);
        controller.write_end.connect(m, &self.write_end);
    }

    /// An engine that shares a part with others tells when an operation that uses the part is taken, and when it has ended
    /// without an error. `uses`: the operation in hand does.
    #[track_caller]
    pub fn uses(&self, m: &mut Module, (takes, leaves): (Option<Signal>, Option<Signal>), uses: Signal) {
        let (operation, end) = (&self.operation, &self.operation_end);
        m.connect_option(takes, takes.map(|_| operation.fire() & uses));
        m.connect_option(leaves, leaves.map(|_| end.fire() & !end.error.any() & uses));
    }

    /// Gives all commands of the controller to the DMAs, as they are: no DMA takes others, and nothing is in flight
    /// without an operation in hand.
    #[track_caller]
    pub fn command(&self, m: &mut Module, controller: &OperationControllerPorts) {
        m.connect(self.idle_o, controller.idle_o);
        self.read_command.connect(m, &controller.read_command);
        self.write_command.connect(m, &controller.write_command);
        m.for_each("other_command", controller.other_taken_i.count(), |m, k| {
            m.connect(controller.other_taken_i.at(k), 0);
        });
    }
}

/// An engine inside a top.
#[derive(Debug)]
pub struct Engine<'a> {
    /// Name of the wire that says that an operation is its own.
    pub name: &'a str,
    /// Numbers of its operations. The last engine of a top does all operations that no other one has.
    pub opcodes: &'a [u32],
    /// Its ports.
    pub ports: &'a EnginePorts,
}

/// Operations on their way to the engines, and their ends.
#[derive(Debug)]
pub struct Operations {
    /// Operations that come.
    pub operation: Stream<Operation>,
    /// Ends that go.
    pub end: Stream<OperationEnd>,
}

/// Whether each of the streams is in use. At most one bit of `chosen` holds, and its stream is in use; otherwise the
/// last one, which has no bit.
fn used(chosen: &[Signal]) -> Vec<Signal> {
    let others = chosen.iter().copied().reduce(|a, b| a | b).map(|any| !any);
    chosen.iter().copied().chain(others).collect()
}

/// The value of the stream in use, of one value for each stream.
fn of_used(chosen: &[Signal], values: &[Signal]) -> Signal {
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
    for (which, to) in to.iter().enumerate() {
        to.data.drive(m, &format!("{name}_to_{which}"), &from.data);
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

/// Connects a shell to its engines: an operation belongs to the engine that has its opcode. One engine works at a time,
/// and the DMAs are its own meanwhile; or all work at the same time, each with DMAs of its own. Returns which engine an
/// operation that comes belongs to, a bit for each.
pub(super) fn behind_shell(
    m: &mut Module,
    (axi, dma): (&AxiSpec, &DmaSpec),
    shell: &JobShellPorts,
    registers: &ShellFields,
    operations: &Operations,
    engines: &[Engine<'_>],
) -> Vec<Signal> {
    if engines.is_empty() {
        m.error("a top without an engine: give it one at least");
        return Vec::new();
    }
    let overlaps = operations.operation.kept.is_some();
    let of_engines = engines.iter().map(|own| own.ports.read.count());
    let reads = if overlaps { of_engines.sum() } else { of_engines.max().unwrap_or(0) };
    let readers = shell.dmas.read.count();
    if reads != readers {
        m.error(&format!("the shell has {readers} DMAs that read, its engines use {reads}: make both equal"));
        return Vec::new();
    }
    let (writers, wanted) = (shell.dmas.write.count(), if overlaps { engines.len() as u32 } else { 1 });
    if writers != wanted {
        m.error(&format!("the shell has {writers} DMAs that write, its engines use {wanted}: make both equal"));
        return Vec::new();
    }
    for own in engines {
        m.connect(own.ports.abort_i, shell.abort_o);
        m.connect(own.ports.window_base_i, registers.window_base);
        m.connect(own.ports.window_limit_i, registers.window_limit);
    }
    let opcode = operations.operation.opcode;
    let chosen: Vec<Signal> = engines[..engines.len().saturating_sub(1)]
        .iter()
        .map(|own| {
            let own_opcodes: Vec<Signal> = own.opcodes.iter().map(|&number| opcode.eq(number)).collect();
            m.wire(own.name, or_all(bit(), &own_opcodes))
        })
        .collect();
    if chosen.is_empty() {
        m.unused(opcode);
    }
    let computing: Vec<Signal> = engines.iter().map(|own| own.ports.computing_o).collect();
    if overlaps {
        side_by_side(m, shell, operations, &chosen, engines);
        let computing = ones(m, "computing", &computing);
        m.connect(shell.computing_i, computing);
        return used(&chosen);
    }
    m.connect(shell.computing_i, or_all(bit(), &computing));
    for own in engines {
        m.unused(own.ports.right_o);
    }
    let all: Vec<_> = engines.iter().map(|own| own.ports.operation.clone()).collect();
    fork_all(m, "operation", &chosen, &operations.operation, &all);
    let all: Vec<_> = engines.iter().map(|own| own.ports.operation_end.clone()).collect();
    merge_all(m, ("operation_end", &None), &chosen, &operations.end, &all);
    let spec = (axi.clone(), dma.clone());
    for k in 0..shell.dmas.read.count() {
        let readers: Vec<&Engine<'_>> = engines.iter().filter(|own| k < own.ports.read.count()).collect();
        // Where the last engine does not read with it, the turn means nothing, and some other engine has it.
        let reads = engines.iter().zip(&chosen).filter(|(own, _)| k < own.ports.read.count());
        let mut chosen: Vec<Signal> = reads.map(|(_, &chosen)| chosen).collect();
        chosen.truncate(readers.len().saturating_sub(1));
        let commands: Vec<_> = readers.iter().map(|own| own.ports.read_command.at(k)).collect();
        let command = shell.dmas.read_command.at(k);
        merge_all(m, (&format!("read_command_{k}"), &spec), &chosen, &command, &commands);
        let all: Vec<_> = readers.iter().map(|own| own.ports.read.at(k)).collect();
        fork_all(m, &format!("read_{k}"), &chosen, &shell.dmas.read.at(k), &all);
        let ends: Vec<_> = readers.iter().map(|own| own.ports.read_end.at(k)).collect();
        fork_all(m, &format!("read_end_{k}"), &chosen, &shell.dmas.read_end.at(k), &ends);
    }
    let commands: Vec<_> = engines.iter().map(|own| own.ports.write_command.at(0)).collect();
    merge_all(m, ("write_command", &spec), &chosen, &shell.dmas.write_command.at(0), &commands);
    let all: Vec<_> = engines.iter().map(|own| own.ports.write.at(0)).collect();
    merge_all(m, ("write", &axi.data_width), &chosen, &shell.dmas.write.at(0), &all);
    let ends: Vec<_> = engines.iter().map(|own| own.ports.write_end.at(0)).collect();
    fork_all(m, "write_end", &chosen, &shell.dmas.write_end.at(0), &ends);
    used(&chosen)
}

/// A dispatcher gives the operations to the engines, each of which has DMAs of its own: the readers of the first engine
/// come first.
fn side_by_side(
    m: &mut Module,
    shell: &JobShellPorts,
    operations: &Operations,
    chosen: &[Signal],
    engines: &[Engine<'_>],
) {
    let count = engines.len() as u32;
    let kept_width = operations.operation.kept.map_or(1, Signal::width);
    let dispatcher = m.instance("u_dispatcher", Dispatcher { engines: count, words: WORDS, kept_width });
    m.connect(dispatcher.clear_i, shell.abort_o);
    m.unused(dispatcher.idle_o);
    m.connect_stream(&dispatcher.operation, &operations.operation);
    m.connect_stream(&operations.end, &dispatcher.operation_end);
    let numbers = (0..).zip(chosen).map(|(number, &here)| (here, dispatcher.engine_i.ty().lit(number)));
    let numbers: Vec<(Signal, Signal)> = numbers.collect();
    m.connect(dispatcher.engine_i, select(&numbers, dispatcher.engine_i.ty().lit(count - 1)));
    let mut reader = 0;
    for (number, own) in (0..).zip(engines) {
        let ports = own.ports;
        let given = dispatcher.engine.at(number);
        m.connect_handshake(&ports.operation, &given);
        m.connect(ports.operation.opcode, given.opcode);
        let words = m.split(&format!("words_{number}"), given.words, ports.operation.words.ty());
        m.connect_each(&format!("words_given_{number}"), ports.operation.words, words);
        m.connect(dispatcher.right_i.at(number), ports.right_o);
        let released = dispatcher.released_o.at(number);
        match ports.released_i {
            Some(to) => m.connect(to, released),
            None => m.error("an engine beside others does not wait for their operations: give its controller `waits`"),
        }
        let early = dispatcher.early_o.at(number);
        match ports.early_i {
            Some(to) => m.connect(to, early),
            None => m.unused(early),
        }
        m.connect_stream(&dispatcher.engine_end.at(number), &ports.operation_end);
        for k in 0..ports.read.count() {
            m.connect_stream(&shell.dmas.read_command.at(reader), &ports.read_command.at(k));
            m.connect_stream(&ports.read.at(k), &shell.dmas.read.at(reader));
            m.connect_stream(&ports.read_end.at(k), &shell.dmas.read_end.at(reader));
            reader += 1;
        }
        m.connect_stream(&shell.dmas.write_command.at(number), &ports.write_command.at(0));
        m.connect_stream(&shell.dmas.write.at(number), &ports.write.at(0));
        m.connect_stream(&ports.write_end.at(0), &shell.dmas.write_end.at(number));
    }
}

/// All engines are idle.
#[must_use]
pub fn all_idle(engines: &[Engine<'_>]) -> Signal {
    let idle: Vec<Signal> = engines.iter().map(|own| own.ports.idle_o).collect();
    reduce(&idle, |a, b| a & b).unwrap_or(bit().lit(1))
}

/// Results of the engine in use that are not exact; `chosen` comes from [`behind_shell`]. Of all engines together, where
/// they work at the same time.
pub(super) fn overflows(overlaps: bool, chosen: &[Signal], engines: &[Engine<'_>]) -> Signal {
    if overlaps {
        let counts: Vec<Signal> = engines.iter().map(|own| own.ports.overflows_o).collect();
        return reduce(&counts, |a, b| a + b).unwrap_or(bit().lit(0));
    }
    let width = engines.iter().map(|own| own.ports.overflows_o.width()).max().unwrap_or(1);
    let counts: Vec<Signal> = engines.iter().map(|own| own.ports.overflows_o.extend(width)).collect();
    of_used(&chosen[..chosen.len().saturating_sub(1)], &counts)
}
