//! What all accelerators have between a host and memory: registers, shell, engines, counters.

use super::engine::{Engine, Operations, all_idle, behind_shell, overflows};
use super::registers::{AcceleratorRegisters, AcceleratorRegistersPorts, OwnRegisters};
use crate::blocks::common::bus::axi::AxiManagers;
use crate::blocks::common::bus::{AxiLiteSubordinate, AxiSpec, DmaSpec};
use crate::blocks::common::shell::{BusCaps, EventCounters, JobShell, JobShellPorts};
use crate::lang::operation::Opcode;
use crate::lang::{Block, Module, Out, PortBuilder, Ports, Rules, Signal, bit, bits_for, parameters, ports};

parameters! {
    /// How an accelerator reaches memory: the parameters that all of them have.
    pub struct TopParameters {
        /// The bus as a DMA sees it.
        axi: AxiSpec = AxiSpec::default();
        /// Bursts of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory; reader n is on port n modulo ports, and the writer counts as the reader after the last one.
        ports: u32 = 1, in 1..=32, note "at most one for each DMA", named "when set";
        /// Operations that are independent of each other run at the same time, one on each engine, and each engine has
        /// DMAs of its own.
        overlaps: bool = false, tag "overlaps";
        /// Beats that a read DMA keeps.
        read_beats: u32 = 64, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that the write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "w";
    }
}

impl TopParameters {
    /// A bus of so many bits of data and of addresses, and beats of a burst; the rest as by default.
    #[must_use]
    pub fn new(data_width: u32, address_width: u32, burst_beats: u32) -> Self {
        let axi = AxiSpec { address_width, data_width, id_width: 1 };
        Self { axi, dma: DmaSpec { burst_beats, ..DmaSpec::default() }, ..Self::default() }
    }

    /// The rule that operations do not overlap, for the reason given.
    pub fn demand_no_overlap(&self, rules: &mut Rules, why: &str) {
        rules.demand(!self.overlaps, "overlaps", self.overlaps, format!("false: {why}"));
    }

    /// The shell for engines that read with so many DMAs each, and write with one.
    #[must_use]
    pub fn shell(&self, readers: &[u32]) -> JobShell {
        let engines = if self.overlaps { readers.len() as u32 } else { 1 };
        let all = if engines > 1 { readers.iter().sum() } else { readers.iter().copied().max().unwrap_or(1) };
        JobShell {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            ports: self.ports,
            readers: all,
            writers: engines,
            engines,
            read_beats: self.read_beats,
            write_beats: self.write_beats,
            ..JobShell::default()
        }
    }
}

/// A complete accelerator: a job in memory, results in memory.
pub trait Accelerator: Block {
    /// The registers that only it has.
    type Own: OwnRegisters;

    /// Its shell: bus, DMAs, ports to memory.
    fn shell(&self) -> JobShell;

    /// DMAs that read, of each engine, in the order in which [`Top::engines`] gets them. Only where operations overlap does
    /// each engine have its own.
    fn readers(&self) -> Vec<u32> {
        vec![self.shell().readers]
    }

    /// The block of its registers.
    fn registers(&self) -> AcceleratorRegisters<Self::Own> {
        let JobShell { axi, ports, .. } = self.shell();
        AcceleratorRegisters { own: self.own_registers(), bus: BusCaps::of(&axi, ports) }
    }

    /// What its own registers depend on.
    fn own_registers(&self) -> <Self::Own as crate::lang::registers::RegisterFields>::Spec;

    /// Its operations, by number. Operations of a part that was left out may be among them, so that software has one
    /// table for all builds. The last engine refuses them, and every number up to the largest one that is not here.
    fn operations(&self) -> Vec<Opcode>;

    /// The largest number of an operation, whatever parts are there.
    fn opcodes(&self) -> u32 {
        self.operations().iter().map(|operation| operation.number).max().unwrap_or(1)
    }
}

/// What the ports of a top depend on: ports to memory, and the bus at each.
pub type TopSpec = (u32, AxiSpec);

ports! {
    /// The ports that all accelerators have.
    pub struct TopPorts(p: &TopSpec) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Memory.
        mem: AxiManagers = (p.0, p.1.clone()),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
    }
}

/// An accelerator without ports of its own has these.
impl<A: Accelerator> Ports<A> for TopPorts {
    #[track_caller]
    fn declare(builder: &mut PortBuilder, accelerator: &A) -> Self {
        <Self as Ports<TopSpec>>::declare(builder, &top_spec(&accelerator.shell()))
    }
}

/// What the ports of an accelerator's top depend on.
#[must_use]
pub fn top_spec(shell: &JobShell) -> TopSpec {
    (shell.ports, shell.port())
}

/// The parts that all accelerators have, inside a top.
#[derive(Debug)]
pub struct Top<F> {
    /// Its registers.
    pub registers: AcceleratorRegistersPorts<F>,
    /// Its shell.
    pub shell: JobShellPorts,
    block: JobShell,
}

impl<F: OwnRegisters> Top<F> {
    /// Puts registers and shell between the ports of `accelerator`.
    #[track_caller]
    pub fn new<A: Accelerator<Own = F>>(m: &mut Module, accelerator: &A, io: &TopPorts) -> Self {
        let block = accelerator.shell();
        let registers = m.instance("u_registers", accelerator.registers());
        let shell = m.instance("u_shell", block.clone());
        m.offers(accelerator.operations());
        m.connect(shell.opcodes_i, accelerator.opcodes());
        m.connect(io.irq_o, registers.irq);
        for (to, from) in io.mem.iter().zip(&shell.mem) {
            to.connect(m, from);
        }
        shell.connect_registers(m, (&registers.ctrl, &io.ctrl), &registers.shell);
        Self { registers, shell, block }
    }

    /// Connects the engines; returns which one has the operation, a bit for each.
    #[track_caller]
    pub fn engines(&self, m: &mut Module, engines: &[Engine<'_>]) -> Vec<Signal> {
        m.connect(self.shell.idle_i, all_idle(engines));
        self.engines_after(m, &self.operations(), engines)
    }

    /// The operations that the shell gives.
    #[must_use]
    pub fn operations(&self) -> Operations {
        Operations { operation: self.shell.operation.clone(), end: self.shell.operation_end.clone() }
    }

    /// Connects the engines to operations that come from elsewhere, such as from a link. `idle_i` of the shell is left
    /// to the caller.
    #[track_caller]
    pub fn engines_after(&self, m: &mut Module, operations: &Operations, engines: &[Engine<'_>]) -> Vec<Signal> {
        m.comment("An operation goes to one of the engines, and the DMAs with it.");
        let bus = (&self.block.axi, &self.block.dma);
        behind_shell(m, bus, &self.shell, &self.registers.shell, operations, engines)
    }

    /// Results of the engine in use that are not exact; `chosen` comes from [`Top::engines`].
    #[track_caller]
    #[must_use]
    pub fn overflows(&self, chosen: &[Signal], engines: &[Engine<'_>]) -> Signal {
        overflows(self.block.engines > 1, chosen, engines)
    }

    /// Counts events of a job, up to `most` of each in a cycle, for registers: pairs of event and register.
    #[track_caller]
    pub fn count(&self, m: &mut Module, most: u32, events: &[(Signal, Signal)]) {
        let block = EventCounters { counters: events.len() as u32, most, ..EventCounters::default() };
        let counters = m.instance("u_counters", block);
        m.connect(counters.clear_i, self.shell.host.began_o);
        let width = bits_for(most.into());
        for (k, (event, count)) in (0..).zip(events) {
            m.connect(counters.event_i.at(k), event.extend(width));
            m.connect(*count, counters.count_o.at(k));
        }
    }
}
