//! A design in simulation as a bus for drivers: registers through its AXI4-Lite port `ctrl`, and one memory on all
//! ports `mem`.

use hdl::lang::CatalogBlock;
use host::{Bus, Device, Settings, Window};
use sim::bus::{AxiConfig, AxiLiteHost, AxiMemory, LiteConfig, Partner, Response};
use sim::{Out, Sim};

/// What goes wrong on a simulated device.
#[derive(Debug, thiserror::Error)]
pub enum HardwareError {
    /// The register is answered with an error.
    #[error("register {0:#x} answers {1:?}")]
    Register(u32, Response),
    /// The simulation found something.
    #[error(transparent)]
    Sim(#[from] sim::Error),
    /// A job hangs.
    #[error("no interrupt for {LONGEST} cycles")]
    NoInterrupt,
}

/// Cycles that a job may take: many times the cycles of the longest job, a layer of a prompt.
const LONGEST: u64 = 200_000_000;

/// Runs `work` on a block with a memory that behaves as `config` says.
///
/// # Panics
/// The block cannot be built, a rule of the bus is broken, or the interrupt is high at the end.
pub fn on_hardware<B: CatalogBlock>(block: &B, config: &AxiConfig, work: impl Fn(&mut Hardware<'_>)) {
    let bench = sim::kit::bench(block, |sim, run| {
        work(&mut Hardware::new(sim, config, run.seed())?);
        let irq = sim.output("irq_o")?;
        run.expect_u64(sim, irq, 0)
    });
    let design = hdl::lang::elaborate(block).unwrap_or_else(|e| panic!("{e}"));
    let bench = bench.unwrap_or_else(|e| panic!("{e:#}"));
    sim::run(&*bench, &sim::Design::from(&design), &sim::kit::options(1)).unwrap_or_else(|e| panic!("{e}"));
}

/// Makes a device ready: jobs of up to so many descriptors may touch `window`.
///
/// # Errors
/// There is something else; the bus fails.
pub fn ready<B: Bus>(device: &mut Device<B>, window: Window, max_descriptors: u32) -> anyhow::Result<()> {
    device.identify()?;
    Ok(device.configure(&Settings { window, timeout: 0, max_descriptors })?)
}

/// A design in simulation.
pub struct Hardware<'a> {
    /// The design.
    pub sim: &'a mut Sim,
    /// Its memory.
    pub memory: AxiMemory,
    /// Prefixes of the ports to memory, in order.
    pub ports: Vec<String>,
    host: AxiLiteHost,
    irq: Out,
    /// Who else looks at each cycle.
    watchers: Vec<Box<dyn Partner>>,
}

impl<'a> Hardware<'a> {
    /// A design after reset with a memory that behaves as `config` says.
    ///
    /// # Errors
    /// The design has no such ports.
    pub fn new(sim: &'a mut Sim, config: &AxiConfig, seed: u64) -> sim::Result<Self> {
        sim.reset(2)?;
        let mut memory = AxiMemory::new();
        let ports = memory.serve_all(sim, "mem", config, seed)?;
        let host = AxiLiteHost::new(sim, "ctrl", LiteConfig::default(), seed)?;
        let irq = sim.output("irq_o")?;
        Ok(Self { sim, memory, ports, host, irq, watchers: Vec::new() })
    }

    /// From now on `watcher` takes part in each cycle.
    pub fn watch(&mut self, watcher: Box<dyn Partner>) {
        self.watchers.push(watcher);
    }

    /// The host, the design, and the other partners at its ports.
    fn parts(&mut self) -> (&mut AxiLiteHost, &mut Sim, Vec<&mut dyn Partner>) {
        let mut partners: Vec<&mut dyn Partner> = vec![&mut self.memory];
        for watcher in &mut self.watchers {
            partners.push(watcher.as_mut());
        }
        (&mut self.host, &mut *self.sim, partners)
    }

    /// Runs one cycle and returns whether the interrupt is high after it.
    ///
    /// # Errors
    /// A broken rule of the bus.
    pub fn cycle(&mut self) -> sim::Result<bool> {
        let (host, sim, mut partners) = self.parts();
        host.cycle(sim, &mut partners)?;
        Ok(self.sim.peek_u64(self.irq) == 1)
    }

    /// Runs cycles up to the interrupt, for [`host::Device::wait_for_interrupt`].
    ///
    /// # Errors
    /// A broken rule of the bus; no interrupt in 200 million cycles.
    pub fn sleep(&mut self) -> Result<(), HardwareError> {
        let irq = self.irq;
        let (host, sim, mut partners) = self.parts();
        for _ in 0..LONGEST {
            host.cycle(sim, &mut partners)?;
            if sim.peek_u64(irq) == 1 {
                return Ok(());
            }
        }
        Err(HardwareError::NoInterrupt)
    }
}

impl Bus for Hardware<'_> {
    type Error = HardwareError;

    fn read32(&mut self, offset: u32) -> Result<u32, HardwareError> {
        let (host, sim, mut partners) = self.parts();
        match host.load(sim, &mut partners, offset.into())? {
            (value, Response::Okay) => Ok(value as u32),
            (_, response) => Err(HardwareError::Register(offset, response)),
        }
    }

    fn write32(&mut self, offset: u32, value: u32) -> Result<(), HardwareError> {
        let (host, sim, mut partners) = self.parts();
        match host.store(sim, &mut partners, offset.into(), value.into())? {
            Response::Okay => Ok(()),
            response => Err(HardwareError::Register(offset, response)),
        }
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), HardwareError> {
        self.memory.memory().load(address, bytes);
        Ok(())
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), HardwareError> {
        self.memory.memory_mut().store(address, bytes);
        Ok(())
    }
}
