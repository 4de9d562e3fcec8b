//! [`AxiMemory`]: one memory for any number of AXI4 managers of a design.

use super::checker::ProtocolChecker;
use super::config::AxiConfig;
use super::memory::Memory;
use super::ports::{Names, ReadPorts, WritePorts};
use super::read::ReadSide;
use super::signals::Signals;
use super::timing::{MemoryTiming, Timing};
use super::write::WriteSide;
use super::{Partner, Violation};
use crate::{Error, Result, Sim};

/// Counts of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Read addresses taken.
    pub reads: u64,
    /// Write addresses taken.
    pub writes: u64,
    /// Beats of R taken.
    pub read_beats: u64,
    /// Beats of W taken.
    pub write_beats: u64,
    /// Cycles in which a beat of R waited for the design.
    pub read_waits: u64,
    /// Cycles in which a beat of W waited for the memory.
    pub write_waits: u64,
    /// Most reads open at a time.
    pub most_reads: u64,
    /// Most writes open at a time.
    pub most_writes: u64,
    /// Cycles of the first and the last beat on R.
    pub read_cycles: Option<(u64, u64)>,
    /// Cycles of the first and the last beat on W.
    pub write_cycles: Option<(u64, u64)>,
}

/// One AXI4 interface of the memory.
struct Port {
    prefix: String,
    config: AxiConfig,
    read: Option<ReadSide>,
    write: Option<WriteSide>,
    checker: ProtocolChecker,
    /// Last cycle's signals after `sample`, this cycle's after `drive`.
    signals: Signals,
    stats: PortStats,
}

/// A byte-addressed memory that answers AXI4 managers of a design, with a [`ProtocolChecker`] on each.
#[derive(Default)]
pub struct AxiMemory {
    memory: Memory,
    timing: Timing,
    ports: Vec<Port>,
    resets: u64,
    /// The cycle that must come next.
    next: Option<u64>,
    write_wait_cycles: u64,
}

impl AxiMemory {
    /// An empty memory that serves nobody; see [`AxiMemory::serve`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers the manager whose ports begin with `prefix`. It may lack its read half or its write half. `seed` fixes
    /// all random choices of `config`.
    ///
    /// # Errors
    /// [`Error::UnknownPort`] when a port is missing, [`Error::Unsupported`] when one has a width that AXI does not
    /// know or the configuration makes no sense.
    pub fn serve(&mut self, sim: &Sim, prefix: &str, config: &AxiConfig, seed: u64) -> Result<()> {
        config.check(prefix)?;
        let names = Names { sim, prefix };
        let (read, write) = (ReadPorts::find(&names)?, WritePorts::find(&names)?);
        let both = [read.as_ref().map(|r| (r.bus, r.id_width)), write.as_ref().map(|w| (w.bus, w.id_width))];
        let Some((bus, id_width)) = both.into_iter().flatten().next() else {
            let problem = format!("no AXI manager `{prefix}`: there is neither `{prefix}_arvalid_o` nor `_awvalid_o`");
            return Err(Error::Unsupported(problem));
        };
        if let [Some((read, _)), Some((write, _))] = both {
            names.require_width("wdata", 8 * write, 8 * read)?;
        }
        // Reads and writes may have IDs of different width.
        let id_width = both.into_iter().flatten().map(|b| b.1).max().unwrap_or(id_width);
        self.ports.push(Port {
            prefix: prefix.to_owned(),
            read: read.map(|ports| ReadSide::new(ports, prefix, config, seed)),
            write: write.map(|ports| WriteSide::new(ports, prefix, config, seed)),
            checker: ProtocolChecker::new(prefix, bus, id_width, config.promises.clone()),
            config: config.clone(),
            signals: Signals::default(),
            stats: PortStats::default(),
        });
        Ok(())
    }

    /// Answers all managers of a name: the manager whose ports begin with `prefix`, or managers whose ports begin with
    /// `prefix0`, `prefix1` and so on. Each has random numbers of its own. Returns the prefixes of their ports.
    ///
    /// # Errors
    /// The errors of [`AxiMemory::serve`]; or there is no such manager.
    pub fn serve_all(&mut self, sim: &Sim, prefix: &str, config: &AxiConfig, seed: u64) -> Result<Vec<String>> {
        let is_there = |prefix: &str| {
            let port = |signal: &str| sim.output(&format!("{prefix}_{signal}_o")).is_ok();
            port("arvalid") || port("awvalid")
        };
        let numbered = (0..).map(|k| format!("{prefix}{k}")).take_while(|prefix| is_there(prefix));
        let several: Vec<String> = if is_there(prefix) { Vec::new() } else { numbered.collect() };
        let all = if several.is_empty() { vec![prefix.to_owned()] } else { several };
        all.iter().try_for_each(|prefix| self.serve(sim, prefix, config, seed))?;
        Ok(all)
    }

    /// From now on no answer comes before `timing` allows it. No transaction may be open.
    pub fn timed_by(&mut self, timing: Box<dyn MemoryTiming>) {
        self.timing = Some(timing);
    }

    /// Cycles in which on some interface a beat of W waited for the memory.
    pub fn write_wait_cycles(&self) -> u64 {
        self.write_wait_cycles
    }

    /// The bytes.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The bytes, for loading.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Counts of the interface `prefix` so far.
    ///
    /// # Panics
    /// When the memory does not serve it.
    pub fn stats(&self, prefix: &str) -> PortStats {
        self.port(prefix).stats
    }

    /// Changes the behaviour of the interface `prefix` from the next cycle on, for instance errors and silence. Pauses
    /// and rates do not change.
    ///
    /// # Panics
    /// When the memory does not serve it.
    pub fn behaviour(&mut self, prefix: &str) -> &mut AxiConfig {
        let position = self.ports.iter().position(|port| port.prefix == prefix);
        let Some(index) = position else { panic!("the memory does not serve `{prefix}`") };
        &mut self.ports[index].config
    }

    fn port(&self, prefix: &str) -> &Port {
        let port = self.ports.iter().find(|port| port.prefix == prefix);
        port.unwrap_or_else(|| panic!("the memory does not serve `{prefix}`"))
    }
}

impl Partner for AxiMemory {
    fn drive(&mut self, sim: &mut Sim) -> Result<()> {
        let now = sim.cycle_count();
        if self.next.is_none() && now != sim.reset_cycle() && !sim.in_reset() {
            // It begins in the middle of a run: the rule about reset does not apply.
            self.resets = sim.resets();
        }
        if sim.resets() != self.resets || sim.in_reset() {
            self.resets = sim.resets();
            self.next = None;
            self.ports.iter_mut().for_each(Port::reset);
            if let Some(timing) = &mut self.timing {
                timing.reset();
            }
        }
        if let Some(next) = self.next
            && next != now
        {
            let problem = format!("an AXI memory saw no cycle from {next} to {now}: it must take part in each");
            return Err(Error::Unsupported(problem));
        }
        self.next = Some(now + 1);
        if let Some(timing) = &mut self.timing {
            timing.cycle();
        }
        for port in &mut self.ports {
            port.drive(sim, now, (&mut self.memory, &mut self.timing));
        }
        Ok(())
    }

    fn sample(&mut self, sim: &Sim) -> Result<bool> {
        let now = sim.cycle_count();
        let mut moved = false;
        for port in &mut self.ports {
            moved |= port.sample(sim, now, (&mut self.memory, &mut self.timing))?;
        }
        let waits = self.ports.iter().any(|port| port.signals.w.valid && !port.signals.w.ready);
        self.write_wait_cycles += u64::from(waits);
        Ok(moved)
    }

    fn is_idle(&self) -> bool {
        self.ports.iter().all(|port| port.open() == (0, 0))
    }

    fn state(&self) -> String {
        let state = |port: &Port| {
            let (reads, writes) = port.open();
            format!("AXI memory of `{}`: {reads} reads and {writes} writes are open", port.prefix)
        };
        self.ports.iter().map(state).collect::<Vec<_>>().join("; ")
    }
}

impl Port {
    fn reset(&mut self) {
        self.signals = Signals::default();
        self.checker.reset();
        if let Some(read) = &mut self.read {
            read.reset();
        }
        if let Some(write) = &mut self.write {
            write.reset();
        }
    }

    #[inline]
    fn drive(&mut self, sim: &mut Sim, now: u64, (memory, timing): (&mut Memory, &mut Timing)) {
        if let Some(read) = &mut self.read {
            read.drive((sim, now), &self.config, (memory, timing), &mut self.signals);
        }
        if let Some(write) = &mut self.write {
            write.drive((sim, now), &self.config, (memory, timing), &mut self.signals);
        }
    }

    #[inline]
    fn sample(&mut self, sim: &Sim, now: u64, (memory, timing): (&mut Memory, &mut Timing)) -> Result<bool, Violation> {
        let signals = &mut self.signals;
        if let Some(read) = &self.read {
            read.ports.sample(sim, &mut signals.ar, &mut signals.r);
        }
        if let Some(write) = &self.write {
            write.ports.sample(sim, &mut signals.aw, &mut signals.w, &mut signals.b);
        }
        if sim.in_reset() {
            let checked = self.checker.step_in_reset(now, &self.signals);
            self.reset();
            return checked.map(|()| false);
        }
        self.checker.step(now, &self.signals)?;
        let signals = &self.signals;
        self.stats.count(now, signals);
        let mut moved = false;
        if let Some(read) = &mut self.read {
            moved |= read.sample(now, &self.config, (memory, timing), signals);
            self.stats.most_reads = self.stats.most_reads.max(read.open() as u64);
        }
        if let Some(write) = &mut self.write {
            moved |= write.sample(now, &self.config, (memory, timing), signals);
            self.stats.most_writes = self.stats.most_writes.max(write.open() as u64);
        }
        Ok(moved)
    }

    fn open(&self) -> (usize, usize) {
        (self.read.as_ref().map_or(0, ReadSide::open), self.write.as_ref().map_or(0, WriteSide::open))
    }
}

impl PortStats {
    #[inline]
    fn count(&mut self, now: u64, signals: &Signals) {
        let Signals { aw, w, ar, r, .. } = signals;
        self.reads += u64::from(ar.passes());
        self.writes += u64::from(aw.passes());
        self.read_waits += u64::from(r.valid && !r.ready);
        self.write_waits += u64::from(w.valid && !w.ready);
        if r.passes() {
            self.read_beats += 1;
            self.read_cycles = Some((self.read_cycles.map_or(now, |c| c.0), now));
        }
        if w.passes() {
            self.write_beats += 1;
            self.write_cycles = Some((self.write_cycles.map_or(now, |c| c.0), now));
        }
    }
}
