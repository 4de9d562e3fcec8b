//! Buses: a memory for AXI4 managers of a design, a host on AXI4-Lite, and checkers that name the broken rule.
//!
//! [`AxiMemory`] answers the AXI4 manager ports of a design, [`AxiLiteHost`] accesses its registers. Both are partners
//! ([`Partner`]) in the cycle of poke, settle, peek and tick. Both have a [`ProtocolChecker`] of their own kind
//! that is always on. Everything is fixed by configuration and seed.
//!
//! Ports are the names of AXI in lower case between a prefix and the direction: `mem_awaddr_o`, `mem_awready_i`.

mod burst;
mod checker;
mod config;
mod image;
mod lite;
mod lite_ports;
mod memory;
mod ports;
mod read;
mod rules;
mod signals;
mod subordinate;
mod timing;
mod write;

pub use checker::{Promises, ProtocolChecker};
pub use config::{Access, AxiConfig, BusError, Latency, Misrouted, Order, Place, Rate, Silence, Stalls, WriteOrder};
pub use lite::{Answer, AxiLiteHost, LiteConfig, Skew, Ticket};
pub use memory::Memory;
pub use rules::{Channel, Rule, Side, Violation};
pub use signals::{
    Address, Data, FIXED, INCR, MAX_WORDS, ReadData, Response, Signals, WRAP, Wire, WriteData, WriteResponse,
};
pub use subordinate::{AxiMemory, PortStats};
pub use timing::MemoryTiming;

use crate::{Result, Sim};

/// A model at the ports of a design that takes part in every cycle.
pub trait Partner {
    /// Sets the inputs of this cycle. They do not depend on the design's outputs of the same cycle.
    fn drive(&mut self, sim: &mut Sim) -> Result<()>;

    /// Looks at the settled outputs, before the rising edge. Returns whether any transfer passes at the edge.
    ///
    /// # Errors
    /// A broken rule.
    fn sample(&mut self, sim: &Sim) -> Result<bool>;

    /// Whether nothing is open on its side.
    fn is_idle(&self) -> bool;

    /// The event that it waits for, for the report of a deadlock.
    fn state(&self) -> String;
}

/// One clock cycle with partners: all drive, the design settles, all sample, the clock ticks. Returns whether any
/// transfer passed. [`crate::Run::cycle_with`] does the same for a bench with streams.
///
/// # Errors
/// A broken rule, and all errors of [`Sim::tick`].
pub fn cycle(sim: &mut Sim, partners: &mut [&mut dyn Partner]) -> Result<bool> {
    for partner in partners.iter_mut() {
        partner.drive(sim)?;
    }
    sim.settle()?;
    let mut moved = false;
    for partner in partners {
        moved |= partner.sample(sim)?;
    }
    sim.tick()?;
    Ok(moved)
}
